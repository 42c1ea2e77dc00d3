package main

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// constants are registers of AVX2 full of one value, in memory, of which AVX-512
// reads the first and spreads it: the linker aligns them to 32 bytes, so a
// register of 64 might straddle two cache lines.
var constants = map[uint32]Mem{}

func bitsConst(x uint32) Mem {
	m, ok := constants[x]
	if !ok {
		m = GLOBL(fmt.Sprintf("all%08x", x), RODATA|NOPTR)
		for i := range 8 {
			DATA(4*i, U32(x))
		}
		constants[x] = m
	}
	return m
}

func constant(x float64) Mem { return bitsConst(math.Float32bits(float32(x))) }

// by returns the form of an instruction that reads constants.
func (s simd) by(whole, spread func(...Op)) func(...Op) {
	if s.lanes == 16 {
		return spread
	}
	return whole
}

// set fills v with a constant.
func (s simd) set(m Mem, v VecPhysical) {
	if s.lanes == 16 {
		VBROADCASTSS(m, v)
		return
	}
	VMOVUPS(m, v)
}

const signBit, allButSign = 1 << 31, 1<<31 - 1

// polynomial sets p to the polynomial in x with these coefficients, the highest
// first.
func polynomial(s simd, p, x VecPhysical, coefficients ...float64) {
	s.set(constant(coefficients[0]), p)
	for _, c := range coefficients[1:] {
		s.by(VFMADD213PS, VFMADD213PS_BCST)(constant(c), x, p)
	}
}

// expOf sets p to exp(x). Beyond -104 the result is 0 and beyond 89 infinite,
// so x is kept in between; NaN stays. With n = x/ln 2, rounded,
//
//	exp(x) = 2ⁿ·exp(r), r = x - n·ln 2, |r| ≤ ½ ln 2
//
// where ln 2 is taken off in two parts and exp(r) is the polynomial of Cephes
// (Moshier 1992). x, n and t are spoiled.
func expOf(s simd, p, x, n, t VecPhysical) {
	s.set(constant(-104), t)
	VMAXPS(x, t, x) // of NaN and another: the first operand here, NaN
	s.set(constant(89), t)
	VMINPS(x, t, x)
	s.by(VMULPS, VMULPS_BCST)(constant(math.Log2E), x, n)
	if s.lanes == 16 {
		VRNDSCALEPS(Imm(8), n, n)
	} else {
		VROUNDPS(Imm(8), n, n)
	}
	s.by(VFNMADD231PS, VFNMADD231PS_BCST)(constant(0.693359375), n, x)
	s.by(VFNMADD231PS, VFNMADD231PS_BCST)(constant(-2.12194440e-4), n, x)
	polynomial(s, p, x, 1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1, 1, 1)
	if s.lanes == 16 {
		VSCALEFPS(n, p, p)
		return
	}
	// In two steps, since 2ⁿ alone may be too small or too large.
	VCVTPS2DQ(n, n)
	VPSRAD(Imm(1), n, t)
	VPSUBD(t, n, n)
	for _, half := range []VecPhysical{t, n} {
		VPADDD(bitsConst(127), half, half)
		VPSLLD(Imm(23), half, half)
		VMULPS(half, p, p)
	}
}

// each emits a kernel that sets y[i] to f of x[i].
func each(s simd, name, comment string, f func(y, x VecPhysical, spare [4]VecPhysical)) {
	TEXT(name+s.suffix, NOSPLIT, "func(n int, y, x *float32)")
	Comment(comment + "; y DI, x SI")
	param("y", RDI)
	param("x", RSI)
	alongside(s, 2, []GPPhysical{RDI, RSI}, func(u int, masked bool) {
		r := func(i int) VecPhysical { return s.v(7*u + i) }
		s.load(at(s, RSI, u), r(1), masked)
		f(r(0), r(1), [4]VecPhysical{r(2), r(3), r(4), r(5)})
		s.store(r(0), at(s, RDI, u), masked)
	})
	VZEROUPPER()
	RET()
}

func exp(s simd) {
	each(s, "exp", "y[i] = exp(x[i])", func(y, x VecPhysical, spare [4]VecPhysical) {
		expOf(s, y, x, spare[0], spare[1])
	})
}

// sigmoid is 1/(1+e) for x ≥ 0 and e/(1+e) for x < 0, with e = exp(-|x|): no
// difference of like numbers is taken.
func sigmoid(s simd) {
	each(s, "sigmoid", "y[i] = 1 / (1 + exp(-x[i]))", func(y, x VecPhysical, spare [4]VecPhysical) {
		sign, one := spare[2], spare[3]
		VMOVUPS(x, sign)
		s.by(VORPS, VORPS_BCST)(bitsConst(signBit), x, x)
		expOf(s, y, x, spare[0], spare[1])
		s.set(constant(1), one)
		VADDPS(one, y, x)
		if s.lanes == 16 {
			VPMOVD2M(sign, K2)
			VMOVAPS(y, K2, one)
		} else {
			VBLENDVPS(sign, y, one, one)
		}
		VDIVPS(x, one, y)
	})
}

// tanh is 1 - 2/(exp(2|x|)+1) with the sign of x, and below 0.625, where that
// loses digits, the polynomial of Cephes.
func tanh(s simd) {
	each(s, "tanh", "y[i] = tanh(x[i])", func(y, x VecPhysical, spare [4]VecPhysical) {
		whole, t := spare[2], spare[3]
		VMOVUPS(x, whole)
		s.by(VANDPS, VANDPS_BCST)(bitsConst(allButSign), x, x)
		VADDPS(x, x, x)
		expOf(s, y, x, spare[0], spare[1])
		s.by(VADDPS, VADDPS_BCST)(constant(1), y, y)
		s.set(constant(2), t)
		VDIVPS(y, t, y)
		s.set(constant(1), t)
		VSUBPS(y, t, y)

		p, square := spare[0], spare[1]
		VMULPS(whole, whole, square)
		polynomial(s, p, square, -5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2, 1.33314422036e-1, -3.33332819422e-1)
		VMULPS(square, p, p)
		VFMADD213PS(whole, whole, p)
		s.by(VANDPS, VANDPS_BCST)(bitsConst(allButSign), whole, t)
		if s.lanes == 16 {
			VCMPPS_BCST(Imm(1), constant(0.625), t, K2) // less than
			VMOVAPS(p, K2, y)
		} else {
			VCMPPS(Imm(1), constant(0.625), t, t)
			VBLENDVPS(t, p, y, y)
		}
		s.by(VANDPS, VANDPS_BCST)(bitsConst(signBit), whole, t)
		VORPS(t, y, y)
	})
}
