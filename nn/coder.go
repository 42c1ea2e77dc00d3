package nn

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"math"

	"gorgonia.org/tensor"
)

// Coder learns a code for rows of numbers, without targets: RBM and
// Autoencoder. It is what sinks.Pretrain drives. A Coder is used by one
// goroutine at a time.
type Coder interface {
	// Init fits the coder to rows of that many values, once, before the first
	// batch. A coder that was initialised or loaded checks the number instead.
	Init(visible int) error

	// Step learns from the rows of x, (B, visible) of float32, which it neither
	// changes nor keeps. Loss is the mean square of a value less its
	// reconstruction, before the step.
	Step(x *tensor.Dense) (Result, error)

	// Encode returns the code of each row of x, (B, hidden), in dst when dst is
	// not nil. It changes nothing. A coder that has learned nothing yet returns
	// ErrUntrained.
	Encode(x, dst *tensor.Dense) (*tensor.Dense, error)

	// Weights returns the weights of the code, (visible, hidden), its biases,
	// (hidden), and those of the reconstruction, (visible). They share memory
	// with the coder.
	Weights() (w, hidden, visible *tensor.Dense)

	// Seen is the number of rows learned from.
	Seen() int

	// Save writes the weights and all that is needed to use them again. A coder that
	// has learned nothing yet returns ErrUntrained.
	Save(io.Writer) error
}

// Units says what the visible units of a Coder are.
type Units int

const (
	Binary   Units = iota // 0, 1, or a probability in between
	Gaussian              // any number; channels should have mean 0 and deviation 1
)

var unitNames = []string{"binary", "gaussian"}

// String returns the name in lower case.
func (u Units) String() string {
	if u < 0 || int(u) >= len(unitNames) {
		return fmt.Sprintf("Units(%d)", int(u))
	}
	return unitNames[u]
}

// MarshalText is String.
func (u Units) MarshalText() ([]byte, error) { return []byte(u.String()), nil }

// UnmarshalText is the inverse of MarshalText.
func (u *Units) UnmarshalText(text []byte) error {
	for i, name := range unitNames {
		if string(text) == name {
			*u = Units(i)
			return nil
		}
	}
	return fmt.Errorf("units %q are not known", text)
}

// checkCoder returns an error unless a coder of that many weights can be built.
func checkCoder(visible, size int) error {
	switch {
	case visible < 1:
		return fmt.Errorf("%d visible units, want a positive number", visible)
	case size < 0:
		return fmt.Errorf("more than %d weights", maxWeights)
	}
	return nil
}

// drawn tells weights that Init has drawn from those that a coder has learned, has
// read from a file, or was given by whoever Weights lends them to.
type drawn struct{ sum string }

func (d *drawn) note(list ...*weight) { d.sum = sumOf(list) }

// still reports whether those are the weights that were drawn.
func (d *drawn) still(list ...*weight) bool { return d.sum != "" && d.sum == sumOf(list) }

func sumOf(list []*weight) string {
	p := params{list: list}
	return p.hash()
}

func checkVisible(model, data int) error {
	if model != data {
		return fmt.Errorf("the model is for %d visible units, the data have %d", model, data)
	}
	return nil
}

// openRows returns x as a slice, after a check of its type, its shape
// (B, width), and its values where they must lie between 0 and 1.
func openRows(name string, x *tensor.Dense, width int, units Units) (v []float32, rows int, err error) {
	if x != nil && x.Dims() > 0 {
		rows = x.Shape()[0]
	}
	if err := checkDense(name, x, tensor.Float32, rows, width); err != nil || rows == 0 {
		return nil, 0, err
	}
	v = x.Float32s()
	if units == Gaussian {
		return v, rows, nil // NaN and Inf show in the reconstruction error
	}
	const one = 0x3f800000 // of the numbers from 0 to 1, the one with the highest bits
	for i, f := range v {
		if math.Float32bits(f) > one && f != 0 {
			return nil, 0, rowErrorf(i/width, "value %d of %s is %v, want 0 to 1", i%width, name, f)
		}
	}
	return v, rows, nil
}

// divergedRows tells rows that nothing can be learned from, since they hold NaN,
// Inf or numbers whose squares add up to Inf, from weights that have grown out of
// bounds.
func divergedRows(v []float32, width, step int) error {
	for row := 0; row*width < len(v); row++ {
		x := v[row*width : (row+1)*width]
		if finite(squares(x)) {
			continue
		}
		worst := 0
		for i, f := range x {
			if !finite(float64(f)) {
				return rowErrorf(row, "value %d is %v", i, f)
			}
			if math.Abs(float64(f)) > math.Abs(float64(x[worst])) {
				worst = i
			}
		}
		return rowErrorf(row, "value %d is %v, which is too large to learn from", worst, x[worst])
	}
	return fmt.Errorf("nn: step %d: the gradient is not finite; a lower learning rate may help", step)
}

// initBias sets b to the log odds of the columns of v, counted with one more
// row of ones and one of zeros, or to their means.
func initBias(b, v []float32, rows int, units Units) {
	for i := range b {
		sum := 0.0
		for row := range rows {
			sum += float64(v[row*len(b)+i])
		}
		if units == Gaussian {
			b[i] = float32(sum / float64(max(rows, 1)))
			continue
		}
		b[i] = float32(math.Log((sum + 1) / (float64(rows) - sum + 1)))
	}
}

// fillRows makes every row of x a copy of bias.
func fillRows(x, bias []float32, rows int) {
	c := len(bias)
	for i := range rows {
		copy(x[i*c:i*c+c], bias)
	}
}

// dense returns the weight as a tensor over its memory.
func (w *weight) dense() *tensor.Dense {
	return tensor.New(tensor.WithShape(w.shape...), tensor.WithBacking(w.w))
}

// hash returns the SHA-256 of the weights in hexadecimal.
func (p *params) hash() string {
	h := sha256.New()
	hashTensors(h, p.tensors())
	return hex.EncodeToString(h.Sum(nil))
}
