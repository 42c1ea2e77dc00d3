package nn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"gorgonia.org/tensor"

	"github.com/sanflow/sanflow/internal/pool"
	"github.com/sanflow/sanflow/nn/internal/modelfile"
	"github.com/sanflow/sanflow/nn/internal/random"
	"github.com/sanflow/sanflow/nn/internal/tensors"
)

// Forest is a random forest for classes (Breiman, "Random forests", Machine Learning 45, 2001) on
// counts of substructures. It learns from all rows at once, not from a stream:
//
//	forest := nn.Forest{Seed: 1}
//	err := forest.Init(nn.Shape{Counts: []string{"words"}, Classes: 2})
//	err = forest.FitCounts(ctx, counts, class)
//	probabilities, err := forest.Predict(nn.Batch{Counts: counts}, nil)
//
// A column is a question with two answers: whether the count of an id reaches a level 1, 2, 4, 8 …
// Columns with equal answers in all rows, or with opposite ones, count once. The 4096
// columns that divide the rows most evenly are kept. Each tree learns from a bootstrap sample. A node takes
// the best of 64 columns, by the Gini impurity; if none of these divides its rows, more are
// drawn until one does. A probability is the mean over the trees of the shares of the classes in the leaves.
//
// The mean of a Forest and a Logistic on the same counts, an Ensemble, ranks the molecules of
// ogbg-molhiv better than the Logistic, and is no better on small collections; see
// examples/benchmark/README.md.
//
// A fit costs O(entries) for the columns and O(Trees·64·rows·depth), and takes 512·rows
// bytes beside about 100 for each different question. One goroutine at a time may fit; any number may
// predict after the fit.
type Forest struct {
	Trees   int               // at most 65 536; 0 = 300
	Seed    uint64            // of the samples and columns that are drawn
	Workers int               // trees that grow at a time, with equal results; 0 = 1
	info    map[string]string // see Saver.Metadata

	shape   Shape
	columns []column  // ascending
	at      []int     // nodes of tree t: at[t] to at[t+1]
	nodes   []fork    // the root of each tree first
	shares  []float32 // (nodes, classes) of the rows of a node
}

// column is a question. It is yes where the count of an id reaches 2^(level-1).
type column struct {
	id    uint64
	level int
}

// fork is a node. After a yes comes node yes of the tree, after a no the next one.
type fork struct{ column, yes uint32 }

const (
	forestWidth = 4096 // columns of a forest, at most
	leafRows    = 3    // rows of the sample that a leaf has, at least
)

// leaf is the column of a node that ends a path.
const leaf = math.MaxUint32

// mostShares bounds the numbers of a Forest.
const mostShares = 1 << 28

var _ Saver = (*Forest)(nil)

func compareColumns(a, b column) int {
	return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.level, b.level))
}

// Init takes the names of the counts and the number of classes, 2 or more.
func (m *Forest) Init(s Shape) error {
	s = s.of(true).clone()
	switch {
	case len(m.shape.Counts) > 0:
		return m.shape.Check(s)
	case len(s.Counts) == 0:
		return errors.New("nn: forest: it learns from counts, the data have none")
	case s.Classes < 2:
		return fmt.Errorf("nn: forest: classes = %d, want at least 2", s.Classes)
	}
	if err := m.resolve(); err != nil {
		return err
	}
	m.shape = s
	return nil
}

// resolve replaces zero settings by what they stand for.
func (m *Forest) resolve() error {
	for _, s := range []struct {
		name       string
		value      *int
		zero, most int
	}{{"Trees", &m.Trees, 300, 1 << 16}, {"Workers", &m.Workers, 1, 1 << 24}} {
		if *s.value = cmp.Or(*s.value, s.zero); *s.value < 1 || *s.value > s.most {
			return fmt.Errorf("nn: forest: %s is %d, want 0 to %d", s.name, *s.value, s.most)
		}
	}
	return nil
}

