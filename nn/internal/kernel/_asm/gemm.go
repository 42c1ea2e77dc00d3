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
	aPtr   = RSI // A, at column l of the tile's first row
	aHigh  = R14 // the same, twelve rows below
	bPtr   = RDI // B, at row l
	cPtr   = RDX // C, at the row that is written
	colStr = R8  // bytes from a column of A to the next
	bStr   = R9  // bytes from a row of B to the next
	count  = RCX // steps to go
	rowStr = map[int]GPPhysical{1: R10, 3: R11, 5: R12, 7: R13, 9: RBX, 11: RAX}
	tile   = R15 // A, at the tile's first row
	cStr   = RCX // bytes from a row of C to the next, after the sums
	accFlg = RDI // acc, after the sums
)

// rowAt is the entry of A in row r at the current column.
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

// rowStrides fills the multiples of the row stride, for a tile of rows rows.
func rowStrides(rows int) {
	Comment("multiples of the row stride: 1 " + rowStr[1].Asm() + ", then 3, 5, 7, 9, 11 as needed")
	r1 := rowStr[1]
	param("rs", r1)
	SHLQ(Imm(2), r1)
	if rows > 3 {
		LEAQ(Mem{Base: r1, Index: r1, Scale: 2}, rowStr[3])
	}
	if rows > 5 {
		LEAQ(Mem{Base: r1, Index: r1, Scale: 4}, rowStr[5])
	}
	if rows > 7 {
		LEAQ(Mem{Base: rowStr[3], Index: r1, Scale: 4}, rowStr[7])
	}
	if rows > 9 {
		LEAQ(Mem{Base: r1, Index: r1, Scale: 8}, rowStr[9])
	}
	if rows > 11 {
		LEAQ(Mem{Base: rowStr[3], Index: r1, Scale: 8}, rowStr[11])
	}
}

// byRows emits the body once for every height from 1 to max, and jumps to the
// one that the parameter rows asks for.
func byRows(max int, body func(rows int, label string)) {
	param("rows", RAX)
	for r := max; r >= 1; r-- {
		CMPQ(RAX, Imm(uint64(r)))
		JE(LabelRef(fmt.Sprintf("rows%d", r)))
	}
	RET()
	for r := max; r >= 1; r-- {
		label := fmt.Sprintf("rows%d", r)
		Label(label)
		body(r, label)
		VZEROUPPER()
		RET()
	}
}

// panel writes a column panel of C, nv registers wide, the last one masked to
// its first cols lanes; tiles tiles of rows rows each, one below the other.
func panel(s simd, nv, maxRows int) {
	TEXT(fmt.Sprintf("panel%d%s", nv*s.lanes, s.suffix), NOSPLIT,
		"func(rows, tiles, l int, a *float32, rs, cs int, b *float32, ldb, cols int, c *float32, ldc int, acc bool)")
	acc := func(r, v int) VecPhysical { return s.v(nv*r + v) }
	b := func(v int) VecPhysical { return s.v(nv*maxRows + v) }
	bcast := s.v(nv*maxRows + nv)
	masked := func(v int) bool { return v == nv-1 }

	Comment("for i < rows·tiles, j < columns: c[i·ldc+j] (+)= Σ_l a[i·rs+l·cs] · b[l·ldb+j]",
		describe("a %v, b %v, c %v, cs %v, ldb %v, l %v, first row of the tile %v", aPtr, bPtr, cPtr, colStr, bStr, count, tile),
		describe("sums from %v, row by row; row of b %v; entry of a %v", acc(0, 0), b(0), bcast))
	param("cols", RAX)
	s.mask(RAX)
	param("a", tile)
	param("c", cPtr)
	param("cs", colStr)
	SHLQ(Imm(2), colStr)
	param("ldb", bStr)
	SHLQ(Imm(2), bStr)
	byRows(maxRows, func(rows int, label string) {
		rowStrides(rows)
		Label(label + "tile")
		for r := range rows {
			for v := range nv {
				s.zero(acc(r, v))
			}
		}
		MOVQ(tile, aPtr)
		param("b", bPtr)
		param("l", count)
		Label(label + "sum")
		for v := range nv {
			s.load(Mem{Base: bPtr, Disp: v * s.bytes()}, b(v), masked(v))
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
		writeRows(label, rows, func(r int, add bool) {
			for v := range nv {
				m := Mem{Base: cPtr, Disp: v * s.bytes()}
				if add {
					s.add(m, acc(r, v), bcast, masked(v))
				}
				s.store(acc(r, v), m, masked(v))
			}
			ADDQ(cStr, cPtr)
		})
		nextTile(label, rows)
	})
}

// writeRows emits write for every row, twice: for C = and for C +=.
func writeRows(label string, rows int, write func(r int, add bool)) {
	param("ldc", cStr)
	SHLQ(Imm(2), cStr)
	Load(Param("acc"), accFlg.As8())
	TESTB(accFlg.As8(), accFlg.As8())
	JNE(LabelRef(label + "add"))
	for r := range rows {
		write(r, false)
	}
	JMP(LabelRef(label + "next"))
	Label(label + "add")
	for r := range rows {
		write(r, true)
	}
	Label(label + "next")
}

// nextTile moves down by rows rows, as long as there are tiles.
func nextTile(label string, rows int) {
	IMUL3Q(Imm(uint64(rows)), rowStr[1], aPtr)
	ADDQ(aPtr, tile)
	DECQ(NewParamAddr("tiles", 8))
	JNE(LabelRef(label + "tile"))
}

// transpose writes blocks of lanes rows and four columns. A register holds four
// columns of four rows (two with AVX2), so only lanes of 128 bits are shuffled.
func transpose(s simd) {
	TEXT("transpose"+s.suffix, NOSPLIT, "func(dst *float32, ldd int, src *float32, lds, cols int)")
	dst, ldd, src, lds, cols := RDI, R9, RSI, R10, RCX
	Comment(fmt.Sprintf("for p < %d, j < cols (a multiple of 4): dst[j·ldd+p] = src[p·lds+j]", s.lanes),
		describe("dst %v, ldd %v, src %v, lds %v (3 R11, 4 R12), cols %v", dst, ldd, src, lds, cols))
	param("dst", dst)
	param("ldd", ldd)
	SHLQ(Imm(2), ldd)
	param("src", src)
	param("lds", lds)
	SHLQ(Imm(2), lds)
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
	VZEROUPPER()
	RET()
}
