package jetstream_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/internal/jet/jettest"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/sinks"
	sink "github.com/sanflow/sanflow/sinks/jetstream"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/jetstream"
)

var errStop = errors.New("stopped by the test")

// A training that is stopped again and again begins at the place that its checkpoint
// has: it learns the same, and fetches what is behind that.
func TestResumeAtPlace(t *testing.T) {
	t.Parallel()
	c := jetstream.Connection{URL: jettest.Start(t, nil).ClientURL()}
	const graphs, perMessage = 80, 5
	src := sources.Families{Graphs: graphs, Rows: perMessage}
	if _, err := run(t, recipe.Onto(flow.From(src)).To(sink.Sink{Connection: c, Stream: "fields"}), flow.Options{}); err != nil {
		t.Fatal(err)
	}
	for _, epochs := range []int{1, 3} {
		for _, via := range []operators.Recipe{{}, {operators.PerRoot{}}} {
			t.Run(fmt.Sprint(epochs, " epochs", via), func(t *testing.T) {
				size := 16
				if len(via) > 0 {
					size = 37 // rows of a graph and of a batch begin together once in 37 graphs
				}
				ordered := jetstream.Source{Connection: c, Stream: "fields", Ordered: true, Epochs: epochs, Seed: 3, Block: 32}
				p := via.Onto(flow.From(ordered)).Via(operators.Batch{Size: size})
				whole := &nn.CNN{Seed: 1}
				if _, err := run(t, p.To(sinks.Train{Net: whole}), flow.Options{}); err != nil {
					t.Fatal(err)
				}
				file := filepath.Join(t.TempDir(), "checkpoint")
				learned, before := 0, 0 // rows
				begun := 0              // graph with which the last batch begins
				for {
					net, steps, first, from := &nn.CNN{Seed: 1}, 0, -1, begun
					stats, err := run(t, p.To(sinks.Train{
						Net: net, Checkpoint: sinks.Checkpoint{File: file, Resume: true, Every: -1},
						OnRow: func(p sinks.Prediction) error {
							if first < 0 {
								first = int(p.Pos)
							}
							return nil
						},
						OnStep: func(nn.Result) error {
							if steps++; steps > 5 { // within a step, which is done again
								return errStop
							}
							learned += size
							begun, first = first, -1
							return nil
						},
					}), flow.Options{})
					fetched := int(stats.Stages[0].Notes["fetched"])
					// One message more where the place is within one, and what was fetched ahead; in
					// later epochs messages are fetched for each block that they have rows in.
					// PerRoot cuts graphs, and a place may be within one.
					if most := graphs/perMessage - from/perMessage + 1; epochs == 1 && fetched > most {
						t.Errorf("behind %d graphs it fetched %d messages of %d, want at most %d", from, fetched, graphs/perMessage, most)
					}
					if in := stats.Stages[0].RowsOut; before > 0 && len(via) == 0 && in > int64(epochs*graphs-before) {
						t.Errorf("behind %d rows it read %d, of %d", before, in, epochs*graphs)
					}
					if err == nil {
						if net.Hash() != whole.Hash() || net.Seen() != whole.Seen() {
							t.Errorf("%s after %d rows, want %s after %d", net.Hash(), net.Seen(), whole.Hash(), whole.Seen())
						}
						return
					}
					if !errors.Is(err, errStop) {
						t.Fatal(err)
					}
					before = learned - size // the last batch is made again
				}
			})
		}
	}
}

// hold is an operator that keeps the first position back.
type hold struct {
	here *atomic.Bool
	full <-chan struct{}
}

type holdStage struct {
	hold
	schema *arrow.Schema
}

func (h hold) Open(in *arrow.Schema) (flow.Stage, error) { return holdStage{h, in}, nil }
func (h holdStage) Schema() *arrow.Schema                { return h.schema }
func (h holdStage) Process(rec arrow.Record, out *flow.Out) error {
	pos, err := record.Values[int64](rec, record.Pos)
	if err != nil {
		return err
	}
	if pos[0] == 0 {
		h.here.Store(true)
		select {
		case <-h.full:
		case <-out.Context().Done():
			return out.Context().Err()
		}
	}
	rec.Retain()
	return out.Emit(rec)
}

