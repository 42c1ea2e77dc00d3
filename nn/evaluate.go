package nn

import "fmt"

// Evaluate tests the model on a batch with targets, as Step does before it
// learns. It changes and counts nothing. A batch without rows has no result.
func (c *core) Evaluate(b Batch) (Result, error) {
	if c == nil {
		return Result{}, ErrNotReady
	}
	in, err := b.open(c.shape, true)
	if err != nil || in.rows == 0 {
		return Result{}, err
	}
	return c.evaluate(in)
}

func (c *core) evaluate(b batch) (Result, error) {
	if err := c.loss.check(b, c.shape); err != nil {
		return Result{}, err
	}
	y, err := c.work.forward(b)
	if err != nil {
		return Result{}, err
	}
	c.work.dy = grown(c.work.dy, b.rows*c.loss.units(c.shape))
	t := c.loss.compare(y, b, c.shape, c.work.dy, 1)
	if !finite(t.loss) {
		return Result{}, fmt.Errorf("nn: the loss is %v: attributes or weights are not numbers", t.loss/float64(b.rows))
	}
	return t.result(), nil
}
