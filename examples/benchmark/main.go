// Command benchmark reproduces tables. -task graphs compares the systems of the PATCHY-SAN paper on
// collections of graphs: kernels with a support vector machine, the paper's networks, and baselines
// that ignore structure, all on the same folds; or it cross-validates one model, -model-kind. -task
// nodes and links test models on one large graph, and -task labelings compares labelings.
//
//	go run ./examples/benchmark                                # a generated collection, the cheap systems
//	go run ./examples/benchmark -data MUTAG,PTC -systems size,wl,words,k10
//	go run ./examples/benchmark -data MUTAG,NCI1 -systems all -checkpoint RUN -resume \
//		-json out.json -out out.svg
//
// Two protocols are reported side by side and never mixed. They choose the height, size and C of a
// kernel, or the epochs and the batch size of a network:
//
//	nested  for each fold on a part of its training graphs
//	paper   for all folds of a repeat, by the mean accuracy on the test folds; this is optimistic, and
//	        the figures of the paper seem to be chosen so
//
// One model:
//
//	go run ./examples/benchmark -task graphs                        # the recommended one, of words
//	go run ./examples/benchmark -task graphs -data MUTAG -k 5       # the paper's network
//	go run ./examples/benchmark -model-kind cnn -data MUTAG -field-edges -protocol paper -repeats 3
//	go run ./examples/benchmark -model-kind best -data MUTAG -model mutag.safetensors
//	sanflow evaluate -model mutag.safetensors -data OTHER
//	go run ./examples/benchmark -model-kind cnn -data NCI1 -checkpoint RUN -resume # repeat until it ends
//
// Splits that others have published, and molecules:
//
//	go run ./examples/benchmark -data NCI1 -splits NCI1.json -systems best
//	go run ./examples/benchmark -data HIV.csv.gz -smiles smiles -class HIV_active -parts HIV-scaffold.txt.gz
//	go run ./examples/benchmark -data tox21.sdf.gz -class SR-ARE -score auc
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/examples/internal/input"
	"github.com/sanflow/sanflow/nn/validation"
	"github.com/sanflow/sanflow/sources"
)

// config is the flags of -task graphs, and the splits that they name.
type config struct {
	*command
	data           []string
	list           []*system // the systems that are compared, or one model
	one            *single   // the one model, or nil
	protocol       string
	inner          bool
	folds, repeats int
	checkpoint     string
	resume         bool
	start          time.Time

	splits, parts string // files
	refit         bool
	smiles, class string // columns
	refused       *input.Refused
	score         validation.Measure
	content       []byte             // of the file splits or parts
	subsets       []sources.Subset   // a line of parts each
	given         []validation.Split // of the collection
}

