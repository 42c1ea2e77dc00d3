package operators_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/flowtest"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/labeling"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

func collect(t *testing.T, mem memory.Allocator, recs []arrow.Record, ops ...flow.Operator) *sinks.Collect {
	t.Helper()
	return collectFrom(t, mem, sources.Records{Records: recs}, ops...)
}

func collectFrom(t *testing.T, mem memory.Allocator, src flow.Source, ops ...flow.Operator) *sinks.Collect {
	t.Helper()
	p := flow.From(src)
	for _, op := range ops {
		p = p.Via(op)
	}
	out := &sinks.Collect{}
	if err := p.To(out).With(flow.Options{Allocator: mem}).Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	return out
}

// Every cell that a row of w roots has is found again in the row of its root.
func TestPerRoot(t *testing.T) {
	mem := memory.NewCheckedAllocator(record.Poison{})
	defer mem.AssertSize(t, 0)
	recs := flowtest.Sample(memory.DefaultAllocator)
	for _, rec := range recs {
		defer rec.Release()
	}
	const w, k = 4, 3
	for _, labelled := range []bool{false, true} {
		ops := []flow.Operator{
			operators.Select{W: w, By: labeling.Degree}, operators.Assemble{K: k},
			operators.Normalize{Edges: true, Mask: true, Distances: 2, KeepGraph: true},
		}
		whole := collect(t, mem, recs, ops...)
		split := collect(t, mem, recs, append(ops, operators.PerRoot{Labelled: labelled}, operators.Batch{Size: 1000})...)
		if len(split.Records()) != 1 {
			t.Fatalf("%d records", len(split.Records()))
		}
		got, at := split.Records()[0], 0
		for _, rec := range whole.Records() {
			roots, err := record.ListsOf[int32](rec, record.Roots)
			if err != nil {
				t.Fatal(err)
			}
			class, err := record.ListsOf[int32](rec, record.RootTarget)
			if err != nil {
				t.Fatal(err)
			}
			for row := range int(rec.NumRows()) {
				for i, v := range roots.Row(row) {
					if v < 0 || labelled && class.Row(row)[i] < 0 {
						continue
					}
					samePart[int32](t, rec, got, record.Members, row, i, at, w)
					samePart[uint8](t, rec, got, record.Mask, row, i, at, w)
					samePart[int32](t, rec, got, record.NodesCat, row, i, at, w)
					samePart[float32](t, rec, got, record.Nodes, row, i, at, w)
					samePart[int32](t, rec, got, record.EdgesCat, row, i, at, w)
					samePart[float32](t, rec, got, record.Edges, row, i, at, w)
					if target := must(record.Values[int32](got, record.Target)); target[at] != class.Row(row)[i] {
						t.Errorf("root %d: class %d, want %d", v, target[at], class.Row(row)[i])
					}
					if r := must(record.ListsOf[int32](got, record.Roots)); !slices.Equal(r.Row(at), []int32{v}) {
						t.Errorf("root %v, want %d", r.Row(at), v)
					}
					a, b := must(record.NestedOf[int32](rec, record.NodesSparse)), must(record.NestedOf[int32](got, record.NodesSparse))
					for j := range k {
						if !slices.Equal(a.At(row, i*k+j), b.At(at, j)) {
							t.Errorf("root %d, node %d: set %v, want %v", v, j, b.At(at, j), a.At(row, i*k+j))
						}
					}
					ids, id := must(record.Values[int64](got, record.GraphID)), must(record.Values[int64](rec, record.GraphID))
					if ids[at] != id[row] {
						t.Errorf("graph %d, want %d", ids[at], id[row])
					}
					at++
				}
			}
		}
		if at != int(got.NumRows()) || at == 0 {
			t.Errorf("%d rows, want %d", got.NumRows(), at)
		}
		if shape, err := sinks.Shape(got.Schema()); err != nil || shape.W != 1 || shape.K != k || shape.Classes != len(flowtest.Layout.NodeClasses) {
			t.Errorf("%v, shape %+v", err, shape)
		}
		if got.Schema().HasField(record.Offsets) {
			t.Error("the graph is still there")
		}
		whole.Release()
		split.Release()
	}
}

func must[V any](v V, err error) V {
	if err != nil {
		panic(err)
	}
	return v
}

func samePart[T record.Value](t *testing.T, whole, split arrow.Record, name string, row, i, at, w int) {
	t.Helper()
	a, all, err := record.FixedValues[T](whole, name)
	if err != nil {
		t.Fatal(err)
	}
	b, one, err := record.FixedValues[T](split, name)
	if err != nil {
		t.Fatal(err)
	}
	if one*w != all || !slices.Equal(b[at*one:(at+1)*one], a[row*all+i*one:row*all+(i+1)*one]) {
		t.Errorf("%s of root %d of row %d differs", name, i, row)
	}
}

