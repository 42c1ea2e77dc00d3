package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/sanflow/sanflow/flow/file/store"
	"github.com/sanflow/sanflow/nn/validation"
)

// crossValidation tests a method with variants. It runs every variant on each fold of each repeat.
// A variant has a score after each step, which is an epoch of a network or a C of an SVM. Two
// protocols choose a variant and a step:
//
//	nested  for each fold by the score on a validation part of its training rows, as large as a
//	        test fold, in a trial that has not learned from that part
//	paper   for each repeat by the best mean accuracy on the test folds: optimistic, since the
//	        test folds take part in the choice
//
// Runs with equal seed, folds, repeats and inner have equal splits, so two methods can be compared
// split by split: see validation.Corrected.
type crossValidation struct {
	folds, repeats int
	seed           uint64 // of the folds
	variants       int
	fixed          bool // there is one variant, its last score counts, and there are no inner trials
	// byLoss makes nested choose by the lowest loss in place of the most correct rows. On some tens of rows
	// the number of correct rows has a larger variance.
	byLoss bool
	// measure, if set, makes both protocols choose by the best score.Value. The loss decides between equal
	// values.
	measure validation.Measure
	// heldOut is set where a model holds training rows out by itself. nested then chooses by the lowest
	// score.HeldOut of the trial on all training rows, and there are no inner trials.
	heldOut bool
	// given, if set, is the splits of each repeat in place of random folds; folds is their number. nested
	// chooses by the part Valid of a split: by inner trials that are tested on it, or, with heldOut, by
	// score.HeldOut, which is measured on it.
	given []validation.Split
	// refit makes a trial of a given split learn from Train and Valid together, after the choice was made
	// on Valid. Valid is then empty.
	refit bool
	// inner tests on the inner validation split and leaves the test folds untouched. With given splits it
	// tests on Valid and chooses by a part of Train of about that size.
	inner bool
	// learn returns the score on the test rows after each step. All trials have the same number of steps.
	// The scores depend on the trial alone. Several goroutines call learn.
	learn func(context.Context, trial) ([]score, error)
	// prepare, if set, is called before the trials of a variant. The error errDiverges leaves the variant
	// out.
	prepare func(ctx context.Context, variant int) error
	workers int // trials that run at a time; results do not depend on the number
	// keep, if set, holds the scores of ended trials, each in the entry keepAs + trial.name. learn is not
	// called for these.
	keep   *store.Store
	keepAs string
}

// trial is one call of learn.
type trial struct {
	validation.Split
	fold    int // counted over all repeats, from 0
	variant int
	inner   bool // an inner trial, by which nested chooses: Test is a part of the training rows of the fold
}

// name is unique in a run.
func (t trial) name() string {
	of := "outer"
	if t.inner {
		of = "inner"
	}
	return fmt.Sprintf("%s-%d-%d", of, t.fold, t.variant)
}

// score is the result of a test.
type score struct {
	Correct int     `json:"correct"`  // number of rows
	Loss    float64 `json:"loss"`     // the lower one is better; it decides between equal values
	HeldOut float64 `json:"held_out"` // loss on the training rows that the model held out
	// Value is the measure on the test rows, and Valid that on the rows of Split.Valid, of which
	// ValidCorrect are correct. No protocol chooses by these three.
	Value        float64 `json:"value,omitempty"`
	Valid        float64 `json:"valid,omitempty"`
	ValidCorrect int     `json:"valid_correct,omitempty"`
}

// picked is what a protocol chose for a fold, with the score on the test rows.
type picked struct {
	variant, step int // both from 0
	rows          int
	score
}

// accuracy is in percent.
func (c picked) accuracy() float64 { return 100 * float64(c.Correct) / float64(max(c.rows, 1)) }

// validated is the result of a crossValidation, with a choice for each fold of each repeat.
type validated struct {
	splits        []validation.Split
	nested, paper []picked
	optimistic    []picked // the best step of each fold: a bound, not a result
	missing       []int    // variants that prepare left out, ascending
}

// Random streams under the seed.
const (
	streamFolds = iota
	streamValidation
	streamInner
)

