package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// drop widens draws to 32 bits, in which they are not negative, and compares.
func drop(s simd) {
	TEXT("drop"+s.suffix, NOSPLIT, "func(n int, y, x *float32, draws *uint16, limit uint32, scale float32)")
	Comment("y[i] = scale·x[i] if draws[i] >= limit, else 0, for n a positive multiple of 16",
		"y DI, x SI, draws R8, n DX; scale in register 0, limit in 1")
	limit := s.v(1)
	spread(s, "scale", s.v(0))
	Load(Param("limit"), EAX)
	VMOVD(EAX, limit.AsX())
	VPBROADCASTD(limit.AsX(), limit)
	param("y", RDI)
	param("x", RSI)
	param("draws", R8)
	param("n", RDX)
	Label("values")
	for half := range 16 / s.lanes {
		draw, y := s.v(2), s.v(3)
		VPMOVZXWD(Mem{Base: R8, Disp: half * s.bytes() / 2}, draw)
		if s.lanes == 16 {
			VPCMPUD(Imm(5), limit, draw, K2) // not less than
			VMULPS_Z(at(s, RSI, half), s.v(0), K2, y)
		} else {
			VPCMPGTD(draw, limit, draw) // limit > draw: dropped
			VMULPS(at(s, RSI, half), s.v(0), y)
			VANDNPS(y, draw, y)
		}
		VMOVUPS(y, at(s, RDI, half))
	}
	ADDQ(U32(64), RDI)
	ADDQ(U32(64), RSI)
	ADDQ(U32(32), R8)
	SUBQ(Imm(16), RDX)
	JNE(LabelRef("values"))
	VZEROUPPER()
	RET()
}
