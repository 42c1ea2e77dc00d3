package flowtest

import (
	"testing"

	"github.com/apache/arrow/go/v15/arrow/memory"
)

// Poison is an allocator that overwrites what is freed, so that whoever reads
// it afterwards gets wrong results. On Go's heap alone such an error stays
// hidden: memory lives on as long as somebody points to it.
type Poison struct{ memory.GoAllocator }

var _ memory.Allocator = (*Poison)(nil)

// poison is what freed memory is filled with.
const poison = 0xDB

// Reallocate always moves.
func (p *Poison) Reallocate(size int, b []byte) []byte {
	moved := p.Allocate(size)
	copy(moved, b)
	p.Free(b)
	return moved
}

// Free overwrites b.
func (p *Poison) Free(b []byte) {
	for i := range b {
		b[i] = poison
	}
}

// Mem returns a checked allocator over Poison. When the test ends, after the
// cleanups that were registered later, what was allocated must be free.
func Mem(t testing.TB) *memory.CheckedAllocator {
	mem := memory.NewCheckedAllocator(&Poison{})
	t.Cleanup(func() { mem.AssertSize(t, 0) })
	return mem
}
