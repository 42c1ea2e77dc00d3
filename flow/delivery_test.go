package flow_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"sync"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/internal/leak"
	"github.com/sanflow/sanflow/operators"
)

// TestDelivery kills sources, stages and sinks at random, by errors, panics,
// runtime.Goexit and cancelling, and starts again behind the last Ack, until a
// run ends well. After each run what is acknowledged is in the store or among the
// letters; at last everything is, and a store that knows what it has, has it
// once.
func TestDelivery(t *testing.T) {
	before := leak.IgnoreCurrent()
	seeds := uint64(150)
	if os.Getenv("SANFLOW_LONG") != "" {
		seeds = 10_000
	}
	kills, runs, twice := 0, 0, 0
	for seed := range seeds {
		d := &delivery{rng: rand.New(rand.NewPCG(seed, 9)), acked: -1, store: map[int64]int{}, letters: map[int64]int{}}
		if err := d.deliver(); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
		kills, runs, twice = kills+d.kills, runs+d.runs, twice+d.twice
	}
	leak.VerifyNone(t, before)
	t.Logf("%d streams, %d runs, %d killed, %d rows seen again", seeds, runs, kills, twice)
	if kills < int(seeds) {
		t.Errorf("only %d of %d runs were killed", kills, runs)
	}
}

// delivery is a stream of rows 0 … rows-1 and the places where they end up.
type delivery struct {
	rng            *rand.Rand
	rows           int64
	kills, runs    int
	twice          int // rows that came to the store again
	mu             sync.Mutex
	acked          int64
	store, letters map[int64]int
	place          string // where the run is killed, and at which call
	left           int
	how            func() error
	knows          bool // the store takes each row once
	records, part  int  // rows a record, records a part
	places         []string
	steps          []func(flow.Pipeline) flow.Pipeline
}

// pos is the position of a row; there are gaps.
func pos(row int64) int64 { return 3*row + 5 }

func (d *delivery) deliver() error {
	d.rows = 1 + d.rng.Int64N(80)
	d.knows = d.rng.IntN(2) == 0
	d.records, d.part = 1+d.rng.IntN(5), d.rng.IntN(5)
	d.places = []string{"source next", "source close", "store write", "store publish", "store close"}
	for range d.rng.IntN(4) {
		d.steps = append(d.steps, d.step())
	}
	for attempt := 0; ; attempt++ {
		err := d.run(attempt)
		if wrong := d.check(err == nil); wrong != nil {
			return fmt.Errorf("run %d, killed at %s: %w (%v)", attempt, d.place, wrong, err)
		}
		if err == nil {
			return nil
		}
		if attempt == 20 {
			return err
		}
	}
}

// kill is where the hooks of steps are called.
var kill = [][]string{{"forks process"}, {"plain process"}, {"holds process", "holds flush"}, {"letters "}}

// step draws an operator.
func (d *delivery) step() func(flow.Pipeline) flow.Pipeline {
	ops := []flow.Operator{ // the first ones as in kill
		step{Label: "a", mode: forks, hook: d.hook("forks")},
		step{Label: "b", mode: plain, hook: d.hook("plain")},
		step{Label: "c", mode: holds, hook: d.hook("holds")},
		step{Label: "d", mode: forks, refuse: badIDs},
		operators.Batch{Size: 1 + d.rng.IntN(9)},
		operators.Shuffle{Size: 1 + d.rng.IntN(20), Rows: 1 + d.rng.IntN(5), Seed: d.rng.Uint64()},
		operators.Replay{Rows: 3},
	}
	i := d.rng.IntN(len(ops))
	if i < len(kill) {
		d.places = append(d.places, kill[i]...)
	}
	return func(p flow.Pipeline) flow.Pipeline { return p.Via(ops[i]) }
}

// hook kills at the place that was drawn.
func (d *delivery) hook(at string) hook {
	return func(place string, _ int64) error {
		d.mu.Lock()
		name := at + " " + place
		now := name == d.place
		if now {
			d.left--
			now = d.left == 0
		}
		how := d.how
		if now {
			d.kills++
		}
		d.mu.Unlock()
		if now {
			return how()
		}
		return nil
	}
}

