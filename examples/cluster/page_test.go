package main

import (
	"context"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sanflow/sanflow/examples/internal/clitest"
	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/sinks"
)

// A page is told of all roles, what their stages did, and what the trainer learned; of that
// only where it asks.
func TestAllRolesOnPage(t *testing.T) {
	for _, open := range []bool{true, false} {
		var mu sync.Mutex
		var looks sync.WaitGroup
		var roles []string
		learned := 0
		ctx := flow.Observe(t.Context(), func(work flow.Observed) func(error) {
			p, done := work.(*process), make(chan struct{})
			looks.Go(func() {
				for open {
					for _, r := range work.Report() {
						if l, ok := r.(sinks.Learning); ok && len(l.Rows) > 0 && p.role == "train" {
							mu.Lock()
							learned++
							mu.Unlock()
						}
					}
					select {
					case <-done:
						return
					case <-time.After(20 * time.Millisecond):
					}
				}
			})
			return func(error) {
				close(done)
				stages := work.Stats().Stages
				if len(stages) < 3 || stages[len(stages)-1].RowsIn == 0 {
					t.Errorf("%s has the stages %+v", p, stages)
				}
				p.mu.Lock()
				if p.model != nil && !open {
					t.Errorf("%s reports what no page has asked for", p)
				}
				p.mu.Unlock()
				mu.Lock()
				roles = append(roles, p.String())
				mu.Unlock()
			}
		})
		clitest.JSON[report](t, func(_ context.Context, args []string) error { return run(ctx, args) }, "-workers", "2", "-epochs", "60")
		looks.Wait()
		if slices.Sort(roles); !slices.Equal(roles, []string{"feed", "train", "worker 0", "worker 1"}) {
			t.Errorf("a page shows %q", roles)
		}
		if (learned > 0) != open {
			t.Errorf("page open: %v; the trainer has reported what it learned %d times", open, learned)
		}
	}
}

// A number that JSON does not have costs the report of the model, not the line.
func TestStatusLine(t *testing.T) {
	s := status{Rows: 7, Stats: &flow.Stats{Done: 3}, Model: &sinks.Learning{Sample: nn.Result{Rows: 1, Loss: 1}}}
	if line := s.line(); !strings.Contains(line, `"rows":7`) || !strings.Contains(line, `"model"`) {
		t.Error(line)
	}
	s.Model.Rows = []sinks.Guess{{P: float32(math.NaN())}}
	if line := s.line(); !strings.Contains(line, `"rows":7`) || !strings.Contains(line, `"Done":3`) || strings.Contains(line, `"model"`) {
		t.Error(line)
	}
}
