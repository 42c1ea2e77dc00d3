package flow

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow/record"
)

const (
	graphID   = record.GraphID
	posColumn = record.Pos
)

// run is the shared state of the stages of a running pipeline.
type run struct {
	caller context.Context // the parent of ctx, which ends first
	ctx    context.Context
	cancel context.CancelCauseFunc
	opts   Options
	track  *tracker
	tasks  sync.WaitGroup // the goroutines of a pipeline

	mu    sync.Mutex
	first error

	letters sync.Mutex // held during a call of Options.DeadLetters
}

func newRun(caller context.Context, opts Options) *run {
	ctx, cancel := context.WithCancelCause(caller)
	return &run{caller: caller, ctx: ctx, cancel: cancel, opts: opts.withDefaults(), track: newTracker()}
}

// fail stores the first error and ends the run. Every stage then releases its input until that is
// closed.
func (r *run) fail(err error) {
	if err == nil || errors.Is(err, errStopped) {
		return
	}
	// The error of a stage that stopped with the context is replaced by the cause of the context.
	if why := context.Cause(r.ctx); why != nil && errors.Is(err, r.ctx.Err()) && !errors.Is(err, why) {
		stage, graph := "run", int64(NoGraph)
		var e *Error
		if errors.As(err, &e) {
			stage, graph = e.Stage, e.Graph
		}
		err = &Error{Stage: stage, Graph: graph, Err: why}
	}
	r.mu.Lock()
	if r.first == nil {
		r.first = err
	}
	r.mu.Unlock()
	r.cancel(err)
}

func (r *run) err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.first
}

// stopped reports whether the run ended early. The caller may drop records because of it, so the
// run then has an error.
func (r *run) stopped() bool {
	// The context of the caller may end before ctx does.
	if r.ctx.Err() == nil && r.caller.Err() == nil {
		return false
	}
	why := context.Cause(r.ctx)
	if why == nil {
		why = context.Cause(r.caller)
	}
	r.fail(&Error{Stage: "run", Graph: NoGraph, Err: why})
	return true
}

// guard calls code of a stage, and returns its error or its panic. If f ends the goroutine, the run fails.
func (r *run) guard(stage string, f func() error) error {
	return at(stage, guard(f, func(err error) { r.fail(at(stage, err)) }))
}

// letter returns the dead letter of a refused row. The letter owns its row. With the policy Stop, or for a
// row that does not exist, it returns an error.
func (r *run) letter(c *counter, rec arrow.Record, row int, err error) (Letter, error) {
	if err == nil {
		err = errors.New("the stage gave no reason")
	}
	if row < 0 || row >= int(rec.NumRows()) {
		return Letter{}, at(c.stage, fmt.Errorf("refused row %d of %d: %w", row, rec.NumRows(), err))
	}
	l := Letter{
		Stage: c.stage,
		Graph: cell(rec, graphID, row),
		Pos:   cell(rec, posColumn, row),
		Err:   err,
	}
	c.refuse(l)
	if r.opts.Refused == Stop {
		return Letter{}, &Error{Stage: l.Stage, Graph: l.Graph, Err: err}
	}
	l.Row = rec.NewSlice(int64(row), int64(row)+1)
	return l, nil
}

// deliver passes letters to Options.DeadLetters and releases them. With done it also removes the claims
// of their rows.
func (r *run) deliver(letters []Letter, done bool) {
	defer func() {
		for _, l := range letters {
			l.Row.Release()
		}
	}()
	for _, l := range letters {
		if r.opts.Refused == Keep && !r.stopped() {
			r.deadLetter(l)
		}
		if done && !r.stopped() {
			r.track.done(l.Row)
		}
	}
}

func (r *run) deadLetter(l Letter) {
	r.letters.Lock()
	defer r.letters.Unlock()
	r.fail(r.guard(deadLetters, func() error { return r.opts.DeadLetters(l) }))
}
