package nn

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gorgonia.org/tensor"
)

// ErrNotReady is the error of a model that is used before Init or Load.
var ErrNotReady = errors.New("nn: the model has neither been initialised nor loaded")

// CNN is the network of the PATCHY-SAN paper (Niepert et al. 2016, section
// Experimental Set-up): a convolution of size and stride k over the w·k
// vertices, a convolution of stride 1 over the w fields, a dense layer, all
// with ReLU, then dropout and softmax. It learns by cross-entropy, one step a
// batch.
//
// The fields are its settings, zero meaning the default, which is the paper's.
// Init and Load replace zeros by what they stand for, and later changes have no
// effect. A CNN is used by one goroutine at a time.
type CNN struct {
	W int // fields of a graph; 0 = as many as the data have
	K int // vertices of a field; 0 = as many as the data have

	Maps1  int // channels of the first convolution; 0 = 16
	Maps2  int // channels of the second; 0 = 8
	Size2  int // fields that the second spans, at most w; 0 = 10
	Hidden int // units of the dense layer; 0 = 128

	// Dropout is the probability that a hidden unit is dropped, below 1, to a
	// precision of 2⁻¹⁶; 0 = 0.5, negative = none.
	Dropout float64

	Optimizer Optimizer // nil = RMSprop{}
	Seed      uint64    // of the initial weights and of dropout

	// Info is saved with the weights and loaded with them: class names,
	// labelings, whatever its reader needs. Keys may not begin with "sanflow.".
	Info map[string]string

	meta    map[string]string // shape and settings as Save writes them
	shape   Shape
	net     *network // nil before Init
	opt     stepper
	steps   int
	seen    int
	correct int
}

// String returns the settings in one line.
func (c *CNN) String() string {
	return fmt.Sprintf("CNN{W: %d, K: %d, Maps1: %d, Maps2: %d, Size2: %d, Hidden: %d, Dropout: %v, Optimizer: %+v, Seed: %d}",
		c.W, c.K, c.Maps1, c.Maps2, c.Size2, c.Hidden, c.Dropout, c.Optimizer, c.Seed)
}

// Init builds the network for data of that shape, with the weights that Seed
// stands for. Zero fields of c are filled from the shape and the defaults; a
// field that contradicts the shape is an error. A second Init with the same
// shape does nothing, with another it is an error.
func (c *CNN) Init(s Shape) error {
	if c.net != nil {
		return c.shape.check(s)
	}
	next := *c
	if err := next.build(s); err != nil {
		return err
	}
	next.start()
	next.net.init(next.Seed)
	*c = next
	return nil
}

// build checks the settings against s and lays out the network. It takes next
// to no memory, so a file can be compared with the layout before it is
// believed.
func (c *CNN) build(s Shape) error {
	if err := s.validate(); err != nil {
		return err
	}
	if err := c.resolve(s); err != nil {
		return err
	}
	s.Cats = slices.Clone(s.Cats)
	c.shape, c.net = s, newNetwork(c, s)
	if c.net.size() < 0 {
		return fmt.Errorf("more than %d weights", maxWeights)
	}
	var err error
	c.meta, err = c.metadata()
	return err
}

// start gives the network its memory, all weights zero.
func (c *CNN) start() {
	c.net.alloc()
	c.net.conv1.start()
	c.net.drop = newDropout(c.Dropout, c.Seed)
	c.opt = c.Optimizer.start(c.net.size())
}

