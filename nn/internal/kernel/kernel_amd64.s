//go:build !noasm

#include "textflag.h"

// The kernels for AVX2 and FMA. The comment of a function is the loop that it equals. A register has eight float32
// lanes. Loops run over whole registers, then once over a part of a register with masked loads and stores.

#define LOAD(m, v)    VMOVUPS m, v
#define STORE(v, m)   VMOVUPS v, m
#define PLUS(m, s, v) VADDPS m, s, v

// LOADPART, STOREPART and PLUSPART move the lanes that the mask in Y15 names. PLUSPART overwrites Y14.
#define LOADPART(m, v)    VMASKMOVPS m, Y15, v
#define STOREPART(v, m)   VMASKMOVPS v, Y15, m
#define PLUSPART(m, s, v) LOADPART(m, Y14); VADDPS Y14, s, v

// MASK sets the mask to the first n lanes, 0 ≤ n ≤ 8. It overwrites n and CX.
#define MASK(n) LEAQ tail<>+32(SB), CX; SHLQ $2, n; SUBQ n, CX; VMOVUPS (CX), Y15

#define ALL(name, value) \
DATA name<>+0(SB)/4, $value; \
DATA name<>+4(SB)/4, $value; \
DATA name<>+8(SB)/4, $value; \
DATA name<>+12(SB)/4, $value; \
DATA name<>+16(SB)/4, $value; \
DATA name<>+20(SB)/4, $value; \
DATA name<>+24(SB)/4, $value; \
DATA name<>+28(SB)/4, $value; \
GLOBL name<>(SB), RODATA|NOPTR, $32

// Eight lanes of ones, then eight of zeros, of which MASK loads eight.
DATA tail<>+0(SB)/8, $-1
DATA tail<>+8(SB)/8, $-1
DATA tail<>+16(SB)/8, $-1
DATA tail<>+24(SB)/8, $-1
GLOBL tail<>(SB), RODATA|NOPTR, $64

// ALONGSIDE advances pointers over DX values: STEP adds a number of bytes to each pointer. BODY(LOAD, STORE, off, s, x, y)
// runs for one register at a time, then for a part of a register. The values are at off from the pointers. s, x and y
// are Y0, Y4 and Y5.
#define ALONGSIDE(STEP, BODY) \
	CMPQ DX, $8; \
	JLT  last; \
one: \
	BODY(LOAD, STORE, 0, Y0, Y4, Y5); \
	STEP(32); \
	SUBQ $8, DX; \
	CMPQ DX, $8; \
	JGE  one; \
last: \
	TESTQ DX, DX; \
	JE   done; \
	MASK(DX); \
	BODY(LOADPART, STOREPART, 0, Y0, Y4, Y5); \
done:

// FOURS runs BODY for four registers at a time, before ALONGSIDE. Each of the four has its own s, x and y.
#define FOURS(STEP, BODY) \
	CMPQ DX, $32; \
	JLT  few; \
many: \
	BODY(LOAD, STORE, 0, Y0, Y4, Y5); \
	BODY(LOAD, STORE, 32, Y1, Y6, Y7); \
	BODY(LOAD, STORE, 64, Y2, Y8, Y9); \
	BODY(LOAD, STORE, 96, Y3, Y10, Y11); \
	STEP(128); \
	SUBQ $32, DX; \
	CMPQ DX, $32; \
	JGE  many; \
few:

#define STEP2(bytes) ADDQ $bytes, DI; ADDQ $bytes, SI
#define STEP3(bytes) STEP2(bytes); ADDQ $bytes, R8
#define STEP4(bytes) STEP3(bytes); ADDQ $bytes, R9

// func axpySIMD(n int, alpha float32, x, y *float32)
//
//	for i < n: y[i] += alpha * x[i]
TEXT ·axpySIMD(SB), NOSPLIT, $0-32
	VBROADCASTSS alpha+8(FP), Y12
	MOVQ n+0(FP), DX
	MOVQ x+16(FP), SI
	MOVQ y+24(FP), DI

#define AXPY(LOAD, STORE, off, s, x, y) \
	LOAD(off(SI), x); \
	LOAD(off(DI), y); \
	VFMADD231PS x, Y12, y; \
	STORE(y, off(DI))

	FOURS(STEP2, AXPY)
	ALONGSIDE(STEP2, AXPY)
	VZEROUPPER
	RET

// func dotSIMD(n int, x, y *float32) float32
//
//	for i < n: sum += x[i] * y[i], in Y0 to Y3 by turns
TEXT ·dotSIMD(SB), NOSPLIT, $0-28
	MOVQ n+0(FP), DX
	MOVQ x+8(FP), SI
	MOVQ y+16(FP), DI
	VXORPS Y0, Y0, Y0
	VXORPS Y1, Y1, Y1
	VXORPS Y2, Y2, Y2
	VXORPS Y3, Y3, Y3

