package sources

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/sources/internal/reading"
)

// Seq streams graphs from a channel or an iterator of the program. [Builder] makes graphs, and
// Layout describes them:
//
//	graphs := make(chan sources.Item)
//	go flow.From(sources.Seq{Chan: graphs, Layout: record.Layout{Classes: []string{"no", "yes"}}}).
//		Via(…).To(sinks.Train{Net: net}).Run(ctx)
//
//	b.Edge(0, 1)
//	g, err := b.Graph()
//	graphs <- sources.Item{Graph: g, Class: 1, ID: 57}
//
// A graph that is handed over belongs to the Seq, and is not changed any more. Each
// is checked as [Graphs] does, O(n + m log m). graph_id is Item.ID, or, where that
// is 0, the number of the graph from 0; pos is that number. It can be opened as
// often as its iterator can be ranged over, and a channel once.
type Seq struct {
	// Chan hands the graphs over, and ends the stream when it is closed. A reader
	// that waits for it ends with its context.
	Chan <-chan Item
	// Iter is ranged over if there is no Chan, on a goroutine of its own. An
	// error that it yields ends the run. The run waits for it to return: an
	// iterator that waits for something ends when a context of its own does.
	Iter iter.Seq2[Item, error]
	// Layout describes attributes and targets. The zero Layout describes undirected graphs without
	// either.
	Layout record.Layout
	// Rows is the most graphs per record. The default is 64.
	Rows int
	// MaxWait is how long a record with a graph waits for more of them before it goes on. The
	// default is 10 ms; with a negative value a record takes the graphs that are available.
	MaxWait time.Duration
	// Refused, if set, is called with each graph that does not fit Layout or breaks the rules of
	// package graph, and the stream continues without it. The default is to end the run with a
	// [flow.Error] that names the graph. It is called on the goroutine that reads.
	Refused func(it Item, err error)
}

// String describes the source, for the plan of a pipeline.
func (s Seq) String() string {
	if s.Iter != nil {
		return "Seq(iterator)"
	}
	return "Seq(channel)"
}

// Open checks the settings. It waits for nothing.
func (s Seq) Open(_ context.Context, mem memory.Allocator) (flow.Reader, error) {
	switch {
	case s.Rows < 0:
		return nil, fmt.Errorf("sources: Seq: Rows is %d, want at least 0", s.Rows)
	case (s.Chan == nil) == (s.Iter == nil):
		return nil, errors.New("sources: Seq: want Chan or Iter, one of them")
	}
	s.Rows, s.MaxWait = cmp.Or(s.Rows, 64), cmp.Or(s.MaxWait, 10*time.Millisecond)
	r := &seqReader{seq: s, build: record.NewBuilder(mem, s.Layout)}
	if s.Iter != nil {
		r.pump = startPump(s.Iter)
		r.seq.Chan = r.pump.items
	}
	return r, nil
}

type seqReader struct {
	seq   Seq
	pump  *pump // sends the graphs of Iter to seq.Chan; nil without Iter
	build *record.Builder
	ahead *Item // graph that did not fit the last record, or nil
	count int64
	err   error
}

func (r *seqReader) Schema() *arrow.Schema { return r.build.Schema() }

// Next waits for a graph, then as long as MaxWait for others. Graphs before an error are returned
// first.
func (r *seqReader) Next(ctx context.Context) (arrow.Record, error) {
	var timer *time.Timer
	var late <-chan time.Time
	for r.err == nil && r.build.Rows() < r.seq.Rows {
		if r.build.Rows() > 0 && timer == nil {
			timer = time.NewTimer(max(0, r.seq.MaxWait))
			defer timer.Stop()
			late = timer.C
		}
		it, ok, err := r.receive(ctx, late)
		if err == nil && ok {
			ok, err = r.add(ctx, it)
		}
		if r.err = err; !ok {
			break
		}
	}
	if r.build.Rows() == 0 {
		return nil, r.err
	}
	return r.build.Record(), nil
}

// receive returns the next graph. ok is false if none arrived in time.
func (r *seqReader) receive(ctx context.Context, late <-chan time.Time) (it Item, ok bool, err error) {
	if err := context.Cause(ctx); err != nil {
		return it, false, err
	}
	if r.ahead != nil {
		it, r.ahead = *r.ahead, nil
		return it, true, nil
	}
	if late != nil && r.seq.MaxWait < 0 {
		select {
		case it, ok = <-r.seq.Chan:
		default:
			return it, false, nil
		}
	} else {
		select {
		case it, ok = <-r.seq.Chan:
		case <-late:
			return it, false, nil
		case <-ctx.Done():
			return it, false, context.Cause(ctx)
		}
	}
	switch {
	case ok:
		return it, true, nil
	case r.pump != nil:
		return it, false, r.pump.err
	}
	return it, false, io.EOF
}

// add appends a graph to the record. It reports false if the record is full.
func (r *seqReader) add(ctx context.Context, it Item) (bool, error) {
	err := it.check(ctx, &r.seq.Layout)
	if err == nil && r.build.Rows() > 0 && !r.build.Fits(it.Graph, it.row(r.count)) {
		r.ahead = &it
		return false, nil
	}
	n := r.count
	r.count++
	if err == nil {
		err = r.build.Append(it.Graph, it.row(n))
	}
	switch {
	case err == nil:
		return true, nil
	case r.seq.Refused != nil:
		r.seq.Refused(it, err)
		return true, nil
	}
	return false, &flow.Error{Stage: r.seq.String(), Graph: cmp.Or(it.ID, n), Err: err}
}

// Close waits for the iterator to return.
func (r *seqReader) Close() error {
	r.build.Release()
	r.err = reading.ErrClosed
	if r.pump != nil {
		r.pump.stop()
	}
	return nil
}

// pump runs an iterator on a goroutine of its own, so that waiting for a graph can be cancelled.
type pump struct {
	items chan Item     // closed at the end, after err is set
	done  chan struct{} // closed to stop the iterator
	err   error         // io.EOF once the iterator has returned
}

func startPump(graphs iter.Seq2[Item, error]) *pump {
	p := &pump{items: make(chan Item), done: make(chan struct{})}
	go func() {
		defer close(p.items)
		p.err = errors.New("sources: Seq: the iterator has ended its goroutine")
		defer func() {
			if v := recover(); v != nil {
				p.err = fmt.Errorf("sources: Seq: panic in the iterator: %v", v)
			}
		}()
		var failed error
		graphs(func(it Item, err error) bool {
			if failed = cmp.Or(failed, err); failed != nil {
				return false
			}
			select {
			case p.items <- it:
				return true
			case <-p.done:
				return false
			}
		})
		p.err = cmp.Or(failed, io.EOF)
	}()
	return p
}

// stop ends the iterator and waits for it.
func (p *pump) stop() {
	close(p.done)
	for range p.items {
	}
}
