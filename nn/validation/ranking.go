package validation

import (
	"cmp"
	"slices"
)

// AUC is the area under the ROC curve: the share of pairs of a positive row and a
// negative one of which the positive has the higher score, where equal scores count
// half. It is the rank sum of Mann and Whitney with mean ranks for ties, which is exact.
// positive[i] belongs to score[i]. O(n log n). It is NaN unless there are rows of both
// kinds.
func AUC(score []float64, positive []bool) float64 {
	var found, others, won float64
	byScore(score, positive, func(more, rest int) {
		won += float64(more) * (others + float64(rest)/2)
		found, others = found+float64(more), others+float64(rest)
	}, false)
	return won / (found * others)
}

// AveragePrecision is Σ (Rᵢ - Rᵢ₋₁)·Pᵢ over the distinct scores from the highest on,
// with recall R and precision P among the rows that score that much or more. Rows of
// equal scores enter together, so their order does not matter. O(n log n). It is 0
// where no row is positive.
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

// byScore calls each with the numbers of positive and of other rows of every distinct
// score, in order.
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
