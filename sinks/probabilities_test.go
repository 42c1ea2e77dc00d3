package sinks_test

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/flowtest"
	"github.com/sanflow/sanflow/internal/leak"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/nn/validation"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/count"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/generate"
)

// The right rows are those whose most probable class is the target.
func TestProbabilitiesCorrect(t *testing.T) {
	a := sinks.NewProbabilities(5, 2)
	for row := range 5 {
		a.Row(row)[row/4] = 1 // right but in the last row
	}
	if a.Accuracy() != 80 || a.Correct() != 4 {
		t.Errorf("accuracy %v, %d right", a.Accuracy(), a.Correct())
	}
	if score, first := a.Ranking(0); !slices.Equal(score, []float64{1, 1, 1, 1, 0}) || slices.Contains(first, false) {
		t.Errorf("ranking %v, %v", score, first)
	}
}

// wordsOfNodes is a row of words for each node of a graph of communities, in chunks of
// batch.
func wordsOfNodes(t *testing.T, batch int) flow.Pipeline {
	t.Helper()
	g, class, err := generate.Communities(120, 3, 6, 1, 5)
	if err != nil {
		t.Fatal(err)
	}
	set := &sources.NodeSet{Graph: g, Class: class, Classes: []string{"a", "b", "c"}}
	if err := set.Identify(); err != nil {
		t.Fatal(err)
	}
	order := make([]int32, 120)
	for i := range order {
		order[i] = int32(i * 77 % 120)
	}
	return flow.From(set.Rooted(order)).
		Via(operators.Count{Of: []count.Counter{count.Around{}}, DropGraph: true}).
		Via(operators.Batch{Size: batch}).
		With(flow.Options{Allocator: flowtest.Mem(t)})
}

// What a stream of rows says of each is in its place, model by model.
func TestProbabilitiesAsk(t *testing.T) {
	defer leak.VerifyNone(t)
	rows, net := wordsOfNodes(t, 16), nn.Best()
	if _, err := (sinks.Fit{Net: net, Epochs: 5}).Run(context.Background(), rows); err != nil {
		t.Fatal(err)
	}
	said, row := sinks.NewProbabilities(120, 3), 0
	for range 2 {
		if err := rows.To(said.Ask(net)).Run(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	err := rows.To(sinks.Predict{Net: net, Each: func(p sinks.Prediction) error {
		for c, x := range p.Probs {
			if said.Row(row)[c] != 2*float64(x) || said.Target[row] != p.Target || said.Class(row) != p.Class {
				t.Errorf("row %d: %v of class %d, want twice %v of %d", row, said.Row(row), said.Target[row], p.Probs, p.Target)
			}
		}
		row++
		return nil
	}}).Run(context.Background())
	if err != nil || said.Models != 2 || said.Accuracy() < 80 {
		t.Errorf("%v, %v models, %v %% right", err, said.Models, said.Accuracy())
	}
	err = rows.To(sinks.NewProbabilities(120, 2).Ask(net)).Run(context.Background())
	if err == nil || !strings.Contains(err.Error(), "probabilities of 3 classes, want 2 of 120 rows") {
		t.Errorf("for other classes: %v", err)
	}
}

// By measures the mean over the models, of the rows whose target is known.
func TestProbabilitiesBy(t *testing.T) {
	a := sinks.NewProbabilities(4, 2)
	a.Models = 2
	copy(a.Target, []int{0, 1, 1, -1})
	copy(a.Sum, []float64{1.5, 0.5, 1.2, 0.8, 0.2, 1.8, 2, 0})
	for m, want := range map[validation.Measure]float64{
		validation.Accuracy: 2. / 3, validation.Balanced: 0.75, validation.ROC: 1, validation.LogLoss: -math.Log(0.75*0.4*0.9) / 3,
	} {
		if got, err := a.By(m); err != nil || math.Abs(got-want) > 1e-6 {
			t.Errorf("%s is %v, %v, want %v", m, got, err, want)
		}
	}
	if _, err := a.By(validation.RMSE); err == nil {
		t.Error("numbers are measured of classes")
	}
	a.Target[0] = -1
	if _, err := a.By(validation.ROC); err == nil {
		t.Error("one class has an AUC")
	}
}
