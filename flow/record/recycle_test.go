package record_test

import (
	"encoding/binary"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow/record"
)

// No other goroutine writes to an allocated buffer, and Reallocate keeps the content,
// while goroutines take and return memory of all sizes.
func TestRecycler(t *testing.T) {
	mem := memory.NewCheckedAllocator(&record.Recycler{Limit: 1 << 18})
	defer mem.AssertSize(t, 0)
	var wg sync.WaitGroup
	for seed := range uint64(4) {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(seed, 1))
			type held struct {
				b    []byte
				seal uint64
			}
			var all []held
			fill := func(b []byte, from int, seal uint64) {
				for i := from; i < len(b)/8; i++ {
					binary.LittleEndian.PutUint64(b[8*i:], seal)
				}
			}
			check := func(b []byte, seal uint64) {
				for i := range len(b) / 8 {
					if got := binary.LittleEndian.Uint64(b[8*i:]); got != seal {
						t.Errorf("word %d of %d bytes is %x, want %x", i, len(b), got, seal)
						return
					}
				}
			}
			for range 2000 {
				if len(all) < 8 {
					h := held{mem.Allocate(8 * (1 + rng.IntN(1<<rng.IntN(14)))), rng.Uint64()}
					fill(h.b, 0, h.seal)
					all = append(all, h)
					continue
				}
				i := rng.IntN(len(all))
				h := all[i]
				check(h.b, h.seal)
				if rng.IntN(2) == 0 {
					size := 8 * (1 + rng.IntN(1<<rng.IntN(14)))
					kept := min(len(h.b), size)
					h.b = mem.Reallocate(size, h.b)
					check(h.b[:kept], h.seal)
					fill(h.b, kept/8, h.seal)
					all[i] = h
					continue
				}
				mem.Free(h.b)
				all[i] = all[len(all)-1]
				all = all[:len(all)-1]
			}
			for _, h := range all {
				check(h.b, h.seal)
				mem.Free(h.b)
			}
		})
	}
	wg.Wait()
}

// Memory comes back: of a thousand equal columns one after the other nearly all
// are the same one.
func TestRecyclerSaves(t *testing.T) {
	var mem record.Recycler
	if allocs := testing.AllocsPerRun(1000, func() { mem.Free(mem.Allocate(100_000)) }); allocs > 0 {
		t.Errorf("%v allocations each", allocs)
	}
}
