package main

import "fmt"

// Registers of the loops over fields.
const (
	fTable = reg(0)  // the table, at the current columns
	fRows  = reg(1)  // the first row of dst or src, at these columns
	fRow   = reg(3)  // the row of the current field
	fIdx   = reg(4)  // offsets of the field's table rows
	fNone  = reg(5)  // the address for an offset of -1
	fLimit = reg(6)  // the largest offset
	fStr   = reg(7)  // bytes of a row
	fN     = reg(8)  // offsets of a field
	fW     = reg(9)  // remaining fields
	fJ     = reg(10) // remaining offsets
	fAt    = reg(11) // the current offset, then the address of the table row
)

// overFields loops over the columns of the table, one block at a time, and over the fields. begin and end
// enclose a field. each runs with the address of a table row in fAt, or fNone for an offset of -1. It has no
// branch, because dummy nodes cannot be predicted. An offset beyond the table ends the function.
func overFields(a *asm, row string, begin, each, end func(b block)) {
	a.stride("c", fStr)
	a.params("limit n", fLimit, fN)
	byColumns(a, "table "+row, []reg{fTable, fRows}, func(b block) {
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
	a.function("gatherFieldsSIMD", "w, n, c int, dst, table *float32, limit int, idx *int32", "bad bool", 0,
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
	a.function("scatterFieldsSIMD", "w, n, c int, table, src *float32, limit int, idx *int32", "bad bool", 8*64,
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
