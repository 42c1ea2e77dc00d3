//go:build !noasm

#include "textflag.h"

// The kernels for NEON. The comment of a function is the loop that it equals. NEON has no masked loads and stores, so
// the values behind the last whole register are moved two, then one at a time.

// Vector instructions that Go's assembler lacks, on registers given by number. The last one is the result.

#define FADD(m, n, d)  WORD $(0x4e20d400 | (m)<<16 | (n)<<5 | (d)) // fadd v{d}.4s, v{n}.4s, v{m}.4s
#define FADDP(m, n, d) WORD $(0x6e20d400 | (m)<<16 | (n)<<5 | (d)) // faddp v{d}.4s, v{n}.4s, v{m}.4s
#define FMAX(m, n, d)  WORD $(0x4e20f400 | (m)<<16 | (n)<<5 | (d)) // fmax v{d}.4s, v{n}.4s, v{m}.4s
#define FMLA(m, n, d)  WORD $(0x4e20cc00 | (m)<<16 | (n)<<5 | (d)) // fmla v{d}.4s, v{n}.4s, v{m}.4s
#define FMLAS(m, n, d) WORD $(0x4f801000 | (m)<<16 | (n)<<5 | (d)) // fmla v{d}.4s, v{n}.4s, v{m}.s[0]
#define BIC(m, n, d)   WORD $(0x4e601c00 | (m)<<16 | (n)<<5 | (d)) // bic v{d}.16b, v{n}.16b, v{m}.16b
#define FCMLE(n, d)    WORD $(0x6ea0d800 | (n)<<5 | (d))           // fcmle v{d}.4s, v{n}.4s, #0.0
#define MOVE(n, d)     WORD $(0x4ea01c00 | (n)<<16 | (n)<<5 | (d)) // mov v{d}.16b, v{n}.16b
#define ZERO(d)        WORD $(0x4f000400 | (d))                    // movi v{d}.4s, #0

// ALONGSIDE advances R0 and R1 over n values. BODY(MOV, off, u, x, y) runs for four registers at a time, then for
// single registers, for two values and for one value, which MOV moves. The values are at off from R0 and R1, and
// registers x and y are free.

#define ALONGSIDE(BODY) \
	MOVD n+0(FP), R2; \
	SUBS $16, R2; \
	BLT  few; \
many: \
	BODY(FMOVQ, 0, 0, 4, 5); \
	BODY(FMOVQ, 16, 1, 6, 7); \
	BODY(FMOVQ, 32, 2, 8, 9); \
	BODY(FMOVQ, 48, 3, 10, 11); \
	STEP(64); \
	SUBS $16, R2; \
	BGE  many; \
few: \
	ADDS $12, R2; \
	BLT  rest; \
one: \
	BODY(FMOVQ, 0, 0, 4, 5); \
	STEP(16); \
	SUBS $4, R2; \
	BGE  one; \
rest: \
	TBZ  $1, R2, nottwo; \
	BODY(FMOVD, 0, 0, 4, 5); \
	STEP(8); \
nottwo: \
	TBZ  $0, R2, notone; \
	BODY(FMOVS, 0, 0, 4, 5); \
notone:

#define STEP(bytes) \
	ADD $bytes, R0; \
	ADD $bytes, R1

// func axpySIMD(n int, alpha float32, x, y *float32)
//
//	for i < n: y[i] += alpha * x[i]
TEXT ·axpySIMD(SB), NOSPLIT, $0-32
	FMOVS alpha+8(FP), F0
	MOVD  x+16(FP), R0
	MOVD  y+24(FP), R1

#define AXPY(MOV, off, u, x, y) \
	MOV off(R0), F(x); \
	MOV off(R1), F(y); \
	FMLAS(0, x, y); \
	MOV F(y), off(R1)

	ALONGSIDE(AXPY)
	RET

