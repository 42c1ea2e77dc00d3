// Package trees learns decision trees by histograms, for classes and for numbers, from sparse counts and dense columns of the
// same rows. The answers are exact sums over counts and columns (TreeSHAP).
package trees

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"gorgonia.org/tensor"

	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/nn/internal/modelfile"
	"github.com/sanflow/sanflow/nn/internal/tensors"
)

// Model is an ensemble of regression trees, boosted by second-order gradients (Friedman 2001; Chen and
// Guestrin, "XGBoost", KDD 2016) of the cross entropy or of the squared error, or bagged (Breiman, "Random forests", Machine Learning
// 45, 2001):
//
//	m := &trees.Model{Seed: 1}
//	err := m.Init(nn.Shape{Columns: []string{"age", "amount"}, Classes: 2})
//	_, err = m.Fit(ctx, trees.Of(nn.Batch{Columns: columns, Targets: class}), nil)
//	probabilities, err := m.Predict(nn.Batch{Columns: columns}, nil)
//
// A column has at most 255 bins, between quantiles of its values in the training rows. A missing value (NaN) goes to the side of a
// split with the larger gain. The count of an id that a row lacks is 0. An id in fewer than MinRows rows, which no split can
// use, costs nothing. With Bag, an id must be in a 160th of the rows. Of ids with equal counts in all training rows, splits use
// the smallest one.
//
// Bagged trees learn the indicator of a class by the squared error. The mean of their outputs, times a factor, is added to the
// logit. The factor minimises the cross entropy of the training rows, each predicted by the trees that did not draw it.
//
// A tree grows leaf by leaf, the largest gain first. Its loss is lower than that of a tree of as many leaves that grows level by
// level. Gradients are summed as integers, in any order, so the bytes of a model do not depend on Workers.
//
// A fit costs O(entries + bins) for each level of a tree, where entries are the dense values and the counts that are not 0, and
// 16·Leaves bytes for each bin. One goroutine at a time may fit; any number may predict after the fit.
type Model struct {
	Bag      bool                    // bagged trees, whose prediction is a mean, in place of boosted ones
	Trees    int                     // rounds, of a tree for each output; at most 65 536; 0 = 300
	Leaves   int                     // of a tree, at most; 2 to 1024; 0 = 31, with Bag 1024
	MinRows  int                     // of a leaf; 0 = 20, or a twentieth of the rows if that is less, with Bag 3
	Rate     float64                 // shrinkage of each tree, up to 1; 0 = 0.1; Bag has none
	Rows     float64                 // share of the rows that are drawn for a tree; 0 = 1, with Bag 0.632
	Columns  float64                 // share of the columns and counts that are drawn for a tree, with Bag for each split; 0 = 1
	Seed     uint64                  // of the rows and columns that are drawn
	Workers  int                     `json:"-"` // goroutines, with equal results; 0 = 1
	Progress func(round, rounds int) `json:"-"` // nil, or called after each round

	info  map[string]string
	shape nn.Shape
	base  []float64 // the prediction without trees, of each output
	ids   []uint64  // of the counts that splits use, ascending; their columns follow those of shape
	at    []int     // tree t has the nodes at[t] to at[t+1] and the output t mod outputs
	nodes []node    // of each tree the root first
}

// node is a split or a leaf. The left child of a split is the next node.
type node struct {
	x       float64 // threshold: rows with a value of at most x go left; of a leaf, the output
	cover   float64 // number of training rows that reach the node
	column  int32
	right   int32 // the right child, relative to the root of the tree; 0 for a leaf
	missing bool  // missing values go left
}

// Bounds of a Model.
const (
	mostNodes = 1 << 27
	mostDepth = 64 // splits on a path; Contributions cost its square
	mostRows  = 1<<26 - 1
)

var (
	_ nn.Saver    = (*Model)(nil)
	_ nn.Additive = (*Model)(nil)
)

// Init takes the names of the counts and of the columns, at least one in all, and the number of classes, 0 for numbers.
func (m *Model) Init(s nn.Shape) error {
	s = nn.Shape{Counts: slices.Clone(s.Counts), Columns: slices.Clone(s.Columns), Classes: s.Classes}
	switch {
	case m.ready():
		return m.shape.Check(s)
	case len(s.Counts)+len(s.Columns) == 0:
		return errors.New("trees: they learn from counts and columns, the data have none")
	case s.Classes < 0 || s.Classes == 1 || s.Classes > 1<<16:
		return fmt.Errorf("trees: classes = %d, want at least 2, or 0 to learn a number", s.Classes)
	case len(s.Columns) > 1<<20:
		return fmt.Errorf("trees: %d columns, want at most %d", len(s.Columns), 1<<20)
	}
	if _, err := m.resolved(); err != nil {
		return err
	}
	m.shape = s
	return nil
}

func (m *Model) ready() bool { return len(m.shape.Counts)+len(m.shape.Columns) > 0 }

