package operators_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/labeling"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

// gappy is rings of nodes with two numbers and edges with two, of which some of the first are missing.
func gappy(seed uint64) sources.Graphs {
	nan := float32(math.NaN())
	rng := rand.New(rand.NewPCG(seed, 3))
	s := sources.Graphs{Layout: record.Layout{
		NodeAttr: []record.Channel{{Name: "x"}, {Name: "y"}}, EdgeAttr: []record.Channel{{Name: "a"}, {Name: "b"}},
	}}
	for id := range int64(4) {
		n := int32(5 + id)
		var edges []graph.Edge
		for v := range n {
			edges = append(edges, graph.Edge{U: v, V: (v + 1) % n})
		}
		g, err := graph.New(int(n), false, edges)
		if err != nil {
			panic(err)
		}
		g.NodeAttrs, g.EdgeAttrs, g.EdgeAttr = 2, 2, make([]float32, 2*len(g.Neighbors))
		gap := func() float32 {
			if x := rng.Float32() * 100; rng.IntN(3) > 0 {
				return x
			}
			return nan
		}
		for v := range n {
			g.NodeAttr = append(g.NodeAttr, gap(), rng.Float32())
			a, b := gap(), rng.Float32()
			for _, e := range []int{g.Entry(v, (v+1)%n), g.Entry((v+1)%n, v)} {
				g.EdgeAttr[2*e], g.EdgeAttr[2*e+1] = a, b
			}
		}
		s.Items = append(s.Items, sources.Item{ID: id, Graph: g})
	}
	return s
}

func collected(t *testing.T, p flow.Pipeline) []arrow.Record {
	t.Helper()
	var got sinks.Collect
	t.Cleanup(got.Release)
	if err := p.To(&got).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	return got.Records()
}

// TestStandardizeMissing compares a learned Standardize with sums over the cells that are present, cell by cell.
func TestStandardizeMissing(t *testing.T) {
	const w, k = 4, 3
	fields := collected(t, flow.From(gappy(1)).Via(operators.Select{W: w}).Via(operators.Normalize{K: k, Edges: true}))
	s, err := operators.StandardizeOf(fields...)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(s.Missing, []int{0}) || !slices.Equal(s.EdgeMissing, []int{0}) {
		t.Fatalf("missing are %v of nodes and %v of edges, want channel 0", s.Missing, s.EdgeMissing)
	}
	var n, sum, squares [2]float64
	each := func(do func(j int, x float32)) {
		for _, rec := range fields {
			x, _, _ := record.FixedValues[float32](rec, record.Nodes)
			members, _, _ := record.FixedValues[int32](rec, record.Members)
			for i, x := range x {
				if members[i/2] >= 0 && x == x {
					do(i%2, x)
				}
			}
		}
	}
	each(func(j int, x float32) { n[j]++; sum[j] += float64(x) })
	each(func(j int, x float32) { squares[j] += (float64(x) - sum[j]/n[j]) * (float64(x) - sum[j]/n[j]) })
	for j := range 2 {
		if mean, std := sum[j]/n[j], math.Sqrt(squares[j]/n[j]); math.Abs(float64(s.Mean[j])-mean) > 1e-4*mean || math.Abs(float64(s.Std[j])-std) > 1e-4*std {
			t.Errorf("channel %d: %v and %v, want %v and %v", j, s.Mean[j], s.Std[j], mean, std)
		}
	}
	for _, of := range []operators.Standardize{s, {Mean: s.Mean, Std: s.Std}} { // of the second no number was missing in training
		scaled := collected(t, flow.From(flow.Records{Records: fields}).Via(of))
		for r, rec := range scaled {
			for _, c := range []struct {
				name    string
				missing []int
			}{{record.Nodes, of.Missing}, {record.Edges, of.EdgeMissing}} {
				var shape []int
				var channels []record.Channel
				if err := record.Meta(rec.Schema(), c.name, record.MetaShape, &shape); err != nil {
					t.Fatal(err)
				}
				if err := record.Meta(rec.Schema(), c.name, record.MetaChannels, &channels); err != nil {
					t.Fatal(err)
				}
				wide := 2 + len(c.missing)
				if shape[len(shape)-1] != wide || len(channels) != wide {
					t.Fatalf("%s has the shape %v and the channels %v, want %d", c.name, shape, channels, wide)
				}
				in, _, _ := record.FixedValues[float32](fields[r], c.name)
				out, _, _ := record.FixedValues[float32](rec, c.name)
				members, _, _ := record.FixedValues[int32](rec, record.Members)
				for cell := range len(in) / 2 {
					for j := range wide {
						x, want := float32(0), float32(0)
						if j < 2 {
							x = in[2*cell+j]
						}
						switch {
						case j == 2 && in[2*cell] != in[2*cell]:
							want = 1
						case j == 2 || x != x || c.name == record.Nodes && members[cell] < 0:
						case c.name == record.Nodes:
							want = (x - s.Mean[j]) / s.Std[j]
						default:
							want = x
						}
						if got := out[wide*cell+j]; got != want {
							t.Fatalf("%s: cell %d has %v in channel %d, want %v", c.name, cell, got, j, want)
						}
					}
				}
			}
		}
	}
	for _, bad := range []operators.Standardize{
		{Mean: s.Mean, Std: s.Std, Missing: []int{2}}, {Mean: s.Mean, Std: s.Std, Missing: []int{1, 0}}, {Mean: s.Mean, Std: s.Std, EdgeMissing: []int{-1}}, {Mean: s.Mean[:1], Std: s.Std},
	} {
		if _, err := bad.Open(fields[0].Schema()); err == nil {
			t.Errorf("%+v is not refused", bad)
		}
	}
	// In front of Normalize the fields are the same.
	before := collected(t, flow.From(gappy(1)).Via(operators.Standardize{Mean: s.Mean, Std: s.Std, Missing: s.Missing}).Via(operators.Roots{Nodes: []int32{0, 3}}).Via(operators.Normalize{K: k, IgnoreAttributes: true}))
	after := collected(t, flow.From(gappy(1)).Via(operators.Roots{Nodes: []int32{0, 3}}).Via(operators.Normalize{K: k, IgnoreAttributes: true}).Via(operators.Standardize{Mean: s.Mean, Std: s.Std, Missing: s.Missing}))
	for r, rec := range before {
		x, _, _ := record.FixedValues[float32](rec, record.Nodes)
		y, _, _ := record.FixedValues[float32](after[r], record.Nodes)
		if !slices.Equal(x, y) {
			t.Errorf("record %d: %v in front of Normalize, %v behind", r, x, y)
		}
	}
}