// The channel in front is the number of hops, found by breadth-first search.
func TestDistances(t *testing.T) {
	recs := flowtest.Sample(memory.DefaultAllocator)
	for _, rec := range recs {
		defer rec.Release()
	}
	const w, k, values = 5, 6, 3
	out := collect(t, memory.DefaultAllocator, recs, operators.Select{W: w},
		operators.Assemble{K: k + 2}, operators.Normalize{K: k, Distances: values, KeepGraph: true})
	defer out.Release()
	for _, rec := range out.Records() {
		gs := must(record.GraphsOf(rec))
		members, _, err := record.FixedValues[int32](rec, record.Members)
		if err != nil {
			t.Fatal(err)
		}
		cats, width, err := record.FixedValues[int32](rec, record.NodesCat)
		if err != nil {
			t.Fatal(err)
		}
		d := width / w / k
		for i, v := range members {
			var g graph.Graph
			gs.At(i/w/k, &g)
			want := int32(-1)
			if v >= 0 {
				want = min(hops(&g, members[i/k*k], v), values-1)
			}
			if cats[i*d] != want {
				t.Errorf("row %d, cell %d: distance %d, want %d", i/w/k, i%(w*k), cats[i*d], want)
			}
			for j := 1; j < d; j++ {
				attr := int32(-1)
				if v >= 0 {
					attr = g.NodeCat[int(v)*g.NodeCats+j-1]
				}
				if cats[i*d+j] != attr {
					t.Errorf("row %d, cell %d: attribute %d, want %d", i/w/k, i%(w*k), cats[i*d+j], attr)
				}
			}
		}
	}
}

// hops walks arcs both ways, as Assemble does by default.
func hops(g *graph.Graph, from, to int32) int32 {
	ring := map[int32]bool{from: true}
	for d := int32(0); ; d++ {
		if ring[to] {
			return d
		}
		next := map[int32]bool{}
		for u := range ring {
			next[u] = true
		}
		for u := range int32(g.N()) {
			for _, v := range g.Adj(u) {
				if ring[u] || ring[v] {
					next[u], next[v] = true, true
				}
			}
		}
		ring = next
	}
}

func TestPerRootErrors(t *testing.T) {
	recs := flowtest.Sample(memory.DefaultAllocator)
	for _, rec := range recs {
		defer rec.Release()
	}
	for want, ops := range map[string][]flow.Operator{
		"put Normalize before PerRoot": {operators.Select{W: 2}, operators.PerRoot{}},
		"Distances is -1":              {operators.Select{W: 2}, operators.Assemble{K: 2}, operators.Normalize{Distances: -1}},
	} {
		p := flow.From(sources.Records{Records: recs})
		for _, op := range ops {
			p = p.Via(op)
		}
		if err := p.Run(context.Background()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// Columns that have no equal part for each root are refused when the stage is opened.
func TestPerRootWidths(t *testing.T) {
	for _, test := range []struct {
		w     int
		width int32
		want  string
	}{
		{2, 6, ""},
		{2, 7, `column "members" has 7 values a row for 2 roots`},
		{0, 6, `column "roots" has the shape [0], want 0 roots first, at least one`},
	} {
		schema := arrow.NewSchema([]arrow.Field{
			record.ListField[int32](record.Roots, []int{test.w}),
			{Name: record.Members, Type: arrow.FixedSizeListOf(test.width, arrow.PrimitiveTypes.Int32), Metadata: arrow.NewMetadata([]string{record.MetaShape}, []string{fmt.Sprintf("[%d,3]", test.w)})},
		}, nil)
		d, err := flow.OpenDirect(schema, flow.Options{Allocator: memory.DefaultAllocator}, operators.PerRoot{})
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("w %d, width %d: %v, want %q", test.w, test.width, err, test.want)
		}
		if err == nil {
			if err := d.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// Graphs without classes of nodes lose no root, with Labelled or without.
func TestPerRootOfUnlabelled(t *testing.T) {
	mem := memory.NewCheckedAllocator(record.Poison{})
	defer mem.AssertSize(t, 0)
	src := sources.Families{Graphs: 4}
	var rows [2][]string
	for i, labelled := range []bool{false, true} {
		out := collectFrom(t, mem, src, operators.Select{W: 3}, operators.Normalize{K: 4}, operators.PerRoot{Labelled: labelled})
		rows[i] = flowtest.Rows(out.Records()...)
		out.Release()
	}
	if len(rows[0]) != 4*3 || !slices.Equal(rows[0], rows[1]) {
		t.Errorf("%d roots, and %d with Labelled, want 12 of each, the same", len(rows[0]), len(rows[1]))
	}
}
