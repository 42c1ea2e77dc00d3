// Command classify classifies graphs: it makes receptive fields of a
// collection and trains the network of the PATCHY-SAN paper on them, by
// cross-validation.
//
//	go run ./examples/classify                      # a generated collection, by words, the recommended model
//	go run ./examples/classify -model-kind cnn      # the same by the network of the paper
//	go run ./examples/classify -data MUTAG -k 5     # a TU collection, by name
//	go run ./examples/classify -data MUTAG.zip -protocol paper -repeats 3
//	go run ./examples/classify -data MUTAG -field-edges # the paper's k = 10ᴱ
//	go run ./examples/classify -data MUTAG -model-kind pslr
//	go run ./examples/classify -data MUTAG -model-kind best # words in place of fields
//	go run ./examples/classify -data MUTAG -model-kind svm  # the same words, and a kernel
//	go run ./examples/classify -data MUTAG -pretrain rbm
//	go run ./examples/classify -data NCI1 -checkpoint RUN -resume # again and again, until it has ended
//
//	go run ./examples/classify -data MUTAG -model mutag.safetensors
//	go run ./examples/classify -data OTHER -load mutag.safetensors
//
// Two protocols are reported, side by side and never mixed:
//
//	nested  the number of epochs is chosen for each fold on a part of its
//	        training graphs, which the network that chooses does not train on
//	paper   one number of epochs for all folds, the one with the best mean
//	        accuracy on the test folds; this is how the paper's figures read,
//	        and it is optimistic, since the test folds take part in a choice
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/examples/internal/collection"
	"github.com/sanflow/sanflow/nn/validation"
	"github.com/sanflow/sanflow/operators/labeling"
)

func main() { cli.Main("classify", run) }

// config is the command line.
type config struct {
	data              string
	k, w, stride      int
	selectBy, normBy  string
	epochs, batch     int
	folds, repeats    int
	protocol          string
	edges             bool
	score             validation.Measure
	kind, pretrain    string
	seed              uint64
	workers           int
	checkpoint        string
	resume            bool
	model, load       string
	json              string
	live              *cli.Page
	given             []string // names of the flags that were given
	selecting, normal labeling.Labeling
}

func parse(args []string) (*config, error) {
	c := &config{}
	f := cli.Flags("classify", "classifies the graphs of a collection by the network of the PATCHY-SAN paper, or by another\nmodel, in a cross-validation by two protocols. The default is a generated collection, and\nthe most accurate model for it.")
	f.StringVar(&c.data, "data", "", "TU collection: a zip, a directory, or a name to look up or download; empty = a generated collection")
	cli.K(f, &c.k, "")
	cli.Int(f, &c.w, "w", 0, 0, 1<<20, "receptive fields per graph; 0 = average number of nodes")
	cli.Int(f, &c.stride, "stride", 1, 1, cli.Many, "distance between two roots in the order of nodes")
	f.StringVar(&c.selectBy, "select", "betweenness", "labeling that selects roots: "+labeling.Usage())
	f.StringVar(&c.normBy, "normalize", "wl", "labeling that orders the nodes of a field, as for -select; auto, also in -select, is the labeling with the smallest θ̂, chosen without classes")
	cli.Int(f, &c.epochs, "epochs", 0, 0, cli.Many, "epochs; 0 = chosen by the protocol")
	cli.Int(f, &c.batch, "batch", 32, 0, cli.Many, "graphs per step; 0 = chosen by the protocol, of 16, 32 and 64")
	cli.Int(f, &c.folds, "folds", 10, 2, 1_000_000, "folds of the cross-validation")
	cli.Int(f, &c.repeats, "repeats", 1, 1, 1_000_000, "repeats, each with folds of its own")
	f.StringVar(&c.protocol, "protocol", "nested", "protocol whose accuracy is reported first: nested or paper")
	cli.Score(f, &c.score, "what protocols choose by, and is reported beside the accuracy; without it the accuracy, of -model-kind best the loss of graphs that its heads hold out")
	f.BoolVar(&c.edges, "field-edges", false, "read the edges of fields too, by a merge layer: the paper's k = 10ᴱ")
	f.StringVar(&c.kind, "model-kind", "", "cnn, the paper's network; pslr, logistic regression on the patches; gru, a recurrent network over the fields; best, the most accurate model: logistic regression on words (counted colours and fields), without k, w and labelings; svm, a support vector machine on the same words, whose kernel and C are chosen by the protocol; empty = cnn, the network of the paper, with -data or a flag about fields, else best")
	f.StringVar(&c.pretrain, "pretrain", "none", "unsupervised model that initializes the first layer of a cnn: rbm or autoencoder, on the fields of the training graphs, or none")
	f.Uint64Var(&c.seed, "seed", 1, "seed of folds, weights and orders")
	cli.Workers(f, &c.workers)
	f.StringVar(&c.checkpoint, "checkpoint", "", "directory for the state of the run, which can then be stopped at any time, even by kill -9; a damaged file there is an error, and is computed again once it is removed")
	f.BoolVar(&c.resume, "resume", false, "resume the run that -checkpoint keeps, to the same result, or begin one")
	f.StringVar(&c.model, "model", "", "file for the model of the last fold")
	f.StringVar(&c.load, "load", "", "file of -model: its network classifies -data, without training")
	c.live = cli.Live(f)
	f.StringVar(&c.json, "json", "", "file for the results")
	if err := cli.Parse(f, args); err != nil {
		return nil, err
	}
	c.given = cli.Given(f)
	return c, c.check()
}

