package operators_test

import (
	"slices"
	"testing"

	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/flowtest"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/sinks"
)

// The attributes of graphs are scaled to the values that the fields made of them are.
func TestStandardizeGraphs(t *testing.T) {
	scale := operators.Standardize{Mean: []float32{1, -2}, Std: []float32{0.5, 0}}
	fields := operators.Recipe{operators.Roots{Nodes: []int32{0}}, operators.Normalize{K: 2, IgnoreAttributes: true}}
	var rows [2][]float32
	for i, r := range []operators.Recipe{append(operators.Recipe{scale}, fields...), append(fields[:2:2], scale)} {
		recs := flowtest.Sample(memory.DefaultAllocator)[:1]
		var got sinks.Collect
		if err := r.Onto(flow.From(flow.Records{Records: recs})).To(&got).Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, rec := range got.Records() {
			x, _, err := record.FixedValues[float32](rec, record.Nodes)
			if err != nil {
				t.Fatal(err)
			}
			rows[i] = append(rows[i], x...)
		}
		got.Release()
	}
	// Node 0 of the path of five: attributes 0 and 1.
	if !slices.Equal(rows[0], rows[1]) || rows[0][0] != -2 || rows[0][1] != 3 {
		t.Errorf("%v, want %v", rows[0], rows[1])
	}
}

// A finite attribute far from those of the moments stays finite.
func TestStandardizeOutliers(t *testing.T) {
	scale := operators.Standardize{Mean: []float32{-3e38, 0}, Std: []float32{1e-3, 1e-38}}
	recs := flowtest.Sample(memory.DefaultAllocator)[:1]
	var got sinks.Collect
	defer got.Release()
	if err := (operators.Recipe{scale}).Onto(flow.From(flow.Records{Records: recs})).To(&got).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	var g graph.Graph
	gs, err := record.GraphsOf(got.Records()[0])
	if err != nil {
		t.Fatal(err)
	}
	gs.At(0, &g)
	if g.NodeAttr[0] != 1e6 || g.NodeAttr[1] != 1e6 {
		t.Errorf("%v, want at most 1e6", g.NodeAttr)
	}
}
