package sources

import (
	"bytes"
	"slices"

	"github.com/sanflow/sanflow/sources/internal/reading"
)

// ClassIndex returns the index of the class of that name, else of the class that is the same whole
// number in another spelling, as 1 and 1.0, else -1.
func ClassIndex(classes []string, name string) int32 {
	if i := slices.Index(classes, name); i >= 0 {
		return int32(i)
	}
	number, _ := reading.WholeNumber([]byte(name))
	return int32(slices.IndexFunc(classes, func(class string) bool {
		of, _ := reading.WholeNumber([]byte(class))
		return bytes.Equal(of, number)
	}))
}
