package labeling

import "context"

type progressKey struct{}

// WithProgress returns a context whose pipelines tell done how far they are with
// a labeling of a whole graph, as Input.Progress does: operators.Select and
// operators.Channel look for it. If several workers have a graph in hand each,
// done is called by all of them, at any time.
func WithProgress(ctx context.Context, done func(done, total int)) context.Context {
	return context.WithValue(ctx, progressKey{}, done)
}

// ProgressOf returns the function of WithProgress in the context, or nil.
func ProgressOf(ctx context.Context) func(done, total int) {
	done, _ := ctx.Value(progressKey{}).(func(done, total int))
	return done
}

// progress tells how much of the work is done.
func (in Input) progress(done, total int) {
	if in.Progress != nil {
		in.Progress(min(done, total), total)
	}
}
