package nn

import (
	"math"

	"gorgonia.org/tensor"

	"github.com/sanflow/sanflow/nn/internal/kernel"
)

// FreeEnergy returns for each row of x, (B, visible), the free energy
//
//	F(v) = -Σᵢ bᵢvᵢ - Σⱼ log(1 + exp(cⱼ + Σᵢ vᵢwᵢⱼ))
//
// whose first sum is Σᵢ (vᵢ-bᵢ)²/2 where units are Gaussian. The likelihood of a
// row is exp(-F(v)) over a sum that all rows share. O(B · visible · hidden).
func (r *RBM) FreeEnergy(x *tensor.Dense) ([]float64, error) {
	v, rows, err := r.open(x, r.Units)
	if err != nil {
		return nil, err
	}
	n, m := r.visible, r.Hidden
	in := make([]float32, rows*m)
	fillRows(in, r.hidBias.w, rows)
	kernel.Gemm(rows, m, n, v, n, r.weight.w, m, in, m, true)
	f := make([]float64, rows)
	for i := range f {
		for j, b := range r.visBias.w {
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
