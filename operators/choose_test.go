package operators_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/labeling"
	"github.com/sanflow/sanflow/operators/theta"
	"github.com/sanflow/sanflow/sources"
)

// What Choose says of a stream is what theta.Choose says of its graphs.
func TestChooseReadsTheStream(t *testing.T) {
	var graphs []*graph.Graph
	var items []sources.Item
	for n := range int32(9) {
		var edges []graph.Edge
		for v := range n {
			edges = append(edges, graph.Edge{U: v, V: v + 1}, graph.Edge{U: v / 2, V: v + 1})
		}
		g, err := graph.New(int(n)+1, false, edges)
		if err != nil {
			t.Fatal(err)
		}
		graphs = append(graphs, g)
		items = append(items, sources.Item{Graph: g})
	}
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer mem.AssertSize(t, 0)
	ctx := context.Background()
	o := theta.Options{K: 5, Pairs: 100}
	in := flow.From(sources.Graphs{Items: items}).With(flow.Options{Allocator: mem})
	by, table, err := operators.Choose(ctx, in, nil, o)
	if err != nil {
		t.Fatal(err)
	}
	want, wantTable, err := theta.Choose(ctx, graphs, theta.Default(), o)
	if err != nil || by != want || len(table) != len(wantTable) {
		t.Fatalf("%v of %d, want %v of %d (%v)", by, len(table), want, len(wantTable), err)
	}
	for i := range table {
		if a, b := fmt.Sprint(table[i].Theta), fmt.Sprint(wantTable[i].Theta); a != b {
			t.Errorf("%s: %s, want %s", table[i].Labeling, a, b)
		}
	}
}

func TestChooseErrors(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	in := flow.From(sources.Families{Graphs: 12})
	if _, _, err := operators.Choose(ctx, in, nil, theta.Options{K: -1}); err == nil || !strings.Contains(err.Error(), "K is -1") {
		t.Errorf("bad K: %v", err)
	}
	_, table, err := operators.Choose(ctx, in, []labeling.Labeling{labeling.Auto}, theta.Options{})
	if !errors.Is(err, labeling.ErrAuto) || len(table) != 1 {
		t.Errorf("auto: %v, %v", table, err)
	}
	p := in.Via(operators.Select{W: 3}).Via(operators.Assemble{K: 3}).Via(operators.Normalize{})
	if _, _, err := operators.Choose(ctx, p, nil, theta.Options{}); err == nil || !strings.Contains(err.Error(), "offsets") {
		t.Errorf("no graphs: %v", err)
	}
	cancel()
	if _, _, err := operators.Choose(ctx, in, nil, theta.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// The labeling is chosen first, then the fields are made with it.
func ExampleChoose() {
	graphs := flow.From(sources.Families{Graphs: 60})
	by, table, err := operators.Choose(context.Background(), graphs, nil, theta.Options{K: 5, Pairs: 200})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(table), "labelings compared")
	plan, err := graphs.
		Via(operators.Select{W: 20}).
		Via(operators.Assemble{K: 5}).
		Via(operators.Normalize{By: by}).
		Plan(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(plan)
	// Output:
	// 10 labelings compared
	// families   Families(60 graphs, seed 0)  + graph_id pos offsets neighbors target
	// select     W=20                         + roots
	// assemble   K=5                          + hood dist
	// normalize  By=betweenness               + members  - offsets neighbors hood dist
	// discard
}
