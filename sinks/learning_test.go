package sinks_test

import (
	"bytes"
	"context"
	"math"
	"slices"
	"testing"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/count"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

// TestLearning: a sink that is asked reports the first rows as OnRow and Each are told of
// them, one that is asked no more reports nothing, and the model learns the same.
func TestLearning(t *testing.T) {
	rows := func(seed uint64) flow.Pipeline {
		return flow.From(sources.Families{Graphs: 1200, Seed: seed}).
			Via(operators.Count{Of: []count.Counter{count.WL{Height: 1}}}).Via(operators.Batch{Size: 100})
	}
	var last, nothing sinks.Learning
	asking := flow.Observe(context.Background(), func(o flow.Observed) func(error) {
		of := func() sinks.Learning { return o.Report()[len(o.Stats().Stages)-1].(sinks.Learning) }
		if first := of(); len(first.Rows) > 0 || first.Sample.Rows > 0 || len(first.Classes) != 6 {
			t.Errorf("before a row came: %+v", first)
		}
		return func(error) { last, nothing = of(), of() }
	})
	saved := func(n *nn.Logistic) []byte {
		var b bytes.Buffer
		if err := n.Save(&b); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	compare := func(sink string, want []sinks.Guess, classes int) {
		t.Helper()
		right := 0
		for _, g := range want[:1024] {
			if g.Target == g.Class {
				right++
			}
		}
		if !slices.Equal(last.Rows, want[:1024]) || len(last.Classes) != classes || last.Sample.Rows < 1024 || last.Sample.Correct < right || !(last.Sample.Loss > 0) {
			t.Errorf("%s: %d rows, sample %+v", sink, len(last.Rows), last.Sample)
		}
		if len(nothing.Rows) > 0 || nothing.Sample.Rows > 0 {
			t.Errorf("%s reports rows twice", sink)
		}
	}
	var want []sinks.Guess
	each := func(p sinks.Prediction) error {
		want = append(want, sinks.Guess{Target: int32(p.Target), Class: int32(p.Class), P: p.Probs[p.Class]})
		return nil
	}
	plain, seen := &nn.Logistic{}, &nn.Logistic{}
	if err := rows(1).To(sinks.Train{Net: plain}).Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := rows(1).To(sinks.Train{Net: seen, OnRow: each}).Run(asking); err != nil {
		t.Fatal(err)
	}
	compare("train", want, 6)
	if !bytes.Equal(saved(plain), saved(seen)) {
		t.Error("a model that was asked about has learned something else")
	}
	want = nil
	if err := rows(2).To(sinks.Predict{Net: seen, Each: each}).Run(asking); err != nil {
		t.Fatal(err)
	}
	compare("predict", want, 6)

	fit, err := sinks.Fit{Net: &nn.Logistic{}, Epochs: 3}.Run(asking, rows(1))
	if err != nil || !slices.Equal(fit.Epochs, last.Epochs) || len(last.Epochs) != 3 {
		t.Errorf("fit reports %d epochs of %d: %v", len(last.Epochs), len(fit.Epochs), err)
	}
	if math.IsNaN(nothing.Sample.Loss) {
		t.Error("a mean over no rows is NaN")
	}
}
