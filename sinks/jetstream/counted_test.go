package jetstream

import (
	"math/rand/v2"
	"testing"

	"github.com/sanflow/sanflow/internal/jet"
)

// What is counted is what a set of positions has, in whatever order they come.
func TestCounted(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 8))
	for range 200 {
		var c counted
		set := map[int64]bool{}
		for range 60 {
			from := rng.Int64N(80)
			spans := []jet.Span{{From: from, To: from + rng.Int64N(4)}}
			if rng.IntN(3) == 0 {
				spans = append(spans, jet.Span{From: spans[0].To + 2, To: spans[0].To + 2 + rng.Int64N(9)})
			}
			if fresh := c.add(spans); fresh == set[from] {
				t.Fatalf("%v is new: %t in %v", spans, fresh, c)
			}
			for _, s := range spans {
				for p := s.From; p <= s.To; p++ {
					set[p] = true
				}
			}
			n := int64(0)
			for i, s := range c {
				if n += s.To - s.From + 1; i > 0 && c[i-1].To >= s.From-1 {
					t.Fatalf("%v touch", c)
				}
				for p := s.From; p <= s.To; p++ {
					if !set[p] {
						t.Fatalf("%d is in %v", p, c)
					}
				}
			}
			if n != int64(len(set)) {
				t.Fatalf("%v have %d positions, want %d", c, n, len(set))
			}
		}
	}
}
