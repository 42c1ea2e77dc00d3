package nn

import (
	"fmt"
	"math"

	"github.com/sanflow/sanflow/internal/scratch"
	"github.com/sanflow/sanflow/nn/internal/kernel"
	"github.com/sanflow/sanflow/nn/internal/layer"
	"github.com/sanflow/sanflow/nn/internal/random"
)

// Pooled is a network for few examples. All nodes of a field share the weights W of a
// convolution of size 1. The output of a field is the activation of b plus the mean over the
// distances of W times the mean of the nodes at that distance, so the root weighs as much as
// all its neighbours. The sum of n sparse values of a node is divided by √n. Dropout and the
// output layer follow.
//
// The first discrete channel must be the distance, as operators.Normalize{Distances: 3} writes
// it; it is no attribute, and -1 is a dummy node. Fields with edges are an error. A row costs
// O(entries·Maps).
type Pooled struct {
	Maps       int        // outputs of a field; 0 = 32
	activation activation // activation of the outputs; "" = relu
	Dropout    float64    // probability that an output is dropped, below 1, in steps of 2⁻¹⁶; 0 = 0.5, negative = none
	Optimizer  Optimizer  // nil = RMSprop{}
	Seed       uint64     // of the initial weights and of dropout
	Workers    int        // as in CNN

	Learner // set by Init, and by a file
}

var _ Model = (*Pooled)(nil)

func (c *Pooled) settings() settings {
	return settings{
		kind: "pooled", name: "Pooled", learner: &c.Learner,
		sizes:   []size{{"Maps", &c.Maps, 32}},
		words:   []word{c.activation.word()},
		dropout: &c.Dropout, optimizer: &c.Optimizer, seed: &c.Seed, workers: &c.Workers,
	}
}

func (c *Pooled) Init(s Shape) error { return initialise(c, s) }

func (c *Pooled) String() string { return c.settings().String() }

func (c *Pooled) fits(s Shape) error {
	switch {
	case len(s.Cats) == 0:
		return fmt.Errorf("there is no discrete channel, and the first must be the distance of a node: set Normalize.Distances")
	case len(s.Cats) == 1 && s.Attrs == 0 && s.Sparse == 0:
		return fmt.Errorf("nodes have no channel but their distance")
	case s.hasEdges():
		return fmt.Errorf("the fields come with edges, which Pooled does not read")
	}
	return nil
}

func (c *Pooled) lay(p *layer.Params, s Shape) body {
	l := &pooledLayers{Cells: s.nodes(), maps: c.Maps, act: c.activation.kind()}
	for _, n := range l.Cats[1:] {
		l.total += n
	}
	if l.total > 0 {
		l.table = p.Add("pooled.table", l.total, l.maps)
	}
	if l.Sparse > 0 {
		l.wide = p.Add("pooled.sparse", l.Sparse, l.maps)
	}
	if l.Attrs > 0 {
		l.dense = p.Add("pooled.weight", l.Attrs, l.maps)
	}
	l.bias = p.Add("pooled.bias", l.maps)
	return l
}

type pooledLayers struct {
	layer.Cells
	maps  int
	act   layer.Activation
	total int // rows of table

	table *layer.Weight // (Σcats but the first, maps), or nil
	wide  *layer.Weight // (sparse, maps), or nil
	dense *layer.Weight // (c_v, maps), or nil
	bias  *layer.Weight // (maps)

	share []float32 // (B, w, k): the weight of each node, 0 for a dummy
	means []float32 // (B, w, c_v): pooled continuous channels
	y     []float32 // (B, w, maps)
	row   []float32 // (maps): sum of the rows of wide that a node reads, in backward their gradient
	at    []int32   // offsets of the rows of wide that a node reads
	count []int     // nodes of a field by distance
}

func (l *pooledLayers) init(r random.Source) {
	for _, w := range []*layer.Weight{l.table, l.wide, l.dense} {
		if w != nil {
			layer.Glorot(w.W, l.total+l.Sparse+l.Attrs, l.maps, r)
		}
	}
}

func (l *pooledLayers) width() int { return l.W * l.maps }

func (l *pooledLayers) forward(b batch) ([]float32, error) {
	fields := b.rows * l.W
	l.share, l.means = scratch.Resize(l.share, fields*l.N), scratch.Resize(l.means, fields*l.Attrs)
	l.y, l.row = scratch.Resize(l.y, fields*l.maps), scratch.Resize(l.row, l.maps)
	if err := l.shares(b); err != nil {
		return nil, err
	}
	y := l.y[:fields*l.maps]
	l.pool(b.nodes.Attrs, fields)
	if l.dense != nil {
		kernel.Gemm(fields, l.maps, l.Attrs, l.means, l.Attrs, l.dense.W, l.maps, y, l.maps, false)
	} else {
		clear(y)
	}
	for i, share := range l.share[:fields*l.N] {
		if share == 0 {
			continue
		}
		if err := l.add(y[i/l.N*l.maps:][:l.maps], share, b.nodes, i); err != nil {
			return nil, err
		}
	}
	l.act.Forward(y, fields, l.maps, l.bias.W)
	return y, nil
}

