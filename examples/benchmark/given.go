package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/examples/internal/input"
	"github.com/sanflow/sanflow/nn/validation"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/molecules"
)

// onGiven reports whether -splits or -parts give the splits.
func (c *config) onGiven() bool { return c.splits != "" || c.parts != "" }

// strict reports whether trials learn from the part train alone, and measure the part validation.
func (c *config) strict() bool { return c.onGiven() && !c.refit }

// heldOut reports whether nested chooses by what a trial on all training rows measures itself: on the part validation,
// or on graphs that the model holds out. With -score they do not choose, except by -refit, which learns from that part.
func (c *config) heldOut(s *system) bool {
	return s.heldOut && (c.score == "" || c.refit) || c.strict() && s.seeded
}

// runs is the number of runs on each split. On given splits a system without random numbers has one:
// further runs are equal.
func (s *system) runs(c *config) int {
	if c.onGiven() && !s.seeded {
		return 1
	}
	return c.repeats
}

// checkGiven refuses flags that do not go together.
func (c *config) checkGiven() error {
	switch {
	case c.splits != "" && c.parts != "":
		return errors.New("-splits and -parts both say which graphs are tested, want one")
	case c.onGiven() && len(c.data) > 1:
		return errors.New("-splits and -parts are of one collection, and -data names several")
	case c.refit && !c.onGiven():
		return errors.New("-refit is for -splits and -parts")
	case c.smiles != "" && sources.FormatOf(c.data[0], sources.Options{}) == "sdf":
		return errors.New("-smiles names a column of a table, and an SD file has none")
	case c.smiles != "" && c.class == "":
		return errors.New("-smiles needs -class, the column of the class")
	case slices.Contains([]string{".csv", ".tsv", ".sdf", ".sd", ".mol", ".smi", ".smiles", ".cxsmiles"}, sources.Ending(c.data[0])) && c.class == "":
		return fmt.Errorf("-data %s needs -class, the data item with the class of a molecule, or -smiles and -class, two columns of a table", c.data[0])
	case c.class != "" && c.smiles == "" && sources.FormatOf(c.data[0], sources.Options{}) != "sdf":
		return errors.New("-class is for molecules: a table with -smiles, or -data FILE.sdf")
	case c.refused != nil && c.class == "":
		return errors.New("-skip is for molecules: a table with -smiles, or -data FILE.sdf")
	case c.class != "" && (len(c.data) > 1 || c.data[0] == ""):
		return errors.New("-class is of one file of molecules, want one -data")
	case c.onGiven() && c.protocol == "paper":
		return errors.New("-protocol paper chooses on test folds, which -splits and -parts are not for")
	case c.onGiven() && c.Path("out") != "":
		return errors.New("-out draws random folds, not those of -splits or -parts")
	}
	if err := cli.CheckScore(c.score, false); err != nil {
		return err
	}
	for _, s := range c.list {
		if c.score != "" && !s.seeded {
			return fmt.Errorf("-score %s needs probabilities, which %s does not give, and pslr, k5, k10, k10e, online, best, train, trees and best+trees do", c.score, s.name)
		}
	}
	return nil
}

// load reads a collection, or a table of molecules.
func (c *config) load(ctx context.Context, name string) (*collection, error) {
	if c.class == "" {
		return loadCollection(ctx, name, c.seed)
	}
	unknown, o := 0, input.Options()
	o.SMILES, o.Targets, o.Parts, o.Skip = c.smiles, sources.Targets(c.class), c.subsets, func(int64, string) { unknown++ }
	if c.refused != nil {
		o.Refused = c.refused.Add
	}
	src, err := sources.Open(ctx, name, o)
	if err != nil {
		return nil, err
	}
	d, err := readCollection(ctx, src, cli.DataName(name))
	if err == nil && unknown > 0 {
		fmt.Fprintf(os.Stderr, "%s: %d molecules have no class and are left out\n", d.Name, unknown)
	}
	return d, err
}

// readSplits reads the file of -splits or -parts. It is checked when the graphs are known.
func (c *config) readSplits(ctx context.Context) (err error) {
	switch {
	case c.splits != "":
		c.content, err = os.ReadFile(sources.Place(c.splits, "splits"))
	case c.parts != "":
		c.subsets, err = molecules.ReadParts(ctx, sources.CSV{Path: sources.Place(c.parts, "mol"), Header: []string{"part"}}, "part")
		c.content = fmt.Append(nil, c.subsets)
	}
	return err
}

