package scratch

import "sort"

// Before returns how many elements of x, those in front, have a property that none behind them has. The search begins at the end, with
// steps that double, since the place is mostly near.
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
