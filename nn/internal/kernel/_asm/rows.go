package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// blocks runs body for the columns of a row, up to four registers at a time. The last register is masked. The
// pointers are parameters and advance with the columns.
func blocks(names string, ptrs []GPPhysical, body func(regs int)) {
	const most = 4
	cols := RDX
	param("c", cols)
	params(names, ptrs...)
	Label("block")
	for regs := 1; regs < most; regs++ {
		CMPQ(cols, U32(regs*lanes))
		JLE(LabelRef(fmt.Sprint("regs", regs)))
	}
	for regs := most; regs > 0; regs-- {
		Label(fmt.Sprint("regs", regs))
		LEAQ(Mem{Base: cols, Disp: -(regs - 1) * lanes}, RAX)
		if regs == most {
			MOVQ(U32(lanes), RCX)
			CMPQ(RAX, RCX)
			CMOVQGT(RCX, RAX)
		}
		mask(RAX)
		body(regs)
		if regs < most {
			JMP(LabelRef("done"))
			continue
		}
		for _, p := range ptrs {
			ADDQ(U32(regs*regBytes), p)
		}
		SUBQ(U32(regs*lanes), cols)
		JG(LabelRef("block"))
		JMP(LabelRef("done"))
	}
	Label("done")
}

// overEntries runs entry for each index, with the address of the table row in AX and the factor x[j] in all
// lanes of register 4. An index out of range ends the function.
func overEntries(label string, entry func()) {
	rowBytes, rows, n, idx, x := R9, R10, R11, R8, R13
	XORL(R12L, R12L)
	CMPQ(R12, n)
	JE(LabelRef(label + "end"))
	Label(label)
	MOVL(Mem{Base: idx, Index: R12, Scale: 4}, EAX)
	CMPQ(RAX, rows)
	JAE(LabelRef("bad"))
	IMULQ(rowBytes, RAX)
	VBROADCASTSS(Mem{Base: x, Index: R12, Scale: 4}, ymm(4))
	entry()
	INCQ(R12)
	CMPQ(R12, n)
	JL(LabelRef(label))
	Label(label + "end")
}

// indexParams loads the parameters of overEntries.
func indexParams() {
	stride("c", R9)
	params("rows n idx", R10, R11, R8)
}

// indexReturn returns n, or the position of the index out of range.
func indexReturn() {
	Store(R11, ReturnIndex(0))
	ret()
	Label("bad")
	Store(R12, ReturnIndex(0))
	ret()
}

func addRows() {
	TEXT("addRowsSIMD", NOSPLIT, "func(c int, dst, table *float32, rows int, idx *int32, x *float32, n int) int")
	Comment("for j < n: dst[i] += x[j]·table[idx[j]·c+i]; returns the first j with idx[j] no row, or n",
		"dst DI, table SI, bytes in a row R9, rows R10, n R11, j R12, idx R8, x R13; sums in registers 0 to 3")
	indexParams()
	param("x", R13)
	blocks("dst table", []GPPhysical{RDI, RSI}, func(regs int) {
		for u := range regs {
			load(at(RDI, u), ymm(u), u == regs-1)
		}
		overEntries(fmt.Sprint("sum", regs), func() {
			for u := range regs {
				load(Mem{Base: RSI, Index: RAX, Scale: 1, Disp: u * regBytes}, ymm(5+u), u == regs-1)
				VFMADD231PS(ymm(5+u), ymm(4), ymm(u))
			}
		})
		for u := range regs {
			store(ymm(u), at(RDI, u), u == regs-1)
		}
	})
	indexReturn()
}

