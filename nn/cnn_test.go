package nn

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"github.com/sanflow/sanflow/nn/internal/layer"
)

// Printed by testdata/losses.py, which shares no code with the package: the
// loss right before each of ten steps on one batch.
var tenLosses = []float64{
	0.7572529,
	0.7150153,
	0.6851438,
	0.6842216,
	0.6826656,
	0.6820035,
	0.6676955,
	0.6648808,
	0.6631934,
	0.6408698,
}

func TestTenLosses(t *testing.T) {
	s := Shape{W: 3, K: 2, Cats: []int{3}, Attrs: 1, Classes: 2}
	checkLosses(t, tenLosses, s, &CNN{Maps1: 4, Maps2: 3, Size2: 2, Hidden: 5, Optimizer: RMSprop{Rate: 0.01}, Seed: 1})
}

// The same for the network of k = 10ᴱ, with all that an optimizer can do.
var tenLossesMerged = []float64{
	0.6804043,
	0.6747150,
	0.6708348,
	0.6652781,
	0.6587757,
	0.6526407,
	0.6458549,
	0.6383321,
	0.6292187,
	0.6203774,
}

func TestTenLossesMerged(t *testing.T) {
	s := Shape{W: 3, K: 2, Cats: []int{3}, Attrs: 1, EdgeCats: []int{2}, EdgeAttrs: 1, Classes: 2}
	o := Adam{Rate: 0.01, WeightDecay: 0.5}
	checkLosses(t, tenLossesMerged, s, &CNN{Maps1: 4, Maps2: 3, Size2: 2, Hidden: 5, Optimizer: o, Seed: 1})
}

func checkLosses(t *testing.T, want []float64, s Shape, c *CNN) {
	if err := c.Init(s); err != nil {
		t.Fatal(err)
	}
	b := batch{rows: 4, targets: []int32{0, 1, 0, 1}}
	for j := range 4 * s.W * s.K {
		b.nodes.Cats = append(b.nodes.Cats, int32(min(j*j%5-1, 2)))
		b.nodes.Attrs = append(b.nodes.Attrs, float32(j*5%7-3)/4)
	}
	for j := range 4 * s.W * s.K * s.K {
		b.edges.Cats = append(b.edges.Cats, int32(j*3%7%3-1))
		b.edges.Attrs = append(b.edges.Attrs, float32(j*4%9-4)/5)
	}
	for i, want := range want {
		r, err := c.step(b)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(r.Loss-want) > 2e-5 {
			t.Errorf("loss before step %d is %.7f, want %.7f", i+1, r.Loss, want)
		}
	}
}

// xorBatch draws graphs of two classes that no sum over nodes tells apart:
// the class is whether the first nodes of fields 0 and 1 have the same
// value. All other nodes are noise.
func xorBatch(r *rand.Rand, s Shape, rows int) batch {
	b := batch{rows: rows, nodes: layer.Inputs{Cats: make([]int32, rows*s.W*s.K)}, targets: make([]int32, rows)}
	for i := range b.nodes.Cats {
		b.nodes.Cats[i] = r.Int32N(int32(s.Cats[0])+1) - 1
	}
	for i := range rows {
		x, y := r.Int32N(2), r.Int32N(2)
		graph := b.nodes.Cats[i*s.W*s.K:]
		graph[0], graph[s.K] = x, y
		b.targets[i] = x ^ y
	}
	return b
}

func TestLearnsXOR(t *testing.T) {
	s := Shape{W: 4, K: 3, Cats: []int{3}, Classes: 2}
	c := &CNN{Seed: 1}
	if err := c.Init(s); err != nil {
		t.Fatal(err)
	}
	r := newRand(1)
	var first, last Result
	for i := range 1000 {
		res, err := c.step(xorBatch(r, s, 32))
		if err != nil {
			t.Fatal(err)
		}
		sum := &last
		if i < 10 {
			sum = &first
		}
		if i < 10 || i >= 990 {
			sum.Rows += res.Rows
			sum.Correct += res.Correct
			sum.Loss += res.Loss / 10
		}
	}
	// Each batch is new, and tested before it is learned from.
	if first.Correct > 250 || last.Correct < 310 || last.Loss > 0.1 {
		t.Errorf("first ten batches %+v, last ten %+v: has not learned", first, last)
	}
	if c.Seen() != 32000 || c.Accuracy() < 0.85 || c.Accuracy() > 0.999 {
		t.Errorf("seen %d, accuracy %v", c.Seen(), c.Accuracy())
	}
}

