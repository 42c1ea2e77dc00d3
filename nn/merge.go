package nn

// Merge is how a network puts what it reads of vertices and of edges together,
// field by field.
type Merge string

const (
	Concat Merge = "concat" // side by side: twice the channels
	Sum    Merge = "sum"    // added up, channel by channel
)

// word returns the setting.
func (m *Merge) word() word {
	return word{"Merge", (*string)(m), []string{string(Concat), string(Sum)}}
}

// merge is the layer: two inputs (w, maps), one output (w, width).
type merge struct {
	sum     bool
	w, maps int
}

func newMerge(m Merge, w, maps int) *merge { return &merge{sum: m == Sum, w: w, maps: maps} }

// width is the number of channels of the output.
func (l *merge) width() int {
	if l.sum {
		return l.maps
	}
	return 2 * l.maps
}

// forward computes y (w, width) from a and b (w, maps).
func (l *merge) forward(y, a, b []float32) {
	if l.sum {
		for i, v := range a {
			y[i] = v + b[i]
		}
		return
	}
	c := l.maps
	for f := range l.w {
		copy(y[2*f*c:], a[f*c:f*c+c])
		copy(y[(2*f+1)*c:], b[f*c:f*c+c])
	}
}

// backward sets da and db (w, maps) to the gradients of a and b.
func (l *merge) backward(da, db, dy []float32) {
	if l.sum {
		copy(da, dy)
		copy(db, dy)
		return
	}
	c := l.maps
	for f := range l.w {
		copy(da[f*c:], dy[2*f*c:(2*f+1)*c])
		copy(db[f*c:], dy[(2*f+1)*c:(2*f+2)*c])
	}
}