#define DOT(LOAD, STORE, off, s, x, y) \
	LOAD(off(SI), x); \
	LOAD(off(DI), y); \
	VFMADD231PS x, y, s

	FOURS(STEP2, DOT)
	ALONGSIDE(STEP2, DOT)
	VADDPS Y1, Y0, Y0
	VADDPS Y3, Y2, Y2
	VADDPS Y2, Y0, Y0
	VEXTRACTF128 $1, Y0, X1
	VADDPS X1, X0, X0
	VMOVHLPS X0, X0, X1
	VADDPS X1, X0, X0
	VMOVSHDUP X0, X1
	VADDSS X1, X0, X0
	VMOVSS X0, ret+24(FP)
	VZEROUPPER
	RET

// func reluGradSIMD(n int, dy, y *float32)
//
//	for i < n: if y[i] <= 0 { dy[i] = 0 }
TEXT ·reluGradSIMD(SB), NOSPLIT, $0-24
	MOVQ n+0(FP), DX
	MOVQ dy+8(FP), DI
	MOVQ y+16(FP), SI
	VXORPS Y12, Y12, Y12

#define RELUGRAD(LOAD, STORE, off, s, d, y) \
	LOAD(off(SI), y); \
	LOAD(off(DI), d); \
	VCMPPS $6, Y12, y, y; \ // predicate 6: not less than or equal, true for NaN
	VANDPS y, d, d; \
	STORE(d, off(DI))

	FOURS(STEP2, RELUGRAD)
	ALONGSIDE(STEP2, RELUGRAD)
	VZEROUPPER
	RET

// func rmspropSIMD(n int, w, grad, v *float32, rate, decay, rest, eps float32)
//
//	for i < n: v[i] = decay*v[i] + rest*grad[i]*grad[i]; w[i] -= rate*grad[i]/(sqrt(v[i])+eps)
TEXT ·rmspropSIMD(SB), NOSPLIT, $0-48
	MOVQ n+0(FP), DX
	MOVQ w+8(FP), DI
	MOVQ grad+16(FP), SI
	MOVQ v+24(FP), R8
	VBROADCASTSS rate+32(FP), Y8
	VBROADCASTSS decay+36(FP), Y9
	VBROADCASTSS rest+40(FP), Y10
	VBROADCASTSS eps+44(FP), Y11

// Y0 is w, Y1 grad and Y2 v.
#define RMSPROP(LOAD, STORE, off, s, x, y) \
	LOAD((SI), Y1); \
	LOAD((R8), Y2); \
	LOAD((DI), Y0); \
	VMULPS Y1, Y10, Y3; \
	VMULPS Y9, Y2, Y2; \
	VFMADD231PS Y3, Y1, Y2; \
	STORE(Y2, (R8)); \
	VSQRTPS Y2, Y3; \
	VADDPS Y11, Y3, Y3; \
	VMULPS Y8, Y1, Y1; \
	VDIVPS Y3, Y1, Y1; \
	VSUBPS Y1, Y0, Y0; \
	STORE(Y0, (DI))

	ALONGSIDE(STEP3, RMSPROP)
	VZEROUPPER
	RET

// func adamSIMD(n int, w, grad, m, v *float32, rate, beta1, rest1, beta2, rest2, eps float32)
//
//	for i < n: m[i] = beta1*m[i] + rest1*grad[i]; v[i] = beta2*v[i] + rest2*grad[i]*grad[i];
//	w[i] -= rate*m[i]/(sqrt(v[i])+eps)
TEXT ·adamSIMD(SB), NOSPLIT, $0-64
	MOVQ n+0(FP), DX
	MOVQ w+8(FP), DI
	MOVQ grad+16(FP), SI
	MOVQ m+24(FP), R9
	MOVQ v+32(FP), R8
	VBROADCASTSS rate+40(FP), Y8
	VBROADCASTSS beta1+44(FP), Y9
	VBROADCASTSS rest1+48(FP), Y10
	VBROADCASTSS beta2+52(FP), Y11
	VBROADCASTSS rest2+56(FP), Y12
	VBROADCASTSS eps+60(FP), Y13

// Y0 is w, Y1 grad, Y2 m and Y3 v.
#define ADAM(LOAD, STORE, off, s, x, y) \
	LOAD((SI), Y1); \
	LOAD((R9), Y2); \
	LOAD((R8), Y3); \
	LOAD((DI), Y0); \
	VMULPS Y9, Y2, Y2; \
	VFMADD231PS Y10, Y1, Y2; \
	STORE(Y2, (R9)); \
	VMULPS Y1, Y12, Y4; \
	VMULPS Y11, Y3, Y3; \
	VFMADD231PS Y4, Y1, Y3; \
	STORE(Y3, (R8)); \
	VSQRTPS Y3, Y4; \
	VADDPS Y13, Y4, Y4; \
	VMULPS Y8, Y2, Y2; \
	VDIVPS Y4, Y2, Y2; \
	VSUBPS Y2, Y0, Y0; \
	STORE(Y0, (DI))

	ALONGSIDE(STEP4, ADAM)
	VZEROUPPER
	RET

