package layer

import (
	"github.com/sanflow/sanflow/internal/scratch"
	"github.com/sanflow/sanflow/nn/internal/kernel"
	"github.com/sanflow/sanflow/nn/internal/random"
)

// Dense is a fully connected layer:
//
//	y = act(x·weight + bias)
type Dense struct {
	In, Out int
	act     Activation

	weight *Weight // (in, out)
	Bias   *Weight // (out)
}

func NewDense(p *Params, name string, in, out int, act Activation) *Dense {
	return &Dense{
		In: in, Out: out, act: act,
		weight: p.Add(name+".weight", in, out),
		Bias:   p.Add(name+".bias", out),
	}
}

func (l *Dense) Init(r random.Source) { Glorot(l.weight.W, l.In, l.Out, r) }

// Forward computes y (rows, out) from x (rows, in).
func (l *Dense) Forward(y, x []float32, rows int) {
	kernel.Gemm(rows, l.Out, l.In, x, l.In, l.weight.W, l.Out, y, l.Out, false)
	l.act.Forward(y, rows, l.Out, l.Bias.W)
}

// Backward sets the gradients of the weights, and dx (rows, in), unless it is nil, to the gradient of x. dy
// is the gradient of y, and is overwritten. x and y are those of Forward.
func (l *Dense) Backward(dx, dy, y, x []float32, rows int) {
	l.act.Backward(dy[:rows*l.Out], y[:rows*l.Out])
	clear(l.Bias.G)
	kernel.AddBiasGrad(l.Bias.G, dy, rows, l.Out)
	kernel.GemmTN(rows, l.Out, l.In, x, l.In, dy, l.Out, l.weight.G, l.Out, false)
	if dx != nil {
		kernel.GemmNT(rows, l.Out, l.In, dy, l.Out, l.weight.W, l.Out, dx, l.In, false)
	}
}

// Activation is the activation function of a layer. The derivative of each is a function of the output, so
// Backward needs no input.
type Activation uint8

const (
	Linear Activation = iota
	ReLU
	Tanh
	Sigmoid
)

// Forward replaces x (rows, c) by the activation of x + bias, and by NaN where x + bias is
// not finite.
func (a Activation) Forward(x []float32, rows, c int, bias []float32) {
	kernel.Overflow(x[:rows*c], bias[:c])
	if a == ReLU {
		kernel.BiasReLU(x, rows, c, bias)
		return
	}
	for i := range rows {
		row := x[i*c : i*c+c]
		kernel.Axpy(1, bias[:c], row)
	}
	switch a {
	case Tanh:
		kernel.Tanh(x[:rows*c], x[:rows*c])
	case Sigmoid:
		kernel.Sigmoid(x[:rows*c], x[:rows*c])
	}
}

// Backward replaces dy, the gradient of the output y, by the gradient of the input.
func (a Activation) Backward(dy, y []float32) {
	switch a {
	case ReLU:
		kernel.ReLUGrad(dy, y)
	case Tanh:
		for i, v := range y {
			dy[i] *= 1 - v*v
		}
	case Sigmoid:
		for i, v := range y {
			dy[i] *= v * (1 - v)
		}
	}
}

// Dropout sets each value to 0 with probability p during training, and scales the others by 1/(1-p), so that
// prediction needs no change (inverted dropout; Srivastava et al., JMLR 2014).
type Dropout struct {
	limit uint16  // a draw below it drops the value: p·2¹⁶
	scale float32 // factor of a kept value
	seed  uint64
	rand  random.Source
	draws []uint16 // the mask: one draw for each value
}

// NewDropout returns nil, which drops nothing, if p is negative or rounds to 0.
func NewDropout(p float64, seed uint64) *Dropout {
	limit := uint16(max(p, 0) * (1 << 16))
	if limit == 0 {
		return nil
	}
	keep := 1 - float32(limit)/(1<<16)
	return &Dropout{limit: limit, scale: 1 / keep, seed: seed, rand: random.New(seed, random.Dropout)}
}

// Forward draws a mask and sets y to the masked x. The mask is a function of the seed, the number of the
// step, and the first row of x in the batch.
func (d *Dropout) Forward(y, x []float32, step, row int) {
	d.rand.Seed(d.seed, random.Dropout|uint64(row)<<8|uint64(step)<<32)
	all := scratch.Resize(d.draws[:cap(d.draws)], (len(x)+3)&^3) // a random number has four draws
	for i := 0; i < len(x); i += 4 {
		bits, at := d.rand.Uint64(), all[i:i+4]
		at[0], at[1], at[2], at[3] = uint16(bits), uint16(bits>>16), uint16(bits>>32), uint16(bits>>48)
	}
	d.draws = all[:len(x)]
	kernel.Drop(y[:len(x)], x, d.draws, d.limit, d.scale)
}

// Backward applies the last mask to dy.
func (d *Dropout) Backward(dy []float32) { kernel.Drop(dy, dy, d.draws, d.limit, d.scale) }

// Merge combines two inputs of maps channels a row, as a sum or side by side. A row is a field, or a graph.
type Merge struct {
	sum  bool
	maps int
}

func NewMerge(sum bool, maps int) *Merge { return &Merge{sum: sum, maps: maps} }

// Channels returns the channels of the output.
func (l *Merge) Channels() int {
	if l.sum {
		return l.maps
	}
	return 2 * l.maps
}

// Forward computes y (rows, channels) from a and b (rows, maps).
func (l *Merge) Forward(y, a, b []float32) {
	if l.sum {
		for i, v := range a {
			y[i] = v + b[i]
		}
		return
	}
	c := l.maps
	for at := 0; at < len(a); at += c {
		copy(y[2*at:], a[at:at+c])
		copy(y[2*at+c:], b[at:at+c])
	}
}

// Backward sets da and db (rows, maps) to the gradients of a and b.
func (l *Merge) Backward(da, db, dy []float32) {
	if l.sum {
		copy(da, dy)
		copy(db, dy)
		return
	}
	c := l.maps
	for at := 0; at < len(da); at += c {
		copy(da[at:at+c], dy[2*at:])
		copy(db[at:at+c], dy[2*at+c:])
	}
}