// func dotSIMD(n int, x, y *float32) float32
//
//	for i < n: sum += x[i] * y[i], in V0 to V3 by turns
TEXT ·dotSIMD(SB), NOSPLIT, $0-28
	MOVD x+8(FP), R0
	MOVD y+16(FP), R1
	ZERO(0)
	ZERO(1)
	ZERO(2)
	ZERO(3)

#define DOT(MOV, off, u, x, y) \
	MOV off(R0), F(x); \
	MOV off(R1), F(y); \
	FMLA(y, x, u)

	ALONGSIDE(DOT)
	FADD(1, 0, 0)
	FADD(3, 2, 2)
	FADD(2, 0, 0)
	FADDP(0, 0, 0)
	FADDP(0, 0, 0)
	FMOVS F0, ret+24(FP)
	RET

// func reluGradSIMD(n int, dy, y *float32)
//
//	for i < n: if y[i] <= 0 { dy[i] = 0 }
TEXT ·reluGradSIMD(SB), NOSPLIT, $0-24
	MOVD dy+8(FP), R0
	MOVD y+16(FP), R1

#define RELUGRAD(MOV, off, u, d, y) \
	MOV off(R0), F(d); \
	MOV off(R1), F(y); \
	FCMLE(y, y); \ // all ones where y ≤ 0; zeros elsewhere and for NaN
	BIC(y, d, d); \
	MOV F(d), off(R0)

	ALONGSIDE(RELUGRAD)
	RET

// BYCOLUMNS advances R0 and R1 over R2 columns. BODY(LOAD, STORE, EACH, outer, inner) runs for blocks of 16 columns, then
// for the remaining 8, 4, 2 and 1. LOAD and STORE move a block between memory and up to four registers. EACH(OP) is
// OP(4, 0) to OP(7, 3) for the registers of a block. outer and inner are labels.

#define BYCOLUMNS(BODY) \
	SUBS $16, R2; \
	BLT  rest; \
columns: \
	BODY(LOAD16, STORE16, EACH16, outer16, inner16); \
	STEP(64); \
	SUBS $16, R2; \
	BGE  columns; \
rest: \
	TBZ  $3, R2, not8; \
	BODY(LOAD8, STORE8, EACH8, outer8, inner8); \
	STEP(32); \
not8: \
	TBZ  $2, R2, not4; \
	BODY(LOAD4, STORE4, EACH4, outer4, inner4); \
	STEP(16); \
not4: \
	TBZ  $1, R2, not2; \
	BODY(LOAD2, STORE2, EACH4, outer2, inner2); \
	STEP(8); \
not2: \
	TBZ  $0, R2, not1; \
	BODY(LOAD1, STORE1, EACH4, outer1, inner1); \
not1:

#define LOAD16(p, a, b, c, d)  FLDPQ (p), (a, b); FLDPQ 32(p), (c, d)
#define LOAD8(p, a, b, c, d)   FLDPQ (p), (a, b)
#define LOAD4(p, a, b, c, d)   FMOVQ (p), a
#define LOAD2(p, a, b, c, d)   FMOVD (p), a
#define LOAD1(p, a, b, c, d)   FMOVS (p), a
#define STORE16(p, a, b, c, d) FSTPQ (a, b), (p); FSTPQ (c, d), 32(p)
#define STORE8(p, a, b, c, d)  FSTPQ (a, b), (p)
#define STORE4(p, a, b, c, d)  FMOVQ a, (p)
#define STORE2(p, a, b, c, d)  FMOVD a, (p)
#define STORE1(p, a, b, c, d)  FMOVS a, (p)
#define EACH16(OP) EACH8(OP); OP(6, 2); OP(7, 3)
#define EACH8(OP)  OP(4, 0); OP(5, 1)
#define EACH4(OP)  OP(4, 0)