ALL(expLeast, -104.0)
ALL(expMost, 89.0)
ALL(log2e, 1.44269504088896340735992468100189214)
ALL(ln2high, 0.693359375)
ALL(ln2low, -2.12194440e-4)
ALL(exp7, 1.9875691500e-4)
ALL(exp6, 1.3981999507e-3)
ALL(exp5, 8.3334519073e-3)
ALL(exp4, 4.1665795894e-2)
ALL(exp3, 1.6666665459e-1)
ALL(exp2, 5.0000001201e-1)
ALL(one, 1.0)
ALL(two, 2.0)
ALL(bias, 127)
ALL(sign, 0x80000000)
ALL(allButSign, 0x7fffffff)

// EXP sets Y0 to exp(Y1). The result is 0 below -104 and infinite above 89, so Y1 is clamped to this range. NaN stays
// NaN. With n = x/ln 2, rounded,
//
//	exp(x) = 2ⁿ·exp(r), r = x - n·ln 2, |r| ≤ ½ ln 2
//
// where ln 2 is subtracted in two parts, and exp(r) is the polynomial of Cephes (Moshier 1992). 2ⁿ is multiplied in two
// steps, since 2ⁿ alone may be too small or too large. EXP overwrites Y1, Y2, which is n, and Y3.
#define EXP \
	VMOVUPS expLeast<>(SB), Y3; \
	VMAXPS Y1, Y3, Y1; \ // NaN stays NaN
	VMOVUPS expMost<>(SB), Y3; \
	VMINPS Y1, Y3, Y1; \
	VMULPS log2e<>(SB), Y1, Y2; \
	VROUNDPS $8, Y2, Y2; \
	VFNMADD231PS ln2high<>(SB), Y2, Y1; \
	VFNMADD231PS ln2low<>(SB), Y2, Y1; \
	VMOVUPS exp7<>(SB), Y0; \
	VFMADD213PS exp6<>(SB), Y1, Y0; \
	VFMADD213PS exp5<>(SB), Y1, Y0; \
	VFMADD213PS exp4<>(SB), Y1, Y0; \
	VFMADD213PS exp3<>(SB), Y1, Y0; \
	VFMADD213PS exp2<>(SB), Y1, Y0; \
	VFMADD213PS one<>(SB), Y1, Y0; \
	VFMADD213PS one<>(SB), Y1, Y0; \
	VCVTPS2DQ Y2, Y2; \
	VPSRAD $1, Y2, Y3; \
	VPSUBD Y3, Y2, Y2; \
	VPADDD bias<>(SB), Y3, Y3; \
	VPSLLD $23, Y3, Y3; \
	VMULPS Y3, Y0, Y0; \
	VPADDD bias<>(SB), Y2, Y2; \
	VPSLLD $23, Y2, Y2; \
	VMULPS Y2, Y0, Y0

// func sigmoidSIMD(n int, y, x *float32)
//
//	for i < n: y[i] = 1 / (1 + exp(-x[i]))
//
// It is 1/(1+e) for x ≥ 0 and e/(1+e) for x < 0, with e = exp(-|x|). This form has no cancellation.
TEXT ·sigmoidSIMD(SB), NOSPLIT, $0-24
	MOVQ n+0(FP), DX
	MOVQ y+8(FP), DI
	MOVQ x+16(FP), SI

#define SIGMOID(LOAD, STORE, off, s, x, y) \
	LOAD((SI), Y4); \
	VORPS sign<>(SB), Y4, Y1; \
	EXP; \
	VMOVUPS one<>(SB), Y5; \
	VADDPS Y5, Y0, Y1; \
	VBLENDVPS Y4, Y0, Y5, Y5; \
	VDIVPS Y1, Y5, Y0; \
	STORE(Y0, (DI))

	ALONGSIDE(STEP2, SIGMOID)
	VZEROUPPER
	RET

ALL(tanhBound, 0.625)
ALL(tanh11, -5.70498872745e-3)
ALL(tanh9, 2.06390887954e-2)
ALL(tanh7, -5.37397155531e-2)
ALL(tanh5, 1.33314422036e-1)
ALL(tanh3, -3.33332819422e-1)

// func tanhSIMD(n int, y, x *float32)
//
//	for i < n: y[i] = tanh(x[i])
//
// It is 1 - 2/(exp(2|x|)+1) with the sign of x. Below 0.625, where that loses digits, it is the polynomial of Cephes.
TEXT ·tanhSIMD(SB), NOSPLIT, $0-24
	MOVQ n+0(FP), DX
	MOVQ y+8(FP), DI
	MOVQ x+16(FP), SI

