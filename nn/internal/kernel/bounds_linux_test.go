package kernel

import (
	"syscall"
	"testing"
	"unsafe"
)

// fenced returns n values whose last one ends at memory that may not be read,
// or whose first one starts there.
func fenced(t *testing.T, n int, atEnd bool) []float32 {
	t.Helper()
	page := syscall.Getpagesize()
	room := (4*n + page - 1) / page * page
	all, err := syscall.Mmap(-1, 0, room+2*page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Skip("no memory map: ", err)
	}
	t.Cleanup(func() { syscall.Munmap(all) })
	for _, fence := range [][]byte{all[:page], all[page+room:]} {
		if err := syscall.Mprotect(fence, syscall.PROT_NONE); err != nil {
			t.Skip("no memory protection: ", err)
		}
	}
	off := page
	if atEnd {
		off += room - 4*n
	}
	if n == 0 {
		return nil
	}
	return unsafe.Slice((*float32)(unsafe.Pointer(&all[off])), n)
}

// No kernel reads or writes beside its slices: a stray access faults.
func TestFences(t *testing.T) {
	forEachVariant(t, func(t *testing.T) {
		for _, atEnd := range []bool{false, true} {
			mem := func(n int) []float32 { return fenced(t, n, atEnd) }
			for _, s := range []struct{ m, n, k int }{
				{1, 1, 1}, {3, 2, 5}, {9, 8, 33}, {21, 8, 40}, {25, 7, 7}, {13, 11, 17}, {12, 16, 16}, {7, 33, 19}, {12, 32, 48}, {50, 5, 49},
			} {
				for _, p := range products {
					ar, ac, br, bc, cr, cc, _ := p.shape(s.m, s.n, s.k)
					for _, acc := range []bool{false, true} {
						p.fast(s.m, s.n, s.k, mem(ar*ac), ac, mem(br*bc), bc, mem(cr*cc), cc, acc)
						p.fast(s.m, s.n, s.k, mem(size(ar, ac, 3)), 3, mem(br*bc), bc, mem(cr*cc), cc, acc)
					}
				}
				GemmNT(s.m, s.n, s.k, mem(s.m*s.n), s.n, mem(s.k*s.n), s.n, mem(size(s.m, s.k, 2)), 2, true)
				Gemm(s.m, s.n, s.k, mem(s.m*s.k), s.k, mem(s.k*s.n), s.n, mem(size(s.m, s.n, 2)), 2, true)
				Transpose(mem(s.m*s.n), mem(s.m*s.n), s.m, s.n)
			}
			for _, n := range lengths {
				Axpy(1, mem(n), mem(n))
				Dot(mem(n), mem(n))
				ReLUGrad(mem(n), mem(n))
				RMSprop(mem(n), mem(n), mem(n), 1, 0.9, 1)
				AdaGrad(mem(n), mem(n), mem(n), 1, 1)
				Adam(mem(n), mem(n), mem(n), mem(n), 1, 0.9, 0.9, 1)
				Sigmoid(mem(n), mem(n))
				Tanh(mem(n), mem(n))
				BiasReLU(mem(5*n), 5, n, mem(n))
				AddBiasGrad(mem(n), mem(5*n), 5, n)
				if n > 0 {
					AddRows(mem(n), mem(3*n), []int32{0, 2, 1}, mem(3))
					AddToRows(mem(3*Stride(n)), []int32{0, 2, 1}, mem(3), mem(n))
					AdaGradRows(mem(3*n), mem(3*n), n, []int32{0, 2}, mem(2*Stride(n)), 1, 1)
					idx := []int32{0, int32(2 * n), -1, int32(n), -1, -1}
					GatherFields(mem(2*n), 2, n, mem(3*n), idx)
					ScatterFields(mem(3*n), idx, mem(2*n), 2, n)
				}
			}
		}
	})
}
