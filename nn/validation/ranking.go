package validation

import (
	"cmp"
	"slices"
)

// AUC returns the area under the ROC curve: the share of pairs of a positive and a negative row
// in which the positive row has the higher score; equal scores count half. It is exact: the
// rank sum of Mann and Whitney with mean ranks for ties. positive[i] belongs to score[i]. O(n
// log n). The result is NaN without rows of both kinds.
func AUC(score []float64, positive []bool) float64 {
	var found, others, won float64
	byScore(score, positive, func(more, rest int) {
		won += float64(more) * (others + float64(rest)/2)
		found, others = found+float64(more), others+float64(rest)
	}, false)
	return won / (found * others)
}

// AveragePrecision returns Σ (Rᵢ - Rᵢ₋₁)·Pᵢ over the distinct scores in falling order, with
// recall R and precision P among the rows of at least that score. Rows of equal scores enter
// together, so their order does not matter. O(n log n). The result is 0 without positive rows.
func AveragePrecision(score []float64, positive []bool) (sum float64) {
	all := 0
	for _, p := range positive {
		if p {
			all++
		}
	}
	var found, rows int
	byScore(score, positive, func(more, rest int) {
		found, rows = found+more, rows+more+rest
		if more > 0 {
			sum += float64(more) / float64(all) * float64(found) / float64(rows)
		}
	}, true)
	return sum
}

// AtTop returns how many of the rows with the highest scores are positive: the mean over all orders of rows of equal
// scores. Precision is found/rows. O(n log n).
func AtTop(score []float64, positive []bool, rows int) (found float64) {
	byScore(score, positive, func(more, rest int) {
		taken := min(rows, more+rest)
		found += float64(more) * float64(taken) / float64(more+rest)
		rows -= taken
	}, true)
	return found
}

// byScore calls each with the numbers of positive and other rows of every distinct score, by ascending or descending score.
func byScore(score []float64, positive []bool, each func(positive, others int), descending bool) {
	order := make([]int, len(score))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int {
		if descending {
			i, j = j, i
		}
		return cmp.Compare(score[i], score[j])
	})
	for i := 0; i < len(order); {
		j, more := i, 0
		for ; j < len(order) && score[order[j]] == score[order[i]]; j++ {
			if positive[order[j]] {
				more++
			}
		}
		each(more, j-i-more)
		i = j
	}
}
