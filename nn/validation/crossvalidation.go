package validation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/sanflow/sanflow/flow/file/store"
	"github.com/sanflow/sanflow/internal/pool"
)

// CrossValidation tests a method with variants. For each fold of each repeat it runs every
// variant of the settings. A variant has a score after every step, such as an epoch of a
// network or a C of an SVM. Two protocols choose a variant and a step:
//
//	nested  for each fold by the score on a part of its training rows, as large as
//	        a test fold, of a trial that has not learned from that part
//	paper   for each repeat, the ones with the best mean accuracy on the test
//	        folds: optimistic, since the test folds take part in a choice
//
// All trials with the same seed, folds, repeats and Inner have the same rows, whatever is
// learned, so two methods can be compared split by split; see Corrected. Majority is the baseline
// of both.
type CrossValidation struct {
	Folds   int    // 0 = 10
	Repeats int    // each with folds of its own; 0 = 1
	Seed    uint64 // of the folds
	// Variants is how many variants there are; 0 = 1.
	Variants int
	// If Fixed, nothing is chosen: there is one variant, and its last score is used. There are no
	// inner trials then.
	Fixed bool

	// ByLoss makes nested choose by the lowest loss in place of the most correct rows. On some
	// tens of rows the loss, which depends on the probabilities, varies less than the number of
	// correct rows.
	ByLoss bool

	// Measure, if set, lets protocols choose by the best Score.Value, which Learn then
	// sets to that measure of the test rows, in place of the most rows right. The loss
	// decides between equals. Where
	// ByLoss or HeldOut is set, nested chooses by that all the same.
	Measure Measure

	// HeldOut declares that trials hold rows out by themselves (see HoldsOut). nested then chooses
	// by the lowest Score.HeldOut of the trial on all training rows, without inner trials and
	// without ByLoss. A Learn that leaves Score.HeldOut at 0 in all steps of a trial is an error.
	HeldOut bool

	// Given, if set, is the splits of each repeat in place of random ones, such as
	// [ReadSplits] reads them. Folds is their number, and another repeat is another run on
	// the same splits, with trials of other numbers and so of other seeds. Each has Valid,
	// and nested chooses by it: by inner trials, which learn from Train and are tested on
	// Valid, or, if HeldOut is set, by Score.HeldOut, which Learn then measures on
	// Trial.Valid.
	Given []Split
	// If Refit, a trial of Given splits learns again from Train and Valid together, with the
	// choices made on Valid, before the test on Test. Then Trial.Valid is not set, and HeldOut is
	// measured on both. The default is to learn from Train alone.
	Refit bool

	// Inner tests on the inner validation split, trains on the rest of the training rows, and
	// leaves the test folds untouched, for the development of a model. With Given splits it tests
	// on Valid and chooses by a part of Train of about that size.
	Inner bool

	// Learn learns from the training rows of a trial and returns the score on the test rows after
	// each step. All trials have the same number of steps. It depends on the trial alone, and is
	// called from several goroutines. It must be set.
	Learn func(context.Context, Trial) ([]Score, error)
	// Prepare, if set, is called before the trials of a variant, after the last
	// trial of the variant before it. An error that is an ErrNoVariant leaves the
	// variant out: it has no trials and is never chosen.
	Prepare func(ctx context.Context, variant int) error
	// Workers is how many trials run at a time; 0 = 1. Results do not depend on it.
	Workers int

	// Keep, if set, holds the scores of the trials that have ended, each in the entry Trial.Name,
	// so that a run can be stopped at any moment and resumed: Learn is not called for them. The
	// settings of its run (store.Store.Begin) must include everything that a trial depends on:
	// rows, classes, folds, seed and the settings of Learn.
	Keep *store.Store
	// KeepAs is a prefix of the names of the entries, so several cross-validations can share a
	// store.
	KeepAs string
}

// ErrNoVariant is the error of a variant that does not exist for the data, such as a kernel
// that diverges.
var ErrNoVariant = errors.New("there is no such variant")

// Trial is one call of Learn.
type Trial struct {
	Split
	Fold    int // of all repeats, from 0
	Variant int
	Inner   bool // one that nested chooses by: Test is a part of the training rows of the fold
}

// Name returns the unique name of the trial in its run: outer-FOLD-VARIANT or
// inner-FOLD-VARIANT.
func (t Trial) Name() string {
	of := "outer"
	if t.Inner {
		of = "inner"
	}
	return fmt.Sprintf("%s-%d-%d", of, t.Fold, t.Variant)
}

