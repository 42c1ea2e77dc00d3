package nodes

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/internal/leak"
	"github.com/sanflow/sanflow/nn/validation"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/generate"
)

// What is said is smoothed where the validation nodes bear it out, and classes of
// training nodes are heard.
func TestSmooth(t *testing.T) {
	// A path of two villages, in each of which one node is wrong about itself.
	var edges []graph.Edge
	for v := range int32(11) {
		edges = append(edges, graph.Edge{U: v, V: v + 1})
	}
	g, err := graph.New(12, false, edges)
	if err != nil {
		t.Fatal(err)
	}
	d := &fitting{set: &sources.NodeSet{Graph: g, Classes: []string{"a", "b"}}, train: []int32{0, 11}, val: []int32{2, 3, 8, 9}}
	d.Fit = Fit{Workers: 2}.WithDefaults(2, 2)
	a := sinks.NewProbabilities(12, 2)
	a.Models = 2
	for v := range 12 {
		d.set.Class = append(d.set.Class, int32(v/6))
		a.Target[v] = v / 6
		a.Row(v)[v/6], a.Row(v)[1-v/6] = 1.2, 0.8
		if v == 3 || v == 9 {
			a.Row(v)[v/6], a.Row(v)[1-v/6] = 0.9, 1.1
		}
	}
	best, err := d.smoothed(t.Context(), Answer{Probabilities: a})
	if err != nil || best.Smooth != 0.5 || best.SmoothClasses || best.Probabilities.Of(d.val).Correct() != 4 {
		t.Errorf("%v, %+v: %v", err, best, best.Probabilities.Sum)
	}
	for _, share := range []float64{0, 0.3} {
		d.Smooth = []float64{share}
		d.val = []int32{2, 8} // right already
		if best, err = d.smoothed(t.Context(), Answer{Probabilities: a}); err != nil || best.Smooth != share || best.SmoothClasses || (best.Probabilities == a) != (share == 0) {
			t.Errorf("Smooth %v: %v, %+v", share, err, best)
		}
	}
	heard, err := d.walk(t.Context(), a, 0.5, true)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := d.walk(t.Context(), a, 0.5, false)
	if err != nil {
		t.Fatal(err)
	}
	if x, y := heard.Row(1)[0], plain.Row(1)[0]; !(x > y) || math.Abs(x+heard.Row(1)[1]-1) > 1e-6 {
		t.Errorf("node 1, beside a training node: %v where its class propagates, %v where not", x, y)
	}
}

// communities is a graph of five communities, with the numbers of the nodes as features.
func communities(t *testing.T, n int) (set *sources.NodeSet, train, val, test []int32) {
	t.Helper()
	g, class, err := generate.Communities(n, 5, 5, 2, 1)
	if err != nil {
		t.Fatal(err)
	}
	set = &sources.NodeSet{Graph: g, Class: class, Classes: strings.Fields("a b c d e")}
	if err := set.Identify(); err != nil {
		t.Fatal(err)
	}
	for v := range int32(n) {
		switch {
		case v/5%5 < 3:
			train = append(train, v)
		case v/5%5 == 3:
			val = append(val, v)
		default:
			test = append(test, v)
		}
	}
	return set, train, val, test
}

// Communities are found again, whatever the number of workers, and a class that is not
// to be learned from does not matter.
func TestFit(t *testing.T) {
	defer leak.VerifyNone(t)
	set, train, val, test := communities(t, 250)
	f := Fit{K: 12, Nets: 2, Epochs: 5, Decays: []float64{0}, Seed: 3, Workers: 1}
	one, err := f.Run(t.Context(), set, train, val)
	if err != nil {
		t.Fatal(err)
	}
	if a := one.Probabilities.Of(test).Accuracy(); a < 60 {
		t.Errorf("%v %% of the test nodes right", a)
	}
	if len(one.PerNetwork) != 2 || len(one.Epochs) != 2 || one.Fields != 250 || !one.Nets && !one.Words {
		t.Errorf("%+v", one)
	}
	hidden := *set
	hidden.Class = append([]int32(nil), set.Class...)
	for _, v := range test {
		hidden.Class[v] = -1
	}
	f.Workers = 3
	two, err := f.Run(t.Context(), &hidden, train, val)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(one.Probabilities.Sum, two.Probabilities.Sum) || one.Smooth != two.Smooth || one.Words != two.Words {
		t.Errorf("with other workers, and without classes of test nodes: %+v, want %+v", two.Answer, one.Answer)
	}
}

