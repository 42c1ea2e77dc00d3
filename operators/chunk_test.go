package operators_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/internal/leak"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/field"
	"github.com/sanflow/sanflow/operators/labeling"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/generate"
)

// large returns a graph of the benchmark data, or skips.
func large(tb testing.TB, name string) *graph.Graph {
	tb.Helper()
	n, err := sources.EdgeList{Path: dataFile(tb, "graphs", name+".edges.gz")}.Read(context.Background())
	if err != nil {
		tb.Fatal(err)
	}
	return n.Items[0].Graph
}

// decorated gives a graph attributes of every kind.
func decorated(g *graph.Graph) *graph.Graph {
	rng := rand.New(rand.NewPCG(31, 32))
	h := *g
	h.NodeCats, h.NodeAttrs, h.EdgeCats, h.SparseCard = 1, 1, 1, 30
	h.SparseOffsets = []int32{0}
	for v := range int32(g.N()) {
		h.NodeCat = append(h.NodeCat, rng.Int32N(3))
		h.NodeAttr = append(h.NodeAttr, float32(rng.IntN(3)))
		h.NodeSparse = append(h.NodeSparse, []int32{v % 7, 9, 10 + v%20}[:rng.IntN(4)]...)
		h.SparseOffsets = append(h.SparseOffsets, int32(len(h.NodeSparse)))
		for _, u := range g.Adj(v) {
			h.EdgeCat = append(h.EdgeCat, (u+v)%2)
		}
	}
	return &h
}

// fieldsOf runs p and returns what it makes of each root, without zero fields,
// as texts, and the number of records.
func fieldsOf(t *testing.T, p flow.Pipeline, workers int) (fields []string, records int) {
	t.Helper()
	before := leak.IgnoreCurrent()
	mem := memory.NewCheckedAllocator(record.Poison{})
	defer mem.AssertSize(t, 0)
	var out sinks.Collect
	defer out.Release()
	if err := p.To(&out).With(flow.Options{Workers: workers, Allocator: mem}).Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := leak.Find(before); err != nil {
		t.Error(err)
	}
	for _, rec := range out.Records() {
		records++
		roots, err := record.ListsOf[int32](rec, record.Roots)
		if err != nil {
			t.Fatal(err)
		}
		for row := range roots.Len() {
			w := len(roots.Row(row))
			for i, root := range roots.Row(row) {
				if root >= 0 {
					fields = append(fields, fieldOf(t, rec, row, i, w))
				}
			}
		}
	}
	return fields, records
}

// fieldOf writes all columns of field i of w of a row.
func fieldOf(t *testing.T, rec arrow.Record, row, i, w int) string {
	var b strings.Builder
	for c, col := range rec.Columns() {
		name := rec.ColumnName(c)
		switch col := col.(type) {
		case *array.FixedSizeList:
			switch col.ListValues().(type) {
			case *array.Int32:
				v, width, _ := record.FixedValues[int32](rec, name)
				fmt.Fprint(&b, name, "=", v[row*width+i*width/w:row*width+(i+1)*width/w])
			case *array.Float32:
				v, width, _ := record.FixedValues[float32](rec, name)
				fmt.Fprint(&b, name, "=")
				for _, x := range v[row*width+i*width/w : row*width+(i+1)*width/w] {
					fmt.Fprint(&b, " ", math.Float32bits(x))
				}
			default:
				t.Fatalf("column %s is %s", name, col.DataType())
			}
		case *array.List:
			if v, err := record.ListsOf[int32](rec, name); err == nil {
				fmt.Fprint(&b, name, "=", v.Row(row)[i], " ")
				continue
			}
			v, err := record.NestedOf[int32](rec, name)
			if err != nil {
				t.Fatal(err)
			}
			k := v.RowLen(row) / w
			for j := range k {
				fmt.Fprint(&b, name, "=", v.At(row, i*k+j))
			}
		default:
			fmt.Fprint(&b, name, "=", col.ValueStr(row))
		}
		b.WriteByte(' ')
	}
	return b.String()
}

