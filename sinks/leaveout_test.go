package sinks_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

// path is a graph of two classes, by its attributes.
type path struct {
	id    int64
	class int32
	attrs []float32
}

// paths returns n of them; spoil, where there is one for its number, makes
// something of a path that nothing can be learned from.
func paths(n int, spoil map[int64]func(*path)) (list []path) {
	for id := range int64(n) {
		p := path{id, int32(id % 2), []float32{float32(id%2) - 0.5, 0.1, 0.2, float32(id % 3)}}
		if f := spoil[id]; f != nil {
			f(&p)
		}
		list = append(list, p)
	}
	return list
}

// stream is the paths as a source, which does not look at what they hold.
func stream(t *testing.T, list []path) sources.Records {
	t.Helper()
	b := record.NewBuilder(memory.DefaultAllocator, record.Layout{NodeAttr: []record.Channel{{Name: "x"}}, Classes: []string{"a", "b"}})
	for _, p := range list {
		g, err := graph.New(4, false, []graph.Edge{{U: 0, V: 1}, {U: 1, V: 2}, {U: 2, V: 3}})
		if err != nil {
			t.Fatal(err)
		}
		g.NodeAttrs, g.NodeAttr = 1, p.attrs
		if err := b.Append(g, record.Row{ID: p.id, Pos: p.id, Class: p.class}); err != nil {
			t.Fatal(err)
		}
	}
	rec := b.Record()
	t.Cleanup(rec.Release)
	return sources.Records{Records: []arrow.Record{rec}}
}

// A row that a model cannot take is the pipeline's to skip, to keep or to stop
// at; the others are learned from, tested and answered as if it had never come.
func TestSinksRefuse(t *testing.T) {
	bad := map[int64]func(*path){
		3:  func(p *path) { p.class = -1 },
		4:  func(p *path) { p.class = 2 },
		9:  func(p *path) { p.attrs[2] = 1e25 },
		20: func(p *path) { p.attrs[0] = float32(math.NaN()) },
	}
	noTarget := map[int64]func(*path){20: bad[20]}
	recipe := operators.Recipe{operators.Select{W: 4}, operators.Assemble{K: 2}, operators.Normalize{}, operators.Batch{Size: 8}}
	model := func() *nn.PSLR { return &nn.PSLR{} }
	learn := func(src flow.Source, net nn.Model, o flow.Options) (rows []int64, err error) {
		return rows, recipe.Onto(flow.From(src)).With(o).To(sinks.Train{Net: net, OnRow: func(p sinks.Prediction) error {
			rows = append(rows, p.Graph)
			return nil
		}}).Run(context.Background())
	}
	checked(t, func(o flow.Options) {
		all := paths(30, bad)
		src := stream(t, all)
		_, err := learn(src, model(), o)
		var e *flow.Error
		if !errors.As(err, &e) || e.Graph != 3 || e.Stage != "train" {
			t.Errorf("stop: %v, want graph 3 named", err)
		}
		var kept []int64
		o.Refused, o.DeadLetters = flow.Keep, func(l flow.Letter) error {
			kept = append(kept, l.Graph)
			return nil
		}
		net := model()
		rows, err := learn(src, net, o)
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(kept)
		if !slices.Equal(kept, []int64{3, 4, 9, 20}) || net.Seen() != 26 || len(rows) != 26 {
			t.Errorf("left out %v, learned from %d, told of %d", kept, net.Seen(), len(rows))
		}
		// The rows that are left, in the batches that they were in.
		o.Refused = flow.Skip
		good := model()
		for _, batch := range [][2]int{{0, 8}, {8, 16}, {16, 24}, {24, 30}} {
			var part []path
			for _, p := range all[batch[0]:batch[1]] {
				if bad[p.id] == nil {
					part = append(part, p)
				}
			}
			if _, err := learn(stream(t, part), good, o); err != nil {
				t.Fatal(err)
			}
		}
		if good.Hash() != net.Hash() {
			t.Error("a row that was left out has changed the weights")
		}

		answered := 0
		err = recipe.Onto(flow.From(stream(t, paths(30, noTarget)))).With(o).To(sinks.Predict{Net: net, Each: func(sinks.Prediction) error { answered++; return nil }}).Run(context.Background())
		if err != nil || answered != 29 {
			t.Errorf("answered for %d rows, %v", answered, err)
		}
	})
}

// What is told of a row is what was predicted before it was learned from.
func TestTrainOnRow(t *testing.T) {
	src := stream(t, paths(40, nil))
	recipe := operators.Recipe{operators.Select{W: 4}, operators.Assemble{K: 2}, operators.Normalize{}, operators.Batch{Size: 16}}
	net := &nn.CNN{Seed: 1, Size2: 2}
	right, rows := 0, 0
	err := recipe.Onto(flow.From(src)).To(sinks.Train{
		Net: net,
		OnRow: func(p sinks.Prediction) error {
			if p.Graph != int64(rows) || p.Target != rows%2 || len(p.Probs) != 2 {
				t.Errorf("row %d: %+v", rows, p)
			}
			rows++
			if p.Class == p.Target {
				right++
			}
			return nil
		},
		OnStep: func(r nn.Result) error {
			if rows != net.Seen() {
				t.Errorf("the step after %d rows, the network saw %d", rows, net.Seen())
			}
			return nil
		},
	}).Run(context.Background())
	if err != nil || rows != 40 || float64(right)/40 != net.Accuracy() {
		t.Errorf("%d of %d right, the network says %v, %v", right, rows, net.Accuracy(), err)
	}
}