// A trainer that is slow, or away, bounds the stream of fields: it never has more than
// its MaxBytes, though it is filled by messages behind the one that comes last,
// all rows are learned from once, and the model is that of one process.
func TestBoundedStream(t *testing.T) {
	t.Parallel()
	c := jetstream.Connection{URL: jettest.Start(t, nil).ClientURL()}
	const graphs, perMessage, bound = 240, 5, 25_000
	src := sources.Families{Graphs: graphs, Rows: perMessage}
	if _, err := run(t, flow.From(src).To(sink.Sink{Connection: c, Stream: "graphs", Queue: true}), flow.Options{}); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(context.Background(), 2*time.Minute)
	defer stop()
	full, here := make(chan struct{}), &atomic.Bool{}
	done := make(chan error, 3)
	var aside, sent atomic.Int64
	work := func(pending int) {
		w := recipe.Onto(flow.From(jetstream.Source{Connection: c, Stream: "graphs", Durable: "fields", Pending: pending})).Via(hold{here, full}).
			To(sink.Sink{Connection: c, Stream: "fields", MaxBytes: bound}).Start(ctx)
		err := w.Wait()
		notes := w.Stats().Stages[len(w.Stats().Stages)-1].Notes
		aside.Add(notes["put aside"])
		sent.Add(notes["message bytes"])
		done <- err
	}
	go work(1)
	for !here.Load() && ctx.Err() == nil {
		time.Sleep(time.Millisecond)
	}
	go work(4)
	go work(4)
	js := raw(t, c)
	most, watched := uint64(0), make(chan struct{})
	watch, unwatch := context.WithCancel(ctx)
	go func() {
		defer close(watched)
		for was := 0; watch.Err() == nil; time.Sleep(2 * time.Millisecond) {
			s, err := js.Stream(watch, "fields")
			if err != nil {
				continue
			}
			now := s.CachedInfo().State.Bytes
			most = max(most, now)
			if was++; now <= bound*8/10 {
				was = 0
			}
			if was > 20 { // it does not grow any more
				select {
				case <-full:
				default:
					close(full)
				}
			}
		}
	}()
	<-full
	ordered := jetstream.Source{Connection: c, Stream: "fields", Ordered: true, Purge: true, Wait: time.Minute}
	file := filepath.Join(t.TempDir(), "checkpoint")
	seen := map[int64]int{}
	net := &nn.CNN{}
	for stops := 0; ; stops++ {
		net = &nn.CNN{Seed: 1}
		rows := 0
		stats, err := run(t, flow.From(ordered).Via(operators.Batch{Size: 16}).To(sinks.Train{
			Net: net, Checkpoint: sinks.Checkpoint{File: file, Resume: true, Every: -1},
			OnRow: func(p sinks.Prediction) error { seen[p.Pos]++; return nil },
			OnStep: func(r nn.Result) error {
				if rows += r.Rows; rows > 200 && stops < 2 {
					return errStop
				}
				return nil
			},
		}), flow.Options{})
		if err == nil {
			if purged := stats.Stages[0].Notes["purged"]; purged < 10 {
				t.Errorf("%d messages were purged", purged)
			}
			break
		}
		if !errors.Is(err, errStop) {
			t.Fatal(err)
		}
	}
	for range cap(done) {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	unwatch()
	<-watched
	want := &nn.CNN{Seed: 1}
	if _, err := run(t, recipe.Onto(flow.From(src)).Via(operators.Batch{Size: 16}).To(sinks.Train{Net: want}), flow.Options{}); err != nil {
		t.Fatal(err)
	}
	if net.Hash() != want.Hash() || net.Seen() != graphs || len(seen) != graphs {
		t.Errorf("%s after %d graphs, %d of them different, want %s after %d", net.Hash(), net.Seen(), len(seen), want.Hash(), graphs)
	}
	if most > bound || sent.Load() < 2*bound || aside.Load() == 0 {
		t.Errorf("the stream had up to %d bytes of %d, of messages of %d; %d were put aside", most, bound, sent.Load(), aside.Load())
	}
}

// Purge needs a source with places. Beginning before the purged messages is an error.
func TestPurgeRefused(t *testing.T) {
	t.Parallel()
	c := jetstream.Connection{URL: jettest.Start(t, nil).ClientURL()}
	if _, err := run(t, recipe.Onto(flow.From(sources.Families{Graphs: 100, Rows: 5})).To(sink.Sink{Connection: c, Stream: "fields"}), flow.Options{}); err != nil {
		t.Fatal(err)
	}
	ordered := jetstream.Source{Connection: c, Stream: "fields", Ordered: true, Purge: true}
	train := func(file string, through ...flow.Operator) error {
		train := sinks.Train{Net: &nn.CNN{Seed: 1}}
		if file != "" {
			train.Checkpoint = sinks.Checkpoint{File: file, Resume: true, Every: -1}
		}
		p := flow.From(ordered)
		for _, op := range through {
			p = p.Via(op)
		}
		_, err := run(t, p.Via(operators.Batch{Size: 8}).To(train), flow.Options{})
		return err
	}
	wantError(t, "no checkpoint", train(""), "fields", "no sink keeps places")
	wantError(t, "Shuffle", train(filepath.Join(t.TempDir(), "a"), operators.Shuffle{}), "fields", "no sink keeps places")
	file := filepath.Join(t.TempDir(), "b")
	if err := train(file); err != nil {
		t.Fatal(err)
	}
	if err := train(file); err != nil { // there is nothing left to learn
		t.Error(err)
	}
	wantError(t, "another checkpoint", train(filepath.Join(t.TempDir(), "c")), "fields", "were purged")
}

// A reader that purges passes over the holes of dead letters, and over what is not of sanflow, and
// deletes them with the rest; with three servers as with one.
func TestPurgeDeadLetters(t *testing.T) {
	t.Parallel()
	for _, servers := range []int{1, 3} {
		if servers > 1 && os.Getenv("SANFLOW_LONG") == "" {
			continue // it takes them some seconds to find each other
		}
		c := jetstream.Connection{URL: jettest.Cluster(t, servers), Replicas: servers}
		js := raw(t, c)
		const graphs, refused = 60, 12
		src := sources.Families{Graphs: graphs, Rows: 4}
		letters, err := sink.OpenLetters(t.Context(), c, sink.Dead{Stream: "dead", Holes: "fields"})
		if err != nil {
			t.Fatal(err)
		}
		defer letters.Close()
		p := recipe.Onto(flow.From(src).Via(picky{true}))
		work := func(noEnd bool) {
			t.Helper()
			to := sink.Sink{Connection: c, Stream: "fields", MaxBytes: 1 << 20, NoEnd: noEnd}
			if _, err := run(t, p.To(to), flow.Options{Refused: flow.Keep, DeadLetters: letters.Put}); err != nil {
				t.Fatal(err)
			}
		}
		work(true)
		if _, err := js.Publish(t.Context(), "fields.p.4711", []byte("hello")); err != nil {
			t.Fatal(err)
		}
		work(false)
		from := jetstream.Source{Connection: c, Stream: "fields", Ordered: true, Purge: true, Dead: jetstream.Dead{Stream: "strange"}}
		file := filepath.Join(t.TempDir(), "checkpoint")
		for stops := 0; ; stops++ {
			net, rows := &nn.CNN{Seed: 1}, 0
			_, err := run(t, flow.From(from).Via(operators.Batch{Size: 8}).To(sinks.Train{
				Net: net, Checkpoint: sinks.Checkpoint{File: file, Resume: true, Every: -1},
				OnStep: func(r nn.Result) error {
					if rows += r.Rows; rows > 20 && stops < 2 {
						return errStop
					}
					return nil
				},
			}), flow.Options{})
			if errors.Is(err, errStop) {
				continue
			}
			want := &nn.CNN{Seed: 1}
			_, bad := run(t, p.Via(operators.Batch{Size: 8}).To(sinks.Train{Net: want}), flow.Options{Refused: flow.Skip})
			if err != nil || bad != nil || net.Hash() != want.Hash() || net.Seen() != graphs-refused {
				t.Errorf("%d servers: %s after %d, want %s after %d: %v, %v", servers, net.Hash(), net.Seen(), want.Hash(), graphs-refused, err, bad)
			}
			break
		}
		for stream, want := range map[string]uint64{"dead": refused, "strange": 1} {
			s, err := js.Stream(t.Context(), stream)
			if err != nil {
				t.Fatal(err)
			}
			if n := s.CachedInfo().State.Msgs; n != want {
				t.Errorf("%d servers: %d messages in %s, want %d", servers, n, stream, want)
			}
		}
		s, err := js.Stream(t.Context(), "fields")
		if err != nil {
			t.Fatal(err)
		}
		if first := s.CachedInfo().State.FirstSeq; first < 15 {
			t.Errorf("%d servers: the stream begins at %d", servers, first)
		}
	}
}
