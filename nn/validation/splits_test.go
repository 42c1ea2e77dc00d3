package validation

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

const twoSplits = `[{"test": [3, 0], "model_selection": [{"train": [5, 1, 4], "validation": [2]}]},
	{"test": [1, 2, 4, 5], "model_selection": [{"train": [0], "validation": [3]}], "more": 1}]`

func TestReadSplits(t *testing.T) {
	s, err := ReadSplits(strings.NewReader(twoSplits), 6)
	if want := "[{[1 4 5] [0 3] [2]} {[0] [1 2 4 5] [3]}]"; err != nil || fmt.Sprint(s) != want {
		t.Errorf("%v, %v, want %s", s, err, want)
	}
	for _, test := range []struct{ old, with, want string }{
		{"[3, 0]", "[3, 5]", "splits: split 0: row 5 is in train and in test"},
		{"[3, 0]", "[3, 3]", "splits: split 0: row 3 is in test and in test"},
		{"[3, 0]", "[3, 6]", "splits: split 0, test: there is no row 6, want 0 to 5"},
		{"[3, 0]", "[3, -1]", "splits: split 0, test: there is no row -1, want 0 to 5"},
		{"[3, 0]", "[3]", "splits: split 0 has 5 rows, want all 6: row 0 is missing"},
		{"[0]", "[0, 3]", "splits: split 1: row 3 is in train and in validation"},
		{"[2]", "[]", `splits: split 0 has no rows of "validation"`},
		{`[2]`, "null", `splits: split 0 has no list "train" or "validation"`},
		{`"test": [3, 0], `, "", `splits: split 0 has no list "test"`},
		{`[1, 2, 4, 5], "model_selection": [{"train": [0]`, `[0, 2, 4, 5], "model_selection": [{"train": [1]`, "splits: row 0 is tested in the splits 0 and 1"},
		{`[1, 2, 4, 5], "model_selection": [{"train": [0]`, `[1, 2, 4], "model_selection": [{"train": [0, 5]`, "splits: row 5 is tested in no split"},
		{`[{"train": [0], "validation": [3]}]`, "[]", `splits: split 1 has 0 entries of "model_selection", want 1`},
		{`{"train": [0], "validation": [3]}`, `{"train": [0], "validation": [3]}, {}`, `splits: split 1 has 2 entries of "model_selection", want 1`},
		{"[3, 0]", "[3, 0.5]", "splits: byte 17: a JSON number 0.5, want a list of splits"},
		{"[3, 0]", "[3, 9e9]", "splits: byte 17: a JSON number 9e9, want a list of splits"},
		{twoSplits, "", "splits: EOF"},
		{twoSplits, "{}", "splits: byte 1: a JSON object, want a list of splits"},
		{twoSplits, "[]", "splits: there is no split"},
		{twoSplits, "null", "splits: there is no split"},
		{`"more": 1}]`, `"more": 1}] ]`, "splits: there is more behind the list, at byte "},
		{`"more": 1}]`, "", "splits: unexpected EOF"},
	} {
		text := strings.Replace(twoSplits, test.old, test.with, 1)
		if _, err := ReadSplits(strings.NewReader(text), 6); err == nil || !strings.HasPrefix(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %s", text, err, test.want)
		}
	}
}

// Anything is an error of one line, or splits in which each row is in one part, and is
// tested once.
func FuzzReadSplits(f *testing.F) {
	f.Add(twoSplits, 6)
	f.Add(`[{"test": [0], "model_selection": [{"train": [1], "validation": [2]}]}]`, 3)
	f.Fuzz(func(t *testing.T, text string, rows int) {
		rows = max(0, min(rows, 1000))
		splits, err := ReadSplits(strings.NewReader(text), rows)
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Fatalf("%q", err)
			}
			return
		}
		var tested []int32
		for _, s := range splits {
			all := slices.Concat(s.Train, s.Valid, s.Test)
			tested = append(tested, s.Test...)
			for _, list := range [][]int32{all, s.Train, s.Valid, s.Test} {
				if !slices.IsSorted(list) && &list[0] != &all[0] || len(list) == 0 {
					t.Fatal("a part is empty, or not ascending")
				}
			}
			if slices.Sort(all); len(all) != rows || len(slices.Compact(all)) != rows || all[0] != 0 || int(all[rows-1]) != rows-1 {
				t.Fatal("a split has not each row once")
			}
		}
		if slices.Sort(tested); len(tested) != rows || len(slices.Compact(tested)) != rows {
			t.Fatal("not each row is tested once")
		}
	})
}

