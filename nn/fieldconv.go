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

	cats  []int   // values of each discrete channel
	start []int32 // first row of each discrete channel within a vertex
	total int32   // table rows of a vertex, the sum of cats
	attrs int     // c_v

	table *weight // (k, Σcats, maps), nil without discrete channels
	dense *weight // (k, c_v, maps), nil without continuous channels
	bias  *weight // (maps)
}

func newFieldConv(p *params, name string, s Shape, maps int) *fieldConv {
	l := &fieldConv{w: s.W, k: s.K, maps: maps, cats: s.Cats, attrs: s.Attrs}
	for _, n := range s.Cats {
		l.start = append(l.start, l.total)
		l.total += int32(n)
	}
	if l.total > 0 {
		l.table = p.add(name+".table", l.k, int(l.total), maps)
	}
	if l.attrs > 0 {
		l.dense = p.add(name+".weight", l.k, l.attrs, maps)
	}
	l.bias = p.add(name+".bias", maps)
	return l
}

func (l *fieldConv) init(r random) {
	in, out := l.k*(int(l.total)+l.attrs), l.k*l.maps
	if l.table != nil {
		glorot(l.table.w, in, out, r)
	}
	if l.dense != nil {
		glorot(l.dense.w, in, out, r)
	}
}

// width is the number of discrete values of one graph, w·k·d_v.
func (l *fieldConv) width() int { return l.w * l.k * len(l.cats) }

// index turns cats, the (w, k, d_v) values of one graph, into rows of the
// table, in dst. It returns the position of the first value that its channel
// does not have, or -1.
func (l *fieldConv) index(dst, cats []int32) (bad int) {
	d := len(l.cats)
	i := 0
	for range l.w {
		row := int32(0)
		for range l.k {
			for c := range d {
				v := cats[i]
				switch {
				case uint(uint32(v)) < uint(l.cats[c]):
					dst[i] = row + l.start[c] + v
				case v == -1:
					dst[i] = -1
				default:
					return i
				}
				i++
			}
			row += l.total
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
