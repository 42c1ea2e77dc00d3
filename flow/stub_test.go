package flow_test

import (
	"context"
	"errors"
	"io"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/flowtest"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/internal/leak"
)

var errTest = errors.New("an error on purpose")

// checked returns a poisoning allocator that must be empty when the test ends,
// with no goroutine left.
func checked(t testing.TB) memory.Allocator {
	before := leak.IgnoreCurrent()
	t.Cleanup(func() { leak.VerifyNone(t, before) })
	return flowtest.Mem(t)
}

// hook is called wherever a stage calls code of a user; its error is that of
// the stage. n is the first graph_id of the record in hand, or 0.
type hook func(place string, n int64) error

func (h hook) at(place string, n int64) error {
	if h == nil {
		return nil
	}
	return h(place, n)
}

// failing fails, or panics, at one place and record.
func failing(place string, n int64, panics bool) hook {
	return func(p string, i int64) error {
		switch {
		case p != place || i != n:
			return nil
		case panics:
			panic(errTest)
		}
		return errTest
	}
}

// exiting ends the goroutine at one place and record.
func exiting(place string, n int64) hook {
	return func(p string, i int64) error {
		if p == place && i == n {
			runtime.Goexit()
		}
		return nil
	}
}

// numbers is a source of records of one-node graphs; row i has graph_id and
// pos i.
type numbers struct {
	Records, Rows int
	hook          hook
	ack           func(pos int64) // makes the reader an Acker
}

func (numbers) Name() string { return "numbers" }

func (s numbers) Open(_ context.Context, mem memory.Allocator) (flow.Reader, error) {
	r := &numbersReader{numbers: s, b: record.NewBuilder(mem, record.Layout{})}
	var reader flow.Reader = r
	if s.ack != nil {
		reader = ackReader{r}
	}
	return reader, s.hook.at("open", 0)
}

type numbersReader struct {
	numbers
	b    *record.Builder
	next int
}

func (r *numbersReader) Schema() *arrow.Schema { return r.b.Schema() }

func (r *numbersReader) Next(context.Context) (arrow.Record, error) {
	if err := r.hook.at("next", int64(r.next)); err != nil {
		return nil, err
	}
	if r.next == r.Records*r.Rows {
		return nil, io.EOF
	}
	node := graph.Graph{Offsets: []int32{0, 0}}
	for range r.Rows {
		if err := r.b.Append(&node, record.Row{ID: int64(r.next), Pos: int64(r.next)}); err != nil {
			return nil, err
		}
		r.next++
	}
	return r.b.Record(), nil
}

func (r *numbersReader) Close() error { return r.hook.at("close", 0) }

type ackReader struct{ *numbersReader }

func (r ackReader) Ack(pos int64) { r.ack(pos) }

// step is an operator that hands on what comes in.
type step struct {
	Label string
	mode  mode
	hook  hook
	// refuse says why a row is not handled.
	refuse func(id int64) error
}

type mode int

const (
	plain mode = iota
	forks      // runs in several workers
	holds      // emits at the end only
)

func (s step) Name() string { return s.Label }

func (s step) Open(in *arrow.Schema) (flow.Stage, error) {
	if err := s.hook.at("open", 0); err != nil {
		return nil, err
	}
	st := &stepStage{step: s, schema: in}
	switch s.mode {
	case forks:
		return forkStage{st}, nil
	case holds:
		return &holdStage{stepStage: st}, nil
	}
	return st, nil
}

type stepStage struct {
	step
	schema *arrow.Schema
}

func (s *stepStage) Schema() *arrow.Schema { return s.schema }

func (s *stepStage) Process(rec arrow.Record, out *flow.Out) error {
	return s.process(rec, out.Refuse, out.Emit)
}

func (s *stepStage) process(rec arrow.Record, refuse func(arrow.Record, int, error) error, emit func(arrow.Record) error) error {
	all := ids(rec)
	if len(all) > 0 {
		if err := s.hook.at("process", all[0]); err != nil {
			return err
		}
	}
	start := 0
	for row, id := range all {
		if s.refuse == nil {
			break
		}
		why := s.refuse(id)
		if why == nil {
			continue
		}
		if start < row {
			if err := emit(rec.NewSlice(int64(start), int64(row))); err != nil {
				return err
			}
		}
		start = row + 1
		if err := refuse(rec, row, why); err != nil {
			return err
		}
	}
	if start == len(all) && start > 0 {
		return nil
	}
	return emit(rec.NewSlice(int64(start), rec.NumRows()))
}

func (s *stepStage) Close() error { return s.hook.at("close", 0) }

type forkStage struct{ *stepStage }

func (s forkStage) Fork() flow.Stage {
	if err := s.hook.at("fork", 0); err != nil {
		return nil
	}
	return s
}

type holdStage struct {
	*stepStage
	held []arrow.Record
}

func (s *holdStage) Process(rec arrow.Record, out *flow.Out) error {
	return s.process(rec, out.Refuse, func(rec arrow.Record) error {
		s.held = append(s.held, rec)
		return nil
	})
}

func (s *holdStage) Flush(out *flow.Out) error {
	if err := s.hook.at("flush", 0); err != nil {
		return err
	}
	for len(s.held) > 0 {
		rec := s.held[0]
		s.held = s.held[1:]
		if err := out.Emit(rec); err != nil {
			return err
		}
	}
	return nil
}

func (s *holdStage) Close() error {
	for _, rec := range s.held {
		rec.Release()
	}
	return s.stepStage.Close()
}

// keeper is a sink that keeps the graph_ids, in order.
type keeper struct {
	hook   hook
	mu     sync.Mutex
	ids    []int64
	closes []error // what Close was told
}

func (*keeper) Name() string { return "keeper" }

func (k *keeper) Open(*arrow.Schema) (flow.Writer, error) { return k, k.hook.at("open", 0) }

func (k *keeper) Write(_ context.Context, rec arrow.Record) error {
	all := ids(rec)
	if len(all) > 0 {
		if err := k.hook.at("write", all[0]); err != nil {
			return err
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.ids = append(k.ids, all...)
	return nil
}

func (k *keeper) Close(failed error) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.closes = append(k.closes, failed)
	return k.hook.at("close", 0)
}

func (k *keeper) count() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.ids)
}

func ids(rec arrow.Record) []int64 {
	v, err := record.Values[int64](rec, record.GraphID)
	if err != nil {
		panic(err)
	}
	return slices.Clone(v) // the record may be gone when they are read
}

// upTo returns 0 … n-1.
func upTo(n int) []int64 {
	v := make([]int64, n)
	for i := range v {
		v[i] = int64(i)
	}
	return v
}

// once is a reader of one record.
type once struct {
	rec  arrow.Record
	done *bool
}

func (o once) Schema() *arrow.Schema { return o.rec.Schema() }
func (once) Close() error            { return nil }

func (o once) Next(context.Context) (arrow.Record, error) {
	if *o.done {
		return nil, io.EOF
	}
	*o.done = true
	o.rec.Retain()
	return o.rec, nil
}
