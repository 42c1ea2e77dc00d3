package jettest

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

// Main runs the tests of a package, which mostly wait for brokers: more of them at once than there
// are processors. At their end no goroutine is to be left that a client of the broker, or
// a pipeline, has started. Those of a broker in the same process are its own. One is let
// pass: nats.go's ObjectStore.Put takes the channel away from the goroutine that it has just
// started for it, and where that had not begun it waits for ever.
func Main(m *testing.M) {
	flag.Parse()
	set := false
	flag.Visit(func(f *flag.Flag) { set = set || f.Name == "test.parallel" })
	if !set {
		_ = flag.Set("test.parallel", "6")
	}
	code := m.Run()
	var left []string
	for range 200 {
		if left = ours(); len(left) == 0 {
			os.Exit(code)
		}
		time.Sleep(100 * time.Millisecond)
	}
	fmt.Printf("%d goroutines are left, the first is\n%s\n", len(left), left[0])
	os.Exit(1)
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
