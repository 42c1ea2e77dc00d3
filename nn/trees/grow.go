package trees

import (
	"context"
	"math"

	"github.com/sanflow/sanflow/internal/pool"
	"github.com/sanflow/sanflow/nn/internal/random"
	"github.com/sanflow/sanflow/nn/validation"
)

const (
	rowBits      = 26   // bits of sums.h for rows, up to mostRows
	leastHessian = 1e-3 // smallest sum of second derivatives of a leaf
	lambda       = 1    // the weight of the square of an output in the loss: L2
)

// sums are sums of gradients, second derivatives and rows, as integers. They do not depend on the order of
// the rows, and the sums of a node minus those of one child are exactly those of the other. h is
// derivatives<<rowBits | rows.
type sums struct {
	g int64
	h uint64
}

func (s sums) rows() int { return int(s.h & (1<<rowBits - 1)) }

func (s sums) second() float64 { return float64(s.h >> rowBits) }

func (s sums) plus(t sums) sums { return sums{s.g + t.g, s.h + t.h} }

func (s sums) minus(t sums) sums { return sums{s.g - t.g, s.h - t.h} }

// grower is a Model during Fit.
type grower struct {
	Model
	outputs   int
	unknown   int       // number of rows without a known target; they are left out
	train     int       // number of training rows, the first of all rows
	n         int       // number of training and validation rows
	all       table     // bins of all columns
	targets   []float64 // class or number of each row
	scores    []float64 // (n, outputs): before link; of bagged trees, the sum over trees that did not draw the row
	met       []float64 // (n, outputs): the number of bagged trees that did not draw the row
	predicted []float64 // (n, outputs): after link

	table          table    // bins of the columns that the current tree draws; columns and base are those of all
	sums           []sums   // gradients of each row; 0 for rows that the tree does not learn from
	order, scratch []int32  // rows; those of a branch are adjacent
	hists          [][]sums // for each leaf a histogram over all bins
	seed           uint64   // selects the columns of splits
	unitG, unitH   float64  // values of a gradient and of a second derivative that sums count as 1
	leaves         []branch // leaves and splits of the tree
}

// branch is a node of a growing tree, with its best split.
type branch struct {
	rows        []int32
	total       sums
	hist, depth int
	gain, score float64 // score is the score of the split, gain its excess over that of no split; gain 0 = no split
	column, bin int     // rows with a bin of column up to bin go left
	missing     bool    // missing values go left
	left        sums
	child       int // index of the left child in leaves, the right one follows; 0 = leaf
}

// measure draws rows, sets their sums for an output, and returns the sum over all.
func (g *grower) measure(out int, r random.Source) (total sums) {
	first, second, drawn := 0.0, 0.0, 0
	for share := g.Rows; drawn == 0; share = 1 { // if no row was drawn, all are
		for i := range int32(g.n) {
			g.order[i] = i
			if g.sums[i] = (sums{}); int(i) < g.train && (share == 1 || float64(r.Float()) < share) {
				a, b := g.gradient(i, out)
				first, second, drawn = first+math.Abs(a), second+b, drawn+1
				g.sums[i].h = 1
			}
		}
	}
	unit := func(sum float64, bits int) float64 {
		_, e := math.Frexp(sum)
		return math.Ldexp(1, max(e-bits, -1022))
	}
	g.unitG, g.unitH = unit(first, 61), unit(second, 62-rowBits)
	for i, s := range g.sums[:g.train] {
		if s.h > 0 {
			a, b := g.gradient(int32(i), out)
			g.sums[i] = sums{int64(math.RoundToEven(a / g.unitG)), uint64(math.RoundToEven(b/g.unitH))<<rowBits | 1}
			total = total.plus(g.sums[i])
		}
	}
	return total
}

