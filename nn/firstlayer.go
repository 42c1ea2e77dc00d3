package nn

import (
	"errors"
	"fmt"
	"math"

	"github.com/sanflow/sanflow/nn/internal/kernel"
)

// UseCode pretrains the first layer with a trained encoder, after Init and before the first Step.
// Rows of the encoder are the channels of a field, node by node: k·a_v units, first the discrete
// channels as one-hot, then the continuous ones. Its Hidden is Maps1. One factor scales its weights
// to the variance of Init. The biases stay 0, since the biases of rarely active units would block
// ReLU.
func (c *CNN) UseCode(encoder Encoder) error { return c.useCode(encoder, "conv1") }

// UseEdgeCode is UseCode for edges: k·k·a_e units, pair by pair.
func (c *CNN) UseEdgeCode(encoder Encoder) error { return c.useCode(encoder, "edges") }

func (c *CNN) useCode(encoder Encoder, layer string) error {
	if !c.ready() {
		return ErrNotReady
	}
	if c.steps > 0 {
		return fmt.Errorf("nn: the code is to be set before the first step, and there were %d", c.steps)
	}
	fields := c.work.body.(*cnnLayers).fields
	tower := fields.Nodes
	if layer == "edges" {
		if tower = fields.Edges; tower == nil {
			return errors.New("nn: the network reads no edges")
		}
	}
	l := tower.Conv1
	w, _, _ := encoder.Weights()
	if w == nil {
		return ErrNotReady
	}
	if !encoder.Trained() {
		return fmt.Errorf("nn: the encoder gives no code: %w", ErrUntrained)
	}
	if l.Sparse > 0 {
		return errors.New("nn: a layer with a sparse channel takes no code")
	}
	each := l.Total + l.Attrs
	if n, m := w.Shape()[0], w.Shape()[1]; n != l.N*each || m != l.Maps {
		return fmt.Errorf("nn: %s has %d inputs and %d maps, the encoder %d and %d", layer, l.N*each, l.Maps, n, m)
	}
	from := scaled(w.Float32s(), math.Sqrt(2/float64(l.N*(each+l.Maps)))) // the deviation of layer.Glorot
	for cell := range l.N {
		row := from[cell*each*l.Maps:]
		if l.Table != nil {
			n := l.Total * l.Maps
			copy(l.Table.W[cell*n:(cell+1)*n], row)
			row = row[n:]
		}
		if l.Dense != nil {
			n := l.Attrs * l.Maps
			copy(l.Dense.W[cell*n:(cell+1)*n], row)
		}
	}
	clear(l.Bias.W)
	return nil
}

// scaled returns a multiple of x with the given root mean square.
func scaled(x []float32, rms float64) []float32 {
	factor := float32(rms / math.Sqrt(kernel.Squares(x)/float64(len(x))))
	if !kernel.Finite(float64(factor)) {
		factor = 1 // x is 0
	}
	y := make([]float32, len(x))
	for i, v := range x {
		y[i] = factor * v
	}
	return y
}
