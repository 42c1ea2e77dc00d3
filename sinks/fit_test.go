package sinks_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/internal/race"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/count"
	"github.com/sanflow/sanflow/operators/labeling"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

func fitted(t *testing.T, f sinks.Fit, p flow.Pipeline) sinks.Fitted {
	t.Helper()
	fit, err := f.Run(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	return fit
}

// A Fit is Replay and Train, and tests in between that change nothing.
func TestFitIsReplayAndTrain(t *testing.T) {
	checked(t, func(o flow.Options) {
		p := fields(50, 16).With(o)
		want := &nn.CNN{Seed: 3}
		if err := p.Via(operators.Replay{Epochs: 4, Rows: 16, Seed: 7}).To(sinks.Train{Net: want}).Run(context.Background()); err != nil {
			t.Fatal(err)
		}
		valid := fields(20, 16).With(o)
		net, steps := &nn.CNN{Seed: 3}, 0
		fit := fitted(t, sinks.Fit{
			Net: net, Epochs: 4, Batch: 16, Seed: 7, Valid: &valid, Last: true,
			OnStep: func(nn.Result) error { steps++; return nil },
		}, p)
		if net.Hash() != want.Hash() || len(fit.Epochs) != 4 || fit.Best != 4 || steps != 16 {
			t.Errorf("%d epochs of which %d counts, %d steps, %s, want %s", len(fit.Epochs), fit.Best, steps, net.Hash(), want.Hash())
		}
		for i, e := range fit.Epochs {
			if e.Number != i+1 || e.Train.Rows != 50 || e.Valid.Rows != 20 || e.Score != e.Valid.Loss || e.Train.Loss <= 0 {
				t.Errorf("%+v", e)
			}
		}
	})
}

// It ends when nothing gets better, and gives back the best weights.
func TestFitStops(t *testing.T) {
	p := fields(40, 16)
	scores := []float64{5, 3, 4, 2, 2, 2.5, 9, 1}
	for _, test := range []struct {
		patience, epochs, want, best int
	}{{1, 8, 3, 2}, {2, 8, 6, 4}, {3, 8, 7, 4}, {4, 8, 8, 8}, {0, 7, 7, 4}} {
		net, after := &nn.CNN{Seed: 3}, map[int]string{}
		fit := fitted(t, sinks.Fit{
			Net: net, Epochs: test.epochs, Patience: test.patience,
			Valid: &p, Score: func(nn.Result) float64 {
				after[len(after)+1] = net.Hash()
				return scores[len(after)-1]
			},
		}, p)
		if len(fit.Epochs) != test.want || fit.Best != test.best || net.Hash() != after[test.best] {
			t.Errorf("patience %d: %d epochs, best %d, want %d and %d", test.patience, len(fit.Epochs), fit.Best, test.want, test.best)
		}
	}
}

// A model that holds rows out is given back the weights of the epoch in which it
// knew them best, with rows to test on beside it and without.
func TestFitHeld(t *testing.T) {
	graphs := func(seed uint64) flow.Pipeline {
		return flow.From(sources.Families{Graphs: 60, Seed: seed, Noise: 0.4}).Via(operators.Count{Of: []count.Counter{count.WL{Height: 1}}})
	}
	var hashes []string
	for _, f := range []sinks.Fit{{}, {HeldOut: true, Patience: 3}} {
		net, after := &nn.Logistic{Width: 1 << 10, Heads: 4, Optimizer: nn.AdaGrad{Rate: 0.1}}, []string{}
		if f.HeldOut {
			valid := graphs(2)
			f.Valid = &valid
		}
		f.Net, f.Epochs = net, 30
		f.OnEpoch = func(sinks.Epoch) error { after = append(after, net.Hash()); return nil }
		fit := fitted(t, f, graphs(1))
		best := 0
		for i, e := range fit.Epochs {
			if e.Score != e.Train.Loss || f.HeldOut != (e.Valid.Rows == 60) {
				t.Fatalf("%+v", e)
			}
			if e.Train.Loss < fit.Epochs[best].Train.Loss {
				best = i
			}
		}
		if fit.Best != best+1 || net.Hash() != after[best] || best == 0 {
			t.Errorf("best is %d of %d, want %d", fit.Best, len(fit.Epochs), best+1)
		}
		hashes = append(hashes, after[0])
	}
	if hashes[0] != hashes[1] {
		t.Error("the rows to test on have changed what was learned")
	}
}

// Stopped anywhere and resumed: the same epochs, the same choice, the same
// weights.
func TestFitCheckpoint(t *testing.T) {
	checked(t, func(o flow.Options) {
		p, valid := fields(40, 16).With(o), fields(30, 16).With(o)
		power := errors.New("no power")
		train := func(file string, limit int) (*nn.CNN, []sinks.Epoch, int, error) {
			net, steps := &nn.CNN{Seed: 3, Optimizer: nn.Adam{Rate: 0.01}}, 0
			fit, err := sinks.Fit{
				Net: net, Epochs: 9, Batch: 16, Seed: 7, Valid: &valid, Patience: 3,
				OnStep: func(nn.Result) error {
					if steps++; steps == limit {
						return power
					}
					return nil
				},
				OnEpoch:    func(e sinks.Epoch) error { return nil },
				Checkpoint: sinks.Checkpoint{File: file, Every: -1, Resume: file != ""},
			}.Run(context.Background(), p)
			for i := range fit.Epochs {
				fit.Epochs[i].Took = 0
			}
			return net, fit.Epochs, fit.Best, err
		}
		net, epochs, best, err := train("", 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, stop := range race.Some([]int{3, 1, 8}) {
			file := filepath.Join(t.TempDir(), "checkpoint")
			if _, _, _, err := train(file, stop); !errors.Is(err, power) {
				t.Fatalf("stopped at %d: %v", stop, err)
			}
			for _, again := range []string{"resumed", "once more"} {
				n, e, b, err := train(file, 0)
				if err != nil || n.Hash() != net.Hash() || b != best || !reflect.DeepEqual(e, epochs) {
					t.Errorf("stopped at %d, %s: %v, best %d of\n%+v, want %d of\n%+v", stop, again, err, b, e, best, epochs)
				}
			}
		}
	})
}

// The best weights of a model of 31 MB are in the checkpoint: stopped after the best epoch
// and resumed, the model has the same bytes.
func TestFitCheckpointLarge(t *testing.T) {
	race.Skip(t)
	file := filepath.Join(t.TempDir(), "checkpoint")
	p := flow.From(sources.Families{Graphs: 30}).Via(operators.Count{Of: []count.Counter{count.WL{Height: 1}}})
	power := errors.New("no power")
	train := func(limit int, last bool, c sinks.Checkpoint) ([]byte, error) {
		net, tests := &nn.Logistic{Width: 1 << 17, Heads: 10}, 0.0
		fit, err := sinks.Fit{
			Net: net, Epochs: 3, Batch: 16, Last: last,
			Valid: &p, Score: func(nn.Result) float64 { tests++; return tests },
			OnEpoch: func(e sinks.Epoch) error {
				if e.Number == limit {
					return power
				}
				return nil
			},
			Checkpoint: c,
		}.Run(context.Background(), p)
		if err != nil {
			return nil, err
		}
		if n := len(net.AppendWeights(nil)); 4*n < 20<<20 || fit.Best != 1 {
			t.Fatalf("%d weights, the best epoch is %d, want 7 Mi and 1", n, fit.Best)
		}
		var b bytes.Buffer
		err = net.Save(&b)
		return b.Bytes(), err
	}
	want, err := train(0, false, sinks.Checkpoint{})
	if err != nil {
		t.Fatal(err)
	}
	c := sinks.Checkpoint{File: file, Every: time.Hour, Resume: true}
	if _, err := train(2, false, c); !errors.Is(err, power) {
		t.Fatal(err)
	}
	if info, err := os.Stat(file); err != nil || info.Size() < 60<<20 {
		t.Fatalf("%v, %v: want weights, the memory of the optimizer and the best weights", info, err)
	}
	if got, err := train(0, false, c); err != nil || !bytes.Equal(got, want) {
		t.Errorf("resumed: %v, %d bytes, want %d", err, len(got), len(want))
	}
	if _, err := train(0, true, c); err == nil || !strings.Contains(err.Error(), "another of the fields Last") {
		t.Errorf("with Last: %v", err)
	}
}

// Stopped while it tests and resumed: what the epoch has learned is not lost.
func TestFitCheckpointInTest(t *testing.T) {
	p, file := fields(40, 16), filepath.Join(t.TempDir(), "checkpoint")
	train := func(checkpoint string, bad int) ([]sinks.Epoch, error) {
		tests := 0
		fit, err := sinks.Fit{
			Net: &nn.CNN{Seed: 3}, Epochs: 3, Batch: 16,
			Valid: &p, Score: func(nn.Result) float64 {
				if tests++; tests == bad {
					return math.NaN() // which is an error
				}
				return 1
			},
			Checkpoint: sinks.Checkpoint{File: checkpoint, Resume: checkpoint != ""},
		}.Run(context.Background(), p)
		for i := range fit.Epochs {
			fit.Epochs[i].Took = 0
		}
		return fit.Epochs, err
	}
	want, err := train("", 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := train(file, 2); err == nil || !strings.Contains(err.Error(), "the score of epoch 2 is NaN") {
		t.Fatal(err)
	}
	if got, err := train(file, 0); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v:\n%+v, want\n%+v", err, got, want)
	}
}

func TestFitErrors(t *testing.T) {
	p := fields(10, 8)
	for _, c := range []struct {
		fit  sinks.Fit
		want string
	}{
		{sinks.Fit{}, "Net is not set"},
		{sinks.Fit{Net: &nn.CNN{}, Epochs: -1}, "Epochs is -1"},
		{sinks.Fit{Net: &nn.CNN{}, Patience: 3}, "Valid is not"},
		{sinks.Fit{Net: &nn.CNN{}, HeldOut: true}, "holds no rows out"},
		{sinks.Fit{Net: &nn.CNN{}, Valid: &p, Score: func(nn.Result) float64 { return math.Inf(1) }}, "the score of epoch 1 is +Inf"},
		{sinks.Fit{Net: &nn.CNN{Maps1: -3}}, "Maps1 is -3"},
	} {
		if _, err := c.fit.Run(context.Background(), p); err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "fit: fit:") {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
	none := flow.From(sources.Graphs{Layout: record.Layout{Classes: []string{"a", "b"}}}).
		Via(operators.Channel{By: labeling.NormalizedDegree}).Via(operators.Select{W: 20}).Via(operators.Normalize{K: 6})
	if fit, err := (sinks.Fit{Net: &nn.CNN{Seed: 1}}).Run(context.Background(), none); err == nil || !strings.HasSuffix(err.Error(), "fit: there are no rows to learn from") {
		t.Errorf("of no rows: %v, %v", fit, err)
	}
}

// A training that ends early has not failed, and one that has says so.
func TestObserverOfEarlyEnd(t *testing.T) {
	bad, tests := errors.New("on purpose"), 0
	for _, test := range []struct {
		epoch func(sinks.Epoch) error
		want  error
	}{
		{nil, nil},
		{func(sinks.Epoch) error { return bad }, bad},
	} {
		runs := 0
		ctx := flow.Observe(context.Background(), func(flow.Observed) func(error) {
			return func(err error) {
				if runs++; !errors.Is(err, test.want) {
					t.Errorf("an observer is told of %v, want %v", err, test.want)
				}
			}
		})
		counts := flow.From(sources.Families{Graphs: 64}).Via(operators.Count{Of: []count.Counter{count.WL{Height: 1}}})
		fit, err := sinks.Fit{
			Net: &nn.Logistic{Width: 1 << 10, Heads: 4}, Epochs: 20, Patience: 2, Score: func(nn.Result) float64 { tests++; return float64(tests) }, OnEpoch: test.epoch,
		}.Run(ctx, counts)
		if runs == 0 || !errors.Is(err, test.want) || len(fit.Epochs) == 20 {
			t.Errorf("%d runs with %d epochs: %v", runs, len(fit.Epochs), err)
		}
	}
}

var errTested = errors.New("the test has failed")

// Fit trains until the validation loss no longer falls, and keeps the best weights.
func ExampleFit() {
	recipe := operators.Recipe{
		operators.Channel{By: labeling.NormalizedDegree},
		operators.Select{W: 20, By: labeling.Degree},
		operators.Normalize{K: 6},
		operators.Batch{Size: 32},
	}
	train := recipe.Onto(flow.From(sources.Families{Graphs: 200}))
	valid := recipe.Onto(flow.From(sources.Families{Graphs: 60, Seed: 2}))
	net := &nn.CNN{Seed: 1, Dropout: -1}
	fit, err := sinks.Fit{Net: net, Epochs: 30, Patience: 5, Valid: &valid}.Run(context.Background(), train)
	if err != nil {
		fmt.Println(err)
		return
	}
	first, best := fit.Epochs[0].Valid, fit.Epochs[fit.Best-1].Valid
	fmt.Println(fit.Best > 1, best.Loss < first.Loss, best.Rows)
	// Output: true true 60
}
