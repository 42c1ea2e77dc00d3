package nn

import (
	"cmp"
	"fmt"
	"io"
	"math"

	"gorgonia.org/tensor"

	"github.com/sanflow/sanflow/nn/internal/kernel"
	"github.com/sanflow/sanflow/nn/internal/layer"
	"github.com/sanflow/sanflow/nn/internal/modelfile"
	"github.com/sanflow/sanflow/nn/internal/tensors"
)

// Encoder learns a code for rows of numbers without targets: RBM and Autoencoder.
// sinks.Pretrain calls it. One goroutine at a time may use an Encoder.
type Encoder interface {
	// Init fits the encoder to rows of visible values, once. On an encoder that was initialised or
	// loaded, Init checks the number.
	Init(visible int) error

	// Step learns from the rows of x, (B, visible) of float32. Loss is the mean square of the
	// reconstruction error before the step.
	Step(x *tensor.Dense) (Result, error)

	// Encode returns the codes, (B, hidden), in dst if dst is not nil. The encoder does not
	// change. An untrained encoder returns ErrUntrained, from Save too.
	Encode(x, dst *tensor.Dense) (*tensor.Dense, error)

	// Weights returns the weights (visible, hidden) and the biases of the code (hidden) and of the
	// reconstruction (visible). They share memory with the encoder.
	Weights() (w, hidden, visible *tensor.Dense)

	Seen() int            // rows learned from
	Trained() bool        // it has learned, was loaded or given weights
	Save(io.Writer) error // as Encode, ErrUntrained before the first Step
}

// Units is the type of the visible units of an Encoder; "" = Binary.
type Units string

const (
	Binary   Units = "binary"   // 0, 1, or a probability in between
	Gaussian Units = "gaussian" // any number; channels should have mean 0 and deviation 1
)

// resolve replaces "" by Binary. An unknown type is an error.
func (u *Units) resolve() error {
	if *u = cmp.Or(*u, Binary); *u != Binary && *u != Gaussian {
		return fmt.Errorf("%s is %q, want Binary or Gaussian", "Units", string(*u))
	}
	return nil
}

// encoderWeights holds the weights of an RBM or an Autoencoder.
type encoderWeights struct {
	visible                  int
	units                    Units         // type of the visible units
	all                      layer.Params  // all weights
	weight, hidBias, visBias *layer.Weight // (visible, hidden), (hidden), (visible)
	drawn                    string        // hash of the weights that Init drew
	seen                     int           // rows learned from
}

// trainable is an encoder with its settings.
type trainable interface {
	shared() *encoderWeights
	build(visible int) error // checks the settings and lays out the weights
	start()                  // allocates the weights, all zero
	draw()                   // draws random initial weights
}

func (c *encoderWeights) shared() *encoderWeights { return c }

// initEncoder implements Init of both encoders. An error leaves the settings unchanged.
func initEncoder[M any, P interface {
	*M
	trainable
}](m P, visible int) error {
	if c := m.shared(); c.weight != nil {
		if c.visible != visible {
			return fmt.Errorf("the model is for %d visible units, the data have %d", c.visible, visible)
		}
		return nil
	}
	next := *m
	p := P(&next)
	if err := p.build(visible); err != nil {
		return err
	}
	p.start()
	p.draw()
	p.shared().note()
	*m = next
	return nil
}

// restoreEncoder sets the weights of m, which has the settings of the file, from the file.
func restoreEncoder(m trainable, visible int, f *modelfile.File) error {
	if err := m.build(visible); err != nil {
		return err
	}
	all := &m.shared().all
	if err := all.Fits(f.Tensors); err != nil {
		return err
	}
	m.start()
	all.Set(f.Tensors)
	return nil
}

