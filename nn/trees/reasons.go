package trees

import (
	"fmt"
	"slices"

	"gonum.org/v1/gonum/integrate/quad"

	"github.com/sanflow/sanflow/nn"
)

// Contributions returns the terms of the outputs of a row, logits or the number: the Shapley values of its columns and counts.
// For a set of known columns, the output of a tree is the mean over the training rows that go either way at a split by an
// unknown column (path-dependent TreeSHAP: Lundberg et al., "From local explanations to global understanding with explainable
// AI for trees", Nature Machine Intelligence 2020). The logit of class 0 of two is 0. A row costs O(nodes·depth²).
func (m *Model) Contributions(b nn.Batch, row int) (nn.Contributions, error) {
	rows, err := m.trained(b)
	switch {
	case err != nil:
		return nn.Contributions{}, err
	case row < 0 || row >= rows:
		return nn.Contributions{}, fmt.Errorf("trees: row %d of a batch of %d", row, rows)
	}
	k, d := len(m.base), len(m.shape.Columns)
	bias, weights := slices.Clone(m.base), make([]float64, k*(d+len(m.ids)))
	m.each(b, row, row+1, func(_ int, row []float64) {
		r := reasons{row: row, outputs: k}
		for t, root := range m.at[:len(m.at)-1] {
			r.tree, r.sums = m.nodes[root:m.at[t+1]], weights[t%k:]
			bias[t%k] += r.follow(0, nil)
		}
	})
	e := nn.Contributions{Outputs: max(1, m.shape.Classes)}
	logits := make([]float64, e.Outputs-k) // the logits of two classes are 0 and the output
	e.Bias = append(slices.Clone(logits), bias...)
	for c := range d {
		e.Columns = append(append(e.Columns, logits...), weights[c*k:(c+1)*k]...)
	}
	var ids []uint64
	if len(m.shape.Counts) > 0 {
		ids, _ = b.Counts.Row(row)
	}
	e.IDs = slices.Clone(ids)
	for _, id := range m.ids {
		if _, ok := slices.BinarySearch(ids, id); !ok {
			e.IDs = append(e.IDs, id)
		}
	}
	e.Shared = make([]bool, len(e.IDs))
	for _, id := range e.IDs {
		of := make([]float64, k)
		if at, ok := slices.BinarySearch(m.ids, id); ok {
			of = weights[(d+at)*k:][:k]
		}
		e.Weights = append(append(e.Weights, logits...), of...)
	}
	return e, nil
}

// reasons sums the Shapley values of a row over the trees.
type reasons struct {
	row     []float64
	tree    []node
	outputs int
	sums    []float64      // Shapley values so far: that of column c is at c·outputs
	rules   [][2][]float64 // rules[i] has the locations and weights of the quadrature with i points on [0, 1]
}

// part is a column on a path. zero is the share of the training rows that follow the path if the column is
// unknown, and one is 0 or 1 if it is known.
type part struct {
	column    int32
	zero, one float64
}

// follow adds the Shapley values of the leaves below a node, and returns their mean output.
func (r *reasons) follow(at int32, path []part) (mean float64) {
	n := &r.tree[at]
	if n.right == 0 {
		r.leaf(n.x, path)
		return n.x
	}
	for _, child := range []int32{at + 1, n.right} {
		share, one := r.tree[child].cover/n.cover, 0.0
		if child == n.next(at, r.row) {
			one = 1
		}
		next := slices.Clone(path)
		if i := slices.IndexFunc(path, func(p part) bool { return p.column == n.column }); i >= 0 {
			next[i].zero *= share
			next[i].one *= one
		} else {
			next = append(next, part{n.column, share, one})
		}
		mean += float64(share * r.follow(child, next))
	}
	return mean
}

// leaf adds the Shapley values of the game with the value x·Πoneᵢ·Πzeroⱼ, for known parts i of a path and
// unknown parts j. The value of part i is x·(oneᵢ - zeroᵢ)·∫Π(t·oneⱼ + (1-t)·zeroⱼ)dt over t from 0 to 1 and
// all parts j except i: a subset of k of the n - 1 others has the weight k!(n-1-k)!/n!, the integral of
// tᵏ(1-t)ⁿ⁻¹⁻ᵏ. Gauss–Legendre quadrature is exact for these polynomials.
func (r *reasons) leaf(x float64, path []part) {
	points := (len(path) + 1) / 2
	for len(r.rules) <= points {
		n := len(r.rules)
		rule := [2][]float64{make([]float64, n), make([]float64, n)}
		if n > 0 {
			quad.Legendre{}.FixedLocations(rule[0], rule[1], 0, 1)
		}
		r.rules = append(r.rules, rule)
	}
	before := make([]float64, len(path))
	for i, t := range r.rules[points][0] {
		product := x * r.rules[points][1][i]
		for j, p := range path {
			before[j] = product
			product *= float64(t*p.one) + float64((1-t)*p.zero)
		}
		behind := 1.0
		for j := len(path) - 1; j >= 0; j-- {
			p := path[j]
			r.sums[int(p.column)*r.outputs] += float64(before[j] * behind * (p.one - p.zero))
			behind *= float64(t*p.one) + float64((1-t)*p.zero)
		}
	}
}
