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
	aHigh    = R14 // A, twelve rows below aPtr
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
	if r >= 12 {
		m := rowAt(r - 12)
		m.Base = aHigh
		return m
	}
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

// sumRows emits the sums of a tile for each height from 1 to max, and a jump to those of the parameter rows.
func sumRows(max int, sum func(rows int, label string)) {
	label := func(r int) string { return fmt.Sprintf("rows%d", r) }
	Label("tile")
	param("rows", count)
	for r := max; r > 1; r-- {
		CMPQ(count, Imm(uint64(r)))
		JE(LabelRef(label(r)))
	}
	for r := 1; r <= max; r++ {
		Label(label(r))
		sum(r, label(r))
		if r < max {
			JMP(LabelRef("write"))
		}
	}
	Label("write")
	param("rows", rowsLeft)
	stride("ldc", cStr)
}

// writeRows emits write for max rows, with a jump to exit after the last row of a lower tile.
func writeRows(max int, exit string, write func(r int)) {
	for r := range max {
		write(r)
		if r < max-1 {
			DECQ(rowsLeft)
			JE(LabelRef(exit))
		}
	}
}

// ifAcc emits the code for C = and for C +=, each with a jump to next.
func ifAcc(prefix string, emit func(add bool)) {
	Load(Param("acc"), accFlg.As8())
	TESTB(accFlg.As8(), accFlg.As8())
	JNE(LabelRef(prefix + "add"))
	emit(false)
	JMP(LabelRef("next"))
	Label(prefix + "add")
	emit(true)
	JMP(LabelRef("next"))
}

// nextTile jumps to the next tile, or returns after the last. The caller has advanced the register tile.
func nextTile() {
	DECQ(NewParamAddr("tiles", 8))
	JNE(LabelRef("tile"))
	ret()
}

// panel writes a column panel of C that is nv registers wide. The last register has cols columns. The panel
// has tiles tiles of rows rows each.
func panel(s simd, nv, maxRows int) {
	TEXT(fmt.Sprintf("panel%d%s", nv*s.lanes, s.suffix), NOSPLIT,
		"func(rows, tiles, l int, a *float32, rs, cs int, b *float32, ldb, cols int, c *float32, ldc int, acc bool)")
	acc := func(r, v int) VecPhysical { return s.v(nv*r + v) }
	b := func(v int) VecPhysical { return s.v(nv*maxRows + v) }
	bcast := s.v(nv*maxRows + nv)

	Comment("for i < rows·tiles, j < columns: c[i·ldc+j] (+)= Σ_l a[i·rs+l·cs] · b[l·ldb+j]",
		describe("a %v, b %v, c %v, cs %v, ldb %v, l %v, first row of the tile %v", aPtr, bPtr, cPtr, colStr, bStr, count, tile),
		describe("sums from %v, row by row; row of b %v; entry of a %v", acc(0, 0), b(0), bcast))
	param("cols", RAX)
	s.mask(RAX)
	params("a c", tile, cPtr)
	stride("cs", colStr)
	stride("ldb", bStr)
	rowStrides()
	sumRows(maxRows, func(rows int, label string) {
		for r := range rows {
			for v := range nv {
				s.zero(acc(r, v))
			}
		}
		MOVQ(tile, aPtr)
		params("b l", bPtr, count)
		Label(label + "sum")
		for v := range nv {
			s.load(Mem{Base: bPtr, Disp: v * s.bytes()}, b(v), v == nv-1)
		}
		for r := range rows {
			if nv == 1 && s.lanes == 16 {
				VFMADD231PS_BCST(rowAt(r), b(0), acc(r, 0))
				continue
			}
			VBROADCASTSS(rowAt(r), bcast)
			for v := range nv {
				VFMADD231PS(bcast, b(v), acc(r, v))
			}
		}
		ADDQ(colStr, aPtr)
		ADDQ(bStr, bPtr)
		DECQ(count)
		JNE(LabelRef(label + "sum"))
	})
	write := func(masked bool) func(add bool) {
		return func(add bool) {
			writeRows(maxRows, "next", func(r int) {
				for v := range nv {
					m, masked := Mem{Base: cPtr, Disp: v * s.bytes()}, masked && v == nv-1
					if add {
						s.add(m, acc(r, v), bcast, masked)
					}
					s.store(acc(r, v), m, masked)
				}
				ADDQ(cStr, cPtr)
			})
		}
	}
	Comment("A masked store would hold up the load of a row that overlaps it.")
	CMPQ(NewParamAddr("cols", 64), Imm(uint64(s.lanes)))
	JNE(LabelRef("part"))
	ifAcc("whole", write(false))
	Label("part")
	ifAcc("part", write(true))
	Label("next")
	param("rows", aPtr)
	IMULQ(rowStr[1], aPtr)
	ADDQ(aPtr, tile)
	nextTile()
}

// transpose writes blocks of s.lanes rows and four columns. A register holds four columns of four rows (two
// with AVX2), so values move within 128-bit lanes alone.
func transpose(s simd) {
	TEXT("transpose"+s.suffix, NOSPLIT, "func(dst *float32, ldd int, src *float32, lds, cols int)")
	dst, ldd, src, lds, cols := RDI, R9, RSI, R10, RCX
	Comment(fmt.Sprintf("for p < %d, j < cols (a multiple of 4): dst[j·ldd+p] = src[p·lds+j]", s.lanes),
		describe("dst %v, ldd %v, src %v, lds %v (3 R11, 4 R12), cols %v", dst, ldd, src, lds, cols))
	param("dst", dst)
	stride("ldd", ldd)
	param("src", src)
	stride("lds", lds)
	param("cols", cols)
	LEAQ(Mem{Base: lds, Index: lds, Scale: 2}, R11)
	MOVQ(lds, R12)
	SHLQ(Imm(2), R12)
	Label("block")
	MOVQ(src, RAX) // row 4q
	for q := range s.lanes / 4 {
		for r := range 4 {
			m := []Mem{{Base: RAX}, {Base: RAX, Index: lds, Scale: 1}, {Base: RAX, Index: lds, Scale: 2}, {Base: RAX, Index: R11, Scale: 1}}[r]
			switch {
			case q == 0:
				VMOVUPS(m, x(r))
			case s.lanes == 8:
				VINSERTF128(Imm(1), m, y(r), y(r))
			default:
				VINSERTF32X4(Imm(uint64(q)), m, z(r), z(r))
			}
		}
		if q < s.lanes/4-1 {
			ADDQ(R12, RAX)
		}
	}
	v := s.v
	VUNPCKLPS(v(1), v(0), v(4)) // a0 b0 a1 b1
	VUNPCKHPS(v(1), v(0), v(5)) // a2 b2 a3 b3
	VUNPCKLPS(v(3), v(2), v(6)) // c0 d0 c1 d1
	VUNPCKHPS(v(3), v(2), v(7)) // c2 d2 c3 d3
	VUNPCKLPD(v(6), v(4), v(0)) // a0 b0 c0 d0
	VUNPCKHPD(v(6), v(4), v(1)) // a1 b1 c1 d1
	VUNPCKLPD(v(7), v(5), v(2))
	VUNPCKHPD(v(7), v(5), v(3))
	for r := range 4 {
		VMOVUPS(v(r), Mem{Base: dst})
		ADDQ(ldd, dst)
	}
	ADDQ(Imm(16), src)
	SUBQ(Imm(4), cols)
	JNE(LabelRef("block"))
	ret()
}
