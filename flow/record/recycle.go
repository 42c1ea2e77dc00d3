package record

import (
	"math/bits"
	"sync"

	"github.com/apache/arrow/go/v15/arrow/memory"
)

// Recycler is an allocator that hands out what was given back. A stream makes
// columns of the same few sizes over and over; where they come from Go's heap,
// the time to clear them and to collect them is what a pipeline costs most above
// direct calls (examples/throughput, BenchmarkStream):
//
//	p.With(flow.Options{Mem: &record.Recycler{}})
//
// Memory that is handed out again has arbitrary contents. Whoever reads a record,
// or a slice of it, after having released it sees what another one has written;
// with Go's heap he would not notice.
//
// The zero value is ready. Any number of goroutines may use it.
type Recycler struct {
	// Most is the number of bytes of a size class, powers of two, that are kept
	// for later. The default is 64 MiB.
	Most int

	mu   sync.Mutex
	free [64][][]byte // by the logarithm of the capacity
}

var _ memory.Allocator = (*Recycler)(nil)

// Memory below least bytes is not worth a lock.
const least = 1 << 10

// Allocate returns size bytes of arbitrary content.
func (r *Recycler) Allocate(size int) []byte {
	if size < least {
		return memory.DefaultAllocator.Allocate(size)
	}
	class := bits.Len(uint(size - 1))
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := len(r.free[class]); n > 0 {
		b := r.free[class][n-1]
		r.free[class] = r.free[class][:n-1]
		return b[:size]
	}
	return make([]byte, size, 1<<class) // a power of two is aligned as Arrow likes it
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

// Free takes b back.
func (r *Recycler) Free(b []byte) {
	size := cap(b)
	if size < least || size&(size-1) != 0 {
		return // it goes to Go's heap
	}
	most := r.Most
	if most == 0 {
		most = 64 << 20
	}
	class := bits.Len(uint(size - 1))
	r.mu.Lock()
	defer r.mu.Unlock()
	if (len(r.free[class])+1)*size <= most {
		r.free[class] = append(r.free[class], b[:0])
	}
}
