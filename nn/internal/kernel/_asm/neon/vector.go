package main

import "fmt"

func axpy(a *asm) {
	a.function("axpySIMD", "n int, alpha float32, x, y *float32", "", 0,
		"y[i] += alpha · x[i]; alpha in V0, x R0, y R1")
	a.spread("alpha", 0)
	a.params("x y", 0, 1)
	alongside(a, 4, []reg{0, 1}, func(u int, kind byte) {
		x, y := vec(1+2*u), vec(2+2*u)
		a.load(kind, x, 0, 16*u)
		a.load(kind, y, 1, 16*u)
		a.fmla(y, x, 0)
		a.store(kind, y, 1, 16*u)
	})
	a.ret()
}

func dot(a *asm) {
	a.function("dotSIMD", "n int, x, y *float32", "ret float32", 0,
		"sum += x[i] · y[i], in V0 to V3 by turns; x R0, y R1")
	a.params("x y", 0, 1)
	for u := range 4 {
		a.zero(vec(u))
	}
	alongside(a, 4, []reg{0, 1}, func(u int, kind byte) {
		x, y := vec(4+2*u), vec(5+2*u)
		a.load(kind, x, 0, 16*u)
		a.load(kind, y, 1, 16*u)
		a.fmla(vec(u), x, y)
	})
	a.op("fadd", 0, 0, 1)
	a.op("fadd", 2, 2, 3)
	a.op("fadd", 0, 0, 2)
	a.op("faddp", 0, 0, 0)
	a.op("faddp", 0, 0, 0)
	a.returns("FMOVS", "ret", "F0")
}

func reluGrad(a *asm) {
	a.function("reluGradSIMD", "n int, dy, y *float32", "", 0,
		"if y[i] <= 0 { dy[i] = 0 }; dy R0, y R1")
	a.params("dy y", 0, 1)
	alongside(a, 4, []reg{0, 1}, func(u int, kind byte) {
		y, dy := vec(2*u), vec(2*u+1)
		a.load(kind, y, 1, 16*u)
		a.load(kind, dy, 0, 16*u)
		a.notPositive(y, y)
		a.bic(dy, dy, y)
		a.store(kind, dy, 0, 16*u)
	})
	a.ret()
}

func biasReLU(a *asm) {
	a.function("biasReLUSIMD", "rows, c int, x, bias *float32", "", 0,
		"x[i·c+j] = max(0, x[i·c+j] + bias[j]), down the rows of some columns",
		"x R0, bias R1, row R3, rows to go R4, bytes in a row R5; zero in V31, bias in V0 to V3")
	const row, rows, stride, zero = reg(3), reg(4), reg(5), vec(31)
	a.stride("c", stride)
	a.zero(zero)
	byColumns(a, "x bias", []reg{0, 1}, func(b block) {
		label := fmt.Sprint("row", b)
		b.load(a, 0, 1)
		a.mov(row, 0)
		a.param("rows", rows)
		a.label(label)
		b.load(a, 4, row)
		b.each(4, 0, func(v, bias vec) { a.op("fadd", v, v, bias) })
		b.each(4, 0, func(v, _ vec) { a.op("fmax", v, v, zero) }) // of NaN and 0: NaN
		b.store(a, 4, row)
		a.add(row, row, stride)
		a.subFrom(rows, 1)
		a.jumpIf("ne", label)
	})
	a.ret()
}
