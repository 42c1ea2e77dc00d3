package flowtest

import (
	"testing"

	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow/record"
)

// Mem returns a checked allocator over [record.Poison]. At the end of the test, after the cleanups
// registered later, all memory must be free.
func Mem(t testing.TB) *memory.CheckedAllocator {
	mem := memory.NewCheckedAllocator(record.Poison{})
	t.Cleanup(func() { mem.AssertSize(t, 0) })
	return mem
}
