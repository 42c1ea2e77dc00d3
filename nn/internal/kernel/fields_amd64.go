//go:build !noasm

package kernel

//go:generate go run -C _asm . -file fields -out ../fields_amd64.s

// wide reports whether rows of c values use AVX-512. Up to eight values fill one AVX2 register. A masked
// AVX-512 store of half a register would delay the load of the next row, which lies in the other half.
func wide(c int) bool { return inUse == avx512 && c > 8 }

func rowOffsets(dst, first, count, values []int32, c int32) (bad bool) {
	if inUse == generic {
		return rowOffsetsGeneric(dst, first, count, values, c)
	}
	return rowOffsetsAVX2(len(values), &dst[0], &first[0], &count[0], &values[0], c)
}

func gatherFields(w, n int, dst []float32, c int, table []float32, idx []int32) (bad bool) {
	switch {
	case inUse == generic:
		return gatherFieldsGeneric(w, n, dst, c, table, idx)
	case wide(c):
		return gatherFieldsAVX512(w, n, c, &dst[0], &table[0], len(table)-c, &idx[0])
	default:
		return gatherFieldsAVX2(w, n, c, &dst[0], &table[0], len(table)-c, &idx[0])
	}
}

func scatterFields(w, n int, table []float32, c int, idx []int32, src []float32) (bad bool) {
	switch {
	case inUse == generic:
		return scatterFieldsGeneric(w, n, table, c, idx, src)
	case wide(c):
		return scatterFieldsAVX512(w, n, c, &table[0], &src[0], len(table)-c, &idx[0])
	default:
		return scatterFieldsAVX2(w, n, c, &table[0], &src[0], len(table)-c, &idx[0])
	}
}

// for i < n: dst[i] = first[i] + c*values[i], or -1 where values[i] is -1;
// bad when some value is not -1 to count[i]-1
//
//go:noescape
func rowOffsetsAVX2(n int, dst, first, count, values *int32, c int32) (bad bool)

// for f < w, j < n, idx[f*n+j] >= 0, i < c: dst[f*c+i] += table[idx[f*n+j]+i];
// bad when some place is above limit
//
//go:noescape
func gatherFieldsAVX2(w, n, c int, dst, table *float32, limit int, idx *int32) (bad bool)

//go:noescape
func gatherFieldsAVX512(w, n, c int, dst, table *float32, limit int, idx *int32) (bad bool)

// for f < w, j < n, idx[f*n+j] >= 0, i < c: table[idx[f*n+j]+i] += src[f*c+i];
// bad when some place is above limit
//
//go:noescape
func scatterFieldsAVX2(w, n, c int, table, src *float32, limit int, idx *int32) (bad bool)

//go:noescape
func scatterFieldsAVX512(w, n, c int, table, src *float32, limit int, idx *int32) (bad bool)
