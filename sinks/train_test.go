package sinks_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/internal/leak"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/labeling"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

// fields is the README's pipeline up to batches, on fewer graphs.
func fields(graphs, batch int) flow.Pipeline {
	return flow.From(sources.Families{Graphs: graphs, Rows: 16}).
		Via(operators.Channel{By: labeling.NormalizedDegree}).
		Via(operators.Select{W: 20, By: labeling.Betweenness}).
		Via(operators.Assemble{K: 6}).
		Via(operators.Normalize{}).
		Via(operators.Batch{Size: batch})
}

// checked runs f with a checked allocator and without leaving goroutines.
func checked(t *testing.T, f func(flow.Options)) {
	t.Helper()
	defer leak.VerifyNone(t)
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	f(flow.Options{Allocator: mem})
}

func TestTrainThenPredict(t *testing.T) {
	checked(t, func(o flow.Options) {
		net := &nn.CNN{Seed: 3, Dropout: -1}
		steps, rows := 0, 0
		train := sinks.Train{Net: net, OnStep: func(r nn.Result) error {
			steps++
			rows += r.Rows
			return nil
		}}
		stream := fields(100, 32).With(o)
		err := stream.Via(operators.Replay{Epochs: 15, Rows: 32}).To(train).Run(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if steps != 60 || rows != 1500 || net.Seen() != 1500 {
			t.Errorf("%d steps over %d rows, the network saw %d; want 60, 1500, 1500", steps, rows, net.Seen())
		}
		var graphs []int64
		right := 0
		predict := sinks.Predict{Net: net, Each: func(p sinks.Prediction) error {
			sum := float32(0)
			for c, x := range p.Probs {
				sum += x
				if x > p.Probs[p.Class] {
					t.Errorf("graph %d: class %d is more probable than %d", p.Graph, c, p.Class)
				}
			}
			if len(p.Probs) != 6 || sum < 0.999 || sum > 1.001 {
				t.Errorf("graph %d: probabilities %v", p.Graph, p.Probs)
			}
			graphs = append(graphs, p.Graph)
			if p.Class == p.Target {
				right++
			}
			return nil
		}}
		if err := stream.To(predict).Run(context.Background()); err != nil {
			t.Fatal(err)
		}
		for i, id := range graphs {
			if id != int64(i) {
				t.Fatalf("prediction %d is for graph %d", i, id)
			}
		}
		if len(graphs) != 100 || right < 30 { // 17 by chance
			t.Errorf("%d predictions, %d right", len(graphs), right)
		}
	})
}

func TestBatchesOfAllSizesLearnTheSame(t *testing.T) {
	// The batch size is the network's business, not that of how records come.
	var sums []string
	for _, rows := range []int{1, 7, 64} {
		net := &nn.CNN{Seed: 3}
		err := flow.From(sources.Families{Graphs: 50, Rows: rows}).
			Via(operators.Channel{By: labeling.Degree}).
			Via(operators.Select{W: 8}).
			Via(operators.Assemble{K: 4}).
			Via(operators.Normalize{}).
			Via(operators.Batch{Size: 16}).
			To(sinks.Train{Net: net}).
			Run(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		if err := net.Save(&b); err != nil {
			t.Fatal(err)
		}
		sums = append(sums, b.String())
	}
	if sums[0] != sums[1] || sums[1] != sums[2] {
		t.Error("weights depend on how the source cuts its records")
	}
}

func TestErrors(t *testing.T) {
	stop := errors.New("enough")
	bare, err := graph.New(2, false, []graph.Edge{{U: 0, V: 1}})
	if err != nil {
		t.Fatal(err)
	}
	unlabelled := flow.From(sources.Graphs{Items: []sources.Item{{Graph: bare}, {Graph: bare}}})
	for _, test := range []struct {
		name  string
		build func() flow.Pipeline
		want  string
	}{
		{"no model", func() flow.Pipeline { return fields(10, 4).To(sinks.Train{}) }, "train: the field Net is not set"},
		{"no model to predict", func() flow.Pipeline { return fields(10, 4).To(sinks.Predict{}) }, "predict: the field Each must be set, and one of Net and Graph"},
		{"no width", func() flow.Pipeline { return fields(10, 4).To(sinks.Train{Net: &nn.CNN{Maps1: -7}}) }, "Maps1 is -7, want a positive number"},
		{"callback", func() flow.Pipeline {
			return fields(10, 4).To(sinks.Train{Net: &nn.CNN{}, OnStep: func(nn.Result) error { return stop }})
		}, "train: enough"},
		{"no fields", func() flow.Pipeline { return unlabelled.To(sinks.Train{Net: &nn.CNN{}}) }, "there are no node channels"},
		{"no classes", func() flow.Pipeline {
			return unlabelled.Via(operators.Channel{By: labeling.Degree}).Via(operators.Select{W: 2}).
				Via(operators.Assemble{K: 2}).Via(operators.Normalize{}).To(sinks.Train{Net: &nn.CNN{}})
		}, "train: there is no column target"},
	} {
		checked(t, func(o flow.Options) {
			err := test.build().With(o).Run(context.Background())
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s: %v, want %q", test.name, err, test.want)
			}
		})
	}
}

func TestCollect(t *testing.T) {
	checked(t, func(o flow.Options) {
		var c sinks.Collect
		if err := fields(50, 20).With(o).To(&c).Run(context.Background()); err != nil {
			t.Fatal(err)
		}
		if len(c.Records()) != 3 || c.Rows() != 50 {
			t.Errorf("%d records of %d rows, want 3 of 50", len(c.Records()), c.Rows())
		}
		c.Release()
	})
}