func (c *config) check() (err error) {
	if c.selecting, err = labeling.Parse(c.selectBy); err != nil {
		return fmt.Errorf("-select: %w", err)
	}
	if c.normal, err = labeling.Parse(c.normBy); err != nil {
		return fmt.Errorf("-normalize: %w", err)
	}
	if c.kind == "" {
		if c.kind = best; slices.ContainsFunc(c.given, func(name string) bool { return slices.Contains(append(ofFields, "data", "load", "pretrain"), name) }) {
			c.kind = "cnn"
		}
	}
	if c.protocol != "nested" && c.protocol != "paper" {
		return fmt.Errorf("-protocol is %q, want nested or paper", c.protocol)
	}
	if !slices.Contains([]string{"cnn", "pslr", "gru", machine, best}, c.kind) {
		return fmt.Errorf("-model-kind is %q, want cnn, pslr, gru, svm or best", c.kind)
	}
	if err := c.checkWords(); err != nil {
		return err
	}
	if !slices.Contains([]string{"none", "rbm", "autoencoder"}, c.pretrain) {
		return fmt.Errorf("-pretrain is %q, want rbm, autoencoder or none", c.pretrain)
	}
	if c.pretrain != "none" && c.kind != "cnn" {
		return fmt.Errorf("-pretrain is %s, but a %s has no first layer that it could teach", c.pretrain, c.kind)
	}
	if err := cli.CheckScore(c.score, false); err != nil {
		return err
	}
	if c.score != "" && c.kind == machine {
		return fmt.Errorf("-score %s needs probabilities, which an svm does not give", c.score)
	}
	if c.resume && c.checkpoint == "" {
		return errors.New("-resume needs the directory of the run, -checkpoint DIR")
	}
	if c.workers == 0 {
		c.workers = runtime.GOMAXPROCS(0)
	}
	return nil
}

func run(ctx context.Context, args []string) (err error) {
	c, err := parse(args)
	if err != nil {
		return err
	}
	ctx, end, err := c.live.Start(ctx)
	if err != nil {
		return err
	}
	defer func() { end(err) }()
	if c.load != "" {
		return predict(ctx, c)
	}
	start := time.Now()
	// Places that cannot be written to are found before the work, not after it.
	files, err := cli.CreateAll(c.model, c.json)
	if err != nil {
		return err
	}
	defer files.Cleanup()

	d, err := collection.Load(ctx, c.data, c.seed)
	if err != nil {
		return err
	}
	defer d.Release()
	if err := c.chooseLabelings(ctx, d); err != nil {
		return err
	}
	fields, err := d.MakeFields(ctx, collection.Making{
		Count: c.counting(), W: c.w, K: c.k, Stride: c.stride, Select: c.selecting, Normalize: c.normal, Edges: c.edges, Workers: c.workers,
	})
	if err != nil {
		return err
	}
	defer fields.Release()
	e, err := newEvaluation(c, d, fields)
	if err != nil {
		return err
	}
	defer e.keep.Close()
	if err := e.evaluate(ctx); err != nil {
		return err
	}
	model, err := e.lastModel(ctx)
	if err != nil {
		return err
	}
	r := newReport(c, d, fields, e, model)
	r.Seconds = time.Since(start).Seconds()
	if err := files.Finish(c.model, func() ([]byte, error) { return model, nil }); err != nil {
		return err
	}
	if err := files.JSON(c.json, r); err != nil {
		return err
	}
	return r.print(os.Stdout)
}