#define TANH(LOAD, STORE, off, s, x, y) \
	LOAD((SI), Y4); \
	VANDPS allButSign<>(SB), Y4, Y1; \
	VADDPS Y1, Y1, Y1; \
	EXP; \
	VADDPS one<>(SB), Y0, Y0; \
	VMOVUPS two<>(SB), Y5; \
	VDIVPS Y0, Y5, Y0; \
	VMOVUPS one<>(SB), Y5; \
	VSUBPS Y0, Y5, Y0; \
	VMULPS Y4, Y4, Y3; \ // the polynomial in Y2
	VMOVUPS tanh11<>(SB), Y2; \
	VFMADD213PS tanh9<>(SB), Y3, Y2; \
	VFMADD213PS tanh7<>(SB), Y3, Y2; \
	VFMADD213PS tanh5<>(SB), Y3, Y2; \
	VFMADD213PS tanh3<>(SB), Y3, Y2; \
	VMULPS Y3, Y2, Y2; \
	VFMADD213PS Y4, Y4, Y2; \
	VANDPS allButSign<>(SB), Y4, Y5; \
	VCMPPS $1, tanhBound<>(SB), Y5, Y5; \ // predicate 1: less than
	VBLENDVPS Y5, Y2, Y0, Y0; \
	VANDPS sign<>(SB), Y4, Y5; \
	VORPS Y5, Y0, Y0; \
	STORE(Y0, (DI))

	ALONGSIDE(STEP2, TANH)
	VZEROUPPER
	RET

// func rowOffsetsSIMD(n int, dst, first, count, values *int32, c int32) (bad bool)
//
//	for i < n: dst[i] = first[i] + c*values[i], or -1 where values[i] is -1
//
// bad when some value is not -1 to count[i]-1. Y0 is c, and Y1 has what is bad. Y15 is -1 in each lane, and 0 in the lanes
// that the mask leaves out, whose values of 0 then are not bad.
TEXT ·rowOffsetsSIMD(SB), NOSPLIT, $0-49
	MOVQ n+0(FP), DX
	MOVQ dst+8(FP), DI
	MOVQ first+16(FP), SI
	MOVQ count+24(FP), R8
	MOVQ values+32(FP), R9
	VBROADCASTSS c+40(FP), Y0
	VPXOR Y1, Y1, Y1
	VPCMPEQD Y15, Y15, Y15

#define ROWOFFSETS(LOAD, STORE, off, s, v, t) \
	LOAD((R9), v); \
	LOAD((R8), Y6); \
	LOAD((SI), Y7); \
	VPSUBD Y15, v, t; \ // v+1
	VPOR t, Y1, Y1; \ // v < -1
	VPCMPGTD Y6, t, t; \
	VPOR t, Y1, Y1; \ // v ≥ count
	VPSRAD $31, v, t; \
	VPMULLD Y0, v, v; \
	VPADDD Y7, v, v; \
	VPOR t, v, v; \
	STORE(v, (DI))

	ALONGSIDE(STEP4, ROWOFFSETS)
	VMOVMSKPS Y1, AX
	TESTL AX, AX
	SETNE bad+48(FP)
	VZEROUPPER
	RET

// BYCOLUMNS runs BODY(LOAD, STORE, PLUS, outer, inner) for one register of R14 columns after the other, then for a part of a
// register. STEP advances pointers. outer and inner are labels.
#define BYCOLUMNS(STEP, BODY) \
	CMPQ R14, $8; \
	JLT  last; \
columns: \
	BODY(LOAD, STORE, PLUS, outer, inner); \
	STEP(32); \
	SUBQ $8, R14; \
	CMPQ R14, $8; \
	JGE  columns; \
last: \
	TESTQ R14, R14; \
	JE   done; \
	MASK(R14); \
	BODY(LOADPART, STOREPART, PLUSPART, outerpart, innerpart); \
done:

// func biasReLUSIMD(rows, c int, x, bias *float32)
//
//	for i < rows, j < c: x[i*c+j] = max(0, x[i*c+j]+bias[j]), down the rows of some columns
TEXT ·biasReLUSIMD(SB), NOSPLIT, $0-32
	MOVQ c+8(FP), R14
	MOVQ x+16(FP), DI
	MOVQ bias+24(FP), SI
	LEAQ (R14*4), R9 // bytes of a row
	VXORPS Y0, Y0, Y0

#define BIASRELU(LOAD, STORE, PLUS, row, unused) \
	LOAD((SI), Y1); \
	MOVQ DI, AX; \
	MOVQ rows+0(FP), BX; \
	PCALIGN $32; \
row: \
	LOAD((AX), Y2); \
	VADDPS Y1, Y2, Y2; \
	VMAXPS Y2, Y0, Y2; \ // of NaN and 0: the second operand, NaN
	STORE(Y2, (AX)); \
	ADDQ R9, AX; \
	DECQ BX; \
	JNE  row

	BYCOLUMNS(STEP2, BIASRELU)
	VZEROUPPER
	RET

// Registers of the loops over fields:
//
//	DI  the table, at the current columns      R12 offsets of a field
//	SI  offsets of the field's table rows      R13 remaining fields
//	DX  the row of the current field           R14 remaining columns
//	R8  the address for an offset of -1        R15 remaining offsets
//	R9  the largest offset                     AX  the address of the table row
//	R11 bytes of a row
//
// dst or src, at the current columns, is in the frame.

