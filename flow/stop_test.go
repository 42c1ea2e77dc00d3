package flow_test

import (
	"context"
	"errors"
	"testing"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/internal/leak"
)

// A run that was asked to stop ends without an error, one whose context was ended does not. Stop
// changes nothing behind the end.
func TestStop(t *testing.T) {
	plan := flow.From(endless).Via(step{Label: "a", mode: forks}).With(flow.Options{Allocator: checked(t)})
	running := plan.Start(t.Context())
	running.Stop()
	if err := running.Wait(); err != nil {
		t.Error(err)
	}
	why := errors.New("the caller had enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	running = plan.Start(ctx)
	cancel(why)
	if err := running.Wait(); !errors.Is(err, why) {
		t.Errorf("%v, want %v", err, why)
	}
	running.Stop()
	if err := running.Wait(); !errors.Is(err, why) {
		t.Errorf("behind the end: %v, want %v", err, why)
	}
	ended := flow.From(numbers{Records: 3, Rows: 1}).Via(step{Label: "a", mode: forks}).With(flow.Options{Allocator: checked(t)}).Start(t.Context())
	if err := ended.Wait(); err != nil {
		t.Error(err)
	}
	ended.Stop()
	if err := ended.Wait(); err != nil {
		t.Error(err)
	}
	leak.VerifyNone(t)
}
