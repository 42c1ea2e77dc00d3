package record_test

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"testing"

	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/sanflow/sanflow/flow/record"
)

// used calls f, and returns the fault that it ran into, or nil.
func used(f func()) (fault any) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() { fault = recover() }()
	f()
	return nil
}

// A read and a write of what was freed or moved fault, or meet impossible values.
func TestPoison(t *testing.T) {
	for _, size := range []int{1, 100, 4096, 4097, 1 << 20, 20 << 20} {
		var mem record.Poison
		b := mem.Allocate(size)
		if b[size-1] != 0xDB {
			t.Errorf("%d bytes: new memory ends with %x", size, b[size-1])
		}
		copy(b, "abc")
		moved := mem.Reallocate(2*size, b)
		if got := string(moved[:min(size, 3)]); got != "abc"[:len(got)] {
			t.Errorf("%d bytes: Reallocate kept %q", size, got)
		}
		mem.Free(moved)
		for _, freed := range [][]byte{b, moved} {
			last := byte(0xDB)
			read := used(func() { last = freed[len(freed)-1] })
			wrote := used(func() { freed[0] = 1 })
			pages := runtime.GOOS == "linux" || runtime.GOOS == "darwin"
			if faulted := read != nil && wrote != nil; last != 0xDB || pages != faulted {
				t.Errorf("%d bytes: the read gave %x and %v, the write %v", len(freed), last, read, wrote)
			}
		}
	}
}

// Blocks that come and go in numbers and sizes beyond what is kept inaccessible leave
// what is in hand alone.
func TestPoisonManyBlocks(t *testing.T) {
	var mem record.Poison
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			held := mem.Allocate(10000)
			defer mem.Free(held)
			clear(held)
			for i := range 5000 {
				mem.Free(mem.Reallocate(1+i%300000, mem.Allocate(i%100)))
			}
			for i, v := range held {
				if v != 0 {
					t.Errorf("byte %d has become %x", i, v)
					return
				}
			}
		})
	}
	wg.Wait()
}

// Poison makes the use of released memory visible.
func ExamplePoison() {
	sizes := record.NewColumn[int32](record.Poison{})
	sizes.Append(1, 2, 3)
	col := sizes.Finish().(*array.Int32)
	values := col.Int32Values()
	col.Release()
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true)) // as flow does around a stage
	defer func() { fmt.Println("too late:", recover() != nil) }()
	if uint32(values[0]) == 0xdbdbdbdb {
		panic("on other systems")
	}
	// Output: too late: true
}
