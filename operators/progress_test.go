package operators_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/labeling"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/generate"
)

// A labeling in a pipeline tells how far it is.
func TestSelectTellsProgress(t *testing.T) {
	g, err := generate.PreferentialAttachment(2000, 3, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"pagerank", "betweenness-9"} {
		by, err := labeling.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		var calls, done atomic.Int64
		ctx := labeling.WithProgress(context.Background(), func(d, total int) {
			calls.Add(1)
			if d == total {
				done.Add(1)
			}
		})
		err = flow.From(sources.Graphs{Items: []sources.Item{{Graph: g}}}).Via(operators.Select{W: 10, By: by}).Run(ctx)
		if err != nil || calls.Load() < 2 || done.Load() == 0 {
			t.Errorf("%s: %d calls, %d of them at the end: %v", text, calls.Load(), done.Load(), err)
		}
	}
}