// TABLEROW sets AX to the address of the next table row. It has no branch for an offset of -1, because dummy nodes cannot
// be predicted. An offset beyond the table ends the function.
#define TABLEROW \
	MOVLQSX (SI), CX; \
	CMPQ CX, R9; \
	JGT  bad; \
	LEAQ (DI)(CX*4), AX; \
	TESTQ CX, CX; \
	CMOVQLT R8, AX

#define NEXTOFFSET(offset) \
	ADDQ $4, SI; \
	DECQ R15; \
	JNE  offset

#define NEXTFIELD(field) \
	ADDQ R11, DX; \
	DECQ R13; \
	JNE  field

// func gatherFieldsSIMD(w, n, c int, dst, table *float32, limit int, idx *int32) (bad bool)
//
//	for f < w, j < n, idx[f*n+j] >= 0, i < c: dst[f*c+i] += table[idx[f*n+j]+i]; bad when some place is above limit
TEXT ·gatherFieldsSIMD(SB), NOSPLIT, $0-57
	MOVQ n+8(FP), R12
	MOVQ c+16(FP), R14
	MOVQ table+32(FP), DI
	MOVQ limit+40(FP), R9
	LEAQ (R14*4), R11
	LEAQ tail<>+32(SB), R8 // zeros

#define GATHER(LOAD, STORE, PLUS, field, offset) \
	MOVQ idx+48(FP), SI; \
	MOVQ dst+24(FP), DX; \
	MOVQ w+0(FP), R13; \
field: \
	LOAD((DX), Y0); \
	MOVQ R12, R15; \
	PCALIGN $32; \
offset: \
	TABLEROW; \
	PLUS((AX), Y0, Y0); \
	NEXTOFFSET(offset); \
	STORE(Y0, (DX)); \
	NEXTFIELD(field)

#define GATHERSTEP(bytes) \
	ADDQ $bytes, DI; \
	ADDQ $bytes, dst+24(FP)

	BYCOLUMNS(GATHERSTEP, GATHER)
	MOVB $0, bad+56(FP)
	VZEROUPPER
	RET

bad:
	MOVB $1, bad+56(FP)
	VZEROUPPER
	RET

// func scatterFieldsSIMD(w, n, c int, table, src *float32, limit int, idx *int32) (bad bool)
//
//	for f < w, j < n, idx[f*n+j] >= 0, i < c: table[idx[f*n+j]+i] += src[f*c+i]; bad when some place is above limit
//
// R8 is one of eight aligned places in the frame by turns, or each -1 would wait for the one before.
TEXT ·scatterFieldsSIMD(SB), NOSPLIT, $576-57
	MOVQ n+8(FP), R12
	MOVQ c+16(FP), R14
	MOVQ table+24(FP), DI
	MOVQ limit+40(FP), R9
	LEAQ (R14*4), R11
	LEAQ waste-513(SP), R10
	ANDQ $-64, R10
	MOVQ R10, R8
	XORL BX, BX

#define SCATTER(LOAD, STORE, PLUS, field, offset) \
	MOVQ idx+48(FP), SI; \
	MOVQ src+32(FP), DX; \
	MOVQ w+0(FP), R13; \
field: \
	LOAD((DX), Y0); \
	MOVQ R12, R15; \
	PCALIGN $32; \
offset: \
	TABLEROW; \
	PLUS((AX), Y0, Y1); \
	STORE(Y1, (AX)); \
	ADDL $64, BX; \
	ANDL $448, BX; \
	LEAQ (R10)(BX*1), R8; \
	NEXTOFFSET(offset); \
	NEXTFIELD(field)

#define SCATTERSTEP(bytes) \
	ADDQ $bytes, DI; \
	ADDQ $bytes, src+32(FP)

	BYCOLUMNS(SCATTERSTEP, SCATTER)
	MOVB $0, bad+56(FP)
	VZEROUPPER
	RET

bad:
	MOVB $1, bad+56(FP)
	VZEROUPPER
	RET

// BLOCKS runs BODY(EACH, loop, end) for the columns of a row, DX in number, up to four registers at a time. The last
// register has the mask. EACH(OP, LAST) is OP(off, s, t) for each register and LAST(off, s, t) for the last one, with
// off from the pointers SI and DI. loop and end are labels.
#define BLOCKS(BODY) \
block: \
	CMPQ DX, $8; \
	JLE  regs1; \
	CMPQ DX, $16; \
	JLE  regs2; \
	CMPQ DX, $24; \
	JLE  regs3; \
	LEAQ -24(DX), AX; \
	MOVQ $8, CX; \
	CMPQ AX, CX; \
	CMOVQGT CX, AX; \
	MASK(AX); \
	BODY(EACH4, loop4, end4); \
	STEP2(128); \
	SUBQ $32, DX; \
	JG   block; \
	JMP  done; \
regs3: \
	LEAQ -16(DX), AX; \
	MASK(AX); \
	BODY(EACH3, loop3, end3); \
	JMP  done; \
regs2: \
	LEAQ -8(DX), AX; \
	MASK(AX); \
	BODY(EACH2, loop2, end2); \
	JMP  done; \
regs1: \
	MASK(DX); \
	BODY(EACH1, loop1, end1); \
