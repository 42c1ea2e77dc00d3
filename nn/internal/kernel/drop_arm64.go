//go:build !noasm

package kernel

func drop(y, x []float32, draws []uint16, limit uint16, scale float32) {
	n := len(x) &^ 7 // the last few are left to Go
	if n > 0 {
		dropNEON(n, &y[0], &x[0], &draws[0], uint32(limit), scale)
	}
	dropGeneric(y[n:], x[n:], draws[n:], limit, scale)
}

// for i < n, a positive multiple of 8: y[i] = scale*x[i] if draws[i] >= limit, else 0
//
//go:noescape
func dropNEON(n int, y, x *float32, draws *uint16, limit uint32, scale float32)
