package nn

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/nn/internal/layer"
)

// plain takes one step with an optimizer as its documentation writes it, in
// float64.
type plain struct {
	set  Optimizer
	m, v []float64
}

func (o *plain) step(n int, w, g []float64) {
	for i, gi := range g {
		switch s := o.set.(type) {
		case RMSprop:
			o.v[i] = s.Rho*o.v[i] + (1-s.Rho)*gi*gi
			w[i] -= s.Rate * gi / (math.Sqrt(o.v[i]) + s.Epsilon)
		case SGD:
			o.v[i] = s.Momentum*o.v[i] + gi
			d := o.v[i]
			if s.Nesterov {
				d = gi + s.Momentum*o.v[i]
			}
			w[i] -= s.Rate * d
		case Adam:
			o.m[i] = s.Beta1*o.m[i] + (1-s.Beta1)*gi
			o.v[i] = s.Beta2*o.v[i] + (1-s.Beta2)*gi*gi
			m := o.m[i] / (1 - math.Pow(s.Beta1, float64(n)))
			v := o.v[i] / (1 - math.Pow(s.Beta2, float64(n)))
			w[i] -= s.Rate * m / (math.Sqrt(v) + s.Epsilon)
		case AdaGrad:
			o.v[i] += gi * gi
			w[i] -= s.Rate * gi / (math.Sqrt(o.v[i]) + s.Epsilon)
		}
	}
}

func TestOptimizersFollowTheirFormulas(t *testing.T) {
	const n = 37
	for _, o := range []Optimizer{
		RMSprop{}, RMSprop{Rate: 0.1, Rho: 0.5, Epsilon: 0.01},
		SGD{}, SGD{Rate: 0.3, Momentum: 0.9}, SGD{Rate: 0.3, Momentum: 0.9, Nesterov: true},
		Adam{}, Adam{Rate: 0.1, Beta1: 0.5, Beta2: 0.7, Epsilon: 0.01},
		AdaGrad{}, AdaGrad{Rate: 0.1, Epsilon: 0.01},
	} {
		o, err := o.resolve()
		if err != nil {
			t.Fatal(err)
		}
		r := newRand(1)
		w := normal(r, n)
		want := make([]float64, n)
		for i, v := range w {
			want[i] = float64(v)
		}
		s, p := o.start(n), plain{o, make([]float64, n), make([]float64, n)}
		for step := 1; step <= 20; step++ {
			g := normal(r, n)
			wide := make([]float64, n)
			for i, v := range g {
				wide[i] = float64(v)
			}
			s.step(step, w, g)
			p.step(step, want, wide)
			compare(t, o.name(), w, want, 1e-4)
		}
		for _, mem := range s.state() {
			if len(mem.x) != n || !strings.HasPrefix(mem.name, o.name()+".") {
				t.Errorf("%s: remembers %d values as %q", o.name(), len(mem.x), mem.name)
			}
		}
	}
}

