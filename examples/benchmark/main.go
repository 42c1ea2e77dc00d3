// Command benchmark compares the systems of the PATCHY-SAN paper on collections of
// graphs: kernels with a support vector machine, the paper's networks, and baselines
// that ignore structure, all on the same folds.
//
//	go run ./examples/benchmark                                # a generated collection, the cheap systems
//	go run ./examples/benchmark -data MUTAG,PTC -systems size,wl,words,k10
//	go run ./examples/benchmark -data MUTAG,NCI1 -systems all -limit 1h -checkpoint RUN -resume \
//		-json out.json -table out.md -out out.svg
//
// Two protocols are reported, side by side and never mixed. What there is to choose,
// the height, size and C of a kernel, the epochs and batch size of a network, is
// chosen
//
//	nested  for each fold on a part of its training graphs
//	paper   for all folds of a repeat, by the mean accuracy on the test folds, as
//	        the paper's figures seem to be; it is optimistic
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
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/examples/internal/collection"
	"github.com/sanflow/sanflow/examples/internal/input"
	"github.com/sanflow/sanflow/examples/internal/picture"
	"github.com/sanflow/sanflow/nn/validation"
	"github.com/sanflow/sanflow/sources"
)

// config is the command line.
type config struct {
	data, systems    []string
	protocol         string
	inner            bool
	folds, repeats   int
	seed             uint64
	workers          int
	limit            time.Duration
	checkpoint       string
	resume           bool
	json, table, out string
	live             *cli.Page
	format           string // of out

	splits, parts string // files
	refit         bool
	smiles, class string // columns
	refused       *input.Refused
	score         validation.Measure
	file          []byte             // what is in splits, or parts
	subsets       []sources.Subset   // of parts
	given         []validation.Split // what they say of the collection
}

func parse(args []string) (*config, error) {
	c := &config{}
	f := cli.Flags("benchmark", "compares systems that classify the graphs of collections, on the same folds, by two\nprotocols, beside the figures of the PATCHY-SAN paper. The default is a generated\ncollection, which takes about a minute of processor time.")
	f.String("task", "graphs", "graphs, nodes, links or labelings, each with flags of its own: benchmark -task nodes -h")
	data := f.String("data", "", "TU collections, separated by commas: zips, directories, or names to look up or download; or one file of molecules, a table with -smiles or .sdf, with -class; empty = a generated collection")
	list := f.String("systems", "majority,size,labels,wl,words", "systems, separated by commas, or all:\n"+usage())
	f.StringVar(&c.protocol, "protocol", "nested", "protocol that the table begins with and compares by: nested or paper; both are always there")
	f.BoolVar(&c.inner, "inner", false, "compare on inner splits only, for development: a part of the training graphs of each fold takes the place of its test graphs, which are not used")
	cli.Int(f, &c.folds, "folds", 10, 2, 1_000_000, "folds of the cross-validation")
	cli.Int(f, &c.repeats, "repeats", 10, 1, 1_000_000, "repeats, each with folds of its own; with -splits or -parts runs on the same ones, by default 3 or 1")
	f.StringVar(&c.splits, "splits", "", "JSON file with published folds of the collection in place of random ones, [{\"test\": […], \"model_selection\": [{\"train\": […], \"validation\": […]}]}, …]: a system learns from train, chooses by validation, such as the epoch to stop at, and is tested on test, in several runs with other seeds")
	f.StringVar(&c.parts, "parts", "", "file with train, valid, test or none in each line, for the graphs in order: one split in place of folds")
	f.BoolVar(&c.refit, "refit", false, "learn from train and validation together, once what there is to choose is chosen; best chooses its epoch by the graphs that its heads leave out of both")
	f.StringVar(&c.smiles, "smiles", "", "column with SMILES, of the table -data FILE.csv or .tsv, also packed (.gz, .zst): each row is a molecule; one without a class is left out")
	f.StringVar(&c.class, "class", "", "with -smiles the column with the class of a molecule, with -data FILE.sdf, also packed, the data item; one that is empty is unknown, and its molecule left out; NA and nan are classes; of a table with several targets each run takes one")
	skip := f.Bool("skip", false, "leave out molecules that cannot be read, and report them on standard error: the lines of -parts stay theirs; without it the first is an error")
	cli.Score(f, &c.score, "what is reported, and chosen by; without it accuracy is reported, and with -parts auc, and best and the networks choose epochs by the loss, with -parts by auc")
	f.Uint64Var(&c.seed, "seed", 1, "seed of folds, weights and samples")
	cli.Workers(f, &c.workers)
	f.DurationVar(&c.limit, "limit", 0, "longest time for a cell, one system on one collection; 0 = none")
	cli.Range(f, &c.limit, "limit", 0, math.MaxInt64)
	f.StringVar(&c.checkpoint, "checkpoint", "", "directory that keeps the cells that are done, so that the run can be stopped at any moment, also by kill -9; a damaged file there is refused by its name, and computed again where it is removed")
	f.BoolVar(&c.resume, "resume", false, "resume the run that -checkpoint keeps, or begin one; cells that ran out of a shorter limit are tried again")
	c.live = cli.Live(f)
	f.StringVar(&c.json, "json", "", "file for the results")
	f.StringVar(&c.table, "table", "", "file for the table, in Markdown")
	f.StringVar(&c.out, "out", "", "file for the picture, .svg or .png")
	if err := cli.Parse(f, args); err != nil {
		return nil, err
	}
	if *skip {
		c.refused = &input.Refused{To: os.Stderr}
	}
	var err error
	given := cli.Given(f)
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
		*list = collection.Best
	}
	if c.data, err = items("data", *data); err != nil {
		return nil, err
	}
	if c.systems, err = items("systems", *list); err != nil {
		return nil, err
	}
	return c, c.check()
}

