package nn

import (
	"fmt"
	"math"

	"github.com/sanflow/sanflow/nn/internal/kernel"
)

// diverged returns the error of a step whose loss or gradient is not finite. It is a *RowError if one row is
// the cause, for instance by a NaN, an Inf or a number of 10²⁵, so that a stream can leave the row out.
// Otherwise the weights are the cause. It replaces the update, so the weights and the optimizer are
// unchanged.
func (c *Learner) diverged(b batch, loss float64) error {
	err := c.rowAtFault(b, "learn from", func(b batch, row int) bool {
		_, learned, err := c.work.learn(b, c.steps, row, 1)
		return err == nil && kernel.Finite(learned) && kernel.Finite(c.work.squares())
	})
	if err != nil {
		return err
	}
	what := "the gradient is not finite"
	if !kernel.Finite(loss) {
		what = fmt.Sprintf("the loss is %v", loss/float64(b.rows))
	}
	return fmt.Errorf("nn: step %d: %s; a lower learning rate may help", c.steps+1, what)
}

// rowAtFault returns the error of the first row for which bears is false, but true with zeros for the numbers
// of the row. The result is nil if no row is the cause.
func (c *Learner) rowAtFault(b batch, do string, bears func(one batch, row int) bool) error {
	zeros := b
	for _, x := range []*[]float32{&zeros.nodes.Attrs, &zeros.edges.Attrs, &zeros.values} {
		if *x != nil {
			*x = make([]float32, len(*x))
		}
	}
	if c := b.counts; c != nil {
		zeros.counts = &Counts{Offsets: c.Offsets, IDs: c.IDs, Values: make([]float64, len(c.Values))}
	}
	for row := range b.rows {
		one := b.cut(c.shape, row, row+1)
		if bears(one, row) || !bears(zeros.cut(c.shape, row, row+1), row) {
			continue
		}
		name, x := one.extreme()
		if !kernel.Finite(float64(x)) {
			return rowErrorf(row, "%s is %v", name, x)
		}
		return rowErrorf(row, "%s is %v, which is too large to %s", name, x, do)
	}
	return nil
}

// extreme returns the first number of a batch that is not finite, or the largest one, and its name.
func (b batch) extreme() (name string, x float32) {
	for _, in := range []struct {
		name string
		x    []float32
	}{{"attribute", b.nodes.Attrs}, {"edge attribute", b.edges.Attrs}, {"a count", b.numbers()}, {"the value to learn", b.values}} {
		for _, v := range in.x {
			if size := math.Abs(float64(v)); name == "" || !(size <= math.Abs(float64(x))) {
				name, x = in.name, v
			}
			if !kernel.Finite(float64(x)) {
				return name, x
			}
		}
	}
	return name, x
}

// numbers returns the counts of a batch of one row in float32.
func (b batch) numbers() (x []float32) {
	if b.counts == nil {
		return nil
	}
	_, values := b.counts.Row(0)
	for _, v := range values {
		x = append(x, float32(v))
	}
	return x
}
