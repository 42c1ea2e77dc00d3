//go:build !noasm

package kernel

//go:generate go run -C _asm . -file drop -out ../drop_amd64.s

func drop(y, x []float32, draws []uint16, limit uint16, scale float32) {
	// Draws have no masked load with AVX2: the last few are left to Go.
	n := len(x) &^ 15
	if inUse == generic {
		n = 0
	}
	switch {
	case n == 0:
	case inUse == avx512:
		dropAVX512(n, &y[0], &x[0], &draws[0], uint32(limit), scale)
	default:
		dropAVX2(n, &y[0], &x[0], &draws[0], uint32(limit), scale)
	}
	dropGeneric(y[n:], x[n:], draws[n:], limit, scale)
}

// for i < n, a positive multiple of 16: y[i] = scale*x[i] if draws[i] >= limit, else 0
//
//go:noescape
func dropAVX2(n int, y, x *float32, draws *uint16, limit uint32, scale float32)

//go:noescape
func dropAVX512(n int, y, x *float32, draws *uint16, limit uint32, scale float32)