// Each part can be asked for alone.
func TestFitParts(t *testing.T) {
	set, train, val, _ := communities(t, 100)
	for _, c := range []struct {
		f             Fit
		spread, known bool
	}{
		{Fit{Propagate: On}, true, false}, {Fit{Known: On}, false, true}, {Fit{Propagate: Off, Words: Off}, false, false},
	} {
		c.f.K, c.f.Nets, c.f.Epochs, c.f.Decays = 6, 1, 2, []float64{0.3}
		got, err := c.f.Run(t.Context(), set, train, val)
		if err != nil {
			t.Fatal(err)
		}
		if got.Propagated != c.spread || got.Known != c.known || got.Decay != 0.3 || (got.Fields == 0) != c.spread || c.f.Words == Off && got.Words {
			t.Errorf("%+v: %+v", c.f, got)
		}
	}
}

// A measure chooses in place of the accuracy: what is used is the best by it on the validation
// nodes, of all shares of smoothing.
func TestFitMeasure(t *testing.T) {
	set, train, val, _ := communities(t, 150)
	f := Fit{K: 6, Nets: 1, Epochs: 3, Decays: []float64{0}, Words: Off, Propagate: Off, Measure: validation.LogLoss, Smooth: []float64{0}}
	least := math.Inf(1)
	for _, share := range []float64{0, 0.2, 0.4} {
		one := f
		one.Smooth = []float64{share}
		got, err := one.Run(t.Context(), set, train, val)
		if err != nil {
			t.Fatal(err)
		}
		loss, err := got.Probabilities.Of(val).By(validation.LogLoss)
		if err != nil {
			t.Fatal(err)
		}
		least = min(least, loss)
	}
	f.Smooth = []float64{0, 0.2, 0.4}
	got, err := f.Run(t.Context(), set, train, val)
	if err != nil {
		t.Fatal(err)
	}
	if loss, err := got.Probabilities.Of(val).By(validation.LogLoss); err != nil || loss > least {
		t.Errorf("log loss %v, %v, and a share of its own has %v", loss, err, least)
	}
}

func TestFitErrors(t *testing.T) {
	set, train, val, _ := communities(t, 100)
	bare := *set
	bare.Graph = &graph.Graph{Offsets: set.Graph.Offsets, Neighbors: set.Graph.Neighbors}
	one := *set
	one.Classes = one.Classes[:1]
	open := *set
	open.Class = append([]int32(nil), set.Class...)
	open.Class[val[0]] = -1
	for want, c := range map[string]struct {
		f          Fit
		set        *sources.NodeSet
		train, val []int32
	}{
		"the nodes have 1 classes":        {Fit{}, &one, train, val},
		"no training nodes":               {Fit{}, set, nil, val},
		"no validation nodes":             {Fit{}, set, train, nil},
		"the validation node 15 has no":   {Fit{}, &open, train, val},
		"the training node 100 has no":    {Fit{}, set, []int32{100}, val},
		"Measure is rmse":                 {Fit{Measure: validation.RMSE}, set, train, val},
		"Nets is -1":                      {Fit{Nets: -1}, set, train, val},
		"Propagate and Known are both on": {Fit{Propagate: On, Known: On}, set, train, val},
		"Propagate is on, and the nodes":  {Fit{Propagate: On}, &bare, train, val},
		"Words is on, and the nodes have": {Fit{Words: On}, &bare, train, val},
	} {
		if _, err := c.f.Run(t.Context(), c.set, c.train, c.val); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want an error with %q", err, want)
		}
	}
}

