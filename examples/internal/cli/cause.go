package cli

import "context"

// Cause says why a context ended, where that is what stopped the work.
func Cause(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
