package reading

import (
	"fmt"
	"strings"
	"testing"
)

// Decimal numbers are rounded to a float32; notations of Go, and what is not finite or
// too large, are errors.
func TestFinite(t *testing.T) {
	for _, c := range []struct {
		text, want string
	}{
		{"0", "0"}, {"-0", "-0"}, {"007", "7"}, {"+3", "3"}, {".5", "0.5"}, {"5.", "5"}, {"1e3", "1000"}, {"-2.5E-1", "-0.25"},
		{"16777217", "1.6777216e+07"}, {"3.4028235e38", "3.4028235e+38"},
		{"1e-45", "1e-45"}, {"8e-46", "1e-45"}, {"7e-46", "0"}, {"1e-60", "0"}, {"-1e-400", "-0"},
		{"3.5e38", "does not fit a float32"}, {"-1e400", "does not fit a float32"},
		{"0x1p3", "want a decimal number"}, {"-0X1P-2", "want a decimal number"}, {"0x1p999", "want a decimal number"}, {"0x10", "want a number"},
		{"1_000", "want a "}, {"0x_1p3", "want a "}, {"1p3", "want a number"},
		{"inf", "want a finite number"}, {"-Infinity", "want a finite number"}, {"NaN", "want a finite number"},
		{"", "want a number"}, {"1e", "want a number"}, {"one", "want a number"}, {"1.2.3", "want a number"}, {"½", "want a number"},
	} {
		v, err := Finite([]byte(c.text))
		got := fmt.Sprint(v)
		if err != nil {
			got = err.Error()
		}
		if strings.HasPrefix(c.want, "want") || strings.HasPrefix(c.want, "does") {
			if err == nil || !strings.Contains(got, c.want) {
				t.Errorf("%q: %s, want an error with %q", c.text, got, c.want)
			}
		} else if got != c.want {
			t.Errorf("%q is %s, want %s", c.text, got, c.want)
		}
	}
}

// twoNumbers takes what field and integer take, and less.
func FuzzTwoNumbers(f *testing.F) {
	for _, s := range []string{"1, 2", "12 3", "1,,2", "1 ,\t2", "123456789,1234567890", "1", "1 2 ", " 1 2", "+1 2", "1 2x", "", "12", "007,0"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		a, b, n := TwoNumbers([]byte(s))
		if n == 0 {
			return
		}
		first, rest := Field([]byte(s[:n]))
		second, rest := Field(rest)
		x, ok1 := Integer(first)
		y, ok2 := Integer(second)
		if !ok1 || !ok2 || x != int64(a) || y != int64(b) || len(rest) > 0 {
			t.Errorf("%q is %d and %d, want %d and %d, and %q after them", s, a, b, x, y, rest)
		}
	})
}
