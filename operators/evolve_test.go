package operators_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
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

// randomEvents returns events of a graph of layout l with n nodes.
func randomEvents(l record.Layout, events, n int, seed uint64) (list []event.Event) {
	rng := rand.New(rand.NewPCG(seed, 1))
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
	}
	return list
}

// eventsOf returns the events of a list.
func eventsOf(list []event.Event) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		for _, e := range list {
			if !yield(e, nil) {
				return
			}
		}
	}
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
	{Directed: true, NodeAttr: []record.Channel{{Name: "c"}}, EdgeCat: []record.Channel{{Name: "b", Card: 2}}, EdgeAttr: []record.Channel{{Name: "d"}}},
}

// rowsOf runs Evolve over events and returns its rows.
func rowsOf(t *testing.T, op operators.Evolve, list []event.Event) (rows []string) {
	t.Helper()
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	var out sinks.Collect
	op.Events = eventsOf(list)
	if err := flow.From(op).To(&out).With(flow.Options{Allocator: mem}).Run(context.Background()); err != nil {
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
		} {
			t.Run(fmt.Sprint(i, " every ", op.Every), func(t *testing.T) {
				op.Layout, op.Events = l, eventsOf(randomEvents(l, 60, 12, 3))
				flowtest.RunSource(t, op)
			})
		}
	}
}

// Positions rise by one. A row has the position of the last event before it as graph_id. The rows
// of the first events are those of a stream that ends there.
func TestEvolvePositions(t *testing.T) {
	l := eventLayouts[1]
	list := randomEvents(l, 100, 12, 4)
	for i := range list {
		list[i].Pos = int64(i) * 3
	}
	op := operators.Evolve{Normalize: operators.Normalize{K: 3}, Layout: l, Every: 10, Size: 2, Events: eventsOf(list)}
	var out sinks.Collect
	defer out.Release()
	if err := flow.From(op).To(&out).Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	last := int64(-1)
	for i, rec := range out.Records() {
		pos, err := record.Values[int64](rec, record.Pos)
		if err != nil {
			t.Fatal(err)
		}
		id, err := record.Values[int64](rec, record.GraphID)
		if err != nil {
			t.Fatal(err)
		}
		if len(pos) != 1 || pos[0] != int64(i) || id[0] < last || (id[0]/3+1)%10 != 0 {
			t.Errorf("record %d: positions %v, graphs %v after %d", i, pos, id, last)
		}
		last = id[0]
	}
	if last != 297 {
		t.Errorf("the last row is of event %d, want 297", last)
	}
	whole := rowsOf(t, op, list)
	for _, n := range []int{10, 50, 90} {
		part := rowsOf(t, op, list[:n])
		if len(part) == 0 || !slices.Equal(part, whole[:len(part)]) {
			t.Errorf("%d events: %d rows differ from the first of all", n, len(part))
		}
	}
}

// The rows that Evolve emitted last for each root are those that Normalize makes of the
// graph as it is at the end.
func TestEvolveIsNormalize(t *testing.T) {
	defer leak.VerifyNone(t, leak.IgnoreCurrent())
	for i, l := range eventLayouts {
		for _, last := range []int{0, 30} {
			evolveIsNormalize(t, l, operators.Normalize{K: 4, Edges: true, Mask: true, Distances: 3}, last, uint64(i))
		}
	}
}

func evolveIsNormalize(t *testing.T, l record.Layout, z operators.Normalize, last int, seed uint64) {
	t.Helper()
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	events := randomEvents(l, 200, 25, seed)
	var got, want sinks.Collect
	run := func(p flow.Pipeline) {
		t.Helper()
		if err := p.With(flow.Options{Allocator: mem}).Run(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	run(flow.From(operators.Evolve{Normalize: z, Events: eventsOf(events), Layout: l, Every: 11, Size: 4, Last: last}).To(&got))
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
			t.Errorf("seed %d, window %d, root %d: %s, want %s", seed, last, v, have[v], wanted[v])
		}
	}
	whole.Release()
	got.Release()
	want.Release()
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
		mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
		op := operators.Evolve{
			Normalize: operators.Normalize{K: 4, Edges: true},
			Events:    eventsOf(randomEvents(l, 300, 25, uint64(i))), Layout: l, Every: 7, Size: 3,
		}
		var want []string
		for workers := 1; workers <= 3; workers++ {
			var out sinks.Collect
			if err := flow.From(op).Via(operators.PerRoot{}).To(&out).
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
				t.Errorf("layout %d: %d rows of %d workers differ from %d of one", i, len(got), workers, len(want))
			}
		}
		mem.AssertSize(t, 0)
	}
}