// func biasReLUSIMD(rows, c int, x, bias *float32)
//
//	for i < rows, j < c: x[i*c+j] = max(0, x[i*c+j]+bias[j]), down the rows of some columns
TEXT ·biasReLUSIMD(SB), NOSPLIT, $0-32
	MOVD c+8(FP), R2
	MOVD x+16(FP), R0
	MOVD bias+24(FP), R1
	LSL  $2, R2, R5   // bytes of a row
	ZERO(31)

#define BIASRELU(LOAD, STORE, EACH, row, unused) \
	LOAD(R1, F0, F1, F2, F3); \
	MOVD R0, R3; \ // the row
	MOVD rows+0(FP), R4; \ // remaining rows
row: \
	LOAD(R3, F4, F5, F6, F7); \
	EACH(RELU); \
	STORE(R3, F4, F5, F6, F7); \
	ADD  R5, R3; \
	SUBS $1, R4; \
	BNE  row

#define RELU(x, b) FADD(b, x, x); FMAX(31, x, x) // of NaN and 0: NaN

	BYCOLUMNS(BIASRELU)
	RET

// Registers of the loops over fields:
//
//	R0  the table, at the current columns      R6  the largest offset
//	R1  the first row of dst or src, at these  R7  bytes of a row
//	R3  the row of the current field           R8  offsets of a field
//	R4  offsets of the field's table rows      R9  remaining fields
//	R5  the address for an offset of -1        R10 remaining offsets
//	R11 the current offset, then the address of the table row
//	R14 idx                                    R15 w

#define FIRSTFIELD \
	MOVD R14, R4; \
	MOVD R15, R9; \
	MOVD R1, R3

// TABLEROW sets R11 to the address of the next table row. It has no branch for an offset of -1, because dummy nodes
// cannot be predicted. An offset beyond the table ends the function.
#define TABLEROW \
	MOVW (R4), R11; \
	ADD  $4, R4; \
	CMP  R6, R11; \
	BGT  bad; \
	CMP  $0, R11; \
	ADD  R11<<2, R0, R11; \
	CSEL LT, R5, R11, R11

#define NEXTOFFSET(offset) \
	SUBS $1, R10; \
	BNE  offset

#define NEXTFIELD(field) \
	ADD  R7, R3; \
	SUBS $1, R9; \
	BNE  field

// func gatherFieldsSIMD(w, n, c int, dst, table *float32, limit int, idx *int32) (bad bool)
//
//	for f < w, j < n, idx[f*n+j] >= 0, i < c: dst[f*c+i] += table[idx[f*n+j]+i]; bad when some place is above limit
TEXT ·gatherFieldsSIMD(SB), NOSPLIT, $0-57
	MOVD w+0(FP), R15
	MOVD n+8(FP), R8
	MOVD c+16(FP), R2
	LSL  $2, R2, R7
	MOVD table+32(FP), R0
	MOVD dst+24(FP), R1
	MOVD limit+40(FP), R6
	MOVD idx+48(FP), R14
	MOVD $zeros<>(SB), R5

#define GATHER(LOAD, STORE, EACH, field, offset) \
	FIRSTFIELD; \
field: \
	LOAD(R3, F0, F1, F2, F3); \
	MOVD R8, R10; \
offset: \
	TABLEROW; \
	LOAD(R11, F4, F5, F6, F7); \
	EACH(PLUS); \
	NEXTOFFSET(offset); \
	STORE(R3, F0, F1, F2, F3); \
	NEXTFIELD(field)

#define PLUS(x, sum) FADD(x, sum, sum)

	BYCOLUMNS(GATHER)
	MOVB ZR, bad+56(FP)
	RET

bad:
	MOVD $1, R7
	MOVB R7, bad+56(FP)
	RET

DATA zeros<>+0(SB)/8, $0
GLOBL zeros<>(SB), RODATA|NOPTR, $64

