package main

import (
	"math"
	"slices"

	"github.com/sanflow/sanflow/examples/internal/collection"
	"github.com/sanflow/sanflow/nn/validation"
)

// majority tells all test rows to be of the largest class of the training rows, the
// lowest of equals, and returns how many are right.
func majority(d *collection.Data, s validation.Split) (right int) {
	count, largest := map[int32]int{}, int32(0)
	for i, row := range s.Train {
		c := d.Class[row]
		count[c]++
		if n := count[c] - count[largest]; i == 0 || n > 0 || n == 0 && c < largest {
			largest = c
		}
	}
	for _, row := range s.Test {
		if len(s.Train) > 0 && d.Class[row] == largest {
			right++
		}
	}
	return right
}

// sizeOnly lets the √n training graphs nearest in the number of nodes vote on each
// test graph, which is what can be had without looking at structure, and returns
// how many are right. Graphs as near as the last of them vote too; a tie goes to
// the lower class.
func sizeOnly(d *collection.Data, s validation.Split) (right int) {
	near := max(1, int(math.Sqrt(float64(len(s.Train)))))
	distance := make([]int, len(s.Train))
	votes := make([]int, len(d.Layout.Classes))
	for _, row := range s.Test {
		for i, t := range s.Train {
			distance[i] = d.Nodes[t] - d.Nodes[row]
			distance[i] = max(distance[i], -distance[i])
		}
		sorted := slices.Sorted(slices.Values(distance))
		limit := sorted[near-1]
		clear(votes)
		for i, t := range s.Train {
			if distance[i] <= limit {
				votes[d.Class[t]]++
			}
		}
		if slices.Index(votes, slices.Max(votes)) == int(d.Class[row]) {
			right++
		}
	}
	return right
}
