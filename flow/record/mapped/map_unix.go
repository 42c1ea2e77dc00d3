//go:build unix

package mapped

import (
	"errors"
	"math"
	"os"
	"syscall"
)

// mapFile maps the first size bytes of f into memory, for reading.
func mapFile(f *os.File, size int64) ([]byte, error) {
	if size > math.MaxInt {
		return nil, errors.New("the file is larger than the address space")
	}
	data, err := syscall.Mmap(int(f.Fd()), 0, int(size), syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return nil, os.NewSyscallError("mmap", err)
	}
	return data, nil
}

func unmapFile(data []byte) error { return os.NewSyscallError("munmap", syscall.Munmap(data)) }
