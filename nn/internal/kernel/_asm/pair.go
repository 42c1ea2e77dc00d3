package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// Up to 8 columns of B fill half a register. The pair kernels use the other half for a second value of
// A: a 64-bit broadcast copies the pair a0 a1 to all eight pairs of lanes.
//
//	pair:    a0 and a1 are neighbours in a row, and B is b0[0] b1[0] b0[1] b1[1] …
//	         so the two lanes of a pair sum to one entry of C
//	pairTN:  a0 and a1 are neighbours in a row, that is, rows of C, and B is
//	         b[0] b[0] b[1] b[1] … so the lanes of a pair are entries of two rows

// lanesOf returns sixteen lane indices in memory.
func lanesOf(name string, f func(i int) int) Mem {
	m := GLOBL(name, RODATA|NOPTR)
	for i := range 16 {
		DATA(4*i, U32(uint32(f(i))))
	}
	return m
}

// split is the permutation of lanes 0 2 4 … 14 1 3 5 … 15, and twice is 0 0 1 1 … 7 7.
func splitIndex(i int) int { return i%8*2 + i/8 }
func twiceIndex(i int) int { return i / 2 }

var split, twice Mem

func pair(maxRows int) {
	split, twice = lanesOf("split", splitIndex), lanesOf("twice", twiceIndex)
	TEXT("pairAVX512", NOSPLIT,
		"func(rows, tiles, l int, a *float32, rs int, b *float32, n int, c *float32, ldc int, acc bool)")
	b, mix, spl, bcast := z(maxRows), z(maxRows+1), z(maxRows+2), maxRows+3
	Comment("for i < rows·tiles, j < n ≤ 8: c[i·ldc+j] (+)= Σ_l a[i·rs+l] · b[l·n+j]",
		describe("a %v and %v, b %v, c %v, l %v, first row of the tile %v", aPtr, aHigh, bPtr, cPtr, count, tile),
		describe("sums from %v, one a row; two rows of b %v, their order %v; order of the result %v", z(0), b, mix, spl))
	nBytes := R9 // of two rows of B
	Comment("K1 is n lanes, K2 is 2n lanes, K3 the odd lanes")
	param("n", RAX)
	VPBROADCASTD(EAX, b)
	VMOVUPS(twice, mix)
	MOVL(U32(0xaaaa), ECX)
	KMOVW(ECX, K3)
	VPADDD(b, mix, K3, mix)
	VMOVUPS(split, spl)
	MOVQ(RAX, nBytes)
	SHLQ(Imm(3), nBytes)
	MOVQ(RAX, RCX)
	MOVL(U32(1), EBX)
	SHLL(CL, EBX)
	MOVL(EBX, R8L)
	SHLL(CL, R8L)
	DECL(EBX)
	DECL(R8L)
	KMOVW(EBX, K1)
	KMOVW(R8L, K2)
	params("a c", tile, cPtr)
	rowStrides()
	sumRows(maxRows, func(rows int, label string) {
		for r := range rows {
			avx512.zero(z(r))
		}
		MOVQ(tile, aPtr)
		if rows > 12 {
			LEAQ(Mem{Base: tile, Index: rowStr[3], Scale: 4}, aHigh)
		}
		params("b l", bPtr, count)
		SUBQ(Imm(2), count)
		JL(LabelRef(label + "odd"))
		Label(label + "sum")
		VMOVUPS_Z(Mem{Base: bPtr}, K2, b)
		VPERMPS(b, mix, b)
		for r := range rows {
			t := z(bcast + r%2)
			VBROADCASTSD(rowAt(r), t)
			VFMADD231PS(t, b, z(r))
		}
		ADDQ(Imm(8), aPtr)
		if rows > 12 {
			ADDQ(Imm(8), aHigh)
		}
		ADDQ(nBytes, bPtr)
		SUBQ(Imm(2), count)
		JGE(LabelRef(label + "sum"))
		Label(label + "odd")
		Comment("the last of an odd l: pairs a0 0")
		CMPQ(count, I8(-2))
		JE(LabelRef("write"))
		VMOVUPS_Z(Mem{Base: bPtr}, K1, b)
		VPERMPS(b, mix, b)
		for r := range rows {
			t := bcast + r%2
			VMOVSS(rowAt(r), x(t))
			VBROADCASTSD(x(t), z(t))
			VFMADD231PS(z(t), b, z(r))
		}
	})
	ifAcc("", func(add bool) {
		writeRows(maxRows, "next", func(r int) {
			t := y(bcast + r%2)
			VPERMPS(z(r), spl, z(r))
			VEXTRACTF32X8(Imm(1), z(r), t)
			VADDPS(t, y(r), y(r))
			if add {
				VMOVUPS_Z(Mem{Base: cPtr}, K1, t)
				VADDPS(t, y(r), y(r))
			}
			VMOVUPS(y(r), K1, Mem{Base: cPtr})
			ADDQ(cStr, cPtr)
		})
	})
	Label("next")
	param("rows", aPtr)
	IMULQ(rowStr[1], aPtr)
	ADDQ(aPtr, tile)
	nextTile()
}

