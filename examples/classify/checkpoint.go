package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/examples/internal/collection"
	"github.com/sanflow/sanflow/flow/file/store"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/nn/validation"
	"github.com/sanflow/sanflow/sinks"
)

// kept is what -checkpoint keeps: an entry for each training that has ended, and
// NAME.safetensors, the state of one that has not, or of the last.
type kept struct {
	*store.Store
	dir string
}

// openStore begins a run in the directory, or resumes the one there.
func (e *evaluation) openStore() (kept, error) {
	settings, err := e.identity()
	if err != nil {
		return kept{}, err
	}
	s, err := cli.OpenStore(e.c.checkpoint, e.c.resume, settings)
	return kept{s, e.c.checkpoint}, err
}

// identity is all that decides the result of a run.
func (e *evaluation) identity() (list []store.Setting, err error) {
	c := e.c
	if c.checkpoint == "" {
		return nil, nil
	}
	sum, err := record.Digest(e.fields.Record)
	for _, s := range []struct {
		name  string
		value any
	}{
		{"-data", e.data.Name}, {"-seed", c.seed}, {"-k", c.k}, {"-w", e.fields.W}, {"-stride", c.stride},
		{"-select", c.selecting}, {"-normalize", c.normal},
		{"-epochs", c.epochs}, {"-batch", c.batch}, {"-folds", c.folds}, {"-repeats", c.repeats}, {"-protocol", c.protocol},
		{"-edges", c.edges}, {"-model-kind", c.kind}, {"-pretrain", c.pretrain},
		{"fields of SHA-256", sum}, {"kernels", nn.Kernels()}, {"learning by", e.learning()},
	} {
		list = append(list, cli.Setting(s.name, s.value))
	}
	return list, err
}

// learning says in full what is learned beside the rows, and among what is chosen.
func (e *evaluation) learning() string {
	if e.c.kind == machine {
		return fmt.Sprintf("svm, C %g, kernels %v", costs, kernels)
	}
	return fmt.Sprintf("%s, batches %v", e.job(validation.Trial{}, e.epochs).Identity(), e.batches)
}

// training is what a store keeps of a job beside the network.
type training struct {
	Curve    [][]float64 `json:"curve"` // number correct, sum of losses, loss of rows held out
	Examples int         `json:"examples"`
	Seconds  float64     `json:"seconds"`
}

func trainingOf(o *collection.Outcome) training {
	t := training{Curve: [][]float64{}, Examples: o.Examples, Seconds: o.Seconds}
	for _, p := range o.Curve {
		t.Curve = append(t.Curve, []float64{float64(p.Correct), p.Loss, p.HeldOut})
	}
	return t
}

func (t training) outcome() (*collection.Outcome, error) {
	o := &collection.Outcome{Examples: t.Examples, Seconds: t.Seconds}
	for _, p := range t.Curve {
		if len(p) != 3 {
			return nil, fmt.Errorf("its scores are %d numbers, want 3: another version of this command wrote it", len(p))
		}
		o.Curve = append(o.Curve, validation.Score{Correct: int(p[0]), Loss: p[1], HeldOut: p[2]})
	}
	return o, nil
}

// finished returns the outcome of a job that has ended, without its network, or
// nil.
func (r kept) finished(name string) (*collection.Outcome, error) {
	var t training
	if ok, err := r.Get(name, &t); err != nil {
		return nil, fmt.Errorf("-resume: %w", err)
	} else if !ok {
		return nil, nil
	}
	o, err := t.outcome()
	if err != nil {
		return nil, fmt.Errorf("-resume: %s: %w", r.Path(name), err)
	}
	return o, r.removeState(name) // of a run that was killed before it did
}

// finish keeps the outcome of a job.
func (r kept) finish(name string, o *collection.Outcome) error {
	if r.Store == nil {
		return nil
	}
	if err := r.Put(name, trainingOf(o)); err != nil {
		return err
	}
	return r.removeState(name)
}

func (r kept) removeState(name string) error {
	if err := os.Remove(r.state(name)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (r kept) state(name string) string { return filepath.Join(r.dir, name+".safetensors") }

// checkpointEvery is the least time between two checkpoints of a training.
var checkpointEvery = time.Second

// checkpoint is how the training of a job is kept up to its last steps.
func (r kept) checkpoint(name string) sinks.Checkpoint {
	if r.Store == nil {
		return sinks.Checkpoint{}
	}
	return sinks.Checkpoint{File: r.state(name), Every: checkpointEvery, Resume: true}
}
