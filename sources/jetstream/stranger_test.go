package jetstream_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/nats-io/nats.go"
	nc "github.com/nats-io/nats.go/jetstream"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/internal/jet"
	"github.com/sanflow/sanflow/internal/jet/jettest"
	sink "github.com/sanflow/sanflow/sinks/jetstream"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/jetstream"
)

const strangers = 40 // messages to a stream

// Messages from a stranger, damaged ones of ours, end a run with a clear error, or go to the dead
// letters; what was ours comes all the same. TestDamagedMessages has more of them, without a
// broker.
func TestStranger(t *testing.T) {
	t.Parallel()
	c := jetstream.Connection{URL: jettest.Start(t, nil).ClientURL()}
	s := stranger{t, c, raw(t, c), rand.New(rand.NewPCG(1, 2)), nil}
	kept(t, c, "model", 12)
	model, err := s.js.Stream(t.Context(), "model")
	if err == nil {
		s.good, err = model.GetMsg(t.Context(), 1)
	}
	if err != nil {
		t.Fatal(err)
	}
	tries := 3 * strangers
	if os.Getenv("SANFLOW_LONG") != "" {
		tries = 10_000
	}
	ways := []func(stream string){s.refused, s.passed, s.queued}
	for n := 0; n < tries; n += strangers {
		stream := fmt.Sprintf("s%d", n)
		ways[n/strangers%len(ways)](stream)
		for _, name := range []string{stream, stream + "-dead"} {
			if err := s.js.DeleteStream(t.Context(), name); err != nil && name == stream {
				t.Fatal(err)
			}
		}
	}
}

type stranger struct {
	t    *testing.T
	c    jetstream.Connection
	js   nc.JetStream
	rng  *rand.Rand
	good *nc.RawStreamMsg
}

// fields is what ours publish.
func (s stranger) fields() flow.Pipeline {
	return recipe.Onto(flow.From(sources.Families{Graphs: 4, Rows: 4}))
}

func (s stranger) publish(to sink.Sink) {
	s.t.Helper()
	to.Connection = s.c
	if _, err := run(s.t, s.fields().To(to), flow.Options{}); err != nil {
		s.t.Fatal(err)
	}
}

func (s stranger) send(m *nats.Msg) {
	s.t.Helper()
	if _, err := s.js.PublishMsg(s.t.Context(), m); err != nil {
		s.t.Fatal(err)
	}
}

// refused wants the error of reading damaged messages to be one line that names the stream.
func (s stranger) refused(stream string) {
	s.publish(sink.Sink{Stream: stream, NoEnd: true})
	for i := range strangers {
		s.send(damaged(s.rng, s.good, stream, 4+4*i))
	}
	// Nothing else comes; the end counts what can be taken for ours.
	to := sink.Sink{Connection: s.c, Stream: stream}
	if _, err := run(s.t, s.fields().To(to), flow.Options{}); err != nil && strings.Contains(err.Error(), "\n") {
		s.t.Error(err)
	}
	taken := 0
	src := jetstream.Source{Connection: s.c, Stream: stream, Ordered: true}
	_, err := run(s.t, flow.From(src).To(sinkFunc(func(rec arrow.Record) { taken++ })), flow.Options{})
	if err == nil || strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), "panic") || !strings.Contains(err.Error(), "stream "+stream) {
		s.t.Errorf("%s: after %d records: %v", stream, taken, err)
	}
}

// passed wants a source with dead letters to read all messages of sanflow and to pass over
// messages with meaningless headers.
func (s stranger) passed(stream string) {
	s.publish(sink.Sink{Stream: stream, NoEnd: true})
	for i := range strangers {
		m := damaged(s.rng, s.good, stream, 4+4*i)
		for k := range m.Header {
			m.Header.Set(k, "?"+m.Header.Get(k))
		}
		s.send(m)
	}
	dead := jetstream.Dead{Stream: stream + "-dead"}
	s.publish(sink.Sink{Stream: stream}) // and counts what is ours
	got := s.read(jetstream.Source{Connection: s.c, Stream: stream, Ordered: true, Dead: dead}, strangers)
	if want := rows(s.t, s.fields()); !slices.Equal(got, want) {
		s.t.Errorf("%s: %d rows, want %d", stream, len(got), len(want))
	}
}

// queued wants that workers do all that is ours, and more only where it looks so.
func (s stranger) queued(stream string) {
	s.publish(sink.Sink{Stream: stream, NoEnd: true, Queue: true})
	for i := range strangers {
		s.send(damaged(s.rng, s.good, stream, 4+4*i))
	}
	end, err := jet.EndMessage(stream, jet.End{})
	if err != nil {
		s.t.Fatal(err)
	}
	s.send(end)
	got := s.read(jetstream.Source{Connection: s.c, Stream: stream, Durable: "w", Dead: jetstream.Dead{Stream: stream + "-dead"}}, 0)
	for _, row := range rows(s.t, s.fields()) {
		if !slices.Contains(got, row) {
			s.t.Errorf("%s: a row is lost", stream)
		}
	}
}

// read returns all rows, and wants that many dead letters; 0: one for each stranger at most.
func (s stranger) read(src jetstream.Source, letters int) (got []string) {
	s.t.Helper()
	got = rows(s.t, flow.From(src))
	dead, err := s.js.Stream(s.t.Context(), src.Dead.Stream)
	if err != nil {
		s.t.Fatal(err)
	}
	if n := dead.CachedInfo().State.Msgs; n != uint64(letters) && letters > 0 || n > strangers {
		s.t.Errorf("%s: %d dead letters, want %d", src.Stream, n, letters)
	}
	return got
}

// damaged returns a message of ours for another position with something changed;
// half of them have the checksum of what they hold.
func damaged(rng *rand.Rand, good *nc.RawStreamMsg, stream string, pos int) *nats.Msg {
	body := slices.Clone(good.Data)
	for range 1 + rng.IntN(4) {
		body[rng.IntN(len(body))] ^= 1 << rng.IntN(8)
	}
	if rng.IntN(4) == 0 {
		body = body[:rng.IntN(len(body))]
	}
	m := jet.Record(stream, []jet.Span{{From: int64(pos), To: int64(pos) + 3}}, 4, body)
	m.Header.Del(nats.ExpectedLastSubjSeqHdr)
	m.Header.Del(nats.MsgIdHdr)
	if rng.IntN(2) == 0 {
		for k := range m.Header {
			if rng.IntN(3) == 0 {
				m.Header.Set(k, m.Header.Get(k)[rng.IntN(len(m.Header.Get(k))):]+"x")
			}
		}
	}
	return m
}
