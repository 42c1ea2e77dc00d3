package operators_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/flowtest"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/count"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

// TestBefore cuts tables of edges at a time: fields and words are those of the tables without the rows from that
// time on and without those of unknown time, also where times have an offset.
func TestBefore(t *testing.T) {
	for _, begin := range []int{0, 1_700_000_000} {
		for seed := range uint64(4) {
			rng := rand.New(rand.NewPCG(seed, 10))
			var nodes strings.Builder
			nodes.WriteString("id,size\n")
			for v := range 40 {
				fmt.Fprintf(&nodes, "%d,%d.5\n", v, rng.IntN(9))
			}
			cut := begin + rng.IntN(50)
			whole := "source,target,when,kind\n0,1," + fmt.Sprint(begin) + ",a\n2,3," + fmt.Sprint(begin) + ",b\n"
			short := whole
			if cut <= begin {
				short = "source,target,when,kind\n"
			}
			seen := map[[2]int]bool{{0, 1}: true, {2, 3}: true}
			for range 120 {
				u, v := rng.IntN(40), rng.IntN(40)
				if pair := [2]int{min(u, v), max(u, v)}; u == v || seen[pair] {
					continue
				} else {
					seen[pair] = true
				}
				when := begin + rng.IntN(50)
				text := fmt.Sprintf("%d,%d,%d,%s\n", u, v, when, []string{"a", "b"}[rng.IntN(2)])
				if rng.IntN(10) == 0 {
					text = fmt.Sprintf("%d,%d,,a\n", u, v)
				} else if when < cut {
					short += text
				}
				whole += text
			}
			if short == "source,target,when,kind\n" {
				continue // a table of no rows has no types
			}
			tables := func(edges string) flow.Source {
				files := fstest.MapFS{"edges.csv": {Data: []byte(edges)}, "nodes.csv": {Data: []byte(nodes.String())}}
				return sources.Tables{
					Edges: sources.EdgeTable{Table: sources.CSV{FS: files, Path: "edges.csv"}, Time: "when", Type: "kind", Offsets: map[string]float64{"when": float64(begin)}},
					Nodes: sources.NodeTable{Table: sources.CSV{FS: files, Path: "nodes.csv"}},
				}
			}
			for name, ops := range map[string][]flow.Operator{
				"graph":  nil,
				"fields": {operators.Select{}, operators.Chunk{Size: 16}, operators.Assemble{K: 6}, operators.Normalize{Edges: true}},
				"words":  {operators.Count{Of: []count.Counter{count.WL{Height: 2}, count.Size{}}, DropGraph: true}},
			} {
				want := rowsBehind(t, 1, tables(short), ops...)
				got := rowsBehind(t, 2, tables(whole), append([]flow.Operator{operators.Before{Time: float64(cut)}}, ops...)...)
				if !slices.Equal(got, want) {
					t.Fatalf("begin %d, seed %d, %s:\n%.1500s\nwant\n%.1500s", begin, seed, name, got, want)
				}
			}
		}
	}
}

func TestBeforeConformance(t *testing.T) {
	mem := memory.NewGoAllocator()
	b := record.NewBuilder(mem, record.Layout{EdgeCat: []record.Channel{{Name: "type", Card: 3}}, EdgeAttr: []record.Channel{{Name: "weight"}, {Name: "time", Offset: 100}}})
	c := flowtest.Case{Op: operators.Before{Time: 102}}
	for i := range 9 {
		g := &graph.Graph{EdgeCats: 1, EdgeAttrs: 2}
		if i > 0 {
			path, err := graph.New(i, false, []graph.Edge{{U: 0, V: int32(i - 1)}}[:min(1, i-1)])
			if err != nil {
				t.Fatal(err)
			}
			g.Offsets, g.Neighbors = path.Offsets, path.Neighbors
		}
		for range g.Neighbors {
			g.EdgeCat, g.EdgeAttr = append(g.EdgeCat, 2), append(g.EdgeAttr, 1, []float32{1, 2, float32(math.NaN())}[i%3])
		}
		if err := b.Append(g, record.Row{ID: int64(i), Pos: int64(i)}); err != nil {
			t.Fatal(err)
		}
		if i%4 == 3 {
			c.Records = append(c.Records, b.Record())
		}
	}
	flowtest.Run(t, c)
	for _, rec := range c.Records {
		rec.Release()
	}
	b.Release()
	if _, err := (operators.Before{Time: 1}).Open(record.Layout{}.Schema()); err == nil {
		t.Error("graphs without times are no error")
	}
}

// rowsBehind runs operators behind a source, and returns the rows that come out.
func rowsBehind(t *testing.T, workers int, src flow.Source, ops ...flow.Operator) []string {
	t.Helper()
	var all sinks.Collect
	defer all.Release()
	p := flow.From(src).With(flow.Options{Workers: workers, Allocator: flowtest.Mem(t)})
	for _, op := range ops {
		p = p.Via(op)
	}
	if err := p.To(&all).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	return flowtest.Rows(all.Records()...)
}
