package graphkernel

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/nn"
)

// skewed is rows of whole counts of things of which few are in most rows and most
// in few, as colours and words are.
func skewed(rng *rand.Rand, n, things int) *nn.Counts {
	c := new(nn.Counts)
	for range n {
		var ids []uint64
		var values []float64
		for id := range things {
			if rng.Float64() < 20/float64(20+id) {
				ids, values = append(ids, uint64(id)<<32), append(values, float64(1+rng.IntN(30)))
			}
		}
		c.Append(ids, values)
	}
	return c
}

// Whole counts of what is common and fractions of what is rare are added in the order
// of their ids all the same, as a sum over the ids of both rows is, so the matrix is symmetric.
func TestGramOfMixedThings(t *testing.T) {
	c := skewed(rand.New(rand.NewPCG(75, 76)), 200, 300)
	for i, id := range c.IDs {
		if id>>32 > 250 {
			c.Values[i] /= 3
		}
	}
	g, err := GramOf(context.Background(), c, nn.Linear, 1)
	if err != nil {
		t.Fatal(err)
	}
	for i := range c.Len() {
		ids, values := c.Row(i)
		for j := range c.Len() {
			others, with := c.Row(j)
			want := 0.0
			for a, id := range ids {
				if b, ok := slices.BinarySearch(others, id); ok {
					want += values[a] * with[b]
				}
			}
			if g.Row(i)[j] != want || g.Row(j)[i] != want {
				t.Fatalf("rows %d and %d: %v, swapped %v, want %v", i, j, g.Row(i)[j], g.Row(j)[i], want)
			}
		}
	}
}

// Finite counts whose similarities are not are an error, and no matrix of NaN.
func TestGramOfHugeCounts(t *testing.T) {
	for _, s := range []nn.Similarity{nn.Linear, nn.Cosine, nn.Min} {
		c := &nn.Counts{Offsets: []int{0, 1, 3}, IDs: []uint64{1, 1, 2}, Values: []float64{1, 1e308, 1e308}}
		if g, err := GramOf(context.Background(), c, s, 1); err == nil || !strings.Contains(err.Error(), "row 1: counts too large to compare") {
			t.Errorf("%s: %v, %v", s, g, err)
		}
	}
}

// BenchmarkGramOf has things as common as the colours of NCI1.
func BenchmarkGramOf(b *testing.B) {
	c := skewed(rand.New(rand.NewPCG(73, 74)), 2000, 2000)
	for b.Loop() {
		if _, err := GramOf(context.Background(), c, nn.Linear, 1); err != nil {
			b.Fatal(err)
		}
	}
}
