package operators

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/operators/field"
)

// ringRecord is a record with a ring of n nodes in one row, in memory of its own.
func ringRecord(t *testing.T, mem memory.Allocator, n int32) arrow.Record {
	t.Helper()
	var edges []graph.Edge
	for v := range n {
		edges = append(edges, graph.Edge{U: v, V: (v + 1) % n})
	}
	g, err := graph.New(int(n), false, edges)
	if err != nil {
		t.Fatal(err)
	}
	b := record.NewBuilder(mem, record.Layout{})
	if err := b.Append(g, record.Row{}); err != nil {
		t.Fatal(err)
	}
	return b.Record()
}

// Five workers that meet rows of two graphs, one after the other, make two
// indexes; and the memory of a graph is held as long as a worker compares with
// it, and no longer.
func TestIndexerShares(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer mem.AssertSize(t, 0)
	shared := &sharedGraphs{}
	var built atomic.Int64
	build := func(ix *field.Index, g *graph.Graph) {
		built.Add(1)
		ix.Reset(g, field.Both)
	}
	workers := make([]*indexer, 5)
	for i := range workers {
		workers[i] = &indexer{shared: shared}
	}
	for round := range int64(2) {
		rec := ringRecord(t, mem, 100)
		var wait sync.WaitGroup
		for _, x := range workers {
			wait.Go(func() {
				for range 20 { // chunks
					chunk := rec.NewSlice(0, 1)
					gs, err := record.GraphsOf(chunk)
					if err != nil {
						t.Error(err)
						return
					}
					var g graph.Graph
					gs.At(0, &g)
					if ix, s := x.of(&g, chunk, nil, build); ix.Graph().N() != 100 || s == nil || !s.graph.Same(&g) {
						t.Error("the index is not that of the graph")
					}
					chunk.Release()
				}
			})
		}
		wait.Wait()
		rec.Release()
		if built.Load() != round+1 || len(shared.list) != 1 {
			t.Errorf("round %d: %d indexes made, %d graphs held", round, built.Load(), len(shared.list))
		}
		if mem.CurrentAlloc() == 0 {
			t.Error("the graph is not held")
		}
	}
	// A record of several rows is a part of a collection.
	var g graph.Graph
	rec := ringRecord(t, mem, 5)
	defer rec.Release()
	both, err := record.Take(mem, []arrow.Record{rec}, []record.Ref{{}, {}})
	if err != nil {
		t.Fatal(err)
	}
	defer both.Release()
	gs, err := record.GraphsOf(both)
	if err != nil {
		t.Fatal(err)
	}
	gs.At(1, &g)
	if _, s := workers[0].of(&g, both, nil, build); s != nil || workers[0].held != nil {
		t.Error("a graph of a collection is shared")
	}
	// So is a small graph, unless more than its index is to be shared.
	small := rec.NewSlice(0, 1)
	defer small.Release()
	if gs, err = record.GraphsOf(small); err != nil {
		t.Fatal(err)
	}
	gs.At(0, &g)
	if ix, s := workers[1].of(&g, small, nil, build); s != nil || workers[1].held != nil || ix.Graph().N() != 5 {
		t.Error("a small graph is shared, or its index is another one's")
	}
	workers[1].always = true
	if _, s := workers[1].of(&g, small, nil, build); s == nil {
		t.Error("a small graph is not shared")
	}
	for _, x := range workers {
		x.release()
	}
	if len(shared.list) != 0 {
		t.Errorf("%d graphs are still held", len(shared.list))
	}
}

// Graphs keeps the index of a graph between runs, until another graph comes or Close; the rows are
// those of runs without it.
func TestGraphs(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer mem.AssertSize(t, 0)
	one, two := ringRecord(t, mem, 100), ringRecord(t, mem, 200)
	defer one.Release()
	defer two.Release()
	run := func(rec arrow.Record, keep *Graphs) string {
		var members []int32
		op := flow.Operator(Normalize{K: 5, Bound: 6})
		if keep != nil {
			op = keep.Normalize(Normalize{K: 5, Bound: 6})
		}
		p := flow.From(flow.Records{Records: []arrow.Record{rec}}).Via(Select{W: 4}).Via(op)
		err := p.Via(seenMembers(func(v []int32) { members = append(members, v...) })).With(flow.Options{Allocator: mem, Workers: 2}).Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(members)
	}
	keep := &Graphs{}
	var kept []*sharedGraph
	for _, rec := range []arrow.Record{one, one, two, one} {
		if got, want := run(rec, keep), run(rec, nil); got != want || len(got) < 40 {
			t.Errorf("fields %s, want %s", got, want)
		}
		if len(keep.shared.list) != 1 {
			t.Fatalf("%d graphs are kept, want 1", len(keep.shared.list))
		}
		kept = append(kept, keep.shared.list[0])
	}
	if kept[0] != kept[1] || kept[1] == kept[2] || kept[2] == kept[3] {
		t.Error("the second run has built the index again, or another graph has the index of the first")
	}
	keep.Close()
}

// seenMembers is an operator that sees the members of fields.
type seenMembers func([]int32)

func (s seenMembers) Open(in *arrow.Schema) (flow.Stage, error) { return membersStage{s, in}, nil }

type membersStage struct {
	see seenMembers
	in  *arrow.Schema
}

func (s membersStage) Schema() *arrow.Schema { return s.in }
func (s membersStage) Process(rec arrow.Record, out *flow.Out) error {
	v, _, err := record.FixedValues[int32](rec, record.Members)
	s.see(v)
	rec.Retain()
	return errors.Join(err, out.Emit(rec))
}
