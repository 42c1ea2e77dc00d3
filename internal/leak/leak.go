// Package leak finds goroutines that a test leaves behind, as goleak does, with more patience for slow
// and busy machines.
package leak

import (
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// Patience is how long goroutines may take to end.
const Patience = 15 * time.Second

// Find waits until no goroutine runs except those in options. After Patience it returns an error with the
// names of the others.
func Find(options ...goleak.Option) error { return Within(Patience, options...) }

// Within is Find with another patience. goleak itself waits for a second.
func Within(patience time.Duration, options ...goleak.Option) error {
	for start := time.Now(); ; {
		if err := goleak.Find(options...); err == nil || time.Since(start) > patience {
			return err
		}
	}
}

// VerifyNone fails the test if Find returns an error.
func VerifyNone(t testing.TB, options ...goleak.Option) {
	t.Helper()
	if err := Find(options...); err != nil {
		t.Error(err)
	}
}

// IgnoreCurrent leaves out the current goroutines.
func IgnoreCurrent() goleak.Option { return goleak.IgnoreCurrent() }

// VerifyTestMain runs the tests of a package, and fails if Find then returns an error.
func VerifyTestMain(m *testing.M) {
	code := m.Run()
	if code == 0 {
		if err := Find(); err != nil {
			fmt.Fprintln(os.Stderr, "after the tests:", err)
			code = 1
		}
	}
	os.Exit(code)
}