// Score is the result of a test.
type Score struct {
	Correct int     `json:"correct"`  // rows
	Loss    float64 `json:"loss"`     // decides between equals: the lower one is better
	HeldOut float64 `json:"held_out"` // the loss on training rows that were held out; see CrossValidation.HeldOut
	// Value is a Measure of the test rows, and Valid the same of the rows of Split.Valid, of
	// which ValidCorrect are right. No protocol chooses by them.
	Value        float64 `json:"value,omitempty"`
	Valid        float64 `json:"valid,omitempty"`
	ValidCorrect int     `json:"valid_correct,omitempty"`
}

// Choice is the choice of a protocol for a fold, with its result on the test rows.
type Choice struct {
	Variant, Step int // from 0
	Correct, Rows int
	Score         Score // in full
}

// Accuracy is in percent.
func (c Choice) Accuracy() float64 { return 100 * float64(c.Correct) / float64(max(c.Rows, 1)) }

// Validated is the result of a CrossValidation, with one choice for each fold, repeat by
// repeat.
type Validated struct {
	Splits        []Split
	Nested, Paper []Choice
	// Optimistic has the best of each fold: a bound, not a result.
	Optimistic []Choice
	// Missing has the variants that Prepare has left out, ascending.
	Missing []int
}

// Random streams under the seed.
const (
	streamFolds = iota
	streamValidation
	streamInner
)

// foldTrials is one fold of one repeat; scores are by variant, nil of one that is
// missing.
type foldTrials struct {
	Split
	inner        Split
	outer, valid [][]Score
}

// maxTrials bounds the folds of all repeats and variants, which are kept in memory.
const maxTrials = 1 << 20

// Run validates on all rows. class has the class of each row.
func (v CrossValidation) Run(ctx context.Context, class []int32) (*Validated, error) {
	if v.Given != nil {
		if v.Folds != 0 && v.Folds != len(v.Given) {
			return nil, fmt.Errorf("validation: cross-validation: Folds is %d, and there are %d Given splits", v.Folds, len(v.Given))
		}
		if err := checkSplits(v.Given, len(class)); err != nil {
			return nil, fmt.Errorf("validation: cross-validation: %w", err)
		}
		v.Folds = len(v.Given)
	}
	v.Folds = cmp.Or(v.Folds, 10)
	v.Repeats = cmp.Or(v.Repeats, 1)
	v.Variants = cmp.Or(v.Variants, 1)
	v.Workers = cmp.Or(v.Workers, 1)
	switch {
	case v.Repeats < 0 || v.Variants < 0 || v.Workers < 0:
		return nil, fmt.Errorf("validation: cross-validation: Repeats is %d, Variants %d, Workers %d, want none below 0", v.Repeats, v.Variants, v.Workers)
	case v.Folds > maxTrials || v.Repeats > maxTrials/max(1, v.Folds) || v.Variants > maxTrials/max(1, v.Folds*v.Repeats):
		return nil, fmt.Errorf("validation: cross-validation: Folds is %d, Repeats %d, Variants %d, want a product of at most %d", v.Folds, v.Repeats, v.Variants, maxTrials)
	case v.Learn == nil:
		return nil, errors.New("validation: cross-validation: Learn is not set")
	case v.Fixed && v.Variants > 1:
		return nil, fmt.Errorf("validation: cross-validation: Fixed is set, and there are %d variants", v.Variants)
	case v.Fixed && v.HeldOut:
		return nil, errors.New("validation: cross-validation: Fixed and HeldOut are set: there is nothing to choose")
	case v.Refit && v.Given == nil:
		return nil, errors.New("validation: cross-validation: Refit is set without Given")
	}
	folds, err := v.split(ctx, class)
	if err != nil {
		return nil, err
	}
	missing, err := v.try(ctx, folds)
	if err != nil {
		return nil, err
	}
	return v.choose(folds, missing)
}

// split deals the rows to folds.
func (v CrossValidation) split(ctx context.Context, class []int32) (all []*foldTrials, err error) {
	rows := make([]int32, len(class))
	for i := range rows {
		rows[i] = int32(i)
	}
	for r := range uint64(v.Repeats) {
		outer := v.Given
		if outer == nil {
			if outer, err = Folds(rows, class, v.Folds, streamOf(v.Seed, streamFolds, r)); err != nil {
				return nil, err
			}
		}
		for i, s := range outer {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			f := &foldTrials{Split: s, outer: make([][]Score, v.Variants), valid: make([][]Score, v.Variants)}
			if v.Given != nil {
				err = v.given(f, class, r, uint64(i))
			} else {
				err = v.dealt(f, class, r, uint64(i))
			}
			if err != nil {
				return nil, err
			}
			all = append(all, f)
		}
	}
	return all, nil
}

