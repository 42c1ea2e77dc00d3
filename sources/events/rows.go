package events

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"iter"
	"strconv"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/event"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
)

// Rows is a source of records of events, as operators.Evolve reads them. The first row has the
// position of its event, and positions rise by one from there: a broker identifies messages by
// rising positions, and an ordered reader waits for a missing one.
type Rows struct {
	// Events are the events: of a Stream, or anything else. They can be read
	// once. If they wait, they must end with the context of the run.
	Events iter.Seq2[event.Event, error]
	// Layout is that of the graph: its direction, attributes and classes, and the kind of
	// the ids of nodes.
	Layout record.Layout
	// ID gives the id of a node as text, as Stream.Name does. The records have the ids of
	// the ends of each event. ID is set where Layout has NodeIDs, and only there.
	ID func(v int32) string
	// Size is how many events a record has; 0 = 256.
	Size int
}

// String returns the number of events per record, for the plan of a pipeline.
func (r Rows) String() string { return fmt.Sprintf("Events(size %d)", cmp.Or(r.Size, 256)) }

// Open begins the stream.
func (r Rows) Open(_ context.Context, mem memory.Allocator) (flow.Reader, error) {
	if r.Events == nil || r.Size < 0 {
		return nil, fmt.Errorf("events: Size is %d, want at least 0, and Events to read", r.Size)
	}
	if err := r.Layout.Check(); err != nil {
		return nil, fmt.Errorf("events: %w", err)
	}
	if (r.ID != nil) != (r.Layout.NodeIDs != graph.NoIDs) {
		return nil, fmt.Errorf("events: NodeIDs of the layout are %q: want ID where they are set, and only there", r.Layout.NodeIDs)
	}
	r.Size = cmp.Or(r.Size, 256)
	next, stop := iter.Pull2(r.Events)
	return &rowReader{set: r, next: next, stop: stop, build: record.NewEventBuilder(mem, r.Layout)}, nil
}

type rowReader struct {
	set   Rows
	next  func() (event.Event, error, bool)
	stop  func()
	build *record.EventBuilder
	pos   int64 // of the next row
	begun bool
	texts []string
	ints  []int64
}

func (r *rowReader) Schema() *arrow.Schema { return r.build.Schema() }

func (r *rowReader) Next(ctx context.Context) (arrow.Record, error) {
	for r.build.Rows() < r.set.Size {
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		e, err, ok := r.next()
		if !ok {
			break
		}
		if err != nil {
			return nil, err
		}
		if !r.begun {
			r.pos, r.begun = e.Pos, true
		}
		e.Pos = r.pos
		if r.pos++; r.pos < e.Pos {
			return nil, fmt.Errorf("events: an event has the position %d, want less", e.Pos)
		}
		ids, err := r.ids(&e)
		if err == nil {
			err = r.build.Append(0, &e, ids)
		}
		if err != nil {
			return nil, fmt.Errorf("events: %w", err)
		}
	}
	if r.build.Rows() == 0 {
		return nil, io.EOF
	}
	return r.build.Record(), nil
}

// ids returns the ids of the ends of e, borrowed.
func (r *rowReader) ids(e *event.Event) (graph.IDs, error) {
	if r.set.ID == nil {
		return graph.IDs{}, nil
	}
	nodes := []int32{e.Source, e.Target}
	if !e.OfEdge() {
		nodes = nodes[:1]
	}
	if r.set.Layout.NodeIDs == graph.StringIDs {
		r.texts = r.texts[:0]
		for _, v := range nodes {
			r.texts = append(r.texts, r.set.ID(v))
		}
		return graph.IDsOfStrings(r.texts)
	}
	r.ints = r.ints[:0]
	for _, v := range nodes {
		text := r.set.ID(v)
		id, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return graph.IDs{}, fmt.Errorf("event %d: the id of node %d is %q, want an integer of 64 bits", e.Pos, v, short([]byte(text)))
		}
		r.ints = append(r.ints, id)
	}
	return graph.IDsOf(r.ints), nil
}

func (r *rowReader) Close() error {
	r.stop()
	r.build.Release()
	return nil
}
