package reading

import (
	"bytes"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"unsafe"

	"github.com/sanflow/sanflow/internal/decimal"
)

// Fields of a line are separated by a comma, blanks, or both: "1, 2", "1,2" and "1 2" are equal.

func IsBlank(c byte) bool { return c == ' ' || c == '\t' }

// Field splits off the first field of a line. It is empty at the end of the line.
func Field(line []byte) (field, rest []byte) {
	i := 0
	for i < len(line) && IsBlank(line[i]) {
		i++
	}
	j := i
	for j < len(line) && line[j] != ',' && !IsBlank(line[j]) {
		j++
	}
	field = line[i:j]
	for j < len(line) && IsBlank(line[j]) {
		j++
	}
	if j < len(line) && line[j] == ',' {
		j++
	}
	return field, line[j:]
}

// Integer reads a decimal integer with an optional sign.
func Integer(b []byte) (int64, bool) {
	v, err := strconv.ParseInt(unsafe.String(unsafe.SliceData(b), len(b)), 10, 64)
	return v, err == nil
}

// TwoNumbers parses the first two fields if both have one to nine digits: a fast path of Field and Integer. n
// is the length of the parsed text, 0 if it has another form.
func TwoNumbers(text []byte) (a, b uint32, n int) {
	i := 0
	for ; i < len(text) && text[i]-'0' <= 9; i++ {
		a = 10*a + uint32(text[i]-'0')
	}
	digits := i
	for i < len(text) && IsBlank(text[i]) {
		i++
	}
	if i < len(text) && text[i] == ',' {
		for i++; i < len(text) && IsBlank(text[i]); i++ {
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

// Integers appends all fields of a line to dst.
func Integers(l *Lines, line []byte, dst []int64) ([]int64, error) {
	for len(line) > 0 {
		f, rest := Field(line)
		v, ok := Integer(f)
		if !ok {
			return dst, l.Errorf("%s, want an integer", Quote(f))
		}
		dst, line = append(dst, v), rest
	}
	return dst, nil
}

// Finite parses a finite decimal number as the nearest float32. Values below 7e-46 become 0; values beyond
// 3.4e38 are errors.
func Finite(b []byte) (float32, error) {
	v, err := decimal.Float(string(b), 32)
	switch {
	case err == decimal.ErrForm:
		return 0, fmt.Errorf("%s, %w", Quote(b), err)
	case err != nil && math.IsInf(v, 0):
		return 0, fmt.Errorf("%s does not fit a float32", Quote(b))
	case err != nil:
		return 0, fmt.Errorf("%s, want a number", Quote(b))
	case math.IsNaN(v) || math.IsInf(v, 0):
		return 0, fmt.Errorf("%s, want a finite number", Quote(b))
	}
	return float32(v), nil
}

// Finites appends all fields of a line to dst.
func Finites(l *Lines, line []byte, dst []float32) ([]float32, error) {
	for len(line) > 0 {
		f, rest := Field(line)
		v, err := Finite(f)
		if err != nil {
			return dst, l.Errorf("%v", err)
		}
		dst, line = append(dst, v), rest
	}
	return dst, nil
}

// Canonical parses an integer in the spelling that strconv.FormatInt prints.
func Canonical(b []byte) (int64, bool) {
	digits := b
	negative := len(b) > 1 && b[0] == '-'
	if negative {
		digits = b[1:]
	}
	if len(digits) == 0 || len(digits) > 19 || digits[0] == '0' && len(b) > 1 {
		return 0, false
	}
	v := uint64(0)
	for _, c := range digits {
		c -= '0'
		if c > 9 {
			return 0, false
		}
		v = 10*v + uint64(c)
	}
	switch {
	case negative && v <= 1<<63:
		return -int64(v), true
	case negative || v > math.MaxInt64:
		return 0, false
	}
	return int64(v), true
}

// WholeNumber returns the canonical spelling of a whole number with a point or an exponent, such as 1.0 or
// 1e3, and true. It returns any other text unchanged.
func WholeNumber(text []byte) (spelling []byte, other bool) {
	if len(text) > 32 || len(text) == 0 || text[0] > '9' || !bytes.ContainsAny(text, ".eE") {
		return text, false
	}
	x, err := Number(text)
	if err != nil || x != math.Trunc(x) || math.Abs(x) >= 1<<53 {
		return text, false
	}
	return strconv.AppendInt(nil, int64(x), 10), true
}

// Number parses a finite decimal number.
func Number(b []byte) (float64, error) {
	if len(b) < 19 {
		if v, ok := Canonical(b); ok {
			return float64(v), nil
		}
	}
	v, err := decimal.Finite(unsafe.String(unsafe.SliceData(b), len(b)), 64)
	if err != nil {
		return 0, fmt.Errorf("%s, want a finite decimal number", Quote(b))
	}
	return v, nil
}

// A column is numeric if at least MostNumbers of LeastOf values look like numbers. Other values are then
// errors. Values that match NoNumber are not counted, since programs write them for a missing number.
const MostNumbers, LeastOf = 3, 4

var (
	NoNumber   = regexp.MustCompile(`^\s*(?i:#?n[./]?a\.?|[-+]?(nan|inf|infinity|1\.#[a-z]+)|[<(\[]?(null|none|nil|na|nat|missing)[>)\]]?|#(null|div/0|value|ref|num|name)[!?]?|\\n|--?|\?|\.)\s*$`)
	LikeNumber = regexp.MustCompile(`^[-+−$€£¥(<>≤≥~\s]*([0-9]+([,.'’ \x{a0}\x{202f}][0-9]{3})*([.,][0-9]*)?|[.,][0-9]+)([eE][-+]?[0-9]+)?[%$€£¥)\s]*$`)
)

func Numbers(n int32) []string {
	var s []string
	for i := range n {
		s = append(s, strconv.Itoa(int(i)))
	}
	return s
}
