package nn

import (
	"errors"
	"fmt"
	"io"

	"gorgonia.org/tensor"

	"github.com/sanflow/sanflow/internal/scratch"
	"github.com/sanflow/sanflow/nn/internal/kernel"
	"github.com/sanflow/sanflow/nn/internal/layer"
	"github.com/sanflow/sanflow/nn/internal/modelfile"
	"github.com/sanflow/sanflow/nn/internal/tensors"
)

// ErrNotReady is the error of a model before Init or Load. It is an ErrUntrained.
var ErrNotReady error = notReady{}

type notReady struct{}

func (notReady) Error() string { return "nn: the model has neither been initialised nor loaded" }

func (notReady) Is(target error) bool { return target == ErrUntrained }

// ErrUntrained is the error of Predict, Evaluate and Save before the first Step or Load. Step
// needs no training.
var ErrUntrained = errors.New("nn: the model has neither learned nor been loaded")

// architecture is the part of a model that its type adds to Learner: settings and layers. It is a pointer to
// the struct of the user.
type architecture interface {
	settings() settings

	// fits returns an error unless the model can be built for s. The settings are resolved.
	fits(s Shape) error

	// lay adds the weights of a body to p without allocating them. It is called once for each replica.
	lay(p *layer.Params, s Shape) body
}

// pointer is the constraint of functions over all model types M.
type pointer[M any] interface {
	*M
	architecture
}

// Learner holds the weights of a model, the state of its optimizer, its counts and its metadata.
// Each Model of this package embeds one and has its methods. Init sets it, and a file. Copies of a
// model share it. Before, its methods return ErrNotReady or zeros.
type Learner struct {
	*learner                   // nil before Init
	info     map[string]string // notes for the file, which Metadata returns
}

// Save writes a safetensors file: the weights, the settings, the shape and Metadata, without
// optimizer state and counts. The same network gives the same bytes.
func (c *Learner) Save(w io.Writer) error { return c.save(w, c.info) }

// Metadata returns the notes of the file; see Saver.
func (c *Learner) Metadata() map[string]string { return modelfile.Metadata(&c.info) }

// fits accepts any shape. Models that do not have their own fits.
func (c *Learner) fits(Shape) error { return nil }

// learner is the state that Init creates.
type learner struct {
	arch  architecture      // private copy of the settings and layers of the model
	meta  map[string]string // shape and settings as Save writes them
	shape Shape
	loss  lossName
	work  *replica // owns the weights
	team  team
	opt   stepper
	decay float64 // share of each weight that a step subtracts; see update

	unit    unit // unit of the learned values; see unitRows
	moments moments

	given          bool // the weights come from a file or SetWeights
	steps, correct int
	seen           int
	lossSum, abs   float64 // over all rows seen
}

// ready reports whether Init or Load has set the Learner.
func (c *learner) ready() bool { return c != nil && c.work != nil }

// initialise implements Init of every model. An error leaves the settings of m unchanged.
func initialise[M any, P pointer[M]](m P, s Shape) error {
	set := m.settings()
	if !set.counts && len(s.Counts) > 0 && s.W == 0 {
		return fmt.Errorf("a %s reads fields, and the data have counts alone", set.name)
	}
	s = s.of(set.counts)
	if c := set.learner; c.ready() {
		return c.shape.Check(s)
	}
	next := *m
	c, err := build(P(&next), s)
	if err != nil {
		return err
	}
	c.start()
	c.work.init(m.settings().seedOr0())
	*m = next
	m.settings().learner.learner = c
	return nil
}

// build resolves the settings of m for s and lays out the network. It allocates no weights, so that a file is
// compared with the layout before memory is taken. The Learner keeps m.
func build(m architecture, s Shape) (*learner, error) {
	if err := s.validate(); err != nil {
		return nil, err
	}
	set := m.settings()
	if set.counts != (len(s.Counts) > 0) {
		return nil, fmt.Errorf("a %s reads %s, and there are none", set.name, map[bool]string{true: "counts", false: "fields alone"}[set.counts])
	}
	if err := s.of(set.counts).Check(s); err != nil {
		return nil, err
	}
	if err := set.resolve(s); err != nil {
		return nil, err
	}
	if err := m.fits(s); err != nil {
		return nil, err
	}
	s = s.clone()
	c := &learner{arch: m, shape: s, loss: lossOf(s), decay: (*set.optimizer).rates().decay()}
	c.team.learner, c.team.workers = c, *set.workers
	c.work = lay(m, s)
	if c.work.Size() < 0 {
		return nil, fmt.Errorf("more than %d weights", layer.MaxWeights)
	}
	var err error
	c.meta, err = set.metadata(s)
	return c, err
}

// start allocates the weights, all zero, and the state of the optimizer.
func (c *learner) start() {
	c.work.Alloc()
	c.opt = (*c.arch.settings().optimizer).start(len(c.work.W))
}

// Shape returns the shape of the data; see Predictor.
func (c *Learner) Shape() Shape {
	if !c.ready() {
		return Shape{}
	}
	return c.shape.clone()
}

// Step predicts a batch, then learns from it; see Model.
func (c *Learner) Step(b Batch) (Result, error) {
	if !c.ready() {
		return Result{}, ErrNotReady
	}
	in, err := b.open(c.shape, true)
	if err != nil || in.rows == 0 {
		return Result{}, err
	}
	return c.step(in)
}