// dealt makes the trials of a random split.
func (v CrossValidation) dealt(f *foldTrials, class []int32, repeat, fold uint64) (err error) {
	if v.Inner {
		if f.Split, err = v.valid(f.Split, class, v.Folds-1, streamInner, repeat, fold); err != nil {
			return err
		}
	}
	if v.inner() {
		f.inner, err = v.valid(f.Split, class, v.Folds-1, streamValidation, repeat, fold)
	}
	return err
}

// given makes the trials of a split that is given.
func (v CrossValidation) given(f *foldTrials, class []int32, repeat, fold uint64) error {
	if v.Inner {
		s, err := v.valid(f.Split, class, (len(f.Train)+len(f.Valid)/2)/len(f.Valid), streamInner, repeat, fold)
		if err != nil {
			return err
		}
		f.Split = Split{Train: s.Train, Valid: s.Test, Test: f.Valid}
	}
	f.inner = Split{Train: f.Train, Test: f.Valid}
	if v.Refit {
		f.Split = Split{Train: slices.Concat(f.Train, f.Valid), Test: f.Test}
		slices.Sort(f.Train)
	}
	return nil
}

// valid splits the training rows of a split once more, into rows to learn from and
// one of so many parts to test on, which is about as many as a fold has.
func (v CrossValidation) valid(s Split, class []int32, parts int, stream, repeat, fold uint64) (Split, error) {
	if len(s.Train) < 2 {
		return Split{}, fmt.Errorf("validation: %d folds of %d rows leave %d to learn from, and a choice on a part of them needs 2 or more", v.Folds, len(s.Train)+len(s.Test), len(s.Train))
	}
	inner, err := Folds(s.Train, class, max(2, min(parts, len(s.Train))), streamOf(v.Seed, stream, repeat, fold))
	if err != nil {
		return Split{}, err
	}
	return inner[0], nil
}

// inner reports whether there are inner trials.
func (v CrossValidation) inner() bool { return !v.Fixed && !v.HeldOut }

func streamOf(parts ...uint64) *rand.Rand { return rand.New(rand.NewPCG(Seed(parts...), 0)) }

