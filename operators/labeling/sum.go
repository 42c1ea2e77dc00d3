package labeling

import "math/bits"

// sum128 is a sum of whole multiples of 2⁻³²: it does not depend on the order of
// its terms. The zero value is 0.
type sum128 struct{ high, low uint64 }

// add adds times · x/2³².
func (s *sum128) add(x, times uint64) {
	high, low := bits.Mul64(x, times)
	s.addSum(sum128{high, low})
}

func (s *sum128) addSum(t sum128) {
	var carry uint64
	s.low, carry = bits.Add64(s.low, t.low, 0)
	s.high += t.high + carry
}

// quotient returns x / y, rounded down to a multiple of 2⁻³². y is not 0.
func quotient(x, y uint64) sum128 {
	high := x >> 32
	low, _ := bits.Div64(high%y, x<<32, y)
	return sum128{high / y, low}
}

func (s sum128) float() float64 { return float64(s.high)*(1<<32) + float64(s.low)/(1<<32) }