// items splits a list at its commas. The empty list is one empty name.
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

func (c *config) check() (err error) {
	if slices.Equal(c.systems, []string{"all"}) {
		c.systems = names()
	}
	for _, name := range c.systems {
		if find(name) == nil {
			return fmt.Errorf("-systems has %q, want some of %s, or all, or best-X with X one of %s", name, strings.Join(names(), " "), strings.Join(leftOut(), " "))
		}
	}
	if err := c.checkGiven(); err != nil {
		return err
	}
	switch {
	case c.protocol != "nested" && c.protocol != "paper":
		return fmt.Errorf("-protocol is %q, want nested or paper", c.protocol)
	case c.resume && c.checkpoint == "":
		return errors.New("-resume needs the directory of the run, -checkpoint DIR")
	}
	// Each trial is known from the start; more of them are a slip of the hand.
	if most := 1_000_000; c.repeats > most/c.folds {
		return fmt.Errorf("-repeats is %d and -folds %d, want a product of at most %d", c.repeats, c.folds, most)
	}
	var paths []string
	for _, path := range []string{c.json, c.table, c.out} {
		if path = filepath.Clean(path); path != "." && slices.Contains(paths, path) {
			return fmt.Errorf("two of -json, -table and -out are %s", path)
		}
		paths = append(paths, path)
	}
	if c.format, err = picture.Format(c.out); err != nil {
		return err
	}
	if c.workers == 0 {
		c.workers = runtime.GOMAXPROCS(0)
	}
	return nil
}

func graphsTask(ctx context.Context, args []string) (err error) {
	c, err := parse(args)
	if err != nil {
		return err
	}
	defer c.refused.Total()
	ctx, end, err := c.live.Start(ctx)
	if err != nil {
		return err
	}
	defer func() { end(err) }()
	// Places that cannot be written to are found before the work, not after it.
	files, err := cli.CreateAll(c.json, c.table, c.out)
	if err != nil {
		return err
	}
	defer files.Cleanup()
	if err := c.readSplits(ctx); err != nil {
		return err
	}
	keep, err := openStore(c)
	if err != nil {
		return err
	}
	defer keep.Close()
	r, err := runGrid(ctx, c, keep)
	if err != nil {
		if ctx.Err() != nil {
			fmt.Fprintln(os.Stderr, c.goOn("what was not done"))
		}
		return err
	}
	if err := files.JSON(c.json, r); err != nil {
		return err
	}
	if err := files.Finish(c.table, func() ([]byte, error) { return []byte(r.markdown()), nil }); err != nil {
		return err
	}
	if err := files.Finish(c.out, func() ([]byte, error) { return r.draw(c.format) }); err != nil {
		return err
	}
	if err := r.print(os.Stdout); err != nil {
		return err
	}
	if r.ranOut() {
		fmt.Println("\n" + c.goOn("cells that ran out of -limit, with a longer one"))
	}
	return r.failed()
}

// goOn says how a run that did not come to its end goes on.
func (c *config) goOn(with string) string {
	if c.checkpoint == "" {
		return "no cell is kept; with -checkpoint DIR those that are done are, and -resume -checkpoint DIR goes on with " + with
	}
	return fmt.Sprintf("cells that are done are kept: the same command with -resume -checkpoint %s goes on with %s", c.checkpoint, with)
}
