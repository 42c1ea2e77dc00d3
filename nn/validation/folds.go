package validation

import (
	"fmt"
	"math/rand/v2"
	"slices"
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
	var classes []int32
	for c := range byClass {
		classes = append(classes, c)
	}
	slices.Sort(classes)
	fold := make([]int, len(rows))
	next := 0 // goes on from class to class, so that no fold is empty
	for _, c := range classes {
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
