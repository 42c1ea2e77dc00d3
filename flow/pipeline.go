package flow

import (
	"context"
	"errors"
)

// Pipeline is a plan: a source, operators and a sink. Nothing runs before Run or Start. Each
// method returns a new Pipeline, so pipelines can share their beginning. A run does not change
// the Pipeline.
type Pipeline struct {
	source Source
	steps  []Operator
	sink   Sink
	opts   Options
}

// From begins a pipeline.
func From(s Source) Pipeline { return Pipeline{source: s} }

// Via adds an operator after the last one, even if there is a sink already.
func (p Pipeline) Via(op Operator) Pipeline {
	p.steps = append(p.steps[:len(p.steps):len(p.steps)], op)
	return p
}

// To sets the sink, and replaces an earlier one. Without a sink, or with nil, records are
// counted and released.
func (p Pipeline) To(s Sink) Pipeline {
	p.sink = s
	return p
}

// With sets the options of the run.
func (p Pipeline) With(o Options) Pipeline {
	p.opts = o
	return p
}

// Run runs the pipeline to its end, and returns nil when every row has left
// it. Otherwise it returns the first error, as an *[Error]; when ctx ended
// before the stream did, that wraps the cause. No goroutine and no Arrow
// buffer of the pipeline outlives Run.
func (p Pipeline) Run(ctx context.Context) error { return p.begin(ctx, func() {}).Wait() }

// Running is a started pipeline.
type Running struct {
	run    *run
	counts []*counter
	done   chan struct{}
}

// errAsked is the cancellation cause of a run that Stop ended.
var errAsked = errors.New("flow: the run was stopped")

// Stop ends the run before the stream ends, as the end of its context does: rows that have not left
// the pipeline are dropped and not acknowledged, and a file that a sink has not finished does not
// appear. It does not wait.
func (r *Running) Stop() { r.run.cancel(errAsked) }

// Wait waits for the end of the run and returns the result of Run, or nil if the run ended because
// of Stop.
func (r *Running) Wait() error {
	<-r.done
	if err := r.run.err(); !errors.Is(err, errAsked) {
		return err
	}
	return nil
}

// Stats returns the counts of each stage so far. It may be called at any time, also after the end.
func (r *Running) Stats() Stats {
	s := Stats{Done: r.run.track.watermark(), Read: r.run.track.reach()}
	for _, c := range r.counts {
		s.Stages = append(s.Stages, c.snapshot())
	}
	return s
}

// Start opens every stage, from the source on, and runs the pipeline. It does
// not wait: an error of opening is reported by Wait as well.
func (p Pipeline) Start(ctx context.Context) *Running {
	ready := make(chan struct{})
	running := p.begin(ctx, func() { close(ready) })
	<-ready
	return running
}

// begin starts the run. It calls ready when all stages are open, or after an error.
func (p Pipeline) begin(ctx context.Context, ready func()) *Running {
	r := newRun(ctx, p.opts)
	running := &Running{run: r, done: make(chan struct{})}
	o := &opened{run: r, names: namer{}}
	go func() {
		defer close(running.done)
		defer r.cancel(nil)
		isOpen := false
		defer func() { // runs even if a stage ends this goroutine
			if !isOpen {
				o.close()
				ready()
			}
		}()
		if r.fail(o.open(p)); r.err() == nil {
			o.openSink(p.sink)
			o.resume()
		}
		if isOpen = r.err() == nil; isOpen {
			running.counts = o.counts
			defer running.announce()()
			ready()
			o.serve()
		}
	}()
	return running
}
