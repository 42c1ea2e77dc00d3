package now_test

import (
	"context"
	"testing"
)

func ctx() context.Context { return context.Background() }

func contextWithCancel(t *testing.T) (context.Context, func()) {
	return context.WithCancel(t.Context())
}
