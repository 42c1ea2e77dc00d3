package main

import (
	"fmt"
	"strings"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// A register of AVX2 has eight float32 lanes.
const (
	lanes    = 8
	regBytes = 4 * lanes
)

func ymm(i int) VecPhysical {
	return []VecPhysical{Y0, Y1, Y2, Y3, Y4, Y5, Y6, Y7, Y8, Y9, Y10, Y11, Y12, Y13, Y14, Y15}[i]
}

var tailTable Mem

// mask restricts masked loads and stores to n lanes, 0 ≤ n ≤ lanes. It overwrites n and CX. The mask is in Y15,
// which kernels do not use otherwise.
func mask(n GPPhysical) {
	if tailTable.Symbol.Name == "" {
		tailTable = GLOBL("tail", RODATA|NOPTR)
		for i := range 2 * lanes {
			DATA(4*i, U32(uint32(i/lanes)-1)) // eight all ones, eight zeros
		}
	}
	Comment("mask: the first lanes only")
	t := RCX
	LEAQ(tailTable.Offset(regBytes), t)
	SHLQ(Imm(2), n)
	SUBQ(n, t)
	VMOVUPS(Mem{Base: t}, Y15)
}

func load(m Mem, dst VecPhysical, masked bool) {
	if masked {
		VMASKMOVPS(m, Y15, dst)
		return
	}
	VMOVUPS(m, dst)
}

func store(src VecPhysical, m Mem, masked bool) {
	if masked {
		VMASKMOVPS(src, Y15, m)
		return
	}
	VMOVUPS(src, m)
}

// add is dst += m. A masked add uses tmp.
func add(m Mem, dst, tmp VecPhysical, masked bool) {
	if !masked {
		VADDPS(m, dst, dst)
		return
	}
	load(m, tmp, true)
	VADDPS(tmp, dst, dst)
}

func zero(v VecPhysical) { VXORPS(v, v, v) }

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
