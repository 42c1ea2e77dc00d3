package graphkernel

import (
	"context"
	"math/rand/v2"
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
// of their ids all the same, so x and c may be swapped.
func TestGramOfMixedThings(t *testing.T) {
	rng := rand.New(rand.NewPCG(75, 76))
	c, x := skewed(rng, 200, 300), skewed(rng, 150, 320)
	for _, rows := range []*nn.Counts{c, x} {
		for i, id := range rows.IDs {
			if id>>32 > 250 {
				rows.Values[i] /= 3
			}
		}
	}
	there, err1 := Compare(context.Background(), x, c, nn.Linear, 1)
	back, err2 := Compare(context.Background(), c, x, nn.Linear, 1)
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	for i := range x.Len() {
		for j := range c.Len() {
			if there[i*c.Len()+j] != back[j*x.Len()+i] {
				t.Fatalf("rows %d and %d: %v, swapped %v", i, j, there[i*c.Len()+j], back[j*x.Len()+i])
			}
		}
	}
}

// Finite counts whose similarities are not are an error, and no matrix of NaN.
func TestGramOfHugeCounts(t *testing.T) {
	for _, s := range []nn.Similarity{nn.Linear, nn.Cosine, nn.Min, nn.UnitMin} {
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
