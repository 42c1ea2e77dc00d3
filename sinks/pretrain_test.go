package sinks_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/labeling"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

// twoMolecules is two graphs with two discrete and one continuous channel of nodes
// and one of edges. The second has fewer nodes than there are fields.
func twoMolecules(t *testing.T) []sources.Item {
	t.Helper()
	make := func(n int, edges []graph.Edge) *graph.Graph {
		g, err := graph.New(n, false, edges)
		if err != nil {
			t.Fatal(err)
		}
		g.NodeCats, g.NodeAttrs, g.EdgeCats = 2, 1, 1
		for v := range n {
			g.NodeCat = append(g.NodeCat, int32(v%3), int32(v%2))
			g.NodeAttr = append(g.NodeAttr, float32(v)/8)
		}
		for u := range int32(n) {
			for _, v := range g.Adj(u) {
				g.EdgeCat = append(g.EdgeCat, (u+v)%2)
			}
		}
		return g
	}
	return []sources.Item{
		{Graph: make(5, []graph.Edge{{U: 0, V: 1}, {U: 1, V: 2}, {U: 2, V: 0}, {U: 2, V: 3}, {U: 3, V: 4}})},
		{Graph: make(2, []graph.Edge{{U: 0, V: 1}})},
	}
}

// pretrainFields is the fields of all nodes of the molecules.
func pretrainFields(t *testing.T) flow.Pipeline {
	return flow.From(sources.Graphs{Items: twoMolecules(t)}).
		Via(operators.Select{W: 5, By: labeling.Degree}).
		Via(operators.Assemble{K: 3}).
		Via(operators.Normalize{Edges: true})
}

// The units of a field are what the graph says of its members.
func TestUnits(t *testing.T) {
	checked(t, func(o flow.Options) {
		var c sinks.Collect
		defer c.Release()
		if err := pretrainFields(t).With(o).To(&c).Run(context.Background()); err != nil {
			t.Fatal(err)
		}
		const k = 3
		want := map[sinks.FieldPart][]float32{}
		at := 0
		for _, rec := range c.Records() {
			members, _, err := record.FixedValues[int32](rec, record.Members)
			if err != nil {
				t.Fatal(err)
			}
			for row := range slices.Chunk(members, 5*k) {
				g := twoMolecules(t)[at].Graph
				at++
				for m := range slices.Chunk(row, k) {
					if m[0] < 0 {
						continue
					}
					for _, u := range m {
						cell := make([]float32, 3+2+1)
						if u >= 0 {
							cell[g.NodeCat[2*u]] = 1
							cell[3+g.NodeCat[2*u+1]] = 1
							cell[5] = g.NodeAttr[u]
						}
						want[sinks.Nodes] = append(want[sinks.Nodes], cell...)
						for _, v := range m {
							adjacent, pair := float32(0), make([]float32, 2)
							if u >= 0 && v >= 0 && g.Entry(u, v) >= 0 {
								adjacent = 1
								pair[(u+v)%2] = 1
							}
							want[sinks.Adjacency] = append(want[sinks.Adjacency], adjacent)
							want[sinks.Pairs] = append(want[sinks.Pairs], pair...)
						}
					}
				}
			}
		}
		for u, width := range map[sinks.FieldPart]int{sinks.Adjacency: 9, sinks.Nodes: 18, sinks.Pairs: 18} {
			rows, w, err := u.Rows(c.Records()...)
			if err != nil {
				t.Fatal(err)
			}
			if w != width || !slices.Equal(rows, want[u]) {
				t.Errorf("units %d: %d of %d a row, want %d of %d, or they differ:\n%v\n%v", u, len(rows), w, len(want[u]), width, rows, want[u])
			}
		}
		if got := len(want[sinks.Adjacency]); got != (5+2)*9 {
			t.Errorf("%d units, want those of 7 fields", got)
		}
	})
}

