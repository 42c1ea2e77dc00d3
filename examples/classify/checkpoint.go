package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/flow/file/store"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/nn/validation"
	"github.com/sanflow/sanflow/sinks"
)

// openStore begins a run in the directory of -checkpoint, or resumes the one there. It
// has an entry for each trial that has ended, and NAME.safetensors, the state of one that
// has not, or of the last.
func (e *evaluation) openStore() (*store.Store, error) {
	settings, err := e.identity()
	if err != nil {
		return nil, err
	}
	return cli.OpenStore(e.c.checkpoint, e.c.resume, settings)
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
		{"-field-edges", c.edges}, {"-model-kind", c.kind}, {"-pretrain", c.pretrain},
		{"fields of SHA-256", sum}, {"kernels", nn.Kernels()}, {"learning by", e.learning()},
	} {
		list = append(list, cli.Setting(s.name, s.value))
	}
	if c.score != "" {
		list = append(list, cli.Setting("-score", c.score))
	}
	return list, err
}

// learning says in full what is learned beside the rows, and among what is chosen.
func (e *evaluation) learning() string {
	if e.c.kind == machine {
		return fmt.Sprintf("svm, C %g, kernels %v", costs, kernels)
	}
	return fmt.Sprintf("%s, batches %v", e.training(validation.Trial{}, e.epochs).Identity(), e.batches)
}

// state is the file of a training.
func (c *config) state(name string) string { return filepath.Join(c.checkpoint, name+".safetensors") }

// checkpointEvery is the least time between two checkpoints of a training.
var checkpointEvery = time.Second

// keep is how a training is kept up to its last steps.
func (c *config) keep(name string) sinks.Checkpoint {
	if c.checkpoint == "" {
		return sinks.Checkpoint{}
	}
	return sinks.Checkpoint{File: c.state(name), Every: checkpointEvery, Resume: true}
}

// ended removes the state of a training that has ended: its scores are what is kept.
func (c *config) ended(name string) error {
	if c.checkpoint == "" {
		return nil
	}
	if err := os.Remove(c.state(name)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
