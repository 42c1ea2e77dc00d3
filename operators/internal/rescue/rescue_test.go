package rescue

import (
	"strings"
	"sync/atomic"
	"testing"
)

// Every worker works, and of two that panic the first by number is told of.
func TestTogether(t *testing.T) {
	for _, workers := range []int{1, 2, 5} {
		var did atomic.Int64
		if err := Together(workers, func(worker int) { did.Add(1 << worker) }); err != nil || did.Load() != 1<<workers-1 {
			t.Errorf("%d workers: %b, %v", workers, did.Load(), err)
		}
		err := Together(workers, func(worker int) {
			if worker > 0 || workers == 1 {
				panic([]string{"a", "b", "c", "d", "e"}[worker])
			}
		})
		want := "panic: b;"
		if workers == 1 {
			want = "panic: a;"
		}
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%d workers: %v, want %q", workers, err, want)
		}
	}
}
