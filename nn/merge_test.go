package nn

import (
	"slices"
	"testing"
)

func TestMerge(t *testing.T) {
	a, b := []float32{1, 2 /**/, 3, 4}, []float32{10, 20 /**/, 30, 40} // two fields of two maps
	for _, test := range []struct {
		m        Merge
		y        []float32
		dy       []float32
		da, db   []float32
		channels int
	}{
		{Concat, []float32{1, 2, 10, 20 /**/, 3, 4, 30, 40}, []float32{1, 2, 3, 4 /**/, 5, 6, 7, 8},
			[]float32{1, 2 /**/, 5, 6}, []float32{3, 4 /**/, 7, 8}, 4},
		{Sum, []float32{11, 22 /**/, 33, 44}, []float32{1, 2 /**/, 3, 4},
			[]float32{1, 2 /**/, 3, 4}, []float32{1, 2 /**/, 3, 4}, 2},
	} {
		l := newMerge(test.m == Sum, 2)
		y, da, db := make([]float32, len(test.y)), make([]float32, 4), make([]float32, 4)
		l.forward(y, a, b)
		l.backward(da, db, test.dy)
		if l.channels() != test.channels || !slices.Equal(y, test.y) || !slices.Equal(da, test.da) || !slices.Equal(db, test.db) {
			t.Errorf("%s: %d channels, y = %v, da = %v, db = %v", test.m, l.channels(), y, da, db)
		}
	}
}
