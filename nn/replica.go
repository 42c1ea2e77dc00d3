package nn

import (
	"github.com/sanflow/sanflow/internal/scratch"
	"github.com/sanflow/sanflow/nn/internal/kernel"
	"github.com/sanflow/sanflow/nn/internal/layer"
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
	layer.Params
	shape Shape
	loss  lossName
	body  body
	drop  *layer.Dropout // nil: none
	out   *layer.Dense   // nil: the features are the outputs

	x                  []float32 // features; the body's memory
	dropped, y, dx, dy []float32

	targets []int32   // of heads, like values
	values  []float32 // see repeated
}

// lay lays out the layers of a model and allocates nothing; params.size says
// whether it may be.
func lay(m architecture, s Shape) *replica {
	set := m.settings()
	r := &replica{shape: s, loss: set.lossFor(s)}
	r.body = m.lay(&r.Params, s)
	if set.dropout != nil {
		r.drop = layer.NewDropout(*set.dropout, *set.seed)
		r.out = layer.NewDense(&r.Params, "out", r.body.width(), r.loss.units(s), layer.Linear)
	}
	return r
}

func (r *replica) init(seed uint64) {
	rand := random.New(seed, random.Init)
	r.body.init(rand)
	if r.out != nil {
		r.out.Init(rand)
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
	r.y = scratch.Resize(r.y, b.rows*r.out.Out)
	r.out.Forward(r.y, r.x, b.rows)
	return r.y, nil
}

// learn predicts the rows of b, compares them with their targets, and sets the
// gradients of the weights to what these rows have in that of the mean loss
// under dropout of a batch of all rows. step and row are the step's number and
// the row of the batch that b begins with. The result is that of the prediction;
// learned is the sum of losses that the gradients are of. If one of the two is
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
		r.loss.predict(b.said, y, b.rows, r.shape, b.unit) // if it has no answer, the loss is no number either
	}
	units := r.loss.units(r.shape)
	r.dy = scratch.Resize(r.dy, b.rows*units)
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
	size := b.rows * r.out.In
	x := r.x
	if r.drop != nil {
		r.dropped = scratch.Resize(r.dropped, size)
		x = r.dropped
		r.drop.Forward(x, r.x[:size], step, row)
		r.out.Forward(r.y, x, b.rows)
		if learned = r.loss.compare(r.y, b, r.shape, r.dy, scale).loss; !kernel.Finite(learned) {
			return seen, learned, nil
		}
	}
	r.dx = scratch.Resize(r.dx, size)
	r.out.Backward(r.dx, r.dy, r.y, x, b.rows)
	if r.drop != nil {
		r.drop.Backward(r.dx[:size])
	}
	r.body.backward(r.dx[:size], b)
	return seen, learned, nil
}

// features returns those that the body makes of a batch. A row that a layer cannot
// read is a *RowError.
func (r *replica) features(b batch) ([]float32, error) {
	x, err := r.body.forward(b)
	if e, ok := err.(*layer.InputError); ok {
		err = &RowError{e.Row, e.Err}
	}
	return x, err
}

// headed is a body that is several models side by side, its heads, of which each
// learns from all rows but those that it leaves out: a row is left out by one
// head, always the same, which can say honestly how it would have been predicted.
// Features are the outputs of all heads (rows, heads, units).
type headed interface {
	heads() int
	// left returns the head that leaves out row i of the last batch.
	left(i int) int
}

// headsOf returns how many models a body is.
func headsOf(b body) int {
	if h, ok := b.(headed); ok {
		return h.heads()
	}
	return 1
}

// meanOfHeads returns the mean of the outputs of all heads (rows, units).
func (r *replica) meanOfHeads(y []float32, rows int) []float32 {
	heads, units := headsOf(r.body), r.loss.units(r.shape)
	r.y = scratch.Resize(r.y, rows*units)
	for i := range rows {
		to := r.y[i*units : (i+1)*units]
		clear(to)
		for h := range heads {
			for c, x := range y[(i*heads+h)*units : (i*heads+h+1)*units] {
				to[c] += x
			}
		}
		for c := range to {
			to[c] /= float32(heads)
		}
	}
	return r.y
}

// learnHeads does what learn does where the body has heads. What is seen is what
// the heads that leave rows out say of them.
func (r *replica) learnHeads(b batch, row, all int) (seen tally, learned float64, err error) {
	if r.x, err = r.features(b); err != nil {
		return tally{}, 0, shiftRow(err, row)
	}
	body := r.body.(headed)
	heads, units := body.heads(), r.loss.units(r.shape)
	size := b.rows * heads * units
	r.y, r.dy = scratch.Resize(r.y, b.rows*units), scratch.Resize(r.dy, size)
	for i := range b.rows {
		from := (i*heads + body.left(i)) * units
		copy(r.y[i*units:(i+1)*units], r.x[from:from+units])
	}
	if b.said != nil {
		r.loss.predict(b.said, r.y, b.rows, r.shape, b.unit)
	}
	if seen = r.loss.compare(r.y, b, r.shape, r.dy, 1); !kernel.Finite(seen.loss) {
		return seen, seen.loss, nil
	}
	learned = r.loss.compare(r.x[:size], r.repeated(b, heads), r.shape, r.dy, 1/float64(all)).loss - seen.loss
	if !kernel.Finite(learned) {
		return seen, learned, nil
	}
	for i := range b.rows {
		from := (i*heads + body.left(i)) * units
		clear(r.dy[from : from+units])
	}
	r.body.backward(r.dy[:size], b)
	return seen, learned, nil
}

// repeated returns the targets of a batch, each as often as there are heads.
func (r *replica) repeated(b batch, heads int) batch {
	all := batch{rows: b.rows * heads, unit: b.unit, learned: b.learned}
	if b.targets != nil {
		r.targets = scratch.Resize(r.targets, all.rows)
		all.targets = r.targets[:all.rows]
		for i := range all.targets {
			all.targets[i] = b.targets[i/heads]
		}
	}
	if b.values != nil {
		r.values = scratch.Resize(r.values, all.rows)
		all.values = r.values[:all.rows]
		for i := range all.values {
			all.values[i] = b.values[i/heads]
		}
	}
	return all
}
