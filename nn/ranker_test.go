package nn

import (
	"math"
	"math/rand/v2"
	"testing"
)

// draw makes a question whose answer has the largest x₀ - x₁².
func draw(rng *rand.Rand, rows int) Question {
	x := make([]float32, 3*rows)
	best, most := 0, math.Inf(-1)
	for i := range rows {
		for j := range 3 {
			x[3*i+j] = rng.Float32()*2 - 1
		}
		if v := float64(x[3*i] - x[3*i+1]*x[3*i+1]); v > most {
			best, most = i, v
		}
	}
	for j := range 3 {
		x[j], x[3*best+j] = x[3*best+j], x[j]
	}
	return Question{X: x}
}

func TestRankerLearns(t *testing.T) {
	r, rng := &Ranker{Seed: 1}, rand.New(rand.NewPCG(1, 1))
	if err := r.Init(3); err != nil {
		t.Fatal(err)
	}
	for range 8000 {
		if _, err := r.Learn(draw(rng, 6)); err != nil {
			t.Fatal(err)
		}
	}
	right, s := 0, make([]float32, 6)
	for range 500 {
		if err := r.Score(draw(rng, 6).X, s); err != nil {
			t.Fatal(err)
		}
		first := true
		for _, v := range s[1:] {
			first = first && v < s[0]
		}
		if first {
			right++
		}
	}
	if right < 400 { // 83 by chance
		t.Errorf("%d of 500 right", right)
	}
}

// The gradient of a question is that of finite differences, with weights of a sample too.
func TestRankerGradient(t *testing.T) {
	r, rng := &Ranker{Seed: 2, Hidden: 4, Batch: 1 << 20}, rand.New(rand.NewPCG(2, 1))
	if err := r.Init(3); err != nil {
		t.Fatal(err)
	}
	noise := rand.New(rand.NewPCG(3, 1))
	for i := range r.all.W {
		r.all.W[i] = float32(noise.NormFloat64()) / 2
	}
	q := draw(rng, 5)
	q.Drawn, q.Weight = 2, 7
	r.seen = rankerRows // no change of the scale
	loss := func() float64 {
		l, err := r.Learn(q)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	clear(r.all.G)
	loss()
	want := append([]float32(nil), r.all.G...)
	for _, w := range r.all.List {
		for i := range w.W {
			const h = 2e-3
			was := w.W[i]
			w.W[i] = was + h
			up := loss()
			w.W[i] = was - h
			down := loss()
			w.W[i] = was
			if got, g := (up-down)/(2*h), float64(want[w.At+i]); math.Abs(got-g) > 5e-3 {
				t.Errorf("%s %d: gradient %v, finite difference %v", w.Name, i, g, got)
			}
		}
	}
}

// A question that cannot be asked, and settings that cannot be, are errors.
func TestRankerRefuses(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 1))
	r := &Ranker{Seed: 5, Batch: 8}
	if err := r.Init(3); err != nil {
		t.Fatal(err)
	}
	x := draw(rng, 4)
	x.X[5] = float32(math.NaN())
	if _, err := r.Learn(x); err == nil {
		t.Error("NaN was learned from")
	}
	if _, err := r.Learn(Question{X: x.X[:3], Drawn: 1, Weight: 1}); err == nil {
		t.Error("the answer was drawn")
	}
	if err := r.Score(x.X[:3], make([]float32, 2)); err == nil {
		t.Error("more scores than rows")
	}
	if err := r.Init(4); err == nil {
		t.Error("another number of features")
	}
	if err := (&Ranker{Average: 1}).Init(2); err == nil {
		t.Error("an Average of 1")
	}
}