// TestMissingRenumber: fields of graphs with missing numbers do not depend on how nodes are numbered, to the last bit, for
// any labeling that reads attributes, with a bound and with the cache of fields.
func TestMissingRenumber(t *testing.T) {
	bits := func(items []sources.Item, layout record.Layout, by labeling.Labeling, bound int) (all []uint32) {
		s := sources.Graphs{Items: items, Layout: layout}
		p := flow.From(s).Via(operators.Select{W: 5, By: by}).Via(operators.Assemble{K: 4, Bound: bound}).Via(operators.Normalize{By: labeling.WL, Edges: true})
		for _, rec := range collected(t, p) {
			for _, name := range []string{record.Nodes, record.Edges} {
				x, _, err := record.FixedValues[float32](rec, name)
				if err != nil {
					t.Fatal(err)
				}
				for _, x := range x {
					all = append(all, math.Float32bits(x))
				}
			}
		}
		return all
	}
	for seed := range uint64(8) {
		s := gappy(seed)
		for _, bound := range []int{0, 6} {
			for _, by := range []labeling.Labeling{labeling.Attribute{}, labeling.WL, labeling.Betweenness} {
				want := bits(s.Items, s.Layout, by, bound)
				for again := range 3 {
					rng := rand.New(rand.NewPCG(seed, uint64(again)))
					var other []sources.Item
					for _, it := range s.Items {
						perm := make([]int32, it.Graph.N())
						for i, p := range rng.Perm(len(perm)) {
							perm[i] = int32(p)
						}
						it.Graph = it.Graph.Renumber(perm)
						other = append(other, it)
					}
					if got := bits(other, s.Layout, by, bound); !slices.Equal(got, want) {
						t.Fatalf("seed %d, %v, bound %d: other fields after renumbering", seed, by, bound)
					}
				}
			}
		}
	}
}
