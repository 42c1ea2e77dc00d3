package nn

import (
	"fmt"
	"math"
	"slices"
)

// validate returns an error unless a model can be built for s.
func (s Shape) validate() error {
	if s.W < 1 || s.K < 1 {
		return fmt.Errorf("w = %d, k = %d, want positive numbers", s.W, s.K)
	}
	if s.Attrs < 0 {
		return fmt.Errorf("%d continuous channels", s.Attrs)
	}
	if len(s.Cats) == 0 && s.Attrs == 0 {
		return fmt.Errorf("vertices have no channels, want at least one, discrete or continuous")
	}
	total := 0
	for i, n := range s.Cats {
		if n < 1 || n > maxWeights {
			return fmt.Errorf("discrete channel %d has %d values, want 1 to %d", i, n, maxWeights)
		}
		if total += n; total > maxWeights {
			return fmt.Errorf("the discrete channels have more than %d values", maxWeights)
		}
	}
	// Rows of the first layer's table are int32.
	if s.K > math.MaxInt32/max(total, 1) {
		return fmt.Errorf("k = %d times %d values a vertex is too much", s.K, total)
	}
	if s.Classes < 2 {
		return fmt.Errorf("classes = %d, want at least 2", s.Classes)
	}
	return nil
}

// check returns an error that names what differs when a model that was built
// for s is fed data of shape t.
func (s Shape) check(t Shape) error {
	for _, f := range []struct {
		name        string
		model, data int
	}{
		{"fields (w)", s.W, t.W},
		{"vertices a field (k)", s.K, t.K},
		{"continuous channels", s.Attrs, t.Attrs},
		{"discrete channels", len(s.Cats), len(t.Cats)},
		{"classes", s.Classes, t.Classes},
	} {
		if f.model != f.data {
			return fmt.Errorf("the model is for %d %s, the data have %d", f.model, f.name, f.data)
		}
	}
	if !slices.Equal(s.Cats, t.Cats) {
		return fmt.Errorf("the model is for discrete channels of %v values, the data have %v", s.Cats, t.Cats)
	}
	return nil
}
