package nn

import "github.com/sanflow/sanflow/nn/internal/kernel"

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
	r.y = kernel.Grown(r.y, rows*units)
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
	r.y, r.dy = kernel.Grown(r.y, b.rows*units), kernel.Grown(r.dy, size)
	for i := range b.rows {
		from := (i*heads + body.left(i)) * units
		copy(r.y[i*units:(i+1)*units], r.x[from:from+units])
	}
	if b.said != nil {
		r.loss.predict(b.said, r.y, b.rows, r.shape)
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
	all := batch{rows: b.rows * heads}
	if b.targets != nil {
		r.targets = kernel.Grown(r.targets, all.rows)
		all.targets = r.targets[:all.rows]
		for i := range all.targets {
			all.targets[i] = b.targets[i/heads]
		}
	}
	if b.values != nil {
		r.values = kernel.Grown(r.values, all.rows)
		all.values = r.values[:all.rows]
		for i := range all.values {
			all.values[i] = b.values[i/heads]
		}
	}
	return all
}
