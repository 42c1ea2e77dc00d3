package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/examples/internal/collection"
	"github.com/sanflow/sanflow/flow/file/store"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/nn/validation"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/sinks"
)

// Random streams under the seed of the command line, beside the folds.
const (
	streamOuter = iota + 2
	streamInner
	streamLabelings
)

// evaluation is a finished cross-validation.
type evaluation struct {
	c       *config
	fields  *collection.Fields
	data    *collection.Data
	keep    *store.Store // nil: nothing is kept
	batches []int
	epochs  int
	svms    *machines          // where those are learned in place of networks
	splits  []validation.Split // repeat by repeat

	nested, paper, optimistic verdict
	examples                  int
	seconds                   float64
}

// verdict is the result of one protocol.
type verdict struct {
	accuracy []float64 // percent, of each fold
	value    []float64 // of -score, of each fold
	epochs   []int     // of each fold
	batch    []int     // of each fold
	// What a machine has in place of epochs and batch.
	c      []float64
	kernel []string
}

// newEvaluation opens the store of -checkpoint, which the caller closes.
func newEvaluation(c *config, d *collection.Data, f *collection.Fields) (*evaluation, error) {
	if c.folds > len(d.Class) {
		return nil, fmt.Errorf("%d folds of %d graphs leave some empty; want -folds of at most the number of graphs", c.folds, len(d.Class))
	}
	e := &evaluation{c: c, data: d, fields: f, batches: []int{c.batch}, epochs: c.epochs}
	if c.batch == 0 {
		e.batches = collection.Batches
	}
	if c.epochs == 0 {
		e.epochs = collection.MaxEpochs(c.kind, len(d.Class))
	}
	var err error
	e.keep, err = e.openStore()
	return e, err
}

// evaluate trains on every fold and lets each protocol choose.
func (e *evaluation) evaluate(ctx context.Context) (err error) {
	c := e.c
	v := validation.CrossValidation{
		Folds: c.folds, Repeats: c.repeats, Seed: c.seed, Workers: c.workers,
		Variants: len(e.batches), Fixed: c.epochs > 0 && c.batch > 0, Measure: c.score, Keep: e.keep,
	}
	v.HeldOut = c.kind == best && !v.Fixed && c.score == ""
	if c.kind == machine {
		v.Variants, v.Fixed, e.epochs = len(kernels), false, 1
	}
	trainings := c.folds * c.repeats * v.Variants
	if !v.Fixed && !v.HeldOut {
		trainings *= 2
	}
	bar := cli.NewProgress("training", int64(trainings*e.epochs))
	defer bar.Done()
	if c.kind == machine {
		if e.svms, err = newMachines(e); err != nil {
			return err
		}
		v.Prepare = e.svms.grid.Prepare
		v.Learn = func(ctx context.Context, t validation.Trial) ([]validation.Score, error) {
			defer bar.Add(1)
			return e.svms.grid.Learn(ctx, t)
		}
	} else {
		v.Learn = e.networks(bar)
	}
	all, err := v.Run(ctx, e.data.Class)
	if errors.Is(err, store.ErrDamaged) {
		return fmt.Errorf("-resume: %w", err)
	}
	if err != nil {
		return err
	}
	e.splits = all.Splits
	e.nested, e.paper, e.optimistic = e.verdictOf(all.Nested), e.verdictOf(all.Paper), e.verdictOf(all.Optimistic)
	return nil
}

// phases are what the trainings of a fold are for, by validation.Trial.Inner.
var phases = map[bool]string{true: "choosing", false: "testing"}

// networks learns in a trial by epochs.
func (e *evaluation) networks(bar *cli.Progress) func(context.Context, validation.Trial) ([]validation.Score, error) {
	var mu sync.Mutex
	return func(ctx context.Context, t validation.Trial) ([]validation.Score, error) {
		j := e.training(t, e.epochs)
		phase := fmt.Sprintf("fold %d of %d, %s", t.Fold+1, e.c.folds*e.c.repeats, phases[t.Inner])
		j.Checkpoint, j.OnEpoch = e.c.keep(t.Name()), func() {
			bar.Phase(phase)
			bar.Add(1)
		}
		o, err := j.Learn(ctx, e.fields)
		if err != nil {
			return nil, err
		}
		mu.Lock()
		defer mu.Unlock()
		e.examples += o.Examples
		e.seconds += o.Seconds
		return o.Curve[e.epochsToTry():], e.c.ended(t.Name())
	}
}

