package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// rowOffsets computes one offset a lane.
func rowOffsets() {
	TEXT("rowOffsetsSIMD", NOSPLIT, "func(n int, dst, first, count, values *int32, c int32) (bad bool)")
	Comment("dst[i] = first[i] + c·values[i], or -1 where values[i] is -1; bad when some value is not -1 to count[i]-1",
		"dst DI, first SI, count R8, values R9; c in register 0, -1 in 1, what is bad in 2")
	c, ones, bad := ymm(0), ymm(1), ymm(2)
	Load(Param("c"), EAX)
	VMOVD(EAX, c.AsX())
	VPBROADCASTD(c.AsX(), c)
	params("dst first count values", RDI, RSI, R8, R9)
	VPCMPEQD(ones, ones, ones)
	VPXOR(bad, bad, bad)
	alongside(2, []GPPhysical{RDI, RSI, R8, R9}, func(u int, masked bool) {
		first, count, v, t := ymm(3+4*u), ymm(4+4*u), ymm(5+4*u), ymm(6+4*u)
		load(at(RSI, u), first, masked)
		load(at(R8, u), count, masked)
		load(at(R9, u), v, masked)
		VPSUBD(ones, v, t) // v+1
		if masked {
			VPAND(Y15, t, t)
		}
		VPOR(t, bad, bad) // v < -1
		VPCMPGTD(count, t, t)
		VPOR(t, bad, bad) // v ≥ count
		VPSRAD(Imm(31), v, t)
		VPMULLD(c, v, v)
		VPADDD(first, v, v)
		VPOR(t, v, v)
		store(v, at(RDI, u), masked)
	})
	VMOVMSKPS(bad, EAX)
	TESTL(EAX, EAX)
	SETNE(NewParamAddr("bad", 48))
	ret()
}

// Registers of the loops over fields.
var (
	fIdx   = RSI // offsets of the field's table rows
	fTable = RDI // the table, at the current columns
	fRow   = RDX // the current row of dst or src, at these columns
	fNone  = R8  // the address for an offset of -1
	fLimit = R9  // the largest offset
	fStr   = R11 // bytes of a row
	fN     = R12 // offsets of a field
	fW     = R13 // remaining fields
	fJ     = R14 // remaining offsets
	fCols  = R15 // remaining columns
)

// overFields loops over the columns of the table, one register at a time, and over the fields. begin and end
// enclose a field. each runs with the address of a table row in AX, or fNone for an offset of -1. It has no
// branch, because dummy nodes cannot be predicted. An offset beyond the table ends the function.
func overFields(row string, begin, each, end func(masked bool)) {
	param("c", fCols)
	MOVQ(fCols, fStr)
	SHLQ(Imm(2), fStr)
	params("table limit n", fTable, fLimit, fN)
	columns := func(label string, masked bool) {
		param("idx", fIdx)
		param(row, fRow)
		param("w", fW)
		MOVQ(fTable, RBX)
		param("table", RCX)
		SUBQ(RCX, RBX) // bytes of the columns before these
		ADDQ(RBX, fRow)
		Label(label)
		begin(masked)
		MOVQ(fN, fJ)
		Label(label + "offset")
		MOVLQSX(Mem{Base: fIdx}, RCX)
		CMPQ(RCX, fLimit)
		JGT(LabelRef("bad"))
		LEAQ(Mem{Base: fTable, Index: RCX, Scale: 4}, RAX)
		TESTQ(RCX, RCX)
		CMOVQLT(fNone, RAX)
		each(masked)
		ADDQ(Imm(4), fIdx)
		DECQ(fJ)
		JNE(LabelRef(label + "offset"))
		end(masked)
		ADDQ(fStr, fRow)
		DECQ(fW)
		JNE(LabelRef(label))
	}
	CMPQ(fCols, U32(lanes))
	JL(LabelRef("last"))
	Label("columns")
	columns("whole", false)
	ADDQ(U32(regBytes), fTable)
	SUBQ(U32(lanes), fCols)
	CMPQ(fCols, U32(lanes))
	JGE(LabelRef("columns"))
	Label("last")
	TESTQ(fCols, fCols)
	JE(LabelRef("done"))
	mask(fCols)
	columns("part", true)
	Label("done")
	MOVB(U8(0), NewParamAddr("bad", 56))
	ret()
	Label("bad")
	MOVB(U8(1), NewParamAddr("bad", 56))
	ret()
}

func gatherFields() {
	TEXT("gatherFieldsSIMD", NOSPLIT, "func(w, n, c int, dst, table *float32, limit int, idx *int32) (bad bool)")
	Comment("for f < w, j < n, i < c: dst[f·c+i] += table[idx[f·n+j]+i]; sum in register 0",
		describe("dst %v, table %v, idx %v, n %v, limit %v, zeros %v", fRow, fTable, fIdx, fN, fLimit, fNone))
	loadZeros(fNone)
	overFields("dst",
		func(masked bool) { load(Mem{Base: fRow}, ymm(0), masked) },
		func(masked bool) { add(Mem{Base: RAX}, ymm(0), ymm(1), masked) },
		func(masked bool) { store(ymm(0), Mem{Base: fRow}, masked) })
}

func scatterFields() {
	TEXT("scatterFieldsSIMD", NOSPLIT, "func(w, n, c int, table, src *float32, limit int, idx *int32) (bad bool)")
	Comment("for f < w, j < n, i < c: table[idx[f·n+j]+i] += src[f·c+i]; src in register 0",
		describe("src %v, table %v, idx %v, n %v, limit %v", fRow, fTable, fIdx, fN, fLimit),
		describe("%v is one of eight aligned places in the frame by turns, or each -1 would wait for the one before", fNone))
	waste := AllocLocal(9 * 64)
	LEAQ(waste.Offset(63), R10)
	ANDQ(I8(-64), R10)
	overFields("src",
		func(masked bool) {
			load(Mem{Base: fRow}, ymm(0), masked)
			MOVQ(R10, fNone)
			XORL(EBX, EBX)
		},
		func(masked bool) {
			m := Mem{Base: RAX}
			if masked {
				load(m, ymm(1), true)
				VADDPS(ymm(0), ymm(1), ymm(1))
			} else {
				VADDPS(m, ymm(0), ymm(1))
			}
			store(ymm(1), m, masked)
			ADDL(Imm(64), EBX)
			ANDL(U32(7*64), EBX)
			LEAQ(Mem{Base: R10, Index: RBX, Scale: 1}, fNone)
		},
		func(bool) {})
}

var zeroTable Mem

// loadZeros sets p to the address of zero bytes for a register. The address is aligned to the size of a register, so
// that a load touches one cache line.
func loadZeros(p GPPhysical) {
	if zeroTable.Symbol.Name == "" {
		zeroTable = GLOBL("zeros", RODATA|NOPTR)
		for i := range 2 * lanes {
			DATA(4*i, U32(0))
		}
	}
	LEAQ(zeroTable.Offset(regBytes-1), p)
	ANDQ(I8(-regBytes), p)
}
