package nn

import (
	"fmt"

	"gorgonia.org/tensor"
)

// Sample fills x, (B, visible), with independent rows drawn given that the
// hidden unit of that number is on and all others are off: pictures of what the
// unit stands for, as in the figure of the paper.
//
// Samples come from a stream of chance of their own, which begins at Seed after
// Init and Load, and which learning neither reads nor moves.
func (r *RBM) Sample(x *tensor.Dense, unit int) error {
	v, rows, err := r.target(x, unit, 0)
	if err != nil {
		return err
	}
	h := make([]float32, rows*r.Hidden)
	for i := range rows {
		h[i*r.Hidden+unit] = 1
	}
	r.visibleMeans(v, h, rows)
	r.drawVisible(r.sample, v, v)
	return overflowed("value", v, r.visible)
}

// Gibbs moves the rows of x, (B, visible), by that many steps of Gibbs sampling:
// each draws the hidden units given the visible ones, then the visible given the
// hidden. The hidden unit of that number is on throughout; -1 leaves all free.
// O(steps · B · visible · hidden).
func (r *RBM) Gibbs(x *tensor.Dense, steps, unit int) error {
	v, rows, err := r.target(x, unit, -1)
	if err != nil {
		return err
	}
	m := r.Hidden
	h := make([]float32, rows*m)
	for range steps {
		r.hiddenProbs(h, v, rows)
		r.sample.Bernoulli(h, h)
		if unit >= 0 {
			for i := range rows {
				h[i*m+unit] = 1
			}
		}
		r.visibleMeans(v, h, rows)
		r.drawVisible(r.sample, v, v)
	}
	return overflowed("value", v, r.visible)
}

// target checks a tensor to be drawn into, and the number of a hidden unit.
func (r *RBM) target(x *tensor.Dense, unit, least int) (v []float32, rows int, err error) {
	if v, rows, err = r.know(x, r.Units); err != nil {
		return nil, 0, err
	}
	if unit < least || unit >= r.Hidden {
		return nil, 0, fmt.Errorf("nn: hidden unit %d, want %d to %d", unit, least, r.Hidden-1)
	}
	return v, rows, nil
}
