package main

import "fmt"

// rowOffsets is done for four values at a time, and one by one for the rest.
func rowOffsets(a *asm) {
	a.function("rowOffsetsNEON", "n int, dst, first, count, values *int32, c int32", "bad bool", 0,
		"dst[i] = first[i] + c·values[i], or -1 where values[i] is -1; bad when some value is not -1 to count[i]-1",
		"dst R0, first R1, n R2, count R3, values R4, c R5 and V0; 1 in V1, what is bad in V2")
	const dst, first, n, count, values, c, minus = reg(0), reg(1), reg(2), reg(3), reg(4), reg(5), reg(6)
	ptrs := []reg{dst, first, count, values}
	a.paramAs("MOVW", "c", c.goes())
	a.dupReg(0, c)
	a.emit("MOVD $1, R6")
	a.dupReg(1, 6)
	a.emit("MOVD $-1, " + minus.goes())
	a.zero(2)
	a.param("n", n)
	for i, name := range []string{"dst", "first", "count", "values"} {
		a.param(name, ptrs[i])
	}
	step := func(bytes int) {
		for _, p := range ptrs {
			a.addTo(p, bytes)
		}
	}
	for _, regs := range []int{2, 1} {
		label := fmt.Sprint("values", 4*regs)
		a.subFrom(n, 4*regs)
		a.jumpIf("lt", label+"end")
		a.label(label)
		for u := range regs {
			f, m, v, t := vec(3+4*u), vec(4+4*u), vec(5+4*u), vec(6+4*u)
			a.load('q', f, first, 16*u)
			a.load('q', m, count, 16*u)
			a.load('q', v, values, 16*u)
			a.op("add", t, v, 1)
			a.op("cmhi", t, t, m) // without sign, which -1 wraps around to 0 for
			a.bits("orr", 2, 2, t)
			a.shift("sshr", t, v, 31)
			a.op("mla", f, v, 0)
			a.bits("orr", f, f, t)
			a.store('q', f, dst, 16*u)
		}
		step(16 * regs)
		a.subFrom(n, 4*regs)
		a.jumpIf("ge", label)
		a.label(label + "end")
		a.addTo(n, 4*regs)
	}
	a.highest(2, 2)
	a.emit("FMOVS F2, R7")
	a.jumpUnlessZero(7, "bad")
	a.jumpIfZero(n, "good")
	a.label("one")
	f, m, v, t := reg(7), reg(8), reg(9), reg(10)
	a.loadInt(f, first)
	a.loadInt(m, count)
	a.loadInt(v, values)
	a.emit("ADDW $1, R9, R10")
	a.compare(t, m)
	a.jumpIf("hi", "bad")
	a.madd(f, v, c, f)
	a.compareTo(v, 0)
	a.choose("lt", f, minus, f)
	a.emit("MOVW R7, (R0)")
	step(4)
	a.subFrom(n, 1)
	a.jumpIf("ne", "one")
	a.label("good")
	a.returns("MOVB", "bad", "ZR")
	a.label("bad")
	a.emit("MOVD $1, R7")
	a.returns("MOVB", "bad", "R7")
}

// Registers of the loops over fields.
const (
	fTable = reg(0) // the table, at the columns in hand
	fRows  = reg(1) // the rows of dst or src, at those columns
	fRow   = reg(3) // that of the field
	fIdx   = reg(4) // offsets of the field's table rows
	fNone  = reg(5) // where an offset of -1 leads
	fLimit = reg(6) // the largest offset
	fStr   = reg(7) // bytes of a row
	fN     = reg(8) // offsets of a field
	fW     = reg(9) // fields to go
	fJ     = reg(10)
	fAt    = reg(11) // offset in hand, and the table row there
)

// overFields walks the columns of the table a block at a time, and the fields.
// begin and end enclose a field, each runs with the first byte of a table row in
// fAt, that of fNone for an offset of -1: no branch, since which nodes are
// dummies is not for a predictor to guess. An offset beyond the table leaves the
// function.
func overFields(a *asm, row string, begin, each, end func(b block)) {
	a.param("c", fStr)
	a.times4(fStr, fStr)
	a.param("limit", fLimit)
	a.param("n", fN)
	byColumns(a, []string{"table", row}, []reg{fTable, fRows}, func(b block) {
		field, offset := fmt.Sprint("field", b), fmt.Sprint("offset", b)
		a.param("idx", fIdx)
		a.mov(fRow, fRows)
		a.param("w", fW)
		a.label(field)
		begin(b)
		a.mov(fJ, fN)
		a.label(offset)
		a.loadInt(fAt, fIdx)
		a.addTo(fIdx, 4)
		a.compare(fAt, fLimit)
		a.jumpIf("gt", "bad")
		a.compareTo(fAt, 0)
		a.addShifted(fAt, fTable, fAt, 2)
		a.choose("lt", fAt, fNone, fAt)
		each(b)
		a.subFrom(fJ, 1)
		a.jumpIf("ne", offset)
		end(b)
		a.add(fRow, fRow, fStr)
		a.subFrom(fW, 1)
		a.jumpIf("ne", field)
	})
	a.returns("MOVB", "bad", "ZR")
	a.label("bad")
	a.emit("MOVD $1, R7")
	a.returns("MOVB", "bad", "R7")
}

func gatherFields(a *asm) {
	a.table("zeros", make([]uint32, 16)...)
	a.function("gatherFieldsNEON", "w, n, c int, dst, table *float32, limit int, idx *int32", "bad bool", 0,
		"for f < w, j < n, i < c: dst[f·c+i] += table[idx[f·n+j]+i]; sums in V0 to V3",
		"table R0, dst R3, idx R4, zeros R5, limit R6, n R8")
	a.address("zeros", fNone)
	overFields(a, "dst",
		func(b block) { b.load(a, 0, fRow) },
		func(b block) {
			b.load(a, 4, fAt)
			b.each(0, 4, func(v, w vec) { a.op("fadd", v, v, w) })
		},
		func(b block) { b.store(a, 0, fRow) })
}

func scatterFields(a *asm) {
	const waste, turn = reg(12), reg(13)
	a.function("scatterFieldsNEON", "w, n, c int, table, src *float32, limit int, idx *int32", "bad bool", 8*64,
		"for f < w, j < n, i < c: table[idx[f·n+j]+i] += src[f·c+i]; src in V0 to V3",
		"table R0, src R3, idx R4, limit R6, n R8",
		"R5 is one of eight places in the frame by turns, or each -1 would wait for the one before")
	a.emit("MOVD $waste-512(SP), R12")
	a.zeroReg(turn)
	overFields(a, "src",
		func(b block) {
			b.load(a, 0, fRow)
			a.add(fNone, waste, turn)
		},
		func(b block) {
			b.load(a, 4, fAt)
			b.each(4, 0, func(v, w vec) { a.op("fadd", v, v, w) })
			b.store(a, 4, fAt)
			a.addTo(turn, 64)
			a.emit("AND $448, R13")
			a.add(fNone, waste, turn)
		},
		func(block) {})
}
