package validation

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// Split is rows to learn from, and others to test on, both ascending where the
// rows that were split are. Valid, where it is set, is rows to choose by, such as the
// number of epochs, that are in neither.
type Split struct{ Train, Test, Valid []int32 }

// Folds splits rows so that each is tested on once. They are dealt at random, each
// class spread as evenly as it can be: a class of fewer rows than folds is missing
// in some of the tests, and one of a single row is not learned where it is tested.
// class has the class of row r at r.
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

// Seed derives a seed from others, so that parts of a program do not share random
// numbers (SplitMix64, Steele, Lea and Flood 2014).
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
