package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
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
	FoldKernel   []string  `json:"fold_kernel,omitempty"` // of machines, which have no epochs and batches
	FoldC        []float64 `json:"fold_c,omitempty"`
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

	plan    string
	words   string   // the model in words
	classes []string // their names
	model   []byte   // its file
	ofWords bool     // nothing is said of fields
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
		ModelSHA256: hex.EncodeToString(sum[:]), model: model,
		Edges: t.edges, plan: f.plan, words: t.inWords(), classes: t.data.Layout.Classes, ofWords: t.ofWords(),
	}
	right, total := 0, 0
	for _, s := range all.splits {
		right, total = right+sizeOnly(t.data, s), total+len(s.Test)
	}
	r.SizeOnly = 100 * float64(right) / float64(total)
	var values []float64
	for _, choice := range choices {
		values = append(values, choice.Value)
		if t.svms != nil {
			r.FoldKernel, r.FoldC = append(r.FoldKernel, string(unitKernels[choice.variant])), append(r.FoldC, t.svms.grid.C[choice.step])
			continue
		}
		r.FoldEpochs, r.FoldBatch = append(r.FoldEpochs, t.first()+choice.step+1), append(r.FoldBatch, t.batches()[choice.variant])
	}
	if t.svms == nil {
		r.Epochs, r.Batch = median(r.FoldEpochs), median(r.FoldBatch)
		r.TrainPerS = float64(t.examples) / max(t.seconds, 1e-9) // 0 where all is kept
	}
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

// inWords says what is trained.
func (t *trials) inWords() string {
	words := map[string]string{
		"cnn": "the paper's network", "pslr": "logistic regression on the patches", "gru": "recurrent network",
		best: "logistic regression on words", machine: "support vector machine on words",
	}[t.kind]
	if t.edges {
		words += ", edges merged"
	}
	if t.pretrain != "none" {
		words += ", first layer by " + t.pretrain
	}
	if t.fields.degree && t.kind != "pslr" {
		words += ", without dropout, as in the paper for graphs without attributes"
	}
	return words
}

func median(x []int) int {
	x = slices.Sorted(slices.Values(x))
	return x[len(x)/2]
}

// Print writes the closing table.
func (r *oneReport) print(out io.Writer, of *report) error {
	fields := ""
	if !r.ofWords {
		fields = fmt.Sprintf("w %d, k %d, stride %d; ", r.W, r.K, r.Stride)
	}
	fmt.Fprintf(out, "%s: %d graphs of %.1f nodes, %d classes; %s%s\n%s\n\n%s\n\n",
		r.Dataset, r.Graphs, r.AverageNodes, r.Classes, fields, r.words, r.about(), r.plan)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	step, chosen := "epoch", fmt.Sprintf(" (median: %d epochs, batch %d)", r.Epochs, r.Batch)
	if r.FoldC != nil {
		step, chosen = "kernel and C", fmt.Sprintf(" (last fold: %s, C %g)", r.FoldKernel[len(r.FoldKernel)-1], r.FoldC[len(r.FoldC)-1])
	}
	row := func(name string, s meanOf, note string) {
		if name == of.Protocol {
			note += chosen
		}
		fmt.Fprintf(w, "%s\t%.2f ± %.2f %%\t%s\n", name, s.Accuracy, s.Std, note)
	}
	fmt.Fprintf(w, "majority class\t%.2f %%\t\n", r.Majority)
	fmt.Fprintf(w, "size only\t%.2f %%\tnearest training graphs by number of nodes\n", r.SizeOnly)
	row("nested", r.Nested, "chosen on a part of the training folds")
	row("paper", r.Paper, "best common "+step+" of the test folds")
	row("best "+step+" of each fold", r.Optimistic, "an optimistic bound, not a result")
	r.Scored.Print(w)
	if err := w.Flush(); err != nil {
		return err
	}
	made := ""
	if !r.ofWords {
		made = fmt.Sprintf("%d fields, %.0f/s; ", r.Fields, r.FieldsPerS)
	}
	if r.FoldC == nil {
		made += fmt.Sprintf("%.0f training graphs/s and worker; ", r.TrainPerS)
	}
	_, err := fmt.Fprintf(out, "\n%d folds × %d, seed %d; %s%.1f s\nmodel %s\n",
		of.Folds, of.Repeats, of.Seed, made, r.Seconds, r.ModelSHA256)
	return err
}

// mostNamed is how many classes a report names.
const mostNamed = 12

// about says in a sentence what the classes are.
func (r *oneReport) about() string {
	names := strings.Join(r.classes[:min(mostNamed, len(r.classes))], ", ")
	if len(r.classes) > mostNamed {
		names += ", …"
	}
	if r.Dataset == "generated" {
		return "The class of a graph is the kind of graph that it was drawn as: " + names + "."
	}
	return "The classes are those of the collection: " + names + "."
}
