// Package race reports whether the race detector is enabled. Under it a test takes ten times as
// long, and one that runs in a single goroutine can show it nothing: a part will do, since every
// test also runs without.
package race

import "testing"

// Share is n, or under the race detector an eighth of it, at least 1.
func Share(n int) int {
	if Enabled {
		return max(1, n/8)
	}
	return n
}

// Some is the list, or under the race detector every fourth of it.
func Some[T any](list []T) []T {
	if !Enabled {
		return list
	}
	var some []T
	for i := 0; i < len(list); i += 4 {
		some = append(some, list[i])
	}
	return some
}

// Skip skips a test whose code other tests run under the race detector, such as one of how well a model learns.
func Skip(t testing.TB) {
	if Enabled {
		t.Helper()
		t.Skip("the race detector takes ten times as long, and other tests run the same code with it")
	}
}