// identity is the SHA-256 of the splits, for -resume.
func (c *config) identity() string { return fmt.Sprintf("%x", sha256.Sum256(c.content)) }

// deal sets the splits of a collection.
func (c *config) deal(d *collection) (err error) {
	switch {
	case c.splits != "":
		if c.given, err = validation.ReadSplits(bytes.NewReader(c.content), len(d.Class)); err != nil {
			return fmt.Errorf("%s for %s: %w", c.splits, d.Name, err)
		}
		c.folds = len(c.given)
	case c.parts != "":
		c.given, err = c.oneSplit(d)
	}
	return err
}

// oneSplit is the split of -parts. Line i is that of graph i.
func (c *config) oneSplit(d *collection) ([]validation.Split, error) {
	var s validation.Split
	parts := map[sources.Subset]*[]int32{sources.Train: &s.Train, sources.Val: &s.Valid, sources.Test: &s.Test}
	for i, id := range d.ID {
		if id < 0 || id >= int64(len(c.subsets)) {
			return nil, fmt.Errorf("%s has %d lines, and %s a graph %d, from 0", c.parts, len(c.subsets), d.Name, id)
		}
		if part := parts[c.subsets[id]]; part != nil {
			*part = append(*part, int32(i))
		}
	}
	if c.class == "" && len(c.subsets) != len(d.ID) {
		return nil, fmt.Errorf("%s has %d lines, and %s %d graphs", c.parts, len(c.subsets), d.Name, len(d.ID))
	}
	for i, part := range [][]int32{s.Train, s.Valid, s.Test} {
		if len(part) == 0 {
			return nil, fmt.Errorf("%s: split 0 has no rows of %q for %s", c.parts, []string{"train", "validation", "test"}[i], d.Name)
		}
	}
	return []validation.Split{s}, nil
}

// value is the reported figure of a choice: the accuracy in percent, or the measure.
func (c *config) value(of picked) float64 {
	if c.score == "" {
		return of.accuracy()
	}
	return cli.ScoreUnit(c.score) * of.Value
}

// onGiven sets the figures of given splits: means over the runs of a split, and over the splits.
func (one *cell) onGiven(c *config, s *system, all *validated) {
	n := len(c.given)
	one.Runs = len(all.nested) / n
	one.BySplit, one.ByRun = make([]float64, n), make([]float64, one.Runs)
	var valid float64
	for i, choice := range all.nested {
		x := c.value(choice)
		one.BySplit[i%n] += x / float64(one.Runs)
		one.ByRun[i/n] += x / float64(n)
		v := cli.ScoreUnit(c.score) * choice.Valid
		if c.score == "" {
			v = 100 * float64(choice.ValidCorrect) / float64(max(1, len(all.splits[i].Valid)))
		}
		valid += v / float64(len(all.nested))
	}
	mean, spread := stat.Mean(one.BySplit, nil), one.BySplit
	if n == 1 {
		spread = one.ByRun
	}
	one.Mean = &mean
	if len(spread) > 1 {
		std := stat.StdDev(spread, nil)
		one.StdDev = &std
	}
	if s.seeded && c.strict() {
		one.MeanValid = &valid
	}
}

// summary is the mean and the deviation as text.
func (one *cell) summary() string {
	digits := 1
	if *one.Mean < 1.5 {
		digits = 4
	}
	text := fmt.Sprintf("%.*f", digits, *one.Mean)
	if one.StdDev != nil {
		text += fmt.Sprintf(" ± %.*f", digits, *one.StdDev)
	}
	return text
}

// scored is the name of the reported measure.
func (r *report) scored() string {
	switch r.Score {
	case "", validation.Accuracy:
		return "accuracy in percent"
	case validation.Balanced:
		return "balanced accuracy in percent"
	}
	return string(r.Score)
}

// givenColumns is the row of the table of given splits.
func (one *cell) givenColumns() []string {
	if one.Status != done {
		return []string{one.System, one.Status, "", "", "", seconds(one.CPU)}
	}
	valid := ""
	if one.MeanValid != nil {
		valid = (&cell{Mean: one.MeanValid}).summary()
	}
	return []string{one.System, one.summary(), valid, fmt.Sprint(one.Runs), one.Chosen, seconds(one.CPU)}
}
