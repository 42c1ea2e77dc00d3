package jetstream_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/nats-io/nats.go"
	nc "github.com/nats-io/nats.go/jetstream"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/flowtest"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/internal/jet/jettest"
	sink "github.com/sanflow/sanflow/sinks/jetstream"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/jetstream"
)

// kept publishes fields of n graphs to a stream that is kept, in messages of 8.
func kept(t *testing.T, c jetstream.Connection, stream string, n int) {
	t.Helper()
	src := sources.Families{Graphs: n, Rows: 8}
	if _, err := run(t, recipe.Onto(flow.From(src)).To(sink.Sink{Connection: c, Stream: stream}), flow.Options{}); err != nil {
		t.Fatal(err)
	}
}

// raw returns a connection of a stranger's.
func raw(t *testing.T, c jetstream.Connection) nc.JetStream {
	t.Helper()
	conn, err := nats.Connect(c.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	js, err := nc.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	return js
}

// Publishing the same again adds nothing, and other rows at the same positions are
// an error.
func TestPublishAgain(t *testing.T) {
	t.Parallel()
	c := jetstream.Connection{URL: jettest.Start(t, nil).ClientURL()}
	kept(t, c, "fields", 40)
	kept(t, c, "fields", 40)
	if got := rows(t, flow.From(jetstream.Source{Connection: c, Stream: "fields", Ordered: true})); len(got) != 40 {
		t.Errorf("%d rows", len(got))
	}
	other := sources.Families{Graphs: 40, Rows: 8, Seed: 2}
	_, err := run(t, recipe.Onto(flow.From(other)).To(sink.Sink{Connection: c, Stream: "fields"}), flow.Options{})
	if err == nil || !strings.Contains(err.Error(), "has another content already") || strings.Contains(err.Error(), "\n") {
		t.Errorf("other rows: %v", err)
	}
	_, err = run(t, flow.From(other).To(sink.Sink{Connection: c, Stream: "fields"}), flow.Options{})
	if err == nil || !strings.Contains(err.Error(), "its schema is another") || strings.Contains(err.Error(), "\n") {
		t.Errorf("another schema: %v", err)
	}
}

// A record that is too large is cut by rows, and a row that is too large goes
// through the object store.
func TestLargeMessages(t *testing.T) {
	t.Parallel()
	c := jetstream.Connection{URL: jettest.Start(t, nil).ClientURL()}
	p := recipe.Onto(flow.From(sources.Families{Graphs: 30, Rows: 30}))
	want := rows(t, p)
	for i, most := range []int{3000, 100} {
		stream := fmt.Sprintf("fields%d", i)
		stats, err := run(t, p.To(sink.Sink{Connection: c, Stream: stream, Most: most}), flow.Options{})
		if err != nil {
			t.Fatal(err)
		}
		notes := stats.Stages[len(stats.Stages)-1].Notes
		if notes["messages"] < 2 || most == 100 && (notes["messages"] != 30 || notes["objects"] != 30) {
			t.Errorf("%d bytes: %v", most, notes)
		}
		if got := rows(t, flow.From(jetstream.Source{Connection: c, Stream: stream, Ordered: true})); !slices.Equal(got, want) {
			t.Errorf("%d bytes: the rows are others", most)
		}
	}
}

// A stream whose last message was deleted is ended all the same.
func TestEndAfterDeletion(t *testing.T) {
	t.Parallel()
	c := jetstream.Connection{URL: jettest.Start(t, nil).ClientURL()}
	kept(t, c, "fields", 16)
	s, err := raw(t, c).Stream(t.Context(), "fields")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.DeleteMsg(t.Context(), s.CachedInfo().State.LastSeq); err != nil { // its end
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	p := recipe.Onto(flow.From(sources.Families{Graphs: 16, Rows: 8})).To(sink.Sink{Connection: c, Stream: "fields"})
	if err := p.Run(ctx); err != nil {
		t.Fatal(err)
	}
	if got := rows(t, flow.From(jetstream.Source{Connection: c, Stream: "fields", Ordered: true})); len(got) != 16 {
		t.Errorf("%d rows", len(got))
	}
}

// A full stream slows the publisher and loses nothing.
func TestFullStream(t *testing.T) {
	t.Parallel()
	c := jetstream.Connection{URL: jettest.Start(t, nil).ClientURL()}
	src := sources.Families{Graphs: 200, Rows: 8}
	fed := make(chan error, 1)
	feed := sink.Sink{Connection: c, Stream: "graphs", Queue: true, MaxMessages: 5}
	go func() { fed <- flow.From(src).To(feed).Run(context.Background()) }()
	n := 0
	slow := sinkFunc(func(rec arrow.Record) {
		n += int(rec.NumRows())
		time.Sleep(5 * time.Millisecond)
	})
	_, err := run(t, flow.From(jetstream.Source{Connection: c, Stream: "graphs", Durable: "slow", Wait: time.Minute, Pending: 2}).To(slow), flow.Options{})
	if err := errors.Join(err, <-fed); err != nil || n != 200 {
		t.Errorf("%d rows, %v", n, err)
	}
	feed.Stream, feed.FullWait, feed.MaxMessages = "tiny", 200*time.Millisecond, 2
	if _, err := run(t, flow.From(src).To(feed), flow.Options{}); err == nil || !strings.Contains(err.Error(), "it has been full for") {
		t.Errorf("without a reader: %v", err)
	}
}

// slowly is a source that takes its time.
type slowly struct{ flow.Source }

func (s slowly) Open(ctx context.Context, mem memory.Allocator) (flow.Reader, error) {
	r, err := s.Source.Open(ctx, mem)
	return slowReader{r}, err
}

type slowReader struct{ flow.Reader }

func (r slowReader) Next(ctx context.Context) (arrow.Record, error) {
	time.Sleep(30 * time.Millisecond)
	return r.Reader.Next(ctx)
}

// The broker goes away and comes back, twice (for a minute where there is time), while a
// stream is written and read.
func TestBrokerAway(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := jettest.Start(t, jettest.Options(dir, 0))
	c := jetstream.Connection{URL: s.ClientURL()}
	port := s.Addr().(*net.TCPAddr).Port
	src := sources.Families{Graphs: 120, Rows: 4}
	want := rows(t, recipe.Onto(flow.From(src)))
	ends := make(chan error, 1)
	go func() {
		ends <- recipe.Onto(flow.From(slowly{src})).To(sink.Sink{Connection: c, Stream: "fields"}).Run(context.Background())
	}()
	var got []string
	keep := sinkFunc(func(rec arrow.Record) { got = append(got, flowtest.Rows(rec)...) })
	reader := flow.From(jetstream.Source{Connection: c, Stream: "fields", Ordered: true, Wait: time.Minute}).To(keep).Start(t.Context())
	away := 300 * time.Millisecond
	if os.Getenv("SANFLOW_LONG") != "" {
		away = time.Minute
	}
	for range 2 {
		time.Sleep(200 * time.Millisecond)
		jettest.Stop(s)
		time.Sleep(away)
		s = jettest.Start(t, jettest.Options(dir, port))
	}
	if err := errors.Join(<-ends, reader.Wait()); err != nil {
		t.Error(err)
	}
	if !slices.Equal(got, want) {
		t.Errorf("%d rows, want %d", len(got), len(want))
	}
}

// What is gone or wrong is an error in one line, or mended; nothing hangs.
func TestGone(t *testing.T) {
	t.Parallel()
	c := jetstream.Connection{URL: jettest.Start(t, nil).ClientURL()}
	js := raw(t, c)
	fail := func(what, want string, p flow.Pipeline) {
		t.Helper()
		if _, err := run(t, p, flow.Options{}); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %s", what, err, want)
		}
	}
	fail("no stream", "stream not found", flow.From(jetstream.Source{Connection: c, Stream: "nothing", Ordered: true}))
	fail("no broker", "for 300ms", flow.From(jetstream.Source{Connection: jetstream.Connection{URL: "nats://127.0.0.1:1", Patience: 300 * time.Millisecond}, Stream: "x", Ordered: true}))
	if _, err := js.CreateStream(t.Context(), nc.StreamConfig{Name: "foreign"}); err != nil {
		t.Fatal(err)
	}
	fail("not ours", "it is not of sanflow", flow.From(jetstream.Source{Connection: c, Stream: "foreign", Ordered: true}))
	kept(t, c, "fields", 16)
	fail("no queue", "it is no queue", flow.From(jetstream.Source{Connection: c, Stream: "fields", Durable: "a"}))

	// The consumer is deleted while a worker reads: it is made again.
	src := sources.Families{Graphs: 80, Rows: 4}
	if _, err := run(t, flow.From(src).To(sink.Sink{Connection: c, Stream: "graphs", Queue: true}), flow.Options{}); err != nil {
		t.Fatal(err)
	}
	seen, deleted := map[int64]bool{}, false
	take := sinkFunc(func(rec arrow.Record) {
		pos, _ := record.Values[int64](rec, record.Pos)
		for _, p := range pos {
			seen[p] = true
		}
		if len(seen) > 20 && !deleted {
			deleted = true
			if err := js.DeleteConsumer(context.Background(), "graphs", "w"); err != nil {
				t.Error(err)
			}
		}
	})
	if _, err := run(t, flow.From(jetstream.Source{Connection: c, Stream: "graphs", Durable: "w", Pending: 3}).To(take), flow.Options{}); err != nil || len(seen) != 80 || !deleted {
		t.Errorf("consumer deleted: %d rows, %v", len(seen), err)
	}

	// The stream is deleted while a reader waits for its end.
	open := sink.Sink{Connection: c, Stream: "open", NoEnd: true}
	if _, err := run(t, recipe.Onto(flow.From(src)).To(open), flow.Options{}); err != nil {
		t.Fatal(err)
	}
	n := 0
	fail("stream deleted", "stream not found", flow.From(jetstream.Source{Connection: c, Stream: "open", Ordered: true}).To(sinkFunc(func(rec arrow.Record) {
		if n += int(rec.NumRows()); n == 80 {
			if err := js.DeleteStream(context.Background(), "open"); err != nil {
				t.Error(err)
			}
		}
	})))
}

// A password that is not accepted, at first or from some time on, is a clear error.
func TestCredentials(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	o := jettest.Options(dir, 0)
	o.Username, o.Password = "ann", "secret"
	s := jettest.Start(t, o)
	port := s.Addr().(*net.TCPAddr).Port
	c := jetstream.Connection{URL: fmt.Sprintf("nats://ann:secret@127.0.0.1:%d", port)}
	if _, err := run(t, flow.From(sources.Families{Graphs: 9}).To(sink.Sink{Connection: c, Stream: "graphs", NoEnd: true}), flow.Options{}); err != nil {
		t.Fatal(err)
	}
	wrong := c
	wrong.URL = strings.Replace(c.URL, "secret", "guessed", 1)
	read := func(c jetstream.Connection) flow.Pipeline {
		return flow.From(jetstream.Source{Connection: c, Stream: "graphs", Ordered: true})
	}
	if _, err := run(t, read(wrong), flow.Options{}); err == nil || !strings.Contains(strings.ToLower(err.Error()), "authorization violation") || strings.Contains(err.Error(), "guessed") {
		t.Errorf("a wrong password: %v", err)
	}
	// The password is changed while a reader waits for more.
	back := make(chan struct{})
	time.AfterFunc(300*time.Millisecond, func() {
		defer close(back) // the test must not end while a broker starts in its directory
		jettest.Stop(s)
		o := jettest.Options(dir, port)
		o.Username, o.Password = "ann", "changed"
		jettest.Start(t, o)
	})
	if _, err := run(t, read(c), flow.Options{}); err == nil || !strings.Contains(strings.ToLower(err.Error()), "authorization violation") || strings.Contains(err.Error(), "secret") {
		t.Errorf("an expired password: %v", err)
	}
	<-back
}

// Rows that a stage refuses are dead letters. An ordered reader passes over them, and sent
// again they take their old place.
func TestDeadLetters(t *testing.T) {
	t.Parallel()
	c := jetstream.Connection{URL: jettest.Start(t, nil).ClientURL()}
	src := sources.Families{Graphs: 40, Rows: 4}
	if _, err := run(t, flow.From(src).To(sink.Sink{Connection: c, Stream: "graphs", Queue: true}), flow.Options{}); err != nil {
		t.Fatal(err)
	}
	work := func(refuse bool) {
		t.Helper()
		letters, err := sink.OpenLetters(t.Context(), c, sink.Dead{Stream: "dead", Holes: "fields"})
		if err != nil {
			t.Fatal(err)
		}
		defer letters.Close()
		p := recipe.Onto(flow.From(jetstream.Source{Connection: c, Stream: "graphs", Durable: "w"}).Via(picky{refuse})).To(sink.Sink{Connection: c, Stream: "fields"})
		if _, err := run(t, p, flow.Options{Refused: flow.Keep, DeadLetters: letters.Put}); err != nil {
			t.Fatal(err)
		}
	}
	ordered := flow.From(jetstream.Source{Connection: c, Stream: "fields", Ordered: true})
	want := rows(t, recipe.Onto(flow.From(src)))
	for range 2 { // what is sent again is refused again
		work(true)
		if got := rows(t, ordered); len(got) != 32 {
			t.Errorf("%d rows, want 32 of 40", len(got))
		}
		n, err := sink.Resend(t.Context(), c, "dead", "graphs")
		if err != nil || n != 8 {
			t.Fatalf("%d sent again, %v", n, err)
		}
	}
	work(false)
	if got := rows(t, ordered); !slices.Equal(sorted(got), sorted(want)) {
		t.Errorf("%d rows at last, want %d", len(got), len(want))
	}
}

func sorted(s []string) []string { return slices.Sorted(slices.Values(s)) }

// picky refuses every fifth graph.
type picky struct{ refuse bool }

func (p picky) Open(in *arrow.Schema) (flow.Stage, error) { return pickyStage{p, in}, nil }

type pickyStage struct {
	picky
	schema *arrow.Schema
}

func (p pickyStage) Schema() *arrow.Schema { return p.schema }

func (p pickyStage) Process(rec arrow.Record, out *flow.Out) error {
	pos, err := record.Values[int64](rec, record.Pos)
	if err != nil {
		return err
	}
	from := 0
	emit := func(to int) error {
		if to == from {
			return nil
		}
		return out.Emit(rec.NewSlice(int64(from), int64(to)))
	}
	for row, at := range pos {
		if at%5 != 2 || !p.refuse {
			continue
		}
		if err := emit(row); err != nil {
			return err
		}
		if err := out.Refuse(rec, row, errors.New("it is the fifth")); err != nil {
			return err
		}
		from = row + 1
	}
	return emit(len(pos))
}

// A record that comes again at once, as a worker's does whose acknowledgement was lost, is sent
// once; another one at the same position is an error.
func TestRecordAgain(t *testing.T) {
	t.Parallel()
	c := jetstream.Connection{URL: jettest.Start(t, nil).ClientURL()}
	var all []arrow.Record
	keep := sinkFunc(func(rec arrow.Record) {
		rec.Retain()
		all = append(all, rec)
	})
	for seed := range uint64(2) {
		if err := recipe.Onto(flow.From(sources.Families{Graphs: 3, Rows: 1, Seed: 1 + seed})).To(keep).Run(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	send := func(stream string, recs ...arrow.Record) error {
		_, err := run(t, flow.From(sources.Records{Records: recs}).To(sink.Sink{Connection: c, Stream: stream}), flow.Options{})
		return err
	}
	if err := send("a", all[0], all[0], all[1], all[1], all[1], all[2]); err != nil {
		t.Error(err)
	}
	if got := rows(t, flow.From(jetstream.Source{Connection: c, Stream: "a", Ordered: true})); !slices.Equal(got, flowtest.Rows(all[:3]...)) {
		t.Errorf("%d rows, or others", len(got))
	}
	wantError(t, "other rows", send("b", all[0], all[3]), "b", "has rows in two records")
}
