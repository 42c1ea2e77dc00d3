package input

import (
	"context"
	"errors"
	"testing"
	"time"
)

// Who waits for a large graph to be made can stop waiting.
func TestGeneratedInterrupt(t *testing.T) {
	ctx, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer stop()
	begin := time.Now()
	_, err := (&Graph{Path: "preferential", Format: "generated", N: 3_000_000}).Source(ctx)
	if took := time.Since(begin); !errors.Is(err, context.DeadlineExceeded) || took > time.Second {
		t.Errorf("%v after %v", err, took)
	}
}
