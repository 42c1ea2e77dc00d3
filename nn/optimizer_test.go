package nn

import (
	"math"
	"strings"
	"testing"
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
			w[i] -= s.Rate * gi / (math.Sqrt(o.v[i]) + 1e-7)
		case Adam:
			o.m[i] = 0.9*o.m[i] + 0.1*gi
			o.v[i] = 0.999*o.v[i] + 0.001*gi*gi
			m := o.m[i] / (1 - math.Pow(0.9, float64(n)))
			v := o.v[i] / (1 - math.Pow(0.999, float64(n)))
			w[i] -= s.Rate * m / (math.Sqrt(v) + 1e-8)
		case AdaGrad:
			o.v[i] += gi * gi
			w[i] -= s.Rate * gi / (math.Sqrt(o.v[i]) + s.Epsilon)
		}
	}
}

func TestOptimizersFollowTheirFormulas(t *testing.T) {
	const n = 37
	for _, o := range []Optimizer{
		RMSprop{}, RMSprop{Rate: 0.1, Rho: 0.5},
		Adam{}, Adam{Rate: 0.1},
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
		{Adam{Rate: nan}, "Adam: Rate is NaN"},
		{Adam{WeightDecay: -1}, "Adam: WeightDecay is -1, want 0 or a positive number"},
		{Adam{WeightDecay: nan}, "Adam: WeightDecay is NaN"},
		{Adam{WeightDecay: inf}, "Adam: WeightDecay is +Inf"},
		{Adam{Rate: -1}, "Adam: Rate is -1"},
		{Adam{Rate: 1e-300}, "Adam: Rate is 1e-300"},
		{RMSprop{Rho: 1}, "RMSprop: Rho is 1, want between 0 and 1"},
		{AdaGrad{Epsilon: -1}, "AdaGrad: Epsilon is -1"},
		{AdaGrad{Rate: -1}, "AdaGrad: Rate is -1"},
	} {
		if _, err := test.o.resolve(); err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%+v: %v, want %q", test.o, err, test.want)
		}
	}
	for _, o := range []Optimizer{
		RMSprop{Rate: 0.5}, Adam{Rate: 0.5, WeightDecay: 0.1}, AdaGrad{Rate: 0.5, Epsilon: 0.1},
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
	for name, fields := range map[string]string{"adadelta": "{}", "sgd": "{}", "adam": `{"Momentum": 1}`, "rmsprop": "7", "adagrad": `{"Rate": 1, "ClipNorm": 2}`} {
		var o Optimizer
		if err := (savedOptimizer{name, []byte(fields)}).adopt(&o); err == nil {
			t.Errorf("%s %s was read as %+v", name, fields, o)
		}
	}
}

// steepest is the optimizer w = w - g/2.
type steepest struct{}

func (steepest) step(_ int, w, g []float32) {
	for i, v := range g {
		w[i] -= v / 2
	}
}

func (steepest) state() []state { return nil }

// What update does besides the optimizer's step: refuse a gradient that is not finite before it,
// decay after it, weights but not biases.
func TestUpdate(t *testing.T) {
	const decay = 0.125
	m := &PSLR{}
	if err := m.Init(Shape{W: 2, K: 2, Attrs: 1, Classes: 3}); err != nil {
		t.Fatal(err)
	}
	p := &m.work.Params
	r := newRand(1)
	for _, w := range p.List {
		for i := range w.W {
			w.W[i], w.G[i] = float32(r.NormFloat64()), float32(r.NormFloat64())
		}
	}
	var want [][]float64
	for _, w := range p.List {
		var x []float64
		for i, v := range w.W {
			next := float64(v) - float64(w.G[i])/2
			if w.Name == "nodes.weight" {
				next -= decay * next
			}
			x = append(x, next)
		}
		want = append(want, x)
	}
	if !update(p, steepest{}, decay, 1) {
		t.Fatal("a finite gradient was refused")
	}
	for i, w := range p.List {
		compare(t, w.Name, w.W, want[i], 1e-6)
	}
	hash := m.Hash()
	for _, bad := range []float64{math.NaN(), math.Inf(1), 1e25} {
		if p.G[0] = float32(bad); update(p, steepest{}, decay, 1) || m.Hash() != hash {
			t.Errorf("the model has learned from a gradient of %v", bad)
		}
	}
}
