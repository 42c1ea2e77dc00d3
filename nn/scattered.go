package nn

import (
	"github.com/sanflow/sanflow/nn/internal/kernel"
	"github.com/sanflow/sanflow/nn/internal/layer"
	"github.com/sanflow/sanflow/nn/internal/tensors"
)

// scattered is a table of weights of which a batch looks at a few rows. What it
// costs to clear and add up gradients, and to take a step, are those rows.
type scattered struct {
	table *layer.Weight
	size  int     // of a row
	rows  []int32 // those that have a gradient, as they were met
	met   []bool  // of each row, whether it is one of them
}

// start begins with a gradient of 0.
func (s *scattered) start() {
	s.size = tensors.Size(s.table.Shape[1:])
	if s.met == nil {
		s.met = make([]bool, s.table.Shape[0])
		clear(s.table.G)
	}
	for _, row := range s.rows {
		s.forget(row)
	}
	s.rows = s.rows[:0]
}

// forget makes the gradient of a row 0.
func (s *scattered) forget(row int32) {
	s.met[row] = false
	clear(s.of(s.table.G, row))
}

// of returns a row of the weights, or of their gradient.
func (s *scattered) of(x []float32, row int32) []float32 {
	return x[int(row)*s.size : (int(row)+1)*s.size]
}

// grad returns the gradient of a row, which is to be added to.
func (s *scattered) grad(row int32) []float32 {
	if !s.met[row] {
		s.met[row] = true
		s.rows = append(s.rows, row)
	}
	return s.of(s.table.G, row)
}

// add takes over the gradient of another table of the same weights.
func (s *scattered) add(from *scattered) {
	for _, row := range from.rows {
		kernel.Axpy(1, from.of(from.table.G, row), s.grad(row))
		from.forget(row) // while it is in the cache
	}
	from.rows = from.rows[:0]
}

// scatterer is a body that has such a table, and other weights that are few.
type scatterer interface {
	scatter() (*scattered, *layer.Weight)
}

// partly is an optimizer that leaves weights without a gradient alone, so that it
// can step some of them.
type partly interface {
	part(w, g []float32, at int)
}

// update takes a step as params.update does, and where it can only over the rows
// of a table that have a gradient: the same step, to the last bit. Their gradient is
// 0 then.
func (r *replica) update(opt stepper, rule rule, n int) bool {
	body, ok := r.body.(scatterer)
	some, alone := opt.(partly)
	if !ok || !alone || rule.clip > 0 || rule.decay > 0 {
		return update(&r.Params, opt, rule, n)
	}
	table, few := body.scatter()
	sum := kernel.Squares(few.G)
	for _, row := range table.rows {
		sum += kernel.Squares(table.of(table.table.G, row))
	}
	if !kernel.Finite(sum) {
		return false
	}
	for _, row := range table.rows {
		some.part(table.of(table.table.W, row), table.of(table.table.G, row), table.table.At+int(row)*table.size)
		table.forget(row) // while it is in the cache
	}
	table.rows = table.rows[:0]
	some.part(few.W, few.G, few.At)
	return true
}

// addGrad adds the gradient of another replica.
func (r *replica) addGrad(from *replica) {
	body, ok := r.body.(scatterer)
	if !ok {
		kernel.Axpy(1, from.G, r.G)
		return
	}
	table, few := body.scatter()
	fromTable, fromFew := from.body.(scatterer).scatter()
	table.add(fromTable)
	kernel.Axpy(1, fromFew.G, few.G)
}
