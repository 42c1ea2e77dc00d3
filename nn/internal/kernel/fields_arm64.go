//go:build !noasm

package kernel

func gatherFields(w, n int, dst []float32, c int, table []float32, idx []int32) (bad bool) {
	return gatherFieldsNEON(w, n, c, &dst[0], &table[0], len(table)-c, &idx[0])
}

func scatterFields(w, n int, table []float32, c int, idx []int32, src []float32) (bad bool) {
	return scatterFieldsNEON(w, n, c, &table[0], &src[0], len(table)-c, &idx[0])
}

// for f < w, j < n, idx[f*n+j] >= 0, i < c: dst[f*c+i] += table[idx[f*n+j]+i];
// bad when some place is above limit
//
//go:noescape
func gatherFieldsNEON(w, n, c int, dst, table *float32, limit int, idx *int32) (bad bool)

// for f < w, j < n, idx[f*n+j] >= 0, i < c: table[idx[f*n+j]+i] += src[f*c+i];
// bad when some place is above limit
//
//go:noescape
func scatterFieldsNEON(w, n, c int, table, src *float32, limit int, idx *int32) (bad bool)
