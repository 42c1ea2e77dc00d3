package events_test

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/event"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/internal/leak"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sinks/ipc"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/events"
)

// Events that are written as records and read again are the same.
func TestRows(t *testing.T) {
	defer leak.VerifyNone(t)
	path := filepath.Join(t.TempDir(), "events.arrow")
	layout := record.Layout{NodeClasses: []string{"a", "b", "c", "d", "e", "f"}}
	if err := flow.From(events.Rows{Events: events.Generated(700, 1), Layout: layout}).To(ipc.Sink{Path: path}).Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	var want, got []string
	text := func(e event.Event) string {
		if e.Kind == event.SetClass {
			return fmt.Sprint(e.Kind, e.Pos, e.Time, e.Source, e.Class)
		}
		return fmt.Sprint(e.Kind, e.Pos, e.Time, e.Source, e.Target)
	}
	for e := range events.Generated(700, 1) {
		want = append(want, text(e))
	}
	reader, err := sources.IPC{Path: path}.Open(context.Background(), mem)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	for {
		rec, err := reader.Next(context.Background())
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		view, err := record.EventsOf(rec)
		if err != nil {
			t.Fatal(err)
		}
		for row := range view.Len() {
			var e event.Event
			view.At(row, &e)
			got = append(got, text(e))
		}
		rec.Release()
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%d events, want %d", len(got), len(want))
	}
	if _, err := (events.Rows{}).Open(context.Background(), mem); err == nil {
		t.Error("no events")
	}
}

// The ids of a stream go with its events through a file to the rows of fields.
func TestRowsIDs(t *testing.T) {
	defer leak.VerifyNone(t)
	for kind, text := range map[graph.IDKind]string{graph.StringIDs: "ann\tbob\t1\nbob\tcid\t2\nann\tdan\t3\n", graph.Int64IDs: "-70\t5\t1\n5\t900000000000\t2\n-70\t8\t3\n"} {
		stream, err := events.Source{Table: sources.Text{Path: "edges.tsv", Reader: strings.NewReader(text)}}.Open(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "events.arrow")
		rows := events.Rows{Events: stream.All(), Layout: record.Layout{NodeIDs: kind}, ID: stream.Name, Size: 2}
		if err := flow.From(rows).To(ipc.Sink{Path: path}).Run(context.Background()); err != nil {
			t.Fatal(err)
		}
		var out sinks.Collect
		if err := flow.From(sources.IPC{Path: path}).Via(operators.Evolve{Normalize: operators.Normalize{K: 2}, Size: 1}).To(&out).Run(context.Background()); err != nil {
			t.Fatal(err)
		}
		met := 0
		for _, rec := range out.Records() {
			roots, err := record.ListsOf[int32](rec, record.Roots)
			if err != nil {
				t.Fatal(err)
			}
			ids, err := record.IDsOfColumn(rec, record.RootIDs)
			if err != nil {
				t.Fatal(err)
			}
			for row := range roots.Len() {
				if got, want := ids.Row(row).Name(0), stream.Name(roots.Row(row)[0]); got != want {
					t.Errorf("root %d has the id %q, want %q", roots.Row(row)[0], got, want)
				}
				met++
			}
		}
		if met != 4 {
			t.Errorf("%d fields, want 4", met)
		}
		out.Release()
		if err := stream.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for _, rows := range []events.Rows{
		{Events: events.Generated(3, 1), Layout: record.Layout{NodeIDs: graph.StringIDs}},
		{Events: events.Generated(3, 1), ID: func(int32) string { return "" }},
		{Events: events.Generated(3, 1), Layout: record.Layout{NodeIDs: graph.Int64IDs, NodeClasses: []string{"a", "b", "c", "d", "e", "f"}}, ID: func(int32) string { return "x" }},
	} {
		if err := flow.From(rows).To(&sinks.Collect{}).Run(context.Background()); err == nil {
			t.Errorf("%+v: want an error", rows.Layout)
		}
	}
}
