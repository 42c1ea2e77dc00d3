package sources

import (
	"fmt"
	"math"

	"github.com/sanflow/sanflow/internal/decimal"
	"github.com/sanflow/sanflow/sources/internal/reading"
)

// A line of numbers is separated by commas or blanks, or by both: "1, 2",
// "1,2" and "1 2" are the same.

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

// field returns the first field of a line and the rest of the line. A line has
// ended when field is empty.
func field(line []byte) (field, rest []byte) {
	i := 0
	for i < len(line) && isBlank(line[i]) {
		i++
	}
	j := i
	for j < len(line) && line[j] != ',' && !isBlank(line[j]) {
		j++
	}
	field = line[i:j]
	for j < len(line) && isBlank(line[j]) {
		j++
	}
	if j < len(line) && line[j] == ',' {
		j++
	}
	return field, line[j:]
}

// integer reads a decimal integer with an optional sign.
func integer(b []byte) (int64, bool) {
	digits := b
	if len(b) > 0 && (b[0] == '-' || b[0] == '+') {
		digits = b[1:]
	}
	if len(digits) == 0 || len(digits) > 18 { // 18 digits cannot overflow
		return 0, false
	}
	v := int64(0)
	for _, c := range digits {
		c -= '0'
		if c > 9 {
			return 0, false
		}
		v = 10*v + int64(c)
	}
	if b[0] == '-' {
		v = -v
	}
	return v, true
}

// twoNumbers reads two numbers of up to nine digits at the beginning of a text, as field and
// integer would, in less time. n is how many bytes they take, 0 if they are not there.
func twoNumbers(text []byte) (a, b uint32, n int) {
	i := 0
	for ; i < len(text) && text[i]-'0' <= 9; i++ {
		a = 10*a + uint32(text[i]-'0')
	}
	digits := i
	for i < len(text) && isBlank(text[i]) {
		i++
	}
	if i < len(text) && text[i] == ',' {
		for i++; i < len(text) && isBlank(text[i]); i++ {
		}
	}
	second := i
	for ; i < len(text) && text[i]-'0' <= 9; i++ {
		b = 10*b + uint32(text[i]-'0')
	}
	if uint(digits-1) >= 9 || uint(i-second-1) >= 9 || second == digits {
		return 0, 0, 0
	}
	return a, b, i
}

// integers appends the fields of a line to dst.
func integers(l *reading.Lines, line []byte, dst []int64) ([]int64, error) {
	for len(line) > 0 {
		f, rest := field(line)
		v, ok := integer(f)
		if !ok {
			return dst, l.Errorf("%s, want an integer", reading.Quote(f))
		}
		dst, line = append(dst, v), rest
	}
	return dst, nil
}

// finite reads a finite decimal number, as the float32 nearest to it: what is below
// 7e-46 is 0, and what is beyond the largest, 3.4e38, an error.
func finite(b []byte) (float32, error) {
	v, err := decimal.Float(string(b), 32)
	switch {
	case err == decimal.ErrForm:
		return 0, fmt.Errorf("%s, %w", reading.Quote(b), err)
	case err != nil && math.IsInf(v, 0):
		return 0, fmt.Errorf("%s does not fit a float32", reading.Quote(b))
	case err != nil:
		return 0, fmt.Errorf("%s, want a number", reading.Quote(b))
	case math.IsNaN(v) || math.IsInf(v, 0):
		return 0, fmt.Errorf("%s, want a finite number", reading.Quote(b))
	}
	return float32(v), nil
}

// finites appends the fields of a line to dst.
func finites(l *reading.Lines, line []byte, dst []float32) ([]float32, error) {
	for len(line) > 0 {
		f, rest := field(line)
		v, err := finite(f)
		if err != nil {
			return dst, l.Errorf("%v", err)
		}
		dst, line = append(dst, v), rest
	}
	return dst, nil
}
