package nn

import (
	"errors"
	"math"
	"math/bits"
	"math/rand/v2"
	"testing"

	"gorgonia.org/tensor"
)

// The rows that a Logistic with the Min kernel reads have the inner products
// that its documentation promises, where the table is wide enough for no two ids
// to meet.
func TestLogisticMinComparesDoublings(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	var c Counts
	levels := make([]map[uint64]int, 20)
	for i := range levels {
		levels[i] = map[uint64]int{}
		var ids []uint64
		var values []float64
		for id := range uint64(8) {
			if rng.IntN(3) > 0 {
				n := rng.IntN(40)
				ids, values = append(ids, id), append(values, float64(n)+rng.Float64()*0.99)
				levels[i][id] = bits.Len(uint(n))
			}
		}
		c.Append(ids, values)
	}
	const width = 1 << 24
	l := &logisticLayer{table: &weight{shape: []int{width}}, kernel: Min}
	if err := l.hash(batch{rows: c.Len(), counts: &c}); err != nil {
		t.Fatal(err)
	}
	dense := make([]map[int32]float64, c.Len())
	from := 0
	for i, end := range l.ends {
		dense[i] = map[int32]float64{}
		for j := from; j < end; j++ {
			dense[i][l.at[j]] += float64(l.x[j])
		}
		from = end
	}
	length := func(a map[uint64]int) (n float64) {
		for _, x := range a {
			n += float64(x)
		}
		return math.Sqrt(n)
	}
	for i := range levels {
		for j := range i {
			got, want := 0.0, 0.0
			for at, x := range dense[i] {
				got += x * dense[j][at]
			}
			for id, x := range levels[i] {
				want += float64(min(x, levels[j][id]))
			}
			want /= length(levels[i]) * length(levels[j])
			if math.Abs(got-want) > 1e-6 {
				t.Fatalf("rows %d and %d: %v, want %v", i, j, got, want)
			}
		}
	}
}

func TestLogisticMinRefusesNegativeCounts(t *testing.T) {
	m := &Logistic{Kernel: Min}
	if err := m.Init(Shape{Counts: []string{"wl"}, Classes: 2}); err != nil {
		t.Fatal(err)
	}
	var c Counts
	c.Append([]uint64{1}, []float64{2})
	c.Append([]uint64{1, 7}, []float64{2, -1})
	_, err := m.Step(Batch{Counts: &c, Targets: tensor.New(tensor.WithBacking([]int32{0, 1}))})
	var row *RowError
	if !errors.As(err, &row) || row.Row != 1 {
		t.Fatal(err)
	}
}
