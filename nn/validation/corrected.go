package validation

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat"

	"github.com/sanflow/sanflow/nn/internal/kernel"
)

// Corrected returns the mean of differences measured on the folds of a cross-validation, or on
// n random splits, and its standard error after Nadeau and Bengio ("Inference for the
// generalization error", Machine Learning 52, 2003, section 4.2, the corrected resampled
// t-test):
//
//	se² = (1/n + n₂/n₁) · Σᵢ (dᵢ − d̄)² / (n − 1)
//
// A trial learns from n₁ rows and is tested on n₂; ratio is n₂/n₁, 1/9 for ten folds. Without
// this term it would be the error of independent numbers. The training rows overlap, so that
// error would go to zero as repeats are added. Without a true difference, d̄/se has about a
// Student t distribution of n − 1 degrees of freedom.
//
// The differences are paired: of two methods on the same splits.
func Corrected(differences []float64, ratio float64) (mean, se float64, err error) {
	if len(differences) < 2 {
		return 0, 0, fmt.Errorf("validation: corrected error: %d differences, want 2 or more", len(differences))
	}
	if !(ratio >= 0) || !kernel.Finite(ratio) {
		return 0, 0, fmt.Errorf("validation: corrected error: %v times as many rows to test on as to learn from, want a number from 0", ratio)
	}
	mean, variance := stat.MeanVariance(differences, nil)
	se = math.Sqrt(variance * (1/float64(len(differences)) + ratio))
	if !kernel.Finite(mean) || !kernel.Finite(se) {
		return 0, 0, errors.New("validation: corrected error: a difference is not finite")
	}
	return mean, se, nil
}

// Z95 is the z of a two-sided interval of 95 %.
const Z95 = 1.959963984540054

// Wilson returns the interval of a share, right of n rows, for a normal quantile z (Wilson 1927,
// Probable inference, the law of succession, and statistical inference). The interval lies in
// [0, 1] and has no width of 0 at 0 or n right rows. With z = 1, half its width is close to the
// standard error of many rows. Without rows the interval is [0, 1].
func Wilson(right, n int, z float64) (low, high float64) {
	if n == 0 {
		return 0, 1
	}
	rows, square := float64(n), z*z
	p := float64(right) / rows
	middle := (p + square/(2*rows)) / (1 + square/rows)
	half := z / (1 + square/rows) * math.Sqrt(p*(1-p)/rows+square/(4*rows*rows))
	return max(0, middle-half), min(1, middle+half)
}
