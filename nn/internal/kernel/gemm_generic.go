package kernel

// The assembly equals these loops up to rounding. The innermost loop runs along memory.

// gemmGeneric sets c[i][j] (+)= Σ_l a[i][l]·b[l][j].
func gemmGeneric(m, n, k int, a []float32, lda int, b []float32, ldb int, c []float32, ldc int, acc bool) {
	for i := range m {
		ci := c[i*ldc : i*ldc+n]
		if !acc {
			clear(ci)
		}
		for l, v := range a[i*lda : i*lda+k] {
			axpyGeneric(v, b[l*ldb:l*ldb+n], ci)
		}
	}
}

// gemmTNGeneric sets c[l][j] (+)= Σ_i a[i][l]·b[i][j].
func gemmTNGeneric(m, n, k int, a []float32, lda int, b []float32, ldb int, c []float32, ldc int, acc bool) {
	clearUnless(acc, k, n, c, ldc)
	for i := range m {
		bi := b[i*ldb : i*ldb+n]
		for l, v := range a[i*lda : i*lda+k] {
			axpyGeneric(v, bi, c[l*ldc:l*ldc+n])
		}
	}
}

// gemmNTGeneric sets c[i][l] (+)= Σ_j a[i][j]·b[l][j].
func gemmNTGeneric(m, n, k int, a []float32, lda int, b []float32, ldb int, c []float32, ldc int, acc bool) {
	for i := range m {
		ai := a[i*lda : i*lda+n]
		ci := c[i*ldc : i*ldc+k]
		if !acc {
			clear(ci)
		}
		for l := range ci {
			ci[l] += dotGeneric(ai, b[l*ldb:l*ldb+n])
		}
	}
}