// TestChunkSize makes the fields of large graphs in chunks of several sizes and
// on several workers, and compares them byte by byte, with each other and with
// what package field says.
func TestChunkSize(t *testing.T) {
	generated := func(g *graph.Graph, err error) *graph.Graph {
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	directed := func() *graph.Graph {
		rng := rand.New(rand.NewPCG(33, 34))
		var edges []graph.Edge
		for range 450 {
			edges = append(edges, graph.Edge{U: rng.Int32N(150), V: rng.Int32N(150)})
		}
		return generated(graph.New(150, true, edges))
	}
	for _, c := range []struct {
		name   string
		g      func(t *testing.T) *graph.Graph
		stride int // so that a test takes a second
		norm   operators.Normalize
	}{
		{"torus", func(*testing.T) *graph.Graph { return generated(generate.Torus(9, 11)) }, 1, operators.Normalize{}},
		{"preferential", func(*testing.T) *graph.Graph { return generated(generate.PreferentialAttachment(200, 3, 1)) }, 1, operators.Normalize{Edges: true}},
		{"directed", func(*testing.T) *graph.Graph { return directed() }, 1, operators.Normalize{By: labeling.Degree}},
		{"attributes", func(*testing.T) *graph.Graph { return decorated(directed()) }, 1, operators.Normalize{Edges: true}},
		{"global", func(*testing.T) *graph.Graph { return directed() }, 1, operators.Normalize{By: labeling.PageRank, Global: true}},
		{"power", func(t *testing.T) *graph.Graph { return large(t, "power") }, 19, operators.Normalize{}},
		{"astro-ph", func(t *testing.T) *graph.Graph { return large(t, "astro-ph") }, 160, operators.Normalize{}},
		{"email-Enron", func(t *testing.T) *graph.Graph { return large(t, "email-Enron") }, 500, operators.Normalize{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			const k = 10
			g := c.g(t)
			src := sources.Graphs{Items: []sources.Item{{Graph: g}}}
			roots := (g.N() + c.stride - 1) / c.stride
			var want []string
			for _, size := range []int{1, 64, 4096} {
				for _, workers := range []int{1, 2, 5} {
					if testing.Short() && size == 1 && workers == 1 {
						continue
					}
					p := flow.From(src).Via(operators.Select{Stride: c.stride}).Via(operators.Chunk{Size: size}).
						Via(operators.Assemble{K: k}).Via(c.norm)
					got, records := fieldsOf(t, p, workers)
					if len(got) != roots || records != (roots+size-1)/size {
						t.Fatalf("size %d: %d fields in %d records, want %d in %d", size, len(got), records, roots, (roots+size-1)/size)
					}
					if want == nil {
						want = got
						checkMembers(t, g, c.norm, k, c.stride, got)
					}
					if !slices.Equal(got, want) {
						t.Errorf("size %d, %d workers: the fields differ", size, workers)
					}
				}
			}
		})
	}
}

// checkMembers compares the members in texts of fieldsOf with direct calls.
func checkMembers(t *testing.T, g *graph.Graph, norm operators.Normalize, k, stride int, got []string) {
	var labels []float64
	if norm.Global {
		labels = make([]float64, g.N())
		if err := labeling.Compute(norm.By, labeling.Input{Graph: g}, labels); err != nil {
			t.Fatal(err)
		}
	}
	ix := field.NewIndex(g, field.Both)
	var walk field.Assembler
	z := field.Normalizer{K: k, By: norm.By}
	members := make([]int32, k)
	for i, text := range got {
		hood, dist := walk.Assemble(ix, int32(i*stride), k)
		if err := z.Normalize(ix, hood, dist, labels, members); err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprint("roots=", i*stride, " members=", members); !strings.Contains(text, want) {
			t.Fatalf("field %d is\n\t%s\nwant\n\t%s", i, text, want)
		}
	}
}

// Several graphs, one after another and some in one record, share nothing that
// they should not, and a graph without roots gives no row.
func TestChunkSeveralGraphs(t *testing.T) {
	var items []sources.Item
	for i := range 9 {
		g, err := generate.PreferentialAttachment(20+i, 2, uint64(i))
		if err != nil {
			t.Fatal(err)
		}
		items = append(items, sources.Item{Graph: g}, sources.Item{Graph: &graph.Graph{Offsets: []int32{0}}})
	}
	whole := flow.From(sources.Graphs{Items: items}).Via(operators.Select{W: 30}).
		Via(operators.Assemble{K: 5}).Via(operators.Normalize{})
	want, _ := fieldsOf(t, whole, 1)
	for _, rows := range []int{1, 4} {
		for _, workers := range []int{1, 3} {
			for _, size := range []int{7, 25, 40} { // some graphs need several rows; and none does
				p := flow.From(sources.Graphs{Items: items, Rows: rows}).Via(operators.Select{W: 30}).Via(operators.Chunk{Size: size}).
					Via(operators.Assemble{K: 5}).Via(operators.Normalize{})
				got, _ := fieldsOf(t, p, workers)
				if !slices.Equal(got, want) {
					t.Errorf("%d rows a record, %d workers, chunks of %d: the fields differ", rows, workers, size)
				}
			}
		}
	}
}

// Graphs that need one row only stay together, in order, up to 2048 roots; the
// rows of larger ones stand alone, and a graph without nodes gives none.
func TestChunkTogether(t *testing.T) {
	items := make([]sources.Item, 0, 1300)
	for _, n := range []int{3, 4, 9, 3, 0, 3, 3} {
		items = append(items, sources.Item{Graph: &graph.Graph{Offsets: make([]int32, n+1)}})
	}
	for range 600 {
		items = append(items, sources.Item{Graph: &graph.Graph{Offsets: make([]int32, 2)}})
	}
	var out sinks.Collect
	defer out.Release()
	err := flow.From(sources.Graphs{Items: items, Rows: len(items)}).Via(operators.Select{}).
		Via(operators.Chunk{Size: 4}).To(&out).With(flow.Options{Allocator: record.Poison{}}).Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	var rows []int64
	var roots []int32
	for _, rec := range out.Records() {
		rows = append(rows, rec.NumRows())
		v, err := record.ListsOf[int32](rec, record.Roots)
		if err != nil {
			t.Fatal(err)
		}
		for row := range v.Len() {
			roots = append(roots, v.Row(row)...)
		}
	}
	if want := []int64{2, 1, 1, 1, 1, 512, 90}; !slices.Equal(rows, want) {
		t.Errorf("records of %v rows, want %v", rows, want)
	}
	want := []int32{0, 1, 2, -1, 0, 1, 2, 3, 0, 1, 2, 3, 4, 5, 6, 7, 8, -1, -1, -1, 0, 1, 2, -1, 0, 1, 2, -1, 0, 1, 2, -1}
	if !slices.Equal(roots[:len(want)], want) {
		t.Errorf("roots %v, want %v", roots[:len(want)], want)
	}
}

// A chunk has the buffers of the graph that came in.
func TestChunkShares(t *testing.T) {
	g, err := generate.Torus(10, 10)
	if err != nil {
		t.Fatal(err)
	}
	var out sinks.Collect
	defer out.Release()
	err = flow.From(sources.Graphs{Items: []sources.Item{{Graph: g}}}).Via(operators.Select{}).Via(operators.Chunk{Size: 8}).
		To(&out).Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	var first *int32
	for i, rec := range out.Records() {
		gs, err := record.GraphsOf(rec)
		if err != nil {
			t.Fatal(err)
		}
		var g graph.Graph
		gs.At(0, &g)
		if i == 0 {
			first = &g.Neighbors[0]
		}
		if first != &g.Neighbors[0] || gs.Len() != 1 {
			t.Errorf("record %d has neighbors of its own, or %d rows", i, gs.Len())
		}
	}
	if n := len(out.Records()); n != 13 {
		t.Errorf("%d records, want 13", n)
	}
}

// highWater is an allocator that knows how much was in use at most.
type highWater struct {
	memory.Allocator
	now, most atomic.Int64
}

func (h *highWater) count(n int) {
	now := h.now.Add(int64(n))
	for most := h.most.Load(); now > most && !h.most.CompareAndSwap(most, now); most = h.most.Load() {
	}
}

func (h *highWater) Allocate(n int) []byte {
	h.count(n)
	return h.Allocator.Allocate(n)
}

func (h *highWater) Reallocate(n int, b []byte) []byte {
	h.count(n - len(b))
	return h.Allocator.Reallocate(n, b)
}

func (h *highWater) Free(b []byte) {
	h.count(-len(b))
	h.Allocator.Free(b)
}

// The memory of a run is that of the graph and of the chunks in flight, however
// many there are in all, and however slow the sink.
func TestChunkMemory(t *testing.T) {
	const k, size, workers = 10, 32, 2
	most := func(side int) int64 {
		g, err := generate.Torus(side, side)
		if err != nil {
			t.Fatal(err)
		}
		b := record.NewBuilder(memory.DefaultAllocator, record.Layout{})
		if err := b.Append(g, record.Row{}); err != nil {
			t.Fatal(err)
		}
		rec := b.Record()
		defer rec.Release()
		mem := &highWater{Allocator: memory.DefaultAllocator}
		chunks := 0
		sink := sinkFunc(func(arrow.Record) error {
			if chunks++; chunks > 1 {
				return nil
			}
			for before, same := int64(-1), 0; same < 30; { // the rest of the pipeline fills up
				time.Sleep(10 * time.Millisecond)
				if now := mem.now.Load(); now == before {
					same++
				} else {
					before, same = now, 0
				}
			}
			return nil
		})
		err = flow.From(sources.Records{Records: []arrow.Record{rec}}).Via(operators.Select{}).Via(operators.Chunk{Size: size}).
			Via(operators.Assemble{K: k}).Via(operators.Normalize{}).To(sink).
			With(flow.Options{Workers: workers, Allocator: mem}).Run(context.Background())
		if err != nil || chunks != (side*side+size-1)/size || mem.now.Load() != 0 {
			t.Fatal(err, chunks, mem.now.Load())
		}
		return mem.most.Load() - int64(4*side*side) // without the column roots of Select
	}
	small, large := most(24), most(96)
	t.Logf("18 chunks: %d bytes, 288 chunks: %d bytes", small, large)
	if large > 2*small {
		t.Errorf("18 chunks take %d bytes, 288 chunks %d", small, large)
	}
}