func parse(args []string) (*config, error) {
	c := &config{command: newCommand("compares systems that classify the graphs of collections, on the same folds, by two\nprotocols, beside the figures of the PATCHY-SAN paper, or cross-validates one model. The default is\na generated collection, which takes about a minute of processor time."), start: time.Now()}
	f := c.FlagSet
	data := f.String("data", "", "TU collections, separated by commas: zips, directories, or names to look up or download; or one file of molecules, a table with -smiles or .sdf, with -class; empty = a generated collection")
	list := f.String("systems", "majority,size,labels,wl,words", "systems, separated by commas, or all:\n"+usage())
	f.StringVar(&c.protocol, "protocol", "nested", "protocol that the table begins with and compares by: nested or paper; both are always there")
	f.BoolVar(&c.inner, "inner", false, "compare on inner splits only, for development: a part of the training graphs of each fold takes the place of its test graphs, which are not used")
	cli.Int(f, &c.folds, "folds", 10, 2, 1_000_000, "folds of the cross-validation")
	cli.Int(f, &c.repeats, "repeats", 10, 1, 1_000_000, "repeats, each with folds of its own, by default 1 of one model; with -splits or -parts runs on the same ones, by default 3 or 1")
	f.StringVar(&c.splits, "splits", "", "JSON file with published folds of the collection in place of random ones, [{\"test\": […], \"model_selection\": [{\"train\": […], \"validation\": […]}]}, …]: a system learns from train, chooses by validation, such as the epoch to stop at, and is tested on test, in several runs with other seeds")
	f.StringVar(&c.parts, "parts", "", "file with train, valid, test or none in each line, for the graphs in order: one split in place of folds")
	f.BoolVar(&c.refit, "refit", false, "learn from train and validation together, after all choices are made on validation; best chooses its epoch by the graphs that its heads leave out of both")
	f.StringVar(&c.smiles, "smiles", "", "column with SMILES, of the table -data FILE.csv or .tsv, also packed (.gz, .zst): each row is a molecule; one without a class is left out")
	f.StringVar(&c.class, "class", "", "with -smiles the column with the class of a molecule, with -data FILE.sdf, also packed, the data item; one that is empty is unknown, and its molecule left out; NA and nan are classes; of a table with several targets each run takes one")
	skip := f.Bool("skip", false, "leave out molecules that cannot be read, and report them on standard error: the lines of -parts stay theirs; without it the first is an error")
	cli.Score(f, &c.score, "the reported measure, which choices are made by too; without it accuracy is reported, with -parts auc, and best and the networks choose epochs by the loss, with -parts by auc")
	f.StringVar(&c.checkpoint, "checkpoint", "", "directory for the cells that are done, so that a run can be stopped at any moment, also by kill -9; a damaged file there is an error, and is computed again after it is removed")
	f.BoolVar(&c.resume, "resume", false, "resume the run that -checkpoint keeps, or begin one")
	c.Output("out", "file for the picture, .svg or .png")
	var o single
	o.flags(c.command)
	if err := c.parse(args); err != nil {
		return nil, err
	}
	if *skip {
		c.refused = &input.Refused{To: os.Stderr}
	}
	var err error
	given := cli.Given(f)
	o.given = given
	one, err := o.wanted()
	if err != nil {
		return nil, err
	}
	if one && !slices.Contains(given, "repeats") {
		c.repeats = 1
	}
	if c.splits != "" || c.parts != "" {
		if slices.Contains(given, "folds") {
			return nil, errors.New("-folds is for random folds, and -splits or -parts gives others")
		}
		c.folds = 1
		if !slices.Contains(given, "repeats") {
			c.repeats = 1
			if c.splits != "" {
				c.repeats = 3
			}
		}
	}
	if c.parts != "" && c.score == "" {
		c.score = validation.ROC
	}
	if (c.parts != "" || c.class != "") && !slices.Contains(given, "systems") {
		*list = best
	}
	if c.data, err = items("data", *data); err != nil {
		return nil, err
	}
	if one {
		if err := o.check(c); err != nil {
			return nil, err
		}
		c.one, c.list = &o, []*system{o.system()}
		return c, c.check()
	}
	names, err := items("systems", *list)
	if err != nil {
		return nil, err
	}
	if slices.Equal(names, []string{"all"}) {
		c.list = systems
	} else if c.list, err = named(names); err != nil {
		return nil, err
	}
	return c, c.check()
}

// items splits a list at its commas. An empty list is one empty name.
func items(name, list string) ([]string, error) {
	all := strings.Split(list, ",")
	for i := range all {
		all[i] = strings.TrimSpace(all[i])
		if all[i] == "" && len(all) > 1 {
			return nil, fmt.Errorf("-%s is %q: there is nothing between two commas", name, list)
		}
		if slices.Contains(all[:i], all[i]) {
			return nil, fmt.Errorf("-%s names %s twice", name, all[i])
		}
	}
	return all, nil
}

// named returns the systems with these names.
func named(list []string) (all []*system, err error) {
	for _, name := range list {
		s := find(name)
		if s == nil {
			return nil, fmt.Errorf("-systems has %q, want some of %s, or all, or best-X with X one of %s", name, strings.Join(names(), " "), strings.Join(leftOut(), " "))
		}
		all = append(all, s)
	}
	return all, nil
}

func (c *config) check() error {
	if err := c.checkGiven(); err != nil {
		return err
	}
	switch {
	case c.protocol != "nested" && c.protocol != "paper":
		return fmt.Errorf("-protocol is %q, want nested or paper", c.protocol)
	case c.resume && c.checkpoint == "":
		return errors.New("-resume needs the directory of the run, -checkpoint DIR")
	}
	// The trials of a run are in memory. A larger number is a typing error.
	if most := 1_000_000; c.repeats > most/c.folds {
		return fmt.Errorf("-repeats is %d and -folds %d, want a product of at most %d", c.repeats, c.folds, most)
	}
	return nil
}

func graphsTask(ctx context.Context, args []string) error {
	c, err := parse(args)
	if err != nil {
		return err
	}
	defer c.refused.Total()
	return c.Run(ctx, c.grid)
}

// grid runs all cells of the table.
func (c *config) grid(ctx context.Context) (cli.Result, error) {
	if err := c.readSplits(ctx); err != nil {
		return nil, err
	}
	keep, err := openStore(c)
	if err != nil {
		return nil, err
	}
	defer keep.Close()
	r, err := runGrid(ctx, c, keep)
	if err != nil && ctx.Err() != nil && c.one == nil {
		fmt.Fprintln(os.Stderr, c.goOn())
	}
	return r, err
}

// goOn is the line that tells how to resume an interrupted run.
func (c *config) goOn() string {
	if c.checkpoint == "" {
		return "no cell is kept; -checkpoint DIR keeps cells that are done, and -resume -checkpoint DIR then does the others"
	}
	return fmt.Sprintf("cells that are done are kept: the same command with -resume -checkpoint %s does the others", c.checkpoint)
}
