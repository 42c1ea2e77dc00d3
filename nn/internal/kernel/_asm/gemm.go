package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// Registers of the panels. A row of A is reached as a + rs·{1, 2, 4, 8} or as
// an odd multiple of rs times a scale, so twelve rows need six registers and
// one pointer that moves.
var (
	aPtr     = RSI // A, at column l of the first row of the tile
	bPtr     = RDI // B, at row l
	cPtr     = RDX // C, at the row to write
	colStr   = R8  // bytes from a column of A to the next
	bStr     = R9  // bytes from a row of B to the next
	count    = RCX // remaining steps
	rowStr   = map[int]GPPhysical{1: R10, 3: R11, 5: R12, 7: R13, 9: RBX, 11: RAX}
	tile     = R15 // A, at the first row of the tile
	cStr     = RCX // bytes from a row of C to the next, after the sums
	accFlg   = RDI // acc, after the sums
	rowsLeft = RSI // remaining rows to write, after the sums
)

// rowAt returns the address of the entry of A in row r and the current column.
func rowAt(r int) Mem {
	if r == 0 {
		return Mem{Base: aPtr}
	}
	odd, scale := r, 1
	for odd%2 == 0 {
		odd, scale = odd/2, 2*scale
	}
	return Mem{Base: aPtr, Index: rowStr[odd], Scale: uint8(scale)}
}

// rowStrides computes the multiples of the row stride.
func rowStrides() {
	Comment(describe("%v is the row stride; %v, %v, %v, %v and %v are 3, 5, 7, 9 and 11 of it",
		rowStr[1], rowStr[3], rowStr[5], rowStr[7], rowStr[9], rowStr[11]))
	r1 := rowStr[1]
	stride("rs", r1)
	LEAQ(Mem{Base: r1, Index: r1, Scale: 2}, rowStr[3])
	LEAQ(Mem{Base: r1, Index: r1, Scale: 4}, rowStr[5])
	LEAQ(Mem{Base: rowStr[3], Index: r1, Scale: 4}, rowStr[7])
	LEAQ(Mem{Base: r1, Index: r1, Scale: 8}, rowStr[9])
	LEAQ(Mem{Base: rowStr[3], Index: r1, Scale: 8}, rowStr[11])
}

// panel writes a column panel of C that is nv registers wide. The last register has cols columns. The panel
// has tiles tiles of rows rows each, up to maxRows.
func panel(nv, maxRows int) {
	TEXT(fmt.Sprintf("panel%dSIMD", nv), NOSPLIT,
		"func(rows, tiles, l int, a *float32, rs, cs int, b *float32, ldb, cols int, c *float32, ldc int, acc bool)")
	acc := func(r, v int) VecPhysical { return ymm(nv*r + v) }
	b := func(v int) VecPhysical { return ymm(nv*maxRows + v) }
	entry := ymm(nv*maxRows + nv)
	label := func(rows int) string { return fmt.Sprint("rows", rows) }

	Comment("for i < rows·tiles, j < columns: c[i·ldc+j] (+)= Σ_l a[i·rs+l·cs] · b[l·ldb+j]",
		describe("a %v, b %v, c %v, cs %v, ldb %v, l %v, first row of the tile %v", aPtr, bPtr, cPtr, colStr, bStr, count, tile),
		describe("sums from %v, row by row; row of b %v; entry of a %v", acc(0, 0), b(0), entry))
	param("cols", RAX)
	mask(RAX)
	params("a c", tile, cPtr)
	stride("cs", colStr)
	stride("ldb", bStr)
	rowStrides()
	Label("tile")
	param("rows", count)
	for rows := maxRows; rows > 1; rows-- {
		CMPQ(count, Imm(uint64(rows)))
		JE(LabelRef(label(rows)))
	}
	for rows := 1; rows <= maxRows; rows++ {
		Label(label(rows))
		for r := range rows {
			for v := range nv {
				zero(acc(r, v))
			}
		}
		MOVQ(tile, aPtr)
		params("b l", bPtr, count)
		Label(label(rows) + "sum")
		for v := range nv {
			load(Mem{Base: bPtr, Disp: v * regBytes}, b(v), v == nv-1)
		}
		for r := range rows {
			VBROADCASTSS(rowAt(r), entry)
			for v := range nv {
				VFMADD231PS(entry, b(v), acc(r, v))
			}
		}
		ADDQ(colStr, aPtr)
		ADDQ(bStr, bPtr)
		DECQ(count)
		JNE(LabelRef(label(rows) + "sum"))
		if rows < maxRows {
			JMP(LabelRef("write"))
		}
	}
	Label("write")
	param("rows", rowsLeft)
	stride("ldc", cStr)
	Load(Param("acc"), accFlg.As8())
	write := func(adds, masked bool) {
		for r := range maxRows {
			for v := range nv {
				m, masked := Mem{Base: cPtr, Disp: v * regBytes}, masked && v == nv-1
				if adds {
					add(m, acc(r, v), entry, masked)
				}
				store(acc(r, v), m, masked)
			}
			ADDQ(cStr, cPtr)
			if r < maxRows-1 {
				DECQ(rowsLeft)
				JE(LabelRef("next"))
			}
		}
		JMP(LabelRef("next"))
	}
	Comment("A masked store would hold up the load of a row that overlaps it.")
	CMPQ(NewParamAddr("cols", 64), Imm(lanes))
	JNE(LabelRef("part"))
	for _, masked := range []bool{false, true} {
		name := map[bool]string{false: "whole", true: "part"}[masked]
		Label(name)
		TESTB(accFlg.As8(), accFlg.As8())
		JNE(LabelRef(name + "add"))
		write(false, masked)
		Label(name + "add")
		write(true, masked)
	}
	Label("next")
	param("rows", aPtr)
	IMULQ(rowStr[1], aPtr)
	ADDQ(aPtr, tile)
	DECQ(NewParamAddr("tiles", 8))
	JNE(LabelRef("tile"))
	ret()
}
