//go:build !noasm

package kernel

// Every arm64 processor has NEON, so the variant is a constant.
const best, inUse = neon, neon

// regLanes is the float32 values of a register. tallest is the largest number of rows of a tile, by the registers
// of a row: twelve rows of two registers hold 24 sums, which leaves eight of 32 registers for a row of B and
// entries of A.
const regLanes = 4

var tallest = [...]int{1: 12, 2: 12}
