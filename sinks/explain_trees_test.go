package sinks_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/nn/trees"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/count"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

// sized adds the numbers of nodes and of edges to the columns of a row; a graph of an odd number of edges has none.
type sized struct{}

func (sized) Open(in *arrow.Schema) (flow.Stage, error) {
	schema, err := record.Extend(in, record.ColumnsField([]string{"nodes", "edges"}))
	return sizer{schema}, err
}

type sizer struct{ schema *arrow.Schema }

func (s sizer) Schema() *arrow.Schema { return s.schema }
func (s sizer) Fork() flow.Stage      { return s }

func (s sizer) Process(rec arrow.Record, out *flow.Out) error {
	graphs, err := record.GraphsOf(rec)
	if err != nil {
		return err
	}
	columns := record.NewFixed[float32](out.Allocator(), 2)
	defer columns.Release()
	var g graph.Graph
	for row := range graphs.Len() {
		graphs.At(row, &g)
		x := columns.Grow(1)
		x[0], x[1] = float32(g.N()), float32(g.M())
		if g.M()%2 == 1 {
			x[1] = float32(math.NaN())
		}
	}
	with, err := record.Project(s.schema, rec, map[string]arrow.Array{record.RowColumns: columns.Finish()})
	if err != nil {
		return err
	}
	return out.Emit(with)
}

// Columns have their value, nil where it is missing, and their weight, beside words and alone, and all parts add up.
func TestExplainColumns(t *testing.T) {
	items, l := explainedGraphs(200)
	for name, rest := range map[string]operators.Recipe{
		"beside words": {operators.Count{Of: []count.Counter{count.Labels{}}, DropGraph: true}}, "alone": {operators.Roots{Nodes: []int32{0}}},
	} {
		for _, bag := range []bool{false, true} {
			recipe := append(operators.Recipe{operators.Expect{Layout: l}, sized{}}, rest...)
			m := &trees.Model{Trees: 20, MinRows: 3, Bag: bag}
			if _, err := sinks.FitTrees(context.Background(), m, recipe.Onto(flow.From(sources.Graphs{Items: items, Layout: l})), nil); err != nil {
				t.Fatal(err)
			}
			p, err := sinks.NewPredictor(m, recipe)
			if err != nil {
				t.Fatal(err)
			}
			for _, item := range items[:20] {
				e, err := p.Explain(context.Background(), item.Graph, sinks.ExplainOptions{})
				if err != nil {
					t.Fatal(name, err)
				}
				sums(t, e, l.Classes)
				odd := item.Graph.M()%2 == 1
				if len(e.Columns) != 2 || e.Columns[0].Name != "nodes" || *e.Columns[0].Value != float64(item.Graph.N()) || (e.Columns[1].Value == nil) != odd ||
					!odd && *e.Columns[1].Value != float64(item.Graph.M()) || e.Columns[1].Weight == 0 || (len(e.Words) > 0) != (name != "alone") {
					t.Errorf("%s: columns %+v, %d words", name, e.Columns, len(e.Words))
				}
			}
			p.Close()
		}
	}
}

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
		if _, err := sinks.FitTrees(context.Background(), m, rows(some[:200]), &valid); err != nil {
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

// The parts of the mean of a linear model and of trees add up to its answer, behind a temperature and a prior too, with numbers of
// graphs that the trees read as columns and the linear model as words of intervals.
func TestExplainMean(t *testing.T) {
	ctx := context.Background()
	items, l := explainedGraphs(300)
	for _, classes := range []int{0, 2, 3} {
		for _, numbers := range []bool{false, true} {
			l, some := l, []sources.Item(nil)
			l.Classes = l.Classes[:classes:classes]
			for _, item := range items {
				item.Class, item.Value = max(0, min(item.Class, int32(classes-1))), float32(item.Graph.N())
				some = append(some, item)
			}
			if l.Real = classes == 0; l.Real {
				l.Classes = nil
			}
			recipe := operators.Recipe{operators.Expect{Layout: l}}
			if numbers {
				recipe = append(recipe, sized{})
			}
			recipe = append(recipe, operators.Count{Of: []count.Counter{count.WL{Height: 2}}, DropGraph: true})
			if numbers {
				recipe = append(recipe, operators.Intervals{Names: []string{"nodes", "edges"}, Cuts: []count.Cuts{{10, 20}, {10, 20}}})
			}
			rows := recipe.Onto(flow.From(sources.Graphs{Items: some, Layout: l}))
			boosted, bagged, words := &trees.Model{Trees: 20, MinRows: 5}, &trees.Model{Bag: true, Trees: 10}, &nn.Logistic{Kernel: nn.Min, Heads: 2}
			for _, m := range []*trees.Model{boosted, bagged} {
				if _, err := sinks.FitTrees(ctx, m, rows, nil); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := (sinks.Fit{Net: words, Epochs: 5}).Run(ctx, rows); err != nil {
				t.Fatal(err)
			}
			mean := &nn.Ensemble{Nets: []nn.Predictor{boosted, words, bagged}}
			if classes > 0 {
				if err := errors.Join(sinks.Temperature(1.7).Keep(mean), sinks.Prior([]float64{0.2, 0.5, 0.3}[3-classes:]).Keep(mean)); err != nil {
					t.Fatal(err)
				}
			}
			p, err := sinks.NewPredictor(mean, recipe)
			if err != nil {
				t.Fatal(err)
			}
			for _, item := range some[:20] {
				e, err := p.Explain(ctx, item.Graph, sinks.ExplainOptions{})
				if err != nil {
					t.Fatal(err)
				}
				if sums(t, e, l.Classes); e.Method != "exact" || e.Bias == 0 || (len(e.Columns) == 2) != numbers {
					t.Errorf("%d classes: method %q, bias %v, columns %+v", classes, e.Method, e.Bias, e.Columns)
				}
			}
			p.Close()
		}
	}
}
