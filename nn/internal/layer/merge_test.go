package layer

import (
	"slices"
	"testing"
)

func TestMerge(t *testing.T) {
	a, b := []float32{1, 2 /**/, 3, 4}, []float32{10, 20 /**/, 30, 40} // two fields of two maps
	for _, test := range []struct {
		sum      bool
		y        []float32
		dy       []float32
		da, db   []float32
		channels int
	}{
		{false, []float32{1, 2, 10, 20 /**/, 3, 4, 30, 40}, []float32{1, 2, 3, 4 /**/, 5, 6, 7, 8},
			[]float32{1, 2 /**/, 5, 6}, []float32{3, 4 /**/, 7, 8}, 4},
		{true, []float32{11, 22 /**/, 33, 44}, []float32{1, 2 /**/, 3, 4},
			[]float32{1, 2 /**/, 3, 4}, []float32{1, 2 /**/, 3, 4}, 2},
	} {
		l := NewMerge(test.sum, 2)
		y, da, db := make([]float32, len(test.y)), make([]float32, 4), make([]float32, 4)
		l.Forward(y, a, b)
		l.Backward(da, db, test.dy)
		if l.Channels() != test.channels || !slices.Equal(y, test.y) || !slices.Equal(da, test.da) || !slices.Equal(db, test.db) {
			t.Errorf("%t: %d channels, y = %v, da = %v, db = %v", test.sum, l.Channels(), y, da, db)
		}
	}
}