// func scatterFieldsSIMD(w, n, c int, table, src *float32, limit int, idx *int32) (bad bool)
//
//	for f < w, j < n, idx[f*n+j] >= 0, i < c: table[idx[f*n+j]+i] += src[f*c+i]; bad when some place is above limit
//
// R5 is one of eight places in the frame by turns, or each -1 would wait for the one before.
TEXT ·scatterFieldsSIMD(SB), NOSPLIT, $512-57
	MOVD w+0(FP), R15
	MOVD n+8(FP), R8
	MOVD c+16(FP), R2
	LSL  $2, R2, R7
	MOVD table+24(FP), R0
	MOVD src+32(FP), R1
	MOVD limit+40(FP), R6
	MOVD idx+48(FP), R14
	MOVD $waste-512(SP), R12
	MOVD ZR, R13
	MOVD R12, R5

#define SCATTER(LOAD, STORE, EACH, field, offset) \
	FIRSTFIELD; \
field: \
	LOAD(R3, F0, F1, F2, F3); \
	MOVD R8, R10; \
offset: \
	TABLEROW; \
	LOAD(R11, F4, F5, F6, F7); \
	EACH(PLUSSRC); \
	STORE(R11, F4, F5, F6, F7); \
	ADD  $64, R13; \
	AND  $448, R13; \
	ADD  R13, R12, R5; \
	NEXTOFFSET(offset); \
	NEXTFIELD(field)

#define PLUSSRC(x, src) FADD(src, x, x)

	BYCOLUMNS(SCATTER)
	MOVB ZR, bad+56(FP)
	RET

bad:
	MOVD $1, R7
	MOVB R7, bad+56(FP)
	RET

// func panel1SIMD(rows, tiles, l int, a *float32, rs, cs int, b *float32, ldb, cols int, c *float32, ldc int, acc bool)
//
//	for i < rows*tiles, j < columns: c[i*ldc+j] (+)= Σ_l a[i*rs+l*cs] * b[l*ldb+j], in the columns of one register
TEXT ·panel1SIMD(SB), NOSPLIT, $0-89
	MOVD rows+0(FP), R0
	MOVD $panels1<>(SB), R1
	MOVD (R1)(R0<<3), R1
	B    (R1)

// func panel2SIMD(rows, tiles, l int, a *float32, rs, cs int, b *float32, ldb, cols int, c *float32, ldc int, acc bool)
//
// The same in the columns of two registers.
TEXT ·panel2SIMD(SB), NOSPLIT, $0-89
	MOVD rows+0(FP), R0
	MOVD $panels2<>(SB), R1
	MOVD (R1)(R0<<3), R1
	B    (R1)

// A panel has a function for each height of a tile, which panels1 and panels2 list. Registers:
//
//	R0 to R11  rows of A, at column 0 of the tile  R17  bytes from a row of A to the next
//	R12  offset from R0 to R11 to column l         R19  the first row of A in the next tile
//	R13  B, at row l                               R20  columns of the last register, 0 for four
//	R14  remaining steps, then acc                 R21  C, at the row to write
//	R15  bytes from a column of A to the next      R22  bytes from a row of C to the next
//	R16  bytes from a row of B to the next         R23, R24  offsets of the second and third column of the last register
//
// The sums are V0 to V23, the row of B is V24 and V25, and V26 to V31 are entries of A. Entries of A are loaded one by
// one, so A can have any strides; the loads do not limit the speed of a tile.

