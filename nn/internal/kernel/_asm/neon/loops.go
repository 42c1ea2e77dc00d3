package main

import "fmt"

// alongside advances pointers over n values (parameter n). body runs for unroll registers at a time, then for
// single registers, then for two values and for one value, because NEON has no masks. u is the number of a
// register in one pass, whose values are at 16·u from the pointers.
func alongside(a *asm, unroll int, ptrs []reg, body func(u int, kind byte)) {
	const n reg = 2
	a.param("n", n)
	step := func(bytes int) {
		for _, p := range ptrs {
			a.addTo(p, bytes)
		}
	}
	loop := func(label string, regs int) {
		a.subFrom(n, 4*regs)
		a.jumpIf("lt", label+"end")
		a.label(label)
		for u := range regs {
			body(u, 'q')
		}
		step(16 * regs)
		a.subFrom(n, 4*regs)
		a.jumpIf("ge", label)
		a.label(label + "end")
		a.addTo(n, 4*regs)
	}
	if unroll > 1 {
		loop("many", unroll)
	}
	loop("one", 1)
	a.jumpUnlessBit(n, 1, "notwo")
	body(0, 'd')
	step(8)
	a.label("notwo")
	a.jumpUnlessBit(n, 0, "noone")
	body(0, 's')
	a.label("noone")
}

// block is a number of columns: 16, 8 or 4 in whole registers, 2 or 1 in a part of a register.
type block int

func (b block) regs() int { return max(1, int(b)/4) }

// load and store move values between p and the registers from v on.
func (b block) load(a *asm, v vec, p reg) { b.move(a, v, p, (*asm).loadPair, (*asm).load) }

func (b block) store(a *asm, v vec, p reg) { b.move(a, v, p, (*asm).storePair, (*asm).store) }

func (b block) move(a *asm, v vec, p reg, pair func(*asm, vec, reg, int), one func(*asm, byte, vec, reg, int)) {
	switch b {
	case 16, 8:
		for i := 0; i < b.regs(); i += 2 {
			pair(a, v+vec(i), p, 16*i)
		}
	default:
		one(a, map[block]byte{4: 'q', 2: 'd', 1: 's'}[b], v, p, 0)
	}
}

// each calls f for the registers from v on, paired with those from w on.
func (b block) each(v, w vec, f func(v, w vec)) {
	for i := range b.regs() {
		f(v+vec(i), w+vec(i))
	}
}

// byColumns runs body for blocks of 16 columns, then for the remaining 8, 4, 2 and 1. The pointers are
// parameters and advance with the columns. Labels in body end in the number of the block.
func byColumns(a *asm, names string, ptrs []reg, body func(b block)) {
	const cols reg = 2
	a.param("c", cols)
	a.params(names, ptrs...)
	move := func(b block) {
		for _, p := range ptrs {
			a.addTo(p, 4*int(b))
		}
	}
	a.subFrom(cols, 16)
	a.jumpIf("lt", "rest")
	a.label("columns")
	body(16)
	move(16)
	a.subFrom(cols, 16)
	a.jumpIf("ge", "columns")
	a.label("rest")
	a.addTo(cols, 16)
	for i, b := range []block{8, 4, 2, 1} {
		label := fmt.Sprint("without", b)
		a.jumpUnlessBit(cols, 3-i, label)
		body(b)
		if b > 1 {
			move(b)
		}
		a.label(label)
	}
}