// grow adds a tree to the model, and its outputs to the scores.
func (g *grower) grow(ctx context.Context, out int, r random.Source) error {
	g.leaves = append(g.leaves[:0], branch{rows: g.order, total: g.measure(out, r)})
	g.seed = r.Uint64()
	share := g.Columns
	if g.Bag {
		share = math.Cbrt(share) // the share of the tree; best draws the rest for each split
	}
	g.table.draw(&g.all, share, g.seed)
	if err := g.findSplit(ctx, 0, -1); err != nil {
		return err
	}
	for leaves := 1; leaves < g.Leaves; leaves++ {
		best := 0
		for i, b := range g.leaves {
			if b.gain > g.leaves[best].gain {
				best = i
			}
		}
		if g.leaves[best].gain == 0 {
			break
		}
		small, large := g.divide(best, leaves)
		if leaves+1 == g.Leaves || !g.mayDivide(large) { // then the small child cannot be divided either
			continue
		}
		if err := g.findSplit(ctx, small, -1); err != nil {
			return err
		}
		if err := g.findSplit(ctx, large, small); err != nil {
			return err
		}
	}
	g.add(0, len(g.nodes), out)
	g.at = append(g.at, len(g.nodes))
	return context.Cause(ctx)
}

// add adds a branch and its descendants to the tree that begins at root, and the outputs of its leaves to the
// scores.
func (g *grower) add(at, root, out int) {
	b, i := g.leaves[at], len(g.nodes)
	n := node{cover: float64(b.total.rows())}
	if g.nodes = append(g.nodes, n); b.child > 0 {
		k := g.table.columns[b.column]
		n.column, n.missing, n.x = int32(b.column), b.missing, math.MaxFloat64
		if b.bin < len(k.cuts) { // otherwise all known values go left
			n.x = k.cuts[b.bin]
		}
		g.add(b.child, root, out)
		n.right = int32(len(g.nodes) - root)
		g.add(b.child+1, root, out)
		g.nodes[i] = n
		return
	}
	n.x = float64(-float64(b.total.g) / (b.total.second() + lambda/g.unitH) * (g.unitG / g.unitH) * g.Rate)
	g.nodes[i] = n
	for _, r := range b.rows {
		at := int(r)*g.outputs + out
		if !g.Bag {
			g.scores[at] += n.x
		} else if g.sums[r].h == 0 {
			g.scores[at] += n.x
			g.met[at]++
		}
	}
}

// divide adds the children of a branch. The larger one takes the histogram of the parent, the smaller one a
// new histogram.
func (g *grower) divide(at, hist int) (small, large int) {
	b := &g.leaves[at]
	n := g.partition(b)
	left := branch{rows: b.rows[:n], total: b.left, hist: b.hist, depth: b.depth + 1}
	right := branch{rows: b.rows[n:], total: b.total.minus(b.left), hist: b.hist, depth: b.depth + 1}
	small, large = len(g.leaves), len(g.leaves)+1
	b.child, b.gain = small, 0
	if g.leaves = append(g.leaves, left, right); left.total.rows() > right.total.rows() {
		small, large = large, small
	}
	g.leaves[small].hist = hist
	return small, large
}

func (g *grower) mayDivide(at int) bool {
	return g.leaves[at].depth < mostDepth && g.leaves[at].total.rows() >= 2*g.MinRows
}

// partition moves the rows that go left to the front, and returns their number.
func (g *grower) partition(b *branch) int {
	left, right, k := 0, g.scratch[:0], g.table.columns[b.column]
	for _, r := range b.rows {
		bin := k.rest
		if at := g.table.listed(r, b.column); len(at) > 0 && at[0] < g.table.base[b.column+1] {
			bin = int(at[0] - g.table.base[b.column])
		}
		if bin <= b.bin || b.missing && bin == len(k.cuts)+1 {
			b.rows[left] = r
			left++
		} else {
			right = append(right, r)
		}
	}
	copy(b.rows[left:], right)
	return left
}

