package operators

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/sanflow/sanflow/flow/event"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/graph/dynamic"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/internal/state"
	"github.com/sanflow/sanflow/operators/evolve"
)

// EvolveState is the graph, the ids of its nodes and the fields of Evolve between two runs. The zero value is a
// graph without nodes. One run at a time uses it; after a run that has failed it has no
// graph, and Load gives it one.
//
// A pipeline has rows on their way while it runs, so that Evolve is ahead of the sink. At the end
// of a run the graph, the fields and the model have processed the same events. A stream that is to
// be kept is therefore run in segments; see checkpoint.Run.Segments. The rows are those of one run
// if Every of Evolve divides the length of a segment; stages behind it that hold rows back, such as
// Batch, emit them at the end of each segment.
type EvolveState struct {
	fields *evolve.Fields // of a run that has ended
	names  *names         // the ids of the nodes, where there is a graph
	saved  []byte         // of Load, until a run begins
	start  *start         // of Start, until a run begins
	failed bool           // a run has begun and has not ended
}

const evolveState = "sanflow evolve 3\n"

// start is the graph that a run begins with.
type start struct {
	g    *graph.Graph
	row  record.Row
	time int64
}

// Start makes the next run begin with a graph, with the ids and the classes of its nodes: one row of a source of
// graphs or tables. The edges occur once each, at the time given. The graph has to be of the layout of the events, and is
// borrowed until the run opens, which copies it. The first computation of the run emits the fields of all nodes.
func (s *EvolveState) Start(g *graph.Graph, row record.Row, time int64) {
	*s = EvolveState{start: &start{g, row, time}}
}

// begin makes e begin with the graph.
func (b *start) begin(e *evolver) error {
	err := b.g.Check()
	if err == nil {
		err = e.layout.Holds(b.g, &b.row)
	}
	if err != nil {
		return fmt.Errorf("the graph of Start: %w", err)
	}
	g, err := dynamic.Of(b.g, e.fields.Graph().Settings(), b.time)
	if err != nil {
		return err
	}
	for v, class := range b.row.NodeClass {
		if err := g.Apply(&event.Event{Kind: event.SetClass, Source: int32(v), Time: b.time, Class: class}, nil, nil); err != nil {
			return err
		}
	}
	e.fields = evolve.Of(g, e.Direction, &e.norm.norm, !e.Forget)
	e.fields.SetBound(e.Bound)
	e.names.start(b.row.NodeID)
	return nil
}

// Save writes the graph and the fields.
func (s *EvolveState) Save(w io.Writer) error {
	save := func(w io.Writer) error { _, err := w.Write(s.saved); return err }
	switch {
	case s.fields != nil:
		save = s.fields.Save
	case s.saved == nil:
		return errors.New("evolve: there is no graph to save: a run has to end first")
	}
	return state.Save(w, evolveState, func(c *state.Codec) {
		s.names.list(c)
		state.Section(c, save, nil)
	})
}

// Load reads the output of Save, or of evolve.Fields.Save, which has no ids, and no byte behind it. The run that begins
// with it checks that its settings are the same. After an error s is as before.
func (s *EvolveState) Load(r io.Reader) error {
	begin := bufio.NewReader(r)
	if head, _ := begin.Peek(len(evolve.State)); string(head) == evolve.State {
		saved, err := io.ReadAll(begin)
		if err == nil {
			*s = EvolveState{saved: saved}
		}
		return err
	}
	next := EvolveState{names: &names{}}
	err := state.Load(begin, evolveState, func(c *state.Codec) {
		next.names.list(c)
		state.Section(c, nil, func(r io.Reader) (err error) { next.saved, err = io.ReadAll(r); return err })
	})
	if err != nil {
		return fmt.Errorf("evolve: state: %w", err)
	}
	*s = next
	return nil
}

// begin gives a run the graph and the fields.
func (s *EvolveState) begin(e *evolver) error {
	if s == nil {
		return nil
	}
	switch {
	case s.names != nil && s.names.kind != e.layout.NodeIDs:
		return fmt.Errorf("the state is of NodeIDs %q, want %q", s.names.kind, e.layout.NodeIDs)
	case s.fields != nil:
		if err := s.fields.Fits(e.fields); err != nil {
			return err
		}
		s.fields.Use(&e.norm.norm)
		e.fields = s.fields
	case s.saved != nil:
		if err := e.fields.Restore(bytes.NewReader(s.saved)); err != nil {
			return err
		}
	case s.start != nil:
		if err := s.start.begin(e); err != nil {
			return err
		}
	case s.failed:
		return errors.New("the state has no graph: the run before has failed")
	}
	if s.names != nil {
		e.names = s.names
	}
	*s = EvolveState{failed: true}
	return nil
}
