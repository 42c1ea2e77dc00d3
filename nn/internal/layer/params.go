package layer

import (
	"fmt"
	"math"

	"gorgonia.org/tensor"

	"github.com/sanflow/sanflow/nn/internal/kernel"
	"github.com/sanflow/sanflow/nn/internal/modelfile"
	"github.com/sanflow/sanflow/nn/internal/random"
	"github.com/sanflow/sanflow/nn/internal/tensors"
)

// Weight is one tensor of a model: its values and their gradient.
type Weight struct {
	Name  string
	Shape []int
	W, G  []float32
	At    int // position in the values of all weights
}

// Params is all weights of a model. All values are in one slice and all gradients in another, so that a step
// of an optimizer is one pass, and so is adding the gradients of two parts of a batch.
//
// A model adds its weights and then allocates them. Until then they have a shape and no values.
//
// With Sparse, the gradients of tables are elsewhere, and G is nil until Dense.
type Params struct {
	List   []*Weight
	W, G   []float32
	Sparse bool
}

// MaxWeights bounds a model to 1 GiB of values. It stops a wrong setting or a damaged file before memory is
// allocated.
const MaxWeights = 1 << 28

// Align is the alignment of weights in values: one cache line, so that no row of a wide layer crosses two
// lines.
const Align = 16

func (p *Params) Add(name string, shape ...int) *Weight {
	w := &Weight{Name: name, Shape: shape}
	p.List = append(p.List, w)
	return w
}

// Size returns the number of values including gaps between tensors, or -1 if they exceed MaxWeights.
func (p *Params) Size() int {
	total := 0
	for _, w := range p.List {
		n := 1
		for _, d := range w.Shape {
			if d < 1 || n > MaxWeights/d {
				return -1
			}
			n *= d
		}
		total += (n + Align - 1) / Align * Align
		if total > MaxWeights {
			return -1
		}
	}
	return total
}

// Alloc allocates the weights, all 0.
func (p *Params) Alloc() { p.Share(make([]float32, p.Size())) }

// Share sets the values to those of another Params with the same layout, and allocates gradients.
func (p *Params) Share(values []float32) {
	if p.Sparse {
		p.Place(values)
		for _, w := range p.List {
			if len(w.Shape) == 1 {
				w.G = make([]float32, len(w.W))
			}
		}
		return
	}
	p.G = make([]float32, len(values))
	p.Place(values)
}

// Dense gives all weights their gradients in G. Those of tables are 0 at first.
func (p *Params) Dense() {
	if p.G != nil {
		return
	}
	p.G = make([]float32, len(p.W))
	for _, w := range p.List {
		copy(p.G[w.At:], w.G)
	}
	p.Place(p.W)
}

// Place sets the values, and the gradients if G is not nil.
func (p *Params) Place(values []float32) {
	p.W = values
	at := 0
	for _, w := range p.List {
		end := at + tensors.Size(w.Shape)
		w.At = at
		w.W = p.W[at:end:end]
		if p.G != nil {
			w.G = p.G[at:end:end]
		}
		at = (end + Align - 1) / Align * Align
	}
}

// Decay subtracts that share of each weight. Biases, which have one dimension, do not decay.
func (p *Params) Decay(share float32) {
	for _, w := range p.List {
		if len(w.Shape) > 1 {
			kernel.Axpy(-share, w.W, w.W)
		}
	}
}

// ClearGrad sets the gradients of weights to 0. Weights may be nil.
func ClearGrad(list ...*Weight) {
	for _, w := range list {
		if w != nil {
			clear(w.G)
		}
	}
}

// Set copies the values of tensors that fit.
func (p *Params) Set(list []modelfile.Tensor) {
	for i, t := range list {
		copy(p.List[i].W, t.F32)
	}
}

// Fits returns an error unless list has the tensors of the network, in order.
func (p *Params) Fits(list []modelfile.Tensor) error { return FitTensors(list, p.Tensors()) }

// FitTensors returns an error unless list has the tensors in want, in order.
func FitTensors(list, want []modelfile.Tensor) error {
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

// Tensors returns the weights for writing; they share memory with p.
func (p *Params) Tensors() []modelfile.Tensor {
	list := make([]modelfile.Tensor, len(p.List))
	for i, w := range p.List {
		list[i] = modelfile.Tensor{Name: w.Name, Shape: w.Shape, F32: w.W}
	}
	return list
}

// Hash returns the SHA-256 of the weights in hexadecimal.
func (p *Params) Hash() string { return modelfile.Hash(p.Tensors()) }

// Dense returns the weight as a tensor over its memory.
func (w *Weight) Dense() *tensor.Dense {
	return tensor.New(tensor.WithShape(w.Shape...), tensor.WithBacking(w.W))
}

// Glorot fills w with uniform numbers in ±√(6 / (in + out)), which keeps the variance of activations and
// gradients about equal from layer to layer (Glorot and Bengio, AISTATS 2010). in is the number of values
// that one output reads, and out the number that one input reaches, including the size of a filter.
func Glorot(w []float32, in, out int, r random.Source) {
	limit := float32(math.Sqrt(6 / float64(in+out)))
	for i := range w {
		w[i] = (2*r.Float() - 1) * limit
	}
}

// InputError is an error in the input of one row of a batch.
type InputError struct {
	Row int
	Err error
}

func (e *InputError) Error() string { return fmt.Sprintf("row %d: %v", e.Row, e.Err) }

func inputErrorf(row int, format string, args ...any) error {
	return &InputError{row, fmt.Errorf(format, args...)}
}
