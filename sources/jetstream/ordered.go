package jetstream

import (
	"context"
	"fmt"
	"io"
	"sort"
	"sync"
	"sync/atomic"

	"github.com/apache/arrow/go/v15/arrow"
	nc "github.com/nats-io/nats.go/jetstream"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/internal/jet"
)

// orderedReader reads a stream that is kept. One goroutine reads the headers of
// all messages into an index, another plans what comes next, and what it has
// planned is fetched Ahead of Next.
type orderedReader struct {
	reader
	index  *jet.Index
	cursor *jet.Cursor
	plan   chan *piece
	turn   chan struct{} // a token for each block that Next has not begun with
	stop   context.CancelCauseFunc
	tasks  sync.WaitGroup
	err    error // of the plan; read when that is closed
	ctx    context.Context

	places  places
	side    *jet.Side     // of Purge
	news    chan struct{} // a place was kept
	started bool

	taken, strange, missing, fetched, purged atomic.Int64
}

// piece is a record to come: a message, or a block of rows of several.
type piece struct {
	parts []*part
	skip  int // rows at its beginning that are passed over
	base  jet.Base
	rows  []ref // of a block, in order; nil: those of its message
}

// ref is a row of the parts of a piece.
type ref struct{ part, row int32 }

// part is a message on its way.
type part struct {
	entry jet.Entry
	done  chan struct{}
	note  jet.Note
	body  []byte
	err   error
}

var (
	_ flow.Seeker = (*orderedReader)(nil)
	_ flow.Noter  = (*orderedReader)(nil)
	_ flow.Lagger = (*orderedReader)(nil)
)

func newOrdered(ctx context.Context, r reader) (flow.Reader, error) {
	o := &orderedReader{reader: r, plan: make(chan *piece, r.Ahead), turn: make(chan struct{}, 1), news: make(chan struct{}, 1)}
	ctx, o.stop = context.WithCancelCause(ctx)
	o.ctx = ctx
	o.from(jet.Base{Seq: 1})
	o.places.first.Rows = o.Skip
	o.places.created = r.stream.CachedInfo().Created.UnixNano()
	if r.Purge {
		side, err := r.client.MakeSide(ctx, r.stream.CachedInfo())
		if err != nil {
			o.stop(err)
			return nil, err
		}
		o.side = side
	}
	return o, nil
}

// from begins behind a base.
func (o *orderedReader) from(b jet.Base) {
	o.index = jet.NewIndexAt(o.stream.CachedInfo().Created, b)
	o.cursor = jet.NewCursor(o.index)
}

// start begins to read, when the first record is asked for: by then it is known where.
func (o *orderedReader) start() error {
	if o.started {
		return nil
	}
	o.started = true
	ctx := o.ctx
	if o.Purge {
		if err := o.mayPurge(ctx); err != nil {
			return err
		}
		o.index.BeforeEnd = func() error { return o.side.Add(ctx, o.index) }
		o.tasks.Go(func() { o.purge(ctx) })
	}
	o.tasks.Go(func() { o.client.Scan(ctx, o.Stream, o.index, o.stranger(ctx)) })
	o.tasks.Go(func() {
		defer close(o.plan)
		o.err = o.epochs(ctx)
	})
	return nil
}

// stranger returns what is to be done with messages that are not of sanflow.
func (o *orderedReader) stranger(ctx context.Context) func(jet.Foreign) error {
	if o.dead == nil {
		return nil
	}
	return func(f jet.Foreign) error {
		m, err := o.client.Get(ctx, o.stream, f.Seq)
		if err != nil {
			return fmt.Errorf("message %d: %w", f.Seq, err)
		}
		o.strange.Add(1)
		return o.dead.Message(ctx, o.Stream, m.Subject, m.Header, m.Data, f.Why)
	}
}

// epochs plans all epochs: the first as messages come, the others by blocks.
func (o *orderedReader) epochs(ctx context.Context) error {
	skip, rows := o.Skip, int64(0)
	for {
		base := o.base()
		e, ok, err := o.cursor.Next(ctx)
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		o.taken.Add(1)
		n := int64(e.Rows)
		rows += n
		if n == 0 || skip >= n {
			skip -= min(skip, n)
			continue
		}
		if err := o.send(ctx, &piece{parts: []*part{o.fetch(ctx, e)}, skip: int(skip), base: base}); err != nil {
			return err
		}
		skip = 0
	}
	o.missing.Store(o.cursor.Gaps)
	return o.again(ctx, rows, skip)
}

