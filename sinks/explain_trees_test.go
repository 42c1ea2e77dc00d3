package sinks_test

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"testing"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/nn/trees"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/count"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

// Explanations of trees add up, to what a model from a file answers, with the words that are not there.
func TestExplainTrees(t *testing.T) {
	items, l := explainedGraphs(300)
	recipe := operators.Recipe{operators.Expect{Layout: l}, operators.Count{Of: []count.Counter{count.WL{Height: 2}}, DropGraph: true}}
	for _, classes := range []int{0, 2, 3} {
		l, some := l, []sources.Item(nil)
		l.Classes = l.Classes[:classes:classes]
		for _, item := range items {
			item.Class = max(0, min(item.Class, int32(classes-1)))
			some = append(some, item)
		}
		if l.Real = classes == 0; l.Real {
			l.Classes = nil
		}
		recipe[0] = operators.Expect{Layout: l}
		rows := func(items []sources.Item) flow.Pipeline {
			return recipe.Onto(flow.From(sources.Graphs{Items: items, Layout: l}))
		}
		m := &trees.Model{Trees: 40, MinRows: 5}
		valid := rows(some[200:])
		if _, err := sinks.FitTrees(context.Background(), m, rows(some[:200]), &valid, ""); err != nil {
			t.Fatal(err)
		}
		var file bytes.Buffer
		if err := m.Save(&file); err != nil {
			t.Fatal(err)
		}
		loaded, err := nn.LoadPredictor(&file)
		if err != nil {
			t.Fatal(err)
		}
		p, err := sinks.NewPredictor(loaded, recipe)
		if err != nil {
			t.Fatal(err)
		}
		absent := 0
		for _, item := range some[:20] {
			e, err := p.Explain(context.Background(), item.Graph, sinks.ExplainOptions{})
			if err != nil {
				t.Fatal(err)
			}
			sums(t, e, l.Classes)
			for _, w := range e.Words {
				if w.Text == sinks.AbsentWords {
					absent++
				}
			}
			if text, err := json.Marshal(e); err != nil || !bytes.Contains(text, []byte(`"columns":[]`)) || math.IsNaN(e.Graph) {
				t.Errorf("%s: %v", text, err)
			}
		}
		if absent == 0 {
			t.Error("no explanation has words that are not there")
		}
		p.Close()
	}
}
