package nn_test

import (
	"testing"

	"github.com/sanflow/sanflow/nn"
)

// Best is a model for any number of classes, of at most 2²⁶ weights.
func TestBestOfManyClasses(t *testing.T) {
	for _, c := range []struct{ classes, width int }{{0, 1 << 17}, {2, 1 << 17}, {51, 1 << 17}, {52, 1 << 16}, {204, 1 << 15}, {300, 1 << 14}, {100_000, 1 << 6}} {
		m := nn.Best()
		if err := m.Init(nn.Shape{Counts: []string{"words"}, Classes: c.classes}); err != nil {
			t.Errorf("%d classes: %v", c.classes, err)
		}
		if m.Width != c.width {
			t.Errorf("%d classes: %d rows, want %d", c.classes, m.Width, c.width)
		}
	}
}
