package modelfile_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"gorgonia.org/tensor"

	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/nn/trees"
)

// kind is a kind of file, and what a model of it answers.
type kind struct {
	name string
	file []byte
	// ask loads a file and returns what the model answers to an input that is
	// always the same.
	ask func(file []byte) ([]float64, error)
}

// kinds returns a file of each kind that package nn writes.
func kinds(t testing.TB) []kind {
	t.Helper()
	var all []kind
	fields := nn.Shape{W: 4, K: 2, Cats: []int{3, 2}, Attrs: 2, Classes: 3}
	edges := nn.Shape{W: 3, K: 2, Cats: []int{3}, Sparse: 5, EdgeCats: []int{2}, EdgeAttrs: 1}
	counts := nn.Shape{Counts: []string{"words"}, Classes: 3}
	for name, m := range map[string]struct {
		s   nn.Shape
		new func() nn.Model
	}{
		"cnn":         {fields, func() nn.Model { return &nn.CNN{Maps1: 3, Maps2: 2, Size2: 2, Hidden: 3, Optimizer: nn.Adam{}} }},
		"cnn, number": {edges, func() nn.Model { return &nn.CNN{Maps1: 3, Maps2: 2, Size2: 2, Hidden: 3, Optimizer: nn.AdaGrad{}} }},
		"gru":         {fields, func() nn.Model { return &nn.GRU{Hidden: 2} }},
		"pslr":        {edges, func() nn.Model { return &nn.PSLR{} }},
		"pooled":      {fields, func() nn.Model { return &nn.Pooled{Maps: 3} }},
		"logistic":    {counts, func() nn.Model { return &nn.Logistic{Width: 13, Heads: 2} }},
		"min":         {counts, func() nn.Model { return &nn.Logistic{Width: 13, Kernel: nn.Min} }},
	} {
		model := m.new()
		check(t, model.Init(m.s))
		for i := range 3 {
			_, err := model.Step(batchOf(m.s, 8, uint64(i)))
			check(t, err)
		}
		ask := func(p nn.Predictor) ([]float64, error) {
			if err := p.Init(m.s); err != nil {
				return nil, err
			}
			y, err := p.Predict(batchOf(m.s, 5, 9), nil)
			return numbers(y), err
		}
		all = append(all, kind{name, saved(t, model), func(file []byte) ([]float64, error) {
			p, err := nn.LoadPredictor(bytes.NewReader(file))
			if err != nil {
				return nil, err
			}
			return ask(p)
		}})
		best := model.AppendWeights(nil)
		_, err := model.Step(batchOf(m.s, 8, 3))
		check(t, err)
		for what, best := range map[string][]float32{"checkpoint of ": nil, "checkpoint, with the best, of ": best} {
			var checkpoint bytes.Buffer
			check(t, model.Checkpoint(&checkpoint, "a note", best))
			all = append(all, kind{what + name, checkpoint.Bytes(), func(file []byte) ([]float64, error) {
				p := m.new()
				if err := p.Init(m.s); err != nil {
					return nil, err
				}
				note, again, err := p.Resume(bytes.NewReader(file))
				if err != nil || note != "a note" || !slices.Equal(again, best) {
					return nil, errors.Join(errors.New("another note, or other weights"), err)
				}
				return ask(p)
			}})
		}
	}
	return append(append(all, encoders(t)...), ensemble(t, fields), boosted(t))
}

// ensemble returns a file of two networks of different kinds.
func ensemble(t testing.TB, s nn.Shape) kind {
	m := &nn.Ensemble{Nets: []nn.Predictor{&nn.Pooled{Maps: 3, Seed: 1}, &nn.PSLR{}}}
	m.Metadata()["note"] = "two"
	check(t, m.Init(s))
	for i, one := range m.Nets {
		_, err := one.(nn.Model).Step(batchOf(s, 8, uint64(i)))
		check(t, err)
	}
	return kind{"ensemble", saved(t, m), func(file []byte) ([]float64, error) {
		p, err := nn.LoadPredictor(bytes.NewReader(file))
		if err != nil {
			return nil, err
		}
		if err := p.Init(s); err != nil {
			return nil, err
		}
		y, err := p.Predict(batchOf(s, 5, 9), nil)
		return numbers(y), err
	}}
}

