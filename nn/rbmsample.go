package nn

import (
	"fmt"
	"math"

	"gorgonia.org/tensor"

	"github.com/sanflow/sanflow/nn/internal/kernel"
)

// Sample fills x, (B, visible), with independent rows drawn with one hidden unit on and the
// others off, as in the paper's figure. Its random stream begins at Seed after Init and Load;
// Step uses another.
func (r *RBM) Sample(x *tensor.Dense, unit int) error {
	v, rows, err := r.know(x)
	if err != nil {
		return err
	}
	if unit < 0 || unit >= r.Hidden {
		return fmt.Errorf("nn: hidden unit %d, want 0 to %d", unit, r.Hidden-1)
	}
	h := make([]float32, rows*r.Hidden)
	for i := range rows {
		h[i*r.Hidden+unit] = 1
	}
	if err := r.decode(v, h, rows); err != nil {
		return err
	}
	r.drawVisible(r.sample, v, v)
	return nil
}

// freeEnergy returns for each row of x, (B, visible), the free energy
//
//	F(v) = -Σᵢ bᵢvᵢ - Σⱼ log(1 + exp(cⱼ + Σᵢ vᵢwᵢⱼ))
//
// with Σᵢ (vᵢ-bᵢ)²/2 as first sum for Gaussian units. exp(-F(v)) is proportional to the
// likelihood. O(B·visible·hidden).
func (r *RBM) freeEnergy(x *tensor.Dense) ([]float64, error) {
	v, rows, err := r.open(x)
	if err != nil {
		return nil, err
	}
	n, m := r.visible, r.Hidden
	in := make([]float32, rows*m)
	if err := r.hiddenSums(in, v, rows); err != nil {
		return nil, err
	}
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

// FreeEnergyGap returns the mean free energy of held-out rows minus that of trained rows. It
// grows when the machine overfits (Hinton 2010, section 6).
func (r *RBM) FreeEnergyGap(trained, held *tensor.Dense) (float64, error) {
	var mean [2]float64
	for i, x := range []*tensor.Dense{trained, held} {
		f, err := r.freeEnergy(x)
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
