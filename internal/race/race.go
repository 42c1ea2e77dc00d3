// Package race reports whether the race detector is enabled. A test takes ten times as long under it. A
// test of one goroutine cannot show a race, so it runs a part of its cases there, and all of them
// without the detector.
package race

import "testing"

// Share returns n, or, under the race detector, an eighth of it, at least 1.
func Share(n int) int {
	if Enabled {
		return max(1, n/8)
	}
	return n
}

// Some returns the list, or, under the race detector, every fourth element.
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

// Skip skips a test, such as one of accuracy, under the race detector. Other tests must cover its code.
func Skip(t testing.TB) {
	if Enabled {
		t.Helper()
		t.Skip("the race detector takes ten times as long, and other tests run the same code with it")
	}
}
