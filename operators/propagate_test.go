package operators_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/internal/leak"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

// worded is some graphs of sets out of 5 and of numbers, with isolated nodes, and
// one without any.
func worded(t *testing.T, directed bool, attrs int) (items []sources.Item, layout record.Layout) {
	t.Helper()
	r := rand.New(rand.NewPCG(5, 6))
	for _, n := range []int{0, 1, 3, 12, 40} {
		var edges []graph.Edge
		for u := range int32(n) {
			for v := range u {
				if r.IntN(8) == 0 {
					edges = append(edges, graph.Edge{U: u, V: v})
				}
			}
		}
		g, err := graph.New(n, directed, edges)
		if err != nil {
			t.Fatal(err)
		}
		g.SparseCard, g.SparseOffsets, g.NodeAttrs = 5, []int32{0}, attrs
		for range n {
			for i := range int32(5) {
				if r.IntN(3) == 0 {
					g.NodeSparse = append(g.NodeSparse, i)
				}
			}
			g.SparseOffsets = append(g.SparseOffsets, int32(len(g.NodeSparse)))
			for range attrs {
				g.NodeAttr = append(g.NodeAttr, r.Float32()-0.3)
			}
		}
		items = append(items, sources.Item{Graph: g})
	}
	layout = record.Layout{Directed: directed, NodeSparse: record.Channel{Name: "word", Card: 5}}
	for _, name := range []string{"x", "y"}[:attrs] {
		layout.NodeAttr = append(layout.NodeAttr, record.Channel{Name: name})
	}
	return items, layout
}

// walked is what walks of up to some steps from each node end at, column by
// column: step by step with the matrix written out.
func walked(g *graph.Graph, x [][]float64, share float64, rounds int, symmetric bool) [][]float64 {
	z := x
	for range rounds {
		next := make([][]float64, g.N())
		for v := range next {
			adj := g.Adj(int32(v))
			for c := range x[v] {
				sum := 0.
				for _, u := range adj {
					weight := 1 / float64(len(adj))
					if symmetric {
						weight = 1 / math.Sqrt(float64(len(adj)*g.Degree(u)))
					}
					sum += weight * z[u][c]
				}
				y := (1-share)*x[v][c] + share*sum
				if len(adj) == 0 {
					y = x[v][c]
				}
				next[v] = append(next[v], y)
			}
		}
		z = next
	}
	return z
}

