package temporal

import "math"

// logs has the binary logarithms from 1 to 2.
var logs = func() (t [1 << 12]float32) {
	for i := range t {
		t[i] = float32(math.Log2(1 + (float64(i)+0.5)/float64(len(t))))
	}
	return t
}()

// logOf returns log(1+x) of x ≥ 0 with an error below 0.0002, in a tenth of the time of
// math.Log1p: features take most of the time of a question.
func logOf(x float64) float32 {
	if x <= 0 {
		return 0
	}
	b := math.Float32bits(float32(x) + 1)
	return (float32(int(b>>23)-127) + logs[b>>11&(1<<12-1)]) * math.Ln2
}
