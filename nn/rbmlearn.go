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
	contrast := rows
	if r.Persistent {
		if r.Chains == 0 {
			r.Chains = rows
		}
		contrast = r.Chains
	}
	r.grow(rows, contrast)
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

	away, awayProbs := r.vis[rows*n:(rows+contrast)*n], r.hid[rows*m:(rows+contrast)*m]
	if r.Persistent {
		if r.goOn(away, awayProbs, bits, contrast) != nil { // of a chain, which is no row of x
			return Result{}, divergedRows(v, n, r.steps+1)
		}
	} else {
		r.drawVisible(r.learn, away, recon)
		err := r.encode(awayProbs, away, contrast)
		for i := 1; i < r.CD && err == nil; i++ {
			r.learn.Bernoulli(bits, awayProbs)
			err = r.there(away, bits, awayProbs, contrast)
		}
		if err != nil {
			return Result{}, err
		}
	}

	kernel.Axpy(-1, data, recon)
	loss := float64(kernel.Dot(recon, recon)) / float64(rows*n)
	if !kernel.Finite(loss) || !r.ascend(rows, contrast) {
		return Result{}, divergedRows(v, n, r.steps+1)
	}
	r.steps++
	r.seen += rows
	return Result{Rows: rows, Loss: loss}, nil
}

// grow makes room for a step.
func (r *RBM) grow(rows, contrast int) {
	r.vis = scratch.Resize(r.vis, (rows+contrast)*r.visible)
	r.hid = scratch.Resize(r.hid, (rows+contrast)*r.Hidden)
	r.bits = scratch.Resize(r.bits, rows*r.Hidden)
	r.recon = scratch.Resize(r.recon, rows*r.visible)
}

// goOn moves the persistent chains by CD steps. They start at hidden states of
// the first batch.
func (r *RBM) goOn(away, awayProbs, bits []float32, contrast int) error {
	if r.chain == nil {
		r.chain = make([]float32, contrast*r.Hidden)
		for at := 0; at < len(r.chain); {
			at += copy(r.chain[at:], bits)
		}
	}
	for range r.CD {
		if err := r.there(away, r.chain, awayProbs, contrast); err != nil {
			return err
		}
		r.learn.Bernoulli(r.chain, awayProbs)
	}
	return nil
}

// there draws visible units from hidden states and sets probs to the probabilities of the
// hidden units given the visible ones.
func (r *RBM) there(visible, hidden, probs []float32, rows int) error {
	if err := r.decode(visible, hidden, rows); err != nil {
		return err
	}
	r.drawVisible(r.learn, visible, visible)
	return r.encode(probs, visible, rows)
}

// drawVisible draws v from units with those means.
func (r *RBM) drawVisible(from *random.Noise, v, means []float32) {
	if r.Units == Binary {
		from.Bernoulli(v, means)
		return
	}
	from.AddNormal(v, means)
}

// ascend changes the weights by what a step has left in vis and hid. It returns
// false, and changes nothing, when the gradient is not finite.
func (r *RBM) ascend(rows, contrast int) bool {
	n, m := r.visible, r.Hidden
	all := rows + contrast
	// Data count positive and the contrast negative, as if it had as many rows:
	// one product is then the difference of two. x + (-1-s)·x = -s·x.
	away := r.hid[rows*m : all*m]
	kernel.Axpy(-1-float32(rows)/float32(contrast), away, away)
	kernel.GemmTN(all, m, n, r.vis, n, r.hid, m, r.weight.G, m, false)
	clear(r.hidBias.G)
	kernel.AddBiasGrad(r.hidBias.G, r.hid, all, m)
	clear(r.visBias.G)
	kernel.AddBiasGrad(r.visBias.G, r.vis, rows, n)
	clear(r.sums)
	kernel.AddBiasGrad(r.sums, r.vis[rows*n:], contrast, n)
	kernel.Axpy(-float32(rows)/float32(contrast), r.sums, r.visBias.G)
	if r.WeightDecay > 0 {
		kernel.Axpy(-float32(r.WeightDecay)*float32(rows), r.weight.W, r.weight.G)
	}
	if !kernel.Finite(kernel.Squares(r.all.G)) {
		return false
	}
	rate := float32(r.Rate) / float32(rows)
	if r.velocity == nil {
		kernel.Axpy(rate, r.all.G, r.all.W)
		return true
	}
	keep := float32(r.Momentum)
	for i, g := range r.all.G {
		u := keep*r.velocity[i] + rate*g
		r.velocity[i] = u
		r.all.W[i] += u
	}
	return true
}
