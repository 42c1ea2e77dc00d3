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

// Weight is one tensor of a model: the values, and their gradient beside them.
type Weight struct {
	Name  string
	Shape []int
	W, G  []float32
	At    int // where they begin among all
}

// Params is every weight of a model. All values lie in one slice and all
// gradients in another, so that an optimizer's step is one pass, and so is
// adding the gradients of two halves of a batch.
//
// A model adds its weights, then allocates them; in between they have a shape
// and no values.
//
// A Sparse one, whose gradient is elsewhere but for vectors, has no G until Dense.
type Params struct {
	List   []*Weight
	W, G   []float32
	Sparse bool
}

// MaxWeights bounds a model: 1 GiB of values. It stops a wrong setting, or a
// file that was tampered with, before it takes the machine's memory.
const MaxWeights = 1 << 28

// Align is how many values weights start a multiple of: one cache line, so
// that no row of a wide layer straddles two.
const Align = 16

func (p *Params) Add(name string, shape ...int) *Weight {
	w := &Weight{Name: name, Shape: shape}
	p.List = append(p.List, w)
	return w
}

// Size is the number of values with the gaps between tensors, or -1 when they
// are more than maxWeights.
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

// Alloc gives the weights their memory, all 0.
func (p *Params) Alloc() { p.Share(make([]float32, p.Size())) }

// Share gives the weights the values of another layout of the same weights,
// and gradients of their own.
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

// Dense gives all weights their gradients in G, those of tables 0 at first.
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

// Place gives the weights their values, and gradients if there is room for
// them.
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

// Decay takes that share off every weight. Biases, which have one dimension,
// keep what they have.
func (p *Params) Decay(share float32) {
	for _, w := range p.List {
		if len(w.Shape) > 1 {
			kernel.Axpy(-share, w.W, w.W)
		}
	}
}

// ClearGrad sets the gradients of some weights, which may be nil, to 0.
func ClearGrad(list ...*Weight) {
	for _, w := range list {
		if w != nil {
			clear(w.G)
		}
	}
}

// Set gives the weights the values of a file that fits.
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

// Glorot fills w with uniform numbers in ±√(6 / (in + out)), which keeps the
// variance of activations and of gradients about level from layer to layer
// (Glorot and Bengio, AISTATS 2010). in and out count the values that one
// output reads and one input reaches; for a convolution that includes the size
// of the filter.
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