// FitCounts learns from all rows of c, whose classes are given, after Init. It forgets what was
// learned before. An error leaves the model unchanged.
func (m *Forest) FitCounts(ctx context.Context, c *Counts, class []int32) error {
	if len(m.shape.Counts) == 0 {
		return ErrNotReady
	}
	if err := c.Check(); err != nil {
		return err
	}
	if len(class) != c.Len() || c.Len() == 0 || c.Len() > math.MaxInt32 {
		return fmt.Errorf("nn: forest: %d rows and %d classes", c.Len(), len(class))
	}
	for i, k := range class {
		if k < 0 || int(k) >= m.shape.Classes {
			return rowErrorf(i, "class %d, want 0 to %d", k, m.shape.Classes-1)
		}
	}
	next := *m
	answers := next.choose(c)
	trees := make([]tree, m.Trees)
	err := pool.Each(ctx, m.Workers, m.Trees, func(_ context.Context, _, i int) error {
		trees[i].grow(&next, answers, class, random.New(m.Seed, random.Parts+uint64(i)))
		return nil
	})
	if err != nil {
		return err
	}
	next.at, next.nodes, next.shares = []int{0}, nil, nil
	for _, t := range trees {
		if len(next.shares)+len(t.shares) > mostShares {
			return fmt.Errorf("nn: forest: the nodes of %d trees have more than %d shares of %d classes: want fewer Trees", m.Trees, mostShares, m.shape.Classes)
		}
		next.nodes, next.shares = append(next.nodes, t.nodes...), append(next.shares, t.shares...)
		next.at = append(next.at, len(next.nodes))
	}
	*m = next
	return nil
}

// yes calls f with the columns of a row whose answer is yes, ascending.
func yes(ids []uint64, values []float64, f func(column)) {
	for j, id := range ids {
		for level := range levels(max(0, values[j])) {
			f(column{id, level + 1})
		}
	}
}

// choose sets the columns and returns their answers, a bit for each row.
func (m *Forest) choose(c *Counts) [][]uint64 {
	// The sum of hashes of the rows with a yes tells columns apart.
	type seen struct {
		column
		rows int
		sum  uint64
	}
	index := map[column]int32{}
	var all []seen
	total := uint64(0)
	for i := range c.Len() {
		h := mix(uint64(i))
		total += h
		ids, values := c.Row(i)
		yes(ids, values, func(k column) {
			at, ok := index[k]
			if !ok {
				at = int32(len(all))
				index[k], all = at, append(all, seen{column: k})
			}
			all[at].rows++
			all[at].sum += h
		})
	}
	even := func(s seen) int { return min(s.rows, c.Len()-s.rows) }
	all = slices.DeleteFunc(all, func(s seen) bool { return even(s) < leafRows })
	slices.SortFunc(all, func(a, b seen) int {
		return cmp.Or(cmp.Compare(even(b), even(a)), compareColumns(a.column, b.column))
	})
	m.columns = nil
	equal := map[uint64]bool{}
	for _, s := range all {
		if sum := min(s.sum, total-s.sum); len(m.columns) < forestWidth && !equal[sum] {
			equal[sum] = true
			m.columns = append(m.columns, s.column)
		}
	}
	slices.SortFunc(m.columns, compareColumns)
	answers := make([][]uint64, len(m.columns))
	for i := range answers {
		answers[i] = make([]uint64, (c.Len()+63)/64)
	}
	for i := range c.Len() {
		ids, values := c.Row(i)
		m.answer(ids, values, func(k int) { answers[k][i>>6] |= 1 << (i & 63) })
	}
	return answers
}

// answer calls f with the number of each column whose answer is yes.
func (m *Forest) answer(ids []uint64, values []float64, f func(int)) {
	yes(ids, values, func(k column) {
		if at, ok := slices.BinarySearchFunc(m.columns, k, compareColumns); ok {
			f(at)
		}
	})
}

// tree is a tree that grows.
type tree struct {
	nodes  []fork
	shares []float32

	answers [][]uint64
	class   []int32
	weight  []int32 // how often the sample has a row
	leaf    int32
	draws   int
	order   []uint32 // of columns
	random  random.Source

	all, with []int32 // rows of each class: of the node, and those with a yes
}

func (t *tree) grow(m *Forest, answers [][]uint64, class []int32, r random.Source) {
	n := len(class)
	*t = tree{
		answers: answers, class: class, weight: make([]int32, n), leaf: leafRows, random: r,
		draws: int(math.Ceil(math.Sqrt(float64(len(answers))))), order: make([]uint32, len(answers)),
		all: make([]int32, m.shape.Classes), with: make([]int32, m.shape.Classes),
	}
	for i := range t.order {
		t.order[i] = uint32(i)
	}
	for range n {
		t.weight[t.below(n)]++
	}
	var rows []int32
	for i, w := range t.weight {
		if w > 0 {
			rows = append(rows, int32(i))
		}
	}
	t.split(rows, len(t.order))
	*t = tree{nodes: t.nodes, shares: t.shares}
}

// below returns a number from 0, below n.
func (t *tree) below(n int) int {
	hi, _ := bits.Mul64(t.random.Uint64(), uint64(n))
	return int(hi)
}

