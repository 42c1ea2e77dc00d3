package flow

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow/record"
)

// NoGraph is the Graph of an Error that concerns no single graph.
const NoGraph = -1

// Error is the first error of a run, with its place. It prints as "normalize: graph 57: the
// reason".
type Error struct {
	Stage string // name of the stage, as the plan prints it
	Graph int64  // graph_id of the row, or NoGraph
	Err   error
}

func (e *Error) Error() string {
	text := e.Stage + ": "
	if e.Graph != NoGraph {
		text += fmt.Sprintf("graph %d: ", e.Graph)
	}
	// The stage often has the name of its package, which its errors begin with.
	return text + strings.TrimPrefix(fmt.Sprint(e.Err), e.Stage+": ")
}

func (e *Error) Unwrap() error { return e.Err }

// errStopped is the error of Emit after the end of the run. The run reports its own reason instead.
var errStopped = errors.New("flow: the run has ended")

// at wraps err with the name of a stage, unless it has one.
func at(stage string, err error) error {
	if err == nil { // no allocation: at is called for each record
		return nil
	}
	var e *Error
	if errors.Is(err, errStopped) || errors.As(err, &e) {
		return err
	}
	return &Error{Stage: stage, Graph: NoGraph, Err: err}
}

// inRecord is at for an error while the stage processed a row of rec; row is -1 if it is unknown. The
// error of a panic without a row names the graphs of the record.
func inRecord(stage string, rec arrow.Record, row int, err error) error {
	if err == nil {
		return nil
	}
	wrapped := at(stage, err)
	e, ok := wrapped.(*Error)
	if !ok || wrapped == err || rec == nil {
		return wrapped
	}
	p, panicked := err.(*PanicError)
	if panicked && row < 0 && rec.NumRows() == 1 {
		row = 0
	}
	if row >= 0 {
		e.Graph = cell(rec, graphID, row)
	} else if last := int(rec.NumRows()) - 1; panicked && last > 0 {
		p.graphs = fmt.Sprintf("in the record of graphs %d to %d", cell(rec, graphID, 0), cell(rec, graphID, last))
	}
	return wrapped
}

var errNoRecord = errors.New("the record is nil")

// checkColumns compares the schema of a record with the schema of its stage.
func checkColumns(got, want *arrow.Schema) error {
	if got.Equal(want) {
		return nil
	}
	if a, b := names(got), names(want); !slices.Equal(a, b) {
		return fmt.Errorf("a record has the columns %v, want %v", a, b)
	}
	for i, f := range got.Fields() {
		if w := want.Field(i); !f.Equal(w) {
			return fmt.Errorf("a record has the column %v, want %v", f, w)
		}
	}
	return errors.New("a record has another byte order than its stage has announced")
}

func names(s *arrow.Schema) []string {
	n := make([]string, s.NumFields())
	for i := range n {
		n[i] = s.Field(i).Name
	}
	return n
}

// Policy decides about a row that a stage refuses.
type Policy int

const (
	Stop Policy = iota // the run ends with the reason
	Skip               // the row is left out and counted
	Keep               // the row goes to Options.DeadLetters, and the run continues
)

func (p Policy) String() string {
	switch p {
	case Stop:
		return "stop"
	case Skip:
		return "skip"
	case Keep:
		return "keep"
	}
	return fmt.Sprintf("Policy(%d)", int(p))
}

// Letter is a row that a stage refused.
type Letter struct {
	Stage string
	Graph int64 // graph_id, or NoGraph if there is no such column
	Pos   int64 // position in the source, or -1
	Err   error // the reason
	// Row has the one row, with the columns that the stage was given. It is
	// borrowed: retain it to keep it.
	Row arrow.Record
}

// cell returns one value of an int64 column, or -1 if there is none.
func cell(rec arrow.Record, name string, row int) int64 {
	v, err := record.Values[int64](rec, name)
	if err != nil || row < 0 || row >= len(v) {
		return -1
	}
	return v[row]
}
