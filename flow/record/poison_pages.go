//go:build linux || darwin

package record

import (
	"math/bits"
	"sync"
	"syscall"

	"github.com/apache/arrow/go/v15/arrow/memory"
	"golang.org/x/sys/unix"
)

// mostFreed bounds the freed bytes of one size that stay inaccessible: 4096 blocks of a page, of the
// 65 530 mappings that Linux allows a process. One block stays at least.
const mostFreed = 16 << 20

// blocks has the memory of all Poison allocators of the process. The size of a block is a power of two,
// so that an old block serves again, which costs a third of mapping a new one and unmapping the old.
var blocks = struct {
	sync.Mutex
	live  map[*byte][]byte // blocks in use, by the address of their first byte
	freed map[int][][]byte // inaccessible blocks by size, the oldest first
}{live: map[*byte][]byte{}, freed: map[int][][]byte{}}

// Allocate returns size bytes in pages of their own.
func (Poison) Allocate(size int) []byte {
	if size == 0 {
		return []byte{}
	}
	b, err := accessible(1 << bits.Len(uint(max(size, 4096)-1)))
	if err != nil { // the process has too many mappings
		b = memory.DefaultAllocator.Allocate(size)
	}
	overwrite(b[:size])
	return b[:size:size]
}

// accessible returns the oldest freed block of a size, or a new one if few are freed.
func accessible(size int) (b []byte, err error) {
	blocks.Lock()
	defer blocks.Unlock()
	if freed := blocks.freed[size]; len(freed) > max(1, mostFreed/size) {
		b, blocks.freed[size] = freed[0], freed[1:]
		err = syscall.Mprotect(b, syscall.PROT_READ|syscall.PROT_WRITE)
	} else {
		b, err = syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	}
	if err == nil {
		blocks.live[&b[0]] = b
	}
	return b, err
}

// Free makes b inaccessible.
func (Poison) Free(b []byte) {
	if cap(b) == 0 {
		return
	}
	first := &b[:1][0]
	blocks.Lock()
	defer blocks.Unlock()
	block, mapped := blocks.live[first]
	if !mapped {
		overwrite(b[:cap(b)])
		return
	}
	delete(blocks.live, first)
	if len(block) > mostFreed/16 {
		_ = unix.Madvise(block, unix.MADV_DONTNEED) // gives the memory of a large block back
	}
	if err := syscall.Mprotect(block, syscall.PROT_NONE); err != nil {
		overwrite(block)
	}
	blocks.freed[len(block)] = append(blocks.freed[len(block)], block)
}
