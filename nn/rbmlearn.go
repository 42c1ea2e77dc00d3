package nn

import (
	"gorgonia.org/tensor"

	"github.com/sanflow/sanflow/internal/scratch"
	"github.com/sanflow/sanflow/nn/internal/kernel"
	"github.com/sanflow/sanflow/nn/internal/random"
)

// Step learns from the rows of x, see Encoder, along the gradient
//
//	∂ log P(v) / ∂wᵢⱼ ≈ ⟨vᵢ P(hⱼ=1|v)⟩ of the data − ⟨vᵢ P(hⱼ=1|v)⟩ of the contrast
//
// Loss is the reconstruction error from sampled hidden units. An error leaves the weights
// unchanged. O(B·visible·hidden·CD); no allocation once batches stop growing.
func (r *RBM) Step(x *tensor.Dense) (Result, error) {
	v, rows, err := r.open(x)
	if err != nil || rows == 0 {
		return Result{}, err
	}
	return r.step(v, rows)
}

func (r *RBM) step(v []float32, rows int) (Result, error) {
	n, m := r.visible, r.Hidden
	r.grow(rows)
	data, probs := r.vis[:rows*n], r.hid[:rows*m]
	copy(data, v)
	if err := r.encode(probs, data, rows); err != nil {
		return Result{}, err
	}
	bits, recon := r.bits[:rows*m], r.recon[:rows*n]
	r.learn.Bernoulli(bits, probs)
	if err := r.decode(recon, bits, rows); err != nil {
		return Result{}, err
	}

	away, awayProbs := r.vis[rows*n:2*rows*n], r.hid[rows*m:2*rows*m]
	r.drawVisible(r.learn, away, recon)
	err := r.encode(awayProbs, away, rows)
	for i := 1; i < r.cd && err == nil; i++ {
		r.learn.Bernoulli(bits, awayProbs)
		if err = r.decode(away, bits, rows); err == nil {
			r.drawVisible(r.learn, away, away)
			err = r.encode(awayProbs, away, rows)
		}
	}
	if err != nil {
		return Result{}, err
	}

	kernel.Axpy(-1, data, recon)
	loss := float64(kernel.Dot(recon, recon)) / float64(rows*n)
	if !kernel.Finite(loss) || !r.ascend(rows) {
		return Result{}, divergedRows(v, n, r.steps+1)
	}
	r.steps++
	r.seen += rows
	return Result{Rows: rows, Loss: loss}, nil
}

// grow makes the memory of a step large enough for that many rows.
func (r *RBM) grow(rows int) {
	r.vis = scratch.Resize(r.vis, 2*rows*r.visible)
	r.hid = scratch.Resize(r.hid, 2*rows*r.Hidden)
	r.bits = scratch.Resize(r.bits, rows*r.Hidden)
	r.recon = scratch.Resize(r.recon, rows*r.visible)
}

// drawVisible draws v from visible units with those means.
func (r *RBM) drawVisible(from random.Source, v, means []float32) {
	if r.Units == Binary {
		from.Bernoulli(v, means)
		return
	}
	from.AddNormal(v, means)
}

// ascend changes the weights by the gradient of the rows in vis and hid. It returns false, and changes
// nothing, if the gradient is not finite.
func (r *RBM) ascend(rows int) bool {
	n, m, all := r.visible, r.Hidden, 2*rows
	// The contrast is negated, so that one product is the difference of two.
	away := r.hid[rows*m : all*m]
	kernel.Axpy(-2, away, away)
	kernel.GemmTN(all, m, n, r.vis, n, r.hid, m, r.weight.G, m, false)
	clear(r.hidBias.G)
	kernel.AddBiasGrad(r.hidBias.G, r.hid, all, m)
	clear(r.visBias.G)
	kernel.AddBiasGrad(r.visBias.G, r.vis, rows, n)
	clear(r.sums)
	kernel.AddBiasGrad(r.sums, r.vis[rows*n:], rows, n)
	kernel.Axpy(-1, r.sums, r.visBias.G)
	if !kernel.Finite(kernel.Squares(r.all.G)) {
		return false
	}
	kernel.Axpy(float32(r.Rate)/float32(rows), r.all.G, r.all.W)
	return true
}
