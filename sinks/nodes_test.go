package sinks_test

import (
	"bytes"
	"context"
	"slices"
	"testing"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/internal/race"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

// communities is a ring of 2n nodes, of which each half uses words of its own;
// word 0 is everyone's, and every seventh node says nothing. The class of every
// third node is unknown.
func communities(n int32) sources.Graphs {
	g := &graph.Graph{Offsets: []int32{0}, SparseCard: 7, SparseOffsets: []int32{0}}
	var class []int32
	for v := range 2 * n {
		ends := []int32{(v + 1) % (2 * n), (v + 2*n - 1) % (2 * n)}
		slices.Sort(ends)
		g.Neighbors = append(g.Neighbors, ends...)
		g.Offsets = append(g.Offsets, int32(len(g.Neighbors)))
		if v%7 != 0 {
			g.NodeSparse = append(g.NodeSparse, 0, 1+v%3+3*(v/n))
		}
		g.SparseOffsets = append(g.SparseOffsets, int32(len(g.NodeSparse)))
		class = append(class, v/n)
		if v%3 == 0 {
			class[v] = -1
		}
	}
	return sources.Graphs{
		Items: []sources.Item{{Graph: g, NodeClass: class}},
		Layout: record.Layout{
			NodeSparse:  record.Channel{Name: "words", Card: 7},
			NodeClasses: []string{"left", "right"},
		},
	}
}

// Nodes are learned and predicted root by root, through chunks of any size, with
// the words of the members.
func TestNodes(t *testing.T) {
	const n = 60
	for _, model := range []func() nn.Model{
		func() nn.Model { return &nn.Pooled{Seed: 1} },
		func() nn.Model { return &nn.CNN{Seed: 1} },
	} {
		var first []float32
		for _, chunk := range race.Some([]int{7, 1, 1000}) {
			checked(t, func(o flow.Options) {
				net := model()
				fields := flow.From(communities(n)).
					Via(operators.Select{}).
					Via(operators.Chunk{Size: chunk}).
					Via(operators.Assemble{K: 5}).
					Via(operators.Normalize{Distances: 3})
				err := fields.Via(operators.PerRoot{Labelled: true}).
					Via(operators.Replay{Epochs: 30, Rows: 16}).
					To(sinks.Train{Net: net}).With(o).Run(context.Background())
				if err != nil {
					t.Fatal(err)
				}
				var probs []float32
				root, right := int32(0), 0
				err = fields.Via(operators.PerRoot{}).To(sinks.Predict{Net: net, Each: func(p sinks.Prediction) error {
					if p.Root != root {
						t.Errorf("root %d, want %d", p.Root, root)
					}
					if unknown := p.Root%3 == 0; unknown != (p.Target < 0) {
						t.Errorf("root %d: target %d", p.Root, p.Target)
					}
					if p.Class == int(p.Root/n) {
						right++
					}
					root++
					probs = append(probs, p.Probs...)
					return nil
				}}).With(o).Run(context.Background())
				if err != nil {
					t.Fatal(err)
				}
				if root != 2*n || right < 2*n-6 {
					t.Errorf("%T: %d of %d nodes are right", net, right, root)
				}
				if first == nil {
					first = probs
				} else if !slices.Equal(first, probs) {
					t.Errorf("%T: chunks of %d give other predictions", net, chunk)
				}
			})
		}
	}
}

// A model of nodes that is kept with its recipe answers for every node of a graph
// that has no classes, by the names of theirs.
func TestNodesKept(t *testing.T) {
	const n = 60
	src := communities(n)
	src.Layout.Classes = []string{"of graphs", "which PerRoot", "drops"}
	recipe := operators.Recipe{
		operators.Expect{Layout: src.Layout}, operators.Select{}, operators.Chunk{Size: 50},
		operators.Normalize{K: 5, Distances: 3}, operators.PerRoot{Labelled: true},
	}
	net := &nn.Pooled{Seed: 1}
	err := recipe.Onto(flow.From(src)).Via(operators.Replay{Epochs: 30, Rows: 16}).To(sinks.Train{Net: net}).Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if err := sinks.Write(&file, net, recipe); err != nil {
		t.Fatal(err)
	}
	p, err := sinks.Read(&file)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if got := p.Classes(); !slices.Equal(got, src.Layout.NodeClasses) {
		t.Errorf("classes %q, want %q", got, src.Layout.NodeClasses)
	}
	for want, g := range map[string]*graph.Graph{
		"sinks: predictor: there is no node_sparse, want indices below 7": {Offsets: []int32{0, 0}},
		"sinks: predictor: graph: node 0 has neighbour 9, want 0 to 0":    {Offsets: []int32{0, 1}, Neighbors: []int32{9}},
	} {
		if _, err := p.PredictAll(context.Background(), g); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	answers, err := p.PredictAll(context.Background(), src.Items[0].Graph)
	if err != nil {
		t.Fatal(err)
	}
	if len(answers) != 2*n {
		t.Fatalf("%d answers for %d nodes", len(answers), 2*n)
	}
	right := 0
	for v, a := range answers {
		if a.Root != int32(v) || a.Class != src.Layout.NodeClasses[a.Index] {
			t.Errorf("answer %d: %+v", v, a)
		}
		if a.Index == v/n {
			right++
		}
	}
	if right < 2*n-6 {
		t.Errorf("%d of %d nodes are right", right, 2*n)
	}
}
