package jettest

import (
	"runtime"
	"strings"
	"testing"
	"time"
)

// NoLeaks wants that at the end of a test no goroutine is left that a client of
// the broker, or a pipeline, has started. Those of a broker in the same process are
// its own. One is let pass: nats.go's ObjectStore.Put takes the channel away from the
// goroutine that it has just started for it, and where that had not begun it waits
// for ever.
func NoLeaks(t testing.TB) {
	t.Cleanup(func() {
		var left []string
		for range 200 {
			if left = ours(); len(left) == 0 {
				return
			}
			time.Sleep(100 * time.Millisecond)
		}
		t.Errorf("%d goroutines are left, the first is\n%s", len(left), left[0])
	})
}

// ours returns the goroutines with code of the client or of pipelines.
func ours() (left []string) {
	b := make([]byte, 1<<20)
	for n := runtime.Stack(b, true); n == len(b); n = runtime.Stack(b, true) {
		b = make([]byte, 2*len(b))
	}
	b = b[:runtime.Stack(b, true)]
	for g := range strings.SplitSeq(string(b), "\n\n") {
		if strings.Contains(g, "resetPendingAcksOnReconnect") && strings.Contains(g, "(nil chan") {
			continue
		}
		for _, of := range []string{"sanflow/sources/jetstream.", "sanflow/sinks/jetstream.", "sanflow/internal/jet.", "nats-io/nats.go", "sanflow/flow."} {
			if strings.Contains(g, of) && !strings.Contains(g, "jettest.ours") {
				left = append(left, g)
				break
			}
		}
	}
	return left
}
