package nn

import (
	"github.com/sanflow/sanflow/nn/internal/kernel"
	"github.com/sanflow/sanflow/nn/internal/random"
)

// body is the layers of one type of model up to the features that the output
// layer reads. It has activations and gradients of its own and is used by one
// goroutine at a time; the weights may be shared.
type body interface {
	// init draws the weights, which are 0.
	init(r random.Source)

	// width is the number of features of a row.
	width() int

	// forward returns the features (rows, width) of a batch, and remembers what
	// backward needs. A row that it cannot read is a *RowError.
	forward(b batch) ([]float32, error)

	// backward sets the gradients of all weights of the body. dx is the gradient
	// of the features, and is overwritten; b is that of forward.
	backward(dx []float32, b batch)
}

// replica is a model at work on a batch or a part of one: its layers, with
// activations and gradients of their own, over weights that all replicas of a
// model share.
//
//	body ─ features x ─ dropout ─ out ─ outputs y ─ loss
//
// Dropout is the last thing before the output layer, so a batch passes through
// the body once: what is predicted, and tested against the targets, is the
// output without dropout; what is learned from is the output with it.
type replica struct {
	params
	shape Shape
	loss  Loss
	body  body
	drop  *dropout // nil: none
	out   *dense   // nil: the features are the outputs

	x                  []float32 // features; the body's memory
	dropped, y, dx, dy []float32

	targets []int32   // of heads, like values
	values  []float32 // see repeated
}

// lay lays out the layers of a model and allocates nothing; params.size says
// whether it may be.
func lay(m architecture, s Shape) *replica {
	set := m.settings()
	r := &replica{shape: s, loss: *set.loss}
	r.body = m.lay(&r.params, s)
	if set.dropout != nil {
		r.drop = newDropout(*set.dropout, *set.seed)
		r.out = newDense(&r.params, "out", r.body.width(), r.loss.units(s), linear)
	}
	return r
}

func (r *replica) init(seed uint64) {
	rand := random.New(seed, random.Init)
	r.body.init(rand)
	if r.out != nil {
		r.out.init(rand)
	}
}

// forward computes the outputs (rows, units) of a batch as predictions:
// nothing is dropped.
func (r *replica) forward(b batch) (y []float32, err error) {
	if r.x, err = r.features(b); err != nil {
		return nil, err
	}
	if headsOf(r.body) > 1 {
		return r.meanOfHeads(r.x, b.rows), nil
	}
	if r.out == nil {
		return r.x, nil
	}
	r.y = kernel.Grown(r.y, b.rows*r.out.out)
	r.out.forward(r.y, r.x, b.rows)
	return r.y, nil
}

// learn predicts the rows of b, compares them with their targets, and sets the
// gradients of the weights to what these rows have in that of the mean loss
// under dropout of a batch of all rows. step and row are the step's number and
// the row of the batch that b begins with. The result is that of the prediction;
// learned is the sum of losses that the gradients are of. Where one of the two is
// not finite there are no gradients.
func (r *replica) learn(b batch, step, row, all int) (seen tally, learned float64, err error) {
	if headsOf(r.body) > 1 {
		return r.learnHeads(b, row, all)
	}
	y, err := r.forward(b)
	if err != nil {
		return tally{}, 0, shiftRow(err, row)
	}
	if b.said != nil {
		r.loss.predict(b.said, y, b.rows, r.shape) // where it has no answer, the loss is no number either
	}
	units := r.loss.units(r.shape)
	r.dy = kernel.Grown(r.dy, b.rows*units)
	scale := 1 / float64(all)
	seen = r.loss.compare(y, b, r.shape, r.dy, scale)
	if !kernel.Finite(seen.loss) {
		return seen, seen.loss, nil
	}
	if r.out == nil {
		r.body.backward(r.dy[:b.rows*units], b)
		return seen, seen.loss, nil
	}
	learned = seen.loss
	size := b.rows * r.out.in
	x := r.x
	if r.drop != nil {
		r.dropped = kernel.Grown(r.dropped, size)
		x = r.dropped
		r.drop.forward(x, r.x[:size], step, row)
		r.out.forward(r.y, x, b.rows)
		if learned = r.loss.compare(r.y, b, r.shape, r.dy, scale).loss; !kernel.Finite(learned) {
			return seen, learned, nil
		}
	}
	r.dx = kernel.Grown(r.dx, size)
	r.out.backward(r.dx, r.dy, r.y, x, b.rows)
	if r.drop != nil {
		r.drop.backward(r.dx[:size])
	}
	r.body.backward(r.dx[:size], b)
	return seen, learned, nil
}

// features returns those that the body makes of a batch. A row that a layer cannot
// read is a *RowError.
func (r *replica) features(b batch) ([]float32, error) {
	x, err := r.body.forward(b)
	if e, ok := err.(*inputError); ok {
		err = &RowError{e.row, e.err}
	}
	return x, err
}