// findSplit fills the histogram of a branch and finds its best split. If the other child has its histogram, the
// parent's histogram minus that is the result. Each worker has a range of columns.
func (g *grower) findSplit(ctx context.Context, at, other int) error {
	t, b := &g.table, &g.leaves[at]
	if len(t.columns) == 0 {
		return nil
	}
	for b.hist >= len(g.hists) {
		g.hists = append(g.hists, make([]sums, t.base[len(t.columns)]))
	}
	parts := 1
	if len(b.rows)*len(t.columns) > 1<<14 {
		parts = pool.Workers(g.Workers, len(t.columns))
	}
	best, seed := make([]branch, parts), validation.Seed(g.seed, uint64(at))
	err := pool.Each(ctx, parts, parts, func(_ context.Context, _, i int) error {
		from, to := i*len(t.columns)/parts, (i+1)*len(t.columns)/parts
		if other < 0 {
			g.count(from, to, b)
		} else {
			hist := g.hists[b.hist][t.base[from]:t.base[to]]
			for j, x := range g.hists[g.leaves[other].hist][t.base[from]:t.base[to]] {
				hist[j] = hist[j].minus(x)
			}
		}
		if best[i] = *b; g.mayDivide(at) {
			g.best(from, to, seed, &best[i])
		}
		return nil
	})
	for _, s := range best {
		if s.score > b.score { // of equal splits that of the first column stays
			*b = s
		}
	}
	return err
}

// count fills the histogram of a branch for a range of columns.
func (g *grower) count(from, to int, b *branch) {
	t, hist, end := &g.table, g.hists[b.hist], g.table.base[to]
	clear(hist[t.base[from]:t.base[to]])
	for _, r := range b.rows {
		s := g.sums[r]
		if s.h == 0 {
			continue
		}
		for _, at := range t.listed(r, from) {
			if at >= end {
				break
			}
			h := &hist[at]
			h.g += s.g
			h.h += s.h
		}
	}
	for c := from; c < to; c++ {
		rest := b.total
		for _, s := range hist[t.base[c]:t.base[c+1]] {
			rest = rest.minus(s)
		}
		hist[int(t.base[c])+t.columns[c].rest] = rest
	}
}

// best sets b to its best split in a range of columns. A bagged tree draws the columns by seed.
func (g *grower) best(from, to int, seed uint64, b *branch) {
	share := math.Pow(g.Columns, 2./3) // the share of the columns of the tree that a split draws
	for c := from; c < to; c++ {
		hist := g.hists[b.hist][g.table.base[c]:g.table.base[c+1]]
		k := &g.table.columns[c]
		if hist[k.rest].rows() == b.total.rows() || g.Bag && !drawn(share, seed, c) {
			continue
		}
		if !k.dense() {
			g.scan(c, hist, sums{}, b)
			continue
		}
		values, missing := hist[:len(hist)-1], hist[len(hist)-1]
		if g.scan(c, values, sums{}, b) { // values that are missing in no training row go to the larger side
			b.missing = missing.rows() == 0 && 2*b.left.rows() > b.total.rows()
		}
		if missing.rows() > 0 && g.scan(c, values, missing, b) {
			b.missing = true
		}
	}
}

// scan sets b to the best split between bins of a column if it is better than that of b, and reports whether
// it is. left are rows that go left in any case.
func (g *grower) scan(c int, hist []sums, left sums, b *branch) (found bool) {
	least, l2 := leastHessian/g.unitH, lambda/g.unitH
	none := float64(g.score(b.total) * (1 + 1e-10)) // a split must gain more than rounding
	top := max(none, b.score)                       // a rounded sum none + gain would depend on the order of the scan
	for bin, s := range hist {
		if s.h == 0 {
			continue
		}
		left = left.plus(s)
		right := b.total.minus(left)
		if min(left.rows(), right.rows()) < g.MinRows || min(left.second(), right.second()) < least {
			continue
		}
		// g²/(h+λ) of both sides, with one division.
		x, y, h, i := float64(left.g), float64(right.g), left.second()+l2, right.second()+l2
		if score := (float64(float64(x*x)*i) + float64(float64(y*y)*h)) / float64(h*i); score > top {
			top, found = score, true
			b.gain, b.score, b.column, b.bin, b.left, b.missing = score-none, score, c, bin, left, false
		}
	}
	return found
}

// score returns by how much a leaf lowers the loss, in units.
func (g *grower) score(s sums) float64 {
	x := float64(s.g)
	return float64(x*x) / (s.second() + lambda/g.unitH)
}