func TestEvolveRefuses(t *testing.T) {
	k3 := operators.Normalize{K: 3}
	for _, c := range []struct {
		op   operators.Evolve
		want string
	}{
		{operators.Evolve{}, "K is 0"},
		{operators.Evolve{Normalize: operators.Normalize{K: 3, Bound: 4}}, "Bound is set"},
		{operators.Evolve{Normalize: operators.Normalize{K: 3, Global: true}}, "Global is set"},
		{operators.Evolve{Normalize: operators.Normalize{K: 3, Suffix: "_a"}}, "Suffix"},
		{operators.Evolve{Normalize: k3, Every: -1}, "Every is -1"},
		{operators.Evolve{Normalize: k3, Last: 1, Within: 1}, "both Last and Within"},
		{operators.Evolve{Normalize: k3, Layout: record.Layout{NodeIDs: graph.StringIDs}}, "NodeIDs"},
		{operators.Evolve{Normalize: operators.Normalize{K: 3, MemberIDs: true}}, "MemberIDs"},
	} {
		c.op.Events = eventsOf(nil)
		if _, err := c.op.Open(context.Background(), memory.DefaultAllocator); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.op.Normalize, err, c.want)
		}
	}
	if _, err := (operators.Evolve{Normalize: k3}).Open(context.Background(), memory.DefaultAllocator); err == nil || !strings.Contains(err.Error(), "Events is nil") {
		t.Errorf("without events: %v", err)
	}
}

// An event that breaks the rules ends the run with an error that has its position.
func TestEvolveBadEvent(t *testing.T) {
	defer leak.VerifyNone(t, leak.IgnoreCurrent())
	l := eventLayouts[1]
	for want, bad := range map[string]event.Event{
		"event 7: add_edge: source is node -3":                  {Source: -3, Cat: []int32{0}},
		`event 7: add_edge: attribute "b" is 7, want 0 to 1`:    {Target: 2, Cat: []int32{7}},
		"event 7: set_class: the class of node 0 is 2, want -1": {Kind: event.SetClass, Class: 2},
		"event 7: kind is 77":                                   {Kind: 77},
		"event 7: add_edge: node 1073741824":                    {Target: 1 << 30, Cat: []int32{0}},
		"the stream breaks":                                     {Kind: 99},
	} {
		bad.Pos = 7
		mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
		op := operators.Evolve{Normalize: operators.Normalize{K: 3}, Layout: l, Every: 1, Events: func(yield func(event.Event, error) bool) {
			if !yield(event.Event{Target: 1, Cat: []int32{0}}, nil) {
				return
			}
			if bad.Kind == 99 {
				yield(event.Event{}, errors.New(want))
				return
			}
			yield(bad, nil)
		}}
		var out sinks.Collect
		err := flow.From(op).To(&out).With(flow.Options{Allocator: mem}).Run(context.Background())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		out.Release()
		mem.AssertSize(t, 0)
	}
}

// Evolve emits the same fields wherever the origin of time is.
func TestEvolveOriginOfTime(t *testing.T) {
	for i, l := range eventLayouts[:2] {
		list := randomEvents(l, 80, 9, uint64(i))
		op := operators.Evolve{Normalize: operators.Normalize{K: 3}, Layout: l, Size: 4, Every: 5, Within: 12}
		want := rowsOf(t, op, list)
		for _, by := range []int64{1e9, -1e9, -40, math.MinInt64, math.MaxInt64 - 80} {
			moved := slices.Clone(list)
			for i := range moved {
				moved[i].Time += by
			}
			if got := rowsOf(t, op, moved); !slices.Equal(got, want) {
				t.Errorf("layout %d: other rows where times are shifted by %d", i, by)
			}
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
