package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/reg"
)

func rmsprop() {
	TEXT("rmspropSIMD", NOSPLIT, "func(n int, w, grad, v *float32, rate, decay, rest, eps float32)")
	Comment("v[i] = decay·v[i] + rest·grad[i]²; w[i] -= rate·grad[i]/(√v[i]+eps)",
		"w DI, grad SI, v R8; rate, decay, rest and eps in registers 0 to 3")
	for i, name := range []string{"rate", "decay", "rest", "eps"} {
		spread(name, ymm(i))
	}
	params("w grad v", RDI, RSI, R8)
	alongside(1, []GPPhysical{RDI, RSI, R8}, func(u int, masked bool) {
		w, g, v, t := ymm(4), ymm(5), ymm(6), ymm(7)
		load(at(RSI, u), g, masked)
		load(at(R8, u), v, masked)
		load(at(RDI, u), w, masked)
		VMULPS(g, ymm(2), t)
		VMULPS(ymm(1), v, v)
		VFMADD231PS(t, g, v)
		store(v, at(R8, u), masked)
		VSQRTPS(v, t)
		VADDPS(ymm(3), t, t)
		VMULPS(ymm(0), g, g)
		VDIVPS(t, g, g)
		VSUBPS(g, w, w)
		store(w, at(RDI, u), masked)
	})
	ret()
}

func adam() {
	TEXT("adamSIMD", NOSPLIT, "func(n int, w, grad, m, v *float32, rate, beta1, rest1, beta2, rest2, eps float32)")
	Comment("m[i] = beta1·m[i] + rest1·grad[i]; v[i] = beta2·v[i] + rest2·grad[i]²; w[i] -= rate·m[i]/(√v[i]+eps)",
		"w DI, grad SI, m R9, v R8; rate, beta1, rest1, beta2, rest2 and eps in registers 0 to 5")
	for i, name := range []string{"rate", "beta1", "rest1", "beta2", "rest2", "eps"} {
		spread(name, ymm(i))
	}
	params("w grad m v", RDI, RSI, R9, R8)
	alongside(1, []GPPhysical{RDI, RSI, R8, R9}, func(u int, masked bool) {
		w, g, m, v, t := ymm(6), ymm(7), ymm(8), ymm(9), ymm(10)
		load(at(RSI, u), g, masked)
		load(at(R9, u), m, masked)
		load(at(R8, u), v, masked)
		load(at(RDI, u), w, masked)
		VMULPS(ymm(1), m, m)
		VFMADD231PS(ymm(2), g, m)
		store(m, at(R9, u), masked)
		VMULPS(g, ymm(4), t)
		VMULPS(ymm(3), v, v)
		VFMADD231PS(t, g, v)
		store(v, at(R8, u), masked)
		VSQRTPS(v, t)
		VADDPS(ymm(5), t, t)
		VMULPS(ymm(0), m, m)
		VDIVPS(t, m, m)
		VSUBPS(m, w, w)
		store(w, at(RDI, u), masked)
	})
	ret()
}
