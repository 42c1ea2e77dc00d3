package operators

import (
	"bytes"
	"errors"
	"fmt"
	"io"

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
	of     string         // what the order of fields depends on
	fields *evolve.Fields // of a run that has ended
	names  *names         // the ids of the nodes, where there is a graph
	saved  []byte         // of Load, until a run begins
	failed bool           // a run has begun and has not ended
}

const evolveState = "sanflow evolve 2\n"

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
		state.Text(c, "bytes of settings", 1<<16, &s.of)
		s.names.list(c)
		state.Section(c, save, nil)
	})
}

// Load reads the output of Save and no byte behind it. The run that begins with it checks that its
// settings are the same. After an error s is as before.
func (s *EvolveState) Load(r io.Reader) error {
	next := EvolveState{names: &names{}}
	err := state.Load(r, evolveState, func(c *state.Codec) {
		state.Text(c, "bytes of settings", 1<<16, &next.of)
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
	v := &e.Evolve
	of := fmt.Sprintf("K %d, Direction %v, By %v, IgnoreAttributes %t, Uniform %t, Forget %t, Bound %d, NodeIDs %q", v.K, v.Direction, v.By, v.IgnoreAttributes, v.Uniform, v.Forget, v.Bound, e.layout.NodeIDs)
	switch {
	case s.of != "" && s.of != of:
		return fmt.Errorf("the state is of fields with %s, want %s", s.of, of)
	case s.fields != nil && s.fields.Graph().Settings() != e.fields.Graph().Settings():
		return fmt.Errorf("the state is of a graph %+v, want %+v", s.fields.Graph().Settings(), e.fields.Graph().Settings())
	case s.fields != nil:
		s.fields.Use(&e.norm.norm)
		e.fields = s.fields
	case s.saved != nil:
		if err := e.fields.Restore(bytes.NewReader(s.saved)); err != nil {
			return err
		}
	case s.failed:
		return errors.New("the state has no graph: the run before has failed")
	}
	if s.names != nil {
		e.names = s.names
	}
	*s = EvolveState{of: of, failed: true}
	return nil
}