done:

#define EACH1(OP, LAST) LAST(0, Y0, Y5)
#define EACH2(OP, LAST) OP(0, Y0, Y5); LAST(32, Y1, Y6)
#define EACH3(OP, LAST) OP(0, Y0, Y5); OP(32, Y1, Y6); LAST(64, Y2, Y7)
#define EACH4(OP, LAST) OP(0, Y0, Y5); OP(32, Y1, Y6); OP(64, Y2, Y7); LAST(96, Y3, Y8)

// OVERENTRIES runs OPS for each index, with AX, the offset of the table row in bytes, and the factor x[j] in Y4. R8 is idx,
// R9 bytes of a row, R10 rows, R11 n, R12 j and R13 x. An index out of range ends the function.
#define OVERENTRIES(OPS, loop, end) \
	XORL R12, R12; \
	CMPQ R12, R11; \
	JE   end; \
loop: \
	MOVL (R8)(R12*4), AX; \
	CMPQ AX, R10; \
	JAE  bad; \
	IMULQ R9, AX; \
	VBROADCASTSS (R13)(R12*4), Y4; \
	OPS; \
	INCQ R12; \
	CMPQ R12, R11; \
	JLT  loop; \
end:

// func addRowsSIMD(c int, dst, table *float32, rows int, idx *int32, x *float32, n int) int
//
//	for j < n, i < c: dst[i] += x[j]*table[idx[j]*c+i]; returns the first j with idx[j] no row, or n
TEXT ·addRowsSIMD(SB), NOSPLIT, $0-64
	MOVQ c+0(FP), DX
	MOVQ dst+8(FP), DI
	MOVQ table+16(FP), SI
	MOVQ rows+24(FP), R10
	MOVQ idx+32(FP), R8
	MOVQ x+40(FP), R13
	MOVQ n+48(FP), R11
	LEAQ (DX*4), R9

#define LOADDST(off, s, t)      LOAD(off(DI), s)
#define LOADDSTPART(off, s, t)  LOADPART(off(DI), s)
#define STOREDST(off, s, t)     STORE(s, off(DI))
#define STOREDSTPART(off, s, t) STOREPART(s, off(DI))
#define TABLETERM(off, s, t)     LOAD(off(SI)(AX*1), t); VFMADD231PS t, Y4, s
#define TABLETERMPART(off, s, t) LOADPART(off(SI)(AX*1), t); VFMADD231PS t, Y4, s
#define ADDROWS(EACH, loop, end) \
	EACH(LOADDST, LOADDSTPART); \
	OVERENTRIES(EACH(TABLETERM, TABLETERMPART), loop, end); \
	EACH(STOREDST, STOREDSTPART)

	BLOCKS(ADDROWS)
	MOVQ R11, ret+56(FP)
	VZEROUPPER
	RET

bad:
	MOVQ R12, ret+56(FP)
	VZEROUPPER
	RET

// func addToRowsSIMD(c int, table *float32, stride, rows int, idx *int32, x *float32, n int, src *float32) int
//
//	for j < n, i < c: table[idx[j]*stride+i] += x[j]*src[i]; returns the first j with idx[j] no row, or n
//
// A row has room for whole registers, of which src fills the last with zeros.
TEXT ·addToRowsSIMD(SB), NOSPLIT, $0-72
	MOVQ c+0(FP), DX
	MOVQ table+8(FP), DI
	MOVQ stride+16(FP), R9
	MOVQ rows+24(FP), R10
	MOVQ idx+32(FP), R8
	MOVQ x+40(FP), R13
	MOVQ n+48(FP), R11
	MOVQ src+56(FP), SI
	SHLQ $2, R9

#define LOADSRC(off, s, t)     LOAD(off(SI), s)
#define LOADSRCPART(off, s, t) LOADPART(off(SI), s)
#define TOTABLE(off, s, t) \
	LOAD(off(DI)(AX*1), t); \
	VFMADD231PS s, Y4, t; \
	STORE(t, off(DI)(AX*1))
#define ADDTOROWS(EACH, loop, end) \
	EACH(LOADSRC, LOADSRCPART); \
	OVERENTRIES(EACH(TOTABLE, TOTABLE), loop, end)

	BLOCKS(ADDTOROWS)
	MOVQ R11, ret+64(FP)
	VZEROUPPER
	RET

bad:
	MOVQ R12, ret+64(FP)
	VZEROUPPER
	RET

