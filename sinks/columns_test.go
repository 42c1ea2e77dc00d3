package sinks_test

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

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

// numberedRows returns records of 10 graphs each with two numbers, "size" and "known". The class is whether known is missing.
func numberedRows(t *testing.T, mem memory.Allocator, n int) flow.Records {
	t.Helper()
	var recs []arrow.Record
	b := record.NewBuilder(mem, record.Layout{Classes: []string{"given", "missing"}})
	defer b.Release()
	columns := record.NewFixed[float32](mem, 2)
	defer columns.Release()
	for i := range n {
		g, err := graph.New(3+i%3, false, []graph.Edge{{U: 0, V: 1}})
		if err != nil {
			t.Fatal(err)
		}
		r := record.Row{ID: int64(i), Pos: int64(i), Class: int32(i * i % 7 % 2)}
		x := []float32{float32(i % 5), float32(i % 11)}
		if r.Class == 1 {
			x[1] = float32(math.NaN())
		}
		copy(columns.Grow(1), x)
		if err := b.Append(g, r); err != nil {
			t.Fatal(err)
		}
		if b.Rows() < 10 && i < n-1 {
			continue
		}
		rec := b.Record()
		schema, err := record.Extend(rec.Schema(), record.ColumnsField([]string{"size", "known"}))
		if err != nil {
			t.Fatal(err)
		}
		with, err := record.Project(schema, rec, map[string]arrow.Array{record.RowColumns: columns.Finish()})
		rec.Release()
		if err != nil {
			t.Fatal(err)
		}
		recs = append(recs, with)
	}
	return flow.Records{Records: recs}
}

// Counts and columns of a row reach trees together, through the stages between, and a missing number stays one.
func TestTreesLearnFromColumns(t *testing.T) {
	for name, counts := range map[string]operators.Recipe{
		"columns": {operators.Roots{Nodes: []int32{0}}}, "counts and columns": {operators.Count{Of: []count.Counter{count.WL{Height: 1}}, DropGraph: true}},
	} {
		checked(t, func(o flow.Options) {
			rows := numberedRows(t, o.Allocator, 200)
			defer func() {
				for _, rec := range rows.Records {
					rec.Release()
				}
			}()
			p := counts.Onto(flow.From(rows).With(o)).Via(operators.Shuffle{Rows: 50, Seed: 1}).
				Via(operators.Replay{Epochs: 2, Rows: 32}).Via(operators.Batch{Size: 7})
			m := &trees.Model{Trees: 10, MinRows: 1}
			if _, err := sinks.FitTrees(context.Background(), m, p, nil); err != nil {
				t.Fatal(name, err)
			}
			if got := m.Shape(); !slices.Equal(got.Columns, []string{"size", "known"}) || (len(got.Counts) == 1) != (name != "columns") {
				t.Errorf("%s: the model reads %+v", name, got)
			}
			n := 0
			err := p.To(sinks.Predict{Net: m, Each: func(p sinks.Prediction) error {
				if n++; p.Class != p.Target {
					t.Errorf("%s: graph %d is of class %d, predicted %d", name, p.Graph, p.Target, p.Class)
				}
				return nil
			}}).Run(context.Background())
			if err != nil || n != 400 {
				t.Fatalf("%s: %d rows, %v", name, n, err)
			}
		})
	}
}

// The weight of a number is that of its intervals in a linear model, and what trees say of it; with words, nodes and edges they add up.
func TestExplainIntervals(t *testing.T) {
	items, l := explainedGraphs(300)
	l.NodeAttr = []record.Channel{{Name: "age"}}
	for i, item := range items {
		g := item.Graph
		g.NodeAttrs = 1
		for v := range g.N() {
			age := float32((i*7+v*11)%13) / 4
			if v%5 == 4 {
				age = float32(math.NaN())
			}
			g.NodeAttr = append(g.NodeAttr, age)
		}
	}
	recipe := operators.Recipe{
		operators.Expect{Layout: l}, operators.Describe{}, operators.Count{Of: []count.Counter{count.WL{Height: 2}}, DropGraph: true},
	}
	src := flow.From(sources.Graphs{Items: items, Layout: l})
	var rows sinks.Collect
	defer rows.Release()
	if err := recipe.Onto(src).To(&rows).Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	intervals, err := operators.IntervalsOf(rows.Records()...)
	if err != nil {
		t.Fatal(err)
	}
	read := append(slices.Clone(recipe), intervals)
	net := nn.Best()
	if _, err := (sinks.Fit{Net: net, Epochs: 5, Last: true}).Run(context.Background(), read.Onto(src)); err != nil {
		t.Fatal(err)
	}
	m := &trees.Model{Trees: 20, MinRows: 5}
	if _, err := sinks.FitTrees(context.Background(), m, recipe.Onto(src), nil); err != nil {
		t.Fatal(err)
	}
	for name, p := range map[string]*sinks.Predictor{"linear": predictorOf(t, net, read), "trees": predictorOf(t, m, recipe)} {
		for _, item := range items[:10] {
			e, err := p.Explain(context.Background(), item.Graph, sinks.ExplainOptions{})
			if err != nil {
				t.Fatal(err)
			}
			sums(t, e, l.Classes)
			weighty := 0
			for i, c := range e.Columns {
				if c.Name != intervals.Names[i] || c.Name == "nodes" && *c.Value != float64(item.Graph.N()) {
					t.Errorf("%s: column %d is %+v", name, i, c)
				}
				if c.Weight != 0 {
					weighty++
				}
			}
			if len(e.Columns) != len(intervals.Names) || weighty == 0 {
				t.Errorf("%s: %d of %d columns have weights, want some of %d", name, weighty, len(e.Columns), len(intervals.Names))
			}
			for _, w := range e.Words {
				if len(w.Text) > 2 && w.Text[:2] == "0x" {
					t.Errorf("%s: a word has no name: %+v", name, w)
				}
			}
		}
		p.Close()
	}
}

func predictorOf(t *testing.T, net nn.Predictor, r operators.Recipe) *sinks.Predictor {
	t.Helper()
	p, err := sinks.NewPredictor(net, r)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
