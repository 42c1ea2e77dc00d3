package fieldjob

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/operators/field"
)

// hubs is two joined stars, whose centres have far more neighbours than a field
// has nodes, with types of edges.
func hubs(t *testing.T, directed bool) *graph.Graph {
	edges := []graph.Edge{{U: 0, V: 1}}
	for v := range int32(100) {
		edges = append(edges, graph.Edge{U: v % 2, V: v + 2})
	}
	g, err := graph.New(102, directed, edges)
	if err != nil {
		t.Fatal(err)
	}
	g.EdgeCats = 1
	for u := range int32(g.N()) {
		for _, v := range g.Adj(u) {
			g.EdgeCat = append(g.EdgeCat, (u+v)%3)
		}
	}
	return g
}

// A chunk holds what packages field and graph say, whatever the workers.
func TestRun(t *testing.T) {
	torus, _, err := Generate("torus", 300, 1)
	if err != nil {
		t.Fatal(err)
	}
	const k = 6
	for _, workers := range []int{1, 3} {
		jobs := []*Job{{ID: 4, Graph: hubs(t, false)}, {ID: 5, Graph: torus}, {ID: 6, Graph: hubs(t, true)}}
		for _, j := range jobs {
			for v := range int32(j.Graph.N()) {
				j.Roots = append(j.Roots, v)
			}
		}
		var seen [7][]int32
		r := &Runner{K: k, Workers: workers, Emit: func(c *Chunk) error {
			g := c.Job.Graph
			seen[c.Job.ID] = append(seen[c.Job.ID], c.Roots...)
			for i, root := range c.Roots {
				var walk field.Assembler
				norm, ix := field.Normalizer{K: k}, field.NewIndex(g, field.Both)
				members := make([]int32, k)
				hood, dist := walk.Assemble(ix, root, k)
				if err := norm.Normalize(ix, hood, dist, nil, members); err != nil {
					return err
				}
				if got := c.Members[i*k : (i+1)*k]; !slices.Equal(got, members) {
					t.Errorf("root %d: members %v, want %v", root, got, members)
				}
				for a, u := range members {
					d := int32(-1)
					if at := slices.Index(hood, u); at >= 0 {
						d = int32(dist[at])
					}
					if got := c.Dist[i*k+a]; got != d {
						t.Errorf("root %d: member %d at distance %d, want %d", root, u, got, d)
					}
					for b, v := range members {
						want := int32(0)
						if u >= 0 && v >= 0 && g.Entry(u, v) >= 0 {
							want = 1
							if g.EdgeCats > 0 {
								want = 1 + (u+v)%3
							}
						}
						if got := c.Edges[(i*k+a)*k+b]; got != want {
							t.Errorf("root %d: edge %d %d is %d, want %d", root, u, v, got, want)
						}
					}
				}
			}
			return nil
		}}
		if err := r.Run(context.Background(), jobs); err != nil {
			t.Fatal(err)
		}
		for _, j := range jobs {
			if !slices.Equal(seen[j.ID], j.Roots) {
				t.Errorf("%d workers: graph %d has roots out of order", workers, j.ID)
			}
		}
		if r.Stats.Fields != 102+300+102 {
			t.Errorf("%d fields", r.Stats.Fields)
		}
	}
}

// The first error ends the run.
func TestRunError(t *testing.T) {
	g, _, err := Generate("preferential", 2000, 1)
	if err != nil {
		t.Fatal(err)
	}
	j := &Job{Graph: g}
	for v := range int32(2000) {
		j.Roots = append(j.Roots, v)
	}
	full := errors.New("full")
	r := &Runner{K: 5, Workers: 2, Emit: func(*Chunk) error { return full }}
	if err := r.Run(context.Background(), []*Job{j}); err != full {
		t.Errorf("%v, want %v", err, full)
	}
}