// ROWS1 to ROWS12 are ROW(r, e, s, t, u) for each row of a tile: register r points to the row of A and e is its entry.
// s is the sum in a panel of one register, t and u are the sums in one of two.
#define ROWS1(ROW)  ROW(R0, 26, 0, 0, 1)
#define ROWS2(ROW)  ROWS1(ROW); ROW(R1, 27, 1, 2, 3)
#define ROWS3(ROW)  ROWS2(ROW); ROW(R2, 28, 2, 4, 5)
#define ROWS4(ROW)  ROWS3(ROW); ROW(R3, 29, 3, 6, 7)
#define ROWS5(ROW)  ROWS4(ROW); ROW(R4, 30, 4, 8, 9)
#define ROWS6(ROW)  ROWS5(ROW); ROW(R5, 31, 5, 10, 11)
#define ROWS7(ROW)  ROWS6(ROW); ROW(R6, 26, 6, 12, 13)
#define ROWS8(ROW)  ROWS7(ROW); ROW(R7, 27, 7, 14, 15)
#define ROWS9(ROW)  ROWS8(ROW); ROW(R8, 28, 8, 16, 17)
#define ROWS10(ROW) ROWS9(ROW); ROW(R9, 29, 9, 18, 19)
#define ROWS11(ROW) ROWS10(ROW); ROW(R10, 30, 10, 20, 21)
#define ROWS12(ROW) ROWS11(ROW); ROW(R11, 31, 11, 22, 23)

#define POINT(r, e, s, t, u) MOVD R19, r; ADD R17, R19

// PART sets R25 and R26 to the second and third column of the last register in the row at p. Where there are fewer
// columns, both are the first column, which is loaded into all three lanes and stored last.
#define PART(p) ADD R23, p, R25; ADD R24, p, R26
#define LOADPART(off, p, f, v) PART(p); FMOVS off(p), f; VLD1 (R25), v.S[1]; VLD1 (R26), v.S[2]
#define STOREPART(off) VST1 V26.S[2], (R26); VST1 V26.S[1], (R25); FMOVS F26, off(R21)

// STOREC, ADDC, STORECPART and ADDCPART write sum s to C, at off from the row.
#define STOREC(s, off) FMOVQ F(s), off(R21)
#define ADDC(s, off) FMOVQ off(R21), F26; FADD(26, s, s); STOREC(s, off)
#define STORECPART(s, off) PART(R21); MOVE(s, 26); STOREPART(off)
#define ADDCPART(s, off) LOADPART(off, R21, F26, V26); FADD(26, s, 26); STOREPART(off)

// Panels of one register.
#define ZERO1(r, e, s, t, u)    ZERO(s)
#define TERM1(r, e, s, t, u)    FMOVS (r)(R12), F(e); FMLAS(e, 25, s)
#define STORE1C(r, e, s, t, u)  STOREC(s, 0); ADD R22, R21
#define ADD1C(r, e, s, t, u)    ADDC(s, 0); ADD R22, R21
#define STORE1P(r, e, s, t, u)  STORECPART(s, 0); ADD R22, R21
#define ADD1P(r, e, s, t, u)    ADDCPART(s, 0); ADD R22, R21
#define WHOLE1                  FMOVQ (R13), F25
#define PART1                   LOADPART(0, R13, F25, V25)

// Panels of two registers.
#define ZERO2(r, e, s, t, u)    ZERO(t); ZERO(u)
#define TERM2(r, e, s, t, u)    FMOVS (r)(R12), F(e); FMLAS(e, 24, t); FMLAS(e, 25, u)
#define STORE2C(r, e, s, t, u)  STOREC(t, 0); STOREC(u, 16); ADD R22, R21
#define ADD2C(r, e, s, t, u)    ADDC(t, 0); ADDC(u, 16); ADD R22, R21
#define STORE2P(r, e, s, t, u)  STOREC(t, 0); STORECPART(u, 16); ADD R22, R21
#define ADD2P(r, e, s, t, u)    ADDC(t, 0); ADDCPART(u, 16); ADD R22, R21
#define WHOLE2                  FMOVQ (R13), F24; FMOVQ 16(R13), F25
#define PART2                   FMOVQ (R13), F24; LOADPART(16, R13, F25, V25)

