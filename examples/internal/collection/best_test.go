package collection

import (
	"testing"

	"github.com/sanflow/sanflow/nn"
)

// The best model can be made for any number of classes, in the same memory, and is what
// it was for those of up to 51.
func TestBestOfManyClasses(t *testing.T) {
	for _, c := range []struct{ classes, width int }{{2, 1 << 17}, {51, 1 << 17}, {52, 1 << 16}, {204, 1 << 15}, {300, 1 << 14}, {100_000, 1 << 6}} {
		m := NewBest(Best, c.classes, 1)
		if m.Width != c.width || NewBest(BestAlone, c.classes, 1).Width != c.width {
			t.Errorf("%d classes: %d rows, want %d", c.classes, m.Width, c.width)
		}
		if err := m.Init(nn.Shape{Counts: []string{"words"}, Classes: c.classes}); err != nil {
			t.Errorf("%d classes: %v", c.classes, err)
		}
	}
}
