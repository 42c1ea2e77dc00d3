package labeling_test

import (
	"testing"

	"github.com/sanflow/sanflow/operators/labeling"
)

// TestConformance runs the conformance suite on all labelings.
func TestConformance(t *testing.T) {
	for _, l := range all(t) {
		t.Run(l.String(), func(t *testing.T) {
			if l == labeling.Canonical {
				checkRules(t, l, "numbering") // it tells apart nodes that are images of each other
				return
			}
			checkRules(t, l)
		})
	}
}
