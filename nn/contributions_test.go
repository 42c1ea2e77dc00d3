package nn

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gorgonia.org/tensor"
)

// Contributions add up to what the model predicts, and the weight of a count is what the
// prediction loses without it where rows are not scaled.
func TestContributions(t *testing.T) {
	rng := rand.New(rand.NewPCG(28, 3))
	var c Counts
	const rows = 40
	for range rows {
		ids := map[uint64]bool{}
		for range 1 + rng.IntN(30) {
			ids[rng.Uint64N(200)] = true
		}
		var list []uint64
		for id := range ids {
			list = append(list, id)
		}
		slices.Sort(list)
		values := make([]float64, len(list))
		for i := range values {
			values[i] = float64(1 + rng.IntN(9))
		}
		c.Append(list, values)
	}
	for _, kernel := range []Similarity{Linear, Cosine, Min} {
		for _, heads := range []int{1, 3} {
			for _, classes := range []int{0, 2, 3} {
				m := &Logistic{Kernel: kernel, Heads: heads, Width: 64}
				if err := m.Init(Shape{Counts: []string{"words"}, Classes: classes}); err != nil {
					t.Fatal(err)
				}
				b := Batch{Counts: &c}
				if _, err := m.Contributions(b, 0); !errors.Is(err, ErrUntrained) {
					t.Fatalf("untrained: %v", err)
				}
				targets, values := make([]int32, rows), make([]float32, rows)
				for i := range targets {
					targets[i], values[i] = rng.Int32N(int32(max(1, classes))), 100+10*rng.Float32()
				}
				b.Targets = tensor.New(tensor.WithShape(rows), tensor.WithBacking(targets))
				b.Values = tensor.New(tensor.WithShape(rows), tensor.WithBacking(values))
				if classes > 0 {
					b.Values = nil
				} else {
					b.Targets = nil
				}
				for range 20 {
					if _, err := m.Step(b); err != nil {
						t.Fatal(err)
					}
				}
				checkContributions(t, fmt.Sprint(m), m, m.Clone().(Additive), &c, classes)
			}
		}
	}
}

func checkContributions(t *testing.T, name string, m, clone Additive, c *Counts, classes int) {
	t.Helper()
	said, err := m.Predict(Batch{Counts: c}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for row := range c.Len() {
		e, err := clone.Contributions(Batch{Counts: c}, row)
		if err != nil {
			t.Fatal(err)
		}
		sum, n := e.Sum(), max(1, classes)
		got := said.Float32s()[row*n : (row+1)*n]
		if classes == 0 {
			if math.Abs(sum[0]-float64(got[0])) > 1e-5*math.Abs(float64(got[0])) {
				t.Fatalf("%s: row %d: %v, want %v", name, row, sum[0], got[0])
			}
			continue
		}
		for i := range got {
			// Logarithms of the probabilities differ as the logits do.
			want := math.Log(float64(got[i])) - math.Log(float64(got[0]))
			if d := sum[i] - sum[0]; math.Abs(d-want) > 1e-5*max(1, math.Abs(want)) {
				t.Fatalf("%s: row %d: %v, want %v", name, row, d, want)
			}
		}
	}
	if _, err := m.Contributions(Batch{Counts: c}, c.Len()); err == nil {
		t.Errorf("%s: a row that is not there", name)
	}
}

// Counts that share a row of the table are told.
func TestContributionsShared(t *testing.T) {
	m := &Logistic{Kernel: Linear, Width: 1}
	if err := m.Init(Shape{Counts: []string{"words"}, Classes: 2}); err != nil {
		t.Fatal(err)
	}
	var c Counts
	c.Append([]uint64{1, 2}, []float64{1, 1})
	c.Append([]uint64{1}, []float64{1})
	if _, err := m.Step(Batch{Counts: &c, Targets: tensor.New(tensor.WithShape(2), tensor.WithBacking([]int32{0, 1}))}); err != nil {
		t.Fatal(err)
	}
	for row, want := range [][]bool{{true, true}, {false}} {
		e, err := m.Contributions(Batch{Counts: &c}, row)
		if err != nil || !slices.Equal(e.Shared, want) {
			t.Errorf("row %d: %v, want %v: %v", row, e.Shared, want, err)
		}
	}
}
