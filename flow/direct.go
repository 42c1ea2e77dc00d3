package flow

import (
	"context"

	"github.com/apache/arrow/go/v15/arrow"
)

// Direct is operators that are called, not run: a record goes in, and what the
// last operator makes of it comes out. It is for answering requests, where a
// pipeline would cost more than the work. Each record is a stream of its own, at
// whose end operators that hold rows back let go of them; they are opened anew for
// the next. One goroutine at a time uses a Direct. The operators run while it
// waits, on another one, so that it goes on where they end theirs.
type Direct struct {
	in     *arrow.Schema
	ops    []Operator
	opts   Options
	names  []string
	schema *arrow.Schema
	chain  *chain // nil: to be opened
	outs   []arrow.Record
}

// OpenDirect opens the operators for records of that schema. Of the options Allocator
// counts.
func OpenDirect(in *arrow.Schema, o Options, ops ...Operator) (*Direct, error) {
	o.Refused = Skip // a row that is refused is no reason to open everything anew
	d := &Direct{in: in, ops: ops, opts: o.withDefaults()}
	n := namer{}
	for _, op := range ops {
		d.names = append(d.names, n.name(op))
	}
	return d, d.open()
}

func (d *Direct) open() error {
	r := newRun(context.Background(), d.opts)
	defer r.cancel(nil)
	schema := d.in
	var stages []Stage
	var counts []*counter
	attend(func() {
		for i, op := range d.ops {
			s, out, err := r.openOperator(d.names[i], op, schema)
			if err != nil {
				r.fail(err)
				return
			}
			schema = out
			stages, counts = append(stages, s), append(counts, &counter{stage: d.names[i]})
		}
	})
	d.schema = schema
	d.chain = newChain(r, stages, counts, func(rec arrow.Record) error {
		d.outs = append(d.outs, rec)
		return nil
	})
	err := r.err()
	if err != nil {
		_ = d.Close()
	}
	return err
}

// Schema returns the schema of the records that come out.
func (d *Direct) Schema() *arrow.Schema { return d.schema }

// Process takes a record, which it borrows, through the operators, and returns
// what they emit, which the caller owns. A row that is refused is an error, an
// *[Error] with the name of the stage, and so is the end of ctx. After an error
// the Direct can be used again.
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
	if once || d.chain.failed != nil { // a stage that has failed is not called again
		_ = d.Close()
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
func (d *Direct) Close() error {
	if d.chain == nil {
		return nil
	}
	c, r := d.chain, newRun(context.Background(), d.opts)
	defer r.cancel(nil)
	d.chain, c.run = nil, r
	attend(func() { r.fail(c.close()) })
	return r.err()
}
