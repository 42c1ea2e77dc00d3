// Package scratch resizes working memory that is used again and again.
package scratch

// Resize returns a slice of n values, in the memory of x if there is room. The first
// memory is as long as asked for; memory that has to grow becomes half as long again,
// so that sizes that rise slowly cost few allocations. What x held may be lost, and what
// the result holds is not cleared.
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
