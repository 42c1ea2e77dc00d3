package main

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/nn/validation"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/sinks"
)

// pathFields is the fields of n paths of four nodes, of two classes that differ by their attributes.
func pathFields(t *testing.T, n int, edges bool) arrow.Record {
	t.Helper()
	b := record.NewBuilder(memory.DefaultAllocator, record.Layout{NodeAttr: []record.Channel{{Name: "x"}}, Classes: []string{"a", "b"}})
	for id := range int64(n) {
		g, err := graph.New(4, false, []graph.Edge{{U: 0, V: 1}, {U: 1, V: 2}, {U: 2, V: 3}})
		if err != nil {
			t.Fatal(err)
		}
		g.NodeAttrs, g.NodeAttr = 1, []float32{float32(id%2) - 0.5, 0.1, 0.2, float32(id % 3)}
		if err := b.Append(g, record.Row{ID: id, Pos: id, Class: int32(id % 2)}); err != nil {
			t.Fatal(err)
		}
	}
	rec := b.Record()
	defer rec.Release()
	var out sinks.Collect
	t.Cleanup(out.Release)
	k := operators.Normalize{K: 2}
	if edges {
		k = operators.Normalize{K: 3, Edges: true}
	}
	if err := flow.From(flow.Records{Records: []arrow.Record{rec}}).Via(operators.Select{W: 4}).Via(k).To(&out).Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	return out.Records()[0]
}

// The rows of a split are those of the records, and both parts are scaled by the moments
// of the training rows.
func TestFold(t *testing.T) {
	ctx, all := context.Background(), pathFields(t, 30, false)
	var ids []int64
	var values [][]float32
	for _, rec := range []arrow.Record{all} {
		id, err := record.Values[int64](rec, record.GraphID)
		if err != nil {
			t.Fatal(err)
		}
		x, width, err := record.FixedValues[float32](rec, record.Nodes)
		if err != nil {
			t.Fatal(err)
		}
		for row := range id {
			ids, values = append(ids, id[row]), append(values, x[row*width:][:width])
		}
	}
	s := validation.Split{Train: []int32{0, 20, 1, 2, 29, 5, 9, 11, 12, 28}, Test: []int32{3, 4, 19, 27}} // in any order
	f, err := newFold(ctx, all, s)
	if err != nil {
		t.Fatal(err)
	}
	defer f.release()
	sum, squares, n := 0., 0., 0.
	for _, row := range s.Train {
		for _, x := range values[row] {
			sum, squares, n = sum+float64(x), squares+float64(x)*float64(x), n+1
		}
	}
	mean := sum / n
	std := math.Sqrt(squares/n - mean*mean)
	for _, part := range []struct {
		rec  arrow.Record
		rows []int32
	}{{f.train, s.Train}, {f.test, s.Test}} {
		id, err := record.Values[int64](part.rec, record.GraphID)
		if err != nil || len(id) != len(part.rows) {
			t.Fatalf("%d rows, want %d: %v", len(id), len(part.rows), err)
		}
		got, width, err := record.FixedValues[float32](part.rec, record.Nodes)
		if err != nil {
			t.Fatal(err)
		}
		for i, row := range part.rows {
			if id[i] != ids[row] {
				t.Errorf("row %d is graph %d, want %d", i, id[i], ids[row])
			}
			for j, x := range values[row] {
				if want := (float64(x) - mean) / std; math.Abs(want-float64(got[i*width+j])) > 1e-5 {
					t.Errorf("row %d, value %d: %v, want %v", i, j, got[i*width+j], want)
				}
			}
		}
	}
}

// The scores of a fold are those of models that were trained for so many epochs each.
func TestFoldScores(t *testing.T) {
	ctx := context.Background()
	f, err := newFold(ctx, pathFields(t, 40, false), validation.Split{Train: seq(0, 28), Test: seq(28, 40)})
	if err != nil {
		t.Fatal(err)
	}
	defer f.release()
	const epochs = 5
	o := new(outcome)
	if err := f.fit(ctx, o, sinks.Fit{Net: &nn.PSLR{}, Epochs: epochs, Batch: 8, Seed: 3}); err != nil {
		t.Fatal(err)
	}
	scores := o.curve
	if len(scores) != epochs {
		t.Fatalf("%v", scores)
	}
	for e := range epochs {
		_, fitted := learnt(t, f, e+1, f.test)
		got := fitted.Epochs[e].Valid
		if want := (score{Correct: got.Correct, Loss: got.Loss * 12, HeldOut: fitted.Epochs[e].Train.Loss}); scores[e] != want {
			t.Errorf("epoch %d: %+v, want %+v", e+1, scores[e], want)
		}
	}
}

// learnt is a model of so many epochs on the training rows of a fold, and how it does on others.
func learnt(t *testing.T, f *fold, epochs int, rec arrow.Record) (*nn.PSLR, sinks.Fitted) {
	t.Helper()
	net, valid := &nn.PSLR{}, flow.From(flow.Records{Records: []arrow.Record{rec}})
	fitted, err := sinks.Fit{Net: net, Epochs: epochs, Batch: 8, Seed: 3, Valid: &valid, Last: true}.Run(t.Context(), flow.From(flow.Records{Records: []arrow.Record{f.train}}))
	if err != nil {
		t.Fatal(err)
	}
	return net, fitted
}

