package validation

import "math"

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
