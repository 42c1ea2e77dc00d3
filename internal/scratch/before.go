package scratch

import "sort"

// Before returns the number of elements in front of x that have a property, which no element behind them has.
// The search begins at the end with doubling steps, since the result is usually near the end.
func Before[T any](x []T, has func(T) bool) int {
	high, step := len(x), 1
	for high >= step && !has(x[high-step]) {
		high -= step
		step *= 2
	}
	if step == 1 {
		return high
	}
	low := max(0, high-step)
	return low + sort.Search(high-low, func(i int) bool { return !has(x[low+i]) })
}