// resolved returns the settings with defaults for zeros, except MinRows, whose default depends on the rows.
func (m *Model) resolved() (Model, error) {
	r := *m
	if r.Bag {
		r.Leaves, r.MinRows, r.Rows = cmp.Or(r.Leaves, 1<<10), cmp.Or(r.MinRows, 3), cmp.Or(r.Rows, 0.632)
	}
	r.Trees, r.Leaves, r.Workers = cmp.Or(r.Trees, 300), cmp.Or(r.Leaves, 31), cmp.Or(r.Workers, 1)
	r.Rate, r.Rows, r.Columns = cmp.Or(r.Rate, 0.1), cmp.Or(r.Rows, 1), cmp.Or(r.Columns, 1)
	for _, s := range []struct {
		name               string
		value, least, most float64
	}{
		{"Trees", float64(r.Trees), 1, 1 << 16}, {"Leaves", float64(r.Leaves), 2, 1 << 10},
		{"MinRows", float64(r.MinRows), 0, mostRows}, {"Workers", float64(r.Workers), 1, 1 << 24},
		{"Rate", r.Rate, 1e-6, 1}, {"Rows", r.Rows, 1e-6, 1}, {"Columns", r.Columns, 1e-6, 1},
	} {
		if !(s.value >= s.least && s.value <= s.most) {
			return r, fmt.Errorf("trees: %s is %v, want 0, or %v to %v", s.name, s.value, s.least, s.most)
		}
	}
	return r, nil
}

// outputs returns the number of outputs of a row before link.
func outputs(s nn.Shape) int {
	if s.Classes > 2 {
		return s.Classes
	}
	return 1
}

// Trained reports whether the model has learned or was loaded.
func (m *Model) Trained() bool { return len(m.base) > 0 }

// Shape returns the shape given to Init or read by Load.
func (m *Model) Shape() nn.Shape {
	return nn.Shape{Counts: slices.Clone(m.shape.Counts), Columns: slices.Clone(m.shape.Columns), Classes: m.shape.Classes}
}

// Metadata returns the notes that a file has beside the trees, never nil.
func (m *Model) Metadata() map[string]string { return modelfile.Metadata(&m.info) }

// Clone returns a predictor that shares the trees; nil before Fit.
func (m *Model) Clone() nn.Predictor {
	if !m.Trained() {
		return nil
	}
	f := *m
	return &f
}

// Predict returns the probability of each class, float32 (B, classes), or the number, (B, 1).
func (m *Model) Predict(b nn.Batch, dst *tensor.Dense) (*tensor.Dense, error) {
	rows, err := m.trained(b)
	if err != nil {
		return nil, err
	}
	width, k := max(1, m.shape.Classes), len(m.base)
	dst, p, err := tensors.Result(dst, rows, width)
	if err != nil {
		return nil, err
	}
	y := make([]float64, k)
	m.each(b, 0, rows, func(i int, row []float64) {
		copy(y, m.base)
		for t, root := range m.at[:len(m.at)-1] {
			tree, at := m.nodes[root:], int32(0)
			for tree[at].right > 0 {
				at = tree[at].next(at, row)
			}
			y[t%k] += tree[at].x
		}
		m.link(y)
		put(p[i*width:(i+1)*width], y)
	})
	return dst, nil
}

// next returns the child of node at to which a row goes.
func (n *node) next(at int32, row []float64) int32 {
	if x := row[n.column]; x <= n.x || x != x && n.missing {
		return at + 1
	}
	return n.right
}

// trained returns the number of rows of a batch, as open does, or an error if m is not trained.
func (m *Model) trained(b nn.Batch) (int, error) {
	switch {
	case !m.ready():
		return 0, nn.ErrNotReady
	case !m.Trained():
		return 0, nn.ErrUntrained
	}
	return m.open(b)
}

// open checks the sizes of a batch, and returns the number of its rows.
func (m *Model) open(b nn.Batch) (rows int, err error) {
	d := len(m.shape.Columns)
	switch {
	case len(m.shape.Counts) == 0:
		rows = len(b.Columns) / d
	case b.Counts == nil:
		return 0, errors.New("trees: Counts is missing")
	default:
		rows, err = b.Counts.Len(), b.Counts.Check()
	}
	if err == nil && len(b.Columns) != rows*d {
		err = fmt.Errorf("trees: %d values of columns, want %d for each of %d rows", len(b.Columns), d, rows)
	}
	return rows, err
}

// each calls f for rows of a batch, with the value of each column and the count of each id of the model.
func (m *Model) each(b nn.Batch, from, to int, f func(i int, row []float64)) {
	d := len(m.shape.Columns)
	row := make([]float64, d+len(m.ids))
	counts := row[d:]
	for i := from; i < to; i++ {
		copy(row, b.Columns[i*d:(i+1)*d])
		if clear(counts); len(counts) > 0 {
			ids, values := b.Counts.Row(i)
			at := 0
			for j, id := range ids {
				n, ok := slices.BinarySearch(m.ids[at:], id)
				if at += n; ok {
					counts[at] = values[j]
				}
			}
		}
		f(i, row)
	}
}
