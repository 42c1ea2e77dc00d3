package parquet

// scratch is the memory that the decoding of a column takes. If the values are
// only looked at before the next row group is read, it is used again: what is
// collected meanwhile would otherwise be as much as what is kept.
type scratch struct {
	packed, plain      []byte
	rep, def           []uint8
	values, dictionary any     // of the physical type
	places             []int32 // in the dictionary
	nulls              []bool
}

// room returns n values of arbitrary content, in the memory that is kept if they fit.
func room[T any](kept *[]T, n int) []T {
	if cap(*kept) < n {
		*kept = make([]T, n)
	}
	return (*kept)[:n]
}

// roomOf is room for values of a physical type.
func roomOf[T physical](kept *any, n int) []T {
	v, _ := (*kept).([]T)
	if cap(v) < n {
		v = make([]T, n)
		*kept = v
	}
	return v[:n]
}