// The same seed gives the same bytes, another seed others; the size of the
// buffers, which the largest batch decides, plays no part.
func TestSameSeedSameBytes(t *testing.T) {
	train := func(seed uint64, warmUp int) string {
		c := &CNN{Seed: seed}
		if err := c.Init(small); err != nil {
			t.Fatal(err)
		}
		if warmUp > 0 {
			if err := c.predict(make([]float32, warmUp*3), smallBatch(warmUp)); err != nil {
				t.Fatal(err)
			}
		}
		for i := range 20 {
			if _, err := c.step(randomBatch(small, 1+i%9, uint64(i))); err != nil {
				t.Fatal(err)
			}
		}
		return c.Hash()
	}
	want := train(1, 0)
	if got := train(1, 0); got != want {
		t.Errorf("the same seed again: %s, want %s", got, want)
	}
	if got := train(1, 50); got != want {
		t.Errorf("after predicting: %s, want %s", got, want)
	}
	if train(2, 0) == want {
		t.Error("another seed gives the same weights")
	}
}

func TestPredict(t *testing.T) {
	c := smallCNN(t)
	b := smallBatch(4)
	in := tensorsOf(small, b)
	c.given = true
	cats, attrs := slices.Clone(b.nodes.Cats), slices.Clone(b.nodes.Attrs)
	p, err := c.Predict(in, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(p.Shape(), []int{4, 3}) {
		t.Fatalf("shape %v, want (4, 3)", p.Shape())
	}
	ref := newReference(c)
	for i := range 4 {
		x := ref.logits(b, i)
		var sum float64
		for j := range x {
			x[j] = math.Exp(x[j])
			sum += x[j]
		}
		for j := range x {
			x[j] /= sum
		}
		compare(t, "p", p.Float32s()[3*i:3*i+3], x, 1e-5)
	}

	// Into a tensor of the caller's, without targets, twice the same.
	in.Targets = nil
	dst := tensor.New(tensor.WithShape(4, 3), tensor.Of(tensor.Float32))
	q, err := c.Predict(in, dst)
	if err != nil || q != dst || !slices.Equal(p.Float32s(), q.Float32s()) {
		t.Errorf("into dst: %v, %v, want %v", q, err, p)
	}
	if !slices.Equal(b.nodes.Cats, cats) || !slices.Equal(b.nodes.Attrs, attrs) {
		t.Error("Predict has written to its input")
	}
	if c.Seen() != 0 {
		t.Errorf("Predict counts as %d seen", c.Seen())
	}
	wrong := tensor.New(tensor.WithShape(3, 4), tensor.Of(tensor.Float32))
	if _, err := c.Predict(in, wrong); err == nil || !strings.Contains(err.Error(), "dst is [3 4], want [4 3]") {
		t.Errorf("dst of the wrong shape: %v", err)
	}
}

// The counts are of predictions without dropout, before the update.
func TestStepTestsThenTrains(t *testing.T) {
	c := smallCNN(t)
	correct, seen := 0, 0
	for i := range 30 {
		b := randomBatch(small, 3, uint64(i))
		p := make([]float32, 9)
		if err := c.predict(p, b); err != nil {
			t.Fatal(err)
		}
		want, loss := 0, 0.0
		for i, class := range b.targets {
			row := p[3*i : 3*i+3]
			if row[class] == slices.Max(row) {
				want++
			}
			loss -= math.Log(float64(row[class])) / 3
		}
		r, err := c.Step(tensorsOf(small, b))
		if err != nil {
			t.Fatal(err)
		}
		if r.Rows != 3 || r.Correct != want || math.Abs(r.Loss-loss) > 1e-5 {
			t.Fatalf("step %d: %+v, predicted %d right at a loss of %v", i, r, want, loss)
		}
		correct += want
		seen += 3
	}
	if c.Seen() != seen || c.Accuracy() != float64(correct)/float64(seen) {
		t.Errorf("seen %d, accuracy %v, want %d, %d right", c.Seen(), c.Accuracy(), seen, correct)
	}
}

func TestInit(t *testing.T) {
	c := &CNN{Seed: 3}
	if err := c.Init(small); err != nil {
		t.Fatal(err)
	}
	if c.Maps1 != 16 || c.Dropout != 0.5 {
		t.Errorf("zero fields are not filled: %v", c)
	}
	hash := c.Hash()
	if err := c.Init(small); err != nil || c.Hash() != hash {
		t.Errorf("a second Init: %v, or the weights have changed", err)
	}
	other := c.Shape()
	other.Cats[0] = 99
	if c.Shape().Cats[0] != 3 {
		t.Error("Shape shares memory with the network")
	}
	for _, test := range []struct {
		change func(*Shape)
		want   string
	}{
		{func(s *Shape) { s.W = 5 }, "for 4 fields (w), the data have 5"},
		{func(s *Shape) { s.K = 3 }, "for 2 nodes a field (k), the data have 3"},
		{func(s *Shape) { s.Attrs = 0 }, "for 2 continuous channels, the data have 0"},
		{func(s *Shape) { s.Cats = []int{3} }, "for 2 discrete channels, the data have 1"},
		{func(s *Shape) { s.Cats = []int{3, 9} }, "discrete channels of [3 2] values, the data have [3 9]"},
		{func(s *Shape) { s.Classes = 2 }, "for 3 classes, the data have 2"},
	} {
		s := c.Shape()
		test.change(&s)
		if err := c.Init(s); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("Init(%+v): %v, want %q", s, err, test.want)
		}
	}
}

