// Package flowtest checks that an operator, source or sink keeps the rules of
// package flow.
//
//	func TestCount(t *testing.T) {
//		flowtest.Run(t, flowtest.Case{Op: Count{}})
//	}
//
//	func TestRank(t *testing.T) { // reads a column that Select makes
//		flowtest.Run(t, flowtest.Case{
//			Op:     Rank{By: "degree"},
//			Before: []flow.Operator{operators.Select{W: 3}},
//		})
//	}
//
// What goes through is a small stream of graphs with attributes of every kind,
// or records of the caller. The checks, a subtest each:
//
//	open       an unknown schema is an error or not, but no panic
//	workers    2 and 5 workers emit the records of 1
//	order      a stage that forks emits rows in the order they came in
//	cuts       rows are the same however the stream is cut into records
//	empty      records without rows, and a stream without records, pass
//	input      the records that come in are not written to
//	reuse      the operator opens again, also while it runs, to the same result
//	refused    rows around one that is refused are as if it had never been there
//	watermark  a position is acknowledged when its rows are out, and at last all
//	cancel     the run ends soon after its context, in the middle and at the end
//	emit       the error of Emit is returned
//	sink       an error downstream ends the run
//	source     an error upstream ends the run
//
// The first run also counts the calls of Retain and Release of each record and reports a missing
// one.
//
// Each run allocates from a checked allocator over record.Poison, so that a read of
// released memory is an error that names the stage and the line, and must leave
// neither a buffer nor a goroutine behind. Rows that come out are read at the end of
// the run.
//
// If a row is wrong, the error contains the graph of the row as an edge list; see EdgeList.
//
// RunSource and RunIdle check a source, RunSink a sink. Package brokertest checks a connector of
// messages.
package flowtest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
)

// Case is an operator under test and the stream to test it with.
type Case struct {
	Op flow.Operator
	// Before makes the columns that Op needs of Records.
	Before []flow.Operator
	// Records is the stream. It is borrowed. The default is Sample.
	Records []arrow.Record
	// ByRecord declares that the output of Op for a row may depend on the record of the row. The
	// check "cuts" is left out.
	ByRecord bool
}

// Run runs the checks that the package comment lists.
func Run(t *testing.T, c Case) {
	t.Helper()
	s, err := c.prepare(memory.DefaultAllocator)
	if err != nil {
		t.Fatal(err)
	}
	defer s.release()
	for _, check := range checks {
		t.Run(check.name, func(t *testing.T) {
			if err := check.run(s); err != nil {
				t.Error(s.explain(err))
			}
		})
	}
}

var checks = []struct {
	name string
	run  func(*subject) error
}{
	{"open", (*subject).open},
	{"workers", (*subject).workers},
	{"order", (*subject).order},
	{"cuts", (*subject).cuts},
	{"empty", (*subject).empty},
	{"input", (*subject).input},
	{"reuse", (*subject).reuse},
	{"refused", (*subject).refused},
	{"watermark", (*subject).watermark},
	{"cancel", (*subject).cancel},
	{"emit", (*subject).emit},
	{"sink", (*subject).sink},
	{"source", (*subject).source},
}

// subject is a case with its stream and the result with one worker, which other runs must equal.
type subject struct {
	Case
	trial trial
	want  result
}

func (c Case) prepare(mem memory.Allocator) (*subject, error) {
	if c.Op == nil {
		return nil, errors.New("flowtest: the field Op is not set")
	}
	in := c.Records
	if in == nil {
		in = Sample(mem)
	}
	for _, rec := range in {
		rec.Retain()
	}
	if c.Records == nil {
		record.Release(in)
	}
	s := &subject{Case: c}
	for _, op := range c.Before {
		made, err := collect(mem, op, in)
		record.Release(in)
		if err != nil {
			return nil, fmt.Errorf("flowtest: before the operator: %w", err)
		}
		in = made
	}
	if len(in) == 0 {
		return nil, errors.New("flowtest: no record arrives at the operator")
	}
	s.trial = trial{op: c.Op, schema: in[0].Schema(), in: in, workers: 1, policy: flow.Keep}
	first := s.trial
	first.loans = &loans{}
	var err error
	if s.want, err = first.run(context.Background()); err == nil {
		err = s.want.err
	}
	if err != nil {
		s.release()
		return nil, fmt.Errorf("flowtest: one worker: %w", err)
	}
	return s, nil
}

func (s *subject) release() { record.Release(s.trial.in) }

// collect returns the output of op for in.
func collect(mem memory.Allocator, op flow.Operator, in []arrow.Record) (out []arrow.Record, err error) {
	sink := &catch{}
	err = flow.From(&feed{trial: trial{schema: in[0].Schema(), in: in, shared: true}}).Via(op).To(sink).
		With(flow.Options{Workers: 1, Allocator: mem}).Run(context.Background())
	if err != nil {
		record.Release(sink.recs)
		return nil, err
	}
	return sink.recs, nil
}
