package nn

import (
	"slices"

	"github.com/sanflow/sanflow/nn/internal/kernel"
	"github.com/sanflow/sanflow/nn/internal/layer"
	"github.com/sanflow/sanflow/nn/internal/tensors"
)

// scattered is the gradient of a table of which a batch reads few rows. It stores these rows side by side, so
// that clearing, adding and stepping cost O(rows of the batch).
type scattered struct {
	table  *layer.Weight
	size   int       // values of a row
	stride int       // values of a row of the gradient, with padding
	rows   []int32   // table rows with a gradient, in the order in which they were added
	place  []int32   // of each table row, 1 + its position in rows, or 0
	grad   []float32 // gradients of rows, followed by zeros
}

// start sets the gradient to 0.
func (s *scattered) start() {
	if s.place == nil {
		s.size = tensors.Size(s.table.Shape[1:])
		s.stride = kernel.Stride(s.size)
		s.place = make([]int32, s.table.Shape[0])
	}
	clear(s.grads())
	s.reset()
}

// reset empties rows. Their gradients must be 0.
func (s *scattered) reset() {
	for _, row := range s.rows {
		s.place[row] = 0
	}
	s.rows = s.rows[:0]
}

// grads returns the gradients of s.rows, with padding: stride values for each row.
func (s *scattered) grads() []float32 { return s.grad[:len(s.rows)*s.stride] }

// positions sets places to the positions of rows in the gradient, and adds the new ones.
func (s *scattered) positions(rows, places []int32) {
	for j, row := range rows {
		p := s.place[row]
		if p == 0 {
			s.rows = append(s.rows, row)
			p = int32(len(s.rows))
			s.place[row] = p
		}
		places[j] = p - 1
	}
	if more := len(s.rows)*s.stride - len(s.grad); more > 0 {
		s.grad = slices.Grow(s.grad, more)
		s.grad = s.grad[:cap(s.grad)/s.stride*s.stride]
	}
}

// of returns the gradient of s.rows[j], without padding.
func (s *scattered) of(j int) []float32 { return s.grad[j*s.stride:][:s.size] }

// add adds the gradient from of the same table, and clears from.
func (s *scattered) add(from *scattered) {
	places := make([]int32, len(from.rows))
	s.positions(from.rows, places)
	for j, p := range places {
		kernel.Axpy(1, from.of(j), s.of(int(p)))
	}
	from.start()
}

// scatterer is a body with a scattered table and one small weight.
type scatterer interface {
	scatter() (*scattered, *layer.Weight)
}

// partly is an optimizer that does not change weights without a gradient, so that it can step a part of the
// weights.
type partly interface {
	// part steps the weights w with the gradient g. at is the position of w in all weights.
	part(w, g []float32, at int)
	// rows steps rows of c weights of the table w at position at, as kernel.AdaGradRows does.
	rows(w []float32, c int, idx []int32, g []float32, at int)
}

// update takes a step as the function update does. If the optimizer permits it, the step covers the table
// rows with a gradient alone, and gives the same bits. Gradients of the table are 0 afterwards.
func (r *replica) update(opt stepper, decay float64, n int) bool {
	body, ok := r.body.(scatterer)
	if !ok {
		return update(&r.Params, opt, decay, n)
	}
	table, few := body.scatter()
	some, alone := opt.(partly)
	if !alone || decay > 0 {
		return table.whole(&r.Params, func() bool { return update(&r.Params, opt, decay, n) })
	}
	if !kernel.Finite(r.squares()) {
		return false
	}
	some.rows(table.table.W, table.size, table.rows, table.grads(), table.table.At)
	table.reset()
	some.part(few.W, few.G, few.At)
	return true
}

// squares returns the sum of the squares of the gradient of all weights.
func (r *replica) squares() float64 {
	body, ok := r.body.(scatterer)
	if !ok {
		return kernel.Squares(r.G)
	}
	table, few := body.scatter()
	return kernel.Squares(few.G) + kernel.Squares(table.grads())
}

// whole calls f while p.G, the gradient of all weights of the model, has the gradient of the whole
// table, which whole clears afterwards.
func (s *scattered) whole(p *layer.Params, f func() bool) bool {
	p.Dense()
	all := s.table.G
	for j, row := range s.rows {
		copy(all[int(row)*s.size:], s.of(j))
	}
	done := f()
	for _, row := range s.rows {
		clear(all[int(row)*s.size:][:s.size])
	}
	return done
}

// addGrad adds the gradient of another replica of the model to that of r.
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
