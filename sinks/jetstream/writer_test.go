package jetstream

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	nc "github.com/nats-io/nats.go/jetstream"

	"github.com/sanflow/sanflow/internal/jet"
	"github.com/sanflow/sanflow/internal/jet/jettest"
	"github.com/sanflow/sanflow/sources"
)

// follower is a stream of which a server that is behind answers what is read.
type follower struct{ nc.Stream }

func (follower) GetLastMsgForSubject(context.Context, string) (*nc.RawStreamMsg, error) {
	return nil, nc.ErrMsgNotFound
}

func (follower) GetMsg(context.Context, uint64, ...nc.GetMsgOpt) (*nc.RawStreamMsg, error) {
	return nil, nc.ErrMsgNotFound
}

// records returns so many graphs, in records of 4.
func records(t *testing.T, graphs int) (*arrow.Schema, []arrow.Record) {
	t.Helper()
	r, err := sources.Families{Graphs: graphs, Rows: 4}.Open(t.Context(), memory.DefaultAllocator)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var all []arrow.Record
	for {
		rec, err := r.Next(t.Context())
		if errors.Is(err, io.EOF) {
			return r.Schema(), all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, rec)
	}
}

// opened returns a writer that has written these and has all acknowledged.
func opened(t *testing.T, s Sink, schema *arrow.Schema, recs ...arrow.Record) *writer {
	t.Helper()
	open, err := s.Open(schema)
	if err != nil {
		t.Fatal(err)
	}
	w := open.(*writer)
	for _, r := range recs {
		if err := w.Write(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.collect(t.Context(), false, 0); err != nil {
		t.Fatal(err)
	}
	return w
}

// Rows behind the end are an error though the last message is a stranger's, and
// whatever a server says that is behind.
func TestBehindEnd(t *testing.T) {
	t.Parallel()
	schema, recs := records(t, 24)
	for name, tamper := range map[string]func(t *testing.T, w *writer){
		"a stranger's": func(t *testing.T, w *writer) {
			for _, subject := range []string{"fields.p.hello", "fields.p.4711"} {
				if _, err := w.client.JS.PublishMsg(t.Context(), nats.NewMsg(subject)); err != nil {
					t.Fatal(err)
				}
			}
		},
		"a follower": func(_ *testing.T, w *writer) { w.stream = follower{w.stream} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := Sink{Connection: Connection{URL: jettest.Start(t, nil).ClientURL()}, Stream: "fields"}
			if err := opened(t, s, schema, recs[:3]...).Close(nil); err != nil {
				t.Fatal(err)
			}
			again := opened(t, s, schema, recs[:3]...)
			tamper(t, again)
			if err := again.Close(nil); err != nil {
				t.Errorf("with nothing of ours behind the end: %v", err)
			}
			more := opened(t, s, schema, recs...)
			tamper(t, more)
			if err := more.Close(nil); err == nil || !strings.Contains(err.Error(), "it was marked before, as message 4") {
				t.Errorf("%v, want that it was marked before", err)
			}
		})
	}
}

// A message whose position is taken by one that is not there is sent again, to a queue too, for as
// long as Patience lasts; one that is there is done, whatever a server says that is behind.
func TestTaken(t *testing.T) {
	t.Parallel()
	schema, recs := records(t, 8)
	taken := &nc.APIError{Code: 400, ErrorCode: nc.JSErrCodeStreamWrongLastSequenceConstant}
	c := Connection{URL: jettest.Start(t, nil).ClientURL()}
	for _, queue := range []bool{false, true} {
		s := Sink{Connection: c, Stream: map[bool]string{false: "kept", true: "queue"}[queue], Queue: queue}
		w := opened(t, s, schema, recs[0])
		if err := w.Write(t.Context(), recs[1]); err != nil {
			t.Fatal(err)
		}
		stored := *w.pending[0]
		if err := w.collect(t.Context(), false, 0); err != nil {
			t.Fatal(err)
		}
		w.stream = follower{w.stream}
		if done, err := w.failed(t.Context(), &stored, taken); !done || err != nil {
			t.Errorf("Queue %t: one that is there: %t, %v", queue, done, err)
		}
		o := &outgoing{msg: jet.Record(s.Stream, []jet.Span{{From: 100, To: 100}}, 1, []byte("x")), since: time.Now()}
		if done, err := w.failed(t.Context(), o, taken); done || err != nil {
			t.Errorf("Queue %t: one that is not there: %t, %v", queue, done, err)
		}
		o.since = time.Now().Add(-time.Hour)
		if done, err := w.failed(t.Context(), o, taken); done || err == nil {
			t.Errorf("Queue %t: one that is not there for an hour: %t, %v", queue, done, err)
		}
		if err := w.Close(nil); err != nil {
			t.Error(err)
		}
	}
}

// Two that write one queue and both mark its end are told how that is done.
func TestTwoEnds(t *testing.T) {
	t.Parallel()
	schema, recs := records(t, 8)
	s := Sink{Connection: Connection{URL: jettest.Start(t, nil).ClientURL()}, Stream: "queue", Queue: true}
	a, b := opened(t, s, schema, recs[0]), opened(t, s, schema, recs[0], recs[1])
	if err := a.Close(nil); err != nil {
		t.Fatal(err)
	}
	if err := b.Close(nil); err == nil || !strings.Contains(err.Error(), "NoEnd") {
		t.Errorf("%v, want an error that names NoEnd", err)
	}
	s.NoEnd = true
	if err := opened(t, s, schema, recs...).Close(nil); err != nil {
		t.Error(err)
	}
}

// While two of three servers are away a sink is patient, also when the third says that a message is
// in process; when they are back all is there.
func TestQuorum(t *testing.T) {
	if os.Getenv("SANFLOW_LONG") == "" {
		t.Skip("stops two of three brokers for 12 s; set SANFLOW_LONG")
	}
	schema, recs := records(t, 16)
	all, options := jettest.Servers(t, 3)
	s := Sink{Connection: Connection{URL: all[0].ClientURL(), Replicas: 3}, Stream: "fields"}
	w := opened(t, s, schema, recs[0])
	info, err := w.stream.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w.client.Close()
	var stopped []*server.Options
	for i, b := range all {
		if b.Name() == info.Cluster.Leader {
			s.URL = b.ClientURL()
			w = opened(t, s, schema, recs[0])
		} else {
			stopped = append(stopped, options[i])
		}
	}
	for _, b := range all {
		if b.Name() != info.Cluster.Leader {
			jettest.Stop(b)
		}
	}
	for _, r := range recs[1:] {
		if err := w.Write(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	for begin := time.Now(); time.Since(begin) < 12*time.Second; time.Sleep(10 * time.Millisecond) {
		if err := w.Expire(t.Context()); err != nil {
			t.Fatalf("after %v: %v", time.Since(begin), err)
		}
	}
	for _, o := range stopped {
		jettest.Start(t, o)
	}
	if err := w.Close(nil); err != nil {
		t.Fatal(err)
	}
	client, err := jet.Connection(s.Connection).Dial(t.Context(), "test")
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	stream, err := client.Find(t.Context(), s.Stream, 0)
	if err != nil {
		t.Fatal(err)
	}
	if n := stream.CachedInfo().State.Msgs; n != uint64(len(recs)+1) || w.again.Load() == 0 {
		t.Errorf("%d messages are there, want %d and an end; %d were sent again", n, len(recs), w.again.Load())
	}
}
