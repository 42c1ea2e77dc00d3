package nn

import (
	"math"
	"testing"
)

func TestSoftmax(t *testing.T) {
	x := []float32{
		0, float32(math.Log(3)), // 1 : 3
		1000, 1000, // exp overflows
		-1000, 0,
		float32(math.Inf(-1)), 5,
	}
	if bad := softmax(x, 4, 2); bad != -1 {
		t.Errorf("bad row %d", bad)
	}
	compare(t, "p", x, []float64{0.25, 0.75, 0.5, 0.5, 0, 1, 0, 1}, 1e-6)

	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, row := range [][]float32{{nan, 0}, {0, nan}, {inf, 0}, {-inf, -inf}} {
		if bad := softmax(append([]float32{0, 0}, row...), 2, 2); bad != 1 {
			t.Errorf("softmax of %v: bad row %d, want 1", row, bad)
		}
	}
}
