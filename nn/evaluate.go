package nn

import (
	"fmt"

	"github.com/sanflow/sanflow/internal/scratch"
	"github.com/sanflow/sanflow/nn/internal/kernel"
)

// Evaluate tests the model on a batch with targets; see Model.
func (c *learner) Evaluate(b Batch) (Result, error) {
	if !c.ready() {
		return Result{}, ErrNotReady
	}
	in, err := b.open(c.shape, true)
	if err != nil || in.rows == 0 {
		return Result{}, err
	}
	if !c.Trained() {
		return Result{}, ErrUntrained
	}
	return c.evaluate(in)
}

func (c *learner) evaluate(b batch) (Result, error) {
	if err := c.loss.check(b, c.shape); err != nil {
		return Result{}, err
	}
	t, err := c.test(b)
	if err != nil {
		return Result{}, err
	}
	if kernel.Finite(t.loss) {
		return t.result(), nil
	}
	err = c.blame(b, "test", func(one batch, _ int) bool {
		t, err := c.test(one)
		return err == nil && kernel.Finite(t.loss)
	})
	if err == nil {
		err = fmt.Errorf("nn: the loss is %v: the weights are not numbers, or too large", t.loss/float64(b.rows))
	}
	return Result{}, err
}

// test compares what the model says of a batch with the targets.
func (c *learner) test(b batch) (tally, error) {
	b.unit, b.learned = c.unit, c.unit
	y, err := c.work.forward(b)
	if err != nil {
		return tally{}, err
	}
	c.work.dy = scratch.Resize(c.work.dy, b.rows*c.loss.units(c.shape))
	return c.loss.compare(y, b, c.shape, c.work.dy, 1), nil
}
