package sinks_test

import (
	"context"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/labeling"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

// rings is two classes of rings which differ in an attribute of their edges and
// in nothing else, discrete or continuous.
func rings(t *testing.T, discrete bool) flow.Pipeline {
	t.Helper()
	var items []sources.Item
	for i := range 40 {
		n, class := int32(5+i/2%3), int32(i%2)
		var edges []graph.Edge
		for v := range n {
			edges = append(edges, graph.Edge{U: v, V: (v + 1) % n})
		}
		g, err := graph.New(int(n), false, edges)
		if err != nil {
			t.Fatal(err)
		}
		g.NodeCats, g.NodeCat = 1, make([]int32, n)
		for range g.Neighbors {
			if discrete {
				g.EdgeCats, g.EdgeCat = 1, append(g.EdgeCat, class)
			} else {
				g.EdgeAttrs, g.EdgeAttr = 1, append(g.EdgeAttr, float32(class)-0.5)
			}
		}
		items = append(items, sources.Item{Graph: g, Class: class})
	}
	return flow.From(sources.Graphs{Items: items}).
		Via(operators.Select{W: 6, By: labeling.Degree}).
		Via(operators.Assemble{K: 4})
}

// If the stream has edges a model reads them, and can tell the rings apart;
// where it has none, it cannot.
func TestEdges(t *testing.T) {
	for _, discrete := range []bool{true, false} {
		for _, edges := range []bool{true, false} {
			checked(t, func(o flow.Options) {
				net := &nn.CNN{Seed: 1, Dropout: -1, Optimizer: nn.RMSprop{Rate: 5e-3}}
				stream := rings(t, discrete).Via(operators.Normalize{Edges: edges}).With(o)
				err := stream.Via(operators.Replay{Epochs: 10, Rows: 8}).To(sinks.Train{Net: net}).Run(context.Background())
				if err != nil {
					t.Fatal(err)
				}
				right := 0
				err = stream.To(sinks.Predict{Net: net, Each: func(p sinks.Prediction) error {
					if p.Class == p.Target {
						right++
					}
					return nil
				}}).Run(context.Background())
				if err != nil {
					t.Fatal(err)
				}
				if want := map[bool]int{true: 40, false: 20}[edges]; right != want {
					t.Errorf("discrete %t, edges %t: %d of 40 right, want %d", discrete, edges, right, want)
				}
			})
		}
	}
}

func TestEdgesOfAnotherModel(t *testing.T) {
	net := &nn.CNN{}
	if err := net.Init(nn.Shape{W: 6, K: 4, Cats: []int{1}, Classes: 2}); err != nil {
		t.Fatal(err)
	}
	checked(t, func(o flow.Options) {
		err := rings(t, true).Via(operators.Normalize{Edges: true}).With(o).To(sinks.Train{Net: net}).Run(context.Background())
		if err == nil || !strings.Contains(err.Error(), "the model is for 0 discrete edge channels, the data have 1") {
			t.Errorf("%v", err)
		}
	})
}

// TestShapeWidth refuses a column whose type is not as wide as the shape in its metadata,
// before the first record.
func TestShapeWidth(t *testing.T) {
	for _, name := range []string{record.NodesCat, record.Edges} {
		f := record.TensorField[int32](record.NodesCat, []int{2, 3, 1}, []record.Channel{{Name: "x", Card: 2}})
		fields := []arrow.Field{f, record.TensorField[float32](record.Edges, []int{2, 3, 3, 1}, nil)}
		for i := range fields {
			if fields[i].Name == name {
				fields[i].Type = arrow.FixedSizeListOf(5, fields[i].Type.(*arrow.FixedSizeListType).Elem())
			}
		}
		if _, err := sinks.Shape(arrow.NewSchema(fields, nil)); err == nil || !strings.Contains(err.Error(), "has 5 values a row, want") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
