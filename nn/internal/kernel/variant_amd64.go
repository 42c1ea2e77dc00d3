//go:build !noasm

package kernel

import "golang.org/x/sys/cpu"

// best is the fastest variant that the processor and the operating system support.
var best = func() variant {
	x := &cpu.X86
	switch {
	case x.HasAVX512F && x.HasAVX512DQ && x.HasAVX512BW && x.HasAVX512VL && x.HasAVX2 && x.HasFMA:
		return avx512
	case x.HasAVX2 && x.HasFMA:
		return avx2
	}
	return generic
}()

var inUse = best
