package main

func rmsprop(a *asm) {
	a.function("rmspropNEON", "n int, w, grad, v *float32, rate, decay, rest, eps float32", "", 0,
		"v[i] = decay·v[i] + rest·grad[i]²; w[i] -= rate·grad[i]/(√v[i]+eps)",
		"w R0, grad R1, v R3; rate, decay, rest and eps in V0 to V3")
	for i, name := range []string{"rate", "decay", "rest", "eps"} {
		a.spread(name, vec(i))
	}
	a.param("w", 0)
	a.param("grad", 1)
	a.param("v", 3)
	alongside(a, 1, []reg{0, 1, 3}, func(u int, kind byte) {
		const w, g, v, t = vec(4), vec(5), vec(6), vec(7)
		a.load(kind, g, 1, 0)
		a.load(kind, v, 3, 0)
		a.load(kind, w, 0, 0)
		a.op("fmul", t, g, 2)
		a.op("fmul", v, v, 1)
		a.op("fmla", v, g, t)
		a.store(kind, v, 3, 0)
		a.op2("fsqrt", t, v)
		a.op("fadd", t, t, 3)
		a.op("fmul", g, g, 0)
		a.op("fdiv", g, g, t)
		a.op("fsub", w, w, g)
		a.store(kind, w, 0, 0)
	})
	a.ret()
}

// adagrad squares and adds in two steps, as on amd64.
func adagrad(a *asm) {
	a.function("adagradNEON", "n int, w, grad, v *float32, rate, eps float32", "", 0,
		"v[i] += grad[i]²; w[i] -= rate·grad[i]/(√v[i]+eps)",
		"w R0, grad R1, v R3; rate and eps in V0 and V1")
	for i, name := range []string{"rate", "eps"} {
		a.spread(name, vec(i))
	}
	a.param("w", 0)
	a.param("grad", 1)
	a.param("v", 3)
	alongside(a, 1, []reg{0, 1, 3}, func(u int, kind byte) {
		const w, g, v, t = vec(4), vec(5), vec(6), vec(7)
		a.load(kind, g, 1, 0)
		a.load(kind, v, 3, 0)
		a.load(kind, w, 0, 0)
		a.op("fmul", t, g, g)
		a.op("fadd", v, v, t)
		a.store(kind, v, 3, 0)
		a.op2("fsqrt", t, v)
		a.op("fadd", t, t, 1)
		a.op("fmul", g, g, 0)
		a.op("fdiv", g, g, t)
		a.op("fsub", w, w, g)
		a.store(kind, w, 0, 0)
	})
	a.ret()
}

func adam(a *asm) {
	a.function("adamNEON", "n int, w, grad, m, v *float32, rate, beta1, rest1, beta2, rest2, eps float32", "", 0,
		"m[i] = beta1·m[i] + rest1·grad[i]; v[i] = beta2·v[i] + rest2·grad[i]²; w[i] -= rate·m[i]/(√v[i]+eps)",
		"w R0, grad R1, v R3, m R4; rate, beta1, rest1, beta2, rest2 and eps in V0 to V5")
	for i, name := range []string{"rate", "beta1", "rest1", "beta2", "rest2", "eps"} {
		a.spread(name, vec(i))
	}
	a.param("w", 0)
	a.param("grad", 1)
	a.param("v", 3)
	a.param("m", 4)
	alongside(a, 1, []reg{0, 1, 3, 4}, func(u int, kind byte) {
		const w, g, m, v, t = vec(6), vec(7), vec(8), vec(9), vec(10)
		a.load(kind, g, 1, 0)
		a.load(kind, m, 4, 0)
		a.load(kind, v, 3, 0)
		a.load(kind, w, 0, 0)
		a.op("fmul", m, m, 1)
		a.op("fmla", m, g, 2)
		a.store(kind, m, 4, 0)
		a.op("fmul", t, g, 4)
		a.op("fmul", v, v, 3)
		a.op("fmla", v, g, t)
		a.store(kind, v, 3, 0)
		a.op2("fsqrt", t, v)
		a.op("fadd", t, t, 5)
		a.op("fmul", m, m, 0)
		a.op("fdiv", m, m, t)
		a.op("fsub", w, w, m)
		a.store(kind, w, 0, 0)
	})
	a.ret()
}

func momentum(a *asm) {
	a.function("momentumNEON", "n int, w, grad, v *float32, keep, a, b float32", "", 0,
		"v[i] = keep·v[i] + grad[i]; w[i] -= a·v[i] + b·grad[i]",
		"w R0, grad R1, v R3; keep, a and b in V0 to V2")
	for i, name := range []string{"keep", "a", "b"} {
		a.spread(name, vec(i))
	}
	a.param("w", 0)
	a.param("grad", 1)
	a.param("v", 3)
	alongside(a, 2, []reg{0, 1, 3}, func(u int, kind byte) {
		w, g, v, t := vec(3+4*u), vec(4+4*u), vec(5+4*u), vec(6+4*u)
		a.load(kind, w, 0, 16*u)
		a.load(kind, g, 1, 16*u)
		a.load(kind, v, 3, 16*u)
		a.copy(t, g)
		a.op("fmla", t, v, 0)
		a.store(kind, t, 3, 16*u)
		a.op("fmls", w, t, 1)
		a.op("fmls", w, g, 2)
		a.store(kind, w, 0, 16*u)
	})
	a.ret()
}
