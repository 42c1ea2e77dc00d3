package sources

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/sanflow/sanflow/internal/decimal"
)

// ClassIndex returns the index of the class of that name, else of the class that is the same whole
// number in another spelling, as 1 and 1.0, else -1.
func ClassIndex(classes []string, name string) int32 {
	if i := slices.Index(classes, name); i >= 0 {
		return int32(i)
	}
	number, _ := wholeNumber([]byte(name))
	return int32(slices.IndexFunc(classes, func(class string) bool {
		of, _ := wholeNumber([]byte(class))
		return bytes.Equal(of, number)
	}))
}

// sortClasses puts class labels in their order, which is that of the classes of a model: as numbers if all are
// numbers, else as text.
func sortClasses(names []string) {
	value := map[string]float64{}
	for _, s := range names {
		x, err := decimal.Float(s, 64)
		if err != nil || x != x {
			slices.Sort(names)
			return
		}
		value[s] = x
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(value[a], value[b]), cmp.Compare(a, b))
	})
}
