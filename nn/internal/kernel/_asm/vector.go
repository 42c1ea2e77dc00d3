package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// alongside advances pointers over n values (parameter n). body runs for unroll registers at a time, then for
// single registers, then once, masked, for the remaining values.
func alongside(s simd, unroll int, ptrs []GPPhysical, body func(u int, masked bool)) {
	n := RDX
	param("n", n)
	step := func(regs int) {
		for _, p := range ptrs {
			ADDQ(U32(regs*s.bytes()), p)
		}
		SUBQ(U32(regs*s.lanes), n)
	}
	loop := func(label string, regs int) {
		CMPQ(n, U32(regs*s.lanes))
		JL(LabelRef(label + "end"))
		Label(label)
		for u := range regs {
			body(u, false)
		}
		step(regs)
		CMPQ(n, U32(regs*s.lanes))
		JGE(LabelRef(label))
		Label(label + "end")
	}
	if unroll > 1 {
		loop("many", unroll)
	}
	loop("one", 1)
	TESTQ(n, n)
	JE(LabelRef("done"))
	s.mask(n)
	body(0, true)
	Label("done")
}

func at(s simd, p GPPhysical, u int) Mem { return Mem{Base: p, Disp: u * s.bytes()} }

func spread(s simd, name string, v VecPhysical) {
	Load(Param(name), v.AsX())
	VBROADCASTSS(v.AsX(), v)
}

func axpy() {
	s := avx2
	TEXT("axpy"+s.suffix, NOSPLIT, "func(n int, alpha float32, x, y *float32)")
	Comment("y[i] += alpha · x[i]; alpha in register 0, x SI, y DI")
	spread(s, "alpha", s.v(0))
	params("x y", RSI, RDI)
	alongside(s, 4, []GPPhysical{RSI, RDI}, func(u int, masked bool) {
		x, y := s.v(1+2*u), s.v(2+2*u)
		s.load(at(s, RSI, u), x, masked)
		s.load(at(s, RDI, u), y, masked)
		VFMADD231PS(x, s.v(0), y)
		s.store(y, at(s, RDI, u), masked)
	})
	ret()
}

func dot(s simd) {
	TEXT("dot"+s.suffix, NOSPLIT, "func(n int, x, y *float32) float32")
	Comment("sum += x[i] · y[i], in registers 0 to 3 by turns; x SI, y DI")
	params("x y", RSI, RDI)
	for u := range 4 {
		s.zero(s.v(u))
	}
	alongside(s, 4, []GPPhysical{RSI, RDI}, func(u int, masked bool) {
		x, y := s.v(4+2*u), s.v(5+2*u)
		s.load(at(s, RSI, u), x, masked)
		s.load(at(s, RDI, u), y, masked)
		VFMADD231PS(x, y, s.v(u))
	})
	VADDPS(s.v(1), s.v(0), s.v(0))
	VADDPS(s.v(3), s.v(2), s.v(2))
	VADDPS(s.v(2), s.v(0), s.v(0))
	if s.lanes == 16 {
		VEXTRACTF64X4(Imm(1), Z0, Y1)
		VADDPS(Y1, Y0, Y0)
	}
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
	s := avx2
	TEXT("reluGrad"+s.suffix, NOSPLIT, "func(n int, dy, y *float32)")
	Comment("if y[i] <= 0 { dy[i] = 0 }; zero in register 0, dy DI, y SI")
	params("dy y", RDI, RSI)
	s.zero(s.v(0))
	alongside(s, 4, []GPPhysical{RSI, RDI}, func(u int, masked bool) {
		y, dy := s.v(1+2*u), s.v(2+2*u)
		s.load(at(s, RSI, u), y, masked)
		s.load(at(s, RDI, u), dy, masked)
		VCMPPS(Imm(6), s.v(0), y, y) // predicate 6: not less than or equal, true for NaN
		VANDPS(y, dy, dy)
		s.store(dy, at(s, RDI, u), masked)
	})
	ret()
}

