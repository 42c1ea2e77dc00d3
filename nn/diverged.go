package nn

import (
	"fmt"
	"math"
)

// diverged tells a batch with a row that nothing can be learned from, one with a
// NaN, an Inf or a number of 10²⁵, from weights that have grown out of bounds.
// The one is a *RowError, which a stream can leave out. It is called in place of
// an update, so neither the weights nor the optimizer have seen the gradient.
func (c *core) diverged(b batch, loss float64) error {
	if row := c.blame(b); row >= 0 {
		name, x := b.cut(c.shape, row, row+1).extreme()
		if !finite(float64(x)) {
			return rowErrorf(row, "%s is %v", name, x)
		}
		return rowErrorf(row, "%s is %v, which is too large to learn from", name, x)
	}
	what := "the gradient is not finite"
	if !finite(loss) {
		what = fmt.Sprintf("the loss is %v", loss/float64(b.rows))
	}
	return fmt.Errorf("nn: step %d: %s; a lower learning rate may help", c.steps+1, what)
}

// blame returns the first row that gives no finite gradient, and would if its
// numbers were 0; -1 where there is none, and the weights are at fault.
func (c *core) blame(b batch) int {
	zeros := b
	for _, x := range []*[]float32{&zeros.nodes.attrs, &zeros.edges.attrs, &zeros.values} {
		if *x != nil {
			*x = make([]float32, len(*x))
		}
	}
	bears := func(b batch, row int) bool {
		_, learned, err := c.work.learn(b.cut(c.shape, row, row+1), c.steps, row, 1)
		return err == nil && finite(learned) && finite(squares(c.work.g))
	}
	for row := range b.rows {
		if !bears(b, row) && bears(zeros, row) {
			return row
		}
	}
	return -1
}

// extreme returns the first number of a batch that is not finite, or else the
// largest, and what it is.
func (b batch) extreme() (name string, x float32) {
	for _, in := range []struct {
		name string
		x    []float32
	}{{"attribute", b.nodes.attrs}, {"edge attribute", b.edges.attrs}, {"the value to learn", b.values}} {
		for _, v := range in.x {
			if size := math.Abs(float64(v)); name == "" || !(size <= math.Abs(float64(x))) {
				name, x = in.name, v
			}
			if !finite(float64(x)) {
				return name, x
			}
		}
	}
	return name, x
}
