package operators_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/flowtest"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

// intervalsOf returns intervals of what op makes of the sample.
func intervalsOf(op flow.Operator) operators.Intervals {
	var got sinks.Collect
	defer got.Release()
	recs := flowtest.Sample(memory.DefaultAllocator)
	if err := flow.From(flow.Records{Records: recs}).Via(op).To(&got).Run(context.Background()); err != nil {
		panic(err)
	}
	s, err := operators.IntervalsOf(got.Records()...)
	if err != nil {
		panic(err)
	}
	return s
}

// numbersOf returns the columns of a source behind some operators by name, a row of each.
func numbersOf(t *testing.T, src flow.Source, ops ...flow.Operator) (rows []map[string]float32) {
	t.Helper()
	mem := flowtest.Mem(t)
	var got sinks.Collect
	defer got.Release()
	if err := operators.Recipe(ops).Onto(flow.From(src)).With(flow.Options{Allocator: mem, Workers: 2}).To(&got).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, rec := range got.Records() {
		names, err := record.ColumnNames(rec.Schema())
		if err != nil {
			t.Fatal(err)
		}
		x, d, err := record.FixedValues[float32](rec, record.RowColumns)
		if err != nil {
			t.Fatal(err)
		}
		for i := range int(rec.NumRows()) {
			row := map[string]float32{}
			for c, name := range names {
				row[name] = x[i*d+c]
			}
			if len(row) != d {
				t.Fatalf("two of the columns %q have one name", names)
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// payments returns a random graph with missing numbers of nodes and edges.
func payments(t *testing.T, r *rand.Rand, directed bool) (*graph.Graph, record.Layout) {
	t.Helper()
	n := 3 + r.IntN(12)
	var edges []graph.Edge
	for range r.IntN(3 * n) {
		if u, v := r.Int32N(int32(n)), r.Int32N(int32(n)); u != v {
			edges = append(edges, graph.Edge{U: u, V: v})
		}
	}
	g, err := graph.New(n, directed, edges)
	if err != nil {
		t.Fatal(err)
	}
	some := func() float32 {
		if r.IntN(4) == 0 {
			return float32(math.NaN())
		}
		return float32(math.Exp(5 * r.NormFloat64()))
	}
	g.NodeAttrs, g.NodeCats, g.EdgeAttrs, g.EdgeCats = 1, 1, 1, 1
	for range n {
		g.NodeAttr, g.NodeCat = append(g.NodeAttr, some()), append(g.NodeCat, r.Int32N(3))
	}
	g.EdgeAttr, g.EdgeCat = make([]float32, len(g.Neighbors)), make([]int32, len(g.Neighbors))
	for u := range int32(n) {
		for i, v := range g.Adj(u) {
			at := int(g.Offsets[u]) + i
			if back := g.Entry(v, u); !directed && v < u {
				g.EdgeAttr[at], g.EdgeCat[at] = g.EdgeAttr[back], g.EdgeCat[back]
			} else {
				g.EdgeAttr[at], g.EdgeCat[at] = some(), r.Int32N(2)
			}
		}
	}
	return g, record.Layout{
		Directed: directed, NodeAttr: []record.Channel{{Name: "age"}}, NodeCat: []record.Channel{record.WordsChannel("colour", []string{"blue", "red"})},
		EdgeAttr: []record.Channel{{Name: "amount"}}, EdgeCat: []record.Channel{record.WordsChannel("kind", []string{"card"})},
	}
}

// wantMoments are those of a list by their definitions.
func wantMoments(list []float64) (sum, mean, deviation, least, largest, missing float64) {
	n := 0.
	least, largest = math.Inf(1), math.Inf(-1)
	for _, x := range list {
		if x == x {
			n, sum = n+1, sum+x
			least, largest = min(least, x), max(largest, x)
		}
	}
	if mean = sum / n; n == 0 {
		least, largest = math.NaN(), math.NaN()
	}
	for _, x := range list {
		if x == x {
			deviation += (x - mean) * (x - mean) / n
		}
	}
	if n == 0 {
		deviation = math.NaN()
	}
	return sum, mean, math.Sqrt(deviation), least, largest, 1 - n/float64(len(list))
}

// The numbers around a node, and of a graph, are those of their definitions, and do not depend on the numbering of the nodes, to the bit.
func TestDescribe(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	for trial := range 60 {
		g, l := payments(t, r, trial%2 == 1)
		src := sources.Graphs{Items: []sources.Item{{Graph: g}}, Layout: l}
		rooted := []flow.Operator{operators.Select{}, operators.Chunk{Size: 1}, operators.Describe{}}
		nodes, whole := numbersOf(t, src, rooted...), numbersOf(t, src, operators.Describe{})[0]
		if len(nodes) != g.N() {
			t.Fatalf("%d rows of %d nodes", len(nodes), g.N())
		}
		is := func(row map[string]float32, name string, want float64) {
			t.Helper()
			got, ok := row[name]
			if x := float64(got); !ok || math.Abs(x-want) > 1e-6*math.Abs(want)+1e-9 || (x != x) != (want != want) {
				t.Errorf("graph %d: %s is %v, %t, want %v", trial, name, got, ok, want)
			}
		}
		moments := func(row map[string]float32, name string, list []float64) {
			t.Helper()
			_, mean, deviation, least, largest, missing := wantMoments(list)
			is(row, name+": mean", mean)
			is(row, name+": least", least)
			is(row, name+": largest", largest)
			if !strings.HasSuffix(name, "hop 2") {
				is(row, name+": missing", missing)
			}
			if !(deviation < 1e-6*math.Abs(mean)) { // or it is rounding
				is(row, name+": deviation", deviation)
			}
		}
		order := make([]int32, 0, g.N()) // the root of each row
		order = append(order, rootsOf(t, src, rooted[:2]...)...)
		hop := func(v int32, of func(u int32) float64) (list []float64) {
			for _, u := range g.Adj(v) {
				list = append(list, of(u))
			}
			return list
		}
		for i, v := range order {
			row := nodes[i]
			age := func(u int32) float64 { return float64(g.NodeAttr[u]) }
			mean := func(u int32) float64 { _, m, _, _, _, _ := wantMoments(hop(u, age)); return m }
			is(row, "age", age(v))
			is(row, "degree", float64(g.Degree(v)))
			moments(row, "age, hop 1", hop(v, age))
			_, m, d, _, _, _ := wantMoments(hop(v, mean))
			is(row, "age, hop 2: mean", m)
			if !(d < 1e-6*math.Abs(m)) {
				is(row, "age, hop 2: deviation", d)
			}
			_, _, _, least, _, _ := wantMoments(hop(v, func(u int32) float64 { _, _, _, l, _, _ := wantMoments(hop(u, age)); return l }))
			is(row, "age, hop 2: least", least)
			_, red, _, _, _, _ := wantMoments(hop(v, func(u int32) float64 {
				if g.NodeCat[u] == 1 {
					return 1
				}
				return 0
			}))
			is(row, "colour=red, hop 1: share", red)
			var amounts, cards []float64
			for e := g.Offsets[v]; e < g.Offsets[v+1]; e++ {
				if amounts = append(amounts, float64(g.EdgeAttr[e])); g.EdgeCat[e] == 0 {
					cards = append(cards, float64(g.EdgeAttr[e]))
				}
			}
			moments(row, "amount, edges", amounts)
			sum, _, _, _, largest, _ := wantMoments(cards)
			is(row, "amount, kind=card edges: sum", sum)
			is(row, "amount, kind=card edges: largest", largest)
			is(row, "kind=card edges: number", float64(len(cards)))
		}
		var ages []float64
		for _, x := range g.NodeAttr {
			ages = append(ages, float64(x))
		}
		moments(whole, "age", ages)
		is(whole, "nodes", float64(g.N()))
		is(whole, "edges", float64(g.M()))

		perm := make([]int32, g.N())
		for i, v := range r.Perm(g.N()) {
			perm[i] = int32(v)
		}
		moved := sources.Graphs{Items: []sources.Item{{Graph: g.Renumber(perm)}}, Layout: l}
		same := func(a, b map[string]float32) {
			t.Helper()
			for name, x := range a {
				if math.Float32bits(x) != math.Float32bits(b[name]) {
					t.Errorf("graph %d: %s is %v, and %v if renumbered", trial, name, x, b[name])
				}
			}
		}
		same(whole, numbersOf(t, moved, operators.Describe{})[0])
		rows := numbersOf(t, moved, rooted...)
		for i, v := range rootsOf(t, moved, rooted[:2]...) {
			at := slices.IndexFunc(order, func(u int32) bool { return perm[u] == v })
			same(nodes[at], rows[i])
		}
	}
}

// rootsOf returns the root of each row.
func rootsOf(t *testing.T, src flow.Source, ops ...flow.Operator) (roots []int32) {
	t.Helper()
	var got sinks.Collect
	defer got.Release()
	if err := operators.Recipe(ops).Onto(flow.From(src)).To(&got).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, rec := range got.Records() {
		lists, err := record.ListsOf[int32](rec, record.Roots)
		if err != nil {
			t.Fatal(err)
		}
		for i := range lists.Len() {
			roots = append(roots, lists.Row(i)...)
		}
	}
	return roots
}

// A class is no number of a row, however it is placed.
func TestDescribeNoClass(t *testing.T) {
	g, l := payments(t, rand.New(rand.NewPCG(1, 1)), false)
	l.NodeClasses = []string{"a", "b"}
	var rows [2]string
	for i := range rows {
		class := make([]int32, g.N())
		for v := range class {
			class[v] = int32(v*(i+1)) % 2
		}
		rows[i] = fmt.Sprint(numbersOf(t, sources.Graphs{Items: []sources.Item{{Graph: g, NodeClass: class}}, Layout: l}, operators.Select{}, operators.Chunk{Size: 1}, operators.Describe{}))
	}
	if rows[0] != rows[1] {
		t.Errorf("other classes make other numbers:\n%s\n%s", rows[0], rows[1])
	}
}
