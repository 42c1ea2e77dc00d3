package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"gonum.org/v1/gonum/stat"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/examples/internal/collection"
	"github.com/sanflow/sanflow/nn/validation"
)

// report is the JSON object of -json; accuracies are in percent.
type report struct {
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
	Protocol     string    `json:"protocol"`
	Accuracy     float64   `json:"accuracy"` // mean of fold_accuracy
	Std          float64   `json:"std"`      // deviation of fold_accuracy
	FoldAccuracy []float64 `json:"fold_accuracy"`
	FoldEpochs   []int     `json:"fold_epochs"`
	FoldBatch    []int     `json:"fold_batch"`
	FoldKernel   []string  `json:"fold_kernel,omitempty"` // of machines, which have no epochs and batches
	FoldC        []float64 `json:"fold_c,omitempty"`
	Nested       score     `json:"nested"`
	Paper        score     `json:"paper"`
	Optimistic   score     `json:"best_epoch_of_each_fold"` // a bound, not a result
	Majority     float64   `json:"majority"`
	SizeOnly     float64   `json:"size_only"`
	Epochs       int       `json:"epochs"` // median of fold_epochs
	Batch        int       `json:"batch"`  // median of fold_batch
	Folds        int       `json:"folds"`
	Repeats      int       `json:"repeats"`
	Seed         uint64    `json:"seed"`
	Fields       int64     `json:"fields"`
	FieldsPerS   float64   `json:"fields_per_s"`
	TrainPerS    float64   `json:"train_examples_per_s"` // of one worker, in this run; 0 where nothing is learned by epochs
	Seconds      float64   `json:"seconds"`
	ModelSHA256  string    `json:"model_sha256"`
	ModelKind    string    `json:"model_kind,omitempty"` // if it is not the paper's network for nodes
	Edges        bool      `json:"edges,omitempty"`
	Pretrain     string    `json:"pretrain,omitempty"`

	plan    string
	model   string   // in words
	classes []string // their names

	ofWords bool // nothing is said of fields
}

type score struct {
	Accuracy float64 `json:"accuracy"`
	Std      float64 `json:"std"`
}

func (v verdict) score() score {
	mean, std := stat.MeanStdDev(v.accuracy, nil)
	return score{mean, std}
}

func newReport(c *config, d *collection.Data, f *collection.Fields, e *evaluation, model []byte) *report {
	v := e.verdict()
	sum := sha256.Sum256(model)
	r := &report{
		Dataset: d.Name, Graphs: len(d.Class), Classes: len(d.Layout.Classes), AverageNodes: d.Average,
		W: f.W, K: c.k, Stride: c.stride, Select: c.selecting.String(), Normalize: c.normal.String(),
		Protocol: c.protocol, FoldAccuracy: v.accuracy, FoldEpochs: v.epochs, FoldBatch: v.batch, FoldKernel: v.kernel, FoldC: v.c,
		Nested: e.nested.score(), Paper: e.paper.score(), Optimistic: e.optimistic.score(),
		Majority: majority(d), SizeOnly: sizeOnly(d, e.splits),
		Folds: c.folds, Repeats: c.repeats, Seed: c.seed,
		Fields: f.Count, FieldsPerS: float64(f.Count) / f.Seconds,
		ModelSHA256: hex.EncodeToString(sum[:]),
		Edges:       c.edges,
		plan:        f.Plan, model: c.modelWords(f), classes: d.Layout.Classes, ofWords: c.ofWords(),
	}
	if c.kind != "cnn" {
		r.ModelKind = c.kind
	}
	if c.kind != machine {
		r.Epochs, r.Batch = median(v.epochs), median(v.batch)
		r.TrainPerS = float64(e.examples) / max(e.seconds, 1e-9) // 0 where all is kept
	}
	if c.ofWords() {
		r.K, r.Stride, r.Select, r.Normalize, r.FieldsPerS = 0, 0, "", "", 0
	}
	if c.pretrain != "none" {
		r.Pretrain = c.pretrain
	}
	if c.score != "" {
		r.Scored = cli.NewScored(c.score, cli.MeanScore(v.value), nil)
		for _, x := range v.value {
			r.FoldValue = append(r.FoldValue, x*cli.ScoreUnit(c.score))
		}
	}
	r.Accuracy, r.Std = v.score().Accuracy, v.score().Std
	return r
}

