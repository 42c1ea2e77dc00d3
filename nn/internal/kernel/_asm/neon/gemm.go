package main

import "fmt"

// Registers of the panels. R0 to R11 are the rows of A, at column 0 of the tile,
// and an offset moves along all of them.
const (
	maxRows = 12
	aOff    = reg(12) // offset from the rows of A to column l
	bPtr    = reg(13) // B, at row l
	count   = reg(14) // remaining steps
	colStr  = reg(15) // bytes from a column of A to the next
	bStr    = reg(16) // bytes from a row of B to the next
	rowStr  = reg(17) // bytes from a row of A to the next
	rows    = reg(19) // rows of a tile
	cols    = reg(20) // columns of the last register, 0 for four
	cPtr    = reg(21) // C, at the row to write
	cStr    = reg(22) // bytes from a row of C to the next
	accFlg  = reg(23)
	tiles   = reg(24) // remaining tiles
	left    = reg(25) // remaining rows to write
	spare   = reg(26)
)

// panel writes a column panel of C that is nv registers wide. The last register has cols columns. The panel
// has tiles tiles of rows rows each. Entries of A are loaded one by one, so A can have any strides; the loads
// do not limit the speed of a tile.
func panel(a *asm, nv int) {
	acc := func(r, v int) vec { return vec(nv*r + v) }
	const b, entry = vec(24), vec(26) // b has two registers, entry has six
	a.function(fmt.Sprintf("panel%dSIMD", nv),
		"rows, tiles, l int, a *float32, rs, cs int, b *float32, ldb, cols int, c *float32, ldc int, acc bool", "", 0,
		"for i < rows·tiles, j < columns: c[i·ldc+j] (+)= Σ_l a[i·rs+l·cs] · b[l·ldb+j]",
		"rows of a R0 to R11, offset to column l R12, b R13, l R14, cs R15, ldb R16, rs R17, rows R19, cols R20,",
		"c R21, ldc R22, acc R23, tiles R24; sums from V0, row by row; row of b V24 and V25; entries of a from V26")
	a.params("rows tiles a rs cs ldb cols c ldc", rows, tiles, 0, rowStr, colStr, bStr, cols, cPtr, cStr)
	a.emit("AND $3, %v", cols)
	a.paramAs("MOVBU", "acc", accFlg.String())
	for _, r := range []reg{rowStr, colStr, bStr, cStr} {
		a.times4(r, r)
	}
	a.label("tile")
	for r := reg(1); r < maxRows; r++ {
		a.add(r, r-1, rowStr)
	}
	a.zeroReg(aOff)
	a.params("b l", bPtr, count)
	label := func(r int, what string) string { return fmt.Sprintf("rows%d%s", r, what) }
	for r := maxRows; r > 1; r-- {
		a.compareTo(rows, r)
		a.jumpIf("eq", label(r, ""))
	}
	for h := 1; h <= maxRows; h++ {
		a.label(label(h, ""))
		for i := range h * nv {
			a.zero(vec(i))
		}
		a.label(label(h, "sum"))
		for v := range nv - 1 {
			a.load('q', b+vec(v), bPtr, 16*v)
		}
		a.jumpUnlessZero(cols, label(h, "part"))
		a.load('q', b+vec(nv-1), bPtr, 16*(nv-1))
		a.label(label(h, "go"))
		for r := range h {
			e := entry + vec(r%6)
			a.loadAt(e, reg(r), aOff)
			for v := range nv {
				a.fmlaBy(acc(r, v), b+vec(v), e)
			}
		}
		a.add(aOff, aOff, colStr)
		a.add(bPtr, bPtr, bStr)
		a.subFrom(count, 1)
		a.jumpIf("ne", label(h, "sum"))
		a.jump("write")
		a.label(label(h, "part"))
		loadPart(a, b+vec(nv-1), bPtr, 16*(nv-1), label(h, "one"), label(h, "go"))
		a.jump(label(h, "go"))
	}
	a.label("write")
	a.mov(left, rows)
	a.jumpUnlessZero(cols, "part")
	writeRows(a, "set", "add", func(r int, add bool) {
		for v := range nv {
			if add {
				a.load('q', entry, cPtr, 16*v)
				a.op("fadd", acc(r, v), acc(r, v), entry)
			}
			a.store('q', acc(r, v), cPtr, 16*v)
		}
	})
	a.label("part")
	writeRows(a, "setpart", "addpart", func(r int, add bool) {
		name := fmt.Sprintf("%v%d", add, r)
		for v := range nv {
			last := v == nv-1
			if add {
				if last {
					loadPart(a, entry, cPtr, 16*v, "load1"+name, "loaded"+name)
					a.label("loaded" + name)
				} else {
					a.load('q', entry, cPtr, 16*v)
				}
				a.op("fadd", acc(r, v), acc(r, v), entry)
			}
			if last {
				storePart(a, acc(r, v), cPtr, 16*v, "store1"+name, "stored"+name)
			} else {
				a.store('q', acc(r, v), cPtr, 16*v)
			}
		}
	})
	a.label("next")
	a.madd(0, rows, rowStr, 0)
	a.subFrom(tiles, 1)
	a.jumpIf("ne", "tile")
	a.ret()
}

// loadPart loads cols values, 1 to 3, then jumps to done or falls through to it.
func loadPart(a *asm, v vec, p reg, off int, one, done string) {
	a.jumpUnlessBit(cols, 1, one)
	a.load('d', v, p, off)
	a.jumpUnlessBit(cols, 0, done)
	a.addImm(spare, p, off+8)
	a.loadThird(v, spare)
	a.jump(done)
	a.label(one)
	a.load('s', v, p, off)
}

func storePart(a *asm, v vec, p reg, off int, one, done string) {
	a.jumpUnlessBit(cols, 1, one)
	a.store('d', v, p, off)
	a.jumpUnlessBit(cols, 0, done)
	a.addImm(spare, p, off+8)
	a.storeThird(v, spare)
	a.jump(done)
	a.label(one)
	a.store('s', v, p, off)
	a.label(done)
}

// writeRows emits write for C = and for C +=, for maxRows rows each, with a jump to next after the last row
// of a lower tile.
func writeRows(a *asm, set, add string, write func(r int, add bool)) {
	a.jumpUnlessZero(accFlg, add)
	for _, adds := range []bool{false, true} {
		a.label(map[bool]string{false: set, true: add}[adds])
		for r := range maxRows {
			write(r, adds)
			a.add(cPtr, cPtr, cStr)
			if r < maxRows-1 {
				a.subFrom(left, 1)
				a.jumpIf("eq", "next")
			}
		}
		a.jump("next")
	}
}
