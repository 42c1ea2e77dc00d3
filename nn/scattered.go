package nn

import (
	"slices"

	"github.com/sanflow/sanflow/nn/internal/kernel"
	"github.com/sanflow/sanflow/nn/internal/layer"
	"github.com/sanflow/sanflow/nn/internal/tensors"
)

// scattered is the gradient of a table of weights of which a batch looks at a few rows:
// it has those rows alone, side by side. What it costs to clear and add up gradients, and
// to take a step, are those rows.
type scattered struct {
	table  *layer.Weight
	size   int       // of a row
	stride int       // of a row of the gradient
	rows   []int32   // those that have a gradient, as they were met
	place  []int32   // of each row of the table, its number among those from 1 on; 0: it is none
	grad   []float32 // of those, and 0 behind them
}

// start begins with a gradient of 0.
func (s *scattered) start() {
	if s.place == nil {
		s.size = tensors.Size(s.table.Shape[1:])
		s.stride = kernel.Stride(s.size)
		s.place = make([]int32, s.table.Shape[0])
	}
	clear(s.grads())
	s.forget()
}

// forget ends a gradient that is 0 again.
func (s *scattered) forget() {
	for _, row := range s.rows {
		s.place[row] = 0
	}
	s.rows = s.rows[:0]
}

// grads returns the gradients of s.rows.
func (s *scattered) grads() []float32 { return s.grad[:len(s.rows)*s.stride] }

// meet replaces rows of the table by their places in the gradient.
func (s *scattered) meet(rows, places []int32) {
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

// of returns the gradient of row j of s.rows.
func (s *scattered) of(j int) []float32 { return s.grad[j*s.stride:][:s.size] }

// add takes over the gradient of another table of the same weights.
func (s *scattered) add(from *scattered) {
	places := make([]int32, len(from.rows))
	s.meet(from.rows, places)
	for j, p := range places {
		kernel.Axpy(1, from.of(j), s.of(int(p)))
	}
	from.start()
}

// scatterer is a body that has such a table, and other weights that are few.
type scatterer interface {
	scatter() (*scattered, *layer.Weight)
}

// partly is an optimizer that leaves weights without a gradient alone, so that it
// can step some of them.
type partly interface {
	// part steps the weights from number at on, of which w and g are.
	part(w, g []float32, at int)
	// rows steps rows of c weights of the table w, which begins with number at, as
	// kernel.AdaGradRows does.
	rows(w []float32, c int, idx []int32, g []float32, at int)
}

// update takes a step as params.update does, and where it can only over the rows
// of a table that have a gradient: the same step, to the last bit. Their gradient is
// 0 then.
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
	table.forget()
	some.part(few.W, few.G, few.At)
	return true
}

// squares returns the sum of the squares of the gradient.
func (r *replica) squares() float64 {
	body, ok := r.body.(scatterer)
	if !ok {
		return kernel.Squares(r.G)
	}
	table, few := body.scatter()
	return kernel.Squares(few.G) + kernel.Squares(table.grads())
}

// whole calls f with the gradient of all of the table in p, that of the model.
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
