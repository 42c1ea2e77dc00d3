package sinks_test

import (
	"context"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/count"
	"github.com/sanflow/sanflow/sinks"
	sinkparquet "github.com/sanflow/sanflow/sinks/parquet"
	"github.com/sanflow/sanflow/sources"
	sourceparquet "github.com/sanflow/sanflow/sources/parquet"
)

// chain is a chain of atoms, or atoms alone, as sources.Builder makes them: of a
// graph without edges it does not know which attributes edges have.
func chain(t *testing.T, bonds bool, atoms ...int32) *graph.Graph {
	t.Helper()
	var b sources.Builder
	for i, a := range atoms {
		v := b.Node(a)
		b.NodeAttr(float32(a) / 2)
		if bonds && i > 0 {
			b.Edge(v-1, v, a%2)
			b.EdgeAttr(float32(i))
		}
	}
	g, err := b.Graph()
	if err != nil {
		t.Fatal(err)
	}
	return g
}

var bonded = record.Layout{
	NodeCat:  []record.Channel{{Name: "atom", Card: 3}},
	NodeAttr: []record.Channel{{Name: "charge"}},
	EdgeCat:  []record.Channel{{Name: "bond", Card: 2}},
	EdgeAttr: []record.Channel{{Name: "length"}},
	Classes:  []string{"loose", "bonded"},
}

func chains(t *testing.T) (all []sources.Item) {
	for range 4 {
		for _, m := range []struct {
			bonds int32
			atoms []int32
		}{{0, []int32{2}}, {0, nil}, {1, []int32{1, 2, 0}}, {0, []int32{1, 1}}, {1, []int32{0, 1}}, {1, []int32{0, 1, 2, 1, 0}}} {
			all = append(all, sources.Item{Graph: chain(t, m.bonds == 1, m.atoms...), Class: m.bonds})
		}
	}
	return all
}

// A graph without edges, and one without nodes, goes wherever others of its layout go,
// with typed edges too, and gets the same answer in a stream and by itself.
func TestGraphsWithoutEdges(t *testing.T) {
	items := chains(t)
	channel := make(chan sources.Item, len(items))
	for _, it := range items {
		channel <- it
	}
	close(channel)
	graphs := sources.Graphs{Items: items, Layout: bonded}
	want, layout := collectedGraphs(t, graphs)
	if got, _ := collectedGraphs(t, sources.Seq{Chan: channel, Layout: bonded}); !reflect.DeepEqual(got, want) || len(got) != len(items) {
		t.Errorf("Seq makes other graphs than Graphs")
	}
	if _, derived := collectedGraphs(t, sources.Graphs{Items: items}); len(derived.EdgeCat) != 1 || derived.EdgeCat[0].Card != 2 || len(derived.EdgeAttr) != 1 {
		t.Errorf("derived from graphs of which the first has no edge: %+v", derived)
	}
	for name, back := range map[string]func(path string) (flow.Sink, flow.Source){
		"IPC": func(path string) (flow.Sink, flow.Source) { return sinks.IPC{Path: path}, sources.IPC{Path: path} },
		"Parquet": func(path string) (flow.Sink, flow.Source) {
			return sinkparquet.Sink{Path: path}, sourceparquet.Source{Path: path}
		},
	} {
		sink, src := back(filepath.Join(t.TempDir(), "graphs"))
		if err := flow.From(graphs).To(sink).Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got, _ := collectedGraphs(t, src); !reflect.DeepEqual(got, want) {
			t.Errorf("%s has other graphs", name)
		}
	}
	expect := operators.Expect{Layout: layout}
	for _, c := range []struct {
		name   string
		net    nn.Model
		recipe operators.Recipe
	}{
		{"tensors", &nn.CNN{Seed: 1, Dropout: -1}, operators.Recipe{expect, operators.Select{W: 3}, operators.Assemble{K: 2},
			operators.Normalize{Edges: true, Mask: true}}},
		{"words", nn.Best(), operators.Recipe{expect, operators.Count{Of: count.Standard(), DropGraph: true}}},
		{"counts", &nn.Logistic{Kernel: nn.Min}, operators.Recipe{expect, operators.Count{Of: append(count.Standard(), count.WL{Height: 2},
			count.Fields{K: []int{2, 4}}, count.Attributes{})}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := c.recipe.Onto(flow.From(graphs)).Via(operators.Batch{Size: 8}).To(sinks.Train{Net: c.net}).Run(context.Background()); err != nil {
				t.Fatal(err)
			}
			var said []sinks.Prediction
			err := c.recipe.Onto(flow.From(graphs)).To(sinks.Predict{Net: c.net, Each: func(p sinks.Prediction) error {
				p.Probs = slices.Clone(p.Probs)
				said = append(said, p)
				return nil
			}}).Run(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			p, err := sinks.NewPredictor(c.net, c.recipe)
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			for i, it := range items {
				if a, err := p.Predict(context.Background(), it.Graph); err != nil || !slices.Equal(a.Probs, said[i].Probs) {
					t.Errorf("graph %d: %+v, %v, in the stream %v", i, a, err, said[i].Probs)
				}
			}
		})
	}
	for i, it := range items {
		counters := append(count.Standard(), count.WL{Height: 2}, count.Fields{K: []int{2, 4}}, count.Attributes{})
		ids, counts, err := count.Of(count.Input{Graph: it.Graph}, counters...)
		if err != nil {
			t.Errorf("graph %d: %v", i, err)
			continue
		}
		wantIDs, wantCounts, err := count.Of(count.Input{Graph: want[i]}, counters...)
		if err != nil || !slices.Equal(ids, wantIDs) || !slices.Equal(counts, wantCounts) {
			t.Errorf("graph %d: counted by itself it has other words than in a record (%v)", i, err)
		}
	}
}