// resolve replaces zero settings by what they stand for, and checks them.
func (c *CNN) resolve(s Shape) error {
	// Names of fields are arguments: an error that begins with one keeps its
	// capital letter, and staticcheck its peace.
	if c.W != 0 && c.W != s.W {
		return fmt.Errorf("%s is %d, the data have w = %d", "W", c.W, s.W)
	}
	if c.K != 0 && c.K != s.K {
		return fmt.Errorf("%s is %d, the data have k = %d", "K", c.K, s.K)
	}
	c.W, c.K = s.W, s.K
	for _, f := range []struct {
		name string
		v    *int
		zero int
	}{{"Maps1", &c.Maps1, 16}, {"Maps2", &c.Maps2, 8}, {"Size2", &c.Size2, 10}, {"Hidden", &c.Hidden, 128}} {
		if *f.v == 0 {
			*f.v = f.zero
		}
		if *f.v < 0 {
			return fmt.Errorf("%s is %d, want a positive number", f.name, *f.v)
		}
	}
	if c.Dropout == 0 {
		c.Dropout = 0.5
	}
	if !(c.Dropout < 1) {
		return fmt.Errorf("%s is %v, want below 1", "Dropout", c.Dropout)
	}
	if c.Optimizer == nil {
		c.Optimizer = RMSprop{}
	}
	var err error
	c.Optimizer, err = c.Optimizer.resolve()
	return err
}

// Shape returns what Init was called with or Load has read.
func (c *CNN) Shape() Shape {
	s := c.shape
	s.Cats = slices.Clone(s.Cats)
	return s
}

// Step predicts the batch, counts what was right, then changes the weights
// once. An error leaves the weights as they were; a *RowError names the row at
// fault. A batch without rows does nothing.
func (c *CNN) Step(b Batch) (Result, error) {
	if c.net == nil {
		return Result{}, ErrNotReady
	}
	in, err := b.open(c.shape, true)
	if err != nil || in.rows == 0 {
		return Result{}, err
	}
	return c.step(in)
}

func (c *CNN) step(b batch) (Result, error) {
	for i, t := range b.targets {
		if t < 0 || int(t) >= c.shape.Classes {
			return Result{}, rowErrorf(i, "class %d, want 0 to %d", t, c.shape.Classes-1)
		}
	}
	n := c.net
	if err := n.forward(b); err != nil {
		return Result{}, err
	}
	loss, correct := n.loss(b)
	learn := loss
	if n.drop != nil && finite(loss) {
		learn = n.dropLoss(b)
	}
	if !finite(learn) {
		return Result{}, c.diverged(b, learn)
	}
	n.backward(b)
	c.opt.step(n.w, n.g)
	c.steps++
	c.seen += b.rows
	c.correct += correct
	return Result{Rows: b.rows, Correct: correct, Loss: loss}, nil
}

// diverged tells a batch that holds NaN or Inf from weights that have grown
// out of bounds.
func (c *CNN) diverged(b batch, loss float64) error {
	for i, x := range b.attrs {
		if !finite(float64(x)) {
			return rowErrorf(i/(len(b.attrs)/b.rows), "attribute is %v", x)
		}
	}
	return fmt.Errorf("nn: step %d: the loss is %v; a lower learning rate may help", c.steps+1, loss)
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// Predict returns the probability of each class for each graph of the batch,
// (B, classes) of float32, row-major. The result is dst when dst is not nil,
// which must have that shape. Targets are ignored and nothing is dropped.
func (c *CNN) Predict(b Batch, dst *tensor.Dense) (*tensor.Dense, error) {
	if c.net == nil {
		return nil, ErrNotReady
	}
	in, err := b.open(c.shape, false)
	if err != nil {
		return nil, err
	}
	dst, p, err := result(dst, in.rows, c.shape.Classes)
	if err != nil {
		return nil, err
	}
	return dst, c.predict(p, in)
}

func (c *CNN) predict(p []float32, b batch) error {
	if err := c.net.forward(b); err != nil {
		return err
	}
	copy(p, c.net.logit)
	if bad := softmax(p, b.rows, c.shape.Classes); bad >= 0 {
		return rowErrorf(bad, "the prediction is not a number: its attributes or the weights are not")
	}
	return nil
}

// Seen returns the number of graphs learned from, each time counted.
func (c *CNN) Seen() int { return c.seen }

// Accuracy returns the share of Seen that was predicted right before the
// network learned from it, 0 when there is none.
func (c *CNN) Accuracy() float64 {
	if c.seen == 0 {
		return 0
	}
	return float64(c.correct) / float64(c.seen)
}