#define PANEL(name, ROWS, off, ZEROS, TERM, WHOLE, PARTIAL, STORE, PLUSC, STOREP, PLUSP) \
TEXT name(SB), NOSPLIT, $0-89; \
	MOVD a+24(FP), R19; \
	MOVD rs+32(FP), R17; \
	MOVD cs+40(FP), R15; \
	MOVD ldb+56(FP), R16; \
	MOVD cols+64(FP), R20; \
	MOVD c+72(FP), R21; \
	MOVD ldc+80(FP), R22; \
	LSL  $2, R17; \
	LSL  $2, R15; \
	LSL  $2, R16; \
	LSL  $2, R22; \
	AND  $3, R20; \
	MOVD $off, R0; \
	ADD  $4, R0, R23; \
	ADD  $8, R0, R24; \
	CMP  $1, R20; \
	CSEL GT, R23, R0, R23; \
	CMP  $2, R20; \
	CSEL GT, R24, R0, R24; \
tile: \
	ROWS(POINT); \
	ROWS(ZEROS); \
	MOVD ZR, R12; \
	MOVD b+48(FP), R13; \
	MOVD l+16(FP), R14; \
sum: \
	CBNZ R20, part; \
	WHOLE; \
terms: \
	ROWS(TERM); \
	ADD  R15, R12; \
	ADD  R16, R13; \
	SUBS $1, R14; \
	BNE  sum; \
	MOVBU acc+88(FP), R14; \
	CBNZ R20, writepart; \
	CBNZ R14, add; \
	ROWS(STORE); \
	B    next; \
add: \
	ROWS(PLUSC); \
	B    next; \
writepart: \
	CBNZ R14, addpart; \
	ROWS(STOREP); \
	B    next; \
addpart: \
	ROWS(PLUSP); \
next: \
	MOVD tiles+8(FP), R14; \
	SUBS $1, R14; \
	MOVD R14, tiles+8(FP); \
	BNE  tile; \
	RET; \
part: \
	PARTIAL; \
	B    terms

#define PANEL1(name, h, ROWS) \
DATA panels1<>+(8*h)(SB)/8, $name(SB); \
PANEL(name, ROWS, 0, ZERO1, TERM1, WHOLE1, PART1, STORE1C, ADD1C, STORE1P, ADD1P)

#define PANEL2(name, h, ROWS) \
DATA panels2<>+(8*h)(SB)/8, $name(SB); \
PANEL(name, ROWS, 16, ZERO2, TERM2, WHOLE2, PART2, STORE2C, ADD2C, STORE2P, ADD2P)

GLOBL panels1<>(SB), RODATA, $104
GLOBL panels2<>(SB), RODATA, $104

PANEL1(panel1x1<>, 1, ROWS1)
PANEL1(panel1x2<>, 2, ROWS2)
PANEL1(panel1x3<>, 3, ROWS3)
PANEL1(panel1x4<>, 4, ROWS4)
PANEL1(panel1x5<>, 5, ROWS5)
PANEL1(panel1x6<>, 6, ROWS6)
PANEL1(panel1x7<>, 7, ROWS7)
PANEL1(panel1x8<>, 8, ROWS8)
PANEL1(panel1x9<>, 9, ROWS9)
PANEL1(panel1x10<>, 10, ROWS10)
PANEL1(panel1x11<>, 11, ROWS11)
PANEL1(panel1x12<>, 12, ROWS12)

PANEL2(panel2x1<>, 1, ROWS1)
PANEL2(panel2x2<>, 2, ROWS2)
PANEL2(panel2x3<>, 3, ROWS3)
PANEL2(panel2x4<>, 4, ROWS4)
PANEL2(panel2x5<>, 5, ROWS5)
PANEL2(panel2x6<>, 6, ROWS6)
PANEL2(panel2x7<>, 7, ROWS7)
PANEL2(panel2x8<>, 8, ROWS8)
PANEL2(panel2x9<>, 9, ROWS9)
PANEL2(panel2x10<>, 10, ROWS10)
PANEL2(panel2x11<>, 11, ROWS11)
PANEL2(panel2x12<>, 12, ROWS12)
