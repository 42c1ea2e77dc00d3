package flow

import (
	"context"
	"errors"
	"sync"

	"github.com/apache/arrow/go/v15/arrow"
)

// Direct runs operators on single records, without a pipeline: a record goes in, and the output
// of the last operator comes out. It serves requests, for which a pipeline would cost more than
// the work. Each record is a stream of its own, at whose end operators that hold rows back
// (Flusher) emit them. If there is such an operator, the stages that are no Forker are opened
// again for the next record. One goroutine at a time may use a Direct. The operators run on
// another goroutine meanwhile, so a runtime.Goexit in an operator does not end the caller.
type Direct struct {
	in     *arrow.Schema
	ops    []Operator
	opts   Options
	names  []string
	schema *arrow.Schema
	stages []Stage // nil: to be opened
	chain  *chain  // nil: to be made
	outs   []arrow.Record

	counts []*counter // of the stages, also of those that were opened before

	from    *Direct    // whose stages are forked; or nil
	forking sync.Mutex // held while a stage is forked
}

// OpenDirect opens the operators for records of that schema. It uses only Allocator of the
// options.
func OpenDirect(in *arrow.Schema, o Options, ops ...Operator) (*Direct, error) {
	o.Refused = Skip // a row that is refused is no reason to open everything anew
	d := &Direct{in: in, ops: ops, opts: o.withDefaults(), stages: make([]Stage, len(ops))}
	n := namer{}
	for _, op := range ops {
		d.names = append(d.names, n.name(op))
	}
	return d, d.open()
}

// Fork returns a Direct for another goroutine. It forks the stages of d that are Forkers; the
// forks share data as the workers of a pipeline do, such as the index of a graph. It opens the
// other stages again. d may not process records at the same time as its forks, and is closed
// after them.
func (d *Direct) Fork() (*Direct, error) {
	f := &Direct{in: d.in, ops: d.ops, opts: d.opts, names: d.names, stages: make([]Stage, len(d.ops)), from: d}
	return f, f.open()
}

// open opens the stages that are not open, and makes the chain.
func (d *Direct) open() error {
	r := newRun(context.Background(), d.opts)
	defer r.cancel(nil)
	schema := d.in
	var counts []*counter
	attend(func() {
		for i := range d.ops {
			out, err := d.openStage(r, i, schema)
			if err != nil {
				r.fail(err)
				return
			}
			schema = out
			counts = append(counts, d.counter(i))
		}
	})
	d.schema = schema
	d.chain = newChain(r, d.stages[:len(counts)], counts, func(rec arrow.Record) error {
		d.outs = append(d.outs, rec)
		return nil
	})
	err := r.err()
	if err != nil {
		_ = d.Close()
	}
	return err
}

// openStage opens stage i, unless it is open, and returns the schema of what it emits.
func (d *Direct) openStage(r *run, i int, in *arrow.Schema) (out *arrow.Schema, err error) {
	s := d.stages[i]
	if s == nil && d.from != nil {
		if s, err = d.from.fork(r, i); err != nil {
			return nil, err
		}
	}
	if s == nil {
		s, out, err = r.openOperator(d.names[i], d.ops[i], in)
	} else {
		err = r.guard(d.names[i], func() error {
			out = s.Schema()
			return nil
		})
	}
	if err == nil {
		d.stages[i] = s
	}
	return out, err
}

// fork returns a fork of stage i, or nil where that is no Forker.
func (d *Direct) fork(r *run, i int) (s Stage, err error) {
	d.forking.Lock()
	defer d.forking.Unlock()
	if d.stages[i] == nil || !forks(d.stages[i:i+1]) {
		return nil, nil
	}
	err = r.guard(d.names[i], func() error {
		if s = d.stages[i].(Forker).Fork(); s == nil {
			return errors.New("Fork returned nil")
		}
		return nil
	})
	return s, err
}

// counter is that of stage i.
func (d *Direct) counter(i int) *counter {
	if i == len(d.counts) {
		d.counts = append(d.counts, &counter{stage: d.names[i]})
	}
	return d.counts[i]
}

// Notes returns the counts of the operators over all records, by name; see StageStats. The
// goroutine that uses the Direct calls it.
func (d *Direct) Notes() map[string]int64 {
	all := map[string]int64{}
	for _, c := range d.counts {
		for event, n := range c.snapshot().Notes {
			all[event] += n
		}
	}
	return all
}

// Schema returns the schema of the emitted records.
func (d *Direct) Schema() *arrow.Schema { return d.schema }

// Process runs the operators on a record, which it borrows, and returns the records that they
// emit, which the caller owns. A refused row is an *Error with the name of the stage; the end
// of ctx is an error. The Direct can be used again after an error.
func (d *Direct) Process(ctx context.Context, rec arrow.Record) (outs []arrow.Record, err error) {
	if d.chain == nil {
		if err := d.open(); err != nil {
			return nil, err
		}
	}
	if len(d.ops) == 0 {
		rec.Retain()
		return []arrow.Record{rec}, nil
	}
	r := newRun(ctx, d.opts)
	defer r.cancel(nil)
	d.chain.run = r
	for _, l := range d.chain.links {
		l.out.run = r
	}
	once := true
	attend(func() {
		d.chain.process(rec)
		once = d.flush()
	})
	outs, d.outs = d.outs, nil
	err = d.chain.failed
	if why := context.Cause(ctx); err != nil && why != nil {
		err = &Error{Stage: "direct", Graph: NoGraph, Err: why}
	}
	for _, l := range d.chain.takeLetters() {
		if err == nil {
			err = &Error{Stage: l.Stage, Graph: l.Graph, Err: l.Err}
		}
		l.Row.Release()
	}
	switch {
	case d.chain.failed != nil: // a stage that has failed is not called again
		_ = d.Close()
	case once:
		_ = d.close(func(s Stage) bool { return !forks([]Stage{s}) })
	}
	if err != nil {
		for _, out := range outs {
			out.Release()
		}
		return nil, err
	}
	return outs, nil
}

// flush ends the stream of one record, and reports whether a stage has noticed.
func (d *Direct) flush() (noticed bool) {
	for _, l := range d.chain.links {
		if f, ok := l.stage.(Flusher); ok && d.chain.failed == nil {
			noticed = true
			_ = d.chain.call(l, func() error { return f.Flush(l.out) })
		}
	}
	return noticed
}

// Close closes the operators.
func (d *Direct) Close() error { return d.close(func(Stage) bool { return true }) }

// close closes some of the stages, and ends the chain.
func (d *Direct) close(which func(Stage) bool) error {
	r := newRun(context.Background(), d.opts)
	defer r.cancel(nil)
	var stages []Stage
	var counts []*counter
	for i, s := range d.stages {
		if s != nil && which(s) {
			stages, counts = append(stages, s), append(counts, &counter{stage: d.names[i]})
			d.stages[i] = nil
		}
	}
	d.chain = nil
	attend(func() { r.fail(newChain(r, stages, counts, nil).close()) })
	return r.err()
}
