package nn

import "github.com/sanflow/sanflow/nn/internal/kernel"

// fieldConv is the first layer: a convolution over the w·k vertices of a graph
// whose size and stride are both k, so that every output reads one receptive
// field whole.
//
//	vertices  v₁ v₂ … v_k │ v₁ v₂ … v_k │ …     (w·k, a_v)
//	outputs        y₁     │      y₂     │ …     (w, maps)
//
// A discrete channel is an index, not a one-hot vector. One-hot times weights
// is a row of the weights, so a field's output is a sum of k·d_v rows of the
// table, and its gradient is added to those same rows: k·d_v·maps additions
// instead of k·a_v·maps multiplications. Continuous channels are an ordinary
// product beside it.
type fieldConv struct {
	w, k, maps int

	cats  []int // values of each discrete channel
	total int   // table rows of a vertex, the sum of cats
	attrs int   // c_v

	// Of each discrete channel of each vertex of a field (k, d_v): the first of
	// its rows in the table, and how many they are.
	first, count []int32

	table *weight // (k, Σcats, maps), nil without discrete channels
	dense *weight // (k, c_v, maps), nil without continuous channels
	bias  *weight // (maps)
}

func newFieldConv(p *params, name string, s Shape, maps int) *fieldConv {
	l := &fieldConv{w: s.W, k: s.K, maps: maps, cats: s.Cats, attrs: s.Attrs}
	for _, n := range s.Cats {
		l.total += n
	}
	if l.total > 0 {
		l.table = p.add(name+".table", l.k, l.total, maps)
	}
	if l.attrs > 0 {
		l.dense = p.add(name+".weight", l.k, l.attrs, maps)
	}
	l.bias = p.add(name+".bias", maps)
	return l
}

func (l *fieldConv) init(r random) {
	in, out := l.k*(l.total+l.attrs), l.k*l.maps
	if l.table != nil {
		glorot(l.table.w, in, out, r)
	}
	if l.dense != nil {
		glorot(l.dense.w, in, out, r)
	}
}

// width is the number of discrete values of one graph, w·k·d_v.
func (l *fieldConv) width() int { return l.w * l.k * len(l.cats) }

// start prepares the layer for use.
func (l *fieldConv) start() {
	row := int32(0)
	for range l.k {
		for _, n := range l.cats {
			l.first = append(l.first, row)
			l.count = append(l.count, int32(n))
			row += int32(n)
		}
	}
}

// index turns cats, the (w, k, d_v) values of one graph, into rows of the
// table, in dst. It returns the position of the first value that its channel
// does not have, or -1.
func (l *fieldConv) index(dst, cats []int32) (bad int) {
	n := len(l.first)
	first, count := l.first, l.count[:n]
	wrong := int64(0)
	for f := range l.w {
		in, out := cats[f*n:f*n+n], dst[f*n:f*n+n]
		for i, row := range first {
			// No branch: which vertices are dummies cannot be guessed. The sign
			// of v makes a row -1, the sign of the difference tells v < -1 and
			// v ≥ count.
			v := in[i]
			out[i] = (row + v) | v>>31
			wrong |= int64(count[i]) - int64(uint32(v+1))
		}
	}
	if wrong >= 0 {
		return -1
	}
	for i, v := range cats {
		if v < -1 || v >= count[i%n] {
			return i
		}
	}
	return -1
}

// forward computes y (w, maps) of one graph, ReLU included, from its table
// rows idx (w, k, d_v) and its attributes x (w, k, c_v).
func (l *fieldConv) forward(y []float32, idx []int32, x []float32) {
	c := l.maps
	if l.dense != nil {
		n := l.k * l.attrs
		kernel.Gemm(l.w, c, n, x, n, l.dense.w, c, y, c, false)
	} else {
		clear(y[:l.w*c])
	}
	if l.table != nil {
		n := l.k * len(l.cats)
		for f := range l.w {
			kernel.GatherAdd(y[f*c:], c, l.table.w, idx[f*n:f*n+n])
		}
	}
	kernel.BiasReLU(y, l.w, c, l.bias.w)
}

// backward adds to the gradients of the weights. dy is the gradient of y, and
// is overwritten; idx, x and y are those of forward.
func (l *fieldConv) backward(dy, y []float32, idx []int32, x []float32) {
	c := l.maps
	kernel.ReLUGrad(dy, y)
	kernel.AddBiasGrad(l.bias.g, dy, l.w, c)
	if l.dense != nil {
		n := l.k * l.attrs
		kernel.GemmTN(l.w, c, n, x, n, dy, c, l.dense.g, c, true)
	}
	if l.table != nil {
		n := l.k * len(l.cats)
		for f := range l.w {
			kernel.ScatterAdd(l.table.g, c, idx[f*n:f*n+n], dy[f*c:])
		}
	}
}
