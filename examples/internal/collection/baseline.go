package collection

import (
	"math"
	"slices"

	"github.com/sanflow/sanflow/nn/validation"
)

// Majority tells all test rows to be of the largest class of the training rows, the
// first of equals, and returns how many are right.
func (d *Data) Majority(s validation.Split) (right int) { return validation.Majority(d.Class, s) }

// SizeOnly lets the √n training graphs nearest in the number of nodes vote on each
// test graph, which is what can be had without looking at structure, and returns
// how many are right. Graphs as near as the last of them vote too; a tie goes to
// the lower class.
func (d *Data) SizeOnly(s validation.Split) (right int) {
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
