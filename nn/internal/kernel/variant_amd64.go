//go:build !noasm

package kernel

import "golang.org/x/sys/cpu"

// best is the fastest variant that the processor and the operating system support.
var best = func() variant {
	if cpu.X86.HasAVX2 && cpu.X86.HasFMA {
		return avx2
	}
	return generic
}()

var inUse = best

// regLanes is the float32 values of a register. tallest is the largest number of rows of a tile, by the registers
// of a row: the sums of a tile, a row of B and an entry of A fill the sixteen registers.
const regLanes = 8

var tallest = [...]int{1: 12, 2: 6}