func TestInitErrors(t *testing.T) {
	ok := Shape{W: 18, K: 10, Cats: []int{7}, Classes: 2}
	for _, test := range []struct {
		c    CNN
		s    Shape
		want string
	}{
		{CNN{Maps1: -1}, ok, "Maps1 is -1"},
		{CNN{Hidden: math.MaxInt}, ok, "more than 268435456 weights"},
		{CNN{Hidden: math.MaxInt, Maps2: math.MaxInt / 2}, ok, "more than 268435456 weights"},
		{CNN{Dropout: 1}, ok, "Dropout is 1, want below 1"},
		{CNN{Dropout: math.NaN()}, ok, "Dropout is NaN"},
		{CNN{Optimizer: RMSprop{Rate: -1}}, ok, "RMSprop: Rate is -1"},
		{CNN{}, Shape{K: 10, Cats: []int{7}, Classes: 2}, "w = 0, k = 10"},
		{CNN{}, Shape{W: 18, K: 10, Classes: 2}, "nodes have no channels"},
		{CNN{}, Shape{W: 18, K: 10, Cats: []int{7, 0}, Classes: 2}, "discrete channel 1 has 0 values"},
		{CNN{}, Shape{W: 18, K: 10, Cats: []int{1 << 28, 1}, Classes: 2}, "more than 268435456 values"},
		{CNN{}, Shape{W: 18, K: 1 << 30, Cats: []int{7}, Classes: 2}, "too much"},
		{CNN{}, Shape{W: 18, K: 10, Attrs: -1, Classes: 2}, "-1 continuous channels"},
		{CNN{}, Shape{W: 18, K: 10, Cats: []int{7}, Classes: 1}, "classes = 1, want at least 2"},
	} {
		err := test.c.Init(test.s)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v: Init(%+v): %v, want %q", &test.c, test.s, err, test.want)
		}
		if test.c.learner != nil {
			t.Error("a failed Init has left a network")
		}
	}
}

func TestNotReady(t *testing.T) {
	var c CNN
	_, stepErr := c.Step(Batch{})
	_, predictErr := c.Predict(Batch{}, nil)
	if stepErr != ErrNotReady || predictErr != ErrNotReady {
		t.Errorf("Step: %v, Predict: %v, want ErrNotReady", stepErr, predictErr)
	}
	if c.Accuracy() != 0 || c.Hash() != "" {
		t.Errorf("accuracy %v, hash %q", c.Accuracy(), c.Hash())
	}
}

