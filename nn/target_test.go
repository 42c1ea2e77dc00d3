package nn

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gorgonia.org/tensor"
)

// linearBatch is rows of that shape with values that are a linear function of what the
// rows hold, and noise: of mean 0 and deviation 1, or moved by to.
func linearBatch(s Shape, rows int, seed uint64, to func(float64) float64) Batch {
	in := randomBatch(s, rows, seed)
	rng := rand.New(rand.NewPCG(seed, 9))
	for i := range in.values {
		sum := 0.
		if c := in.counts; c != nil {
			_, values := c.Row(i)
			for _, v := range values {
				sum += v
			}
			sum = sum/float64(len(values)) - 1
		} else {
			n := s.W * s.K
			for _, v := range in.nodes.Cats[i*n*len(s.Cats) : (i+1)*n*len(s.Cats)] {
				sum += float64(v) - 0.5
			}
			for _, x := range in.nodes.Attrs[i*n*s.Attrs : (i+1)*n*s.Attrs] {
				sum += float64(x)
			}
			sum /= math.Sqrt(float64(n * (len(s.Cats) + s.Attrs)))
		}
		in.values[i] = float32(to(sum + 0.1*rng.NormFloat64()))
	}
	return tensorsOf(s, in)
}

// Every model of numbers makes the same of values in any unit: predictions and errors
// are the same in that unit, up to rounding.
func TestUnit(t *testing.T) {
	for _, test := range modelCases {
		if test.s.Classes > 0 {
			continue
		}
		t.Run(test.name, func(t *testing.T) {
			asked := tensorsOf(test.s, randomBatch(test.s, 16, 99))
			run := func(to func(float64) float64) (Model, Result, Result, []float32) {
				m := ready(t, test.s, test.new())
				var last Result
				for i := range uint64(60) {
					r, err := m.Step(linearBatch(test.s, 16, i%20, to))
					if err != nil {
						t.Fatal(err)
					}
					last = r
				}
				tested, err := m.Evaluate(linearBatch(test.s, 200, 100, to))
				if err != nil {
					t.Fatal(err)
				}
				p, err := m.Predict(asked, nil)
				if err != nil {
					t.Fatal(err)
				}
				return m, last, tested, p.Float32s()
			}
			_, last, want, said := run(func(y float64) float64 { return y })
			for _, u := range []struct{ mean, size float64 }{{0, 1000}, {-273.15, 1e-3}, {1e6, 1e3}, {0, 1e-6}} {
				m, l, got, p := run(func(y float64) float64 { return u.mean + u.size*y })
				// A float32 has 24 bits for the mean as well.
				near := func(what string, got, want, slack float64) {
					if !(math.Abs(got-want) <= slack) {
						t.Errorf("unit %v: %s is %v, want %v", u, what, got, want)
					}
				}
				rough := 0.02 + 100*math.Abs(u.mean)/u.size/(1<<24)
				near("the loss of the last step", l.Loss/u.size/u.size, last.Loss, rough*max(1, last.Loss))
				near("the loss of a test", got.Loss/u.size/u.size, want.Loss, rough*max(1, want.Loss))
				near("the mean error", got.AbsError/u.size, want.AbsError, rough*max(1, want.AbsError))
				for i := range p {
					near("a prediction", (float64(p[i])-u.mean)/u.size, float64(said[i]), rough*max(1, math.Abs(float64(said[i]))))
				}
				weights := m.AppendWeights(nil)
				var file bytes.Buffer
				if err := m.(Saver).Save(&file); err != nil {
					t.Fatal(err)
				}
				loaded, err := loadModel(&file)
				if err != nil {
					t.Fatal(err)
				}
				other := ready(t, test.s, test.new())
				if err := other.SetWeights(weights); err != nil {
					t.Fatal(err)
				}
				for name, m := range map[string]Predictor{"loaded": loaded, "of the same weights": other, "a copy": m.Clone()} {
					again, err := m.Predict(asked, nil)
					if err != nil || !slices.Equal(again.Float32s(), p) {
						t.Errorf("unit %v: a model that is %s says %v, %v, want %v", u, name, again, err, p)
					}
				}
			}
		})
	}
}

// The unit is that of the first 256 rows, in batches of any size; it is told in the file
// and in a checkpoint, and a training that goes on from a checkpoint goes the same way.
func TestUnitFixed(t *testing.T) {
	s := Shape{Counts: []string{"words"}}
	step := func(m *Logistic, from, to int) {
		t.Helper()
		c := &Counts{Offsets: []int{0}}
		var values []float32
		for i := from; i < to; i++ {
			c.IDs, c.Values = append(c.IDs, uint64(i%7)), append(c.Values, 1)
			c.Offsets = append(c.Offsets, len(c.IDs))
			values = append(values, 50+10*float32(i%7-3))
		}
		if _, err := m.Step(Batch{Counts: c, Values: tensor.New(tensor.WithShape(to-from), tensor.WithBacking(values))}); err != nil {
			t.Fatal(err)
		}
	}
	start := func() *Logistic {
		m := &Logistic{Width: 64, Kernel: Min}
		if err := m.Init(s); err != nil {
			t.Fatal(err)
		}
		return m
	}
	one, many := start(), start()
	for i := range 300 {
		step(one, i, i+1)
	}
	step(many, 0, 256)
	if one.unit != many.unit || math.Abs(float64(one.unit.Mean)-50) > 0.5 || math.Abs(float64(one.unit.Deviation)-20) > 0.5 {
		t.Errorf("row by row %+v, at once %+v", one.unit, many.unit)
	}
	a := start()
	step(a, 0, 100)
	var kept bytes.Buffer
	if err := a.Checkpoint(&kept, "", nil); err != nil {
		t.Fatal(err)
	}
	b := start()
	if _, _, err := b.Resume(bytes.NewReader(kept.Bytes())); err != nil || b.unit != a.unit || b.moments != a.moments {
		t.Fatalf("%v: resumed with %+v, %+v", err, b.unit, b.moments)
	}
	step(a, 100, 400)
	step(b, 100, 400)
	if a.Hash() != b.Hash() || a.unit != b.unit || a.Hash() == "" {
		t.Errorf("resumed: %+v, want %+v", b.unit, a.unit)
	}
	// Equal values are no unit.
	c := start()
	for range 3 {
		step(c, 3, 4)
	}
	if c.unit != (unit{Mean: 50}) {
		t.Errorf("of equal values: %+v", c.unit)
	}
	if err := c.SetWeights(append(make([]float32, len(c.work.W)), 1, float32(math.Inf(1)))); err == nil {
		t.Error("a deviation that is not finite was taken")
	}
}
