package nn

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"

	"github.com/sanflow/sanflow/nn/internal/kernel"
	"github.com/sanflow/sanflow/nn/internal/layer"
	"github.com/sanflow/sanflow/nn/internal/modelfile"
)

const (
	keyCounts  = "counts"
	keyNote    = "note"
	keyKernels = "kernels"
	keyMoments = "moments"
)

// ErrKernels is the error of Resume if the checkpoint was made with kernels that round
// differently. The model has been resumed, but not to the same further weights.
var ErrKernels = errors.New("nn: resume: the checkpoint was made by other kernels")

// Kernels names the kernels in use, such as "amd64 avx2". Training gives the same bytes only
// with the same kernels, and without assembly only on the same architecture.
func Kernels() string { return runtime.GOARCH + " " + kernel.Variant() }

// bestName is the name of the last tensor, which holds the best weights for the caller.
const bestName = "best"

// counts are the running counts of a Learner.
type counts struct {
	Steps   int     `json:"steps"`
	Seen    int     `json:"seen"`
	Correct int     `json:"correct"`
	Loss    float64 `json:"loss"` // sum over the rows seen, as Abs is
	Abs     float64 `json:"abs"`
}

// Checkpoint writes the state of the training; see Model.
func (c *Learner) Checkpoint(w io.Writer, note string, best []float32) error {
	if !c.ready() {
		return ErrNotReady
	}
	f := c.checkpoint()
	if len(best) > 0 {
		if err := c.fitWeights(best); err != nil {
			return fmt.Errorf("nn: checkpoint: the best: %w", err)
		}
		f.Tensors = append(f.Tensors, modelfile.Vector(bestName, best))
	}
	if err := modelfile.Save(w, f, map[string]any{
		keyCounts: counts{c.steps, c.seen, c.correct, c.lossSum, c.abs}, keyNote: note, keyKernels: Kernels(), keyUnit: c.unit, keyMoments: c.moments,
	}); err != nil {
		return fmt.Errorf("nn: checkpoint: %w", err)
	}
	return nil
}

// checkpoint returns the file of a checkpoint. Its tensors share memory with c.
func (c *Learner) checkpoint() *modelfile.File {
	f := &modelfile.File{Kind: modelfile.Checkpoint + c.arch.settings().kind, Meta: c.meta, Tensors: c.work.Tensors()}
	for _, s := range c.opt.state() {
		f.Tensors = append(f.Tensors, modelfile.Vector("optimizer."+s.name, s.x))
	}
	return f
}

// Resume reads the state of a training; see Model.
func (c *Learner) Resume(r io.Reader) (note string, best []float32, err error) {
	if !c.ready() {
		return "", nil, ErrNotReady
	}
	f, err := modelfile.Read(r)
	if err != nil {
		return "", nil, fmt.Errorf("nn: resume: %w", err)
	}
	var n counts
	var kernels string
	var u unit
	var m moments
	into := c.checkpoint()
	last := len(f.Tensors) - 1
	kept := last == len(into.Tensors) && f.Tensors[last].Name == bestName
	if kept {
		best, f.Tensors = f.Tensors[last].F32, f.Tensors[:last]
	}
	err = c.fitCheckpoint(f, into)
	if err == nil && kept {
		if err = c.fitWeights(best); err != nil {
			err = fmt.Errorf("tensor %s: %w", bestName, err)
		}
	}
	if err == nil {
		err = errors.Join(f.Get(keyCounts, &n), f.Get(keyNote, &note), f.Get(keyKernels, &kernels), f.Get(keyUnit, &u), f.Get(keyMoments, &m))
	}
	if err == nil {
		err = errors.Join(n.check(), u.check(), m.check())
	}
	if err != nil {
		return "", nil, fmt.Errorf("nn: resume: %w", err)
	}
	for i, t := range into.Tensors {
		copy(t.F32, f.Tensors[i].F32)
	}
	c.unit, c.moments = u, m
	c.steps, c.seen, c.correct, c.lossSum, c.abs = n.Steps, n.Seen, n.Correct, n.Loss, n.Abs
	if kernels != Kernels() {
		err = fmt.Errorf("%w: %s, these are %s", ErrKernels, kernels, Kernels())
	}
	return note, best, err
}

// fitCheckpoint returns an error unless f has the kind, shape, settings and tensors of want.
func (c *Learner) fitCheckpoint(f, want *modelfile.File) error {
	if f.Kind != want.Kind {
		return fmt.Errorf("the file is of another model: %q, want %q", f.Kind, want.Kind)
	}
	for _, w := range []struct{ key, what string }{{modelfile.Shape, "shape of the data"}, {modelfile.Settings, "settings"}} {
		if f.Meta[w.key] != want.Meta[w.key] {
			return fmt.Errorf("the file is of another %s: %q, want %q", w.what, f.Meta[w.key], want.Meta[w.key])
		}
	}
	if err := layer.FitTensors(f.Tensors, want.Tensors); err != nil {
		return err
	}
	for i, s := range c.opt.state() {
		t := f.Tensors[len(c.work.List)+i]
		if s.squares && slices.Min(t.F32) < 0 {
			return fmt.Errorf("%s has a mean of squares of %v", t.Name, slices.Min(t.F32))
		}
	}
	return nil
}

// check returns an error for impossible counts. Each step has at least one row.
func (n counts) check() error {
	if n.Correct < 0 || n.Seen < n.Correct || n.Steps < 0 || n.Seen < n.Steps || n.Loss < 0 || n.Abs < 0 {
		return fmt.Errorf("counts: %+v", n)
	}
	return nil
}