func TestOptimizerSettings(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, test := range []struct {
		o    Optimizer
		want string
	}{
		{SGD{Rate: -0.1}, "SGD: Rate is -0.1, want a positive number"},
		{SGD{Rate: nan}, "SGD: Rate is NaN"},
		{SGD{Momentum: 1}, "SGD: Momentum is 1, want between 0 and 1"},
		{SGD{Momentum: -0.1}, "SGD: Momentum is -0.1"},
		{SGD{Nesterov: true}, "SGD: Nesterov is set, Momentum is not"},
		{SGD{WeightDecay: -1}, "SGD: WeightDecay is -1, want 0 or a positive number"},
		{SGD{WeightDecay: nan}, "SGD: WeightDecay is NaN"},
		{SGD{ClipNorm: inf}, "SGD: ClipNorm is +Inf"},
		{Adam{Rate: -1}, "Adam: Rate is -1"},
		{Adam{Rate: 1e-300}, "Adam: Rate is 1e-300"},
		{Adam{Beta1: 1}, "Adam: Beta1 is 1, want between 0 and 1"},
		{Adam{Beta2: -1}, "Adam: Beta2 is -1"},
		{Adam{Epsilon: -1}, "Adam: Epsilon is -1"},
		{AdaGrad{Epsilon: -1}, "AdaGrad: Epsilon is -1"},
		{AdaGrad{Rate: -1}, "AdaGrad: Rate is -1"},
		{RMSprop{ClipNorm: -1}, "RMSprop: ClipNorm is -1"},
	} {
		if _, err := test.o.resolve(); err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%+v: %v, want %q", test.o, err, test.want)
		}
	}
	for _, o := range []Optimizer{
		RMSprop{Rate: 0.5, ClipNorm: 1}, SGD{Momentum: 0.5, Nesterov: true, WeightDecay: 0.1}, Adam{Beta1: 0.5}, AdaGrad{Rate: 0.5},
	} {
		text, err := saveOptimizer(o)
		if err != nil {
			t.Fatal(err)
		}
		var again Optimizer
		if err := text.adopt(&again); err != nil || again != o {
			t.Errorf("%+v saved and read is %+v, %v", o, again, err)
		}
	}
	for name, fields := range map[string]string{"adadelta": "{}", "adam": `{"Momentum": 1}`, "sgd": "7"} {
		var o Optimizer
		if err := (savedOptimizer{name, []byte(fields)}).adopt(&o); err == nil {
			t.Errorf("%s %s was read as %+v", name, fields, o)
		}
	}
}

func TestClip(t *testing.T) {
	for _, n := range []int{1, 10, 5000, 20000} {
		g := normal(newRand(uint64(n)), n)
		var sum float64
		for _, v := range g {
			sum += float64(v) * float64(v)
		}
		length := math.Sqrt(sum)
		want := make([]float64, n)
		for i, v := range g {
			want[i] = float64(v)
		}
		update := func(norm float64) bool {
			p := layer.Params{W: make([]float32, n), G: g}
			return update(&p, SGD{Rate: 1}.start(n), rule{clip: norm}, 1)
		}
		if !update(2 * length) {
			t.Fatal("a finite gradient was refused")
		}
		compare(t, "short", g, want, 0)
		if !update(length / 10) {
			t.Fatal("a finite gradient was refused")
		}
		for i := range want {
			want[i] /= 10
		}
		compare(t, "clipped", g, want, 1e-5)
		for _, x := range []float64{math.Inf(1), math.NaN(), 1e25} {
			g[n/2] = float32(x)
			if update(1) || update(0) {
				t.Errorf("a gradient of %v was learned from", x)
			}
		}
	}
}

// What update does besides the optimizer's step: clip before it, decay after it,
// weights but not biases.
func TestUpdate(t *testing.T) {
	const rate, decay, norm = 0.5, 0.25, 0.125
	m := &PSLR{Optimizer: SGD{Rate: rate, WeightDecay: decay, ClipNorm: norm}}
	if err := m.Init(Shape{W: 2, K: 2, Attrs: 1, Classes: 3}); err != nil {
		t.Fatal(err)
	}
	p := &m.work.Params
	r := rand.New(rand.NewPCG(1, 2))
	var sum float64
	for _, w := range p.List {
		for i := range w.W {
			w.W[i], w.G[i] = float32(r.NormFloat64()), float32(r.NormFloat64())
			sum += float64(w.G[i]) * float64(w.G[i])
		}
	}
	var want [][]float64
	for _, w := range p.List {
		var x []float64
		for i, v := range w.W {
			next := float64(v) - rate*float64(w.G[i])*norm/math.Sqrt(sum)
			if w.Name == "nodes.weight" {
				next -= rate * decay * next
			}
			x = append(x, next)
		}
		want = append(want, x)
	}
	update := func() bool { return update(p, m.opt, m.rule, 1) }
	if !update() {
		t.Fatal("a finite gradient was refused")
	}
	for i, w := range p.List {
		compare(t, w.Name, w.W, want[i], 1e-6)
	}
	p.G[0] = float32(math.NaN())
	hash := m.Hash()
	if update() || m.Hash() != hash {
		t.Error("the model has learned from a NaN")
	}
}
