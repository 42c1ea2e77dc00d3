package main

// drop widens draws to 32 bits and compares.
func drop(a *asm) {
	a.function("dropNEON", "n int, y, x *float32, draws *uint16, limit uint32, scale float32", "", 0,
		"y[i] = scale·x[i] if draws[i] >= limit, else 0, for n a positive multiple of 8",
		"y R0, x R1, n R2, draws R3; scale in V0, limit in V1")
	const y, x, n, draws = reg(0), reg(1), reg(2), reg(3)
	a.spread("scale", 0)
	a.paramAs("MOVWU", "limit", "R4")
	a.dupReg(1, 4)
	a.param("y", y)
	a.param("x", x)
	a.param("draws", draws)
	a.param("n", n)
	a.label("values")
	a.begin("", 8)
	a.load('q', 2, draws, 0)
	a.loadPair(4, x, 0)
	a.emit("VUXTL2 V2.H8, V3.S4", "uxtl2 v3.4s, v2.8h")
	a.emit("VUXTL V2.H4, V2.S4", "uxtl v2.4s, v2.4h")
	for half := range vec(2) {
		a.op("fmul", 4+half, 4+half, 0)
		a.op("cmhs", 2+half, 2+half, 1)
		a.bits("and", 4+half, 4+half, 2+half)
	}
	a.storePair(4, y, 0)
	a.addTo(draws, 16)
	a.addTo(x, 32)
	a.addTo(y, 32)
	a.subFrom(n, 8)
	a.jumpIf("ne", "values")
	a.end()
	a.ret()
}
