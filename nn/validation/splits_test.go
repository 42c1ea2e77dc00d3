package validation

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
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
