package record

import "github.com/apache/arrow/go/v15/arrow/memory"

// Poison is an allocator that finds a use of released memory. On Linux and macOS the pages of freed
// memory become inaccessible: the first read or write faults. In a stage, a source or a sink the
// fault is a panic, so that the run ends with an error that names the stage, the graph and the
// line. In a goroutine that a stage has started itself, and outside a run, the fault ends the
// process with the stack of the reader. On other systems Free overwrites the memory with the byte
// 0xDB, so that a later read returns impossible values. Memory that is handed out has that content
// too, so that a stage that expects zeros shows.
//
// Of each size the last 16 MiB of freed blocks stay inaccessible, and one block at least. A use of
// an older block may return the data of another record. Sizes are powers of two, one page at least,
// and each Allocate and Free calls the system: Poison is for tests, and for finding a defect.
//
// The zero value is ready. Any number of goroutines may use it.
type Poison struct{}

var _ memory.Allocator = Poison{}

// Reallocate always moves.
func (p Poison) Reallocate(size int, b []byte) []byte {
	moved := p.Allocate(size)
	copy(moved, b)
	p.Free(b)
	return moved
}

// overwrite fills memory that stays accessible with impossible values.
func overwrite(b []byte) {
	for i := range b {
		b[i] = 0xDB
	}
}
