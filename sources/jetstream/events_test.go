package jetstream_test

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"math/rand/v2"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/event"
	"github.com/sanflow/sanflow/flow/event/checkpoint"
	"github.com/sanflow/sanflow/flow/graph/dynamic"
	"github.com/sanflow/sanflow/internal/jet/jettest"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/evolve"
	"github.com/sanflow/sanflow/operators/field"
	sink "github.com/sanflow/sanflow/sinks/jetstream"
	"github.com/sanflow/sanflow/sources/events"
	"github.com/sanflow/sanflow/sources/jetstream"
)

// changes returns n events of a graph of 60 nodes.
func changes(n int) (list []event.Event) {
	r := rand.New(rand.NewPCG(27, 1))
	for i := range n {
		e := event.Event{Pos: int64(i), Time: int64(i / 3), Source: int32(r.IntN(60)), Target: int32(r.IntN(60)), Class: -1}
		if i%5 == 4 {
			e.Kind = event.RemoveEdge
		}
		list = append(list, e)
	}
	return list
}

func of(list []event.Event) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		for _, e := range list {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func publish(t *testing.T, to sink.Sink, rows events.Rows) {
	t.Helper()
	if _, err := run(t, flow.From(rows).To(to), flow.Options{}); err != nil {
		t.Fatal(err)
	}
}

// Events come from a stream in the order in which they were published: those that have no
// positions, or positions that fall or leave some out, too.
func TestEvents(t *testing.T) {
	t.Parallel()
	c := jetstream.Connection{URL: jettest.Start(t, nil).ClientURL()}
	plain := changes(700)
	without, mixed, holes := slices.Clone(plain), slices.Clone(plain), slices.Clone(plain)
	for i := range without {
		without[i].Pos = 0
		mixed[i].Pos, holes[i].Pos = int64(i*389%700), int64(2*i)
	}
	for name, list := range map[string][]event.Event{"plain": plain, "nopos": without, "falling": mixed, "holes": holes} {
		publish(t, sink.Sink{Connection: c, Stream: name}, events.Rows{Events: of(list), Size: 40})
		src := jetstream.Source{Connection: c, Stream: name, Ordered: true}
		n := 0
		mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		for e, err := range events.Of(ctx, src, mem) {
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if want := plain[n]; e.Pos != want.Pos || e.Time != want.Time || e.Source != want.Source || e.Target != want.Target && e.OfEdge() || e.Kind != want.Kind {
				t.Fatalf("%s: event %d is %+v, want %+v", name, n, e, want)
			}
			n++
		}
		stop()
		mem.AssertSize(t, 0)
		if n != len(plain) {
			t.Errorf("%s: %d events, want %d", name, n, len(plain))
		}
		op := operators.Evolve{Normalize: operators.Normalize{K: 5}, Every: 50, Last: 200}
		want := rows(t, flow.From(events.Rows{Events: of(plain)}).Via(op))
		if got := rows(t, flow.From(src).Via(op)); len(got) == 0 || !slices.Equal(got, want) {
			t.Errorf("%s: the fields are others", name)
		}
	}
}

// A reader of events that would have to acknowledge them says so, and does not wait for ever.
func TestEventsOfQueue(t *testing.T) {
	t.Parallel()
	c := jetstream.Connection{URL: jettest.Start(t, nil).ClientURL()}
	publish(t, sink.Sink{Connection: c, Stream: "queue", Queue: true}, events.Rows{Events: of(changes(400)), Size: 10})
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
	defer stop()
	var last error
	for _, err := range events.Of(ctx, jetstream.Source{Connection: c, Stream: "queue", Durable: "w"}, memory.DefaultAllocator) {
		last = err
	}
	if last == nil || !strings.Contains(last.Error(), "acknowledged") {
		t.Errorf("%v, want an error about what is to be acknowledged", last)
	}
}

// A run that reads events from a broker which restarts, is published to twice, and whose reader
// is killed, comes to the graph and the fields of a run over the events alone.
func TestEventsRestart(t *testing.T) {
	t.Parallel()
	list := changes(1200)
	fields := func() *evolve.Fields {
		f, err := evolve.New(dynamic.Settings{Last: 300}, field.Both, &field.Normalizer{K: 5}, true)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	apply := func(f *evolve.Fields, e event.Event) error {
		if err := f.Apply(&e); err != nil {
			return err
		}
		return f.Refresh(func(int32, []int32, []uint8) error { return nil })
	}
	saved := func(f *evolve.Fields) []byte {
		var b bytes.Buffer
		if err := f.Save(&b); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	alone := fields()
	for _, e := range list {
		if err := apply(alone, e); err != nil {
			t.Fatal(err)
		}
	}

	dir := t.TempDir()
	s := jettest.Start(t, jettest.Options(dir, 0))
	port := s.Addr().(*net.TCPAddr).Port
	c := jetstream.Connection{URL: s.ClientURL(), Patience: time.Minute}
	// A feed that ends in the middle, without the end of the stream, and begins anew.
	publish(t, sink.Sink{Connection: c, Stream: "events", NoEnd: true}, events.Rows{Events: of(list[:600]), Size: 20})
	killed := errors.New("killed")
	file := filepath.Join(t.TempDir(), "run.ckpt")
	reads := 0
	read := func(most int, skip bool) (*evolve.Fields, error) {
		f := fields()
		r, err := checkpoint.File{Path: file, Every: 50, Resume: true}.Open(checkpoint.Part{Name: "fields", Save: f.Save, Load: f.Restore})
		if err != nil {
			return nil, err
		}
		defer r.Close()
		src := jetstream.Source{Connection: c, Stream: "events", Ordered: true}
		if skip {
			src.Skip = r.Skip()
		}
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		reads = 0
		for e, err := range r.Events(events.Of(ctx, src, memory.DefaultAllocator)) {
			if err != nil {
				return nil, err
			}
			if err := apply(f, e); err != nil {
				return nil, err
			}
			if err := r.Save(); err != nil {
				return nil, err
			}
			if reads++; reads == most {
				return nil, killed
			}
		}
		return f, nil
	}
	if _, err := read(330, false); err != killed {
		t.Fatal(err)
	}
	jettest.Stop(s)
	jettest.Start(t, jettest.Options(dir, port))
	fed := make(chan error, 1)
	go func() {
		fed <- flow.From(events.Rows{Events: of(list), Size: 20}).To(sink.Sink{Connection: c, Stream: "events"}).Run(context.Background())
	}()
	if _, err := read(400, true); err != killed {
		t.Fatal(err)
	}
	f, err := read(0, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := <-fed; err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(saved(f), saved(alone)) || reads != 1200-700 {
		t.Errorf("another graph, or other fields, after %d events of 500", reads)
	}
}
