package nn

import (
	"fmt"

	"github.com/sanflow/sanflow/nn/internal/kernel"
	"github.com/sanflow/sanflow/nn/internal/random"
)

// fieldConv is the first layer: a convolution over the w·n cells of a graph
// whose size and stride are both n, so that every output reads one receptive
// field whole. The cells are the k nodes of each field, or their k² pairs.
//
//	cells     v₁ v₂ … v_n │ v₁ v₂ … v_n │ …     (w·n, a)
//	outputs        y₁     │      y₂     │ …     (w, maps)
//
// A discrete channel is an index, not a one-hot vector. One-hot times weights
// is a row of the weights, so a field's output is a sum of n·d rows of the
// table, and its gradient is added to those same rows: n·d·maps additions
// instead of n·a·maps multiplications. The sparse channel is the same with any
// number of rows a cell. Continuous channels are an ordinary product beside
// them.
type fieldConv struct {
	cells
	maps  int
	act   activation
	total int // table rows of a cell, the sum of cats

	// Of each discrete channel of each cell of a field (n, d): where its rows
	// begin in the table, and how many they are. All are listed several times,
	// see kernel.RowOffsets.
	first, count []int32

	table *weight // (n, Σcats, maps), nil without discrete channels
	wide  *weight // (n, sparse, maps), nil without a sparse channel
	dense *weight // (n, c, maps), nil without continuous channels
	bias  *weight // (maps)

	idx     []int32 // (B, w, n, d): where the rows of table that a graph reads begin
	rows    []int32 // rows of wide that the graphs read, one after the other
	offsets []int32 // (B·w·n+1), where the rows of each cell begin
}

// cells is what a fieldConv reads of a graph: w fields of n cells each.
type cells struct {
	w, n   int
	cats   []int // values of each discrete channel
	attrs  int   // c, continuous channels
	sparse int   // values of the sparse channel
	side   int   // of the square that the cells of a field are, 0 when they are nodes
	fields int   // fields that were put together as one, 0 when none were
}

// width is the number of discrete values of one graph, w·n·d.
func (c cells) width() int { return c.w * c.n * len(c.cats) }

// inputs are the values of a batch for one fieldConv.
type inputs struct {
	cats    []int32   // (B, w, n, d)
	attrs   []float32 // (B, w, n, c)
	sparse  []int32   // every value of the sparse channel
	offsets []int32   // (B·w·n+1): cell i has sparse[offsets[i]:offsets[i+1]]
}

// cut returns those of rows from to to-1 of a batch. It shares their memory.
func (in inputs) cut(c cells, from, to int) inputs {
	n := c.w * c.n
	cut := inputs{sparse: in.sparse}
	if in.cats != nil {
		cut.cats = in.cats[from*c.width() : to*c.width()]
	}
	if in.attrs != nil {
		cut.attrs = in.attrs[from*n*c.attrs : to*n*c.attrs]
	}
	if in.offsets != nil {
		cut.offsets = in.offsets[from*n : to*n+1]
	}
	return cut
}

func newFieldConv(p *params, name string, in cells, maps int, act activation) *fieldConv {
	l := &fieldConv{cells: in, maps: maps, act: act}
	for _, n := range in.cats {
		l.total += n
	}
	if l.total > 0 {
		l.table = p.add(name+".table", l.n, l.total, maps)
	}
	if l.sparse > 0 {
		l.wide = p.add(name+".sparse", l.n, l.sparse, maps)
	}
	if l.attrs > 0 {
		l.dense = p.add(name+".weight", l.n, l.attrs, maps)
	}
	l.bias = p.add(name+".bias", maps)
	return l
}

func (l *fieldConv) init(r random.Source) {
	in, out := l.n*(l.total+l.sparse+l.attrs), l.n*l.maps
	for _, w := range []*weight{l.table, l.wide, l.dense} {
		if w != nil {
			glorot(w.w, in, out, r)
		}
	}
}

// startGrad prepares for backward, which adds up the gradients of the graphs of
// one batch.
func (l *fieldConv) startGrad() { clearGrad(l.table, l.wide, l.dense, l.bias) }

// grow makes room for a batch and reads its sparse channel. A value that it
// does not have is an *InputError.
func (l *fieldConv) grow(in inputs, rows int) error {
	if l.table != nil {
		l.start()
		l.idx = kernel.Grown(l.idx, rows*l.width())
	}
	if l.wide != nil {
		return l.readSparse(in, rows)
	}
	return nil
}

