package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"sync"
	"time"

	"gonum.org/v1/gonum/stat"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/nn/validation"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/sinks"
)

// trials are the trainings of one model on a collection.
type trials struct {
	*single
	c      *config
	data   *collection
	fields *fields

	mu       sync.Mutex
	examples int
	seconds  float64
}

// training is the training of a trial.
func (t *trials) training(of trial) training {
	j, stream := trainingOf(t.kind, t.data), uint64(streamOuter)
	if of.inner {
		stream = streamInnerWeights
	}
	if t.epochs > 0 {
		j.epochs, j.whole = t.epochs, true
	}
	j.Split, j.pretrain, j.measure, j.batch = of.Split, t.pretrain, t.c.score, t.batches()[of.variant]
	j.seed = validation.Seed(t.c.seed, stream, uint64(of.fold), uint64(j.batch))
	return j
}

// learn learns by epochs, and returns the scores of those that may be chosen.
func (t *trials) learn(ctx context.Context, of trial) ([]score, error) {
	o, err := t.training(of).learn(ctx, t.fields)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.examples += o.examples
	t.seconds += o.seconds
	return o.curve[t.first():], nil
}

// lastModel trains the model of the last fold again, with the choice of the protocol, and returns
// it as a file with its recipe.
func (t *trials) lastModel(ctx context.Context, split validation.Split, choice picked, fold int) ([]byte, error) {
	j := t.training(trial{Split: split, fold: fold, variant: choice.variant})
	j.epochs, j.workers = t.first()+choice.step+1, t.c.workers
	o, err := j.learn(ctx, t.fields)
	if err != nil {
		return nil, err
	}
	recipe, notes := append(operators.Recipe{operators.Expect{Layout: t.data.Layout}}, t.fields.recipe...), o.net.Metadata()
	if o.scale != nil {
		recipe = append(recipe, *o.scale)
		notes["mean"], notes["std"] = fmt.Sprint(o.scale.Mean), fmt.Sprint(o.scale.Std)
	}
	notes["dataset"], notes["seed"] = t.data.Name, fmt.Sprint(t.c.seed)
	if roots, ok := operators.Find[operators.Select](recipe); ok {
		notes["select"], notes["normalize"], notes["k"] = fmt.Sprint(roots.By), fmt.Sprint(t.normal), fmt.Sprint(t.k)
		notes["w"], notes["stride"] = fmt.Sprint(roots.W), fmt.Sprint(roots.Stride)
	}
	var file bytes.Buffer
	err = sinks.Write(&file, o.net, recipe)
	return file.Bytes(), err
}

// oneReport is the fields of one model at the top of the JSON object, beside those of report.
// Accuracies are in percent.
type oneReport struct {
	cli.Scored
	FoldValue    []float64 `json:"fold_value,omitempty"` // of -score, as its value
	Dataset      string    `json:"dataset"`
	Graphs       int       `json:"graphs"`
	Classes      int       `json:"classes"`
	AverageNodes float64   `json:"average_nodes"`
	W            int       `json:"w"`
	K            int       `json:"k"`
	Stride       int       `json:"stride"`
	Select       string    `json:"select"`
	Normalize    string    `json:"normalize"`
	Accuracy     float64   `json:"accuracy"` // mean of fold_accuracy
	Std          float64   `json:"std"`      // deviation of fold_accuracy
	FoldAccuracy []float64 `json:"fold_accuracy"`
	FoldEpochs   []int     `json:"fold_epochs"`
	FoldBatch    []int     `json:"fold_batch"`
	Nested       meanOf    `json:"nested"`
	Paper        meanOf    `json:"paper"`
	Optimistic   meanOf    `json:"best_epoch_of_each_fold"` // a bound, not a result
	Majority     float64   `json:"majority"`
	SizeOnly     float64   `json:"size_only"`
	Epochs       int       `json:"epochs"` // median of fold_epochs
	Batch        int       `json:"batch"`  // median of fold_batch
	Fields       int64     `json:"fields"`
	FieldsPerS   float64   `json:"fields_per_s"`
	TrainPerS    float64   `json:"train_examples_per_s"` // of one worker; 0 where all trials are stored
	Seconds      float64   `json:"seconds"`
	ModelSHA256  string    `json:"model_sha256"`
	ModelKind    string    `json:"model_kind,omitempty"` // "" is the network of the paper
	Edges        bool      `json:"edges,omitempty"`
	Pretrain     string    `json:"pretrain,omitempty"`

	model []byte // its file
}

