package main

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// constants are memory operands that repeat a 32-bit value eight times.
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

const signBit, allButSign = 1 << 31, 1<<31 - 1

// polynomial sets p to the polynomial in x with these coefficients, the highest first.
func polynomial(p, x VecPhysical, coefficients ...float64) {
	VMOVUPS(constant(coefficients[0]), p)
	for _, c := range coefficients[1:] {
		VFMADD213PS(constant(c), x, p)
	}
}

// expOf sets p to exp(x). The result is 0 below -104 and infinite above 89, so x is clamped to this range.
// NaN stays NaN. With n = x/ln 2, rounded,
//
//	exp(x) = 2ⁿ·exp(r), r = x - n·ln 2, |r| ≤ ½ ln 2
//
// where ln 2 is subtracted in two parts, and exp(r) is the polynomial of Cephes (Moshier 1992). x, n
// and t are overwritten.
func expOf(p, x, n, t VecPhysical) {
	VMOVUPS(constant(-104), t)
	VMAXPS(x, t, x) // NaN stays NaN
	VMOVUPS(constant(89), t)
	VMINPS(x, t, x)
	VMULPS(constant(math.Log2E), x, n)
	VROUNDPS(Imm(8), n, n)
	VFNMADD231PS(constant(0.693359375), n, x)
	VFNMADD231PS(constant(-2.12194440e-4), n, x)
	polynomial(p, x, 1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1, 1, 1)
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

// each emits a kernel that sets y[i] to f(x[i]).
func each(name, comment string, f func(y, x VecPhysical, spare [4]VecPhysical)) {
	TEXT(name+"SIMD", NOSPLIT, "func(n int, y, x *float32)")
	Comment(comment + "; y DI, x SI")
	params("y x", RDI, RSI)
	alongside(2, []GPPhysical{RDI, RSI}, func(u int, masked bool) {
		r := func(i int) VecPhysical { return ymm(7*u + i) }
		load(at(RSI, u), r(1), masked)
		f(r(0), r(1), [4]VecPhysical{r(2), r(3), r(4), r(5)})
		store(r(0), at(RDI, u), masked)
	})
	ret()
}

// sigmoid is 1/(1+e) for x ≥ 0 and e/(1+e) for x < 0, with e = exp(-|x|). This form has no cancellation.
func sigmoid() {
	each("sigmoid", "y[i] = 1 / (1 + exp(-x[i]))", func(y, x VecPhysical, spare [4]VecPhysical) {
		sign, one := spare[2], spare[3]
		VMOVUPS(x, sign)
		VORPS(bitsConst(signBit), x, x)
		expOf(y, x, spare[0], spare[1])
		VMOVUPS(constant(1), one)
		VADDPS(one, y, x)
		VBLENDVPS(sign, y, one, one)
		VDIVPS(x, one, y)
	})
}

// tanh is 1 - 2/(exp(2|x|)+1) with the sign of x. Below 0.625, where that loses digits, it is the polynomial
// of Cephes.
func tanh() {
	each("tanh", "y[i] = tanh(x[i])", func(y, x VecPhysical, spare [4]VecPhysical) {
		whole, t := spare[2], spare[3]
		VMOVUPS(x, whole)
		VANDPS(bitsConst(allButSign), x, x)
		VADDPS(x, x, x)
		expOf(y, x, spare[0], spare[1])
		VADDPS(constant(1), y, y)
		VMOVUPS(constant(2), t)
		VDIVPS(y, t, y)
		VMOVUPS(constant(1), t)
		VSUBPS(y, t, y)

		p, square := spare[0], spare[1]
		VMULPS(whole, whole, square)
		polynomial(p, square, -5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2, 1.33314422036e-1, -3.33332819422e-1)
		VMULPS(square, p, p)
		VFMADD213PS(whole, whole, p)
		VANDPS(bitsConst(allButSign), whole, t)
		VCMPPS(Imm(1), constant(0.625), t, t) // less than
		VBLENDVPS(t, p, y, y)
		VANDPS(bitsConst(signBit), whole, t)
		VORPS(t, y, y)
	})
}