// start prepares the layer for discrete values, once.
func (l *fieldConv) start() {
	if l.first != nil {
		return
	}
	for len(l.first) < 160 {
		at := 0
		for range l.n {
			for _, n := range l.cats {
				l.first = append(l.first, int32(at))
				l.count = append(l.count, int32(n))
				at += n * l.maps
			}
		}
	}
}

func (l *fieldConv) badValue(row, at int, v int32) error {
	d := len(l.cats)
	kind := "discrete"
	if l.side > 0 {
		kind = "discrete edge"
	}
	return inputErrorf(row, "%s, %s channel %d: value %d, want -1 to %d", l.place(at/d), kind, at%d, v, l.cats[at%d]-1)
}

// place names a cell of a graph.
func (l *fieldConv) place(cell int) string {
	n := l.n / max(1, l.fields)
	f, c := cell/n, cell%n
	if l.side > 0 {
		return fmt.Sprintf("field %d, nodes %d and %d", f, c/l.side, c%l.side)
	}
	return fmt.Sprintf("field %d, node %d", f, c)
}

// readSparse turns the values of the sparse channel into rows of its table.
// Offsets are those of the batch; a part of a batch begins anywhere in it.
func (l *fieldConv) readSparse(in inputs, rows int) error {
	cells := rows * l.w * l.n
	l.offsets = kernel.Grown(l.offsets, cells+1)
	l.rows = kernel.Grown(l.rows, int(in.offsets[cells]-in.offsets[0]))
	base := in.offsets[0]
	for i := range cells + 1 {
		l.offsets[i] = in.offsets[i] - base
	}
	for i := range cells {
		first := int32(i % l.n * l.sparse)
		before := int32(-1)
		for at := l.offsets[i]; at < l.offsets[i+1]; at++ {
			v := in.sparse[base+at]
			if v < 0 || int(v) >= l.sparse {
				return inputErrorf(i/l.n/l.w, "%s, sparse channel: value %d, want 0 to %d",
					l.place(i%(l.n*l.w)), v, l.sparse-1)
			}
			if v <= before {
				return inputErrorf(i/l.n/l.w, "%s, sparse channel: value %d after %d, want them to ascend",
					l.place(i%(l.n*l.w)), v, before)
			}
			before = v
			l.rows[at] = first + v
		}
	}
	return nil
}

// forward computes y (graphs, w, maps) of that many graphs of the batch that
// grow has seen, from graph i on, activation included. A value that its channel
// does not have is an *InputError.
func (l *fieldConv) forward(y []float32, in inputs, i, graphs int) error {
	c, fields := l.maps, graphs*l.w
	if l.dense != nil {
		n := l.n * l.attrs
		kernel.Gemm(fields, c, n, in.attrs[i*l.w*n:], n, l.dense.w, c, y, c, false)
	} else {
		clear(y[:fields*c])
	}
	if l.table != nil {
		at, end := i*l.width(), (i+graphs)*l.width()
		if bad := kernel.RowOffsets(l.idx[at:end], l.first, l.count, in.cats[at:end], c); bad >= 0 {
			return l.badValue((at+bad)/l.width(), (at+bad)%l.width(), in.cats[at+bad])
		}
		kernel.GatherFields(y, fields, c, l.table.w, l.idx[at:end])
	}
	if l.wide != nil {
		for f := range fields {
			kernel.GatherAdd(y[f*c:], c, l.wide.w, l.sparseRows(i*l.w+f))
		}
	}
	l.act.forward(y, fields, c, l.bias.w)
	return nil
}

// sparseRows returns the rows that a field of the batch reads.
func (l *fieldConv) sparseRows(field int) []int32 {
	return l.rows[l.offsets[field*l.n]:l.offsets[(field+1)*l.n]]
}

// backward adds to the gradients of the weights. dy is the gradient of y, and
// is overwritten; y, in, i and graphs are those of forward.
func (l *fieldConv) backward(dy, y []float32, in inputs, i, graphs int) {
	c, fields := l.maps, graphs*l.w
	l.act.backward(dy, y)
	kernel.AddBiasGrad(l.bias.g, dy, fields, c)
	if l.dense != nil {
		n := l.n * l.attrs
		kernel.GemmTN(fields, c, n, in.attrs[i*l.w*n:], n, dy, c, l.dense.g, c, true)
	}
	if l.table != nil {
		kernel.ScatterFields(l.table.g, l.idx[i*l.width():(i+graphs)*l.width()], dy, fields, c)
	}
	if l.wide != nil {
		for f := range fields {
			kernel.ScatterAdd(l.wide.g, c, l.sparseRows(i*l.w+f), dy[f*c:])
		}
	}
}