// modelWords says what is trained.
func (c *config) modelWords(f *collection.Fields) string {
	var words []string
	switch c.kind {
	case "pslr":
		words = append(words, "logistic regression on the patches")
	case "gru":
		words = append(words, "recurrent network")
	case best:
		return "logistic regression on words"
	case machine:
		return "support vector machine on words"
	}
	if c.edges {
		words = append(words, "edges merged")
	}
	if c.pretrain != "none" {
		words = append(words, "first layer by "+c.pretrain)
	}
	switch {
	case c.kind == "pslr":
	case f.Degree:
		words = append(words, "dropout none, as in the paper for graphs without attributes")
	default:
		words = append(words, "dropout 0.5")
	}
	return strings.Join(words, ", ")
}

func median(x []int) int {
	x = slices.Sorted(slices.Values(x))
	return x[len(x)/2]
}

// print writes the closing table.
func (r *report) print(out io.Writer) error {
	fields := ""
	if !r.ofWords {
		fields = fmt.Sprintf("w %d, k %d, stride %d; ", r.W, r.K, r.Stride)
	}
	fmt.Fprintf(out, "%s: %d graphs of %.1f nodes, %d classes; %s%s\n%s\n\n%s\n\n",
		r.Dataset, r.Graphs, r.AverageNodes, r.Classes, fields, r.model, r.about(), r.plan)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	row := func(name string, s score, note string) {
		fmt.Fprintf(w, "%s\t%.2f ± %.2f %%\t%s\n", name, s.Accuracy, s.Std, note)
	}
	mark := func(protocol, note string) string {
		if r.Protocol == protocol && r.FoldC != nil {
			return note + fmt.Sprintf(" (last fold: %s, C %g)", r.FoldKernel[len(r.FoldKernel)-1], r.FoldC[len(r.FoldC)-1])
		}
		if r.Protocol == protocol {
			return note + fmt.Sprintf(" (median: %d epochs, batch %d)", r.Epochs, r.Batch)
		}
		return note
	}
	fmt.Fprintf(w, "majority class\t%.2f %%\t\n", r.Majority)
	fmt.Fprintf(w, "size only\t%.2f %%\tnearest training graphs by number of nodes\n", r.SizeOnly)
	row("nested", r.Nested, mark("nested", "chosen on a part of the training folds"))
	step := "epoch"
	if r.FoldC != nil {
		step = "kernel and C"
	}
	row("paper", r.Paper, mark("paper", "best common "+step+" of the test folds"))
	row("best "+step+" of each fold", r.Optimistic, "an optimistic bound, not a result")
	r.Print(w)
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
		r.Folds, r.Repeats, r.Seed, made, r.Seconds, r.ModelSHA256)
	return err
}

// mostNamed is how many classes a report names.
const mostNamed = 12

// about says in a sentence what the classes are.
func (r *report) about() string {
	names := strings.Join(r.classes[:min(mostNamed, len(r.classes))], ", ")
	if len(r.classes) > mostNamed {
		names += ", …"
	}
	if r.Dataset == "generated" {
		return "The class of a graph is the kind of graph that it was drawn as: " + names + "."
	}
	return "The classes are those of the collection: " + names + "."
}

// majority is the share of the largest class.
func majority(d *collection.Data) float64 {
	count := make([]int, len(d.Layout.Classes))
	for _, c := range d.Class {
		count[c]++
	}
	return percent(slices.Max(count), len(d.Class))
}

// sizeOnly is the accuracy, over all folds, of what can be had without looking at
// structure.
func sizeOnly(d *collection.Data, splits []validation.Split) float64 {
	right, total := 0, 0
	for _, s := range splits {
		right += d.SizeOnly(s)
		total += len(s.Test)
	}
	return percent(right, total)
}
