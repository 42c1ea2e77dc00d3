package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sanflow/sanflow/flow/file/store"
	"github.com/sanflow/sanflow/nn/validation"
	"github.com/sanflow/sanflow/sinks/choose"
)

// What each protocol chooses is what one would read off the scores of all trials,
// which have never a test row among their training rows.
func TestCrossValidation(t *testing.T) {
	class := make([]int32, 31)
	for i := range class {
		class[i] = int32(i % 3)
	}
	const folds, repeats, variants, steps = 4, 2, 3, 5
	// score is an arbitrary table.
	rated := func(tr trial, step int) score {
		r := rand.New(rand.NewPCG(validation.Seed(uint64(tr.fold), uint64(tr.variant), uint64(step), map[bool]uint64{true: 1}[tr.inner]), 0))
		return score{Correct: r.IntN(len(tr.Test) + 1), Loss: float64(r.IntN(3)), HeldOut: float64(r.IntN(9))}
	}
	byLoss := false
	run := func(workers int, prepare func(context.Context, int) error) *validated {
		all, err := crossValidation{folds: folds, repeats: repeats, variants: variants, seed: 3, workers: workers, prepare: prepare, byLoss: byLoss,
			learn: func(_ context.Context, tr trial) (s []score, err error) {
				for _, row := range tr.Test {
					if slices.Contains(tr.Train, row) {
						return nil, fmt.Errorf("row %d is learned and tested", row)
					}
				}
				for i := range steps {
					s = append(s, rated(tr, i))
				}
				return s, nil
			}}.run(context.Background(), class)
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
	if len(all.splits) != folds*repeats || len(all.nested) != folds*repeats || len(all.paper) != folds*repeats {
		t.Fatalf("%d splits, %d and %d choices", len(all.splits), len(all.nested), len(all.paper))
	}
	for fold, s := range all.splits {
		inner := trial{fold: fold, inner: true, Split: validation.Split{Test: make([]int32, 0)}}
		chosen := all.nested[fold]
		// The size of the inner test is what the score above depends on.
		inners, err := validation.Folds(s.Train, class, folds-1, streamOf(3, streamValidation, uint64(fold/folds), uint64(fold%folds)))
		if err != nil {
			t.Fatal(err)
		}
		inner.Split = inners[0]
		inner.variant = chosen.variant
		got := rated(inner, chosen.step)
		for v := range variants {
			for i := range steps {
				inner.variant = v
				if p := rated(inner, i); p.Correct > got.Correct || p.Correct == got.Correct && p.Loss < got.Loss {
					t.Errorf("fold %d: nested chose %v, variant %d step %d has %v", fold, got, v, i, p)
				}
			}
		}
		if want := rated(trial{Split: s, fold: fold, variant: chosen.variant}, chosen.step).Correct; chosen.Correct != want || chosen.rows != len(s.Test) {
			t.Errorf("fold %d: %+v, want %d right of %d", fold, chosen, want, len(s.Test))
		}
	}
	for r := range repeats {
		mean := func(v, i int) (sum float64) {
			for f := r * folds; f < (r+1)*folds; f++ {
				tr := trial{Split: all.splits[f], fold: f, variant: v}
				sum += float64(rated(tr, i).Correct) / float64(len(tr.Test))
			}
			return sum
		}
		p := all.paper[r*folds]
		for v := range variants {
			for i := range steps {
				if mean(v, i) > mean(p.variant, p.step)+1e-12 {
					t.Errorf("repeat %d: variant %d step %d is better than what paper chose", r, v, i)
				}
			}
		}
	}
	byLoss = true
	lower := run(2, nil)
	if fmt.Sprint(lower.paper) != fmt.Sprint(all.paper) || fmt.Sprint(lower.optimistic) != fmt.Sprint(all.optimistic) {
		t.Errorf("by loss the other protocols choose otherwise")
	}
	for fold, s := range lower.splits {
		inners, err := validation.Folds(s.Train, class, folds-1, streamOf(3, streamValidation, uint64(fold/folds), uint64(fold%folds)))
		if err != nil {
			t.Fatal(err)
		}
		loss := func(v, i int) float64 {
			return rated(trial{Split: inners[0], fold: fold, variant: v, inner: true}, i).Loss
		}
		for v := range variants {
			for i := range steps {
				if chosen := lower.nested[fold]; loss(v, i) < loss(chosen.variant, chosen.step) {
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
		return rand.New(rand.NewPCG(validation.Seed(uint64(fold), uint64(step)), 0)).Float64()
	}
	for _, inner := range []bool{false, true} {
		var trials atomic.Int64
		v := crossValidation{folds: 5, repeats: 2, variants: 1, seed: 9, heldOut: true, inner: inner, workers: 2}
		v.learn = func(_ context.Context, tr trial) (s []score, err error) {
			trials.Add(1)
			for i := range 6 {
				s = append(s, score{Correct: i, Loss: -float64(i), HeldOut: held(tr.fold, i)})
			}
			return s, nil
		}
		all, err := v.run(context.Background(), class)
		if err != nil || trials.Load() != 10 {
			t.Fatalf("%d trials, %v", trials.Load(), err)
		}
		for fold, c := range all.nested {
			for i := range 6 {
				if held(fold, i) < held(fold, c.step) {
					t.Errorf("fold %d: step %d is chosen, %d is better", fold, c.step, i)
				}
			}
		}
		v.inner = false
		outer, err := v.run(context.Background(), class)
		if err != nil {
			t.Fatal(err)
		}
		for fold, s := range all.splits {
			want := outer.splits[fold]
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
	run := func(missing, variants int) *validated {
		all, err := crossValidation{
			folds: 4, repeats: 2, variants: variants, workers: 2,
			prepare: func(_ context.Context, variant int) error {
				if variant == missing {
					return fmt.Errorf("a decay of %d: %w", variant, errDiverges)
				}
				return nil
			},
			learn: func(_ context.Context, tr trial) (s []score, err error) {
				if tr.variant == missing {
					return nil, errors.New("a trial of what is missing")
				}
				if missing >= 0 && tr.variant > missing {
					tr.variant--
				}
				for step := range uint64(3) {
					r := rand.New(rand.NewPCG(validation.Seed(uint64(tr.fold), uint64(tr.variant), step, uint64(len(tr.Test))), 0))
					s = append(s, score{Correct: r.IntN(len(tr.Test) + 1)})
				}
				return s, nil
			},
		}.run(context.Background(), class)
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	want := run(-1, 2)
	for missing := range 3 {
		got := run(missing, 3)
		if !slices.Equal(got.missing, []int{missing}) {
			t.Errorf("missing %v, want %d", got.missing, missing)
		}
		for _, list := range [][]picked{got.nested, got.paper, got.optimistic} {
			for i, c := range list {
				if c.variant == missing {
					t.Errorf("variant %d is missing and chosen", missing)
				}
				if c.variant > missing {
					list[i].variant--
				}
			}
		}
		if !slices.Equal(got.nested, want.nested) || !slices.Equal(got.paper, want.paper) || !slices.Equal(got.optimistic, want.optimistic) {
			t.Errorf("without variant %d other choices", missing)
		}
	}
}

func TestCrossValidationErrors(t *testing.T) {
	class := []int32{0, 1, 0, 1, 0, 1}
	fails := func(_ context.Context, tr trial) ([]score, error) {
		if tr.fold == 2 {
			return nil, errors.New("fold 2 has no luck")
		}
		return make([]score, 1), nil
	}
	none := func(context.Context, int) error { return fmt.Errorf("seven: %w", errDiverges) }
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, test := range []struct {
		ctx     context.Context
		folds   int
		prepare func(context.Context, int) error
		want    string
	}{
		{context.Background(), 3, none, "seven"},
		{context.Background(), 3, nil, "fold 2 has no luck"},
		{context.Background(), 7, nil, "7 folds of 6 rows"},
		{ctx, 3, nil, "canceled"},
	} {
		v := crossValidation{folds: test.folds, repeats: 1, variants: 1, workers: 2, learn: fails, prepare: test.prepare}
		if _, err := v.run(test.ctx, class); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v, want %s", err, test.want)
		}
	}
	two := crossValidation{folds: 2, repeats: 1, variants: 1, workers: 1, learn: fails}
	if _, err := two.run(context.Background(), class[:2]); err == nil || !strings.Contains(err.Error(), "2 folds of 2 rows leave 1 to learn from") {
		t.Errorf("%v", err)
	}
}

// A run that ends after each number of trials, and is resumed, learns in each trial once
// and has the result of one run, bit by bit; a damaged entry is refused.
func TestKeep(t *testing.T) {
	class := make([]int32, 24)
	for i := range class {
		class[i] = int32(i % 2)
	}
	errEnough := errors.New("enough")
	run := func(most int64, keep *store.Store) (*validated, int64, error) {
		var calls atomic.Int64
		all, err := crossValidation{folds: 3, repeats: 2, variants: 2, seed: 5, workers: 2, keep: keep, learn: func(_ context.Context, t trial) ([]score, error) {
			if calls.Add(1) > most {
				calls.Add(-1)
				return nil, errEnough
			}
			var scores []score
			for step := range 3 {
				x := math.Sqrt(float64(7*t.fold + 3*t.variant + step + len(t.Test)))
				scores = append(scores, score{Correct: int(x*100) % (len(t.Test) + 1), Loss: x, HeldOut: 1 / x})
			}
			return scores, nil
		}}.run(context.Background(), class)
		return all, calls.Load(), err
	}
	want, trials, err := run(math.MaxInt64, nil)
	if err != nil {
		t.Fatal(err)
	}
	open := func(dir string) *store.Store {
		t.Helper()
		s, err := store.Open(nil, dir)
		if err == nil {
			err = s.Begin([]store.Setting{{Name: "seed", Value: "5"}}, true)
		}
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	for first := range trials + 1 {
		dir := t.TempDir()
		s := open(dir)
		_, before, err := run(first, s)
		if (err == nil) != (first == trials) || err != nil && !errors.Is(err, errEnough) {
			t.Fatalf("%d trials: %v", first, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = open(dir)
		all, after, err := run(math.MaxInt64, s)
		if err != nil || !reflect.DeepEqual(all, want) || before+after != trials {
			t.Errorf("stopped after %d trials: %d and %d of %d; %v", first, before, after, trials, err)
		}
		path := s.Path(trial{fold: 4, variant: 1, inner: true}.name())
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		b[len(b)/2] ^= 1
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, _, err := run(math.MaxInt64, s); !errors.Is(err, store.ErrDamaged) {
			t.Errorf("a damaged entry: %v", err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// Given splits have the trials that are said: none looks at a row of Test before it is
// tested, and what is chosen is what one would read off all scores.
func TestGiven(t *testing.T) {
	class := make([]int32, 60)
	for i := range class {
		class[i] = int32(i % 3)
	}
	var given []validation.Split
	for i := range 4 {
		var s validation.Split
		for row := range int32(60) {
			switch (int(row) + i) % 4 {
			case 0:
				s.Test = append(s.Test, row)
			case 1:
				s.Valid = append(s.Valid, row)
			default:
				s.Train = append(s.Train, row)
			}
		}
		given = append(given, s)
	}
	const runs, variants, steps = 3, 2, 4
	rated := func(t trial, step int) score {
		x := validation.Seed(uint64(t.fold), uint64(t.variant), uint64(step), uint64(map[bool]int{true: 1}[t.inner]))
		return score{Correct: int(x % 7), Loss: float64(x % 3), HeldOut: float64(x%11 + 1), Value: float64(x % 13)}
	}
	for name, v := range map[string]crossValidation{
		"inner trials": {}, "refit": {refit: true}, "held out": {heldOut: true}, "held out, refit": {heldOut: true, refit: true},
		"measure": {measure: validation.MAE}, "held out, inner": {heldOut: true, inner: true}, "inner": {inner: true},
	} {
		var mu sync.Mutex
		trials := map[string]trial{}
		v.given, v.folds, v.repeats, v.variants, v.workers, v.seed = given, len(given), runs, variants, 2, 7
		v.learn = func(_ context.Context, tr trial) (s []score, err error) {
			mu.Lock()
			trials[tr.name()] = tr
			mu.Unlock()
			for step := range steps {
				s = append(s, rated(tr, step))
			}
			return s, nil
		}
		all, err := v.run(context.Background(), class)
		if err != nil {
			t.Fatal(err)
		}
		want := len(given) * runs * variants
		if !v.heldOut {
			want *= 2
		}
		if len(trials) != want || len(all.nested) != len(given)*runs {
			t.Fatalf("%s: %d trials, want %d; %d choices", name, len(trials), want, len(all.nested))
		}
		for _, tr := range trials {
			g := given[tr.fold%len(given)]
			test, learned := g.Test, g.Train
			switch {
			case v.inner:
				test = g.Valid
				if tr.inner {
					test = tr.Test
				}
				rest := slices.Concat(tr.Train, tr.Valid)
				if tr.inner {
					rest = slices.Concat(tr.Train, tr.Test)
				}
				if slices.Sort(rest); !slices.Equal(rest, g.Train) || len(rest)-len(tr.Train) != len(g.Valid) {
					t.Errorf("%s: %+v", name, tr)
				}
				learned = tr.Train
			case tr.inner:
				test = g.Valid
			case v.refit:
				learned = slices.Concat(g.Train, g.Valid)
				slices.Sort(learned)
			}
			if !slices.Equal(tr.Test, test) || !slices.Equal(tr.Train, learned) {
				t.Errorf("%s: %+v", name, tr)
			}
			if valid := g.Valid; !v.inner && v.heldOut && (v.refit && tr.Valid != nil || !v.refit && !slices.Equal(tr.Valid, valid)) {
				t.Errorf("%s: chosen by %v", name, tr.Valid)
			}
		}
		for fold, c := range all.nested {
			for variant := range variants {
				for step := range steps {
					of := func(variant, step int) score {
						return rated(trial{fold: fold, variant: variant, inner: !v.heldOut}, step)
					}
					p, q := of(variant, step), of(c.variant, c.step)
					switch {
					case v.heldOut && p.HeldOut < q.HeldOut, v.measure != "" && p.Value < q.Value, !v.heldOut && v.measure == "" && p.Correct > q.Correct:
						t.Errorf("%s: fold %d: %+v is chosen, and variant %d, step %d is better", name, fold, c, variant, step)
					}
				}
			}
			if c.score != rated(trial{fold: fold, variant: c.variant}, c.step) || c.rows != len(all.splits[fold].Test) {
				t.Errorf("%s: fold %d: %+v", name, fold, c)
			}
		}
	}
}

// The largest class is that of the training rows, the lowest of equals.
func TestMajority(t *testing.T) {
	rng := rand.New(rand.NewPCG(83, 84))
	for range 500 {
		n := 1 + rng.IntN(12)
		class := make([]int32, n)
		var s validation.Split
		count := make([]int, 4)
		for i := range class {
			class[i] = rng.Int32N(4)
			if rng.IntN(3) > 0 {
				s.Train = append(s.Train, int32(i))
				count[class[i]]++
			} else {
				s.Test = append(s.Test, int32(i))
			}
		}
		want := 0
		for _, row := range s.Test {
			if len(s.Train) > 0 && int(class[row]) == slices.Index(count, slices.Max(count)) {
				want++
			}
		}
		if got := majority(&collection{Collection: &choose.Collection{Class: class}}, s); got != want {
			t.Fatalf("%d of %v, %v are right, want %d", got, class, s, want)
		}
	}
}

// If two ways to learn are as good as each other, whatever rows they see, the
// corrected error is as large as what they differ by from one sample to the next; that
// of independent numbers is too small by far once there are many repeats.
func TestCorrectedCovers(t *testing.T) {
	rng := rand.New(rand.NewPCG(81, 82))
	const samples, rows = 200, 60
	inside, naive := 0, 0
	for range samples {
		class := make([]int32, rows)
		x := make([][2]float64, rows)
		for i := range class {
			class[i] = int32(rng.IntN(2))
			for f := range x[i] {
				x[i][f] = 0.5*float64(class[i]) + rng.NormFloat64()
			}
		}
		// Each tells classes apart at the middle of the means of one of two features,
		// which are worth the same.
		by := func(feature int) *validated {
			all, err := crossValidation{folds: 5, repeats: 8, variants: 1, workers: 1, fixed: true, learn: func(_ context.Context, t trial) ([]score, error) {
				var sum, n [2]float64
				for _, row := range t.Train {
					sum[class[row]] += x[row][feature]
					n[class[row]]++
				}
				middle, right := (sum[0]/max(n[0], 1)+sum[1]/max(n[1], 1))/2, 0
				for _, row := range t.Test {
					if (x[row][feature] > middle) == (class[row] == 1) {
						right++
					}
				}
				return []score{{Correct: right}}, nil
			}}.run(context.Background(), class)
			if err != nil {
				t.Fatal(err)
			}
			return all
		}
		a, b := by(0), by(1)
		differences := make([]float64, len(a.splits))
		for i := range differences {
			differences[i] = a.nested[i].accuracy() - b.nested[i].accuracy()
		}
		points, se, err := validation.Corrected(differences, 1./4)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(points) < 2*se {
			inside++
		}
		// n = 40 differences, ratio 1/4.
		if math.Abs(points) < 2*se*math.Sqrt(1./40/(1./40+1./4)) {
			naive++
		}
	}
	t.Logf("%d of %d within two corrected errors, %d within two others", inside, samples, naive)
	if inside < samples*85/100 || naive > samples*60/100 {
		t.Errorf("%d of %d are within two corrected errors, %d within two others", inside, samples, naive)
	}
}
