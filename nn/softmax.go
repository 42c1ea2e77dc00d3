package nn

import "math"

// softmax replaces every row of x (rows, c) by exp(x) / Σ exp(x). The largest
// value is taken off first, so that no exponential overflows. It returns the
// first row that has no such quotient, because it holds NaN or +Inf, or -1.
func softmax(x []float32, rows, c int) (bad int) {
	for i := range rows {
		row := x[i*c : i*c+c]
		top := math.Inf(-1)
		for _, v := range row {
			top = math.Max(top, float64(v)) // NaN when v is
		}
		var sum float64
		for j, v := range row {
			e := math.Exp(float64(v) - top)
			row[j] = float32(e)
			sum += e
		}
		if math.IsNaN(sum) {
			return i
		}
		for j, e := range row {
			row[j] = float32(float64(e) / sum)
		}
	}
	return -1
}
