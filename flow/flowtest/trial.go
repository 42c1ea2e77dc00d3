package flowtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/internal/leak"
)

// patience bounds the time from the end of the context to the end of a run. A stage has to end
// within a second, but a busy machine needs more.
var patience = 10 * time.Second

// clean calls f with a checked allocator over record.Poison and returns its error, or else that of a buffer or a goroutine that f
// leaves behind.
func clean(f func(mem memory.Allocator) error) error {
	before := leak.IgnoreCurrent()
	mem := memory.NewCheckedAllocator(record.Poison{})
	if err := f(mem); err != nil {
		return err
	}
	if n := mem.CurrentAlloc(); n != 0 {
		return fmt.Errorf("%d bytes allocated by the run are not freed", n)
	}
	return leak.Within(patience, before)
}

// trial is one run of an operator under the conditions of a check.
type trial struct {
	from    flow.Source // source of the run; nil = a feed with the records of in
	op      flow.Operator
	schema  *arrow.Schema  // schema of in
	in      []arrow.Record // input records
	shared  bool           // the source emits the records of in, not copies that are freed at their release
	loans   *loans         // checks Retain and Release; or nil
	endless bool           // the source repeats in without end, and the sink keeps no record
	workers int
	policy  flow.Policy
	read    func(n int) error // called before record n is read
	write   func(n int) error // called when record n arrives
	expect  []int64           // positions of the expected output rows; nil: no Acker
}

// result has the rows that the sink of a trial got, the refused rows, and the error of the run.
type result struct {
	err     error
	rows    []string // as Rows returns them, read after the run
	sizes   []int64  // rows per record
	pos     []int64
	letters []string
	refused []int64 // positions of the refused rows
	reasons []error
}

// run runs the trial. The error is a leak, a hang or an early acknowledgement. A run that hangs keeps its
// input and its result, since it may continue after the check.
func (t trial) run(ctx context.Context) (r result, err error) {
	err = clean(func(mem memory.Allocator) error { return t.runIn(ctx, mem, &r) })
	if err != nil && r.err != nil {
		err = fmt.Errorf("%w (%v)", err, r.err)
	}
	return r, err
}

func (t trial) runIn(ctx context.Context, mem memory.Allocator, r *result) error {
	for _, rec := range t.in {
		rec.Retain()
	}
	sink := &catch{trial: t, missing: map[int64]int{}}
	src := &feed{trial: t, left: sink}
	p := flow.From(src)
	if t.from != nil {
		p = flow.From(t.from)
	}
	if t.op != nil {
		p = p.Via(t.op)
	}
	running := p.To(sink).With(flow.Options{
		Workers: t.workers, Allocator: mem, Refused: t.policy,
		DeadLetters: func(l flow.Letter) error {
			r.letters = append(r.letters, Rows(l.Row)...)
			r.refused = append(r.refused, l.Pos)
			r.reasons = append(r.reasons, l.Err)
			return nil
		},
	}).Start(ctx)
	done := make(chan struct{})
	go func() {
		r.err = running.Wait()
		record.Release(t.in)
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(10 * patience):
		return fmt.Errorf("the run has not ended after %v", 10*patience)
	case <-ctx.Done():
		select {
		case <-done:
		case <-time.After(patience):
			return fmt.Errorf("the run goes on %v after its context has ended", patience)
		}
	}
	r.rows, r.pos = Rows(sink.recs...), positions(sink.recs...)
	for _, rec := range sink.recs {
		r.sizes = append(r.sizes, rec.NumRows())
		rec.Release()
	}
	if t.loans != nil {
		if err := t.loans.settle(); err != nil {
			return err
		}
	}
	switch {
	case src.closed != src.opened:
		return fmt.Errorf("the source was opened %d times and closed %d times", src.opened, src.closed)
	case src.early != nil:
		return src.early
	case t.expect != nil && r.err == nil && src.acked != last(t.in):
		return fmt.Errorf("at the end position %d is acknowledged, want %d", src.acked, last(t.in))
	}
	return nil
}

// last returns the last position of a stream, or -1.
func last(in []arrow.Record) int64 {
	if pos := positions(in...); len(pos) > 0 {
		return pos[len(pos)-1]
	}
	return -1
}

