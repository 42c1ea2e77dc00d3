package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// stratified deals the rows to folds at random, so that each class is spread
// as evenly as it can be. It returns the fold of each row.
func stratified(rows []int32, class []int32, folds int, rng *rand.Rand) []int {
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

// split is the rows of one fold.
type split struct{ train, test []int32 }

// splits returns the folds of one repeat. Rows keep the order of the
// collection.
func splits(rows, class []int32, folds int, rng *rand.Rand) ([]split, error) {
	if folds > len(rows) {
		return nil, fmt.Errorf("%d folds of %d graphs leave some empty; want -folds of at most the number of graphs", folds, len(rows))
	}
	fold := stratified(rows, class, folds, rng)
	s := make([]split, folds)
	for i, row := range rows {
		for f := range s {
			if fold[i] == f {
				s[f].test = append(s[f].test, row)
			} else {
				s[f].train = append(s[f].train, row)
			}
		}
	}
	return s, nil
}

// seedFor derives a seed from others, so that parts of a run do not share
// random numbers (SplitMix64, Steele, Lea and Flood 2014).
func seedFor(parts ...uint64) uint64 {
	var x uint64
	for _, p := range parts {
		x += p + 0x9e3779b97f4a7c15
		x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
		x = (x ^ x>>27) * 0x94d049bb133111eb
		x ^= x >> 31
	}
	return x
}