// The end of the context ends a Fit, and leaves nothing behind.
func TestFitCancelled(t *testing.T) {
	defer leak.VerifyNone(t)
	set, train, val, _ := communities(t, 1000)
	for _, after := range []time.Duration{0, 20 * time.Millisecond, 300 * time.Millisecond} {
		ctx, cancel := context.WithTimeout(t.Context(), after)
		start := time.Now()
		if _, err := (Fit{Epochs: 10000}).Run(ctx, set, train, val); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("ended after %v: %v", after, err)
		}
		if took := time.Since(start) - after; took > leak.Patience {
			t.Errorf("ended after %v: took another %v", after, took)
		}
		cancel()
	}
}

// What is chosen is kept in a file, and answers for the graph as the Fit did, bit for bit:
// networks, propagated features, words, smoothed or not, with continuous features too.
func TestFitSaved(t *testing.T) {
	defer leak.VerifyNone(t)
	set, train, val, _ := communities(t, 150)
	for v := range set.Graph.N() {
		set.Graph.NodeAttr = append(set.Graph.NodeAttr, float32(v%7), 100*float32(v%3))
	}
	set.Graph.NodeAttrs = 2
	for _, f := range []Fit{
		{Propagate: Off, Words: Off}, {Propagate: Off, Words: Off, Smooth: []float64{0.5}, Known: Off}, {Propagate: On, Words: Off, Smooth: []float64{0}},
		{Portable: true}, {Nets: 1, Words: Off, Mask: operators.MaskWords{Rate: 0.1}},
	} {
		f.K, f.Nets, f.Epochs, f.Decays, f.Seed = 6, max(2, f.Nets), 3, []float64{0.3}, 2
		fitted, err := f.Run(t.Context(), set, train, val)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "nodes")
		if err := sinks.Save(path, fitted.Net, fitted.Recipe); err != nil {
			t.Fatal(err)
		}
		p, err := sinks.Load(path)
		if err != nil {
			t.Fatal(err)
		}
		if p.Smoothed() != (fitted.Smooth > 0) {
			t.Errorf("smoothed: %v, want %v", p.Smoothed(), fitted.Smooth)
		}
		open, err := p.Open(t.Context(), set.Graph)
		if err != nil {
			t.Fatal(err)
		}
		for v := int32(0); v < 150; v += 9 {
			got, err := open.Predict(t.Context(), v)
			if err != nil {
				t.Fatal(err)
			}
			one, err := p.PredictRoots(t.Context(), set.Graph, v)
			if err != nil || !slices.Equal(one[0].Probs, got[0].Probs) {
				t.Fatalf("%v, %v for one question, want %v", err, one, got)
			}
			for c, x := range got[0].Probs {
				if want := float32(fitted.Probabilities.Row(int(v))[c] / fitted.Probabilities.Models); x != want {
					t.Fatalf("%+v: node %d: %v, want %v", f, v, x, want)
				}
			}
		}
		if err := errors.Join(open.Close(), p.Close()); err != nil {
			t.Error(err)
		}
	}
	// What holds for this graph alone, or is no single model, is not saved.
	known, err := Fit{K: 6, Nets: 1, Epochs: 1, Known: On, Words: Off, Decays: []float64{0}}.Run(t.Context(), set, train, val)
	if err != nil {
		t.Fatal(err)
	}
	for name, fitted := range map[string]*Fitted{"known classes": known, "the mean of two models": {}} {
		if err := sinks.Save(filepath.Join(t.TempDir(), "m"), fitted.Net, fitted.Recipe); err == nil || !strings.Contains(err.Error(), "Portable is set") {
			t.Errorf("%s: %v, want an error that names Portable", name, err)
		}
	}
}