func pairTN(maxRows int) {
	TEXT("pairTNAVX512", NOSPLIT,
		"func(rows, tiles, l int, a *float32, lda int, b *float32, ldb, n int, c *float32, ldc int, acc bool)")
	cSaved := aHigh
	b, dup, spl, bcast := z(maxRows), z(maxRows+1), z(maxRows+2), maxRows+3
	Comment("for p < 2·rows·tiles, j < n ≤ 8: c[p·ldc+j] (+)= Σ_l a[l·lda+p] · b[l·ldb+j]",
		describe("a %v, b %v, c %v, lda %v, ldb %v, l %v, first column of the tile %v", aPtr, bPtr, cPtr, colStr, bStr, count, tile),
		describe("sums from %v, one for two rows of c; row of b %v, its order %v; order of the result %v", z(0), b, dup, spl))
	VMOVUPS(twice, dup)
	VMOVUPS(split, spl)
	param("n", RAX)
	avx512.mask(RAX)
	params("a c", tile, cPtr)
	stride("lda", colStr)
	stride("ldb", bStr)
	sumRows(maxRows, func(rows int, label string) {
		for r := range rows {
			avx512.zero(z(r))
		}
		MOVQ(tile, aPtr)
		params("b l", bPtr, count)
		Label(label + "sum")
		VMOVUPS_Z(Mem{Base: bPtr}, K1, b.AsY())
		VPERMPS(b, dup, b)
		for r := range rows {
			t := z(bcast + r%2)
			VBROADCASTSD(Mem{Base: aPtr, Disp: 8 * r}, t)
			VFMADD231PS(t, b, z(r))
		}
		ADDQ(colStr, aPtr)
		ADDQ(bStr, bPtr)
		DECQ(count)
		JNE(LabelRef(label + "sum"))
	})
	for r := range maxRows {
		VPERMPS(z(r), spl, z(r))
	}
	Load(Param("acc"), accFlg.As8())
	TESTB(accFlg.As8(), accFlg.As8())
	JE(LabelRef("store"))
	Comment("All of C is read before any is written: a masked load that overlaps a masked store waits for it.")
	MOVQ(cPtr, cSaved)
	low, high := bcast, bcast+1
	writeRows(maxRows, "added", func(r int) {
		VMOVUPS_Z(Mem{Base: cPtr}, K1, y(low))
		VMOVUPS_Z(Mem{Base: cPtr, Index: cStr, Scale: 1}, K1, y(high))
		VINSERTF32X8(Imm(1), y(high), z(low), z(low))
		VADDPS(z(low), z(r), z(r))
		LEAQ(Mem{Base: cPtr, Index: cStr, Scale: 2}, cPtr)
	})
	Label("added")
	MOVQ(cSaved, cPtr)
	param("rows", rowsLeft)
	Label("store")
	writeRows(maxRows, "next", func(r int) {
		VMOVUPS(y(r), K1, Mem{Base: cPtr})
		VEXTRACTF32X8(Imm(1), z(r), y(high))
		VMOVUPS(y(high), K1, Mem{Base: cPtr, Index: cStr, Scale: 1})
		LEAQ(Mem{Base: cPtr, Index: cStr, Scale: 2}, cPtr)
	})
	Label("next")
	param("rows", aPtr)
	LEAQ(Mem{Base: tile, Index: aPtr, Scale: 8}, tile)
	nextTile()
}
