package jetstream_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"
	nc "github.com/nats-io/nats.go/jetstream"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/internal/jet/jettest"
	sink "github.com/sanflow/sanflow/sinks/jetstream"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/jetstream"
)

// wantError wants an error of one line that names the stage and the stream, and says what is wrong.
func wantError(t *testing.T, what string, err error, stream, want string) {
	t.Helper()
	if err == nil || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "jetstream") ||
		strings.Count(err.Error(), "stream "+stream+": ") != 1 || !saysOne(strings.ToLower(err.Error()), want) {
		t.Errorf("%s: %v, want one that says: jetstream, stream %s, %s", what, err, stream, want)
	}
}

// saysOne reports whether the text says one of what is between bars.
func saysOne(text, want string) bool {
	for _, w := range strings.Split(want, "|") {
		if strings.Contains(text, w) {
			return true
		}
	}
	return false
}

// after is a sink that does something behind a record.
func after(n int, do func()) sinkFunc {
	seen := 0
	return func(arrow.Record) {
		if seen++; seen == n {
			do()
		}
	}
}

// codeCreate is what a broker says that is still deleting what was in a stream of that name.
const codeCreate = 10049

// A deleted stream ends its writers, workers and ordered readers. A new stream of the same
// name is not taken for it.
func TestStreamDeleted(t *testing.T) {
	t.Parallel()
	c := jetstream.Connection{URL: jettest.Start(t, nil).ClientURL()}
	js := raw(t, c)
	src := sources.Families{Graphs: 40, Rows: 4}
	for _, again := range []bool{false, true} {
		want := "stream not found"
		if again {
			want = "it was deleted, and made again|stream not found" // in between there is no stream
		}
		gone := func(name string) func() {
			return func() {
				info, err := js.Stream(context.Background(), name)
				if err == nil {
					err = js.DeleteStream(context.Background(), name)
				}
				for begin := time.Now(); err == nil && again; time.Sleep(10 * time.Millisecond) {
					_, err = js.CreateStream(context.Background(), info.CachedInfo().Config)
					var api *nc.APIError
					if !errors.As(err, &api) || api.ErrorCode != codeCreate || time.Since(begin) > time.Minute {
						break
					}
					err = nil
				}
				if err != nil {
					t.Error(err)
				}
			}
		}
		for _, queue := range []bool{false, true} {
			written := fmt.Sprintf("written-%t-%t", again, queue) // a name for each: see codeCreate
			to := sink.Sink{Connection: c, Stream: written, Queue: queue, Pending: 1}
			_, err := run(t, flow.From(&interrupted{Source: src, at: 5, do: gone(written)}).To(to), flow.Options{})
			wantError(t, "written", err, written, want)

			read := fmt.Sprintf("read-%t-%t", again, queue)
			to.Stream, to.NoEnd = read, true
			if _, err := run(t, flow.From(src).To(to), flow.Options{}); err != nil {
				t.Fatal(err)
			}
			from := jetstream.Source{Connection: c, Stream: read, Ordered: !queue}
			n := 10 // all of them: then it waits for more
			if queue {
				from.Durable, from.Pending, n = "w", 2, 5
			}
			_, err = run(t, flow.From(from).To(after(n, gone(read))), flow.Options{})
			wantError(t, "read", err, read, want)
		}
	}
}

// interrupted is a source during which something happens.
type interrupted struct {
	flow.Source
	at int
	do func()
}

func (s *interrupted) Open(ctx context.Context, mem memory.Allocator) (flow.Reader, error) {
	r, err := s.Source.Open(ctx, mem)
	return &interruptedReader{Reader: r, s: s}, err
}

type interruptedReader struct {
	flow.Reader
	s    *interrupted
	seen int
}

func (r *interruptedReader) Next(ctx context.Context) (arrow.Record, error) {
	if r.seen++; r.seen == r.s.at {
		time.Sleep(50 * time.Millisecond) // some are on their way
		r.s.do()
	}
	return r.Reader.Next(ctx)
}

