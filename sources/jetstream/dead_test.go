package jetstream_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	nc "github.com/nats-io/nats.go/jetstream"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/internal/jet/jettest"
	sink "github.com/sanflow/sanflow/sinks/jetstream"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/jetstream"
)

// letters returns how many there are in a stream.
func letters(t *testing.T, js nc.JetStream, stream string) uint64 {
	t.Helper()
	s, err := js.Stream(t.Context(), stream)
	if err != nil {
		t.Fatal(err)
	}
	return s.CachedInfo().State.Msgs
}

// A letter whose position is taken by another message stays, and so does that message. A
// letter that was sent but not yet deleted, because of an interruption, is not sent twice.
func TestResendTaken(t *testing.T) {
	t.Parallel()
	c := jetstream.Connection{URL: jettest.Start(t, nil).ClientURL()}
	js := raw(t, c)
	src := sources.Families{Graphs: 20, Rows: 4}
	open := sink.Sink{Connection: c, Stream: "graphs", NoEnd: true} // kept, so that what was sent stays
	if _, err := run(t, flow.From(src).To(open), flow.Options{}); err != nil {
		t.Fatal(err)
	}
	dead, err := sink.OpenLetters(t.Context(), c, sink.Dead{Stream: "dead", Holes: "fields"})
	if err != nil {
		t.Fatal(err)
	}
	defer dead.Close()
	p := recipe.Onto(flow.From(src).Via(picky{true})).To(sink.Sink{Connection: c, Stream: "fields"})
	if _, err := run(t, p, flow.Options{Refused: flow.Keep, DeadLetters: dead.Put}); err != nil {
		t.Fatal(err)
	}
	// Graphs 2, 7, 12 and 17 are letters; 12 is where a message of graphs 12 to 15 is.
	fields := flow.From(jetstream.Source{Connection: c, Stream: "fields", Ordered: true})
	before := rows(t, fields)
	graphs, err := js.Stream(t.Context(), "graphs")
	if err != nil {
		t.Fatal(err)
	}
	n, err := sink.Resend(t.Context(), c, "dead", "graphs")
	if err == nil || !strings.Contains(err.Error(), "graphs.p.12 has another content") || strings.Contains(err.Error(), "\n") || n != 2 || letters(t, js, "dead") != 2 {
		t.Errorf("%d were sent, %d are left: %v", n, letters(t, js, "dead"), err)
	}
	if _, err := graphs.GetLastMsgForSubject(t.Context(), "graphs.p.7"); err != nil {
		t.Error(err)
	}
	// The hole of the letter that stays is there still.
	f, err := js.Stream(t.Context(), "fields")
	if err == nil {
		_, err = f.GetLastMsgForSubject(t.Context(), "fields.p.12")
	}
	if err != nil || len(before) != 16 {
		t.Errorf("%d rows before, %v", len(before), err)
	}
	m, err := graphs.GetLastMsgForSubject(t.Context(), "graphs.p.12")
	if err == nil {
		err = graphs.DeleteMsg(t.Context(), m.Sequence)
	}
	if err != nil {
		t.Fatal(err)
	}
	kept, err := js.Stream(t.Context(), "dead")
	if err != nil {
		t.Fatal(err)
	}
	letter, err := kept.GetMsg(t.Context(), kept.CachedInfo().State.LastSeq)
	if err != nil {
		t.Fatal(err)
	}
	if n, err = sink.Resend(t.Context(), c, "dead", "graphs"); err != nil || n != 2 {
		t.Errorf("%d were sent: %v", n, err)
	}
	// As if it had been interrupted before the last one was deleted.
	last := nats.NewMsg(letter.Subject)
	last.Data = letter.Data
	for k, v := range letter.Header {
		if strings.HasPrefix(k, "Sanflow-") {
			last.Header[k] = slices.Clone(v)
		}
	}
	if _, err := js.PublishMsg(t.Context(), last); err != nil {
		t.Fatal(err)
	}
	was := letters(t, js, "graphs")
	if n, err = sink.Resend(t.Context(), c, "dead", "graphs"); err != nil || n != 1 || letters(t, js, "graphs") != was || letters(t, js, "dead") != 0 {
		t.Errorf("%d were sent again, %d instead of %d are there: %v", n, letters(t, js, "graphs"), was, err)
	}
}

// An ordered reader makes a foreign message a dead letter and goes on. A damaged message of
// sanflow ends the run and is no letter: its rows were counted.
func TestOrderedDead(t *testing.T) {
	t.Parallel()
	c := jetstream.Connection{URL: jettest.Start(t, nil).ClientURL()}
	js := raw(t, c)
	ours := func(noEnd bool) {
		t.Helper()
		p := recipe.Onto(flow.From(sources.Families{Graphs: 20, Rows: 4})).To(sink.Sink{Connection: c, Stream: "fields", NoEnd: noEnd})
		if _, err := run(t, p, flow.Options{}); err != nil {
			t.Fatal(err)
		}
	}
	ours(true)
	if _, err := js.Publish(t.Context(), "fields.p.4711", []byte("hello")); err != nil {
		t.Fatal(err)
	}
	ours(false)
	src := jetstream.Source{Connection: c, Stream: "fields", Ordered: true, Epochs: 2, Dead: jetstream.Dead{Stream: "dead"}}
	for range 2 { // a second reading makes the same letter
		if got := rows(t, flow.From(src)); len(got) != 40 || letters(t, js, "dead") != 1 {
			t.Errorf("%d rows and %d letters, want 40 and 1", len(got), letters(t, js, "dead"))
		}
	}
	s, err := js.Stream(t.Context(), "fields")
	if err != nil {
		t.Fatal(err)
	}
	m, err := s.GetLastMsgForSubject(t.Context(), "fields.p.8")
	if err == nil {
		err = s.DeleteMsg(t.Context(), m.Sequence)
	}
	if err != nil {
		t.Fatal(err)
	}
	bad := nats.NewMsg("fields.p.8")
	bad.Data = slices.Clone(m.Data)
	bad.Data[len(bad.Data)/2] ^= 1
	for k, v := range m.Header {
		if strings.HasPrefix(k, "Sanflow-") {
			bad.Header[k] = slices.Clone(v)
		}
	}
	if _, err := js.PublishMsg(t.Context(), bad); err != nil {
		t.Fatal(err)
	}
	// The message is behind the end now, where no reader looks: the end is made again.
	end, err := s.GetLastMsgForSubject(t.Context(), "fields.end")
	if err == nil {
		err = s.DeleteMsg(t.Context(), end.Sequence)
	}
	if err != nil {
		t.Fatal(err)
	}
	again := nats.NewMsg("fields.end")
	for k, v := range end.Header {
		if strings.HasPrefix(k, "Sanflow-") {
			again.Header[k] = v
		}
	}
	if _, err := js.PublishMsg(t.Context(), again); err != nil {
		t.Fatal(err)
	}
	_, err = run(t, flow.From(src), flow.Options{})
	if wantError(t, "damaged", err, "fields", "it is damaged"); letters(t, js, "dead") != 1 {
		t.Errorf("%d letters", letters(t, js, "dead"))
	}
}