// Bad rows are named, and nothing is learned from their batch.
func TestStepErrors(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(-1))
	for _, test := range []struct {
		spoil func(b batch)
		row   int // -1: not the data's fault
		want  string
	}{
		{func(b batch) { b.targets[3] = 3 }, 3, "nn: row 3: class 3, want 0 to 2"},
		{func(b batch) { b.targets[0] = -1 }, 0, "nn: row 0: class -1, want 0 to 2"},
		{func(b batch) { b.nodes.Cats[2*16+1*4+0*2+1] = 2 }, 2, "nn: row 2: field 1, node 0, discrete channel 1: value 2, want -1 to 1"},
		{func(b batch) { b.nodes.Cats[16+3*4+1*2] = -2 }, 1, "nn: row 1: field 3, node 1, discrete channel 0: value -2, want -1 to 2"},
		{func(b batch) { b.nodes.Attrs[2*16+5] = nan }, 2, "nn: row 2: attribute is NaN"},
		{func(b batch) { b.nodes.Attrs[16] = -inf }, 1, "nn: row 1: attribute is +Inf"},
	} {
		c := smallCNN(t)
		if _, err := c.step(smallBatch(4)); err != nil {
			t.Fatal(err)
		}
		hash := c.Hash()
		b := smallBatch(4)
		test.spoil(b)
		_, err := c.Step(tensorsOf(small, b))
		var at *RowError
		if err == nil || err.Error() != test.want || !errors.As(err, &at) || at.Row != test.row {
			t.Errorf("error %v, want %q", err, test.want)
		}
		if c.Hash() != hash || c.Seen() != 4 {
			t.Errorf("%s: the batch has changed the network", test.want)
		}
	}
}

// Weights that have run away stop the training with the step's number.
func TestStepDiverged(t *testing.T) {
	c := smallCNN(t)
	b := smallBatch(4)
	if _, err := c.step(b); err != nil {
		t.Fatal(err)
	}
	layersOf(c).hidden.Bias.W[0] = float32(math.NaN())
	hash := c.Hash()
	_, err := c.step(b)
	var at *RowError
	if err == nil || !strings.HasPrefix(err.Error(), "nn: step 2: the loss is NaN") || errors.As(err, &at) {
		t.Errorf("error %v, want the step named", err)
	}
	if c.Hash() != hash {
		t.Error("the step has changed the weights")
	}
	if err := c.predict(make([]float32, 12), b); !errors.As(err, &at) {
		t.Errorf("prediction: %v", err)
	}

	// And they do run away at a rate that is far too high.
	c = &CNN{Optimizer: RMSprop{Rate: 1e30}}
	if err := c.Init(small); err != nil {
		t.Fatal(err)
	}
	for range 10 {
		if _, err = c.step(b); err != nil {
			break
		}
	}
	if err == nil || !strings.Contains(err.Error(), "the loss is") {
		t.Errorf("after ten steps at rate 1e30: %v", err)
	}
}

// Once buffers have grown, neither learning nor predicting takes memory, also
// for smaller batches.
func TestNoAllocations(t *testing.T) {
	if underRace {
		t.Skip("the kernels' pool of scratch memory is drained under the race detector")
	}
	c := smallCNN(t)
	in, less := tensorsOf(small, smallBatch(8)), tensorsOf(small, smallBatch(5))
	dst := tensor.New(tensor.WithShape(5, 3), tensor.Of(tensor.Float32))
	got := testing.AllocsPerRun(20, func() {
		_, err := c.Step(in)
		_, err2 := c.Step(less)
		_, err3 := c.Predict(less, dst)
		if err := errors.Join(err, err2, err3); err != nil {
			t.Fatal(err)
		}
	})
	if got != 0 {
		t.Errorf("%v allocations a round, want none", got)
	}
}

// Through the interface, as the sinks use it.
func TestModel(t *testing.T) {
	var m Model = &CNN{}
	if err := m.Init(small); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Step(tensorsOf(small, smallBatch(3))); err != nil {
		t.Fatal(err)
	}
	if err := m.Save(new(bytes.Buffer)); err != nil {
		t.Fatal(err)
	}
	if m.Seen() != 3 {
		t.Errorf("seen %d, want 3", m.Seen())
	}
}
