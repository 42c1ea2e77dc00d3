package nn

// dropout zeroes each value with probability p while a network learns, and
// scales the others by 1/(1-p), so that nothing need change when it predicts
// (inverted dropout; Srivastava et al., JMLR 2014).
type dropout struct {
	limit uint16     // a 16-bit draw below it drops the value: p·2¹⁶
	scale [2]float32 // what a dropped and what a kept value is multiplied by
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
	return &dropout{limit: limit, scale: [2]float32{0, 1 / keep}, rand: newRandom(seed, streamDropout)}
}

// forward draws a mask and sets y to x under it.
func (d *dropout) forward(y, x []float32) {
	if len(d.mask) < len(x) {
		d.mask = make([]float32, len(x))
	}
	mask := d.mask[:len(x)]
	y = y[:len(x)]
	var bits uint64 // four draws of 16 bits
	for i, v := range x {
		if i&3 == 0 {
			bits = d.rand.Uint64()
		}
		// The sign of the difference picks the scale without a branch, which
		// at p = ½ would be guessed wrong every other time.
		kept := (int32(bits&0xffff)-int32(d.limit))>>31 + 1
		bits >>= 16
		m := d.scale[kept&1]
		mask[i] = m
		y[i] = v * m
	}
}

// backward applies the last mask to dy.
func (d *dropout) backward(dy []float32) {
	for i, m := range d.mask[:len(dy)] {
		dy[i] *= m
	}
}
