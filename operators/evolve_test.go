package operators_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/event"
	"github.com/sanflow/sanflow/flow/flowtest"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/graph/dynamic"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/internal/leak"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/labeling"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

// eventRecords returns random events of a graph of layout l in records of some rows.
func eventRecords(mem memory.Allocator, l record.Layout, events, n, rows int, seed uint64) (recs []arrow.Record, list []event.Event) {
	rng := rand.New(rand.NewPCG(seed, 1))
	b := record.NewEventBuilder(mem, l)
	defer b.Release()
	for i := range events {
		e := event.Event{
			Kind: event.Kind([]int{0, 0, 0, 0, 0, 0, 1, 1, 2, 3, 4, 5}[rng.IntN(12)]), Pos: int64(i), Time: int64(i),
			Source: int32(rng.IntN(n)), Target: int32(rng.IntN(n)),
		}
		switch e.Kind {
		case event.AddEdge, event.SetEdge:
			e.Cat, e.Attr = attributes(rng, l.EdgeCat, l.EdgeAttr)
		case event.SetNode:
			e.Cat, e.Attr = attributes(rng, l.NodeCat, l.NodeAttr)
		case event.SetClass:
			if e.Class = -1; len(l.NodeClasses) > 0 {
				e.Class = int32(rng.IntN(len(l.NodeClasses)))
			}
		}
		list = append(list, e)
		nodes := []int32{e.Source, e.Target}
		if !e.OfEdge() {
			nodes = nodes[:1]
		}
		if err := b.Append(0, &e, idsOf(l, nodes)); err != nil {
			panic(err)
		}
		if b.Rows() == rows || i == events-1 {
			recs = append(recs, b.Record())
		}
	}
	return recs, list
}

// idsOf returns ids of nodes of the kind of l.
func idsOf(l record.Layout, nodes []int32) (ids graph.IDs) {
	var texts []string
	var ints []int64
	for _, v := range nodes {
		texts, ints = append(texts, fmt.Sprint("node ", v*v)), append(ints, int64(v)*1e12-7)
	}
	switch l.NodeIDs {
	case graph.Int64IDs:
		ids = graph.IDsOf(ints)
	case graph.StringIDs:
		ids, _ = graph.IDsOfStrings(texts)
	}
	return ids
}

func attributes(rng *rand.Rand, cats, attrs []record.Channel) (cat []int32, attr []float32) {
	for _, c := range cats {
		cat = append(cat, int32(rng.IntN(c.Card)))
	}
	for range attrs {
		attr = append(attr, rng.Float32())
	}
	return cat, attr
}

var eventLayouts = []record.Layout{
	{},
	{NodeCat: []record.Channel{{Name: "a", Card: 3}}, EdgeCat: []record.Channel{{Name: "b", Card: 2}}, NodeClasses: []string{"x", "y"}},
	{NodeIDs: graph.StringIDs, NodeClasses: []string{"x", "y"}},
	{NodeIDs: graph.Int64IDs},
	{Directed: true, NodeAttr: []record.Channel{{Name: "c"}}, EdgeCat: []record.Channel{{Name: "b", Card: 2}}, EdgeAttr: []record.Channel{{Name: "d"}}},
}

// rowsOf runs Evolve over records and returns its rows.
func rowsOf(t *testing.T, op operators.Evolve, recs []arrow.Record) (rows []string) {
	t.Helper()
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	var out sinks.Collect
	if err := flow.From(sources.Records{Records: recs}).Via(op).To(&out).With(flow.Options{Allocator: mem}).Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	for _, rec := range out.Records() {
		rows = append(rows, flowtest.Rows(rec)...)
	}
	out.Release()
	mem.AssertSize(t, 0)
	return rows
}

func TestEvolveConforms(t *testing.T) {
	for i, l := range eventLayouts {
		for _, op := range []operators.Evolve{
			{Normalize: operators.Normalize{K: 4, Edges: true, Mask: true, Distances: 3}, Every: 7, Size: 5},
			{Normalize: operators.Normalize{K: 3}, Every: 1000, Last: 12},
			{Normalize: operators.Normalize{K: 3, Bound: 4}, Every: 9},
		} {
			op.MemberIDs = true
			t.Run(fmt.Sprint(i, " every ", op.Every), func(t *testing.T) {
				recs, _ := eventRecords(memory.DefaultAllocator, l, 60, 12, 9, 3)
				flowtest.Run(t, flowtest.Case{Op: op, Records: recs})
				for _, r := range recs {
					r.Release()
				}
			})
		}
	}
}

