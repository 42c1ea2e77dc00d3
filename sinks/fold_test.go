package sinks_test

import (
	"context"
	"fmt"
	"log"
	"math"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/nn/validation"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/labeling"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

// A cross-validation of a network: the fields are made once, each trial learns from some
// of them, and the number of epochs is chosen for each fold on a part of its training
// rows.
func ExampleFold() {
	var rows sinks.Collect
	defer rows.Release()
	err := flow.From(sources.Families{Graphs: 300}).
		Via(operators.Channel{By: labeling.NormalizedDegree}).
		Via(operators.Select{W: 12}).
		Via(operators.Normalize{K: 5}).
		To(&rows).
		Run(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	var class []int32
	for _, rec := range rows.Records() {
		of, err := record.Values[int32](rec, record.Target)
		if err != nil {
			log.Fatal(err)
		}
		class = append(class, of...)
	}
	all, err := validation.CrossValidation{Folds: 3, Learn: func(ctx context.Context, t validation.Trial) ([]validation.Score, error) {
		fold, err := sinks.NewFold(ctx, rows.Records(), t.Split)
		if err != nil {
			return nil, err
		}
		defer fold.Release()
		fit, err := fold.Fit(ctx, sinks.Fit{Net: &nn.CNN{Seed: 1}, Epochs: 10})
		return fit.Scores(10), err
	}}.Run(context.Background(), class)
	if err != nil {
		log.Fatal(err)
	}
	for i, c := range all.Nested {
		least := validation.Majority(class, all.Splits[i]) // right by the largest class
		fmt.Printf("fold %d: %d graphs, better than the largest class: %t\n", i, c.Rows, c.Correct > least)
	}
	// Output:
	// fold 0: 100 graphs, better than the largest class: true
	// fold 1: 100 graphs, better than the largest class: true
	// fold 2: 100 graphs, better than the largest class: true
}

// parts are the fields of paths, in records of 1 to 6 rows.
func parts(t *testing.T, n int) (recs []arrow.Record) {
	t.Helper()
	var out sinks.Collect
	if err := shortRecipe[:3].Onto(flow.From(stream(t, paths(n, nil)))).To(&out).Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	whole := out.Records()[0]
	for from, size := int64(0), int64(1); from < whole.NumRows(); from, size = from+size, size%6+1 {
		recs = append(recs, whole.NewSlice(from, min(from+size, whole.NumRows())))
	}
	return recs
}

// The rows of a split are those of the records, and both parts are scaled by the moments
// of the training rows.
func TestFold(t *testing.T) {
	ctx, recs := context.Background(), parts(t, 30)
	var ids []int64
	var values [][]float32
	for _, rec := range recs {
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
	f, err := sinks.NewFold(ctx, recs, s)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Release()
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
	}{{f.Train, s.Train}, {f.Test, s.Test}} {
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

// A split that names rows beyond the records is an error.
func TestFoldRefuses(t *testing.T) {
	for _, row := range []int32{-1, 30} {
		_, err := sinks.NewFold(context.Background(), parts(t, 30), validation.Split{Train: []int32{1, 2}, Test: []int32{row}})
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("has row %d, want rows from 0 to 29", row)) {
			t.Errorf("row %d: %v", row, err)
		}
	}
}

// The scores of a fold are those of models that were trained for so many epochs each.
func TestFoldScores(t *testing.T) {
	ctx := context.Background()
	f, err := sinks.NewFold(ctx, parts(t, 40), validation.Split{Train: seq(0, 28), Test: seq(28, 40)})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Release()
	const epochs = 5
	fit, err := f.Fit(ctx, sinks.Fit{Net: &nn.PSLR{}, Epochs: epochs, Batch: 8, Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	scores := fit.Scores(epochs + 2)
	if len(scores) != epochs+2 || scores[epochs] != scores[epochs-1] || scores[epochs+1] != scores[epochs-1] {
		t.Errorf("%v", scores)
	}
	for e := range epochs {
		net := &nn.PSLR{}
		_, err := sinks.Fit{Net: net, Epochs: e + 1, Batch: 8, Seed: 3}.Run(ctx, flow.From(flow.Records{Records: []arrow.Record{f.Train}}))
		var got nn.Result
		if err == nil {
			err = flow.From(flow.Records{Records: []arrow.Record{f.Test}}).To(sinks.Evaluate{Net: net, Done: func(r nn.Result) error { got = r; return nil }}).Run(ctx)
		}
		if want := (validation.Score{Correct: got.Correct, Loss: got.Loss * 12, HeldOut: fit.Epochs[e].Train.Loss}); err != nil || scores[e] != want {
			t.Errorf("epoch %d: %+v, want %+v; %v", e+1, scores[e], want, err)
		}
	}
	if none := (sinks.Fitted{}).Scores(3); len(none) != 0 {
		t.Errorf("%v of no epoch", none)
	}
}

// If a fold has rows to choose by, these decide, by the loss or by a measure, and what is
// reported of the test rows is what a model of so many epochs has.
func TestFoldValid(t *testing.T) {
	ctx := context.Background()
	f, err := sinks.NewFold(ctx, parts(t, 60), validation.Split{Train: seq(0, 28), Test: seq(28, 40), Valid: seq(40, 60)})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Release()
	const epochs = 4
	of := func(net nn.Model, rec arrow.Record) (r nn.Result, auc float64) {
		var answers sinks.Answers
		p := flow.From(flow.Records{Records: []arrow.Record{rec}})
		err := p.To(sinks.Evaluate{Net: net, Done: func(got nn.Result) error { r = got; return nil }}).Run(ctx)
		if err == nil {
			err = p.To(sinks.Predict{Net: net, Each: answers.Add}).Run(ctx)
		}
		if err == nil {
			auc, err = validation.ROC.Of(&answers.Answers)
		}
		if err != nil {
			t.Fatal(err)
		}
		return r, auc
	}
	for _, measure := range []validation.Measure{"", validation.ROC} {
		fit, err := f.Fit(ctx, sinks.Fit{Net: &nn.PSLR{}, Epochs: epochs, Batch: 8, Seed: 3, Measure: measure})
		if err != nil {
			t.Fatal(err)
		}
		for e, got := range fit.Scores(epochs) {
			net := &nn.PSLR{}
			if _, err := (sinks.Fit{Net: net, Epochs: e + 1, Batch: 8, Seed: 3}).Run(ctx, flow.From(flow.Records{Records: []arrow.Record{f.Train}})); err != nil {
				t.Fatal(err)
			}
			test, auc := of(net, f.Test)
			valid, validAUC := of(net, f.Valid)
			want := validation.Score{Correct: test.Correct, Loss: test.Loss * 12, HeldOut: valid.Loss, ValidCorrect: valid.Correct}
			if measure != "" {
				want.HeldOut, want.Value, want.Valid = -validAUC+valid.Loss/1e6, auc, validAUC
			}
			if got != want {
				t.Errorf("%q, epoch %d: %+v, want %+v", measure, e+1, got, want)
			}
			said, err := f.Score(ctx, net, measure)
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
	p := flow.From(flow.Records{Records: []arrow.Record{f.Train}})
	for want, fit := range map[string]sinks.Fit{
		"the field Measure is set, which needs Valid": {Measure: validation.ROC},
		"auc: all 1 rows are of one class":            {Measure: validation.ROC, Valid: new(one(t, f.Valid))},
	} {
		fit.Net = &nn.PSLR{}
		if _, err := fit.Run(ctx, p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// one is a pipeline of the first row.
func one(t *testing.T, rec arrow.Record) flow.Pipeline {
	first := rec.NewSlice(0, 1)
	t.Cleanup(first.Release)
	return flow.From(flow.Records{Records: []arrow.Record{first}})
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
	var out sinks.Collect
	defer out.Release()
	err := flow.From(stream(t, paths(30, nil))).Via(operators.Select{W: 4}).Via(operators.Normalize{K: 3, Edges: true}).To(&out).Run(ctx)
	if err != nil {
		t.Fatal(err)
	}
	rows := out.Records()[0]
	units := []nn.Units{}
	layer := sinks.FirstLayer{Seed: 2, Epochs: 2, Encoder: func(u nn.Units, hidden int) nn.Encoder {
		units = append(units, u)
		return &nn.RBM{Units: u, Hidden: hidden, Seed: 1}
	}}
	net, other := &nn.CNN{Seed: 1}, &nn.CNN{Seed: 1}
	if err := layer.Teach(ctx, net, rows); err != nil {
		t.Fatal(err)
	}
	// Attributes of nodes are not binary, and edges are there or not.
	if fmt.Sprint(units) != fmt.Sprint([]nn.Units{nn.Gaussian, nn.Binary}) {
		t.Errorf("the units are %v", units)
	}
	shape, err := sinks.Shape(rows.Schema())
	if err == nil {
		err = other.Init(shape)
	}
	for i, of := range []sinks.FieldPart{sinks.Nodes, sinks.Pairs} {
		encoder := &nn.RBM{Units: units[i], Hidden: other.Maps1, Seed: 1}
		if err == nil {
			err = flow.From(flow.Records{Records: []arrow.Record{rows}}).Via(operators.Replay{Epochs: 2, Seed: 2, Rows: 64}).To(sinks.Pretrain{Net: encoder, Of: of, Batch: 100}).Run(ctx)
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
	if err := layer.Teach(ctx, net, rows); err == nil || !strings.Contains(err.Error(), "before the first step") {
		t.Errorf("%v", err)
	}
}
