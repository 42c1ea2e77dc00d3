package record

import (
	"math/bits"
	"sync"

	"github.com/apache/arrow/go/v15/arrow/memory"
)

// Recycler is an allocator that reuses freed memory. A stream makes columns of the same few
// sizes over and over, and Go's heap would spend time on clearing and collecting them. Each run
// of a pipeline has its own Recycler unless its Options name an allocator.
//
// Reused memory has arbitrary contents. A stage that reads a record, or a slice of it, after
// its release reads the data of another record. Poison finds such a stage. With Go's heap,
// memory.DefaultAllocator, the read would return the old values, and fields of the paper's
// graphs would take 1.18 times the processor time in the geometric mean, at most 2.3 times
// (examples/throughput, BenchmarkMemory).
//
// The zero value is ready. Any number of goroutines may use it.
type Recycler struct {
	// Limit is how many bytes are kept for later. The default is 128 MiB.
	Limit int

	mu   sync.Mutex
	kept int
	free [classes][][]byte
}

var _ memory.Allocator = (*Recycler)(nil)

const (
	// Blocks below least bytes are not worth a lock.
	least = 1 << 10
	// Blocks above largest bytes come from Go's heap and are not reused.
	largest = 1 << 26
	classes = 4*(26-10) + 1
)

// class returns the size class of size bytes, from least to largest, and the size of its blocks.
// There are four classes for each power of two, so at most a fifth is wasted. Go aligns blocks of
// these sizes as Arrow requires.
func class(size int) (class, room int) {
	shift := bits.Len(uint(size-1)) - 3 // leaves three leading bits of size-1
	steps := (size-1)>>shift + 1        // 5 to 8
	return 4*(shift-8) + steps - 4, steps << shift
}

// Allocate returns size bytes of arbitrary content.
func (r *Recycler) Allocate(size int) []byte {
	switch {
	case size < least:
		return memory.DefaultAllocator.Allocate(size)
	case size > largest:
		return make([]byte, size)
	}
	class, room := class(size)
	r.mu.Lock()
	if n := len(r.free[class]); n > 0 {
		b := r.free[class][n-1]
		r.free[class] = r.free[class][:n-1]
		r.kept -= room
		r.mu.Unlock()
		return b[:size]
	}
	r.mu.Unlock()
	return make([]byte, size, room)
}

// Reallocate returns b with size bytes, of which those beyond len(b) have
// arbitrary content.
func (r *Recycler) Reallocate(size int, b []byte) []byte {
	if cap(b) < least && size < least {
		return memory.DefaultAllocator.Reallocate(size, b)
	}
	if cap(b) >= least && size <= cap(b) {
		return b[:size]
	}
	larger := r.Allocate(size)
	copy(larger, b)
	r.Free(b)
	return larger
}

// Free stores b for reuse.
func (r *Recycler) Free(b []byte) {
	size := cap(b)
	if size < least || size > largest {
		return // Go's collector frees the block
	}
	class, room := class(size)
	if room != size {
		return
	}
	most := r.Limit
	if most == 0 {
		most = 128 << 20
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.kept+size <= most {
		r.kept += size
		r.free[class] = append(r.free[class], b[:0])
	}
}
