package validation

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

func TestFoldsAreStratified(t *testing.T) {
	class := make([]int32, 103)
	rows := make([]int32, len(class))
	for i := range class {
		rows[i] = int32(i)
		if i%3 == 0 {
			class[i] = 1
		}
	}
	s, err := Folds(rows, class, 10, rand.New(rand.NewPCG(1, 0)))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int32]int{}
	for _, f := range s {
		count := [2]int{}
		for _, row := range f.Test {
			count[class[row]]++
			seen[row]++
		}
		if count[0] < 6 || count[0] > 7 || count[1] < 3 || count[1] > 4 {
			t.Errorf("a fold has %v graphs of each class, want 6 or 7 and 3 or 4", count)
		}
		both := append(slices.Clone(f.Train), f.Test...)
		slices.Sort(both)
		if !slices.Equal(both, rows) {
			t.Errorf("a fold misses rows or has some twice")
		}
	}
	if len(seen) != len(rows) {
		t.Errorf("%d rows are tested, want %d", len(seen), len(rows))
	}
}

func TestFoldsErrors(t *testing.T) {
	class := []int32{0, 1, 1}
	for folds, want := range map[int]string{1: "1 folds, want 2 or more", 4: "4 folds of 3 rows leave some empty"} {
		if _, err := Folds([]int32{0, 1, 2}, class, folds, rand.New(rand.NewPCG(1, 0))); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	// A class of one row: it is tested in one fold, and learned in the others.
	s, err := Folds([]int32{0, 1, 2}, class, 3, rand.New(rand.NewPCG(1, 0)))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range s {
		if len(f.Test) != 1 || len(f.Train) != 2 {
			t.Errorf("%+v", f)
		}
	}
}

// What each protocol chooses is what one would read off the scores of all trials,
// which have never a test row among their training rows.
func TestCrossValidation(t *testing.T) {
	class := make([]int32, 31)
	for i := range class {
		class[i] = int32(i % 3)
	}
	const folds, repeats, variants, steps = 4, 2, 3, 5
	// score is an arbitrary table.
	score := func(tr Trial, step int) Score {
		r := rand.New(rand.NewPCG(Seed(uint64(tr.Fold), uint64(tr.Variant), uint64(step), map[bool]uint64{true: 1}[tr.Inner]), 0))
		return Score{Correct: r.IntN(len(tr.Test) + 1), Loss: float64(r.IntN(3)), HeldOut: float64(r.IntN(9))}
	}
	byLoss := false
	run := func(workers int, prepare func(context.Context, int) error) *Validated {
		all, err := CrossValidation{Folds: folds, Repeats: repeats, Variants: variants, Seed: 3, Workers: workers, Prepare: prepare, ByLoss: byLoss,
			Learn: func(_ context.Context, tr Trial) (s []Score, err error) {
				for _, row := range tr.Test {
					if slices.Contains(tr.Train, row) {
						return nil, fmt.Errorf("row %d is learned and tested", row)
					}
				}
				for i := range steps {
					s = append(s, score(tr, i))
				}
				return s, nil
			}}.Run(context.Background(), class)
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	all := run(1, nil)
	prepared := []int{}
	again := run(3, func(_ context.Context, v int) error { prepared = append(prepared, v); return nil })
	if fmt.Sprint(all) != fmt.Sprint(again) || !slices.Equal(prepared, []int{0, 1, 2}) {
		t.Errorf("3 workers, prepared %v: another result", prepared)
	}
	if len(all.Splits) != folds*repeats || len(all.Nested) != folds*repeats || len(all.Paper) != folds*repeats {
		t.Fatalf("%d splits, %d and %d choices", len(all.Splits), len(all.Nested), len(all.Paper))
	}
	for fold, s := range all.Splits {
		inner := Trial{Fold: fold, Inner: true, Split: Split{Test: make([]int32, 0)}}
		chosen := all.Nested[fold]
		// The size of the inner test is what the score above depends on.
		inners, err := Folds(s.Train, class, folds-1, streamOf(3, streamValidation, uint64(fold/folds), uint64(fold%folds)))
		if err != nil {
			t.Fatal(err)
		}
		inner.Split = inners[0]
		inner.Variant = chosen.Variant
		got := score(inner, chosen.Step)
		for v := range variants {
			for i := range steps {
				inner.Variant = v
				if p := score(inner, i); p.Correct > got.Correct || p.Correct == got.Correct && p.Loss < got.Loss {
					t.Errorf("fold %d: nested chose %v, variant %d step %d has %v", fold, got, v, i, p)
				}
			}
		}
		if want := score(Trial{Split: s, Fold: fold, Variant: chosen.Variant}, chosen.Step).Correct; chosen.Correct != want || chosen.Rows != len(s.Test) {
			t.Errorf("fold %d: %+v, want %d right of %d", fold, chosen, want, len(s.Test))
		}
	}
	for r := range repeats {
		mean := func(v, i int) (sum float64) {
			for f := r * folds; f < (r+1)*folds; f++ {
				tr := Trial{Split: all.Splits[f], Fold: f, Variant: v}
				sum += float64(score(tr, i).Correct) / float64(len(tr.Test))
			}
			return sum
		}
		p := all.Paper[r*folds]
		for v := range variants {
			for i := range steps {
				if mean(v, i) > mean(p.Variant, p.Step)+1e-12 {
					t.Errorf("repeat %d: variant %d step %d is better than what paper chose", r, v, i)
				}
			}
		}
	}
	byLoss = true
	lower := run(2, nil)
	if fmt.Sprint(lower.Paper) != fmt.Sprint(all.Paper) || fmt.Sprint(lower.Optimistic) != fmt.Sprint(all.Optimistic) {
		t.Errorf("by loss the other protocols choose otherwise")
	}
	for fold, s := range lower.Splits {
		inners, err := Folds(s.Train, class, folds-1, streamOf(3, streamValidation, uint64(fold/folds), uint64(fold%folds)))
		if err != nil {
			t.Fatal(err)
		}
		loss := func(v, i int) float64 {
			return score(Trial{Split: inners[0], Fold: fold, Variant: v, Inner: true}, i).Loss
		}
		for v := range variants {
			for i := range steps {
				if chosen := lower.Nested[fold]; loss(v, i) < loss(chosen.Variant, chosen.Step) {
					t.Errorf("fold %d: chose %v, variant %d step %d has a lower loss", fold, chosen, v, i)
				}
			}
		}
	}
}

// Trials that hold rows out choose for themselves, and a comparison on inner splits
// learns from no test row and tests on none.
func TestCrossValidationHeldAndInner(t *testing.T) {
	class := make([]int32, 40)
	for i := range class {
		class[i] = int32(i % 2)
	}
	held := func(fold, step int) float64 {
		return rand.New(rand.NewPCG(Seed(uint64(fold), uint64(step)), 0)).Float64()
	}
	for _, inner := range []bool{false, true} {
		var trials atomic.Int64
		v := CrossValidation{Folds: 5, Repeats: 2, Seed: 9, HeldOut: true, Inner: inner, Workers: 2}
		v.Learn = func(_ context.Context, tr Trial) (s []Score, err error) {
			trials.Add(1)
			for i := range 6 {
				s = append(s, Score{Correct: i, Loss: -float64(i), HeldOut: held(tr.Fold, i)})
			}
			return s, nil
		}
		all, err := v.Run(context.Background(), class)
		if err != nil || trials.Load() != 10 {
			t.Fatalf("%d trials, %v", trials.Load(), err)
		}
		for fold, c := range all.Nested {
			for i := range 6 {
				if held(fold, i) < held(fold, c.Step) {
					t.Errorf("fold %d: step %d is chosen, %d is better", fold, c.Step, i)
				}
			}
		}
		v.Inner = false
		outer, err := v.Run(context.Background(), class)
		if err != nil {
			t.Fatal(err)
		}
		for fold, s := range all.Splits {
			want := outer.Splits[fold]
			if !inner {
				if fmt.Sprint(s) != fmt.Sprint(want) {
					t.Errorf("fold %d: another split", fold)
				}
				continue
			}
			if len(s.Test) != 8 || len(s.Train) != 24 {
				t.Errorf("fold %d: %d rows of %d", fold, len(s.Test), len(s.Train))
			}
			for _, row := range append(slices.Clone(s.Train), s.Test...) {
				if !slices.Contains(want.Train, row) || slices.Contains(s.Train, row) == slices.Contains(s.Test, row) {
					t.Errorf("fold %d: row %d is looked at", fold, row)
				}
			}
		}
	}
}

// A variant that does not exist has no trials and is never chosen; the choice among the
// others does not change.
func TestCrossValidationMissing(t *testing.T) {
	class := make([]int32, 31)
	for i := range class {
		class[i] = int32(i % 3)
	}
	run := func(missing, variants int) *Validated {
		all, err := CrossValidation{
			Folds: 4, Repeats: 2, Variants: variants, Workers: 2,
			Prepare: func(_ context.Context, variant int) error {
				if variant == missing {
					return fmt.Errorf("a decay of %d: %w", variant, ErrNoVariant)
				}
				return nil
			},
			Learn: func(_ context.Context, tr Trial) (s []Score, err error) {
				if tr.Variant == missing {
					return nil, errors.New("a trial of what is missing")
				}
				if missing >= 0 && tr.Variant > missing {
					tr.Variant--
				}
				for step := range uint64(3) {
					r := rand.New(rand.NewPCG(Seed(uint64(tr.Fold), uint64(tr.Variant), step, uint64(len(tr.Test))), 0))
					s = append(s, Score{Correct: r.IntN(len(tr.Test) + 1)})
				}
				return s, nil
			},
		}.Run(context.Background(), class)
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	want := run(-1, 2)
	for missing := range 3 {
		got := run(missing, 3)
		if !slices.Equal(got.Missing, []int{missing}) {
			t.Errorf("missing %v, want %d", got.Missing, missing)
		}
		for _, list := range [][]Choice{got.Nested, got.Paper, got.Optimistic} {
			for i, c := range list {
				if c.Variant == missing {
					t.Errorf("variant %d is missing and chosen", missing)
				}
				if c.Variant > missing {
					list[i].Variant--
				}
			}
		}
		if !slices.Equal(got.Nested, want.Nested) || !slices.Equal(got.Paper, want.Paper) || !slices.Equal(got.Optimistic, want.Optimistic) {
			t.Errorf("without variant %d other choices", missing)
		}
	}
}

func TestCrossValidationErrors(t *testing.T) {
	class := []int32{0, 1, 0, 1, 0, 1}
	learn := func(_ context.Context, tr Trial) ([]Score, error) { return make([]Score, 1+tr.Fold), nil }
	fails := func(_ context.Context, tr Trial) ([]Score, error) {
		if tr.Fold == 2 {
			return nil, errors.New("fold 2 has no luck")
		}
		return make([]Score, 1), nil
	}
	unset := func(_ context.Context, tr Trial) ([]Score, error) {
		return []Score{{HeldOut: 1 - float64(tr.Fold)}, {Loss: 1}}, nil
	}
	silent := func(_ context.Context, tr Trial) ([]Score, error) { return make([]Score, 1-min(1, tr.Fold)), nil }
	vague := func(_ context.Context, tr Trial) ([]Score, error) { return []Score{{Loss: math.NaN()}}, nil }
	none := func(context.Context, int) error { return fmt.Errorf("seven: %w", ErrNoVariant) }
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, test := range []struct {
		ctx  context.Context
		v    CrossValidation
		want string
	}{
		{context.Background(), CrossValidation{Folds: 3}, "Learn is not set"},
		{context.Background(), CrossValidation{Folds: 3, Repeats: -1}, "Repeats is -1"},
		{context.Background(), CrossValidation{Folds: 3, Learn: learn}, "a trial of fold 1, variant 0 has 2 steps, another 1"},
		{context.Background(), CrossValidation{Folds: 3, Learn: silent, Fixed: true}, "a trial of fold 1, variant 0 has 0 steps, another 1"},
		{context.Background(), CrossValidation{Folds: 3, Learn: vague}, "fold 0, variant 0, step 0: the loss or the value is not a number"},
		{context.Background(), CrossValidation{Folds: 3, Learn: fails, Prepare: none}, "seven"},
		{context.Background(), CrossValidation{Folds: 3, Learn: fails, Fixed: true, HeldOut: true}, "nothing to choose"},
		{context.Background(), CrossValidation{Folds: 3, Learn: fails, Workers: 2}, "fold 2 has no luck"},
		{context.Background(), CrossValidation{Folds: 3, Learn: learn, Fixed: true, Variants: 2}, "Fixed"},
		{context.Background(), CrossValidation{Folds: 3, Learn: unset, HeldOut: true}, "has not set it in a score of fold 1,"},
		{context.Background(), CrossValidation{Folds: 7, Learn: learn}, "7 folds of 6 rows"},
		{ctx, CrossValidation{Folds: 3, Learn: fails}, "canceled"},
	} {
		if _, err := test.v.Run(test.ctx, class); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v, want %s", err, test.want)
		}
	}
	two := CrossValidation{Folds: 2, Learn: learn}
	if _, err := two.Run(context.Background(), class[:2]); err == nil || !strings.Contains(err.Error(), "2 folds of 2 rows leave 1 to learn from") {
		t.Errorf("%v", err)
	}
}
