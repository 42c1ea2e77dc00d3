package nn

import (
	"math/rand/v2"
	"testing"
)

// xorBatch draws graphs of two classes that no sum over vertices tells apart:
// the class is whether the first vertices of fields 0 and 1 have the same
// value.
func xorBatch(r *rand.Rand, s Shape, rows int) batch {
	b := batch{rows: rows, cats: make([]int32, rows*s.W*s.K), targets: make([]int32, rows)}
	for i := range b.cats {
		b.cats[i] = r.Int32N(int32(s.Cats[0])+1) - 1
	}
	for i := range rows {
		x, y := r.Int32N(2), r.Int32N(2)
		graph := b.cats[i*s.W*s.K:]
		graph[0], graph[s.K] = x, y
		b.targets[i] = x ^ y
	}
	return b
}

func TestLearnsXOR(t *testing.T) {
	s := Shape{W: 4, K: 3, Cats: []int{3}, Classes: 2}
	c := &CNN{Seed: 1}
	if err := c.Init(s); err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 1))
	for range 1500 {
		if _, err := c.step(xorBatch(r, s, 32)); err != nil {
			t.Fatal(err)
		}
	}
	test := xorBatch(r, s, 1000)
	p := make([]float32, 2*test.rows)
	if err := c.predict(p, test); err != nil {
		t.Fatal(err)
	}
	right := 0
	for i, want := range test.targets {
		if (p[2*i+1] > p[2*i]) == (want == 1) {
			right++
		}
	}
	if right < 950 {
		t.Errorf("%d of %d right on graphs never seen, want at least 950", right, test.rows)
	}
	t.Logf("%d of %d, %.3f online", right, test.rows, c.Accuracy())
}
