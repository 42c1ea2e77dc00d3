package main

import "math"

// Constants of the functions, each four times in a table at R3. The first lie in
// registers, too; coefficients are loaded where they are needed, since a copy
// would take the pipes that multiply.
const table = reg(3)

const (
	cLow = vec(14 + iota)
	cHigh
	cLog2E
	cLn2High
	cLn2Low
	cOne
	cSign
	cSmall
	cRound
	cExp0              // six of exp, the highest first
	cTanh0 = cExp0 + 6 // five of tanh
)

// constants are their values, in that order.
var constants = func() (all []uint32) {
	for _, x := range []float64{
		-104, 89, math.Log2E, 0.693359375, -2.12194440e-4, 1, math.Copysign(0, -1), 0.625, 3 << 22,
		1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1,
		-5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2, 1.33314422036e-1, -3.33332819422e-1,
	} {
		for range 4 {
			all = append(all, math.Float32bits(float32(x)))
		}
	}
	return all
}()

func loadConstant(a *asm, v, c vec) { a.load('q', v, table, 16*int(c-cLow)) }

// expOf sets y to exp(x). Beyond -104 the result is 0 and beyond 89 infinite, so
// x is kept in between; NaN stays. With n = x/ln 2, rounded,
//
//	exp(x) = 2ⁿ·exp(r), r = x - n·ln 2, |r| ≤ ½ ln 2
//
// where ln 2 is taken off in two parts and exp(r) is 1 + r·(1 + r·P(r)) with the
// polynomial of Cephes (Moshier 1992), whose pairs of terms are computed side by
// side: the loop waits for its longest chain, since as many values as would hide
// that do not fit a processor's window. A sum with 1.5·2²³ has n in its lowest
// bits, rounded. 2ⁿ is multiplied by in two steps, since alone it may be too small
// or too large. x and the four from t on are spoiled.
func expOf(a *asm, y, x, t vec) {
	n, square, p, q := t, t+1, t+2, t+3
	a.op("fmax", x, x, cLow)
	a.op("fmin", x, x, cHigh)
	a.copy(n, cRound)
	a.op("fmla", n, x, cLog2E)
	a.op("fsub", p, n, cRound)
	a.op("fmls", x, p, cLn2High)
	a.op("fmls", x, p, cLn2Low)
	a.op("fmul", square, x, x)
	pair := func(v vec, c vec) { // v = c·x + the constant after c
		loadConstant(a, q, c)
		loadConstant(a, v, c+1)
		a.op("fmla", v, q, x)
	}
	pair(p, cExp0+2)
	pair(y, cExp0)
	a.op("fmla", p, y, square)
	pair(y, cExp0+4)
	a.op("fmla", y, p, square)
	a.copy(q, cOne)
	a.op("fmla", q, y, x)
	a.copy(y, cOne)
	a.op("fmla", y, q, x)
	a.shift("sshr", p, n, 1)
	a.op("sub", n, n, p)
	for _, half := range []vec{p, n} {
		a.shift("shl", half, half, 23) // into the exponent, and that of 1 onto it
		a.op("add", half, half, cOne)
		a.op("fmul", y, y, half)
	}
}

// each emits a kernel that sets y[i] to f of x[i]: f sets y, and may spoil the
// five registers after x.
func each(a *asm, name, comment string, f func(y, x vec)) {
	a.function(name+"NEON", "n int, y, x *float32", "", 0, comment+"; y R0, x R1, constants R3, the first in V14 to V22")
	a.param("y", 0)
	a.param("x", 1)
	a.address("constants", table)
	for c := cLow; c <= cRound; c++ {
		loadConstant(a, c, c)
	}
	alongside(a, 2, []reg{0, 1}, func(u int, kind byte) {
		y := vec(7 * u)
		a.load(kind, y+1, 1, 16*u)
		f(y, y+1)
		a.store(kind, y, 0, 16*u)
	})
	a.ret()
}

func exp(a *asm) {
	a.table("constants", constants...)
	each(a, "exp", "y[i] = exp(x[i])", func(y, x vec) { expOf(a, y, x, x+1) })
}

// sigmoid is 1/(1+e) for x ≥ 0 and e/(1+e) for x < 0, with e = exp(-|x|): no
// difference of like numbers is taken.
func sigmoid(a *asm) {
	each(a, "sigmoid", "y[i] = 1 / (1 + exp(-x[i]))", func(y, x vec) {
		negative, whole := x+5, x
		a.shift("sshr", negative, x, 31)
		a.bits("orr", x, x, cSign)
		expOf(a, y, x, x+1)
		a.op("fadd", whole, y, cOne)
		a.bits("bif", y, cOne, negative)
		a.op("fdiv", y, y, whole)
	})
}

// tanh is 1 - 2/(exp(2|x|)+1) with the sign of x, and below 0.625, where that
// loses digits, the polynomial of Cephes.
func tanh(a *asm) {
	each(a, "tanh", "y[i] = tanh(x[i])", func(y, v vec) {
		x := v + 5
		a.copy(x, v)
		a.op2("fabs", v, v)
		a.op("fadd", v, v, v)
		expOf(a, y, v, v+1)
		a.op("fadd", y, y, cOne)
		a.op("fdiv", y, cOne, y)
		a.op("fadd", y, y, y)
		a.op("fsub", y, cOne, y)

		square, p, t := v, v+1, v+2
		a.op("fmul", square, x, x)
		loadConstant(a, p, cTanh0)
		for i := range vec(4) {
			loadConstant(a, t, cTanh0+1+i)
			a.op("fmla", t, p, square)
			p, t = t, p
		}
		a.op("fmul", p, p, square)
		a.copy(t, x)
		a.op("fmla", t, p, x)
		a.op2("fabs", square, x)
		a.op("fcmgt", square, cSmall, square)
		a.bits("bit", y, t, square)
		a.bits("bit", y, x, cSign)
	})
}
