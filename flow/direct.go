package flow

import (
	"context"
	"sync"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow/record"
)

// Direct runs operators on single records, without a pipeline: a record goes in, and the output
// of the last operator comes out. It serves requests, for which a pipeline would cost more than
// the work. Each record is a stream of its own, at whose end operators that hold rows back
// (Flusher) emit them. If there is such an operator, the stages that are no Forker are opened
// again for the next record. One goroutine at a time may use a Direct. The operators run on
// another goroutine meanwhile, so a runtime.Goexit in an operator does not end the caller.
type Direct struct {
	ops   []Operator
	opts  Options
	steps []step // a step without a stage is not open
	chain *chain // nil: not open

	from    *Direct    // the original whose stages a fork copies; or nil
	forking sync.Mutex // held while a fork copies a stage of this Direct
}

// OpenDirect opens the operators for records of that schema. It uses only Allocator of the
// options.
func OpenDirect(in *arrow.Schema, o Options, ops ...Operator) (*Direct, error) {
	o.Refused = Skip // with Stop a refused row would close the chain
	d := &Direct{ops: ops, opts: o.withDefaults(), steps: make([]step, len(ops)+1)}
	n := namer{}
	for i, op := range ops {
		d.steps[i].count = &counter{stage: n.name(op)}
	}
	d.steps[0].in = in
	return d, d.open()
}

// Fork returns a Direct for another goroutine. It forks the stages of d that are Forkers; the
// forks share data as the workers of a pipeline do, such as the index of a graph. It opens the
// other stages again. d may not process records at the same time as its forks, and is closed
// after them.
func (d *Direct) Fork() (*Direct, error) {
	f := &Direct{ops: d.ops, opts: d.opts, steps: make([]step, len(d.steps)), from: d}
	for i := range d.ops {
		f.steps[i].count = &counter{stage: d.steps[i].count.stage}
	}
	f.steps[0].in = d.steps[0].in
	return f, f.open()
}

// open opens or forks the stages that are not open, and connects them. After an error d is closed.
func (d *Direct) open() error {
	r := newRun(context.Background(), d.opts)
	defer r.cancel(nil)
	attend(func() {
		for i := range d.ops {
			s := &d.steps[i]
			if err := d.openStage(r, i, s); err != nil {
				r.fail(err)
				return
			}
			d.steps[i+1].in = s.out
		}
	})
	if err := r.err(); err != nil {
		_ = d.Close()
		return err
	}
	d.chain = newChain(r, d.steps[:len(d.ops)])
	return nil
}

// openStage opens stage i, or forks it, unless it is open.
func (d *Direct) openStage(r *run, i int, s *step) (err error) {
	if s.stage == nil && d.from != nil {
		d.from.forking.Lock()
		defer d.from.forking.Unlock()
		if from := d.from.steps[i]; from.forks() {
			from.count = s.count
			if *s, err = r.fork(from); err != nil {
				return err
			}
		}
	}
	if s.stage == nil {
		return r.openOperator(d.ops[i], s)
	}
	return nil
}

// Notes returns the counts of the operators over all records, by name; see StageStats. The
// goroutine that uses the Direct calls it.
func (d *Direct) Notes() map[string]int64 {
	all := map[string]int64{}
	for _, s := range d.steps[:len(d.ops)] {
		for event, n := range s.count.snapshot().Notes {
			all[event] += n
		}
	}
	return all
}

// Schema returns the schema of the emitted records.
func (d *Direct) Schema() *arrow.Schema { return d.steps[len(d.ops)].in }

// Process runs the operators on a record, which it borrows, and returns the records that they
// emit, which the caller owns. A refused row is an *Error with the name of the stage; the end
// of ctx is an error. The Direct can be used again after an error.
func (d *Direct) Process(ctx context.Context, rec arrow.Record) ([]arrow.Record, error) {
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
	j, once := &job{rec: rec}, true
	attend(func() {
		d.chain.process(j)
		once = d.flush()
	})
	err := j.err
	if why := context.Cause(ctx); err != nil && why != nil {
		err = &Error{Stage: "direct", Graph: NoGraph, Err: why}
	}
	for _, l := range j.letters {
		if err == nil {
			err = &Error{Stage: l.Stage, Graph: l.Graph, Err: l.Err}
		}
		l.Row.Release()
	}
	switch {
	case d.chain.failed != nil: // a failed stage is not called again
		_ = d.Close()
	case once:
		_ = d.close(func(s step) bool { return !s.forks() })
	}
	if err != nil {
		record.Release(j.outs)
		return nil, err
	}
	return j.outs, nil
}

// flush ends the stream of one record, and reports whether a stage is a Flusher.
func (d *Direct) flush() (noticed bool) {
	for _, o := range d.chain.stages {
		if _, ok := o.stage.(Flusher); ok && d.chain.failed == nil {
			noticed = true
			d.chain.flush(o)
		}
	}
	return noticed
}

// Close closes the operators.
func (d *Direct) Close() error { return d.close(func(step) bool { return true }) }

// close closes the stages that which selects.
func (d *Direct) close(which func(step) bool) error {
	r := newRun(context.Background(), d.opts)
	defer r.cancel(nil)
	var closed []step
	for i, s := range d.steps {
		if s.stage != nil && which(s) {
			closed = append(closed, s)
			d.steps[i].stage = nil
		}
	}
	d.chain = nil
	attend(func() { r.fail(newChain(r, closed).close()) })
	return r.err()
}
