package jetstream_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/nats-io/nats.go"
	nc "github.com/nats-io/nats.go/jetstream"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/internal/jet"
	"github.com/sanflow/sanflow/internal/jet/jettest"
	sink "github.com/sanflow/sanflow/sinks/jetstream"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/jetstream"
)

// Messages behind the end mark would never be read, so sending them is an error.
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

// Of several that write one stream each finds its end: the second one, where the first has
// marked it, and counted a message that stands beside the full stream.
func TestEndAside(t *testing.T) {
	t.Parallel()
	c := jetstream.Connection{URL: jettest.Start(t, nil).ClientURL()}
	to := sink.Sink{Connection: c, Stream: "fields", NoEnd: true}
	if _, err := run(t, recipe.Onto(flow.From(sources.Families{Graphs: 20, Rows: 4})).To(to), flow.Options{}); err != nil {
		t.Fatal(err)
	}
	client, err := jet.Connection(c).Dial(t.Context(), "test")
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	stream, err := client.Find(t.Context(), "fields", 0)
	if err != nil {
		t.Fatal(err)
	}
	side, err := client.MakeSide(t.Context(), stream.CachedInfo())
	if err != nil {
		t.Fatal(err)
	}
	m, err := stream.GetLastMsgForSubject(t.Context(), "fields.p.8")
	if err == nil {
		err = side.Put(t.Context(), &nats.Msg{Subject: m.Subject, Header: m.Header, Data: m.Data})
	}
	if err == nil {
		err = stream.DeleteMsg(t.Context(), m.Sequence)
	}
	if err != nil {
		t.Fatal(err)
	}
	count := func() jet.End {
		t.Helper()
		info, err := stream.Info(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		end, err := client.Count(t.Context(), info, info.State.LastSeq)
		if err != nil || end.Messages != 5 || end.Rows != 20 {
			t.Fatalf("the end is %+v, want that of 20 rows in 5 messages: %v", end, err)
		}
		return end
	}
	first := count()
	mark, err := jet.EndMessage("fields", first)
	if err == nil {
		err = client.Publish(t.Context(), "fields", mark)
	}
	if err != nil {
		t.Fatal(err)
	}
	if second := count(); second != first {
		t.Errorf("then the end is %+v, want %+v", second, first)
	}
}

// Two workers have one message of a queue in hand. The first one puts its rows beside the full
// stream and marks the end; the second one finds room behind the end. Its copy is deleted, whether
// the reader has purged the side stream or not. A copy of a run that begins behind the end is an
// error.
func TestCopyBehindEnd(t *testing.T) {
	t.Parallel()
	c := jetstream.Connection{URL: jettest.Start(t, nil).ClientURL()}
	client, err := jet.Connection(c).Dial(t.Context(), "test")
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	r, err := sources.Families{Graphs: 8, Rows: 4}.Open(t.Context(), memory.DefaultAllocator)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var recs [2]arrow.Record
	for i := range recs {
		if recs[i], err = r.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
		defer recs[i].Release()
	}
	const window = 100 * time.Millisecond // of de-duplication
	for _, purged := range []bool{false, true} {
		name := fmt.Sprintf("fields-%t", purged)
		stream, err := client.Make(t.Context(), jet.Settings{Name: name, Window: window}, r.Schema())
		if err != nil {
			t.Fatal(err)
		}
		open := func() flow.Writer {
			w, err := sink.Sink{Connection: c, Stream: name}.Open(r.Schema())
			if err != nil {
				t.Fatal(err)
			}
			return w
		}
		first, second := open(), open()
		if err := errors.Join(first.Write(t.Context(), recs[0]), first.Write(t.Context(), recs[1]), first.(flow.TimedWriter).Expire(t.Context())); err != nil {
			t.Fatal(err)
		}
		side, err := client.MakeSide(t.Context(), stream.CachedInfo())
		if err != nil {
			t.Fatal(err)
		}
		m, err := client.Last(t.Context(), name, name+".p.4")
		for err != nil && t.Context().Err() == nil { // it is on its way
			m, err = client.Last(t.Context(), name, name+".p.4")
		}
		if err := errors.Join(side.Put(t.Context(), &nats.Msg{Subject: m.Subject, Header: m.Header, Data: m.Data}), stream.DeleteMsg(t.Context(), m.Sequence), first.Close(nil)); err != nil {
			t.Fatal(err)
		}
		end, err := client.End(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		if purged {
			if err := errors.Join(side.Tell(t.Context(), jet.Progress{Base: jet.Base{Next: 8, Seq: 1, Total: *end}, Want: -1}), side.Purge(t.Context(), 8)); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(3 * window)
		if err := errors.Join(second.Write(t.Context(), recs[1]), second.Close(nil)); err != nil {
			t.Error(err)
		}
		if _, err := client.Last(t.Context(), name, name+".p.4"); !errors.Is(err, nc.ErrMsgNotFound) {
			t.Errorf("the copy is there: %v", err)
		}
		time.Sleep(3 * window)
		third := open()
		if err := errors.Join(third.Write(t.Context(), recs[1]), third.Close(nil)); err == nil || !strings.Contains(err.Error(), "it was marked before") {
			t.Errorf("a third run: %v", err)
		}
	}
}

// The end of a queue counts each record once, however often it was redelivered: in one run,
// or after a restart.
func TestEndOfQueue(t *testing.T) {
	t.Parallel()
	c := jetstream.Connection{URL: jettest.Start(t, nil).ClientURL()}
	r, err := sources.Families{Graphs: 12, Rows: 4}.Open(t.Context(), memory.DefaultAllocator)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var recs []arrow.Record
	for range 3 {
		rec, err := r.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer rec.Release()
		recs = append(recs, rec)
	}
	for _, order := range [][]int{{0, 0, 1, 0, 2, 1}, {0, 1, 2}} {
		w, err := sink.Sink{Connection: c, Stream: "queue", Queue: true}.Open(r.Schema())
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range order {
			if err := w.Write(t.Context(), recs[i]); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(nil); err != nil { // of the second run, if its end is another
			t.Fatal(err)
		}
	}
	s, err := raw(t, c).Stream(t.Context(), "queue")
	if err != nil {
		t.Fatal(err)
	}
	m, err := s.GetLastMsgForSubject(t.Context(), "queue.end")
	if err != nil {
		t.Fatal(err)
	}
	if n, err := jet.Read("queue", m.Subject, m.Header, m.Sequence); err != nil || n.End == nil || n.End.Messages != 3 || n.End.Rows != 12 {
		t.Errorf("the end is %+v, want that of 12 rows: %v", n.End, err)
	}
}

// A queue whose end is marked has had all of its data: the same data fed again, after it was worked
// on and behind the broker's window of de-duplication, send nothing; other data send nothing either,
// and are an error that says what to do.
func TestFedAgain(t *testing.T) {
	t.Parallel()
	c := jetstream.Connection{URL: jettest.Start(t, nil).ClientURL()}
	src := sources.Families{Graphs: 97, Rows: 1}
	schema, err := flow.From(src).Schema(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	client, err := jet.Connection(c).Dial(t.Context(), "test")
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	stream, err := client.Make(t.Context(), jet.Settings{Name: "queue", Queue: true, Window: 100 * time.Millisecond}, schema)
	if err != nil {
		t.Fatal(err)
	}
	feed := func(src flow.Source, want int64) error {
		t.Helper()
		stats, err := run(t, flow.From(src).To(sink.Sink{Connection: c, Stream: "queue", Queue: true}), flow.Options{})
		info, bad := stream.Info(t.Context())
		if bad != nil {
			t.Fatal(bad)
		}
		if notes := stats.Stages[len(stats.Stages)-1].Notes; notes["messages"] != want || info.State.LastSeq != 98 {
			t.Errorf("%v, and the stream is at message %d: want %d messages, and 98", notes, info.State.LastSeq, want)
		}
		return err
	}
	if err := feed(src, 97); err != nil {
		t.Fatal(err)
	}
	if got := rows(t, flow.From(jetstream.Source{Connection: c, Stream: "queue", Durable: "w"})); len(got) != 97 {
		t.Fatalf("%d rows", len(got))
	}
	time.Sleep(300 * time.Millisecond)
	if err := feed(src, 0); err != nil {
		t.Error(err)
	}
	wantError(t, "other graphs", feed(sources.Families{Graphs: 97, Rows: 1, Seed: 2}, 0), "queue", "to start over, delete all streams")
	wantError(t, "more graphs", feed(sources.Families{Graphs: 98, Rows: 1}, 0), "queue", "an earlier run has fed it")
}