func (e *evaluation) verdictOf(choices []validation.Choice) (v verdict) {
	for _, c := range choices {
		v.accuracy, v.value = append(v.accuracy, c.Accuracy()), append(v.value, c.Score.Value)
		if e.svms != nil {
			v.kernel, v.c = append(v.kernel, string(kernels[c.Variant])), append(v.c, e.svms.grid.C[c.Step])
			continue
		}
		v.epochs = append(v.epochs, e.epochsToTry()+c.Step+1)
		v.batch = append(v.batch, e.batches[c.Variant])
	}
	return v
}

// training is that of a trial.
func (e *evaluation) training(t validation.Trial, epochs int) collection.Training {
	batch, stream := e.batches[t.Variant], uint64(streamOuter)
	if t.Inner {
		stream = streamInner
	}
	return collection.Training{
		Split: t.Split, Epochs: epochs, Batch: batch, Seed: validation.Seed(e.c.seed, stream, uint64(t.Fold), uint64(batch)),
		Whole: e.c.epochs > 0, Measure: e.c.score, Kind: e.c.kind, Pretrain: e.c.pretrain,
		Workers: 1, // trials run side by side
	}
}

// epochsToTry returns the first of the epochs that may be chosen: a number that
// the command line fixes is not up for choice.
func (e *evaluation) epochsToTry() int {
	if e.c.epochs > 0 {
		return e.epochs - 1
	}
	return 0
}

// verdict returns that of the protocol on the command line.
func (e *evaluation) verdict() verdict {
	if e.c.protocol == "paper" {
		return e.paper
	}
	return e.nested
}

// lastModel trains the model of the last fold once more, by what the protocol
// chose, and returns it as a file.
func (e *evaluation) lastModel(ctx context.Context) ([]byte, error) {
	v := e.verdict()
	i := len(e.splits) - 1
	if e.svms != nil {
		svm, err := e.svms.fit(ctx, e.splits[i], nn.Similarity(v.kernel[i]), v.c[i])
		if err != nil {
			return nil, err
		}
		return e.file(svm, nil)
	}
	j := e.training(validation.Trial{Split: e.splits[i], Fold: i, Variant: slices.Index(e.batches, v.batch[i])}, v.epochs[i])
	j.Checkpoint, j.OnEpoch, j.Workers = e.c.keep("last"), func() {}, e.c.workers
	o, err := j.Learn(ctx, e.fields)
	if err != nil {
		return nil, err
	}
	return e.file(o.Net, o.Scale)
}

// file is a model with its recipe.
func (e *evaluation) file(net nn.Saver, scale *operators.Standardize) ([]byte, error) {
	var buf bytes.Buffer
	err := sinks.Write(&buf, net, e.describe(net, scale))
	return buf.Bytes(), err
}

// describe returns the recipe of a network in full, and notes in words what the
// reader of a list wants to see.
func (e *evaluation) describe(net nn.Saver, scale *operators.Standardize) operators.Recipe {
	recipe := append(operators.Recipe{operators.Expect{Layout: e.data.Layout}}, e.fields.Recipe...)
	roots, _ := operators.Find[operators.Select](recipe)
	notes := net.Metadata()
	list := map[string]any{"dataset": e.data.Name, "seed": e.c.seed}
	if !e.c.ofWords() {
		list["select"], list["normalize"], list["k"], list["w"], list["stride"] = roots.By, e.c.normal, e.c.k, roots.W, roots.Stride
	}
	for k, v := range list {
		notes[k] = fmt.Sprint(v)
	}
	if scale != nil {
		recipe = append(recipe, *scale)
		notes["mean"], notes["std"] = fmt.Sprint(scale.Mean), fmt.Sprint(scale.Std)
	}
	return recipe
}

func percent(part, whole int) float64 { return 100 * float64(part) / float64(max(whole, 1)) }
