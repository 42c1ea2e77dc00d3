package validation

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/sanflow/sanflow/nn/internal/kernel"
)

// Split is a set of training rows and a set of test rows, both ascending if the split rows
// were. Valid, if set, is validation rows, for instance for the number of epochs, which are in
// neither.
type Split struct{ Train, Test, Valid []int32 }

// Folds splits rows so that each row is tested once. It deals them at random, each class as
// evenly as possible. A class with fewer rows than folds is missing in some tests; a class with
// one row is not learned when it is tested. class has the class of row r at r.
func Folds(rows, class []int32, folds int, rng *rand.Rand) ([]Split, error) {
	switch {
	case folds < 2:
		return nil, fmt.Errorf("validation: %d folds, want 2 or more", folds)
	case folds > len(rows):
		return nil, fmt.Errorf("validation: %d folds of %d rows leave some empty", folds, len(rows))
	}
	fold := stratified(rows, class, folds, rng)
	s := make([]Split, folds)
	for i, row := range rows {
		for f := range s {
			if fold[i] == f {
				s[f].Test = append(s[f].Test, row)
			} else {
				s[f].Train = append(s[f].Train, row)
			}
		}
	}
	return s, nil
}

// stratified returns the fold of each row.
func stratified(rows, class []int32, folds int, rng *rand.Rand) []int {
	byClass := map[int32][]int{}
	for i, row := range rows {
		byClass[class[row]] = append(byClass[class[row]], i)
	}
	fold := make([]int, len(rows))
	next := 0 // index of the next fold; it continues from class to class, so that no fold is empty
	for _, c := range slices.Sorted(maps.Keys(byClass)) {
		of := byClass[c]
		rng.Shuffle(len(of), func(i, j int) { of[i], of[j] = of[j], of[i] })
		for _, i := range of {
			fold[i] = next % folds
			next++
		}
	}
	return fold
}

// Seed derives a seed from others, so that parts of a program have independent random numbers
// (SplitMix64, Steele, Lea and Flood 2014).
func Seed(parts ...uint64) uint64 {
	var x uint64
	for _, p := range parts {
		x += p + 0x9e3779b97f4a7c15
		x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
		x = (x ^ x>>27) * 0x94d049bb133111eb
		x ^= x >> 31
	}
	return x
}

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
