package nn

import (
	"github.com/sanflow/sanflow/internal/scratch"
	"github.com/sanflow/sanflow/nn/internal/kernel"
	"github.com/sanflow/sanflow/nn/internal/layer"
	"github.com/sanflow/sanflow/nn/internal/random"
)

// body is the layers of a model up to the features that the output layer reads. It owns its activations and
// gradients and is used by one goroutine at a time. Bodies can share weights.
type body interface {
	// init draws the initial weights of the body.
	init(r random.Source)

	// width is the number of features of a row.
	width() int

	// forward returns the features (rows, width) of a batch, and keeps what backward needs. A row that cannot
	// be read is a *RowError.
	forward(b batch) ([]float32, error)

	// backward sets the gradients of all weights of the body. dx is the gradient of the features, and is
	// overwritten. b is the batch of forward.
	backward(dx []float32, b batch)
}

// replica is the layers of a model for one goroutine. It owns activations and gradients, and shares the
// weights with the other replicas of the model.
//
//	body ─ features x ─ dropout ─ out ─ outputs y ─ loss
//
// Dropout is between the features and the output layer, so a batch passes through the body once.
// Predictions are the outputs without dropout, and the model learns from the outputs with it.
type replica struct {
	layer.Params
	shape Shape
	loss  lossName
	body  body
	drop  *layer.Dropout // nil without dropout
	out   *layer.Dense   // nil if the features are the outputs

	x                  []float32 // features, in the memory of the body
	dropped, y, dx, dy []float32

	targets []int32   // targets of a batch, repeated for each head
	values  []float32 // values of a batch, repeated for each head
}

// lay lays out the layers of a model without allocating weights. Params.Size reports whether the model is too
// large.
func lay(m architecture, s Shape) *replica {
	set := m.settings()
	r := &replica{shape: s, loss: lossOf(s)}
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

// forward returns the outputs (rows, units) of a batch, without dropout.
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

// learn predicts the rows of b, compares them with their targets, and sets the gradients to the part of these
// rows in the mean loss, under dropout, of a batch of all rows. step is the number of the step, and row the
// first row of b in the batch. seen are the results of the prediction, and learned is the sum of the losses
// under dropout. If one of the two is not finite, there are no gradients.
func (r *replica) learn(b batch, step, row, all int) (seen tally, learned float64, err error) {
	if headsOf(r.body) > 1 {
		return r.learnHeads(b, row, all)
	}
	y, err := r.forward(b)
	if err != nil {
		return tally{}, 0, shiftRow(err, row)
	}
	if b.predicted != nil {
		r.loss.predict(b.predicted, y, b.rows, r.shape, b.unit) // an output that is not finite makes the loss NaN, so the result is not needed
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

// features returns the features of a batch. A row that a layer cannot read is a *RowError.
func (r *replica) features(b batch) ([]float32, error) {
	x, err := r.body.forward(b)
	if e, ok := err.(*layer.InputError); ok {
		err = &RowError{e.Row, e.Err}
	}
	return x, err
}

// headed is a body of several models, its heads. Each head learns from all rows except those that it holds
// out. Each row is held out by one head, whose prediction of the row is therefore out of sample. Features are
// the outputs of all heads (rows, heads, units).
type headed interface {
	heads() int
	// heldOut returns the head that holds out row i of the last batch.
	heldOut(i int) int
}

// headsOf returns the number of heads of a body, or 1.
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

// learnHeads is learn for a body with heads. seen are the results of the heads that hold the rows out.
func (r *replica) learnHeads(b batch, row, all int) (seen tally, learned float64, err error) {
	if r.x, err = r.features(b); err != nil {
		return tally{}, 0, shiftRow(err, row)
	}
	body := r.body.(headed)
	heads, units := body.heads(), r.loss.units(r.shape)
	size := b.rows * heads * units
	r.y, r.dy = scratch.Resize(r.y, b.rows*units), scratch.Resize(r.dy, size)
	for i := range b.rows {
		from := (i*heads + body.heldOut(i)) * units
		copy(r.y[i*units:(i+1)*units], r.x[from:from+units])
	}
	if b.predicted != nil {
		r.loss.predict(b.predicted, r.y, b.rows, r.shape, b.unit)
	}
	if seen = r.loss.compare(r.y, b, r.shape, r.dy, 1); !kernel.Finite(seen.loss) {
		return seen, seen.loss, nil
	}
	learned = r.loss.compare(r.x[:size], r.repeated(b, heads), r.shape, r.dy, 1/float64(all)).loss - seen.loss
	if !kernel.Finite(learned) {
		return seen, learned, nil
	}
	for i := range b.rows {
		from := (i*heads + body.heldOut(i)) * units
		clear(r.dy[from : from+units])
	}
	r.body.backward(r.dy[:size], b)
	return seen, learned, nil
}

// repeated returns the targets of a batch, each repeated once for each head.
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
