package sinks_test

import (
	"context"
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/nn/validation"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/labeling"
	"github.com/sanflow/sanflow/sinks"
)

// What a training tests after its epochs is what Predict says of every row, whatever the records.
func TestFitTests(t *testing.T) {
	checked(t, func(o flow.Options) {
		for _, size := range []int{1, 32, 100} {
			net, valid := &nn.CNN{Seed: 3, Dropout: -1}, fields(100, size).With(o)
			fitted, err := sinks.Fit{Net: net, Epochs: 1, Valid: &valid}.Run(context.Background(), fields(100, 32).With(o))
			if err != nil {
				t.Fatal(err)
			}
			var want nn.Result
			if err := valid.To(sinks.Predict{Net: net, Each: func(p sinks.Prediction) error {
				want.Rows++
				want.Loss -= math.Log(float64(p.Probs[p.Target])) / 100
				if p.Class == p.Target {
					want.Correct++
				}
				return nil
			}}).Run(context.Background()); err != nil {
				t.Fatal(err)
			}
			if got := fitted.Epochs[0].Valid; got.Rows != 100 || got.Correct != want.Correct || math.Abs(got.Loss-want.Loss) > 1e-5 {
				t.Errorf("records of %d: %+v, want %+v", size, got, want)
			}
		}
	})
}

// A measure that does not fit the validation rows ends the training.
func TestFitMeasures(t *testing.T) {
	checked(t, func(o flow.Options) {
		valid := fields(20, 8).With(o)
		_, err := sinks.Fit{Net: &nn.CNN{Seed: 3}, Epochs: 1, Valid: &valid, Measure: validation.RMSE}.Run(context.Background(), fields(20, 8).With(o))
		if err == nil || !strings.Contains(err.Error(), "validation rows: rmse is for numbers, and the rows have classes") {
			t.Error(err)
		}
	})
}

// A model that has learned from nothing is neither asked nor kept: the stage is named,
// and the model is as it was, so that it can still learn from other data.
func TestUntrained(t *testing.T) {
	layout := record.Layout{Classes: []string{"a", "b"}}
	recipe := operators.Recipe{operators.Expect{Layout: layout}, operators.Channel{By: labeling.NormalizedDegree}, operators.Select{W: 4}, operators.Normalize{K: 3}}
	for _, net := range []nn.Model{new(nn.CNN), new(nn.PSLR), new(nn.GRU), new(nn.Pooled)} {
		for _, test := range []struct {
			sink  flow.Sink
			stage string
		}{
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