// byColumns runs body for one register of columns after the other; the last one is masked. The pointers are
// parameters and advance with the columns.
func byColumns(s simd, names string, ptrs []GPPhysical, body func(label string, masked bool)) {
	cols := RDX
	param("c", cols)
	params(names, ptrs...)
	CMPQ(cols, U32(s.lanes))
	JL(LabelRef("last"))
	Label("columns")
	body("whole", false)
	for _, p := range ptrs {
		ADDQ(U32(s.bytes()), p)
	}
	SUBQ(U32(s.lanes), cols)
	CMPQ(cols, U32(s.lanes))
	JGE(LabelRef("columns"))
	Label("last")
	TESTQ(cols, cols)
	JE(LabelRef("done"))
	s.mask(cols)
	body("part", true)
	Label("done")
}

func biasReLU() {
	s := avx2
	TEXT("biasReLU"+s.suffix, NOSPLIT, "func(rows, c int, x, bias *float32)")
	Comment("x[i·c+j] = max(0, x[i·c+j] + bias[j]), down the rows of some columns",
		"x DI, bias SI, bytes in a row R9; zero in register 0, bias in 1")
	stride("c", R9)
	s.zero(s.v(0))
	byColumns(s, "bias x", []GPPhysical{RSI, RDI}, func(label string, masked bool) {
		s.load(Mem{Base: RSI}, s.v(1), masked)
		MOVQ(RDI, RAX)
		param("rows", RCX)
		Label(label)
		s.load(Mem{Base: RAX}, s.v(2), masked)
		VADDPS(s.v(1), s.v(2), s.v(2))
		VMAXPS(s.v(2), s.v(0), s.v(2)) // of NaN and 0: the second operand, NaN
		s.store(s.v(2), Mem{Base: RAX}, masked)
		ADDQ(R9, RAX)
		DECQ(RCX)
		JNE(LabelRef(label))
	})
	ret()
}

func addBiasGrad() {
	s := avx2
	TEXT("addBiasGrad"+s.suffix, NOSPLIT, "func(rows, c int, db, dy *float32)")
	Comment("db[j] += Σ_i dy[i·c+j], down the rows of some columns, in four sums by turns",
		"db DI, dy SI, bytes in a row R9; sums in registers 0 to 3")
	stride("c", R9)
	LEAQ(Mem{Base: R9, Index: R9, Scale: 2}, R10)
	byColumns(s, "db dy", []GPPhysical{RDI, RSI}, func(label string, masked bool) {
		s.load(Mem{Base: RDI}, s.v(0), masked)
		for u := 1; u < 4; u++ {
			s.zero(s.v(u))
		}
		MOVQ(RSI, RAX)
		param("rows", RCX)
		SUBQ(Imm(4), RCX)
		JL(LabelRef(label + "rest"))
		Label(label)
		for u := range 4 {
			m := []Mem{{Base: RAX}, {Base: RAX, Index: R9, Scale: 1}, {Base: RAX, Index: R9, Scale: 2}, {Base: RAX, Index: R10, Scale: 1}}[u]
			s.add(m, s.v(u), s.v(4+u), masked)
		}
		LEAQ(Mem{Base: RAX, Index: R9, Scale: 4}, RAX)
		SUBQ(Imm(4), RCX)
		JGE(LabelRef(label))
		Label(label + "rest")
		ADDQ(Imm(4), RCX)
		JE(LabelRef(label + "sum"))
		Label(label + "row")
		s.add(Mem{Base: RAX}, s.v(0), s.v(4), masked)
		ADDQ(R9, RAX)
		DECQ(RCX)
		JNE(LabelRef(label + "row"))
		Label(label + "sum")
		VADDPS(s.v(1), s.v(0), s.v(0))
		VADDPS(s.v(3), s.v(2), s.v(2))
		VADDPS(s.v(2), s.v(0), s.v(0))
		s.store(s.v(0), Mem{Base: RDI}, masked)
	})
	ret()
}
