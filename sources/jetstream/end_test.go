package jetstream_test

import (
	"errors"
	"testing"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/internal/jet/jettest"
	sink "github.com/sanflow/sanflow/sinks/jetstream"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/jetstream"
)

// Messages behind the mark of the end, which nobody would read, are an error of who has sent them.
func TestBehindEnd(t *testing.T) {
	t.Parallel()
	c := jetstream.Connection{URL: jettest.Start(t, nil).ClientURL()}
	to := sink.Sink{Connection: c, Stream: "fields"}
	send := func(graphs int) error {
		_, err := run(t, recipe.Onto(flow.From(sources.Families{Graphs: graphs, Rows: 4})).To(to), flow.Options{})
		return err
	}
	if err := errors.Join(send(20), send(20)); err != nil {
		t.Fatal(err)
	}
	wantError(t, "more", send(40), "fields", "it was marked before")
	js := raw(t, c)
	s, err := js.Stream(t.Context(), "fields")
	if err != nil {
		t.Fatal(err)
	}
	m, err := s.GetLastMsgForSubject(t.Context(), "fields.end")
	if err == nil {
		err = s.DeleteMsg(t.Context(), m.Sequence)
	}
	if err := errors.Join(err, send(40)); err != nil {
		t.Fatal(err)
	}
	if got := rows(t, flow.From(jetstream.Source{Connection: c, Stream: "fields", Ordered: true})); len(got) != 40 {
		t.Errorf("%d rows, want 40", len(got))
	}
}
