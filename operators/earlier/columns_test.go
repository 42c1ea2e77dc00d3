package earlier_test

import (
	"math"
	"testing"

	"github.com/sanflow/sanflow/operators/earlier"
)

// TestLargeNumbers has numbers near the largest float32: no column made of them is infinite.
func TestLargeNumbers(t *testing.T) {
	const n = 60
	rows := earlier.Rows{}
	for i := range n {
		x := float32(i)
		if i%20 == 9 {
			x = []float32{3e38, 3e38, -3e38}[i/20]
		}
		rows.Time, rows.Keys, rows.Numbers = append(rows.Time, float64(i)), append(rows.Keys, int32(i%2)), append(rows.Numbers, x)
	}
	s, err := earlier.New(earlier.Settings{Keys: []string{"a"}, Numbers: []string{"x"}, Windows: []earlier.Window{{Name: "50", Length: 50}}})
	if err != nil {
		t.Fatal(err)
	}
	for i, x := range s.Replay(rows, nil) {
		if math.IsInf(float64(x), 0) {
			t.Errorf("row %d: %s is %v", i/len(s.Columns()), s.Columns()[i%len(s.Columns())], x)
		}
	}
}