func TestPropagate(t *testing.T) {
	for _, c := range []struct {
		op       operators.Propagate
		directed bool
		attrs    int
		names    string
	}{
		{operators.Propagate{}, false, 2, "x y"},
		{operators.Propagate{Unit: true, Symmetric: true}, false, 1, "x"},
		{operators.Propagate{}, true, 2, "x y"},
		{operators.Propagate{Sparse: true}, false, 2, "word 0,word 1,word 2,word 3,word 4,x,y"},
		{operators.Propagate{Sparse: true, Unit: true}, true, 0, "word 0,word 1,word 2,word 3,word 4"},
	} {
		t.Run(c.names, func(t *testing.T) {
			defer leak.VerifyNone(t)
			items, layout := worded(t, c.directed, c.attrs)
			mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
			defer mem.AssertSize(t, 0)
			var out sinks.Collect
			defer out.Release()
			err := flow.From(sources.Graphs{Items: items, Layout: layout, Rows: 2}).Via(c.op).
				With(flow.Options{Allocator: mem, Workers: 2}).To(&out).Run(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			i := 0
			for _, rec := range out.Records() {
				gs, err := record.GraphsOf(rec)
				if err != nil {
					t.Fatal(err)
				}
				var names []string
				for _, ch := range gs.Layout.NodeAttr {
					names = append(names, ch.Name)
				}
				if !slices.Equal(names, strings.FieldsFunc(c.names, func(r rune) bool { return r == ',' || r == ' ' && !c.op.Sparse })) {
					t.Fatalf("the channels are %q", names)
				}
				if (gs.Layout.NodeSparse.Card == 0) != c.op.Sparse {
					t.Errorf("the sparse attribute is %v", gs.Layout.NodeSparse)
				}
				for row := range gs.Len() {
					var g graph.Graph
					gs.At(row, &g)
					near(t, &g, wanted(items[i].Graph, c.op, 0.9, 29))
					i++
				}
			}
			if i != len(items) {
				t.Errorf("%d graphs, want %d", i, len(items))
			}
		})
	}
}

// wanted is what op makes of g.
func wanted(g *graph.Graph, op operators.Propagate, share float64, rounds int) [][]float64 {
	x := make([][]float64, g.N())
	for v := range x {
		if op.Sparse {
			x[v] = make([]float64, g.SparseCard)
			for _, i := range g.Sparse(int32(v)) {
				x[v][i] = 1 / math.Sqrt(float64(len(g.Sparse(int32(v)))))
			}
		}
		for c := range g.NodeAttrs {
			x[v] = append(x[v], float64(g.NodeAttr[v*g.NodeAttrs+c]))
		}
	}
	z := walked(g, x, share, rounds, op.Symmetric)
	for v := range z {
		length := 0.
		for _, y := range z[v] {
			length += y * y
		}
		for c := range z[v] {
			if op.Unit && length > 0 {
				z[v][c] /= math.Sqrt(length)
			}
		}
	}
	return z
}

func near(t *testing.T, g *graph.Graph, want [][]float64) {
	t.Helper()
	for v, row := range want {
		for c, y := range row {
			if got := g.NodeAttr[v*g.NodeAttrs+c]; math.Abs(float64(got)-y) > 1e-5 {
				t.Errorf("%d nodes: %v in channel %d of node %d, want %v", g.N(), got, c, v, y)
			}
		}
	}
}

// A graph that cannot be propagated is refused by its number, and the others go on.
func TestPropagateRefuses(t *testing.T) {
	for _, c := range []struct {
		spoil func(g *graph.Graph)
		want  string
	}{
		{func(g *graph.Graph) { g.NodeAttr[7] = float32(math.NaN()) }, "attribute 1 of node 3 is NaN, want a finite number"},
		{func(g *graph.Graph) { g.NodeAttr[0] = float32(math.Inf(1)) }, "attribute 0 of node 0 is +Inf, want a finite number"},
		{func(g *graph.Graph) {
			for v := range g.NodeAttr {
				g.NodeAttr[v] = math.MaxFloat32
			}
		}, "beyond float32"},
	} {
		items, layout := worded(t, false, 2)
		c.spoil(items[3].Graph)
		var letters []flow.Letter
		var out sinks.Collect
		err := flow.From(sources.Graphs{Items: items, Layout: layout}).Via(operators.Propagate{Symmetric: true}).
			With(flow.Options{Refused: flow.Keep, DeadLetters: func(l flow.Letter) error { letters = append(letters, l); return nil }}).
			To(&out).Run(context.Background())
		if err != nil || len(letters) != 1 {
			t.Fatalf("%v, %d refused", err, len(letters))
		}
		if l := letters[0]; l.Graph != 3 || l.Stage != "propagate" || !strings.Contains(l.Err.Error(), c.want) {
			t.Errorf("%s: graph %d: %v, want %s", l.Stage, l.Graph, l.Err, c.want)
		}
		out.Release()
	}
}

func TestPropagateOpen(t *testing.T) {
	_, words := worded(t, false, 0)
	_, arcs := worded(t, true, 1)
	for _, c := range []struct {
		op     operators.Propagate
		layout record.Layout
		want   string
	}{
		{operators.Propagate{}, words, `there is no column "node_attr": put Channel before Propagate, or set Sparse where there is "node_sparse"`},
		{operators.Propagate{Sparse: true}, record.Layout{NodeAttr: arcs.NodeAttr}, `Sparse is set, and there is no column "node_sparse"`},
		{operators.Propagate{Symmetric: true}, arcs, "Symmetric is set, and the graph is directed"},
	} {
		if _, err := c.op.Open(c.layout.Schema()); err == nil || err.Error() != c.want {
			t.Errorf("%v: %v, want %s", c.op, err, c.want)
		}
	}
}

// A context that ends in the middle of a graph ends the run with its error.
func TestPropagateEnds(t *testing.T) {
	defer leak.VerifyNone(t)
	items, layout := worded(t, false, 2)
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(why)
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	err := flow.From(sources.Graphs{Items: items, Layout: layout}).Via(operators.Propagate{}).
		With(flow.Options{Allocator: mem}).Run(ctx)
	if !errors.Is(err, why) {
		t.Errorf("%v, want %v", err, why)
	}
}

// Rows far below what 1 over a float32 can hold come to unit length all the same.
func TestPropagateSmallest(t *testing.T) {
	g, err := graph.New(2, false, []graph.Edge{{U: 0, V: 1}})
	if err != nil {
		t.Fatal(err)
	}
	tiny := math.Float32frombits(1 << 10) // 1.4e-42
	g.NodeAttrs, g.NodeAttr = 1, []float32{tiny, tiny}
	var out sinks.Collect
	defer out.Release()
	items := []sources.Item{{Graph: g}}
	layout := record.Layout{NodeAttr: []record.Channel{{Name: "x"}}}
	if err := flow.From(sources.Graphs{Items: items, Layout: layout}).Via(operators.Propagate{Unit: true}).To(&out).Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	gs, err := record.GraphsOf(out.Records()[0])
	if err != nil {
		t.Fatal(err)
	}
	var got graph.Graph
	gs.At(0, &got)
	near(t, &got, [][]float64{{1}, {1}})
}
