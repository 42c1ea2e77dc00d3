package generate

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/sanflow/sanflow/flow/graph"
)

// What a large graph is being made for may end, before and while it is made. A
// whole one of these takes minutes, and more memory than there is.
func TestUntil(t *testing.T) {
	for name, make := range map[string]func(by Generator) (*graph.Graph, error){
		"grid":         func(by Generator) (*graph.Graph, error) { return by.Grid(1<<14, 1<<14, true) },
		"random":       func(by Generator) (*graph.Graph, error) { return by.ErdosRenyi(1<<27, 1<<28, 1) },
		"dense":        func(by Generator) (*graph.Graph, error) { return by.ErdosRenyi(1<<14, 1<<26, 1) },
		"regular":      func(by Generator) (*graph.Graph, error) { return by.RandomRegular(1<<24, 4, 1) },
		"preferential": func(by Generator) (*graph.Graph, error) { return by.PreferentialAttachment(1<<26, 3, 1) },
		"small world":  func(by Generator) (*graph.Graph, error) { return by.SmallWorld(1<<26, 4, 0.1, 1) },
		"degrees":      func(by Generator) (*graph.Graph, error) { return by.RandomDegrees(1<<26, []float64{0, 1, 1}, 1) },
		"cliques":      func(by Generator) (*graph.Graph, error) { return by.RingOfCliques(1<<20, 16) },
		"rmat":         func(by Generator) (*graph.Graph, error) { return by.RMAT(22, 1<<29, 1) },
		"communities": func(by Generator) (*graph.Graph, error) {
			g, _, err := by.Communities(1<<26, 4, 5, 2, 1)
			return g, err
		},
	} {
		for _, after := range []time.Duration{0, 30 * time.Millisecond} {
			why := errors.New("enough")
			ctx, stop := context.WithCancelCause(t.Context())
			if after == 0 {
				stop(why)
			}
			timer := time.AfterFunc(after, func() { stop(why) })
			if g, err := make(Until(ctx)); g != nil || !errors.Is(err, why) {
				t.Errorf("%s after %v: a graph %t, %v", name, after, g != nil, err)
			}
			timer.Stop()
			stop(nil)
		}
	}
}
