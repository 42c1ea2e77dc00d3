package nn

// dropout zeroes each value with probability p while a network learns, and
// scales the others by 1/(1-p), so that nothing need change when it predicts
// (inverted dropout; Srivastava et al., JMLR 2014).
type dropout struct {
	limit uint16     // a 16-bit draw below it drops the value: p·2¹⁶
	scale [2]float32 // what a dropped and what a kept value is multiplied by
	seed  uint64
	rand  random
	mask  []float32
}

// newDropout returns nil, which drops nothing, when p rounds to 0.
func newDropout(p float64, seed uint64) *dropout {
	limit := uint16(p * (1 << 16))
	if limit == 0 {
		return nil
	}
	keep := 1 - float32(limit)/(1<<16)
	return &dropout{limit: limit, scale: [2]float32{0, 1 / keep}, seed: seed, rand: newRandom(seed, streamDropout)}
}

// forward draws a mask and sets y to x under it. The mask is a function of the
// seed, the number of the step, and the row of the batch that x begins with:
// not of what was drawn before, nor of who else draws.
func (d *dropout) forward(y, x []float32, step, row int) {
	d.rand.Seed(d.seed, streamDropout|uint64(row)<<8|uint64(step)<<32)
	if len(d.mask) < len(x) {
		d.mask = make([]float32, len(x))
	}
	mask := d.mask[:len(x)]
	y = y[:len(x)]
	i := 0
	for ; i+4 <= len(x); i += 4 {
		bits := d.rand.Uint64()
		m, x, y := mask[i:i+4], x[i:i+4], y[i:i+4]
		m[0] = d.draw(bits)
		m[1] = d.draw(bits >> 16)
		m[2] = d.draw(bits >> 32)
		m[3] = d.draw(bits >> 48)
		y[0] = x[0] * m[0]
		y[1] = x[1] * m[1]
		y[2] = x[2] * m[2]
		y[3] = x[3] * m[3]
	}
	if i == len(x) {
		return
	}
	for bits := d.rand.Uint64(); i < len(x); i++ {
		mask[i] = d.draw(bits)
		y[i] = x[i] * mask[i]
		bits >>= 16
	}
}

// draw returns what the low 16 bits stand for. The sign of the difference picks
// it without a branch, which at p = ½ would be guessed wrong every other time.
func (d *dropout) draw(bits uint64) float32 {
	kept := (int32(bits&0xffff)-int32(d.limit))>>31 + 1
	return d.scale[kept&1]
}

// backward applies the last mask to dy.
func (d *dropout) backward(dy []float32) {
	for i, m := range d.mask[:len(dy)] {
		dy[i] *= m
	}
}
