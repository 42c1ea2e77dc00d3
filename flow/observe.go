package flow

import "context"

// Observed is work with statistics while it runs, such as a [Running]. Its methods may be called
// from any goroutine at any time, also after the end.
type Observed interface {
	// Stats returns the counts of each stage so far.
	Stats() Stats
	// Report returns the report of each stage, in the order of Stats; nil for a stage that is no
	// [Reporter].
	Report() []any
}

type observeKey struct{}

// Observe returns a context. Each pipeline below it calls started when its stages are open, before
// the first record. At the end of the run, before Run and Wait return, it calls the result of
// started, unless nil, with the error of the run. Both are called on a goroutine of the run, which
// waits for them. started takes the place of that of an outer context. A run that ends before its
// first record is not reported, nor is a stage in a pipeline of go-streams.
func Observe(ctx context.Context, started func(Observed) (ended func(error))) context.Context {
	return context.WithValue(ctx, observeKey{}, started)
}

// Announce notifies the observer of ctx of work other than a pipeline. The caller calls ended at
// its end, on the same terms as a run; it is never nil.
func Announce(ctx context.Context, work Observed) (ended func(error)) {
	started, _ := ctx.Value(observeKey{}).(func(Observed) func(error))
	if started != nil {
		if ended := started(work); ended != nil {
			return ended
		}
	}
	return func(error) {}
}

// announce calls the observer of a run, and returns the function to call at the end of the run.
func (r *Running) announce() (ended func()) {
	told := func(error) {}
	r.run.fail(r.run.guard("observer", func() error {
		told = Announce(r.run.ctx, r)
		return nil
	}))
	return func() {
		err := r.run.err()
		r.run.fail(r.run.guard("observer", func() error {
			told(err)
			return nil
		}))
	}
}

// Report implements [Observed].
func (r *Running) Report() []any {
	all := make([]any, len(r.counts))
	for i, c := range r.counts {
		c.mu.Lock()
		own := c.own
		c.mu.Unlock()
		if from, ok := own.(Reporter); ok {
			all[i] = from.Report()
		}
	}
	return all
}