// again plans the epochs after the first.
func (o *orderedReader) again(ctx context.Context, rows, skip int64) error {
	var with []jet.Entry
	var from []int64 // number of the first row of each
	at := int64(0)
	for _, e := range o.cursor.Order {
		if e.Rows > 0 {
			with, from = append(with, e), append(from, at)
			at += int64(e.Rows)
		}
	}
	order := record.Blocks{Rows: rows, Size: o.Block, Seed: o.Seed}
	for epoch := 1; epoch < o.Epochs; epoch++ {
		for _, b := range order.Order(epoch) {
			numbers := order.Within(epoch, b)
			if skip >= int64(len(numbers)) {
				skip -= int64(len(numbers))
				continue
			}
			select {
			case o.turn <- struct{}{}:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
			p := o.block(ctx, with, from, numbers[skip:], int64(b)*int64(o.Block))
			skip = 0
			if err := o.send(ctx, p); err != nil {
				return err
			}
		}
	}
	return nil
}

// block begins to fetch the messages with the rows of those numbers, which are of
// a block that begins at first.
func (o *orderedReader) block(ctx context.Context, with []jet.Entry, from, numbers []int64, first int64) *piece {
	p := &piece{rows: make([]ref, 0, len(numbers))}
	low := search(from, first)
	parts := map[int]int32{}
	for _, n := range numbers {
		i := low + search(from[low:], n)
		at, ok := parts[i]
		if !ok {
			at = int32(len(p.parts))
			parts[i] = at
			p.parts = append(p.parts, o.fetch(ctx, with[i]))
		}
		p.rows = append(p.rows, ref{at, int32(n - from[i])})
	}
	return p
}

// search returns the last of from that is not behind n.
func search(from []int64, n int64) int {
	return sort.Search(len(from), func(i int) bool { return from[i] > n }) - 1
}

func (o *orderedReader) send(ctx context.Context, p *piece) error {
	select {
	case o.plan <- p:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// fetch begins to fetch a message.
func (o *orderedReader) fetch(ctx context.Context, e jet.Entry) *part {
	p := &part{entry: e, done: make(chan struct{})}
	o.tasks.Go(func() {
		defer close(p.done)
		p.err = o.load(ctx, p)
	})
	return p
}

func (o *orderedReader) load(ctx context.Context, p *part) error {
	o.fetched.Add(1)
	name := o.Stream
	get := func() (*nc.RawStreamMsg, error) { return o.client.Get(ctx, o.stream, p.entry.Seq) }
	if p.entry.Late {
		name, get = o.side.Name(), func() (*nc.RawStreamMsg, error) { return o.side.Get(ctx, p.entry.Seq) }
	}
	m, err := get()
	if err != nil {
		return err
	}
	if p.note, err = jet.Read(name, m.Subject, m.Header, m.Sequence); err != nil {
		return err
	}
	p.body = m.Data
	if p.note.Object != "" {
		p.body, err = o.object(ctx, p.note.Object)
	}
	return err
}

// Next returns the next record.
func (o *orderedReader) Next(ctx context.Context) (arrow.Record, error) {
	if o.closed {
		return nil, errClosed
	}
	if err := o.start(); err != nil {
		return nil, jet.Of(o.Stream, err)
	}
	select {
	case p, ok := <-o.plan:
		if ok {
			if p.rows != nil {
				<-o.turn
			}
			rec, err := o.record(ctx, p)
			if err == nil {
				o.places.hand(p, rec.NumRows())
			}
			return rec, err
		}
		if o.err == nil {
			return nil, io.EOF
		}
		return nil, jet.Of(o.Stream, o.err)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// record makes the record of a piece.
func (o *orderedReader) record(ctx context.Context, p *piece) (arrow.Record, error) {
	var recs []arrow.Record
	defer func() {
		for _, r := range recs {
			r.Release()
		}
	}()
	for _, part := range p.parts {
		select {
		case <-part.done:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		err := part.err
		var rec arrow.Record
		if err == nil {
			rec, err = o.decoder.decode(ctx, &part.note, part.body)
		}
		if err != nil {
			return nil, jet.Of(o.Stream, fmt.Errorf("message %d: %w", part.entry.Seq, err))
		}
		recs = append(recs, rec)
	}
	if p.rows == nil {
		if p.skip == 0 {
			recs[0].Retain()
			return recs[0], nil
		}
		return recs[0].NewSlice(int64(p.skip), recs[0].NumRows()), nil
	}
	refs := make([]record.Ref, len(p.rows))
	for i, r := range p.rows {
		refs[i] = record.Ref{Record: r.part, Row: r.row}
	}
	return record.Take(o.decoder.mem, recs, refs)
}

// Close ends reading.
func (o *orderedReader) Close() error {
	if o.closed {
		return nil
	}
	o.closed = true
	o.stop(errClosed)
	o.tasks.Wait()
	o.client.Close()
	return nil
}

// Notes count fetched messages, purged sequences, repeated messages, foreign messages, missing
// positions, and reconnects.
func (o *orderedReader) Notes() map[string]int64 {
	_, duplicates, _ := o.index.Total()
	return map[string]int64{
		"fetched": o.fetched.Load(), "purged": o.purged.Load(), "duplicates": duplicates, "strange": o.strange.Load(), "missing": o.missing.Load(), "reconnects": o.client.Reconnects(),
	}
}

// Lag returns how many messages are there that were not read in their turn.
func (o *orderedReader) Lag() int64 { return o.cursor.Behind(o.taken.Load()) }