// The published folds have as many graphs as their collections.
func TestReadSplitsData(t *testing.T) {
	for name, rows := range map[string]int{"NCI1": 4110, "DD": 1178, "PROTEINS_full": 1113, "COLLAB": 5000, "IMDB-BINARY": 1000, "IMDB-MULTI": 1500, "REDDIT-BINARY": 2000} {
		f, err := os.Open(filepath.Join(os.Getenv("SANFLOW_DATA"), "splits", name+".json"))
		if err != nil {
			t.Skip("SANFLOW_DATA has no splits")
		}
		defer f.Close()
		if s, err := ReadSplits(f, rows); err != nil || len(s) != 10 {
			t.Errorf("%s: %d splits, %v", name, len(s), err)
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
	var given []Split
	for i := range 4 {
		var s Split
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
	score := func(t Trial, step int) Score {
		x := Seed(uint64(t.Fold), uint64(t.Variant), uint64(step), uint64(map[bool]int{true: 1}[t.Inner]))
		return Score{Correct: int(x % 7), Loss: float64(x % 3), HeldOut: float64(x%11 + 1), Value: float64(x % 13)}
	}
	for name, v := range map[string]CrossValidation{
		"inner trials": {}, "refit": {Refit: true}, "held out": {HeldOut: true}, "held out, refit": {HeldOut: true, Refit: true},
		"measure": {Measure: MAE}, "held out, inner": {HeldOut: true, Inner: true}, "inner": {Inner: true},
	} {
		var mu sync.Mutex
		trials := map[string]Trial{}
		v.Given, v.Repeats, v.Variants, v.Workers, v.Seed = given, runs, variants, 2, 7
		v.Learn = func(_ context.Context, tr Trial) (s []Score, err error) {
			mu.Lock()
			trials[tr.Name()] = tr
			mu.Unlock()
			for step := range steps {
				s = append(s, score(tr, step))
			}
			return s, nil
		}
		all, err := v.Run(context.Background(), class)
		if err != nil {
			t.Fatal(err)
		}
		want := len(given) * runs * variants
		if !v.HeldOut {
			want *= 2
		}
		if len(trials) != want || len(all.Nested) != len(given)*runs {
			t.Fatalf("%s: %d trials, want %d; %d choices", name, len(trials), want, len(all.Nested))
		}
		for _, tr := range trials {
			g := given[tr.Fold%len(given)]
			test, learned := g.Test, g.Train
			switch {
			case v.Inner:
				test = g.Valid
				if tr.Inner {
					test = tr.Test
				}
				rest := slices.Concat(tr.Train, tr.Valid)
				if tr.Inner {
					rest = slices.Concat(tr.Train, tr.Test)
				}
				if slices.Sort(rest); !slices.Equal(rest, g.Train) || len(rest)-len(tr.Train) != len(g.Valid) {
					t.Errorf("%s: %+v", name, tr)
				}
				learned = tr.Train
			case tr.Inner:
				test = g.Valid
			case v.Refit:
				learned = slices.Concat(g.Train, g.Valid)
				slices.Sort(learned)
			}
			if !slices.Equal(tr.Test, test) || !slices.Equal(tr.Train, learned) {
				t.Errorf("%s: %+v", name, tr)
			}
			if valid := g.Valid; !v.Inner && v.HeldOut && (v.Refit && tr.Valid != nil || !v.Refit && !slices.Equal(tr.Valid, valid)) {
				t.Errorf("%s: chosen by %v", name, tr.Valid)
			}
		}
		for fold, c := range all.Nested {
			for variant := range variants {
				for step := range steps {
					of := func(variant, step int) Score {
						return score(Trial{Fold: fold, Variant: variant, Inner: !v.HeldOut}, step)
					}
					p, q := of(variant, step), of(c.Variant, c.Step)
					switch {
					case v.HeldOut && p.HeldOut < q.HeldOut, v.Measure != "" && p.Value < q.Value, !v.HeldOut && v.Measure == "" && p.Correct > q.Correct:
						t.Errorf("%s: fold %d: %+v is chosen, and variant %d, step %d is better", name, fold, c, variant, step)
					}
				}
			}
			if c.Score != score(Trial{Fold: fold, Variant: c.Variant}, c.Step) || c.Rows != len(all.Splits[fold].Test) {
				t.Errorf("%s: fold %d: %+v", name, fold, c)
			}
		}
	}
	learn := func(context.Context, Trial) ([]Score, error) { return make([]Score, 1), nil }
	for _, test := range []struct {
		v    CrossValidation
		want string
	}{
		{CrossValidation{Given: given, Folds: 3}, "Folds is 3, and there are 4 Given splits"},
		{CrossValidation{Given: []Split{}}, "there is no split"},
		{CrossValidation{Given: []Split{{Train: []int32{1, 0}, Valid: []int32{2}, Test: []int32{3}}}}, "split 0, train: row 0 comes after 1, want them ascending"},
		{CrossValidation{Given: []Split{{Train: []int32{1, 60}, Valid: []int32{2}, Test: []int32{3}}}}, "there is no row 60"},
		{CrossValidation{Given: []Split{{Train: []int32{1}, Test: []int32{3}}}}, `split 0 has no rows of "validation"`},
		{CrossValidation{Refit: true}, "Refit is set without Given"},
	} {
		test.v.Learn = learn
		if _, err := test.v.Run(context.Background(), class); err == nil || !strings.HasPrefix(err.Error(), "validation: cross-validation: ") || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v, want %s", err, test.want)
		}
	}
}
