package jetstream_test

import (
	"errors"
	"slices"
	"testing"

	nc "github.com/nats-io/nats.go/jetstream"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/internal/jet/jettest"
	sink "github.com/sanflow/sanflow/sinks/jetstream"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/generate"
	"github.com/sanflow/sanflow/sources/jetstream"
)

// Delete leaves nothing of a stream, so that other data can be written under its name; another
// stream, and one of a stranger, stay.
func TestDelete(t *testing.T) {
	t.Parallel()
	c := jetstream.Connection{URL: jettest.Start(t, nil).ClientURL()}
	js := raw(t, c)
	feed := func(src flow.Source, stream string) error {
		return flow.From(src).To(sink.Sink{Connection: c, Stream: stream, Queue: true}).Run(t.Context())
	}
	// A graph larger than a message is in the object store of the stream.
	wide, err := generate.Grid(300, 300, false)
	if err != nil {
		t.Fatal(err)
	}
	large := sources.Graphs{Items: []sources.Item{{Graph: wide}}}
	if err := errors.Join(feed(large, "graphs"), feed(large, "other")); err != nil {
		t.Fatal(err)
	}
	small, err := graph.New(2, false, []graph.Edge{{U: 0, V: 1}})
	if err != nil {
		t.Fatal(err)
	}
	again := sources.Graphs{Items: []sources.Item{{Graph: small}}}
	if err := feed(again, "graphs"); !errors.Is(err, sink.ErrOtherRun) {
		t.Fatalf("other data: %v, want ErrOtherRun", err)
	}
	if _, err := js.CreateStream(t.Context(), nc.StreamConfig{Name: "graphs-late", Subjects: []string{"x"}}); err != nil {
		t.Fatal(err)
	}
	deleted, err := jetstream.Delete(t.Context(), c, "graphs")
	wantError(t, "a stranger's stream", err, "graphs-late", "not made by this library")
	if !slices.Equal(deleted, []string{"graphs"}) {
		t.Errorf("deleted %q", deleted)
	}
	if err := js.DeleteStream(t.Context(), "graphs-late"); err != nil {
		t.Fatal(err)
	}
	deleted, err = jetstream.Delete(t.Context(), c, "graphs", "missing")
	if err != nil || !slices.Equal(deleted, []string{"graphs-objects"}) {
		t.Errorf("deleted %q, %v", deleted, err)
	}
	var left []string
	for s := range js.ListStreams(t.Context()).Info() {
		left = append(left, s.Config.Name)
	}
	slices.Sort(left)
	if want := []string{"OBJ_other-objects", "other"}; !slices.Equal(left, want) {
		t.Errorf("the broker has the streams %q, want %q", left, want)
	}
	if err := feed(again, "graphs"); err != nil {
		t.Error(err)
	}
	if _, err := jetstream.Delete(t.Context(), c, "a.b"); err == nil {
		t.Error("no error of a name with a dot")
	}
}
