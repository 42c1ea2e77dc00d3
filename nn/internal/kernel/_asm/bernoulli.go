package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// bernoulli draws sixteen lanes of xoshiro128++ a round, in two registers.
func bernoulli() {
	TEXT("bernoulliSIMD", NOSPLIT, "func(n int, dst, p *float32, s *uint32)")
	const halves = 2
	Comment("dst[i] = 1 if the next number of lane i mod 16 < p[i], else 0",
		"dst DI, p SI, s R8; s0 to s3 in registers 0 to 3 (second half: 4 to 7), 2⁻²⁴ in 13, 1 in 14")
	state := func(half, i int) VecPhysical { return ymm(4*half + i) }
	scale, one := ymm(13), ymm(14)
	u, t := ymm(8), ymm(9)
	for _, c := range []struct {
		x float32
		v VecPhysical
	}{{1.0 / (1 << 24), scale}, {1, one}} {
		MOVL(U32(math.Float32bits(c.x)), EAX)
		VMOVD(EAX, c.v.AsX())
		VBROADCASTSS(c.v.AsX(), c.v)
	}
	params("dst p s n", RDI, RSI, R8, RDX)
	for half := range halves {
		for i := range 4 {
			VMOVUPS(Mem{Base: R8, Disp: 64*i + half*regBytes}, state(half, i))
		}
	}
	xor := func(a, b VecPhysical) { VPXOR(a, b, b) } // b ^= a
	rotate := func(k uint64, v VecPhysical) {
		VPSLLD(Imm(k), v, ymm(10))
		VPSRLD(Imm(32-k), v, v)
		VPOR(ymm(10), v, v)
	}
	Label("block")
	for half := range halves {
		s0, s1, s2, s3 := state(half, 0), state(half, 1), state(half, 2), state(half, 3)
		VPADDD(s3, s0, u)
		rotate(7, u)
		VPADDD(s0, u, u)
		VPSLLD(Imm(9), s1, t)
		xor(s0, s2)
		xor(s1, s3)
		xor(s2, s1)
		xor(s3, s0)
		xor(t, s2)
		rotate(11, s3)
		VPSRLD(Imm(8), u, u)
		VCVTDQ2PS(u, u)
		VMULPS(scale, u, u)
		VMOVUPS(Mem{Base: RSI, Disp: half * regBytes}, t)
		VCMPPS(Imm(1), t, u, u) // predicate 1: less than, false for NaN
		VANDPS(one, u, u)
		VMOVUPS(u, Mem{Base: RDI, Disp: half * regBytes})
	}
	ADDQ(Imm(64), RSI)
	ADDQ(Imm(64), RDI)
	SUBQ(Imm(16), RDX)
	JNE(LabelRef("block"))
	for half := range halves {
		for i := range 4 {
			VMOVUPS(state(half, i), Mem{Base: R8, Disp: 64*i + half*regBytes})
		}
	}
	ret()
}
