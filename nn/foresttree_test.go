package nn

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sanflow/sanflow/nn/internal/random"
)

// A tree that may ask everything asks what brute force finds best, at every node, and ends only
// where nothing can be asked.
func TestForestTreeIsBruteForce(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 1))
		const columns, rows, classes = 9, 100, 3
		g := tree{
			class: make([]int32, rows), weight: make([]int32, rows), leaf: 1 + int32(seed%4), draws: columns,
			random: random.New(seed, 1), all: make([]int32, classes), with: make([]int32, classes),
		}
		for k := range columns {
			g.answers, g.order = append(g.answers, []uint64{r.Uint64(), r.Uint64()}), append(g.order, uint32(k))
		}
		var sample []int32
		for i := range rows {
			if g.class[i], g.weight[i] = int32(r.IntN(classes)), int32(r.IntN(4)); g.weight[i] > 0 {
				sample = append(sample, int32(i))
			}
		}
		g.split(slices.Clone(sample), columns)
		if end := checkTree(t, &g, sample, 0); end != len(g.nodes) {
			t.Errorf("%d nodes, of which %d are reached", len(g.nodes), end)
		}
	}
}

// checkTree compares the subtree at a node with brute force, and returns where it ends.
func checkTree(t *testing.T, g *tree, rows []int32, at int) int {
	t.Helper()
	count := func(rows []int32) (n []float64, sum float64) {
		n = make([]float64, len(g.all))
		for _, r := range rows {
			n[g.class[r]] += float64(g.weight[r])
			sum += float64(g.weight[r])
		}
		return n, sum
	}
	gini := func(rows []int32) float64 { // times the rows
		n, sum := count(rows)
		x := sum
		for _, k := range n {
			x -= k * k / sum
		}
		return x
	}
	divide := func(k int) (no, yes []int32) {
		for _, r := range rows {
			if g.answers[k][r/64]>>(r%64)&1 == 1 {
				yes = append(yes, r)
			} else {
				no = append(no, r)
			}
		}
		return no, yes
	}
	n, sum := count(rows)
	for k, x := range n {
		if g.shares[at*len(n)+k] != float32(x)/float32(sum) {
			t.Errorf("node %d has shares %v, want %v of %v", at, g.shares[at*len(n):][:len(n)], n, sum)
		}
	}
	best := -1.0 // the lowest impurity
	for k := range g.answers {
		no, yes := divide(k)
		_, a := count(no)
		_, b := count(yes)
		if a >= float64(g.leaf) && b >= float64(g.leaf) {
			if x := gini(no) + gini(yes); best < 0 || x < best {
				best = x
			}
		}
	}
	if g.nodes[at].column == leaf {
		if best >= 0 && slices.Max(n) < sum {
			t.Errorf("node %d ends, and there is a question for %v", at, n)
		}
		return at + 1
	}
	no, yes := divide(int(g.nodes[at].column))
	if x := gini(no) + gini(yes); x > best+1e-9 {
		t.Errorf("node %d leaves an impurity of %v, brute force %v", at, x, best)
	}
	next := checkTree(t, g, no, at+1)
	if next != int(g.nodes[at].yes) {
		t.Errorf("node %d leads to node %d, want %d", at, g.nodes[at].yes, next)
	}
	return checkTree(t, g, yes, next)
}
