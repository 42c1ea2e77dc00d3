package nn

import (
	"math"
	"testing"
)

// Two steps against the formula, worked out in float64.
func TestRMSprop(t *testing.T) {
	o, err := RMSprop{Rate: 0.5, Rho: 0.75}.resolve()
	if err != nil {
		t.Fatal(err)
	}
	w := []float32{1, 1}
	s := o.start(2)
	s.step(1, w, []float32{2, 0})
	// v = ¼·2² = 1, so w = 1 - ½·2/1 = 0; a gradient of 0 moves nothing.
	compare(t, "w", w, []float64{0, 1}, 1e-6)
	s.step(2, w, []float32{-4, 0})
	// v = ¾·1 + ¼·16 = 4.75.
	compare(t, "w", w, []float64{0.5 * 4 / math.Sqrt(4.75), 1}, 1e-6)
}

func TestRMSpropSettings(t *testing.T) {
	o, err := RMSprop{}.resolve()
	if want := (RMSprop{Rate: 1e-3, Rho: 0.9}); err != nil || o != want {
		t.Errorf("defaults are %+v, %v, want %+v", o, err, want)
	}
	nan, inf := math.NaN(), math.Inf(1)
	for _, bad := range []RMSprop{
		{Rate: -1}, {Rate: nan}, {Rate: inf}, {Rate: 1e300}, {Rate: 1e-300},
		{Rho: -0.5}, {Rho: 1}, {Rho: nan}, {Rho: 0.9999999999},
	} {
		if _, err := bad.resolve(); err == nil {
			t.Errorf("%+v was accepted", bad)
		}
	}
}