// If a fold has rows to choose by, these decide, by the loss or by a measure, and what is
// reported of the test rows is what a model of so many epochs has.
func TestFoldValid(t *testing.T) {
	ctx := context.Background()
	f, err := newFold(ctx, pathFields(t, 60, false), validation.Split{Train: seq(0, 28), Test: seq(28, 40), Valid: seq(40, 60)})
	if err != nil {
		t.Fatal(err)
	}
	defer f.release()
	const epochs = 4
	of := func(epochs int, rec arrow.Record) (net *nn.PSLR, r nn.Result, auc float64) {
		var answers sinks.Answers
		net, fitted := learnt(t, f, epochs, rec)
		err := flow.From(flow.Records{Records: []arrow.Record{rec}}).To(sinks.Predict{Net: net, Each: answers.Add}).Run(ctx)
		if err == nil {
			auc, err = validation.ROC.Of(&answers.Answers)
		}
		if err != nil {
			t.Fatal(err)
		}
		return net, fitted.Epochs[epochs-1].Valid, auc
	}
	for _, measure := range []validation.Measure{"", validation.ROC} {
		o := new(outcome)
		if err := f.fit(ctx, o, sinks.Fit{Net: &nn.PSLR{}, Epochs: epochs, Batch: 8, Seed: 3, Measure: measure}); err != nil {
			t.Fatal(err)
		}
		for e, got := range o.curve {
			net, test, auc := of(e+1, f.test)
			_, valid, validAUC := of(e+1, f.valid)
			want := score{Correct: test.Correct, Loss: test.Loss * 12, HeldOut: valid.Loss, ValidCorrect: valid.Correct}
			if measure != "" {
				want.HeldOut, want.Value, want.Valid = -validAUC+valid.Loss/1e6, auc, validAUC
			}
			if math.Abs(got.Loss-want.Loss) > 1e-4 { // single precision
				t.Errorf("%q, epoch %d: a loss of %v, want %v", measure, e+1, got.Loss, want.Loss)
			}
			if got.Loss = want.Loss; got != want {
				t.Errorf("%q, epoch %d: %+v, want %+v", measure, e+1, got, want)
			}
			said, err := f.ask(ctx, net, measure)
			if err != nil {
				t.Fatal(err)
			}
			if math.Abs(said.Loss-want.Loss) > 1e-4 || math.Abs(said.HeldOut-valid.Loss) > 1e-5 {
				t.Errorf("%q, epoch %d: a loss of %v and %v, want %v and %v", measure, e+1, said.Loss, said.HeldOut, want.Loss, valid.Loss)
			}
			if said.Loss, said.HeldOut = want.Loss, want.HeldOut; said != want {
				t.Errorf("%q, epoch %d: %+v, want %+v", measure, e+1, said, want)
			}
		}
	}
}

func seq(from, to int32) (rows []int32) {
	for ; from < to; from++ {
		rows = append(rows, from)
	}
	return rows
}

// A first layer is the code that a model by itself finds in the same fields, for nodes
// and for edges, and only before the first step.
func TestFirstLayer(t *testing.T) {
	ctx := context.Background()
	rows := pathFields(t, 30, true)
	j := training{seed: 2, pretrain: "rbm"}
	// Attributes of nodes are not binary, and edges are there or not.
	units := []nn.Units{nn.Gaussian, nn.Binary}
	net, other := &nn.CNN{Seed: 1}, &nn.CNN{Seed: 1}
	if err := j.teach(ctx, net, rows); err != nil {
		t.Fatal(err)
	}
	shape, err := sinks.Shape(rows.Schema())
	if err == nil {
		err = other.Init(shape)
	}
	for i, of := range []sinks.FieldPart{sinks.Nodes, sinks.Pairs} {
		encoder := &nn.RBM{Units: units[i], Hidden: other.Maps1, Rate: 0.05, Seed: 2}
		if err == nil {
			err = flow.From(flow.Records{Records: []arrow.Record{rows}}).Via(operators.Replay{Epochs: 10, Seed: 2, Rows: 64}).To(sinks.Pretrain{Net: encoder, Of: of, Batch: 100}).Run(ctx)
		}
		if err == nil && i == 0 {
			err = other.UseCode(encoder)
		} else if err == nil {
			err = other.UseEdgeCode(encoder)
		}
	}
	if err != nil || net.Hash() != other.Hash() {
		t.Errorf("the weights are %.8s, want %.8s; %v", net.Hash(), other.Hash(), err)
	}
	if _, err := (sinks.Fit{Net: net, Epochs: 1}).Run(ctx, flow.From(flow.Records{Records: []arrow.Record{rows}})); err != nil {
		t.Fatal(err)
	}
	if err := j.teach(ctx, net, rows); err == nil || !strings.Contains(err.Error(), "before the first step") {
		t.Errorf("%v", err)
	}
}