// try runs all trials, those of a variant in any order, and returns the variants
// that are missing.
func (v CrossValidation) try(ctx context.Context, folds []*foldTrials) (missing []int, err error) {
	type task struct {
		Trial
		into *[]Score
	}
	byVariant := make([][]task, v.Variants)
	for i, f := range folds {
		for n := range v.Variants {
			byVariant[n] = append(byVariant[n], task{Trial{f.Split, i, n, false}, &f.outer[n]})
			if v.inner() {
				byVariant[n] = append(byVariant[n], task{Trial{f.inner, i, n, true}, &f.valid[n]})
			}
		}
	}
	rounds := byVariant
	if v.Prepare == nil { // one round, so that no worker waits
		rounds = [][]task{nil}
		for _, tasks := range byVariant {
			rounds[0] = append(rounds[0], tasks...)
		}
	}
	for n, tasks := range rounds {
		if v.Prepare != nil {
			err := v.Prepare(ctx, n)
			if errors.Is(err, ErrNoVariant) {
				if missing = append(missing, n); len(missing) == v.Variants {
					return nil, err
				}
				continue
			}
			if err != nil {
				return nil, err
			}
		}
		err := pool.Each(ctx, v.Workers, len(tasks), func(ctx context.Context, _, i int) (err error) {
			*tasks[i].into, err = v.scores(ctx, tasks[i].Trial)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return missing, nil
}

// scores returns those that are kept of a trial, or learns.
func (v CrossValidation) scores(ctx context.Context, t Trial) (scores []Score, err error) {
	if ok, err := v.Keep.Get(v.KeepAs+t.Name(), &scores); ok || err != nil {
		return scores, err
	}
	if scores, err = v.Learn(ctx, t); err != nil {
		return nil, err
	}
	return scores, v.Keep.Put(v.KeepAs+t.Name(), scores)
}

// check finds trials that have not the scores that a protocol chooses by.
func (v CrossValidation) check(folds []*foldTrials, missing []int) error {
	steps := 0
	for i, f := range folds {
		for n := range v.Variants {
			if slices.Contains(missing, n) {
				continue
			}
			trials := [][]Score{f.outer[n]}
			if v.inner() {
				trials = append(trials, f.valid[n])
			}
			for _, scores := range trials {
				if steps = cmp.Or(steps, len(scores)); len(scores) != steps || steps == 0 {
					return fmt.Errorf("validation: cross-validation: a trial of fold %d, variant %d has %d steps, another %d", i, n, len(scores), steps)
				}
				for step, p := range scores {
					if math.IsNaN(p.Loss) || math.IsNaN(p.HeldOut) || math.IsNaN(p.Value) {
						return fmt.Errorf("validation: cross-validation: fold %d, variant %d, step %d: the loss or the value is not a number", i, n, step)
					}
				}
			}
			if v.HeldOut && !slices.ContainsFunc(f.outer[n], func(s Score) bool { return s.HeldOut != 0 }) {
				return fmt.Errorf("validation: cross-validation: HeldOut is set, and Learn has not set it in a score of fold %d, variant %d", i, n)
			}
		}
	}
	return nil
}

// choose lets each protocol choose.
func (v CrossValidation) choose(folds []*foldTrials, missing []int) (*Validated, error) {
	if err := v.check(folds, missing); err != nil {
		return nil, err
	}
	all := &Validated{Missing: missing}
	add := func(to *[]Choice, f *foldTrials, variant, step int) {
		score := f.outer[variant][step]
		*to = append(*to, Choice{variant, step, score.Correct, len(f.Test), score})
	}
	for from := 0; from < len(folds); from += v.Folds {
		repeat := folds[from : from+v.Folds]
		variant, step := v.bestCommon(repeat)
		for _, f := range repeat {
			add(&all.Paper, f, variant, step)
		}
	}
	for _, f := range folds {
		all.Splits = append(all.Splits, f.Split)
		if v.Fixed {
			last := len(f.outer[0]) - 1
			add(&all.Nested, f, 0, last)
			add(&all.Optimistic, f, 0, last)
			continue
		}
		variant, step := v.bestInner(f)
		add(&all.Nested, f, variant, step)
		variant, step = best(f.outer, v.better)
		add(&all.Optimistic, f, variant, step)
	}
	return all, nil
}

// bestInner returns what nested chooses for a fold.
func (v CrossValidation) bestInner(f *foldTrials) (variant, step int) {
	if v.HeldOut {
		return best(f.outer, func(p, q Score) bool { return p.HeldOut < q.HeldOut })
	}
	if v.ByLoss {
		return best(f.valid, func(p, q Score) bool { return p.Loss < q.Loss })
	}
	return best(f.valid, v.better)
}

// better reports whether a score is better than another: by the measure, or more rows are
// right; the loss decides between equals.
func (v CrossValidation) better(p, q Score) bool {
	by := cmp.Compare(q.Correct, p.Correct)
	if v.Measure != "" {
		by = cmp.Compare(v.Measure.Loss(p.Value), v.Measure.Loss(q.Value))
	}
	return cmp.Or(by, cmp.Compare(p.Loss, q.Loss)) < 0
}

// best returns the variant and the step with the best score, the first of equals.
func best(scores [][]Score, better func(p, q Score) bool) (variant, step int) {
	variant = -1
	for n, curve := range scores {
		for i, p := range curve {
			if variant < 0 || better(p, scores[variant][step]) {
				variant, step = n, i
			}
		}
	}
	return variant, step
}

// bestCommon returns the variant and the step with the best mean accuracy, or measure, over the
// folds of a repeat, the first of equals.
func (v CrossValidation) bestCommon(folds []*foldTrials) (variant, step int) {
	if v.Fixed {
		return 0, len(folds[0].outer[0]) - 1
	}
	top := math.Inf(-1)
	for n := range v.Variants {
		for i := range folds[0].outer[n] { // none if it is missing
			sum := 0.0
			for _, f := range folds {
				if score := f.outer[n][i]; v.Measure != "" {
					sum -= v.Measure.Loss(score.Value)
				} else {
					sum += Choice{Correct: score.Correct, Rows: len(f.Test)}.Accuracy()
				}
			}
			if sum > top {
				top, variant, step = sum, n, i
			}
		}
	}
	return variant, step
}