// boosted returns a file of trees.
func boosted(t testing.TB) kind {
	shape := nn.Shape{Counts: []string{"words"}, Columns: []string{"a"}, Classes: 3}
	batch := func(rows int, seed uint64) nn.Batch {
		b := batchOf(shape, rows, seed)
		for i := range rows {
			b.Columns = append(b.Columns, float64((i+int(seed))%5))
		}
		return b
	}
	b, m := batch(30, 3), &trees.Model{Trees: 2, MinRows: 2}
	check(t, m.Init(shape))
	_, err := m.Fit(context.Background(), trees.Of(b), nil)
	check(t, err)
	return kind{"trees", saved(t, m), func(file []byte) ([]float64, error) {
		m, err := nn.LoadPredictor(bytes.NewReader(file))
		if err != nil {
			return nil, err
		}
		if err := m.Init(shape); err != nil {
			return nil, err
		}
		y, err := m.Predict(batch(5, 9), nil)
		return numbers(y), err
	}}
}

// encoders returns files of the models that learn without targets.
func encoders(t testing.TB) (all []kind) {
	x := tensor.New(tensor.WithShape(5, 6), tensor.WithBacking(func() []float32 {
		r, v := rand.New(rand.NewPCG(1, 2)), make([]float32, 30)
		for i := range v {
			v[i] = r.Float32()
		}
		return v
	}()))
	for name, m := range map[string]nn.Encoder{
		"rbm": &nn.RBM{Hidden: 3}, "gaussian": &nn.RBM{Hidden: 3, Units: nn.Gaussian}, "autoencoder": &nn.Autoencoder{Hidden: 3},
	} {
		check(t, m.Init(6))
		_, err := m.Step(x)
		check(t, err)
		all = append(all, kind{name, saved(t, m), func(file []byte) ([]float64, error) {
			m, err := nn.LoadEncoder(bytes.NewReader(file))
			if err != nil {
				return nil, err
			}
			y, err := m.Encode(x, nil)
			return numbers(y), err
		}})
	}
	return all
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func saved(t testing.TB, m interface{ Save(io.Writer) error }) []byte {
	t.Helper()
	var b bytes.Buffer
	check(t, m.Save(&b))
	return b.Bytes()
}

func numbers(y *tensor.Dense) (x []float64) {
	if y == nil {
		return nil
	}
	for _, v := range y.Float32s() {
		x = append(x, float64(v))
	}
	return x
}

// batchOf returns rows of random values of a shape, with targets.
func batchOf(s nn.Shape, rows int, seed uint64) (b nn.Batch) {
	r := rand.New(rand.NewPCG(seed, 7))
	ints := func(of func(i int) int, shape ...int) *tensor.Dense {
		v := make([]int32, tensor.Shape(shape).TotalSize())
		for i := range v {
			v[i] = int32(of(i))
		}
		if len(v) == 0 {
			return nil
		}
		return tensor.New(tensor.WithShape(shape...), tensor.WithBacking(v))
	}
	floats := func(shape ...int) *tensor.Dense {
		v := make([]float32, tensor.Shape(shape).TotalSize())
		for i := range v {
			v[i] = float32(r.NormFloat64())
		}
		if len(v) == 0 {
			return nil
		}
		return tensor.New(tensor.WithShape(shape...), tensor.WithBacking(v))
	}
	if len(s.Counts) > 0 {
		b.Counts = new(nn.Counts)
		for range rows {
			first := uint64(r.IntN(4))
			b.Counts.Append([]uint64{first, first + 2, first + 5}, []float64{1, float64(1 + r.IntN(3)), 1})
		}
	}
	b.Cats = ints(func(i int) int { return r.IntN(s.Cats[i%len(s.Cats)]) }, rows, s.W, s.K, len(s.Cats))
	b.Attrs = floats(rows, s.W, s.K, s.Attrs)
	b.EdgeCats = ints(func(i int) int { return r.IntN(s.EdgeCats[i%len(s.EdgeCats)]) }, rows, s.W, s.K, s.K, len(s.EdgeCats))
	b.EdgeAttrs = floats(rows, s.W, s.K, s.K, s.EdgeAttrs)
	if cells := rows * s.W * s.K; s.Sparse > 0 {
		b.SparseOffsets = ints(func(i int) int { return i }, cells+1)
		b.Sparse = ints(func(int) int { return r.IntN(s.Sparse) }, cells)
	}
	if s.Classes == 0 {
		b.Values = floats(rows)
	} else {
		b.Targets = ints(func(int) int { return r.IntN(s.Classes) }, rows)
	}
	return b
}