func (c *Learner) step(b batch) (Result, error) {
	if err := c.loss.check(b, c.shape); err != nil {
		return Result{}, err
	}
	moments, unit := c.moments.with(b.values, c.unit)
	b.unit, b.learned = c.unit, unit
	seen, learned, err := c.team.learn(b)
	if err != nil {
		return Result{}, err
	}
	if !kernel.Finite(learned) || !c.work.update(c.opt, c.decay, c.steps+1) {
		return Result{}, c.diverged(b, learned)
	}
	c.moments, c.unit = moments, unit
	c.steps++
	c.seen += b.rows
	c.correct += seen.correct
	c.lossSum += seen.loss
	c.abs += seen.abs
	return seen.result(), nil
}

// Predict returns the probabilities or the value of each row; see Predictor.
func (c *Learner) Predict(b Batch, dst *tensor.Dense) (*tensor.Dense, error) {
	if !c.ready() {
		return nil, ErrNotReady
	}
	in, err := b.open(c.shape, false)
	if err != nil {
		return nil, err
	}
	dst, p, err := tensors.Result(dst, in.rows, max(1, c.shape.Classes))
	if err != nil || in.rows == 0 {
		return dst, err
	}
	if !c.Trained() {
		return nil, ErrUntrained
	}
	return dst, c.predict(p, in)
}

func (c *Learner) predict(p []float32, b batch) error {
	y, err := c.work.forward(b)
	if err != nil {
		return err
	}
	if bad := c.loss.predict(p, y, b.rows, c.shape, c.unit); bad >= 0 {
		return rowErrorf(bad, "the prediction is not a number: its attributes or the weights are not, or are too large")
	}
	return nil
}

// AppendWeights appends the weights to dst; see Model.
func (c *Learner) AppendWeights(dst []float32) []float32 {
	if !c.ready() {
		return dst
	}
	dst = append(dst, c.work.W...)
	if c.loss == squared {
		dst = append(dst, c.unit.Mean, c.unit.Deviation)
	}
	return dst
}

// SetWeights replaces the weights; see Model.
func (c *Learner) SetWeights(w []float32) error {
	if !c.ready() {
		return ErrNotReady
	}
	if err := c.fitWeights(w); err != nil {
		return fmt.Errorf("nn: %w", err)
	}
	if n := len(c.work.W); c.loss == squared {
		c.unit, c.moments = unit{w[n], w[n+1]}, fixed
	}
	copy(c.work.W, w)
	c.given = true
	return nil
}

// SetRate sets the rate of an initialised model, with 0 for the default of its optimizer. The state of the
// optimizer is reset.
func (c *Learner) SetRate(rate float64) error {
	if !c.ready() {
		return ErrNotReady
	}
	set := c.arch.settings()
	next, err := (*set.optimizer).at(rate).resolve()
	if err != nil {
		return fmt.Errorf("nn: %w", err)
	}
	*set.optimizer = next
	c.opt, c.decay = next.start(len(c.work.W)), next.rates().decay()
	c.meta, err = set.metadata(c.shape)
	return err
}

// fitWeights returns an error unless w has the form that AppendWeights returns.
func (c *Learner) fitWeights(w []float32) error {
	n := len(c.work.W)
	want := n
	if c.loss == squared {
		want += 2
	}
	if len(w) != want {
		return fmt.Errorf("%d weights, the model has %d", len(w), want)
	}
	if c.loss == squared {
		return unit{w[n], w[n+1]}.check()
	}
	return nil
}

// Trained reports whether the model has learned, was loaded or given weights.
func (c *Learner) Trained() bool { return c.learner != nil && (c.given || c.seen > 0) }

// Seen returns the number of rows learned from; see Model.
func (c *Learner) Seen() int {
	if !c.ready() {
		return 0
	}
	return c.seen
}

// Accuracy returns the share of Seen that Step predicted correctly; see Model.
func (c *Learner) Accuracy() float64 {
	if !c.ready() || c.seen == 0 {
		return 0
	}
	return float64(c.correct) / float64(c.seen)
}

// Evaluate tests the model on a batch with targets; see Model.
func (c *Learner) Evaluate(b Batch) (Result, error) {
	if !c.ready() {
		return Result{}, ErrNotReady
	}
	in, err := b.open(c.shape, true)
	if err != nil || in.rows == 0 {
		return Result{}, err
	}
	if !c.Trained() {
		return Result{}, ErrUntrained
	}
	return c.evaluate(in)
}

func (c *Learner) evaluate(b batch) (Result, error) {
	if err := c.loss.check(b, c.shape); err != nil {
		return Result{}, err
	}
	t, err := c.test(b)
	if err != nil {
		return Result{}, err
	}
	if kernel.Finite(t.loss) {
		return t.result(), nil
	}
	err = c.rowAtFault(b, "test", func(one batch, _ int) bool {
		t, err := c.test(one)
		return err == nil && kernel.Finite(t.loss)
	})
	if err == nil {
		err = fmt.Errorf("nn: the loss is %v: the weights are not numbers, or too large", t.loss/float64(b.rows))
	}
	return Result{}, err
}

// test compares the predictions for a batch with its targets.
func (c *Learner) test(b batch) (tally, error) {
	b.unit, b.learned = c.unit, c.unit
	y, err := c.work.forward(b)
	if err != nil {
		return tally{}, err
	}
	c.work.dy = scratch.Resize(c.work.dy, b.rows*c.loss.units(c.shape))
	return c.loss.compare(y, b, c.shape, c.work.dy, 1), nil
}