// shares sets the weight of each node: one over the number of nodes at its distance, divided by the number of
// distances in its field.
func (l *pooledLayers) shares(b batch) error {
	d, groups := len(l.Cats), l.Cats[0]
	l.count = scratch.Resize(l.count, groups)
	for f := range b.rows * l.W {
		clear(l.count)
		distances := 0
		for i := range l.N {
			at := (f*l.N + i) * d
			g := b.nodes.Cats[at]
			if g < -1 || int(g) >= groups {
				return l.badValue(at, g, 0)
			}
			if g < 0 {
				continue
			}
			if l.count[g]++; l.count[g] == 1 {
				distances++
			}
		}
		for i := range l.N {
			share := &l.share[f*l.N+i]
			if g := b.nodes.Cats[(f*l.N+i)*d]; g >= 0 {
				*share = 1 / float32(distances*l.count[g])
			} else {
				*share = 0
			}
		}
	}
	return nil
}

// badValue returns the error of value v at position at of the discrete channels of a batch.
func (l *pooledLayers) badValue(at int, v int32, channel int) error {
	cell := at / len(l.Cats)
	return rowErrorf(cell/l.N/l.W, "field %d, node %d, discrete channel %d: value %d, want -1 to %d",
		cell/l.N%l.W, cell%l.N, channel, v, l.Cats[channel]-1)
}

// pool sets means to the mean continuous channels of each field.
func (l *pooledLayers) pool(attrs []float32, fields int) {
	c := l.Attrs
	if c == 0 {
		return
	}
	clear(l.means[:fields*c])
	for i, share := range l.share[:fields*l.N] {
		if share != 0 {
			kernel.Axpy(share, attrs[i*c:i*c+c], l.means[i/l.N*c:][:c])
		}
	}
}

// add adds the table rows of node i of the batch to y (maps).
func (l *pooledLayers) add(y []float32, share float32, in layer.Inputs, i int) error {
	first := int32(0)
	for c, n := range l.Cats[1:] {
		at := i*len(l.Cats) + c + 1
		v := in.Cats[at]
		if v < -1 || int(v) >= n {
			return l.badValue(at, v, c+1)
		}
		if v >= 0 {
			kernel.Axpy(share, l.table.W[int(first+v)*l.maps:][:l.maps], y)
		}
		first += int32(n)
	}
	if l.wide == nil {
		return nil
	}
	set := in.Sparse[in.Offsets[i]:in.Offsets[i+1]]
	for _, v := range set {
		if v < 0 || int(v) >= l.Sparse {
			return rowErrorf(i/l.N/l.W, "field %d, node %d, sparse channel: value %d, want 0 to %d",
				i/l.N%l.W, i%l.N, v, l.Sparse-1)
		}
	}
	if len(set) > 0 {
		row := l.row[:l.maps]
		clear(row)
		kernel.GatherFields(row, 1, l.maps, l.wide.W, l.places(set))
		kernel.Axpy(share*rootOf(set), row, y)
	}
	return nil
}

// places returns the offsets of the rows of wide for the values of a set.
func (l *pooledLayers) places(set []int32) []int32 {
	l.at = scratch.Resize(l.at, len(set))
	for i, v := range set {
		l.at[i] = v * int32(l.maps)
	}
	return l.at[:len(set)]
}

// rootOf returns the factor of the sum of a set of values. With 1/√n, the scale of the sum does not grow with n.
func rootOf(set []int32) float32 { return float32(1 / math.Sqrt(float64(len(set)))) }

func (l *pooledLayers) backward(dx []float32, b batch) {
	fields, c := b.rows*l.W, l.maps
	layer.ClearGrad(l.table, l.wide, l.dense, l.bias)
	l.act.Backward(dx, l.y[:fields*c])
	kernel.AddBiasGrad(l.bias.G, dx, fields, c)
	if l.dense != nil {
		kernel.GemmTN(fields, c, l.Attrs, l.means, l.Attrs, dx, c, l.dense.G, c, false)
	}
	row := l.row[:c]
	for i, share := range l.share[:fields*l.N] {
		if share == 0 {
			continue
		}
		dy := dx[i/l.N*c:][:c]
		first := int32(0)
		for ch, n := range l.Cats[1:] {
			if v := b.nodes.Cats[i*len(l.Cats)+ch+1]; v >= 0 {
				kernel.Axpy(share, dy, l.table.G[int(first+v)*c:][:c])
			}
			first += int32(n)
		}
		if l.wide == nil {
			continue
		}
		if set := b.nodes.Sparse[b.nodes.Offsets[i]:b.nodes.Offsets[i+1]]; len(set) > 0 {
			clear(row)
			kernel.Axpy(share*rootOf(set), dy, row)
			kernel.ScatterFields(l.wide.G, l.places(set), row, 1, c)
		}
	}
}
