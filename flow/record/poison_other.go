//go:build !linux && !darwin

package record

import "github.com/apache/arrow/go/v15/arrow/memory"

// Allocate returns size bytes.
func (Poison) Allocate(size int) []byte {
	b := memory.DefaultAllocator.Allocate(size)
	overwrite(b)
	return b
}

// Free overwrites b.
func (Poison) Free(b []byte) { overwrite(b[:cap(b)]) }
