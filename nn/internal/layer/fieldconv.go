package layer

import (
	"fmt"

	"github.com/sanflow/sanflow/internal/scratch"
	"github.com/sanflow/sanflow/nn/internal/kernel"
	"github.com/sanflow/sanflow/nn/internal/random"
)

// FieldConv is the first layer: a convolution over the w·n cells of a graph with size and stride n, so that
// each output reads one receptive field. The cells are the k nodes of a field, or their k² pairs.
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
type FieldConv struct {
	Cells
	Maps  int
	act   Activation
	Total int // table rows of a cell, the sum of cats

	// Offset and number of the table rows of each discrete channel of each cell of a field, (n, d). Both are
	// repeated; see kernel.RowOffsets.
	first, count []int32

	Table *Weight // (n, Σcats, maps), nil without discrete channels
	wide  *Weight // (n, sparse, maps), nil without a sparse channel
	Dense *Weight // (n, c, maps), nil without continuous channels
	Bias  *Weight // (maps)

	Idx     []int32 // (B, w, n, d): offsets of the rows of Table
	rows    []int32 // offsets of the rows of wide, for one cell after the other
	offsets []int32 // (B·w·n+1): where the rows of each cell begin in rows
}

// Cells is the input of a FieldConv for one graph: w fields of n cells each.
type Cells struct {
	W, N   int
	Cats   []int // values of each discrete channel
	Attrs  int   // c, continuous channels
	Sparse int   // values of the sparse channel
	Side   int   // k, if the cells are the k² pairs of nodes; 0 for nodes
	Fields int   // number of fields that were joined to one; 0 for none
}

// Width returns the number of discrete values of one graph, w·n·d.
func (c Cells) Width() int { return c.W * c.N * len(c.Cats) }

// Inputs are the values of a batch for one FieldConv.
type Inputs struct {
	Cats    []int32   // (B, w, n, d)
	Attrs   []float32 // (B, w, n, c)
	Sparse  []int32   // every value of the sparse channel
	Offsets []int32   // (B·w·n+1): cell i has sparse[offsets[i]:offsets[i+1]]
}

// Cut returns the inputs of rows from to to-1. They share memory with in.
func (in Inputs) Cut(c Cells, from, to int) Inputs {
	n := c.W * c.N
	cut := Inputs{Sparse: in.Sparse}
	if in.Cats != nil {
		cut.Cats = in.Cats[from*c.Width() : to*c.Width()]
	}
	if in.Attrs != nil {
		cut.Attrs = in.Attrs[from*n*c.Attrs : to*n*c.Attrs]
	}
	if in.Offsets != nil {
		cut.Offsets = in.Offsets[from*n : to*n+1]
	}
	return cut
}

func NewFieldConv(p *Params, name string, in Cells, maps int, act Activation) *FieldConv {
	l := &FieldConv{Cells: in, Maps: maps, act: act}
	for _, n := range in.Cats {
		l.Total += n
	}
	if l.Total > 0 {
		l.Table = p.Add(name+".table", l.N, l.Total, maps)
	}
	if l.Sparse > 0 {
		l.wide = p.Add(name+".sparse", l.N, l.Sparse, maps)
	}
	if l.Attrs > 0 {
		l.Dense = p.Add(name+".weight", l.N, l.Attrs, maps)
	}
	l.Bias = p.Add(name+".bias", maps)
	return l
}

func (l *FieldConv) Init(r random.Source) {
	in, out := l.N*(l.Total+l.Sparse+l.Attrs), l.N*l.Maps
	for _, w := range []*Weight{l.Table, l.wide, l.Dense} {
		if w != nil {
			Glorot(w.W, in, out, r)
		}
	}
}

// StartGrad prepares Backward, which adds the gradients of the graphs of one batch.
func (l *FieldConv) StartGrad() { ClearGrad(l.Table, l.wide, l.Dense, l.Bias) }

// Grow allocates memory for a batch and reads its sparse channel. A value out of range is an *InputError.
func (l *FieldConv) Grow(in Inputs, rows int) error {
	if l.Table != nil {
		l.start()
		l.Idx = scratch.Resize(l.Idx, rows*l.Width())
	}
	if l.wide != nil {
		return l.readSparse(in, rows)
	}
	return nil
}

// start sets first and count, once.
func (l *FieldConv) start() {
	if l.first != nil {
		return
	}
	for len(l.first) < 160 {
		at := 0
		for range l.N {
			for _, n := range l.Cats {
				l.first = append(l.first, int32(at))
				l.count = append(l.count, int32(n))
				at += n * l.Maps
			}
		}
	}
}

