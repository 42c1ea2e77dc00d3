package cli

import "context"

// Await calls work and returns what it returns, or the cause of the end of ctx,
// whichever comes first. It is for work that cannot be stopped, in a program
// that ends when it is interrupted: what is begun goes on in the background,
// and nobody may look at its results then.
func Await(ctx context.Context, work func() error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	done := make(chan error, 1)
	go func() { done <- work() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Cause says why a context ended, where that is what stopped the work.
func Cause(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
