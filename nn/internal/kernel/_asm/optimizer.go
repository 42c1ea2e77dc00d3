package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/reg"
)

func rmsprop() {
	s := avx2
	TEXT("rmsprop"+s.suffix, NOSPLIT, "func(n int, w, grad, v *float32, rate, decay, rest, eps float32)")
	Comment("v[i] = decay·v[i] + rest·grad[i]²; w[i] -= rate·grad[i]/(√v[i]+eps)",
		"w DI, grad SI, v R8; rate, decay, rest and eps in registers 0 to 3")
	for i, name := range []string{"rate", "decay", "rest", "eps"} {
		spread(s, name, s.v(i))
	}
	params("w grad v", RDI, RSI, R8)
	alongside(s, 1, []GPPhysical{RDI, RSI, R8}, func(u int, masked bool) {
		w, g, v, t := s.v(4), s.v(5), s.v(6), s.v(7)
		s.load(at(s, RSI, u), g, masked)
		s.load(at(s, R8, u), v, masked)
		s.load(at(s, RDI, u), w, masked)
		VMULPS(g, s.v(2), t)
		VMULPS(s.v(1), v, v)
		VFMADD231PS(t, g, v)
		s.store(v, at(s, R8, u), masked)
		VSQRTPS(v, t)
		VADDPS(s.v(3), t, t)
		VMULPS(s.v(0), g, g)
		VDIVPS(t, g, g)
		VSUBPS(g, w, w)
		s.store(w, at(s, RDI, u), masked)
	})
	ret()
}

func adam() {
	s := avx2
	TEXT("adam"+s.suffix, NOSPLIT, "func(n int, w, grad, m, v *float32, rate, beta1, rest1, beta2, rest2, eps float32)")
	Comment("m[i] = beta1·m[i] + rest1·grad[i]; v[i] = beta2·v[i] + rest2·grad[i]²; w[i] -= rate·m[i]/(√v[i]+eps)",
		"w DI, grad SI, m R9, v R8; rate, beta1, rest1, beta2, rest2 and eps in registers 0 to 5")
	for i, name := range []string{"rate", "beta1", "rest1", "beta2", "rest2", "eps"} {
		spread(s, name, s.v(i))
	}
	params("w grad m v", RDI, RSI, R9, R8)
	alongside(s, 1, []GPPhysical{RDI, RSI, R8, R9}, func(u int, masked bool) {
		w, g, m, v, t := s.v(6), s.v(7), s.v(8), s.v(9), s.v(10)
		s.load(at(s, RSI, u), g, masked)
		s.load(at(s, R9, u), m, masked)
		s.load(at(s, R8, u), v, masked)
		s.load(at(s, RDI, u), w, masked)
		VMULPS(s.v(1), m, m)
		VFMADD231PS(s.v(2), g, m)
		s.store(m, at(s, R9, u), masked)
		VMULPS(g, s.v(4), t)
		VMULPS(s.v(3), v, v)
		VFMADD231PS(t, g, v)
		s.store(v, at(s, R8, u), masked)
		VSQRTPS(v, t)
		VADDPS(s.v(5), t, t)
		VMULPS(s.v(0), m, m)
		VDIVPS(t, m, m)
		VSUBPS(m, w, w)
		s.store(w, at(s, RDI, u), masked)
	})
	ret()
}
