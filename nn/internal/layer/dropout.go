package layer

import (
	"github.com/sanflow/sanflow/internal/scratch"
	"github.com/sanflow/sanflow/nn/internal/kernel"
	"github.com/sanflow/sanflow/nn/internal/random"
)

// Dropout zeroes each value with probability p while a network learns, and
// scales the others by 1/(1-p), so that nothing need change when it predicts
// (inverted dropout; Srivastava et al., JMLR 2014).
type Dropout struct {
	limit uint16  // a draw below it drops the value: p·2¹⁶
	scale float32 // what a kept value is multiplied by
	seed  uint64
	rand  random.Source
	draws []uint16 // one for each value, which are the mask
}

// NewDropout returns nil, which drops nothing, when p is negative or rounds to 0.
func NewDropout(p float64, seed uint64) *Dropout {
	limit := uint16(max(p, 0) * (1 << 16))
	if limit == 0 {
		return nil
	}
	keep := 1 - float32(limit)/(1<<16)
	return &Dropout{limit: limit, scale: 1 / keep, seed: seed, rand: random.New(seed, random.Dropout)}
}

// Forward draws a mask and sets y to x under it. The mask is a function of the
// seed, the number of the step, and the first row of x in the batch, and independent of all
// other draws.
func (d *Dropout) Forward(y, x []float32, step, row int) {
	d.rand.Seed(d.seed, random.Dropout|uint64(row)<<8|uint64(step)<<32)
	// Draws come in fours.
	all := scratch.Resize(d.draws[:cap(d.draws)], (len(x)+3)&^3)
	for i := 0; i < len(x); i += 4 {
		bits, at := d.rand.Uint64(), all[i:i+4]
		at[0], at[1], at[2], at[3] = uint16(bits), uint16(bits>>16), uint16(bits>>32), uint16(bits>>48)
	}
	d.draws = all[:len(x)]
	kernel.Drop(y[:len(x)], x, d.draws, d.limit, d.scale)
}

// Backward applies the last mask to dy.
func (d *Dropout) Backward(dy []float32) { kernel.Drop(dy, dy, d.draws, d.limit, d.scale) }
