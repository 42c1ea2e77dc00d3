package sinks_test

import (
	"context"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/count"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

var (
	countWL = operators.Count{Of: []count.Counter{count.WL{Height: 2}}}
)

// The counts of a record are what the counters say of each graph.
func TestCountsOf(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer mem.AssertSize(t, 0)
	var recs sinks.Collect
	defer recs.Release()
	src := flow.From(sources.Families{Graphs: 40, Seed: 3}).With(flow.Options{Allocator: mem, Workers: 2})
	if err := src.Via(countWL).To(&recs).Run(context.Background()); err != nil || recs.Rows() != 40 {
		t.Fatalf("%d graphs: %v", recs.Rows(), err)
	}
	at := 0
	for _, rec := range recs.Records() {
		counts, err := sinks.CountsOf(rec)
		if err != nil {
			t.Fatal(err)
		}
		if err := counts.Check(); err != nil {
			t.Error(err)
		}
		gs, err := record.GraphsOf(rec)
		if err != nil {
			t.Fatal(err)
		}
		for row := range gs.Len() {
			var g graph.Graph
			gs.At(row, &g)
			ids, want, err := count.Of(count.Input{Graph: &g}, countWL.Of[0])
			if err != nil {
				t.Fatal(err)
			}
			if gotIDs, got := counts.Row(row); !slices.Equal(gotIDs, ids) || !slices.Equal(got, want) {
				t.Fatalf("graph %d: other counts", at)
			}
			at++
		}
	}
	for _, test := range []struct {
		sink flow.Sink
		ops  []flow.Operator
		want string
	}{
		{sinks.Train{Net: &nn.CNN{}}, []flow.Operator{countWL}, "a CNN reads fields, and the data have counts alone"},
		{sinks.Train{Net: &nn.Logistic{}}, []flow.Operator{operators.Select{W: 2}, operators.Assemble{K: 2}, operators.Normalize{}}, ""},
	} {
		p := src
		for _, op := range test.ops {
			p = p.Via(op)
		}
		if err := p.To(test.sink).Run(context.Background()); err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v, want %q", err, test.want)
		}
	}
}

// Logistic regression learns from the stream of graphs, is stopped and gone on with
// to the same weights, saved with its recipe, and answers for single graphs. A
// network for fields in the same stream does not mind the counts.
func TestLogisticStream(t *testing.T) {
	ctx := context.Background()
	recipe := operators.Recipe{countWL}
	train := recipe.Onto(flow.From(sources.Families{Graphs: 400, Seed: 1})).Via(operators.Batch{Size: 16})
	var test sinks.Collect
	defer test.Release()
	if err := recipe.Onto(flow.From(sources.Families{Graphs: 200, Seed: 2})).To(&test).Run(ctx); err != nil {
		t.Fatal(err)
	}
	graphs, err := record.GraphsOf(test.Records()[0])
	if err != nil {
		t.Fatal(err)
	}
	recipe = append(operators.Recipe{operators.Expect{Layout: graphs.Layout}}, recipe...)

	whole := &nn.Logistic{Width: 1 << 12}
	if err := train.To(sinks.Train{Net: whole}).Run(ctx); err != nil {
		t.Fatal(err)
	}
	// Stopped after ten steps, and gone on with.
	checkpoint := sinks.Checkpoint{File: filepath.Join(t.TempDir(), "c"), Every: -1, Resume: true}
	steps := 0
	enough := context.Canceled
	err = train.To(sinks.Train{Net: &nn.Logistic{Width: 1 << 12}, Checkpoint: checkpoint, OnStep: func(nn.Result) error {
		if steps++; steps == 10 {
			return enough
		}
		return nil
	}}).Run(ctx)
	if err == nil {
		t.Fatal("it did not stop")
	}
	half := &nn.Logistic{Width: 1 << 12}
	if err := train.To(sinks.Train{Net: half, Checkpoint: checkpoint}).Run(ctx); err != nil {
		t.Fatal(err)
	}
	if half.Hash() != whole.Hash() {
		t.Error("stopped and gone on with: other weights")
	}
	file := filepath.Join(t.TempDir(), "model")
	if err := sinks.Save(file, whole, recipe); err != nil {
		t.Fatal(err)
	}
	p, err := sinks.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()

	right, rows := 0, 0
	said := map[int64][]float32{}
	asked := flow.From(sources.Records{Records: test.Records()})
	err = asked.To(sinks.Predict{Net: whole, Each: func(one sinks.Prediction) error {
		rows++
		if one.Class == one.Target {
			right++
		}
		said[one.Graph] = slices.Clone(one.Probs)
		return nil
	}}).Run(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if rows != 200 || right < 120 {
		t.Errorf("%d of %d new graphs right", right, rows)
	}
	for _, rec := range test.Records() {
		gs, err := record.GraphsOf(rec)
		if err != nil {
			t.Fatal(err)
		}
		ids, _ := record.Values[int64](rec, record.GraphID)
		for row := range min(20, gs.Len()) {
			var g graph.Graph
			gs.At(row, &g)
			answer, err := p.Predict(ctx, &g)
			if err != nil {
				t.Fatal(err)
			}
			for i, x := range said[ids[row]] {
				if math.Abs(float64(answer.Probs[i]-x)) > 1e-6 {
					t.Fatalf("graph %d: %v, in the stream %v", ids[row], answer.Probs, said[ids[row]])
				}
			}
		}
	}
	fit, err := sinks.Fit{Net: &nn.Logistic{Width: 1 << 12}, Epochs: 3, Valid: &asked}.Run(ctx, train)
	if err != nil || len(fit.Epochs) != 3 || fit.Epochs[2].Valid.Rows != 200 {
		t.Errorf("%+v (%v)", fit, err)
	}
}
