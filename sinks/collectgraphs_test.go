package sinks_test

import (
	"context"
	"testing"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/flowtest"
	"github.com/sanflow/sanflow/nn/graphkernel"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

// Graphs of the stream come out as the walks take them, in order.
func TestCollectGraphs(t *testing.T) {
	recs := flowtest.Sample(flowtest.Mem(t))
	defer func() {
		for _, rec := range recs {
			rec.Release()
		}
	}()
	var all sinks.CollectGraphs
	if err := flow.From(sources.Records{Records: recs}).To(&all).Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	if len(all.Graphs) != 12 || len(all.Class) != 12 || all.Graph[3] != 103 {
		t.Fatalf("%d graphs, %d classes, ids %v", len(all.Graphs), len(all.Class), all.Graph)
	}
	for i, g := range all.Graphs {
		if len(g.Nodes) != g.N() || len(g.Edges) != len(g.Neighbors) {
			t.Errorf("graph %d of %d nodes has %d labels of nodes and %d of edges", i, g.N(), len(g.Nodes), len(g.Edges))
		}
	}
	gram, err := graphkernel.Walks{Decay: 1e-2}.Gram(context.Background(), all.Graphs)
	if err != nil {
		t.Fatal(err)
	}
	// One node has one pair with itself and no walk beyond; a graph without nodes
	// is like none.
	if gram.K[3*12+3] != 1 || gram.K[5*12+5] != 0 || gram.K[5*12+3] != 0 {
		t.Errorf("%v, %v, %v", gram.K[3*12+3], gram.K[5*12+5], gram.K[5*12+3])
	}
}
