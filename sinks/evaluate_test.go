package sinks_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"math"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/labeling"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

// A model is tested after each epoch on graphs that were put aside.
func ExampleEvaluate() {
	recipe := operators.Recipe{
		operators.Channel{By: labeling.NormalizedDegree}, operators.Select{W: 6}, operators.Assemble{K: 4}, operators.Normalize{},
	}
	train := recipe.Onto(flow.From(sources.Families{Graphs: 60, Seed: 1})).Via(operators.Batch{Size: 16})
	validation := recipe.Onto(flow.From(sources.Families{Graphs: 60, Seed: 2}))

	net := &nn.CNN{Seed: 1, Optimizer: nn.Adam{Rate: 0.02}}
	loss := math.Inf(1)
	for range 10 {
		err := train.To(sinks.Train{Net: net}).Run(context.Background())
		if err == nil {
			err = validation.To(sinks.Evaluate{Net: net, Done: func(r nn.Result) error {
				loss = min(loss, r.Loss)
				return nil
			}}).Run(context.Background())
		}
		if err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println("better than guessing one of six classes:", loss < math.Log(6))
	// Output:
	// better than guessing one of six classes: true
}

// Evaluate says what Predict says of every graph, whatever the records.
func TestEvaluate(t *testing.T) {
	checked(t, func(o flow.Options) {
		net := &nn.CNN{Seed: 3, Dropout: -1}
		stream := fields(100, 32).With(o)
		if err := stream.To(sinks.Train{Net: net}).Run(context.Background()); err != nil {
			t.Fatal(err)
		}
		var want nn.Result
		if err := stream.To(sinks.Predict{Net: net, Each: func(p sinks.Prediction) error {
			want.Rows++
			want.Loss -= math.Log(float64(p.Probs[p.Target])) / 100
			if p.Class == p.Target {
				want.Correct++
			}
			return nil
		}}).Run(context.Background()); err != nil {
			t.Fatal(err)
		}
		hash, seen := net.Hash(), net.Seen()
		for _, size := range []int{1, 32, 100} {
			var got nn.Result
			err := fields(100, size).With(o).To(sinks.Evaluate{Net: net, Done: func(r nn.Result) error {
				got = r
				return nil
			}}).Run(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			if got.Rows != 100 || got.Correct != want.Correct || math.Abs(got.Loss-want.Loss) > 1e-5 {
				t.Errorf("records of %d: %+v, want %+v", size, got, want)
			}
		}
		if net.Hash() != hash || net.Seen() != seen {
			t.Error("the test has changed the network")
		}
	})
}

func TestEvaluateErrors(t *testing.T) {
	enough := errors.New("enough")
	done := func(nn.Result) error { return nil }
	net, other := new(nn.CNN), new(nn.CNN)
	if err := fields(10, 4).To(sinks.Train{Net: net}).Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(other.Init(nn.Shape{W: 7, K: 4, Attrs: 1, Classes: 6}), other.SetWeights(other.AppendWeights(nil))); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		sink sinks.Evaluate
		want string
	}{
		{sinks.Evaluate{Done: done}, "evaluate: the fields Net and Done must be set"},
		{sinks.Evaluate{Net: &nn.CNN{}}, "evaluate: the fields Net and Done must be set"},
		{sinks.Evaluate{Net: other, Done: done}, "evaluate: the model is for 7 fields"},
		{sinks.Evaluate{Net: net, Done: func(nn.Result) error { return enough }}, "evaluate: enough"},
	} {
		checked(t, func(o flow.Options) {
			err := fields(10, 4).With(o).To(test.sink).Run(context.Background())
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %q", err, test.want)
			}
		})
	}
}

// A model that has learned from nothing is neither asked nor kept: the stage is named,
// and the model is as it was, so that it can still learn from other data.
func TestUntrained(t *testing.T) {
	layout := record.Layout{Classes: []string{"a", "b"}}
	recipe := operators.Recipe{operators.Expect{Layout: layout}, operators.Channel{By: labeling.NormalizedDegree}, operators.Select{W: 4}, operators.Normalize{K: 3}}
	for _, net := range []nn.Model{new(nn.CNN), new(nn.PSLR), new(nn.GRU), new(nn.Link), new(nn.Pooled)} {
		for _, test := range []struct {
			sink  flow.Sink
			stage string
		}{
			{sinks.Evaluate{Net: net, Done: func(nn.Result) error { return errors.New("it was tested") }}, "evaluate"},
			{sinks.Predict{Net: net, Each: func(sinks.Prediction) error { return errors.New("it was asked") }}, "predict"},
			{sinks.Predict{Net: &nn.Ensemble{Nets: []nn.Predictor{net}}, Each: func(sinks.Prediction) error { return errors.New("it was asked") }}, "predict"},
		} {
			checked(t, func(o flow.Options) {
				err := fields(10, 4).With(o).To(test.sink).Run(context.Background())
				if want := test.stage + ": " + nn.ErrUntrained.Error(); !errors.Is(err, nn.ErrUntrained) || err.Error() != want {
					t.Errorf("%T: %v, want %s", net, err, want)
				}
			})
		}
		if s := net.Shape(); s.W != 0 {
			t.Errorf("%T was initialised for %+v", net, s)
		}
		if err := sinks.Write(io.Discard, net.(nn.Saver), recipe); !errors.Is(err, nn.ErrNotReady) {
			t.Errorf("%T: %v", net, err)
		}
		if err := net.Init(nn.Shape{W: 4, K: 3, Cats: []int{2}, Attrs: 1, Classes: 2}); err != nil {
			t.Fatal(err)
		}
		if err := sinks.Write(io.Discard, net.(nn.Saver), recipe); !errors.Is(err, nn.ErrUntrained) {
			t.Errorf("%T: %v", net, err)
		}
	}
}
