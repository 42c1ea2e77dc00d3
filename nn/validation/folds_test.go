package validation

import (
	"math/rand/v2"
	"slices"
	"strings"
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