// The rows that Evolve emitted last for each root are those that Normalize makes of the
// graph as it is at the end.
func TestEvolveIsNormalize(t *testing.T) {
	defer leak.VerifyNone(t, leak.IgnoreCurrent())
	for i, l := range eventLayouts {
		for _, last := range []int{0, 30} {
			for _, bound := range []int{0, 4, 6} {
				evolveIsNormalize(t, l, operators.Normalize{K: 4, Bound: bound, Edges: true, Mask: true, Distances: 3}, last, uint64(i))
			}
		}
	}
}

func evolveIsNormalize(t *testing.T, l record.Layout, z operators.Normalize, last int, seed uint64) {
	t.Helper()
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	recs, events := eventRecords(mem, l, 200, 25, 17, seed)
	var got, want sinks.Collect
	run := func(p flow.Pipeline) {
		t.Helper()
		if err := p.With(flow.Options{Allocator: mem}).Run(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	run(flow.From(sources.Records{Records: recs}).Via(operators.Evolve{Normalize: z, Every: 11, Size: 4, Last: last}).To(&got))
	g, err := dynamic.New(dynamic.Settings{
		Directed: l.Directed, NodeCats: len(l.NodeCat), NodeAttrs: len(l.NodeAttr), EdgeCats: len(l.EdgeCat), EdgeAttrs: len(l.EdgeAttr), Last: last,
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		if err := g.Apply(&e, nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	var row record.Row
	for v := range int32(g.N()) {
		if len(l.NodeClasses) > 0 {
			row.NodeClass = append(row.NodeClass, g.Class(v))
		}
	}
	nodes := make([]int32, g.N())
	for v := range nodes {
		nodes[v] = int32(v)
	}
	row.NodeID = idsOf(l, nodes)
	b := record.NewBuilder(mem, l)
	if err := b.Append(g.Graph(), row); err != nil {
		t.Fatal(err)
	}
	whole := b.Record()
	b.Release()
	run(flow.From(sources.Records{Records: []arrow.Record{whole}}).Via(operators.Select{}).Via(operators.Chunk{Size: 4}).Via(z).To(&want))
	have, wanted := byRoot(t, got.Records()), byRoot(t, want.Records())
	for v := range int32(g.N()) {
		if have[v] != wanted[v] {
			t.Errorf("seed %d, window %d, bound %d, root %d: %s, want %s", seed, last, z.Bound, v, have[v], wanted[v])
		}
	}
	whole.Release()
	got.Release()
	want.Release()
	for _, r := range recs {
		r.Release()
	}
	mem.AssertSize(t, 0)
}

// byRoot returns what the last row of each root says of it.
func byRoot(t *testing.T, recs []arrow.Record) map[int32]string {
	t.Helper()
	all := map[int32]string{}
	for _, rec := range recs {
		roots, err := record.ListsOf[int32](rec, record.Roots)
		if err != nil {
			t.Fatal(err)
		}
		for row := range int(rec.NumRows()) {
			w := len(roots.Row(row))
			for i, root := range roots.Row(row) {
				if root < 0 {
					continue
				}
				var text strings.Builder
				for _, name := range []string{record.Members, record.NodesCat, record.RootTarget, record.EdgesCat} {
					if !rec.Schema().HasField(name) {
						continue
					}
					fmt.Fprint(&text, " ", name, cells[int32](t, rec, name, row, i, w))
				}
				for _, name := range []string{record.Nodes, record.Edges} {
					if rec.Schema().HasField(name) {
						fmt.Fprint(&text, " ", name, cells[float32](t, rec, name, row, i, w))
					}
				}
				fmt.Fprint(&text, " ", cells[uint8](t, rec, record.Mask, row, i, w))
				if rec.Schema().HasField(record.RootIDs) {
					ids, err := record.IDsOfColumn(rec, record.RootIDs)
					if err != nil {
						t.Fatal(err)
					}
					fmt.Fprint(&text, " ", ids.Row(row).Name(int32(i)))
				}
				all[root] = text.String()
			}
		}
	}
	return all
}

// cells returns the values of field i of w in a column.
func cells[T record.Value](t *testing.T, rec arrow.Record, name string, row, i, w int) []T {
	t.Helper()
	if name == record.RootTarget {
		lists, err := record.ListsOf[T](rec, name)
		if err != nil {
			t.Fatal(err)
		}
		return lists.Row(row)[i : i+1]
	}
	values, width, err := record.FixedValues[T](rec, name)
	if err != nil {
		t.Fatal(err)
	}
	values = values[row*width : (row+1)*width]
	return values[i*width/w : (i+1)*width/w]
}

// The rows are the same bytes at any number of workers.
func TestEvolveWorkers(t *testing.T) {
	defer leak.VerifyNone(t, leak.IgnoreCurrent())
	for i, l := range eventLayouts {
		for _, bound := range []int{0, 5} {
			mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
			recs, _ := eventRecords(mem, l, 300, 25, 10, uint64(i))
			op := operators.Evolve{Normalize: operators.Normalize{K: 4, Bound: bound, Edges: true, MemberIDs: true}, Every: 7, Size: 3}
			var want []string
			for workers := 1; workers <= 3; workers++ {
				var out sinks.Collect
				if err := flow.From(sources.Records{Records: recs}).Via(op).Via(operators.PerRoot{}).To(&out).
					With(flow.Options{Workers: workers, Allocator: mem}).Run(context.Background()); err != nil {
					t.Fatal(err)
				}
				var got []string
				for _, rec := range out.Records() {
					got = append(got, flowtest.Rows(rec)...)
				}
				out.Release()
				if workers == 1 {
					want = got
				}
				if len(got) == 0 || !slices.Equal(got, want) {
					t.Errorf("layout %d, bound %d: %d rows of %d workers differ from %d of one", i, bound, len(got), workers, len(want))
				}
			}
			for _, r := range recs {
				r.Release()
			}
			mem.AssertSize(t, 0)
		}
	}
}

// member_ids has the ids of the members, and PerRoot splits it. A node that no event has named yet has none.
func TestEvolveMemberIDs(t *testing.T) {
	for _, l := range eventLayouts {
		if l.NodeIDs == graph.NoIDs {
			continue
		}
		const every = 50
		recs, list := eventRecords(memory.DefaultAllocator, l, 200, 25, every, 5)
		var out sinks.Collect
		op := operators.Evolve{Normalize: operators.Normalize{K: 4, MemberIDs: true}, Size: 3, Every: every}
		if err := flow.From(sources.Records{Records: recs}).Via(op).Via(operators.PerRoot{}).To(&out).Run(context.Background()); err != nil {
			t.Fatal(err)
		}
		named, unnamed := 0, 0
		for _, got := range out.Records() {
			ids, err := record.IDsOfColumn(got, record.MemberIDs)
			if err != nil {
				t.Fatal(err)
			}
			members, k, err := record.FixedValues[int32](got, record.Members)
			if err != nil {
				t.Fatal(err)
			}
			pos, err := record.Values[int64](got, record.Pos)
			if err != nil {
				t.Fatal(err)
			}
			for row := range ids.Len() {
				known := map[int32]bool{-1: false}
				for _, e := range list[:pos[row]+1] {
					if known[e.Source] = true; e.OfEdge() {
						known[e.Target] = true
					}
				}
				for j, v := range members[row*k : (row+1)*k] {
					name, want := ids.Row(row).Name(int32(j)), idsOf(l, []int32{max(v, 0)}).Name(0)
					if known[v] {
						named++
					} else {
						unnamed++
						if want = ""; l.NodeIDs == graph.Int64IDs {
							want = "0"
						}
					}
					if name != want {
						t.Fatalf("after event %d: member %d has the id %q, want %q", pos[row], v, name, want)
					}
				}
			}
		}
		out.Release()
		for _, rec := range recs {
			rec.Release()
		}
		if named == 0 || unnamed == 0 {
			t.Errorf("%d members with an id and %d without", named, unnamed)
		}
	}
}

// Events whose ids do not fit the nodes are refused as rows.
func TestEvolveRefusesIDs(t *testing.T) {
	l := record.Layout{NodeIDs: graph.StringIDs}
	b := record.NewEventBuilder(memory.DefaultAllocator, l)
	defer b.Release()
	for i, ids := range [][]string{{"a", "b"}, {"a", "c"}, {"a"}, nil, {"a", "\xff"}, {"a", "b"}} {
		list, err := graph.IDsOfStrings(ids)
		if err == nil {
			err = b.Append(0, &event.Event{Pos: int64(i), Target: 1}, list)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Append(0, &event.Event{}, graph.IDsOf([]int64{1, 2})); err == nil {
		t.Error("ids of another kind")
	}
	rec := b.Record()
	defer rec.Release()
	var out sinks.Collect
	defer out.Release()
	var refused []string
	err := flow.From(sources.Records{Records: []arrow.Record{rec}}).Via(operators.Evolve{Normalize: operators.Normalize{K: 3}}).To(&out).
		With(flow.Options{Refused: flow.Keep, DeadLetters: func(l flow.Letter) error { refused = append(refused, l.Err.Error()); return nil }}).Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if len(refused) != 3 || !strings.Contains(refused[0], `event 1: add_edge: node 1 has the id "c", and another one before`) || !strings.Contains(refused[1], "1 ids") || !strings.Contains(refused[2], "UTF-8") {
		t.Errorf("%q are refused", refused)
	}
}

func TestEvolveRefuses(t *testing.T) {
	events := record.NewEventBuilder(memory.DefaultAllocator, eventLayouts[1]).Schema()
	for _, c := range []struct {
		op   operators.Evolve
		in   *arrow.Schema
		want string
	}{
		{operators.Evolve{}, events, "K is 0"},
		{operators.Evolve{Normalize: operators.Normalize{K: 3, Bound: 2}}, events, "Bound is 2"},
		{operators.Evolve{Normalize: operators.Normalize{K: 3, Global: true}}, events, "Global is set"},
		{operators.Evolve{Normalize: operators.Normalize{K: 3, Suffix: "_a"}}, events, "Suffix"},
		{operators.Evolve{Normalize: operators.Normalize{K: 3}, Every: -1}, events, "Every is -1"},
		{operators.Evolve{Normalize: operators.Normalize{K: 3}, Last: 1, Within: 1}, events, "both Last and Within"},
		{operators.Evolve{Normalize: operators.Normalize{K: 3}}, record.Layout{}.Schema(), "no events"},
	} {
		if _, err := c.op.Open(c.in); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.op, err, c.want)
		}
	}
	// Events that break the rules are refused as rows, and the others go on.
	b := record.NewEventBuilder(memory.DefaultAllocator, eventLayouts[1])
	defer b.Release()
	for i, e := range []event.Event{
		{Target: 1, Cat: []int32{0}}, {Source: -3, Cat: []int32{0}}, {Target: 2, Cat: []int32{7}},
		{Kind: event.SetClass, Class: 2}, {Kind: 77}, {Target: 1 << 30, Cat: []int32{0}}, {Kind: event.SetNode, Source: 2, Cat: []int32{1}},
	} {
		e.Pos = int64(i)
		if err := b.Append(0, &e, graph.IDs{}); err != nil {
			t.Fatal(err)
		}
	}
	rec := b.Record()
	defer rec.Release()
	var out sinks.Collect
	refused := 0
	err := flow.From(sources.Records{Records: []arrow.Record{rec}}).Via(operators.Evolve{Normalize: operators.Normalize{K: 3}}).To(&out).
		With(flow.Options{Refused: flow.Keep, DeadLetters: func(flow.Letter) error { refused++; return nil }}).Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if refused != 5 || len(byRootMembers(t, out.Records())) != 3 {
		t.Errorf("%d events are refused and %d roots are there, want 5 and 3", refused, len(byRootMembers(t, out.Records())))
	}
	out.Release()
}

func byRootMembers(t *testing.T, recs []arrow.Record) map[int32]bool {
	t.Helper()
	all := map[int32]bool{}
	for _, rec := range recs {
		roots, err := record.ListsOf[int32](rec, record.Roots)
		if err != nil {
			t.Fatal(err)
		}
		for row := range roots.Len() {
			for _, v := range roots.Row(row) {
				if v >= 0 {
					all[v] = true
				}
			}
		}
	}
	return all
}

// Evolve emits the same fields wherever the origin of time is.
func TestEvolveOriginOfTime(t *testing.T) {
	for i, l := range eventLayouts[:2] {
		recs, list := eventRecords(memory.DefaultAllocator, l, 80, 9, 80, uint64(i))
		defer recs[0].Release()
		op := operators.Evolve{Normalize: operators.Normalize{K: 3}, Size: 4, Every: 5, Within: 12}
		want := rowsOf(t, op, recs)
		for _, by := range []int64{1e9, -1e9, -40, math.MinInt64, math.MaxInt64 - 80} {
			b := record.NewEventBuilder(memory.DefaultAllocator, l)
			for _, e := range list {
				e.Time += by
				if err := b.Append(0, &e, graph.IDs{}); err != nil {
					t.Fatal(err)
				}
			}
			moved := b.Record()
			if got := rowsOf(t, op, []arrow.Record{moved}); !slices.Equal(got, want) {
				t.Errorf("layout %d: other rows where times are shifted by %d", i, by)
			}
			moved.Release()
			b.Release()
		}
	}
}

// What Evolve keeps goes by its labeling: the fields are those of Normalize.
func TestEvolveLabelings(t *testing.T) {
	for _, z := range []operators.Normalize{{K: 4, By: labeling.Degree, Mask: true}, {K: 4, Uniform: true, Mask: true}, {K: 4, IgnoreAttributes: true, Mask: true}} {
		for seed := range uint64(6) {
			t.Run(fmt.Sprint(z.By, " ", seed), func(t *testing.T) { evolveIsNormalize(t, eventLayouts[seed%2], z, 0, seed) })
		}
	}
}
