package operators_test

import (
	"context"
	"slices"
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

// The sets of the members and the classes of the roots are those of the nodes,
// also behind operators that hold and mix rows.
func TestNormalizeSparse(t *testing.T) {
	mem := memory.NewCheckedAllocator(record.Poison{})
	defer mem.AssertSize(t, 0)
	recs := flowtest.Sample(memory.DefaultAllocator)
	graphs := map[int64]*graph.Graph{}
	classes := map[int64][]int32{}
	for _, rec := range recs {
		defer rec.Release()
		gs, err := record.GraphsOf(rec)
		if err != nil {
			t.Fatal(err)
		}
		for row := range gs.Len() {
			g := &graph.Graph{}
			gs.At(row, g)
			graphs[gs.ID(row)], classes[gs.ID(row)] = g, gs.NodeClass(row)
		}
	}
	const w, k = 4, 3
	var out sinks.Collect
	err := flow.From(sources.Records{Records: recs}).
		Via(operators.Select{W: w}).Via(operators.Assemble{K: k}).Via(operators.Normalize{}).
		Via(operators.Shuffle{Size: 5, Seed: 1}).Via(operators.Replay{Epochs: 2}).Via(operators.Batch{Size: 7}).
		To(&out).With(flow.Options{Allocator: mem}).Run(context.Background())
	defer out.Release()
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, rec := range out.Records() {
		c, err := record.SparseChannel(rec.Schema(), record.NodesSparse)
		if err != nil || !c.Equal(flowtest.Layout.NodeSparse) {
			t.Fatalf("%v, %v", c, err)
		}
		for _, gone := range []string{record.NodeSparse, record.NodeTarget} {
			if rec.Schema().HasField(gone) {
				t.Errorf("column %s is still there", gone)
			}
		}
		ids, err := record.Values[int64](rec, record.GraphID)
		if err != nil {
			t.Fatal(err)
		}
		members, _, err := record.FixedValues[int32](rec, record.Members)
		if err != nil {
			t.Fatal(err)
		}
		sets, err := record.NestedOf[int32](rec, record.NodesSparse)
		if err != nil {
			t.Fatal(err)
		}
		targets, err := record.ListsOf[int32](rec, record.RootTarget)
		if err != nil {
			t.Fatal(err)
		}
		for row, id := range ids {
			seen++
			if sets.RowLen(row) != w*k || len(targets.Row(row)) != w {
				t.Fatalf("%d sets and %d targets", sets.RowLen(row), len(targets.Row(row)))
			}
			for i, v := range members[row*w*k : (row+1)*w*k] {
				var set []int32
				class := int32(-1)
				if v >= 0 {
					set, class = graphs[id].Sparse(v), classes[id][v]
				}
				if !slices.Equal(sets.At(row, i), set) {
					t.Errorf("graph %d, cell %d, node %d: the set is %v, want %v", id, i, v, sets.At(row, i), set)
				}
				if i%k == 0 && targets.Row(row)[i/k] != class {
					t.Errorf("graph %d, root %d: the class is %d, want %d", id, v, targets.Row(row)[i/k], class)
				}
			}
		}
		if ends, values := sets.All(); len(ends) != len(ids)*w*k+1 || int(ends[len(ends)-1]) > len(values) {
			t.Errorf("%d ends", len(ends))
		}
	}
	if seen != 2*len(graphs) {
		t.Errorf("%d rows, want %d", seen, 2*len(graphs))
	}
}
