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
	"github.com/sanflow/sanflow/operators/labeling"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

// TestChannelAdds reads the labels back, beside attributes that were there.
func TestChannelAdds(t *testing.T) {
	recs := flowtest.Sample(memory.DefaultAllocator)
	defer func() {
		for _, rec := range recs {
			rec.Release()
		}
	}()
	var out sinks.Collect
	defer out.Release()
	err := flow.From(sources.Records{Records: recs}).
		Via(operators.Channel{By: labeling.Degree}).
		Via(operators.Channel{By: labeling.Clustering}).
		To(&out).Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for i, rec := range out.Records() {
		gs, err := record.GraphsOf(rec)
		if err != nil {
			t.Fatal(err)
		}
		before, err := record.GraphsOf(recs[i])
		if err != nil {
			t.Fatal(err)
		}
		want := []record.Channel{{Name: "x"}, {Name: "y"}, {Name: "degree"}, {Name: "clustering"}}
		if !slices.EqualFunc(gs.Layout.NodeAttr, want, record.Channel.Equal) {
			t.Errorf("the channels are %v", gs.Layout.NodeAttr)
		}
		var g, old graph.Graph
		for row := range gs.Len() {
			gs.At(row, &g)
			before.At(row, &old)
			clustering := make([]float64, g.N())
			if err := labeling.Compute(labeling.Clustering, labeling.Input{Graph: &old}, clustering); err != nil {
				t.Fatal(err)
			}
			for v := range g.N() {
				d, c := float32(old.Degree(int32(v))), float32(clustering[v])
				if want := []float32{old.NodeAttr[2*v], old.NodeAttr[2*v+1], d, c}; !slices.Equal(g.NodeAttr[4*v:4*v+4], want) {
					t.Errorf("graph %d, node %d: %v, want %v", gs.ID(row), v, g.NodeAttr[4*v:4*v+4], want)
				}
			}
			if !slices.Equal(g.NodeCat, old.NodeCat) || !slices.Equal(g.EdgeAttr, old.EdgeAttr) {
				t.Errorf("graph %d: other attributes have changed", gs.ID(row))
			}
		}
	}
}

// huge is a labeling beyond float32.
type huge float64

func (huge) String() string { return "huge" }

func (h huge) Label(in labeling.Input, labels []float64) error {
	for v := range labels {
		labels[v] = float64(h)
	}
	return nil
}