// foldTrials is a fold of a repeat. Scores are by variant; a variant that is left out has none.
type foldTrials struct {
	validation.Split
	inner        validation.Split
	outer, valid [][]score
}

// run validates on all rows. class is the class of each row.
func (v crossValidation) run(ctx context.Context, class []int32) (*validated, error) {
	folds, err := v.split(ctx, class)
	if err != nil {
		return nil, err
	}
	missing, err := v.try(ctx, folds)
	if err != nil {
		return nil, err
	}
	return v.choose(folds, missing), nil
}

// split divides the rows into folds.
func (v crossValidation) split(ctx context.Context, class []int32) (all []*foldTrials, err error) {
	rows := make([]int32, len(class))
	for i := range rows {
		rows[i] = int32(i)
	}
	for r := range uint64(v.repeats) {
		outer := v.given
		if outer == nil {
			if outer, err = validation.Folds(rows, class, v.folds, streamOf(v.seed, streamFolds, r)); err != nil {
				return nil, err
			}
		}
		for i, s := range outer {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			f := &foldTrials{Split: s, outer: make([][]score, v.variants), valid: make([][]score, v.variants)}
			if v.given != nil {
				err = v.useGiven(f, class, r, uint64(i))
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

// dealt sets the splits of a random fold.
func (v crossValidation) dealt(f *foldTrials, class []int32, repeat, fold uint64) (err error) {
	if v.inner {
		if f.Split, err = v.valid(f.Split, class, v.folds-1, streamInner, repeat, fold); err != nil {
			return err
		}
	}
	if v.inners() {
		f.inner, err = v.valid(f.Split, class, v.folds-1, streamValidation, repeat, fold)
	}
	return err
}

// useGiven sets the splits of a fold that is given.
func (v crossValidation) useGiven(f *foldTrials, class []int32, repeat, fold uint64) error {
	if v.inner {
		s, err := v.valid(f.Split, class, (len(f.Train)+len(f.Valid)/2)/len(f.Valid), streamInner, repeat, fold)
		if err != nil {
			return err
		}
		f.Split = validation.Split{Train: s.Train, Valid: s.Test, Test: f.Valid}
	}
	f.inner = validation.Split{Train: f.Train, Test: f.Valid}
	if v.refit {
		f.Split = validation.Split{Train: slices.Concat(f.Train, f.Valid), Test: f.Test}
		slices.Sort(f.Train)
	}
	return nil
}

// valid divides the training rows of a split again: into training rows, and a validation part that is
// about as large as a test fold.
func (v crossValidation) valid(s validation.Split, class []int32, parts int, stream, repeat, fold uint64) (validation.Split, error) {
	if len(s.Train) < 2 {
		return validation.Split{}, fmt.Errorf("%d folds of %d rows leave %d to learn from, and a choice on a part of them needs 2 or more", v.folds, len(s.Train)+len(s.Test), len(s.Train))
	}
	inner, err := validation.Folds(s.Train, class, max(2, min(parts, len(s.Train))), streamOf(v.seed, stream, repeat, fold))
	if err != nil {
		return validation.Split{}, err
	}
	return inner[0], nil
}

// inners reports whether there are inner trials.
func (v crossValidation) inners() bool { return !v.fixed && !v.heldOut }

func streamOf(parts ...uint64) *rand.Rand { return rand.New(rand.NewPCG(validation.Seed(parts...), 0)) }

// try runs all trials, and returns the variants that are left out. Trials of one variant run in any order.
func (v crossValidation) try(ctx context.Context, folds []*foldTrials) (missing []int, err error) {
	type task struct {
		trial
		into *[]score
	}
	var tasks []task
	for n := range v.variants {
		if v.prepare != nil {
			err := v.prepare(ctx, n)
			if errors.Is(err, errDiverges) {
				if missing = append(missing, n); len(missing) == v.variants {
					return nil, err
				}
				continue
			}
			if err != nil {
				return nil, err
			}
		}
		for i, f := range folds {
			tasks = append(tasks, task{trial{f.Split, i, n, false}, &f.outer[n]})
			if v.inners() {
				tasks = append(tasks, task{trial{f.inner, i, n, true}, &f.valid[n]})
			}
		}
		if v.prepare == nil && n < v.variants-1 {
			continue // the trials of all variants run together
		}
		err := each(ctx, v.workers, len(tasks), func(ctx context.Context, i int) (err error) {
			*tasks[i].into, err = v.scores(ctx, tasks[i].trial)
			return err
		})
		if err != nil {
			return nil, err
		}
		tasks = tasks[:0]
	}
	return missing, nil
}

// scores returns the stored scores of a trial. A trial without stored scores is run.
func (v crossValidation) scores(ctx context.Context, t trial) (scores []score, err error) {
	if ok, err := v.keep.Get(v.keepAs+t.name(), &scores); ok || err != nil {
		return scores, err
	}
	if scores, err = v.learn(ctx, t); err != nil {
		return nil, err
	}
	return scores, v.keep.Put(v.keepAs+t.name(), scores)
}

// choose applies both protocols.
func (v crossValidation) choose(folds []*foldTrials, missing []int) *validated {
	all := &validated{missing: missing}
	add := func(to *[]picked, f *foldTrials, variant, step int) {
		score := f.outer[variant][step]
		*to = append(*to, picked{variant, step, len(f.Test), score})
	}
	for from := 0; from < len(folds); from += v.folds {
		repeat := folds[from : from+v.folds]
		variant, step := v.bestCommon(repeat)
		for _, f := range repeat {
			add(&all.paper, f, variant, step)
		}
	}
	for _, f := range folds {
		all.splits = append(all.splits, f.Split)
		if v.fixed {
			last := len(f.outer[0]) - 1
			add(&all.nested, f, 0, last)
			add(&all.optimistic, f, 0, last)
			continue
		}
		variant, step := v.bestInner(f)
		add(&all.nested, f, variant, step)
		variant, step = bestScore(f.outer, v.better)
		add(&all.optimistic, f, variant, step)
	}
	return all
}

// bestInner returns the choice of nested for a fold.
func (v crossValidation) bestInner(f *foldTrials) (variant, step int) {
	if v.heldOut {
		return bestScore(f.outer, func(p, q score) bool { return p.HeldOut < q.HeldOut })
	}
	if v.byLoss {
		return bestScore(f.valid, func(p, q score) bool { return p.Loss < q.Loss })
	}
	return bestScore(f.valid, v.better)
}

// better reports whether a score is better by the measure, or by the number of correct rows. The loss
// decides between equals.
func (v crossValidation) better(p, q score) bool {
	by := cmp.Compare(q.Correct, p.Correct)
	if v.measure != "" {
		by = cmp.Compare(v.measure.Loss(p.Value), v.measure.Loss(q.Value))
	}
	return cmp.Or(by, cmp.Compare(p.Loss, q.Loss)) < 0
}

// each calls task with the numbers 0 to n-1 on some goroutines. The first error ends the calls.
func each(ctx context.Context, workers, n int, task func(ctx context.Context, i int) error) error {
	work, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var next atomic.Int64
	var all sync.WaitGroup
	for range max(1, min(workers, n)) {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && work.Err() == nil; i = int(next.Add(1)) - 1 {
				if err := task(work, i); err != nil {
					stop(err) // the first call sets the cause
				}
			}
		})
	}
	all.Wait()
	return context.Cause(work)
}

// bestScore returns the variant and the step with the best score, the first of equals.
func bestScore(scores [][]score, better func(p, q score) bool) (variant, step int) {
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

// bestCommon returns the variant and the step with the best mean accuracy, or measure, over the folds of a
// repeat; the first of equals.
func (v crossValidation) bestCommon(folds []*foldTrials) (variant, step int) {
	if v.fixed {
		return 0, len(folds[0].outer[0]) - 1
	}
	top := math.Inf(-1)
	for n := range v.variants {
		for i := range folds[0].outer[n] { // none of a variant that is left out
			sum := 0.0
			for _, f := range folds {
				if score := f.outer[n][i]; v.measure != "" {
					sum -= v.measure.Loss(score.Value)
				} else {
					sum += picked{rows: len(f.Test), score: score}.accuracy()
				}
			}
			if sum > top {
				top, variant, step = sum, n, i
			}
		}
	}
	return variant, step
}
