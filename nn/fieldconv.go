package nn

import "github.com/sanflow/sanflow/nn/internal/kernel"

// fieldConv is the first layer: a convolution over the w·n cells of a graph
// whose size and stride are both n, so that every output reads one receptive
// field whole. The cells are the k vertices of each field, or their k² pairs.
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
	side   int   // of the square that the cells are, 0 when they are vertices
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

func (l *fieldConv) init(r random) {
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

// size is the number of outputs of one graph.
func (l *fieldConv) size() int { return l.w * l.maps }

// grow makes room for a batch and reads its sparse channel. A value that it
// does not have is a *RowError.
func (l *fieldConv) grow(in inputs, rows int) error {
	if l.table != nil {
		l.start()
		l.idx = grown(l.idx, rows*l.width())
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
	for range 16 {
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
	f, cell := at/d/l.n, at/d%l.n
	if l.side > 0 {
		return rowErrorf(row, "field %d, vertices %d and %d, discrete edge channel %d: value %d, want -1 to %d",
			f, cell/l.side, cell%l.side, at%d, v, l.cats[at%d]-1)
	}
	return rowErrorf(row, "field %d, vertex %d, discrete channel %d: value %d, want -1 to %d",
		f, cell, at%d, v, l.cats[at%d]-1)
}

// readSparse turns the values of the sparse channel into rows of its table.
// Offsets are those of the batch; a part of a batch begins anywhere in it.
func (l *fieldConv) readSparse(in inputs, rows int) error {
	cells := rows * l.w * l.n
	l.offsets = grown(l.offsets, cells+1)
	l.rows = grown(l.rows, int(in.offsets[cells]-in.offsets[0]))
	base := in.offsets[0]
	for i := range cells + 1 {
		l.offsets[i] = in.offsets[i] - base
	}
	for i := range cells {
		first := int32(i % l.n * l.sparse)
		for at := l.offsets[i]; at < l.offsets[i+1]; at++ {
			v := in.sparse[base+at]
			if v < 0 || int(v) >= l.sparse {
				return rowErrorf(i/l.n/l.w, "field %d, vertex %d, sparse channel: value %d, want 0 to %d",
					i/l.n%l.w, i%l.n, v, l.sparse-1)
			}
			l.rows[at] = first + v
		}
	}
	return nil
}

// forward computes y (w, maps) of graph i of the batch that grow has seen,
// activation included. A value that its channel does not have is a *RowError.
func (l *fieldConv) forward(y []float32, in inputs, i int) error {
	c := l.maps
	if l.dense != nil {
		n := l.n * l.attrs
		kernel.Gemm(l.w, c, n, in.attrs[i*l.w*n:(i+1)*l.w*n], n, l.dense.w, c, y, c, false)
	} else {
		clear(y[:l.w*c])
	}
	if l.table != nil {
		n := l.n * len(l.cats)
		idx, cats := l.idx[i*l.w*n:(i+1)*l.w*n], in.cats[i*l.w*n:(i+1)*l.w*n]
		if bad := kernel.RowOffsets(idx, l.first, l.count, cats, c); bad >= 0 {
			return l.badValue(i, bad, cats[bad])
		}
		kernel.GatherFields(y, l.w, c, l.table.w, idx)
	}
	if l.wide != nil {
		for f := range l.w {
			kernel.GatherAdd(y[f*c:], c, l.wide.w, l.sparseRows(i, f))
		}
	}
	l.act.forward(y, l.w, c, l.bias.w)
	return nil
}

// sparseRows returns the rows that field f of graph i reads.
func (l *fieldConv) sparseRows(i, f int) []int32 {
	at := (i*l.w + f) * l.n
	return l.rows[l.offsets[at]:l.offsets[at+l.n]]
}

// backward adds to the gradients of the weights. dy is the gradient of y, and
// is overwritten; y, in and i are those of forward.
func (l *fieldConv) backward(dy, y []float32, in inputs, i int) {
	c := l.maps
	l.act.backward(dy, y)
	kernel.AddBiasGrad(l.bias.g, dy, l.w, c)
	if l.dense != nil {
		n := l.n * l.attrs
		kernel.GemmTN(l.w, c, n, in.attrs[i*l.w*n:(i+1)*l.w*n], n, dy, c, l.dense.g, c, true)
	}
	if l.table != nil {
		n := l.n * len(l.cats)
		kernel.ScatterFields(l.table.g, l.idx[i*l.w*n:(i+1)*l.w*n], dy, l.w, c)
	}
	if l.wide != nil {
		for f := range l.w {
			kernel.ScatterAdd(l.wide.g, c, l.sparseRows(i, f), dy[f*c:])
		}
	}
}
