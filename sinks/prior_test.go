package sinks_test

import (
	"bytes"
	"context"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"gonum.org/v1/gonum/floats"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/nn/validation"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/count"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

// With Prior answers are those for classes of equal shares, in the same order of rows.
func TestPredictPrior(t *testing.T) {
	ctx := context.Background()
	var out sinks.Collect
	defer out.Release()
	if err := shortRecipe[:3].Onto(flow.From(stream(t, paths(40, nil)))).To(&out).Run(ctx); err != nil {
		t.Fatal(err)
	}
	learned, test := out.Records()[0].NewSlice(0, 28), out.Records()[0].NewSlice(28, 40)
	defer learned.Release()
	defer test.Release()
	net := &nn.PSLR{}
	if _, err := (sinks.Fit{Net: net, Epochs: 3, Batch: 8}).Run(ctx, flow.From(flow.Records{Records: []arrow.Record{learned}})); err != nil {
		t.Fatal(err)
	}
	ask := func(prior sinks.Prior) (a sinks.Answers, err error) {
		if err := prior.Keep(net); err != nil {
			return a, err
		}
		return a, flow.From(flow.Records{Records: []arrow.Record{test}}).To(sinks.Predict{Net: net, Each: func(p sinks.Prediction) error {
			if p.Probs[p.Class] < max(p.Probs[0], p.Probs[1]) {
				t.Errorf("%+v", p)
			}
			return a.Add(p)
		}}).Run(ctx)
	}
	plain, err := ask(nil)
	if err != nil {
		t.Fatal(err)
	}
	prior := sinks.Prior{0.9, 0.1}
	got, err := ask(prior)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(plain.Probs); i += 2 {
		p, q := float64(plain.Probs[i])/prior[0], float64(plain.Probs[i+1])/prior[1]
		if math.Abs(float64(got.Probs[i+1])-q/(p+q)) > 1e-6 || math.Abs(float64(got.Probs[i]+got.Probs[i+1])-1) > 1e-6 {
			t.Errorf("row %d: %v of %v", i/2, got.Probs[i:i+2], plain.Probs[i:i+2])
		}
	}
	a, err := validation.ROC.Of(&plain.Answers)
	b, again := validation.ROC.Of(&got.Answers)
	if err != nil || again != nil || math.Abs(a-b) > 1e-9 {
		t.Errorf("AUC %v and %v, %v, %v", a, b, err, again)
	}
	for want, prior := range map[string]sinks.Prior{"the prior has 1 shares": {1}, "the prior has the share 0 of class 1": {1, 0}, "the prior has the share NaN": {math.NaN(), 1}} {
		if _, err := ask(prior); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	for _, text := range []string{"x", "[1]", "[0.5, 2]", "[0.2, 0.3, 0.5]", "{}"} {
		net.Metadata()["prior"] = text
		if err := flow.From(flow.Records{Records: []arrow.Record{test}}).To(sinks.Predict{Net: net, Each: func(sinks.Prediction) error { return nil }}).Run(ctx); err == nil || !strings.Contains(err.Error(), `the metadata "prior" of the model: `) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if back, err := ask(nil); err != nil || !slices.Equal(back.Probs, plain.Probs) {
		t.Errorf("%v: other answers without a prior", err)
	}
	counts := make([]float64, 3)
	for _, row := range plain.Class {
		counts[row] += 1 / float64(len(plain.Class))
	}
	counts[2] = 1 // without rows
	if got, err := sinks.PriorOf(3, test); err != nil || !floats.EqualApprox(got, counts, 1e-12) {
		t.Errorf("%v, %v, want %v", got, err, counts)
	}
	if _, err := sinks.PriorOf(1, test); err == nil {
		t.Error("a class beyond those that are counted")
	}
}

// A model of numbers has no probabilities: neither Prior nor Temperature is kept in it, and a file
// with one is refused.
func TestCalibrationOfNumbers(t *testing.T) {
	items, layout := explainedGraphs(20)
	layout.Classes, layout.Real = nil, true
	for _, trial := range []struct {
		net nn.Model
		ops operators.Recipe
	}{
		{nn.Best(), operators.Recipe{operators.Count{Of: []count.Counter{count.Attributes{}}, DropGraph: true}}},
		{&nn.CNN{Dropout: -1}, operators.Recipe{operators.Select{W: 2}, operators.Assemble{K: 3}, operators.Normalize{}}},
	} {
		r := append(operators.Recipe{operators.Expect{Layout: layout}}, trial.ops...)
		explainer(t, trial.net, r, items, layout)
		net := trial.net.(nn.Saver)
		for note, c := range map[string]struct {
			text string
			keep func(nn.Saver) error
		}{
			"prior":       {"[0.5,0.5]", sinks.Prior{0.5, 0.5}.Keep},
			"temperature": {"2", sinks.Temperature(2).Keep},
		} {
			refused := func(err error) {
				t.Helper()
				if err == nil || !strings.Contains(err.Error(), "the model has learned numbers") || !strings.Contains(err.Error(), note) {
					t.Errorf("%T, %s: %v", net, note, err)
				}
			}
			refused(c.keep(net))
			if _, ok := net.Metadata()[note]; ok {
				t.Errorf("%T: a refused %s is kept", net, note)
			}
			if err := sinks.Write(io.Discard, net, r); err != nil { // which puts the recipe into net
				t.Fatal(err)
			}
			net.Metadata()[note] = c.text
			refused(sinks.Write(io.Discard, net, r))
			var file bytes.Buffer
			if err := net.Save(&file); err != nil {
				t.Fatal(err)
			}
			_, err := sinks.Read(&file)
			refused(err)
			_, err = sinks.NewPredictor(trial.net, r)
			refused(err)
			refused(r.Onto(flow.From(sources.Graphs{Items: items, Layout: layout})).To(sinks.Predict{Net: trial.net, Each: func(sinks.Prediction) error { return nil }}).Run(t.Context()))
			delete(net.Metadata(), note)
		}
	}
}