// The consumer that reads headers is deleted while the stream is read in order: nothing is lost.
func TestOrderedConsumerDeleted(t *testing.T) {
	t.Parallel()
	c := jetstream.Connection{URL: jettest.Start(t, nil).ClientURL()}
	js := raw(t, c)
	src := sources.Families{Graphs: 80, Rows: 4}
	fed := make(chan error, 1)
	go func() {
		fed <- flow.From(slowly{src}).To(sink.Sink{Connection: c, Stream: "s"}).Run(context.Background())
	}()
	n := 0
	take := sinkFunc(func(rec arrow.Record) {
		n += int(rec.NumRows())
		s, err := js.Stream(context.Background(), "s")
		if err != nil {
			t.Error(err)
			return
		}
		for name := range s.ConsumerNames(context.Background()).Name() {
			if err := s.DeleteConsumer(context.Background(), name); err != nil && !strings.Contains(err.Error(), "not found") {
				t.Error(err)
			}
		}
	})
	_, err := run(t, flow.From(jetstream.Source{Connection: c, Stream: "s", Ordered: true, Wait: time.Minute}).To(take), flow.Options{})
	if bad := <-fed; err != nil || bad != nil || n != 80 {
		t.Errorf("%d rows, %v, %v", n, err, bad)
	}
}

// A stream with other columns than the pipeline wants is an error before anything is read, and
// one whose schema is none is told from it.
func TestOtherSchema(t *testing.T) {
	t.Parallel()
	c := jetstream.Connection{URL: jettest.Start(t, nil).ClientURL()}
	js := raw(t, c)
	kept(t, c, "fields", 16)
	_, err := run(t, recipe.Onto(flow.From(jetstream.Source{Connection: c, Stream: "fields", Ordered: true})).To(after(1, func() { t.Error("a record came") })), flow.Options{})
	if err == nil || strings.Contains(err.Error(), "\n") {
		t.Errorf("fields for graphs: %v", err)
	}
	for i, text := range []string{"", "AAAA", "!"} {
		const want = "its schema"
		odd := fmt.Sprint("odd", i)
		config := nc.StreamConfig{Name: odd, Subjects: []string{odd + ".p.*", odd + ".end"}, Metadata: map[string]string{"sanflow": "1", "sanflow_schema": text}}
		if _, err := js.CreateStream(t.Context(), config); err != nil {
			t.Fatal(err)
		}
		_, err := run(t, flow.From(jetstream.Source{Connection: c, Stream: odd, Ordered: true}).To(after(1, func() {})), flow.Options{})
		wantError(t, "a schema of "+text, err, odd, want)
		_, err = run(t, flow.From(sources.Families{Graphs: 4}).To(sink.Sink{Connection: c, Stream: odd}), flow.Options{})
		wantError(t, "a schema of "+text, err, odd, want)
	}
}

// An ordered reader reads a lost message again, even the last one, although no later message
// reveals the loss.
func TestLastMessageLost(t *testing.T) {
	t.Parallel()
	c := jetstream.Connection{URL: jettest.Start(t, nil).ClientURL()}
	js := raw(t, c)
	src := sources.Families{Graphs: 16, Rows: 4}
	to := sink.Sink{Connection: c, Stream: "s", NoEnd: true}
	if _, err := run(t, flow.From(src).To(to), flow.Options{}); err != nil {
		t.Fatal(err)
	}
	stolen := make(chan int, 1)
	steal := func() { // by asking the consumer of the reader for it
		defer close(stolen)
		s, err := js.Stream(context.Background(), "s")
		if err != nil {
			t.Error(err)
			return
		}
		for name := range s.ConsumerNames(context.Background()).Name() {
			cons, err := s.Consumer(context.Background(), name)
			if err != nil {
				t.Error(err)
				return
			}
			batch, err := cons.Fetch(1, nc.FetchMaxWait(20*time.Second))
			if err != nil {
				t.Error(err)
				return
			}
			time.Sleep(time.Second) // then the reader asks behind us
			to.NoEnd = false
			if err := flow.From(src).To(to).Run(context.Background()); err != nil {
				t.Error(err)
			}
			for range batch.Messages() {
				stolen <- 1
				return
			}
		}
	}
	n, theft := 0, make(chan struct{})
	_, err := run(t, flow.From(jetstream.Source{Connection: c, Stream: "s", Ordered: true}).To(sinkFunc(func(rec arrow.Record) {
		if n += int(rec.NumRows()); n == 16 {
			go func() {
				defer close(theft)
				steal()
			}()
		}
	})), flow.Options{})
	<-theft
	if err != nil || n != 16 {
		t.Errorf("%d rows, %v", n, err)
	}
	t.Logf("%d messages were stolen", len(stolen))
}
