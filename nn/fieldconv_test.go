package nn

import (
	"fmt"
	"slices"
	"testing"

	"github.com/sanflow/sanflow/nn/internal/kernel"
	"github.com/sanflow/sanflow/nn/internal/layer"
	"github.com/sanflow/sanflow/nn/internal/random"
)

var fieldShapes = []Shape{
	{W: 3, K: 4, Cats: []int{5}, Classes: 2},
	{W: 1, K: 1, Cats: []int{1}, Classes: 2},
	{W: 4, K: 3, Cats: []int{2, 4, 3}, Classes: 2},
	{W: 3, K: 2, Attrs: 3, Classes: 2},
	{W: 5, K: 3, Cats: []int{3, 2}, Attrs: 2, Classes: 2},
}

// fieldLayer returns a layer with weights and one graph for it.
func fieldLayer(t *testing.T, s Shape, maps int) (l *layer.FieldConv, b batch) {
	t.Helper()
	var p layer.Params
	l = layer.NewFieldConv(&p, "conv1", s.nodes(), maps, layer.ReLU)
	p.Alloc()
	l.Init(random.New(3, random.Init))
	b = randomBatch(s, 1, 5)
	if err := l.Grow(b.nodes, 1); err != nil {
		t.Fatal(err)
	}
	return l, b
}

// The gathered layer is the convolution of one-hot inputs, written as loops
// over the matrix that nn never builds.
func TestFieldConvIsOneHotConvolution(t *testing.T) {
	for _, s := range fieldShapes {
		c := &CNN{Maps1: 7, Size2: 1, Seed: 2}
		if err := c.Init(s); err != nil {
			t.Fatal(err)
		}
		l, r := layersOf(c).fields.Nodes.Conv1, newRand(4)
		copy(l.Bias.W, normal(r, len(l.Bias.W)))
		b := randomBatch(s, 1, 6)
		if err := l.Grow(b.nodes, 1); err != nil {
			t.Fatal(err)
		}
		y := make([]float32, s.W*l.Maps)
		if err := l.Forward(y, b.nodes, 0, 1); err != nil {
			t.Fatal(err)
		}
		want := slices.Concat(newReference(c).conv1(b, 0)...)
		compare(t, "y", y, want, 1e-5)
	}
}

func TestFieldConvGradients(t *testing.T) {
	for _, s := range fieldShapes {
		l, b := fieldLayer(t, s, 6)
		fixBias(l.Bias.W)
		y, r := make([]float32, s.W*l.Maps), normal(newRand(8), s.W*l.Maps)
		loss := func() float64 {
			l.Forward(y, b.nodes, 0, 1)
			return weighted(r, y)
		}
		loss()
		l.Backward(slices.Clone(r), y, b.nodes, 0, 1)
		checkGrad(t, "bias", l.Bias.W, l.Bias.G, loss)
		if l.Table != nil {
			checkGrad(t, "table", l.Table.W, l.Table.G, loss)
		}
		if l.Dense != nil {
			checkGrad(t, "weight", l.Dense.W, l.Dense.G, loss)
		}
	}
}

// A dummy node, and a field of them, leaves the bias alone.
func TestFieldConvDummies(t *testing.T) {
	l, b := fieldLayer(t, fieldShapes[0], 6)
	for i := range b.nodes.Cats {
		b.nodes.Cats[i] = -1
	}
	if err := l.Grow(b.nodes, 1); err != nil {
		t.Fatal(err)
	}
	copy(l.Bias.W, []float32{1, -1, 2, -2, 3, 0})
	y := make([]float32, l.W*6)
	for i := range y {
		y[i] = 99 // forward must not add to what was there
	}
	l.Forward(y, b.nodes, 0, 1)
	for f := range l.W {
		if got := y[6*f : 6*f+6]; !slices.Equal(got, []float32{1, 0, 2, 0, 3, 0}) {
			t.Errorf("field %d of dummies is %v", f, got)
		}
	}
	l.Backward(slices.Repeat([]float32{1}, l.W*6), y, b.nodes, 0, 1)
	if kernel.Dot(l.Table.G, l.Table.G) != 0 {
		t.Error("dummies have changed the gradient of the table")
	}
}

func TestFieldConvIndex(t *testing.T) {
	l, _ := fieldLayer(t, Shape{W: 2, K: 2, Cats: []int{3, 2}, Classes: 2}, 1)
	in := layer.Inputs{Cats: []int32{0, 0, 2, 1 /**/, -1, 1, 1, -1}}
	y := make([]float32, l.W*l.Maps)
	if err := l.Grow(in, 1); err != nil {
		t.Fatal(err)
	}
	// A node has 3+2 rows; the second of a field begins at row 5, its second
	// channel at row 8.
	want := []int32{0, 3, 7, 9 /**/, -1, 4, 6, -1}
	for i, row := range want {
		if row > 0 {
			want[i] *= int32(l.Maps)
		}
	}
	if err := l.Forward(y, in, 0, 1); err != nil || !slices.Equal(l.Idx, want) {
		t.Errorf("rows of %v begin at %v, want %v; %v", in.Cats, l.Idx, want, err)
	}
	for _, v := range []int32{2, 3, 1 << 30, -2, -1 << 31} {
		in.Cats[5] = v
		bad := fmt.Sprintf("row 0: field 1, node 0, discrete channel 1: value %d, want -1 to 1", v)
		if err := l.Forward(y, in, 0, 1); err == nil || err.Error() != bad {
			t.Errorf("%v, want %s", err, bad)
		}
	}
}
