package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// alongside advances pointers over n values (parameter n). body runs for unroll registers at a time, then for
// single registers, then once, masked, for the remaining values.
func alongside(unroll int, ptrs []GPPhysical, body func(u int, masked bool)) {
	n := RDX
	param("n", n)
	step := func(regs int) {
		for _, p := range ptrs {
			ADDQ(U32(regs*regBytes), p)
		}
		SUBQ(U32(regs*lanes), n)
	}
	loop := func(label string, regs int) {
		CMPQ(n, U32(regs*lanes))
		JL(LabelRef(label + "end"))
		Label(label)
		for u := range regs {
			body(u, false)
		}
		step(regs)
		CMPQ(n, U32(regs*lanes))
		JGE(LabelRef(label))
		Label(label + "end")
	}
	if unroll > 1 {
		loop("many", unroll)
	}
	loop("one", 1)
	TESTQ(n, n)
	JE(LabelRef("done"))
	mask(n)
	body(0, true)
	Label("done")
}

func at(p GPPhysical, u int) Mem { return Mem{Base: p, Disp: u * regBytes} }

func spread(name string, v VecPhysical) {
	Load(Param(name), v.AsX())
	VBROADCASTSS(v.AsX(), v)
}

func axpy() {
	TEXT("axpySIMD", NOSPLIT, "func(n int, alpha float32, x, y *float32)")
	Comment("y[i] += alpha · x[i]; alpha in register 0, x SI, y DI")
	spread("alpha", ymm(0))
	params("x y", RSI, RDI)
	alongside(4, []GPPhysical{RSI, RDI}, func(u int, masked bool) {
		x, y := ymm(1+2*u), ymm(2+2*u)
		load(at(RSI, u), x, masked)
		load(at(RDI, u), y, masked)
		VFMADD231PS(x, ymm(0), y)
		store(y, at(RDI, u), masked)
	})
	ret()
}

func dot() {
	TEXT("dotSIMD", NOSPLIT, "func(n int, x, y *float32) float32")
	Comment("sum += x[i] · y[i], in registers 0 to 3 by turns; x SI, y DI")
	params("x y", RSI, RDI)
	for u := range 4 {
		zero(ymm(u))
	}
	alongside(4, []GPPhysical{RSI, RDI}, func(u int, masked bool) {
		x, y := ymm(4+2*u), ymm(5+2*u)
		load(at(RSI, u), x, masked)
		load(at(RDI, u), y, masked)
		VFMADD231PS(x, y, ymm(u))
	})
	VADDPS(ymm(1), ymm(0), ymm(0))
	VADDPS(ymm(3), ymm(2), ymm(2))
	VADDPS(ymm(2), ymm(0), ymm(0))
	VEXTRACTF128(Imm(1), Y0, X1)
	VADDPS(X1, X0, X0)
	VMOVHLPS(X0, X0, X1)
	VADDPS(X1, X0, X0)
	VMOVSHDUP(X0, X1)
	VADDSS(X1, X0, X0)
	Store(X0, ReturnIndex(0))
	ret()
}

func reluGrad() {
	TEXT("reluGradSIMD", NOSPLIT, "func(n int, dy, y *float32)")
	Comment("if y[i] <= 0 { dy[i] = 0 }; zero in register 0, dy DI, y SI")
	params("dy y", RDI, RSI)
	zero(ymm(0))
	alongside(4, []GPPhysical{RSI, RDI}, func(u int, masked bool) {
		y, dy := ymm(1+2*u), ymm(2+2*u)
		load(at(RSI, u), y, masked)
		load(at(RDI, u), dy, masked)
		VCMPPS(Imm(6), ymm(0), y, y) // predicate 6: not less than or equal, true for NaN
		VANDPS(y, dy, dy)
		store(dy, at(RDI, u), masked)
	})
	ret()
}

// byColumns runs body for one register of columns after the other; the last one is masked. The pointers are
// parameters and advance with the columns.
func byColumns(names string, ptrs []GPPhysical, body func(label string, masked bool)) {
	cols := RDX
	param("c", cols)
	params(names, ptrs...)
	CMPQ(cols, U32(lanes))
	JL(LabelRef("last"))
	Label("columns")
	body("whole", false)
	for _, p := range ptrs {
		ADDQ(U32(regBytes), p)
	}
	SUBQ(U32(lanes), cols)
	CMPQ(cols, U32(lanes))
	JGE(LabelRef("columns"))
	Label("last")
	TESTQ(cols, cols)
	JE(LabelRef("done"))
	mask(cols)
	body("part", true)
	Label("done")
}

func biasReLU() {
	TEXT("biasReLUSIMD", NOSPLIT, "func(rows, c int, x, bias *float32)")
	Comment("x[i·c+j] = max(0, x[i·c+j] + bias[j]), down the rows of some columns",
		"x DI, bias SI, bytes in a row R9; zero in register 0, bias in 1")
	stride("c", R9)
	zero(ymm(0))
	byColumns("bias x", []GPPhysical{RSI, RDI}, func(label string, masked bool) {
		load(Mem{Base: RSI}, ymm(1), masked)
		MOVQ(RDI, RAX)
		param("rows", RCX)
		Label(label)
		load(Mem{Base: RAX}, ymm(2), masked)
		VADDPS(ymm(1), ymm(2), ymm(2))
		VMAXPS(ymm(2), ymm(0), ymm(2)) // of NaN and 0: the second operand, NaN
		store(ymm(2), Mem{Base: RAX}, masked)
		ADDQ(R9, RAX)
		DECQ(RCX)
		JNE(LabelRef(label))
	})
	ret()
}
