package nn

import (
	"fmt"

	"gorgonia.org/tensor"

	"github.com/sanflow/sanflow/nn/internal/kernel"
	"github.com/sanflow/sanflow/nn/internal/modelfile"
	"github.com/sanflow/sanflow/nn/internal/tensors"
)

// weight is one tensor of a model: the values, and their gradient beside them.
type weight struct {
	name  string
	shape []int
	w, g  []float32
	at    int // where they begin among all
}

// params is every weight of a model. All values lie in one slice and all
// gradients in another, so that an optimizer's step is one pass, and so is
// adding the gradients of two halves of a batch.
//
// A model adds its weights, then allocates them; in between they have a shape
// and no values.
type params struct {
	list []*weight
	w, g []float32
}

// maxWeights bounds a model: 1 GiB of values. It stops a wrong setting, or a
// file that was tampered with, before it takes the machine's memory.
const maxWeights = 1 << 28

// align is how many values weights start a multiple of: one cache line, so
// that no row of a wide layer straddles two.
const align = 16

func (p *params) add(name string, shape ...int) *weight {
	w := &weight{name: name, shape: shape}
	p.list = append(p.list, w)
	return w
}

// size is the number of values with the gaps between tensors, or -1 when they
// are more than maxWeights.
func (p *params) size() int {
	total := 0
	for _, w := range p.list {
		n := 1
		for _, d := range w.shape {
			if d < 1 || n > maxWeights/d {
				return -1
			}
			n *= d
		}
		total += (n + align - 1) / align * align
		if total > maxWeights {
			return -1
		}
	}
	return total
}

// alloc gives the weights their memory, all 0.
func (p *params) alloc() { p.share(make([]float32, p.size())) }

// share gives the weights the values of another layout of the same weights,
// and gradients of their own.
func (p *params) share(values []float32) {
	p.g = make([]float32, len(values))
	p.place(values)
}

// place gives the weights their values, and gradients where there is room for
// them.
func (p *params) place(values []float32) {
	p.w = values
	at := 0
	for _, w := range p.list {
		end := at + tensors.Size(w.shape)
		w.at = at
		w.w = p.w[at:end:end]
		if p.g != nil {
			w.g = p.g[at:end:end]
		}
		at = (end + align - 1) / align * align
	}
}

// decay takes that share off every weight. Biases, which have one dimension,
// keep what they have.
func (p *params) decay(share float32) {
	for _, w := range p.list {
		if len(w.shape) > 1 {
			kernel.Axpy(-share, w.w, w.w)
		}
	}
}

// clearGrad sets the gradients of some weights, which may be nil, to 0.
func clearGrad(list ...*weight) {
	for _, w := range list {
		if w != nil {
			clear(w.g)
		}
	}
}

// set gives the weights the values of a file that fits.
func (p *params) set(list []modelfile.Tensor) {
	for i, t := range list {
		copy(p.list[i].w, t.F32)
	}
}

// fits returns an error unless list has the tensors of the network, in order.
func (p *params) fits(list []modelfile.Tensor) error { return fitTensors(list, p.tensors()) }

// fitTensors returns an error unless list has the tensors in want, in order.
func fitTensors(list, want []modelfile.Tensor) error {
	if len(list) != len(want) {
		return fmt.Errorf("%d tensors, want %d", len(list), len(want))
	}
	for i, t := range want {
		if err := list[i].Fits(t); err != nil {
			return fmt.Errorf("tensor %d: %w", i, err)
		}
	}
	return nil
}

// tensors returns the weights for writing; they share memory with p.
func (p *params) tensors() []modelfile.Tensor {
	list := make([]modelfile.Tensor, len(p.list))
	for i, w := range p.list {
		list[i] = modelfile.Tensor{Name: w.name, Shape: w.shape, F32: w.w}
	}
	return list
}

// hash returns the SHA-256 of the weights in hexadecimal.
func (p *params) hash() string { return modelfile.Hash(p.tensors()) }

// dense returns the weight as a tensor over its memory.
func (w *weight) dense() *tensor.Dense {
	return tensor.New(tensor.WithShape(w.shape...), tensor.WithBacking(w.w))
}
