//go:build linux || darwin

package record

import (
	"fmt"
	"sync"
	"syscall"

	"github.com/apache/arrow/go/v15/arrow/memory"
)

const (
	mostFreed      = 8192 // mappings, of the 65 530 that Linux allows a process
	mostFreedBytes = 128 << 20
)

// blocks has the memory of all Poison allocators of the process, which share its mappings.
var blocks struct {
	sync.Mutex
	live  map[*byte][]byte // by first byte
	freed [][]byte         // inaccessible blocks, the oldest first
	bytes int              // size of freed
}

// Allocate returns size bytes in pages of their own.
func (Poison) Allocate(size int) []byte {
	if size == 0 {
		return []byte{}
	}
	b, err := syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil { // the process has too many mappings
		b = memory.DefaultAllocator.Allocate(size)
		overwrite(b)
		return b
	}
	overwrite(b)
	blocks.Lock()
	defer blocks.Unlock()
	if blocks.live == nil {
		blocks.live = map[*byte][]byte{}
	}
	blocks.live[&b[0]] = b
	return b
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
	if err := syscall.Mprotect(block, syscall.PROT_NONE); err != nil {
		overwrite(block)
	}
	blocks.freed, blocks.bytes = append(blocks.freed, block), blocks.bytes+len(block)
	for len(blocks.freed) > mostFreed || blocks.bytes > mostFreedBytes {
		oldest := blocks.freed[0]
		blocks.freed, blocks.bytes = blocks.freed[1:], blocks.bytes-len(oldest)
		if err := syscall.Munmap(oldest); err != nil {
			panic(fmt.Sprintf("record: unmapping %d bytes of released memory: %v", len(oldest), err))
		}
	}
}
