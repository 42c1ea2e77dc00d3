package parquet

import (
	"math"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/internal/tabular"
)

func isInteger(c tabular.Column) bool { return c.Depth == 0 && arrow.IsInteger(c.Elem) }

// ends sets one end of each edge. It is not ok where a value is no id, and tells
// which.
func ends(list []graph.Edge, values any, from bool) (row int, v any, ok bool) {
	switch x := values.(type) {
	case []int32:
		return set(list, x, from)
	case []int64:
		return set(list, x, from)
	case []uint32:
		return set(list, x, from)
	case []uint64:
		return set(list, x, from)
	}
	return 0, values, false
}

func set[T int32 | int64 | uint32 | uint64](list []graph.Edge, x []T, from bool) (int, any, bool) {
	if len(x) != len(list) {
		return len(x), nil, false
	}
	for i, v := range x {
		if v < 0 || uint64(v) > math.MaxInt32 {
			return i, v, false
		}
		if from {
			list[i].U = int32(v)
		} else {
			list[i].V = int32(v)
		}
	}
	return 0, nil, true
}

// weights sets the weight of each edge. It is not ok where a value is none, and tells
// which.
func weights(list []float32, values any) (row int, v any, ok bool) {
	switch x := values.(type) {
	case []int32:
		return weigh(list, x)
	case []int64:
		return weigh(list, x)
	case []uint32:
		return weigh(list, x)
	case []uint64:
		return weigh(list, x)
	case []float32:
		return weigh(list, x)
	case []float64:
		return weigh(list, x)
	}
	return 0, values, false
}

func weigh[T int32 | int64 | uint32 | uint64 | float32 | float64](list []float32, x []T) (int, any, bool) {
	if len(x) != len(list) {
		return len(x), nil, false
	}
	for i, v := range x {
		w := float32(v)
		if w-w != 0 { // infinite, or no number
			return i, v, false
		}
		list[i] = w
	}
	return 0, nil, true
}
