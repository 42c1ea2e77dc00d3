package nn

import (
	"fmt"
	"math"

	"gorgonia.org/tensor"

	"github.com/sanflow/sanflow/nn/internal/kernel"
)

// Sample fills x, (B, visible), with independent rows drawn given that the
// hidden unit of that number is on and all others are off: pictures of what the
// unit stands for, as in the figure of the paper.
//
// Samples come from a stream of chance of their own, which begins at Seed after
// Init and Load, and which learning neither reads nor moves.
func (r *RBM) Sample(x *tensor.Dense, unit int) error {
	v, rows, err := r.target(x, unit, 0)
	if err != nil {
		return err
	}
	h := make([]float32, rows*r.Hidden)
	for i := range rows {
		h[i*r.Hidden+unit] = 1
	}
	r.decode(v, h, rows)
	r.drawVisible(r.sample, v, v)
	return overflowed("value", v, r.visible)
}

// Gibbs moves the rows of x, (B, visible), by that many steps of Gibbs sampling:
// each draws the hidden units given the visible ones, then the visible given the
// hidden. The hidden unit of that number is on throughout; -1 leaves all free.
// O(steps · B · visible · hidden).
func (r *RBM) Gibbs(x *tensor.Dense, steps, unit int) error {
	v, rows, err := r.target(x, unit, -1)
	if err != nil {
		return err
	}
	m := r.Hidden
	h := make([]float32, rows*m)
	for range steps {
		r.encode(h, v, rows)
		r.sample.Bernoulli(h, h)
		if unit >= 0 {
			for i := range rows {
				h[i*m+unit] = 1
			}
		}
		r.decode(v, h, rows)
		r.drawVisible(r.sample, v, v)
	}
	return overflowed("value", v, r.visible)
}

// target checks a tensor to be drawn into, and the number of a hidden unit.
func (r *RBM) target(x *tensor.Dense, unit, least int) (v []float32, rows int, err error) {
	if v, rows, err = r.know(x); err != nil {
		return nil, 0, err
	}
	if unit < least || unit >= r.Hidden {
		return nil, 0, fmt.Errorf("nn: hidden unit %d, want %d to %d", unit, least, r.Hidden-1)
	}
	return v, rows, nil
}

// FreeEnergy returns for each row of x, (B, visible), the free energy
//
//	F(v) = -Σᵢ bᵢvᵢ - Σⱼ log(1 + exp(cⱼ + Σᵢ vᵢwᵢⱼ))
//
// whose first sum is Σᵢ (vᵢ-bᵢ)²/2 where units are Gaussian. The likelihood of a
// row is exp(-F(v)) over a sum that all rows share. O(B · visible · hidden).
func (r *RBM) FreeEnergy(x *tensor.Dense) ([]float64, error) {
	v, rows, err := r.open(x)
	if err != nil {
		return nil, err
	}
	n, m := r.visible, r.Hidden
	in := make([]float32, rows*m)
	fillRows(in, r.hidBias.W, rows)
	kernel.Gemm(rows, m, n, v, n, r.weight.W, m, in, m, true)
	f := make([]float64, rows)
	for i := range f {
		for j, b := range r.visBias.W {
			if d := float64(v[i*n+j]); r.Units == Gaussian {
				f[i] += (d - float64(b)) * (d - float64(b)) / 2
			} else {
				f[i] -= d * float64(b)
			}
		}
		for _, a := range in[i*m : i*m+m] {
			f[i] -= softplus(float64(a))
		}
		if !kernel.Finite(f[i]) {
			return nil, rowErrorf(i, "the free energy is %v: the values or the weights are too large", f[i])
		}
	}
	return f, nil
}

// FreeEnergyGap returns the mean free energy of held, rows that were not
// learned from, less that of trained, rows that were. It stays near 0 while the
// machine learns what the rows have in common, and grows when it begins to learn
// rows by heart (Hinton 2010, section 6).
func (r *RBM) FreeEnergyGap(trained, held *tensor.Dense) (float64, error) {
	var mean [2]float64
	for i, x := range []*tensor.Dense{trained, held} {
		f, err := r.FreeEnergy(x)
		if err != nil {
			return 0, err
		}
		for _, e := range f {
			mean[i] += e / float64(len(f))
		}
	}
	return mean[1] - mean[0], nil
}

// softplus is log(1 + eˣ), without overflow.
func softplus(x float64) float64 { return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }
