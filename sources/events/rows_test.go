package events_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/event"
	"github.com/sanflow/sanflow/flow/flowtest/leak"
	"github.com/sanflow/sanflow/flow/record"
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
	for e, err := range events.Of(context.Background(), sources.IPC{Path: path}, mem) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, text(e))
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%d events, want %d", len(got), len(want))
	}
	for range events.Of(context.Background(), sources.IPC{Path: path}, mem) {
		break
	}
	for _, err := range events.Of(context.Background(), sources.IPC{Path: path + "x"}, mem) {
		if err == nil {
			t.Error("a file that does not exist")
		}
	}
	if _, err := (events.Rows{}).Open(context.Background(), mem); err == nil {
		t.Error("no events")
	}
}
