// Package scratch resizes reusable working memory.
package scratch

// Resize returns a slice of n values, in the memory of x if its capacity suffices. The first allocation
// has n values. A later one has half as many more, so that slowly rising sizes cost few allocations. The
// values of x may be lost, and the result is not cleared.
func Resize[T any](x []T, n int) []T {
	switch {
	case n <= cap(x):
		return x[:n]
	case cap(x) == 0:
		return make([]T, n)
	}
	return make([]T, n, n+n/2)
}

// Zeros returns n zeros in the memory of x if they fit.
func Zeros[T any](x []T, n int) []T {
	if cap(x) < n {
		return make([]T, n, n+min(n/4, 1<<20))
	}
	x = x[:n]
	clear(x)
	return x
}
