// Package decimal reads numbers as files have them.
package decimal

import (
	"errors"
	"math"
	"strconv"
	"strings"
)

// ErrForm is the error of a number in hexadecimal or with underscores, as Go's source has them.
var ErrForm = errors.New("want a decimal number")

// Float is strconv.ParseFloat for decimal numbers. NaN and infinities are read.
func Float(text string, bits int) (float64, error) {
	v, err := strconv.ParseFloat(text, bits)
	if (err == nil || math.IsInf(v, 0)) && strings.ContainsAny(text, "xXpP_") {
		return 0, ErrForm
	}
	return v, err
}

// Finite is Float, with an error for NaN and infinities.
func Finite(text string, bits int) (float64, error) {
	v, err := Float(text, bits)
	if err == nil && (math.IsNaN(v) || math.IsInf(v, 0)) {
		return 0, ErrForm
	}
	return v, err
}