// lay lays out the weights without allocating them. It returns an error for impossible sizes.
func (c *encoderWeights) lay(visible, hidden int, units Units) error {
	if visible < 1 {
		return fmt.Errorf("%d visible units, want a positive number", visible)
	}
	c.visible, c.units, c.all = visible, units, layer.Params{}
	c.weight = c.all.Add("weight", visible, hidden)
	c.hidBias = c.all.Add("hidden.bias", hidden)
	c.visBias = c.all.Add("visible.bias", visible)
	if c.all.Size() < 0 {
		return fmt.Errorf("more than %d weights", layer.MaxWeights)
	}
	return nil
}

// note records the hash of the drawn weights. Trained compares it with the hash of the current weights.
func (c *encoderWeights) note() { c.drawn = c.sum() }

// hiddenSums sets in (rows, hidden) to the inputs of the hidden units for x (rows, visible). A sum that is
// not finite is a *RowError.
func (c *encoderWeights) hiddenSums(in, x []float32, rows int) error {
	n, m := c.visible, len(c.hidBias.W)
	fillRows(in, c.hidBias.W, rows)
	kernel.Gemm(rows, m, n, x, n, c.weight.W, m, in, m, true)
	return overflowed("hidden", in[:rows*m], m)
}

// encode sets code (rows, hidden) to the code of x (rows, visible). The code of an RBM is the probability of
// each hidden unit. It returns the error of hiddenSums.
func (c *encoderWeights) encode(code, x []float32, rows int) error {
	if err := c.hiddenSums(code, x, rows); err != nil {
		return err
	}
	logistic(code[:rows*len(c.hidBias.W)])
	return nil
}

// decode sets x (rows, visible) to the reconstruction of code (rows, hidden): the mean of each visible unit,
// which is a probability for binary units. A sum that is not finite is a *RowError.
func (c *encoderWeights) decode(x, code []float32, rows int) error {
	n, m := c.visible, len(c.hidBias.W)
	fillRows(x, c.visBias.W, rows)
	kernel.GemmNT(rows, m, n, code, m, c.weight.W, m, x, n, true)
	if err := overflowed("visible", x[:rows*n], n); err != nil {
		return err
	}
	if c.units == Binary {
		logistic(x[:rows*n])
	}
	return nil
}

// Encode returns codes; those of an RBM are probabilities. O(B·visible·hidden).
func (c *encoderWeights) Encode(x, dst *tensor.Dense) (*tensor.Dense, error) {
	v, rows, err := c.openTrained(x)
	if err != nil {
		return nil, err
	}
	dst, y, err := tensors.Result(dst, rows, c.weight.Shape[1])
	if err != nil {
		return nil, err
	}
	return dst, c.encode(y, v, rows)
}

// Decode returns the reconstruction (B, visible) of codes y (B, hidden), in dst if dst is not
// nil.
func (c *encoderWeights) Decode(y, dst *tensor.Dense) (*tensor.Dense, error) {
	if c.weight == nil {
		return nil, ErrNotReady
	}
	code, rows, err := openRows("y", y, c.weight.Shape[1], Binary)
	if err != nil {
		return nil, err
	}
	if !c.Trained() {
		return nil, ErrUntrained
	}
	dst, x, err := tensors.Result(dst, rows, c.visible)
	if err != nil {
		return nil, err
	}
	return dst, c.decode(x, code, rows)
}

// sum returns the hash of the tensors that Weights returns.
func (c *encoderWeights) sum() string {
	p := layer.Params{List: []*layer.Weight{c.weight, c.hidBias, c.visBias}}
	return p.Hash()
}

// Trained reports whether the encoder has learned, was loaded or given weights.
func (c *encoderWeights) Trained() bool {
	return c.weight != nil && (c.seen > 0 || c.drawn == "" || c.drawn != c.sum())
}

// learned returns an error unless the encoder is Trained.
func (c *encoderWeights) learned() error {
	switch {
	case c.weight == nil:
		return ErrNotReady
	case !c.Trained():
		return ErrUntrained
	}
	return nil
}