// feed is the source of a trial. It counts the calls of Open and Close.
type feed struct {
	trial
	left           *catch
	acked          int64
	early          error // error of the first wrong Ack
	opened, closed int
}

func (f *feed) Name() string { return "feed" }

func (f *feed) Open(_ context.Context, mem memory.Allocator) (flow.Reader, error) {
	f.opened++
	f.acked = -1
	r := &feeder{feed: f, mem: mem}
	if f.expect == nil {
		return r, nil
	}
	for _, p := range f.expect {
		f.left.missing[p]++
	}
	return acker{r}, nil
}

type feeder struct {
	*feed
	mem memory.Allocator
	n   int
}

func (f *feeder) Schema() *arrow.Schema { return f.schema }

func (f *feeder) Next(ctx context.Context) (arrow.Record, error) {
	if f.read != nil {
		if err := f.read(f.n); err != nil {
			return nil, err
		}
	}
	if f.n == len(f.in) && f.endless {
		f.n = 0
	}
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case f.n >= len(f.in):
		return nil, io.EOF
	}
	rec := f.in[f.n]
	f.n++
	if f.shared {
		rec.Retain()
		return rec, nil
	}
	if f.loans != nil {
		return f.loans.lend(clone(f.mem, rec)), nil
	}
	return clone(f.mem, rec), nil
}

func (f *feeder) Close() error {
	f.closed++
	return nil
}

// acker checks that rows are acknowledged in order, and not before all their output rows are written.
type acker struct{ *feeder }

func (a acker) Ack(pos int64) {
	err := a.left.await(pos)
	switch {
	case pos <= a.acked:
		err = fmt.Errorf("position %d is acknowledged after %d", pos, a.acked)
	case a.closed > 0:
		err = errors.New("a position is acknowledged after the source was closed")
	}
	if a.early == nil {
		a.early = err
	}
	a.acked = pos
}

// catch is the sink of a trial. It keeps the records, and counts the expected rows that have not arrived.
type catch struct {
	trial
	n       int
	recs    []arrow.Record
	mu      sync.Mutex
	missing map[int64]int // number of expected rows that have not arrived, by position
}

func (c *catch) Name() string { return "catch" }

func (c *catch) Open(*arrow.Schema) (flow.Writer, error) { return c, nil }

func (c *catch) Write(_ context.Context, rec arrow.Record) error {
	n := c.n
	c.n++
	c.count(rec)
	if c.trial.write != nil {
		if err := c.trial.write(n); err != nil {
			return err
		}
	}
	if !c.endless {
		rec.Retain()
		c.recs = append(c.recs, rec)
	}
	return nil
}

func (c *catch) Close(error) error { return nil }

func (c *catch) count(rec arrow.Record) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range positions(rec) {
		if c.missing != nil {
			c.missing[p]--
		}
	}
}

// await returns an error if an expected row with a position up to pos has not arrived.
func (c *catch) await(pos int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for p, n := range c.missing {
		if p <= pos && n > 0 {
			return fmt.Errorf("position %d is acknowledged, but %d rows of position %d are still to come", pos, n, p)
		}
	}
	return nil
}

var errCheck = errors.New("an error on purpose")

// byTurns is an operator whose workers sleep after each record, so that all workers get records.
type byTurns struct{ flow.Operator }

func (b byTurns) Name() string { return flow.Name(b.Operator) }

func (b byTurns) Open(in *arrow.Schema) (flow.Stage, error) {
	s, err := b.Operator.Open(in)
	if _, holds := s.(flow.Flusher); err != nil || holds {
		return s, err
	}
	if _, forks := s.(flow.Forker); !forks {
		return s, nil
	}
	return rested{s}, nil
}

// rested is a stage that forks, and sleeps for a millisecond after each record.
type rested struct{ flow.Stage }

func (r rested) Process(rec arrow.Record, out *flow.Out) error {
	defer time.Sleep(time.Millisecond)
	return r.Stage.Process(rec, out)
}

func (r rested) Fork() flow.Stage {
	if s := r.Stage.(flow.Forker).Fork(); s != nil {
		return rested{s}
	}
	return nil
}

func (r rested) Close() error {
	if c, ok := r.Stage.(io.Closer); ok {
		return c.Close()
	}
	return nil
}