func (d *delivery) run(attempt int) error {
	mem := memory.NewCheckedAllocator(record.Poison{})
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	d.mu.Lock()
	d.runs++
	d.place = "nowhere"
	if attempt < 12 {
		d.place = d.places[d.rng.IntN(len(d.places))]
		if d.left = 1 + d.rng.IntN(int(d.rows)/d.records+1); d.rng.IntN(2) == 0 {
			d.left = 1
		}
	}
	d.how = []func() error{
		func() error { return errTest },
		func() error { return fmt.Errorf("connection lost: %w", io.EOF) },
		func() error { panic(errTest) },
		func() error { runtime.Goexit(); return nil },
		func() error { stop(); return nil },
	}[d.rng.IntN(5)]
	d.mu.Unlock()
	p := flow.From(d)
	for _, s := range d.steps {
		p = s(p)
	}
	letters := d.hook("letters")
	err := p.To(&storeWriter{delivery: d, hook: d.hook("store")}).With(flow.Options{
		Workers: 1 + d.rng.IntN(3), Allocator: mem, Refused: flow.Keep,
		DeadLetters: func(l flow.Letter) error {
			if err := letters("", 0); err != nil {
				return err
			}
			d.mu.Lock()
			defer d.mu.Unlock()
			d.letters[l.Graph]++
			return nil
		},
	}).Run(ctx)
	if n := mem.CurrentAlloc(); n != 0 {
		err = errors.Join(err, fmt.Errorf("%d bytes are left", n))
	}
	return err
}

// check looks whether all rows are somewhere that are acknowledged, or all.
func (d *delivery) check(ended bool) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if ended && d.acked != pos(d.rows-1) {
		return fmt.Errorf("at the end position %d is acknowledged, want %d", d.acked, pos(d.rows-1))
	}
	for row := range d.rows {
		n := d.store[row] + d.letters[row]
		if n == 0 && pos(row) <= d.acked {
			return fmt.Errorf("row %d is lost: position %d is acknowledged", row, d.acked)
		}
		if d.knows && d.store[row] > 1 {
			return fmt.Errorf("row %d is stored %d times", row, d.store[row])
		}
	}
	return nil
}

func (d *delivery) Name() string { return "source" }

// Open begins behind the last position that was acknowledged.
func (d *delivery) Open(_ context.Context, mem memory.Allocator) (flow.Reader, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	r := &deliveryReader{delivery: d, b: record.NewBuilder(mem, record.Layout{}), hook: d.hook("source")}
	for pos(r.next) <= d.acked {
		r.next++
	}
	return r, nil
}

type deliveryReader struct {
	*delivery
	b    *record.Builder
	next int64
	hook hook
}

func (r *deliveryReader) Schema() *arrow.Schema { return r.b.Schema() }

func (r *deliveryReader) Next(context.Context) (arrow.Record, error) {
	if err := r.hook("next", 0); err != nil {
		return nil, err
	}
	if r.next == r.rows {
		return nil, io.EOF
	}
	for range r.records {
		if r.next == r.rows {
			break
		}
		if err := r.b.Append(&graph.Graph{Offsets: []int32{0, 0}}, record.Row{ID: r.next, Pos: pos(r.next)}); err != nil {
			return nil, err
		}
		r.next++
	}
	return r.b.Record(), nil
}

func (r *deliveryReader) Close() error { return r.hook("close", 0) }

func (r *deliveryReader) Ack(pos int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.acked = max(r.acked, pos)
}

// storeWriter writes into the store: at once, or in parts of some records that
// become visible together, as files do.
type storeWriter struct {
	*delivery
	hook    hook
	waiting []int64
	written int64
	safe    int64
}

func (w *storeWriter) Name() string { return "store" }

func (w *storeWriter) Open(*arrow.Schema) (flow.Writer, error) {
	if w.part == 0 {
		return atOnce{w}, nil
	}
	return w, nil
}

// atOnce is without Durable.
type atOnce struct{ w *storeWriter }

func (a atOnce) Write(ctx context.Context, rec arrow.Record) error {
	if err := a.w.Write(ctx, rec); err != nil {
		return err
	}
	return a.w.publish()
}

func (a atOnce) Close(failed error) error { return a.w.hook("close", 0) }

func (w *storeWriter) Write(_ context.Context, rec arrow.Record) error {
	if err := w.hook("write", 0); err != nil {
		return err
	}
	w.waiting = append(w.waiting, ids(rec)...)
	if w.written++; w.part > 0 && w.written%int64(w.part) == 0 {
		return w.publish()
	}
	return nil
}

func (w *storeWriter) Durable() int64 { return w.safe }

func (w *storeWriter) Close(failed error) error {
	if failed != nil {
		return nil
	}
	if err := w.hook("close", 0); err != nil {
		return err
	}
	return w.publish()
}

// publish makes rows visible, all or none.
func (w *storeWriter) publish() error {
	if err := w.hook("publish", 0); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, row := range w.waiting {
		if w.store[row] > 0 {
			w.twice++
			if w.knows {
				continue
			}
		}
		w.store[row]++
	}
	w.waiting, w.safe = nil, w.written
	return nil
}
