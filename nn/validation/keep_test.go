package validation

import (
	"context"
	"errors"
	"math"
	"os"
	"reflect"
	"sync/atomic"
	"testing"

	"github.com/sanflow/sanflow/flow/file/store"
)

// A run that ends after each number of trials, and is resumed, learns in each trial once
// and has the result of one run, bit by bit; a damaged entry is refused.
func TestKeep(t *testing.T) {
	class := make([]int32, 24)
	for i := range class {
		class[i] = int32(i % 2)
	}
	errEnough := errors.New("enough")
	run := func(most int64, keep *store.Store) (*Validated, int64, error) {
		var calls atomic.Int64
		all, err := CrossValidation{Folds: 3, Repeats: 2, Variants: 2, Seed: 5, Workers: 2, Keep: keep, Learn: func(_ context.Context, t Trial) ([]Score, error) {
			if calls.Add(1) > most {
				calls.Add(-1)
				return nil, errEnough
			}
			var scores []Score
			for step := range 3 {
				x := math.Sqrt(float64(7*t.Fold + 3*t.Variant + step + len(t.Test)))
				scores = append(scores, Score{Correct: int(x*100) % (len(t.Test) + 1), Loss: x, HeldOut: 1 / x})
			}
			return scores, nil
		}}.Run(context.Background(), class)
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
		path := s.Path(Trial{Fold: 4, Variant: 1, Inner: true}.Name())
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
