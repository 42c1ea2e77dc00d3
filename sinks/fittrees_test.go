package sinks_test

import (
	"bytes"
	"context"
	"math"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/nn/trees"
	"github.com/sanflow/sanflow/nn/validation"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/count"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

// Rows of unknown classes and numbers are left out of both parts and counted, and the model is that of the others.
func TestFitTreesLeavesOutUnknown(t *testing.T) {
	items, l := explainedGraphs(120)
	for _, real := range []bool{false, true} {
		if l.Real = real; real {
			l.Classes = nil
		}
		var known, all []sources.Item
		for i, item := range items {
			if i%4 == 0 {
				item.Class, item.Value = -1, float32(math.NaN())
			} else {
				known = append(known, item)
			}
			all = append(all, item)
		}
		var files [][]byte
		checked(t, func(o flow.Options) {
			for _, items := range [][]sources.Item{known, all} {
				var recs []arrow.Record
				defer func() {
					for _, rec := range recs {
						rec.Release()
					}
				}()
				rows := func(items []sources.Item) flow.Pipeline {
					b := record.NewBuilder(o.Allocator, l)
					defer b.Release()
					for i, item := range items {
						if err := b.Append(item.Graph, record.Row{ID: int64(i), Pos: int64(i), Class: item.Class, Value: item.Value}); err != nil {
							t.Fatal(err)
						}
					}
					rec := b.Record()
					recs = append(recs, rec)
					return flow.From(flow.Records{Records: []arrow.Record{rec}}).With(o).
						Via(operators.Count{Of: []count.Counter{count.WL{Height: 1}}, DropGraph: true}).Via(operators.Batch{Size: 7})
				}
				m := &trees.Model{Trees: 20}
				valid := rows(items[len(items)*2/3:])
				unknown, err := sinks.FitTrees(context.Background(), m, rows(items[:len(items)*2/3]), &valid)
				if err != nil || unknown != len(items)-90 {
					t.Fatal(unknown, err)
				}
				var file bytes.Buffer
				if err := m.Save(&file); err != nil {
					t.Fatal(err)
				}
				files = append(files, file.Bytes())
			}
		})
		if !bytes.Equal(files[0], files[1]) {
			t.Error("rows without a target change the model")
		}
	}
}

// The number of trees is that of the least loss of the rows to choose by.
func TestFitTreesByLoss(t *testing.T) {
	items, l := explainedGraphs(300)
	for i := range items {
		items[i].Class = min(1, items[i].Class/2)
	}
	l.Classes = l.Classes[:2]
	rows := func(items []sources.Item) flow.Pipeline {
		return flow.From(sources.Graphs{Items: items, Layout: l}).Via(operators.Count{Of: []count.Counter{count.WL{Height: 1}}, DropGraph: true})
	}
	best := func(rounds int) float64 {
		m := &trees.Model{Trees: rounds, Rate: 0.02, MinRows: 2}
		valid := rows(items[200:])
		by := &valid
		if rounds > 0 {
			by = nil
		}
		if _, err := sinks.FitTrees(context.Background(), m, rows(items[:200]), by); err != nil {
			t.Fatal(err)
		}
		var said sinks.Answers
		if err := valid.To(sinks.Predict{Net: m, Each: said.Add}).Run(context.Background()); err != nil {
			t.Fatal(err)
		}
		x, err := validation.LogLoss.Of(&said.Answers)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	got := best(0)
	for n := 1; n < 40; n += 3 { // a fit of n trees is the start of a longer one
		if x := best(n); x < got-1e-6 {
			t.Errorf("%v is chosen, %d trees have %v", got, n, x)
		}
	}
}
