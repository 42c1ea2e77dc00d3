package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"gonum.org/v1/gonum/stat"

	"github.com/sanflow/sanflow/examples/internal/cli"
)

// oneReport is what the JSON object of -json has of one model, beside the fields of report;
// accuracies are in percent.
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
	TrainPerS    float64   `json:"train_examples_per_s"` // of one worker, in this run; 0 where nothing is learned by epochs
	Seconds      float64   `json:"seconds"`
	ModelSHA256  string    `json:"model_sha256"`
	ModelKind    string    `json:"model_kind,omitempty"` // if it is not the paper's network for nodes
	Edges        bool      `json:"edges,omitempty"`
	Pretrain     string    `json:"pretrain,omitempty"`

	model []byte // its file
}

// meanOf is a mean over folds.
type meanOf struct {
	Accuracy float64 `json:"accuracy"`
	Std      float64 `json:"std"`
}

func accuracies(choices []picked) (all []float64) {
	for _, c := range choices {
		all = append(all, c.accuracy())
	}
	return all
}

func meanAccuracy(choices []picked) meanOf {
	mean, std := stat.MeanStdDev(accuracies(choices), nil)
	return meanOf{mean, std}
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
	sum := sha256.Sum256(model)
	r := &oneReport{
		Dataset: of.Name, Graphs: of.Graphs, Classes: of.Classes, AverageNodes: of.AverageNodes, Majority: of.LargestClass,
		W: f.w, K: t.k, Stride: t.stride, Select: t.selecting.String(), Normalize: t.normal.String(),
		FoldAccuracy: accuracies(choices), Nested: meanAccuracy(all.nested), Paper: meanAccuracy(all.paper), Optimistic: meanAccuracy(all.optimistic),
		Fields: f.count, FieldsPerS: float64(f.count) / f.seconds, Seconds: time.Since(c.start).Seconds(),
		ModelSHA256: hex.EncodeToString(sum[:]), model: model, Edges: t.edges,
	}
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
	r.Epochs, r.Batch = median(r.FoldEpochs), median(r.FoldBatch)
	r.TrainPerS = float64(t.examples) / max(t.seconds, 1e-9) // 0 where all is kept
	if t.kind != "cnn" {
		r.ModelKind = t.kind
	}
	if t.ofWords() {
		r.K, r.Stride, r.Select, r.Normalize, r.FieldsPerS = 0, 0, "", "", 0
	}
	if t.pretrain != "none" {
		r.Pretrain = t.pretrain
	}
	if c.score != "" {
		r.Scored = cli.NewScored(c.score, cli.MeanScore(values), nil)
		for _, x := range values {
			r.FoldValue = append(r.FoldValue, x*cli.ScoreUnit(c.score))
		}
	}
	mean := meanAccuracy(choices)
	r.Accuracy, r.Std = mean.Accuracy, mean.Std
	c.one.report = r
	return nil
}

func median(x []int) int {
	x = slices.Sorted(slices.Values(x))
	return x[len(x)/2]
}

// notes stand below the table.
func (r *oneReport) notes() []string {
	made := fmt.Sprintf("model %s; %.1f s", r.ModelSHA256, r.Seconds)
	if r.W > 0 {
		made = fmt.Sprintf("w %d, k %d, stride %d: %d fields, %.0f/s; %s", r.W, r.K, r.Stride, r.Fields, r.FieldsPerS, made)
	}
	return []string{
		fmt.Sprintf("largest class %.2f %%, by size alone %.2f %%; the best step of each fold, which is no result, %.2f ± %.2f %%", r.Majority, r.SizeOnly, r.Optimistic.Accuracy, r.Optimistic.Std),
		made,
	}
}