// split adds a node with its subtrees. The first live columns of the order may divide its rows.
func (t *tree) split(rows []int32, live int) {
	at := len(t.nodes)
	clear(t.all)
	n := int32(0)
	for _, r := range rows {
		t.all[t.class[r]] += t.weight[r]
		n += t.weight[r]
	}
	pure := false
	for _, k := range t.all {
		t.shares = append(t.shares, float32(k)/float32(n))
		pure = pure || k == n
	}
	t.nodes = append(t.nodes, fork{column: leaf})
	if pure || n < 2*t.leaf {
		return
	}
	best, by := -1.0, -1
	for i, drawn := 0, 0; i < live && (drawn < t.draws || i == 0); drawn++ {
		j := i + t.below(live-i)
		t.order[i], t.order[j] = t.order[j], t.order[i]
		score, divides := t.score(t.answers[t.order[i]], rows, n)
		if !divides {
			live--
			t.order[i], t.order[live] = t.order[live], t.order[i]
			continue
		}
		if score > best {
			best, by = score, int(t.order[i])
		}
		i++
	}
	if by < 0 {
		return
	}
	answers := t.answers[by]
	end := 0 // of the rows with a no
	for i, r := range rows {
		if answers[r>>6]>>(r&63)&1 == 0 {
			rows[i], rows[end] = rows[end], r
			end++
		}
	}
	t.split(rows[:end], live)
	t.nodes[at] = fork{uint32(by), uint32(len(t.nodes))}
	t.split(rows[end:], live)
}

// score is Σ nₖ²/n over both sides, which is highest where the Gini impurity is lowest, or -1 where a
// side would be too small; and whether the answers divide the rows.
func (t *tree) score(answers []uint64, rows []int32, n int32) (score float64, divides bool) {
	clear(t.with)
	with := int32(0)
	for _, r := range rows {
		w := t.weight[r] & -int32(answers[r>>6]>>(r&63)&1)
		t.with[t.class[r]] += w
		with += w
	}
	if with == 0 || with == n {
		return -1, false
	}
	if min(with, n-with) < t.leaf {
		return -1, true
	}
	a, b := 0.0, 0.0
	for k, x := range t.with {
		y := float64(t.all[k] - x)
		a, b = a+float64(x)*float64(x), b+y*y
	}
	return a/float64(with) + b/float64(n-with), true
}

// Trained reports whether the forest has trees.
func (m *Forest) Trained() bool { return len(m.at) > 1 }

// Shape returns the shape given to Init or read by Load.
func (m *Forest) Shape() Shape { return m.shape.clone() }

// Metadata returns the notes that a file has beside the weights, never nil.
func (m *Forest) Metadata() map[string]string { return modelfile.Metadata(&m.info) }

// Clone returns a predictor that shares the trees; nil before FitCounts.
func (m *Forest) Clone() Predictor {
	if !m.Trained() {
		return nil
	}
	f := *m
	return &f
}

// paths calls f with the nodes on the path of a row in each tree, from the root to the leaf.
func (m *Forest) paths(ids []uint64, values []float64, f func(node int)) {
	is := make([]bool, len(m.columns))
	m.answer(ids, values, func(k int) { is[k] = true })
	for _, root := range m.at[:len(m.at)-1] {
		at := root
		for f(at); m.nodes[at].column != leaf; f(at) {
			if is[m.nodes[at].column] {
				at = root + int(m.nodes[at].yes)
			} else {
				at++
			}
		}
	}
}

// Predict returns the probability of each class, float32 (B, classes).
func (m *Forest) Predict(b Batch, dst *tensor.Dense) (*tensor.Dense, error) {
	in, err := m.open(b, false)
	if err != nil {
		return nil, err
	}
	k := m.shape.Classes
	dst, p, err := tensors.Result(dst, in.rows, k)
	if err != nil {
		return nil, err
	}
	sum := make([]float64, k)
	for i := range in.rows {
		clear(sum)
		ids, values := in.counts.Row(i)
		m.paths(ids, values, func(node int) {
			if m.nodes[node].column == leaf {
				for c, x := range m.shares[node*k : (node+1)*k] {
					sum[c] += float64(x)
				}
			}
		})
		for c, x := range sum {
			p[i*k+c] = float32(x / float64(m.Trees))
		}
	}
	return dst, nil
}

func (m *Forest) open(b Batch, targets bool) (batch, error) {
	switch {
	case len(m.shape.Counts) == 0:
		return batch{}, ErrNotReady
	case !m.Trained():
		return batch{}, ErrUntrained
	}
	return b.open(m.shape, targets)
}