func (l *FieldConv) badValue(row, at int, v int32) error {
	d := len(l.Cats)
	kind := "discrete"
	if l.Side > 0 {
		kind = "discrete edge"
	}
	return inputErrorf(row, "%s, %s channel %d: value %d, want -1 to %d", l.place(at/d), kind, at%d, v, l.Cats[at%d]-1)
}

// place returns the name of a cell of a graph for errors.
func (l *FieldConv) place(cell int) string {
	n := l.N / max(1, l.Fields)
	f, c := cell/n, cell%n
	if l.Side > 0 {
		return fmt.Sprintf("field %d, nodes %d and %d", f, c/l.Side, c%l.Side)
	}
	return fmt.Sprintf("field %d, node %d", f, c)
}

// readSparse converts the values of the sparse channel to offsets of table rows. The offsets of a part of a
// batch do not begin at 0.
func (l *FieldConv) readSparse(in Inputs, rows int) error {
	cells := rows * l.W * l.N
	l.offsets = scratch.Resize(l.offsets, cells+1)
	l.rows = scratch.Resize(l.rows, int(in.Offsets[cells]-in.Offsets[0]))
	base := in.Offsets[0]
	for i := range cells + 1 {
		l.offsets[i] = in.Offsets[i] - base
	}
	for i := range cells {
		first := int32(i % l.N * l.Sparse)
		before := int32(-1)
		for at := l.offsets[i]; at < l.offsets[i+1]; at++ {
			v := in.Sparse[base+at]
			if v < 0 || int(v) >= l.Sparse {
				return inputErrorf(i/l.N/l.W, "%s, sparse channel: value %d, want 0 to %d",
					l.place(i%(l.N*l.W)), v, l.Sparse-1)
			}
			if v <= before {
				return inputErrorf(i/l.N/l.W, "%s, sparse channel: value %d after %d, want them to ascend",
					l.place(i%(l.N*l.W)), v, before)
			}
			before = v
			l.rows[at] = (first + v) * int32(l.Maps)
		}
	}
	return nil
}

// Forward computes y (graphs, w, maps), activation included, of that many graphs of the batch of Grow, from
// graph i on. A value out of range is an *InputError.
func (l *FieldConv) Forward(y []float32, in Inputs, i, graphs int) error {
	c, fields := l.Maps, graphs*l.W
	if l.Dense != nil {
		n := l.N * l.Attrs
		kernel.Gemm(fields, c, n, in.Attrs[i*l.W*n:], n, l.Dense.W, c, y, c, false)
	} else {
		clear(y[:fields*c])
	}
	if l.Table != nil {
		at, end := i*l.Width(), (i+graphs)*l.Width()
		if bad := kernel.RowOffsets(l.Idx[at:end], l.first, l.count, in.Cats[at:end], c); bad >= 0 {
			return l.badValue((at+bad)/l.Width(), (at+bad)%l.Width(), in.Cats[at+bad])
		}
		kernel.GatherFields(y, fields, c, l.Table.W, l.Idx[at:end])
	}
	if l.wide != nil {
		for f := range fields {
			kernel.GatherFields(y[f*c:], 1, c, l.wide.W, l.sparseRows(i*l.W+f))
		}
	}
	l.act.Forward(y, fields, c, l.Bias.W)
	return nil
}

// sparseRows returns the offsets of the rows of wide that a field of the batch reads.
func (l *FieldConv) sparseRows(field int) []int32 {
	return l.rows[l.offsets[field*l.N]:l.offsets[(field+1)*l.N]]
}

// Backward adds to the gradients of the weights. dy is the gradient of y, and is overwritten. y, in, i and
// graphs are those of Forward.
func (l *FieldConv) Backward(dy, y []float32, in Inputs, i, graphs int) {
	c, fields := l.Maps, graphs*l.W
	l.act.Backward(dy, y)
	kernel.AddBiasGrad(l.Bias.G, dy, fields, c)
	if l.Dense != nil {
		n := l.N * l.Attrs
		kernel.GemmTN(fields, c, n, in.Attrs[i*l.W*n:], n, dy, c, l.Dense.G, c, true)
	}
	if l.Table != nil {
		kernel.ScatterFields(l.Table.G, l.Idx[i*l.Width():(i+graphs)*l.Width()], dy, fields, c)
	}
	if l.wide != nil {
		for f := range fields {
			kernel.ScatterFields(l.wide.G, l.sparseRows(i*l.W+f), dy[f*c:], 1, c)
		}
	}
}
