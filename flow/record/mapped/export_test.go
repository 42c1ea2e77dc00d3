package mapped

// OpenBytes opens a file that is in memory; done is called when it would be
// unmapped.
func OpenBytes(data []byte, done func()) (*File, error) {
	return open("bytes", &mapping{data: data, unmap: func([]byte) error { done(); return nil }})
}