// meanOf is a mean over folds.
type meanOf struct {
	Accuracy float64 `json:"accuracy"`
	Std      float64 `json:"std"`
}

// accuracies returns the accuracy of each choice, and their mean.
func accuracies(choices []picked) (all []float64, mean meanOf) {
	for _, c := range choices {
		all = append(all, c.accuracy())
	}
	mean.Accuracy, mean.Std = stat.MeanStdDev(all, nil)
	return all, mean
}

// finish trains the model of the last fold, and makes the report.
func (t *trials) finish(ctx context.Context, all *validated) error {
	c, f := t.c, t.fields
	choices, of := all.nested, collectionOf(t.data)
	if c.protocol == "paper" {
		choices = all.paper
	}
	last := len(choices) - 1
	model, err := t.lastModel(ctx, all.splits[last], choices[last], last)
	if err != nil {
		return err
	}
	r := &oneReport{
		Dataset: of.Name, Graphs: of.Graphs, Classes: of.Classes, AverageNodes: of.AverageNodes, Majority: of.LargestClass,
		Fields: f.count, Seconds: time.Since(c.start).Seconds(), TrainPerS: float64(t.examples) / max(t.seconds, 1e-9),
		ModelSHA256: fmt.Sprintf("%x", sha256.Sum256(model)), model: model, Edges: t.edges, W: f.w,
	}
	if t.kind != best {
		r.K, r.Stride, r.Select, r.Normalize, r.FieldsPerS = t.k, t.stride, t.selecting.String(), t.normal.String(), float64(f.count)/f.seconds
	}
	if t.kind != "cnn" {
		r.ModelKind = t.kind
	}
	if t.pretrain != "none" {
		r.Pretrain = t.pretrain
	}
	_, r.Nested = accuracies(all.nested)
	_, r.Paper = accuracies(all.paper)
	_, r.Optimistic = accuracies(all.optimistic)
	var mean meanOf
	r.FoldAccuracy, mean = accuracies(choices)
	r.Accuracy, r.Std = mean.Accuracy, mean.Std
	right, total := 0, 0
	for _, s := range all.splits {
		right, total = right+sizeOnly(t.data, s), total+len(s.Test)
	}
	r.SizeOnly = 100 * float64(right) / float64(total)
	var values []float64
	for _, choice := range choices {
		values = append(values, choice.Value)
		r.FoldEpochs, r.FoldBatch = append(r.FoldEpochs, t.first()+choice.step+1), append(r.FoldBatch, t.batches()[choice.variant])
	}
	r.Epochs, r.Batch = slices.Sorted(slices.Values(r.FoldEpochs))[len(choices)/2], slices.Sorted(slices.Values(r.FoldBatch))[len(choices)/2]
	if c.score != "" {
		r.Scored = cli.NewScored(c.score, cli.MeanScore(values), nil)
		for _, x := range values {
			r.FoldValue = append(r.FoldValue, x*cli.ScoreUnit(c.score))
		}
	}
	t.report = r
	return nil
}

// notes are lines below the table.
func (r *oneReport) notes() []string {
	made := fmt.Sprintf("model %s; %.1f s", r.ModelSHA256, r.Seconds)
	if r.W > 0 {
		made = fmt.Sprintf("w %d, k %d, stride %d: %d fields, %.0f/s; %s", r.W, r.K, r.Stride, r.Fields, r.FieldsPerS, made)
	}
	return []string{
		fmt.Sprintf("largest class %.2f %%, by size alone %.2f %%; the best step of each fold, which is a bound and no result, %.2f ± %.2f %%", r.Majority, r.SizeOnly, r.Optimistic.Accuracy, r.Optimistic.Std),
		made,
	}
}
