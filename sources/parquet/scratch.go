package parquet

// scratch holds the buffers for decoding a column. Table reuses them between row groups. Without
// reuse, the garbage between two collections would be as large as the data that is kept.
type scratch struct {
	packed, plain      []byte
	rep, def           []uint8
	values, dictionary any     // slice of the physical type
	places             []int32 // dictionary indices
	nulls              []bool
}

// room returns n values of undefined content. It reuses *kept if the capacity suffices.
func room[T any](kept *[]T, n int) []T {
	if cap(*kept) < n {
		*kept = make([]T, n)
	}
	return (*kept)[:n]
}

// roomOf is room for a slice that is stored in an interface value.
func roomOf[T physical](kept *any, n int) []T {
	v, _ := (*kept).([]T)
	if cap(v) < n {
		v = make([]T, n)
		*kept = v
	}
	return v[:n]
}