// func adagradRowsSIMD(c int, w, v *float32, rows int, idx *int32, n int, grad *float32, stride int, rate, eps float32) int
//
//	for j < n, i < c, with r = idx[j]*c+i and g = grad[j*stride+i]: v[r] += g*g; w[r] -= rate*g/(sqrt(v[r])+eps);
//	grad[j*stride+i] = 0; returns the first j with idx[j] no row, or n
//
// It squares and adds in two instructions, as the Go loop does, so both give the same bits. A row of grad has room for
// whole registers.
TEXT ·adagradRowsSIMD(SB), NOSPLIT, $0-80
	MOVQ w+8(FP), DI
	MOVQ v+16(FP), BX
	MOVQ rows+24(FP), R10
	MOVQ idx+32(FP), R8
	MOVQ n+40(FP), R11
	MOVQ grad+48(FP), SI
	MOVQ stride+56(FP), R13
	VBROADCASTSS rate+64(FP), Y0
	VBROADCASTSS eps+68(FP), Y1
	VXORPS Y6, Y6, Y6
	MOVQ c+0(FP), DX
	LEAQ (DX*4), R9 // bytes of a row of w and v
	SHLQ $2, R13    // bytes of a row of grad
	ANDQ $7, DX     // columns in the last register
	MOVQ DX, AX
	MASK(AX)
	XORL R12, R12   // j
	JMP  test

// AX is a place in w, CX in v and R15 in grad; Y2 is w, Y3 grad and Y4 v.
#define ADAGRAD(LOAD, STORE) \
	LOAD((R15), Y3); \
	LOAD((CX), Y4); \
	LOAD((AX), Y2); \
	VMULPS Y3, Y3, Y5; \
	VADDPS Y5, Y4, Y4; \
	STORE(Y4, (CX)); \
	VSQRTPS Y4, Y5; \
	VADDPS Y1, Y5, Y5; \
	VMULPS Y0, Y3, Y3; \
	VDIVPS Y5, Y3, Y3; \
	VSUBPS Y3, Y2, Y2; \
	STORE(Y2, (AX)); \
	VMOVUPS Y6, (R15)

row:
	MOVL (R8)(R12*4), AX
	CMPQ AX, R10
	JAE  bad
	IMULQ R9, AX
	LEAQ (BX)(AX*1), CX
	ADDQ DI, AX
	MOVQ SI, R15
	MOVQ c+0(FP), R14
	SUBQ $8, R14
	JLT  last

columns:
	ADAGRAD(LOAD, STORE)
	ADDQ $32, AX
	ADDQ $32, CX
	ADDQ $32, R15
	SUBQ $8, R14
	JGE  columns

last:
	TESTQ DX, DX
	JE   next
	ADAGRAD(LOADPART, STOREPART)

next:
	ADDQ R13, SI
	INCQ R12

test:
	CMPQ R12, R11
	JLT  row

bad: // or the end, where j is n
	MOVQ R12, ret+72(FP)
	VZEROUPPER
	RET

// func panel1SIMD(rows, tiles, l int, a *float32, rs, cs int, b *float32, ldb, cols int, c *float32, ldc int, acc bool)
//
//	for i < rows*tiles, j < columns: c[i*ldc+j] (+)= Σ_l a[i*rs+l*cs] * b[l*ldb+j], in the columns of one register
TEXT ·panel1SIMD(SB), NOSPLIT, $0-89
	MOVQ rows+0(FP), AX
	LEAQ panels1<>(SB), CX
	JMP  (CX)(AX*8)

// func panel2SIMD(rows, tiles, l int, a *float32, rs, cs int, b *float32, ldb, cols int, c *float32, ldc int, acc bool)
//
// The same in the columns of two registers.
TEXT ·panel2SIMD(SB), NOSPLIT, $0-89
	MOVQ rows+0(FP), AX
	LEAQ panels2<>(SB), CX
	JMP  (CX)(AX*8)

// A panel has a function for each height of a tile, which panels1 and panels2 list. Registers:
//
//	SI  A, at column l of the first row of the tile  R15 A, at the first row of the tile
//	DI  B, at row l, then acc                        R8  bytes from a column of A to the next
//	DX  C, at the row to write                       R9  bytes from a row of B to the next
//	CX  remaining steps, then bytes of a row of C    R10 bytes from a row of A to the next
//	R11, R12, R13, BX and AX  3, 5, 7, 9 and 11 of R10
//
// A row of A is reached as SI + R10·{1, 2, 4, 8} or as an odd multiple of R10 times a scale. The sums are Y0 to Y11. The
// last register of the row of B is Y13, the one before is Y12, and Y14 is an entry of A.

// ROWS1 to ROWS12 are ROW(a, s, t, u) for each row of a tile. a is the entry of A. s is the sum in a panel of one
// register, t and u are the sums in one of two, which has up to six rows.
#define ROWS1(ROW)  ROW((SI), Y0, Y0, Y1)
#define ROWS2(ROW)  ROWS1(ROW); ROW((SI)(R10*1), Y1, Y2, Y3)
#define ROWS3(ROW)  ROWS2(ROW); ROW((SI)(R10*2), Y2, Y4, Y5)
#define ROWS4(ROW)  ROWS3(ROW); ROW((SI)(R11*1), Y3, Y6, Y7)
#define ROWS5(ROW)  ROWS4(ROW); ROW((SI)(R10*4), Y4, Y8, Y9)
#define ROWS6(ROW)  ROWS5(ROW); ROW((SI)(R12*1), Y5, Y10, Y11)
#define ROWS7(ROW)  ROWS6(ROW); ROW((SI)(R11*2), Y6, none, none)
#define ROWS8(ROW)  ROWS7(ROW); ROW((SI)(R13*1), Y7, none, none)
#define ROWS9(ROW)  ROWS8(ROW); ROW((SI)(R10*8), Y8, none, none)
#define ROWS10(ROW) ROWS9(ROW); ROW((SI)(BX*1), Y9, none, none)
#define ROWS11(ROW) ROWS10(ROW); ROW((SI)(R12*2), Y10, none, none)
#define ROWS12(ROW) ROWS11(ROW); ROW((SI)(AX*1), Y11, none, none)