// Weights returns the weights; see Encoder. They are nil before Init.
func (c *encoderWeights) Weights() (w, hidden, visible *tensor.Dense) {
	if c.weight == nil {
		return nil, nil, nil
	}
	return c.weight.Dense(), c.hidBias.Dense(), c.visBias.Dense()
}

func (c *encoderWeights) Seen() int { return c.seen }

// Hash returns the SHA-256 of the weights in hexadecimal; empty before Init.
func (c *encoderWeights) Hash() string {
	if c.weight == nil {
		return ""
	}
	return c.all.Hash()
}

// open checks x, (B, visible) of float32, and returns it as a slice.
func (c *encoderWeights) open(x *tensor.Dense) (v []float32, rows int, err error) {
	if c.weight == nil {
		return nil, 0, ErrNotReady
	}
	return openRows("x", x, c.visible, c.units)
}

// openTrained is open for a trained encoder.
func (c *encoderWeights) openTrained(x *tensor.Dense) (v []float32, rows int, err error) {
	if v, rows, err = c.open(x); err == nil && !c.Trained() {
		return nil, 0, ErrUntrained
	}
	return v, rows, err
}

// openRows checks the type, the shape (B, width) and the range of x, and returns it as a slice. Binary values
// must lie in [0, 1].
func openRows(name string, x *tensor.Dense, width int, units Units) (v []float32, rows int, err error) {
	if x != nil && x.Dims() > 0 {
		rows = x.Shape()[0]
	}
	if err := tensors.Check(name, x, tensor.Float32, rows, width); err != nil || rows == 0 {
		return nil, 0, err
	}
	v = x.Float32s()
	if units == Gaussian {
		return v, rows, checkRows("value", v, width)
	}
	const one = 0x3f800000 // bits of 1, which are the highest in [0, 1]
	for i, f := range v {
		if math.Float32bits(f) > one && f != 0 {
			return nil, 0, rowErrorf(i/width, "value %d of %s is %v, want 0 to 1", i%width, name, f)
		}
	}
	return v, rows, nil
}

// checkRows returns a *RowError for the first number that is NaN or infinite.
func checkRows(what string, v []float32, width int) error {
	for i, f := range v {
		if f-f != 0 {
			return rowErrorf(i/width, "%s %d is %v", what, i%width, f)
		}
	}
	return nil
}

// overflowed returns a *RowError for the first sum of (rows, width) that is not finite.
func overflowed(units string, sums []float32, width int) error {
	if i := kernel.Overflow(sums, nil); i >= 0 {
		return rowErrorf(i/width, "the sum of %s unit %d overflows: the values or the weights are too large", units, i%width)
	}
	return nil
}

// divergedRows returns the error of a step whose gradient is not finite. It is a *RowError if the squares of
// a row overflow. Otherwise the weights are the cause.
func divergedRows(v []float32, width, step int) error {
	for row := 0; row*width < len(v); row++ {
		x := v[row*width : (row+1)*width]
		if kernel.Finite(kernel.Squares(x)) {
			continue
		}
		worst := 0
		for i, f := range x {
			if math.Abs(float64(f)) > math.Abs(float64(x[worst])) {
				worst = i
			}
		}
		return rowErrorf(row, "value %d is %v, which is too large to learn from", worst, x[worst])
	}
	return fmt.Errorf("nn: step %d: the gradient is not finite; a lower learning rate may help", step)
}

// initBias sets b to the log odds of the columns of v, with one row of ones and one of zeros added, or to the
// means of Gaussian columns.
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

// fillRows sets every row of x to bias.
func fillRows(x, bias []float32, rows int) {
	c := len(bias)
	for i := range rows {
		copy(x[i*c:i*c+c], bias)
	}
}

// logistic replaces x by σ(x) = 1 / (1 + e⁻ˣ).
func logistic(x []float32) { kernel.Sigmoid(x, x) }
