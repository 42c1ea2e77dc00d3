package nn

import "fmt"

// Additive is a Predictor whose outputs are sums over the counts and columns of a row: a Logistic or
// its clone, or a trees.Model.
type Additive interface {
	Predictor

	Contributions(b Batch, row int) (Contributions, error)
}

// Contributions are the terms of the outputs of one row. Output c, a logit or the value, is
// Bias[c] plus the sum over counts i of Weights[i*Outputs+c] and over columns i of
// Columns[i*Outputs+c]. In a Logistic, the weight of a count is the sum over its levels of level ×
// sign × the mean of the heads' weights. In a trees.Model, ids that the row lacks have weights too,
// behind those of the row.
type Contributions struct {
	Outputs int       // classes, or 1 for a number
	Bias    []float64 // (Outputs)
	IDs     []uint64  // of the counts of the row, ascending; then those of absent ones, ascending
	Weights []float64 // (len(IDs), Outputs)
	Columns []float64 // (columns of the Shape, Outputs)
	Shared  []bool    // of each count: another count of the row uses one of its table rows
}

// Sum returns the outputs.
func (c Contributions) Sum() []float64 {
	sum := append([]float64(nil), c.Bias...)
	for i, w := range c.Weights {
		sum[i%c.Outputs] += w
	}
	for i, w := range c.Columns {
		sum[i%c.Outputs] += w
	}
	return sum
}

var (
	_ Additive = (*Logistic)(nil)
	_ Additive = additive{}
)

// additive is a clone of an Additive model.
type additive struct{ clone }

// Contributions is Logistic.Contributions for a clone.
func (a additive) Contributions(b Batch, row int) (Contributions, error) {
	return a.learner.contributions(b, row)
}

// Contributions returns the terms of the outputs of a row, or ErrUntrained.
func (m *Logistic) Contributions(b Batch, row int) (Contributions, error) {
	return m.contributions(b, row)
}

// contributions implements Contributions for a model whose body is a logisticLayer.
func (c *Learner) contributions(b Batch, row int) (Contributions, error) {
	if !c.ready() {
		return Contributions{}, ErrNotReady
	}
	in, err := b.open(c.shape, false)
	switch {
	case err != nil:
		return Contributions{}, err
	case row < 0 || row >= in.rows:
		return Contributions{}, fmt.Errorf("nn: row %d of a batch of %d", row, in.rows)
	case !c.Trained():
		return Contributions{}, ErrUntrained
	}
	l := c.work.body.(*logisticLayer)
	ids, values := in.counts.Row(row)
	e := Contributions{Outputs: max(1, c.shape.Classes), IDs: append([]uint64(nil), ids...), Shared: make([]bool, len(ids))}
	e.Bias, e.Weights = make([]float64, e.Outputs), make([]float64, len(ids)*e.Outputs)
	if err := l.hash(batch{rows: 1, counts: in.counts.part(row, row+1)}); err != nil {
		return Contributions{}, shiftRow(err, row)
	}
	c.addOutputs(e.Bias, l.bias.W, 1)
	if c.loss == squared {
		e.Bias[0] += float64(c.unit.Mean)
	}
	n, owner, next := l.width(), map[int32]int{}, 0
	for i := range ids {
		here := 1
		if l.kernel == Min {
			here = levels(values[i])
		}
		for j := next; j < next+here; j++ {
			at := l.at[j]
			c.addOutputs(e.Weights[i*e.Outputs:(i+1)*e.Outputs], l.table.W[int(at)*n:][:n], float64(l.x[j]))
			if first, taken := owner[at]; taken && first != i {
				e.Shared[first], e.Shared[i] = true, true
			} else {
				owner[at] = i
			}
		}
		next += here
	}
	return e, nil
}

// addOutputs adds x times the weights w (heads, units) to the outputs, as means over the heads, in the unit of the values.
func (c *Learner) addOutputs(to []float64, w []float32, x float64) {
	units := c.loss.units(c.shape)
	heads := len(w) / units
	for u := range units {
		sum := 0.0
		for h := range heads {
			sum += float64(w[h*units+u])
		}
		sum *= x / float64(heads)
		if c.loss == squared {
			sum *= float64(c.unit.size())
		}
		to[u] += sum
	}
}
