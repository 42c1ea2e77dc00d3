package main

// bernoulli draws sixteen lanes of xoshiro128++ a round, in four groups of four.
func bernoulli(a *asm) {
	a.function("bernoulliNEON", "n int, dst, p *float32, s *uint32", "", 0,
		"dst[i] = 1 if the next number of lane i mod 16 < p[i], else 0",
		"dst R0, p R1, n R2, s R3; s0 to s3 of the groups from V0 on, 1 in V31")
	const dst, p, n, s = reg(0), reg(1), reg(2), reg(3)
	const one = vec(31)
	state := func(group, i int) vec { return vec(4*i + group) }
	a.emit("FMOVS $1.0, F31", "fmov s31, #1.0")
	a.dup(one)
	a.param("dst", dst)
	a.param("p", p)
	a.param("n", n)
	a.param("s", s)
	for i := range 4 {
		a.loadPair(state(0, i), s, 64*i)
		a.loadPair(state(2, i), s, 64*i+32)
	}
	a.label("block")
	a.begin("", 16)
	for g := range 4 {
		s0, s1, s2, s3 := state(g, 0), state(g, 1), state(g, 2), state(g, 3)
		u, t, r := vec(16+3*g), vec(17+3*g), vec(18+3*g)
		a.op("add", t, s0, s3)
		a.shift("shl", u, t, 7)
		a.shift("sri", u, t, 25)
		a.op("add", u, u, s0)
		a.shift("shl", t, s1, 9)
		a.bits("eor", s2, s2, s0)
		a.bits("eor", s3, s3, s1)
		a.bits("eor", s1, s1, s2)
		a.bits("eor", s0, s0, s3)
		a.bits("eor", s2, s2, t)
		a.shift("shl", r, s3, 11)
		a.shift("sri", r, s3, 21)
		a.copy(s3, r)
		a.shift("ushr", u, u, 8)
		a.fraction(u, u, 24)
		a.load('q', t, p, 16*g)
		a.op("fcmgt", u, t, u) // false for NaN
		a.bits("and", u, u, one)
		a.store('q', u, dst, 16*g)
	}
	a.addTo(p, 64)
	a.addTo(dst, 64)
	a.subFrom(n, 16)
	a.jumpIf("ne", "block")
	a.end()
	for i := range 4 {
		a.storePair(state(0, i), s, 64*i)
		a.storePair(state(2, i), s, 64*i+32)
	}
	a.ret()
}
