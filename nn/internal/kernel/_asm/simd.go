package main

import (
	"fmt"
	"strings"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// simd is an instruction set: numbered registers of float32 lanes, with loads and stores of whole registers
// or of the first lanes.
type simd struct {
	suffix string
	lanes  int
	rows2  int // rows of the tallest tile of two registers a row
}

var (
	avx2   = simd{suffix: "AVX2", lanes: 8, rows2: 6}
	avx512 = simd{suffix: "AVX512", lanes: 16, rows2: 12}
)

func (s simd) bytes() int { return 4 * s.lanes }

func (s simd) v(i int) VecPhysical {
	if s.lanes == 8 {
		return []VecPhysical{Y0, Y1, Y2, Y3, Y4, Y5, Y6, Y7, Y8, Y9, Y10, Y11, Y12, Y13, Y14, Y15}[i]
	}
	return z(i)
}

func z(i int) VecPhysical {
	return []VecPhysical{Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z7, Z8, Z9, Z10, Z11, Z12, Z13, Z14, Z15,
		Z16, Z17, Z18, Z19, Z20, Z21, Z22, Z23, Z24, Z25, Z26, Z27, Z28, Z29, Z30, Z31}[i]
}

func y(i int) VecPhysical { return z(i).AsY().(VecPhysical) }
func x(i int) VecPhysical { return z(i).AsX().(VecPhysical) }

// The mask is in K1 or in Y15, which kernels do not use otherwise.
var tailTable Mem

// mask restricts masked loads and stores to n lanes, 0 ≤ n ≤ lanes. It overwrites n and CX.
func (s simd) mask(n GPPhysical) {
	if s.lanes == 8 {
		if tailTable.Symbol.Name == "" {
			tailTable = GLOBL("tail", RODATA|NOPTR)
			for i := range 16 {
				DATA(4*i, U32(uint32(i/8)-1)) // eight all ones, eight zeros
			}
		}
		Comment("mask: the first lanes only")
		t := RCX
		LEAQ(tailTable.Offset(32), t)
		SHLQ(Imm(2), n)
		SUBQ(n, t)
		VMOVUPS(Mem{Base: t}, Y15)
		return
	}
	Comment("mask: the first lanes only")
	MOVQ(n, RCX)
	MOVL(U32(1), n.As32())
	SHLL(CL, n.As32())
	DECL(n.As32())
	KMOVW(n.As32(), K1)
}

func (s simd) load(m Mem, dst VecPhysical, masked bool) {
	switch {
	case !masked:
		VMOVUPS(m, dst)
	case s.lanes == 8:
		VMASKMOVPS(m, Y15, dst)
	default:
		VMOVUPS_Z(m, K1, dst)
	}
}

func (s simd) store(src VecPhysical, m Mem, masked bool) {
	switch {
	case !masked:
		VMOVUPS(src, m)
	case s.lanes == 8:
		VMASKMOVPS(src, Y15, m)
	default:
		VMOVUPS(src, K1, m)
	}
}

// add is dst += m. A masked add uses tmp.
func (s simd) add(m Mem, dst, tmp VecPhysical, masked bool) {
	if !masked {
		VADDPS(m, dst, dst)
		return
	}
	s.load(m, tmp, true)
	VADDPS(tmp, dst, dst)
}

func (s simd) zero(v VecPhysical) {
	if s.lanes == 8 {
		VXORPS(v, v, v)
		return
	}
	VPXORD(v, v, v)
}

// describe is Sprintf with registers printed by name.
func describe(format string, args ...any) string {
	for i, a := range args {
		if r, ok := a.(Register); ok {
			args[i] = r.Asm()
		}
	}
	return fmt.Sprintf(format, args...)
}

func param(name string, r GPPhysical) { Load(Param(name), r) }

// params loads parameters, whose names are separated by spaces.
func params(names string, rs ...GPPhysical) {
	for i, name := range strings.Fields(names) {
		param(name, rs[i])
	}
}

// stride loads a parameter in values and converts it to bytes.
func stride(name string, r GPPhysical) {
	param(name, r)
	SHLQ(Imm(2), r)
}

func ret() {
	VZEROUPPER()
	RET()
}
