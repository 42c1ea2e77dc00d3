package layer

// Merge is the layer: two inputs of maps channels a row, one output. A row is a
// field, or a graph.
type Merge struct {
	sum  bool
	maps int
}

func NewMerge(sum bool, maps int) *Merge { return &Merge{sum: sum, maps: maps} }

// Channels is the number of channels of the output.
func (l *Merge) Channels() int {
	if l.sum {
		return l.maps
	}
	return 2 * l.maps
}

// Forward computes y (rows, channels) from a and b (rows, maps).
func (l *Merge) Forward(y, a, b []float32) {
	if l.sum {
		for i, v := range a {
			y[i] = v + b[i]
		}
		return
	}
	c := l.maps
	for at := 0; at < len(a); at += c {
		copy(y[2*at:], a[at:at+c])
		copy(y[2*at+c:], b[at:at+c])
	}
}

// Backward sets da and db (rows, maps) to the gradients of a and b.
func (l *Merge) Backward(da, db, dy []float32) {
	if l.sum {
		copy(da, dy)
		copy(db, dy)
		return
	}
	c := l.maps
	for at := 0; at < len(da); at += c {
		copy(da[at:at+c], dy[2*at:])
		copy(db[at:at+c], dy[2*at+c:])
	}
}
