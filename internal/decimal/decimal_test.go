package decimal_test

import (
	"math"
	"testing"

	"github.com/sanflow/sanflow/internal/decimal"
)

func TestFloat(t *testing.T) {
	for text, want := range map[string]float64{"1": 1, "-0.5": -0.5, "1e3": 1000, ".5": 0.5, "5.": 5, "+7": 7, "007": 7} {
		if got, err := decimal.Finite(text, 64); got != want || err != nil {
			t.Errorf("%q is %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"1_000", "0x1p4", "0X1P-2", "1_0e1_0", "0x_1p2", "1e400", "0x1p9999", "NaN", "inf", "-Infinity", "", "1 ", "1,5"} {
		if got, err := decimal.Finite(text, 64); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
	if v, err := decimal.Float("-inf", 64); err != nil || !math.IsInf(v, -1) {
		t.Errorf("-inf is %v, %v", v, err)
	}
	if v, err := decimal.Float("1e39", 32); err == nil || !math.IsInf(v, 1) {
		t.Errorf("1e39 is %v, %v", v, err)
	}
}
