package sources_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/sources"
)

// counted passes a record times times, and counts the records that come in.
type counted struct {
	times int
	count *int
	in    *arrow.Schema
}

func (c counted) Open(in *arrow.Schema) (flow.Stage, error) {
	c.in = in
	return c, nil
}

func (c counted) Schema() *arrow.Schema { return c.in }

func (c counted) Process(rec arrow.Record, out *flow.Out) error {
	*c.count++
	out.Note("counted", 1)
	for range c.times {
		rec.Retain()
		if err := out.Emit(rec); err != nil {
			return err
		}
	}
	return nil
}

// Operators of Rooted.Once run once for each graph that has rows, and the rows are those of the operators behind the source.
func TestRootedOnce(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer mem.AssertSize(t, 0)
	src := sources.Rooted{Layout: record.Layout{Classes: []string{"a", "b"}}}
	for i, roots := range [][]int32{{2, 0, 1}, {}, {1}, {0, 3}} {
		g, err := graph.New(4, false, []graph.Edge{{U: 0, V: int32(i%3) + 1}})
		if err != nil {
			t.Fatal(err)
		}
		one := sources.RootedGraph{Graph: g, Roots: roots}
		for _, v := range roots {
			one.Target = append(one.Target, v%2)
		}
		src.Graphs = append(src.Graphs, one)
	}
	read := func(src flow.Source) (rows []arrow.Record, err error) {
		r, err := src.Open(t.Context(), mem)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { err = errors.Join(err, r.Close()) }()
		for {
			rec, err := r.Next(t.Context())
			if err == io.EOF {
				return rows, nil
			} else if err != nil {
				return rows, err
			}
			rows = append(rows, rec)
		}
	}
	want, err := read(src)
	defer record.Release(want)
	if err != nil || len(want) != 6 {
		t.Fatal(len(want), "rows", err)
	}
	count := 0
	src.Once = []flow.Operator{counted{times: 1, count: &count}, counted{times: 1, count: &count}}
	rows, err := read(src)
	defer record.Release(rows)
	run := flow.From(src).To(flow.Each("rows", func(context.Context, arrow.Record) error { return nil })).Start(t.Context())
	if err := run.Wait(); err != nil || run.Stats().Stages[0].Notes["counted"] != 2*3 {
		t.Errorf("the source has the notes %v (%v), want those of the operators of Once", run.Stats().Stages[0].Notes, err)
	}
	if count -= 2 * 3; err != nil || len(rows) != len(want) || count != 2*3 {
		t.Fatal(len(rows), "rows,", count, "records through two operators of three graphs with rows", err)
	}
	for i := range rows {
		if !array.RecordEqual(rows[i], want[i]) {
			t.Errorf("row %d is %v, want %v", i, rows[i], want[i])
		}
	}
	for _, times := range []int{0, 2} {
		src.Once = []flow.Operator{counted{times: times, count: &count}}
		rows, err := read(src)
		if record.Release(rows); len(rows) > 0 || !strings.Contains(fmt.Sprint(err), "do not make one row") {
			t.Errorf("%d records of one: %d rows, %v", times, len(rows), err)
		}
	}
}