// Panels of one register.
#define ZERO1(a, s, t, u)      VXORPS s, s, s
#define TERM1(a, s, t, u)      VBROADCASTSS a, Y14; VFMADD231PS Y14, Y13, s
#define STORE1(a, s, t, u)     STORE(s, (DX)); ADDQ CX, DX
#define PLUS1(a, s, t, u)      PLUS((DX), s, s); STORE1(a, s, t, u)
#define STORE1PART(a, s, t, u) STOREPART(s, (DX)); ADDQ CX, DX
#define PLUS1PART(a, s, t, u)  PLUSPART((DX), s, s); STORE1PART(a, s, t, u)
#define ROWOFB1                LOADPART((DI), Y13)

// Panels of two registers.
#define ZERO2(a, s, t, u)      VXORPS t, t, t; VXORPS u, u, u
#define TERM2(a, s, t, u)      VBROADCASTSS a, Y14; VFMADD231PS Y14, Y12, t; VFMADD231PS Y14, Y13, u
#define STORE2(a, s, t, u)     STORE(t, (DX)); STORE(u, 32(DX)); ADDQ CX, DX
#define PLUS2(a, s, t, u)      PLUS((DX), t, t); PLUS(32(DX), u, u); STORE2(a, s, t, u)
#define STORE2PART(a, s, t, u) STORE(t, (DX)); STOREPART(u, 32(DX)); ADDQ CX, DX
#define PLUS2PART(a, s, t, u)  PLUS((DX), t, t); PLUSPART(32(DX), u, u); STORE2PART(a, s, t, u)
#define ROWOFB2                LOAD((DI), Y12); LOADPART(32(DI), Y13)

// A masked store would hold up the load of a row that overlaps it, so whole registers are written without a mask.
#define PANEL(name, ROWS, ZERO, TERM, ROWOFB, STOREC, PLUSC, STORECPART, PLUSCPART) \
TEXT name(SB), NOSPLIT, $0-89; \
	MOVQ cols+64(FP), AX; \
	MASK(AX); \
	MOVQ a+24(FP), R15; \
	MOVQ c+72(FP), DX; \
	MOVQ cs+40(FP), R8; \
	MOVQ ldb+56(FP), R9; \
	MOVQ rs+32(FP), R10; \
	SHLQ $2, R8; \
	SHLQ $2, R9; \
	SHLQ $2, R10; \
	LEAQ (R10)(R10*2), R11; \
	LEAQ (R10)(R10*4), R12; \
	LEAQ (R11)(R10*4), R13; \
	LEAQ (R10)(R10*8), BX; \
	LEAQ (R11)(R10*8), AX; \
tile: \
	ROWS(ZERO); \
	MOVQ R15, SI; \
	MOVQ b+48(FP), DI; \
	MOVQ l+16(FP), CX; \
sum: \
	ROWOFB; \
	ROWS(TERM); \
	ADDQ R8, SI; \
	ADDQ R9, DI; \
	DECQ CX; \
	JNE  sum; \
	MOVQ ldc+80(FP), CX; \
	SHLQ $2, CX; \
	MOVBLZX acc+88(FP), DI; \
	CMPQ cols+64(FP), $8; \
	JNE  part; \
	TESTL DI, DI; \
	JNE  plus; \
	ROWS(STOREC); \
	JMP  next; \
plus: \
	ROWS(PLUSC); \
	JMP  next; \
part: \
	TESTL DI, DI; \
	JNE  pluspart; \
	ROWS(STORECPART); \
	JMP  next; \
pluspart: \
	ROWS(PLUSCPART); \
next: \
	MOVQ rows+0(FP), SI; \
	IMULQ R10, SI; \
	ADDQ SI, R15; \
	DECQ tiles+8(FP); \
	JNE  tile; \
	VZEROUPPER; \
	RET

#define PANEL1(name, h, ROWS) \
DATA panels1<>+(8*h)(SB)/8, $name(SB); \
PANEL(name, ROWS, ZERO1, TERM1, ROWOFB1, STORE1, PLUS1, STORE1PART, PLUS1PART)

#define PANEL2(name, h, ROWS) \
DATA panels2<>+(8*h)(SB)/8, $name(SB); \
PANEL(name, ROWS, ZERO2, TERM2, ROWOFB2, STORE2, PLUS2, STORE2PART, PLUS2PART)

GLOBL panels1<>(SB), RODATA, $104
GLOBL panels2<>(SB), RODATA, $56

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