// Batches have Batch fields whatever the records, zero fields are none of them,
// and no field is lost at the end.
func TestPretrain(t *testing.T) {
	var hashes []string
	for _, rows := range []int{1, 7, 64} {
		checked(t, func(o flow.Options) {
			net := &nn.RBM{Hidden: 8, Seed: 3}
			var sizes []int
			err := flow.From(sources.Families{Graphs: 20, Rows: 5}).
				Via(operators.Select{W: 60, By: labeling.Degree}). // more than some have
				Via(operators.Assemble{K: 4}).
				Via(operators.Normalize{Edges: true}).
				Via(operators.Batch{Size: rows}).
				With(o).
				To(sinks.Pretrain{Net: net, Batch: 16, OnStep: func(r nn.Result) error {
					sizes = append(sizes, r.Rows)
					return nil
				}}).
				Run(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			last := len(sizes) - 1
			for i, n := range sizes {
				if n != 16 && (i != last || n > 16 || n < 1) {
					t.Errorf("step %d has %d fields, want 16", i, n)
				}
			}
			if net.Seen() != 16*last+sizes[last] || net.Seen() >= 20*60 {
				t.Errorf("%d fields seen in %d steps", net.Seen(), len(sizes))
			}
			hashes = append(hashes, fmt.Sprint(net.Seen(), net.Hash()))
		})
	}
	if hashes[0] != hashes[1] || hashes[1] != hashes[2] {
		t.Errorf("what is learned depends on the size of records: %v", hashes)
	}
}

// An autoencoder of Gaussian units takes what is no probability.
func TestPretrainNodes(t *testing.T) {
	checked(t, func(o flow.Options) {
		net := &nn.Autoencoder{Units: nn.Gaussian, Hidden: 4}
		if err := pretrainFields(t).With(o).To(sinks.Pretrain{Net: net, Of: sinks.Nodes}).Run(context.Background()); err != nil {
			t.Fatal(err)
		}
		if w, _, _ := net.Weights(); w.Shape()[0] != 18 || net.Seen() != 7 {
			t.Errorf("weights %v after %d fields, want 18 inputs and 7", w.Shape(), net.Seen())
		}
	})
}

func TestPretrainErrors(t *testing.T) {
	stop := errors.New("enough")
	initialised := &nn.RBM{}
	if err := initialised.Init(4); err != nil {
		t.Fatal(err)
	}
	bare := flow.From(sources.Graphs{Items: twoMolecules(t)}).
		Via(operators.Select{W: 2, By: labeling.Degree}).Via(operators.Assemble{K: 3}).Via(operators.Normalize{})
	for _, test := range []struct {
		name string
		p    flow.Pipeline
		sink sinks.Pretrain
		want string
	}{
		{"no model", pretrainFields(t), sinks.Pretrain{}, "pretrain: the field Net is not set"},
		{"batch", pretrainFields(t), sinks.Pretrain{Net: &nn.RBM{}, Batch: -1}, "pretrain: Batch is -1"},
		{"units", pretrainFields(t), sinks.Pretrain{Net: &nn.RBM{}, Of: 3}, "pretrain: Of is 3"},
		{"no edges", bare, sinks.Pretrain{Net: &nn.RBM{}}, "pretrain: there are no edges"},
		{"size", pretrainFields(t), sinks.Pretrain{Net: initialised}, "for 4 visible units, the data have 9"},
		{"callback", pretrainFields(t), sinks.Pretrain{Net: &nn.RBM{}, OnStep: func(nn.Result) error { return stop }}, "pretrain: enough"},
		{"no probability", flow.From(sources.Graphs{Items: []sources.Item{{Graph: heavy(t)}}}).
			Via(operators.Select{W: 2, By: labeling.Degree}).Via(operators.Assemble{K: 2}).Via(operators.Normalize{}),
			sinks.Pretrain{Net: &nn.RBM{}, Of: sinks.Nodes}, "pretrain: graph 0: value 0 of x is 7, want 0 to 1"},
	} {
		checked(t, func(o flow.Options) {
			err := test.p.With(o).To(test.sink).Run(context.Background())
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s: %v, want %q", test.name, err, test.want)
			}
		})
	}
}

// heavy has an attribute that is no probability.
func heavy(t *testing.T) *graph.Graph {
	t.Helper()
	g, err := graph.New(2, false, []graph.Edge{{U: 0, V: 1}})
	if err != nil {
		t.Fatal(err)
	}
	g.NodeAttrs, g.NodeAttr = 1, []float32{7, 7}
	return g
}
