package sources

import "testing"

// twoNumbers takes what field and integer take, and less.
func FuzzTwoNumbers(f *testing.F) {
	for _, s := range []string{"1, 2", "12 3", "1,,2", "1 ,\t2", "123456789,1234567890", "1", "1 2 ", " 1 2", "+1 2", "1 2x", "", "12", "007,0"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		a, b, ok := twoNumbers([]byte(s))
		if !ok {
			return
		}
		first, rest := field([]byte(s))
		second, rest := field(rest)
		x, ok1 := integer(first)
		y, ok2 := integer(second)
		if !ok1 || !ok2 || x != int64(a) || y != int64(b) || len(rest) > 0 {
			t.Errorf("%q is %d and %d, want %d and %d, and %q after them", s, a, b, x, y, rest)
		}
	})
}
