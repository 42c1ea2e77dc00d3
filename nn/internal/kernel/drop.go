package kernel

import (
	"fmt"
	"math"
)

// Drop scales values and drops some:
//
//	y[i] = scale·x[i] where draws[i] ≥ limit, else 0
//
// y and x may be one slice.
func Drop(y, x []float32, draws []uint16, limit uint16, scale float32) {
	if len(y) != len(x) || len(draws) != len(x) {
		panic(fmt.Sprintf("kernel: Drop: y has %d values, x has %d, there are %d draws", len(y), len(x), len(draws)))
	}
	// No branch, which would be guessed wrong every other time: kept is all ones
	// or, where the difference is negative, zeros.
	for i, d := range draws {
		kept := uint32(int32(d)-int32(limit))>>31 - 1
		y[i] = math.Float32frombits(math.Float32bits(scale*x[i]) & kept)
	}
}