func addToRows() {
	TEXT("addToRowsSIMD", NOSPLIT, "func(c int, table *float32, stride, rows int, idx *int32, x *float32, n int, src *float32) int")
	Comment("for j < n: table[idx[j]·stride+i] += x[j]·src[i]; returns the first j with idx[j] no row, or n",
		"table DI, src SI, bytes in a row R9, rows R10, n R11, j R12, idx R8, x R13; src in registers 0 to 3",
		"A row has room for whole registers, of which src fills the last with zeros.")
	indexParams()
	stride("stride", R9)
	param("x", R13)
	blocks("src table", []GPPhysical{RSI, RDI}, func(regs int) {
		for u := range regs {
			load(at(RSI, u), ymm(u), u == regs-1)
		}
		overEntries(fmt.Sprint("row", regs), func() {
			for u := range regs {
				m := Mem{Base: RDI, Index: RAX, Scale: 1, Disp: u * regBytes}
				load(m, ymm(5+u), false)
				VFMADD231PS(ymm(u), ymm(4), ymm(5+u))
				store(ymm(5+u), m, false)
			}
		})
	})
	indexReturn()
}

// adagradRows takes the step of AdaGrad on one row of w and v after the other. It squares and adds in two
// instructions, as the Go loop does, so both give the same bits.
func adagradRows() {
	TEXT("adagradRowsSIMD", NOSPLIT, "func(c int, w, v *float32, rows int, idx *int32, n int, grad *float32, stride int, rate, eps float32) int")
	Comment("for j < n, with r = idx[j]·c: v[r+i] += grad[j·stride+i]²; w[r+i] -= rate·grad[j·stride+i]/(√v[r+i]+eps);",
		"grad[j·stride+i] = 0; returns the first j with idx[j] no row, or n",
		"w DI, v BX, grad SI, bytes in a row R9, of grad R13, rows R10, n R11, j R12, idx R8; rate and eps in registers 0 and 1",
		"A row of grad has room for whole registers.")
	for i, name := range []string{"rate", "eps"} {
		spread(name, ymm(i))
	}
	zero(ymm(6))
	indexParams()
	params("w v grad", RDI, RBX, RSI)
	stride("stride", R13)
	param("c", RDX)
	ANDQ(Imm(uint64(lanes-1)), RDX) // columns in the last register
	MOVQ(RDX, RAX)
	mask(RAX)
	step := func(masked bool) {
		w, g, v, t := ymm(2), ymm(3), ymm(4), ymm(5)
		inW, inV := Mem{Base: RAX}, Mem{Base: RCX}
		load(Mem{Base: R15}, g, masked)
		load(inV, v, masked)
		load(inW, w, masked)
		VMULPS(g, g, t)
		VADDPS(t, v, v)
		store(v, inV, masked)
		VSQRTPS(v, t)
		VADDPS(ymm(1), t, t)
		VMULPS(ymm(0), g, g)
		VDIVPS(t, g, g)
		VSUBPS(g, w, w)
		store(w, inW, masked)
		store(ymm(6), Mem{Base: R15}, false)
	}
	XORL(R12L, R12L)
	CMPQ(R12, R11)
	JE(LabelRef("end"))
	Label("row")
	MOVL(Mem{Base: R8, Index: R12, Scale: 4}, EAX)
	CMPQ(RAX, R10)
	JAE(LabelRef("bad"))
	IMULQ(R9, RAX)
	LEAQ(Mem{Base: RBX, Index: RAX, Scale: 1}, RCX)
	ADDQ(RDI, RAX)
	MOVQ(RSI, R15)
	param("c", R14)
	SUBQ(U32(lanes), R14)
	JL(LabelRef("last"))
	Label("columns")
	step(false)
	for _, p := range []GPPhysical{RAX, RCX, R15} {
		ADDQ(U32(regBytes), p)
	}
	SUBQ(U32(lanes), R14)
	JGE(LabelRef("columns"))
	Label("last")
	TESTQ(RDX, RDX)
	JE(LabelRef("next"))
	step(true)
	Label("next")
	ADDQ(R13, RSI)
	INCQ(R12)
	CMPQ(R12, R11)
	JL(LabelRef("row"))
	Label("end")
	indexReturn()
}
