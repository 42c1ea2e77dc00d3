package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/gonum/stat"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/examples/internal/clitest"
	"github.com/sanflow/sanflow/internal/leak"

	"github.com/sanflow/sanflow/sinks/choose"
)

// splitsOf writes a file of three splits of so many graphs.
func splitsOf(t *testing.T, graphs int) string {
	t.Helper()
	var all []string
	for fold := range 3 {
		var parts [3][]string
		for g := range graphs {
			part := map[int]int{0: 2, 1: 1}[(g+fold)%3]
			if part == 1 && g%2 == 0 { // most of a third is learned from too
				part = 0
			}
			parts[part] = append(parts[part], fmt.Sprint(g))
		}
		all = append(all, fmt.Sprintf(`{"test": [%s], "model_selection": [{"train": [%s], "validation": [%s]}]}`,
			strings.Join(parts[2], ","), strings.Join(parts[0], ","), strings.Join(parts[1], ",")))
	}
	return clitest.File(t, "splits.json", "["+strings.Join(all, ",\n")+"]")
}

// Given splits have a mean of the means over runs, whatever the number of workers; a run that was
// interrupted goes on behind the last trial, and has the same cells.
func TestSplits(t *testing.T) {
	defer leak.VerifyNone(t)
	args := []string{"-data", small(t, "SMALL", 12), "-splits", splitsOf(t, 25), "-systems", "majority,wl,best", "-workers", "2"}
	r := benchmark(t, args...)
	if len(r.Cells) != 3 || !r.Given || r.Folds != 3 || r.Repeats != 3 {
		t.Fatalf("%+v", r)
	}
	for _, one := range r.Cells {
		runs := map[bool]int{true: 3, false: 1}[one.System == "best"]
		mean, std := stat.MeanStdDev(one.BySplit, nil)
		if one.Status != done || one.Runs != runs || len(one.ByRun) != runs || len(one.BySplit) != 3 ||
			math.Abs(*one.Mean-mean) > 1e-9 || math.Abs(*one.StdDev-std) > 1e-9 || math.Abs(stat.Mean(one.ByRun, nil)-mean) > 1e-9 || one.Nested != nil || (one.MeanValid != nil) != (runs == 3) {
			t.Errorf("%+v", one)
		}
	}
	dir := filepath.Join(t.TempDir(), "run")
	kept := append(args[:len(args):len(args)], "-workers", "1", "-checkpoint", dir, "-resume")
	// It ends after the first trials.
	ctx, cancel := context.WithCancelCause(context.Background())
	go func() {
		for {
			if trials, _ := filepath.Glob(filepath.Join(dir, "trial-*")); len(trials) > 2 {
				cancel(cli.ErrInterrupted)
				return
			}
			time.Sleep(time.Millisecond)
		}
	}()
	clitest.Silence(t)
	if err := run(ctx, kept); !errors.Is(err, cli.ErrInterrupted) {
		t.Fatal(err)
	}
	before, _ := filepath.Glob(filepath.Join(dir, "trial-*"))
	if again := benchmark(t, kept...); !reflect.DeepEqual(again, r) || len(before) < 3 || len(before) > 8 {
		t.Errorf("resumed after %d trials: other cells", len(before))
	}
	for want, more := range map[string][]string{
		"is of a run with splits": {"-splits", clitest.File(t, "splits.json", "[]")},
		"-refit false":            {"-refit"},
		"-resume: ":               {"-repeats", "2"},
	} {
		if err := run(context.Background(), append(kept[:len(kept):len(kept)], more...)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %s", more, err, want)
		}
	}
	refit := benchmark(t, append(args, "-refit", "-repeats", "1", "-systems", "best")...)
	if one := refit.Cells[0]; one.Runs != 1 || one.MeanValid != nil || len(one.BySplit) != 3 {
		t.Errorf("%+v", one)
	}
	var text strings.Builder
	r = benchmark(t, append(args, "-systems", "best,k5", "-repeats", "1", "-inner", "-score", "balanced")...)
	err := r.Print(&text)
	for _, part := range []string{"3 given splits, seed 1; balanced accuracy in percent", "tested on validation", "      test ", "validation ", "\nk5 "} {
		if !strings.Contains(text.String(), part) {
			t.Errorf("%s (%v), want %s", &text, err, part)
		}
	}
}

// moleculeTable writes a table of acids and amines, the last of which have no class, and a file of
// parts.
func moleculeTable(t *testing.T) (table, parts string) {
	t.Helper()
	var rows, lines strings.Builder
	rows.WriteString("id,SMILES,acid\n")
	for n := range 36 {
		end, class := "O", "1"
		if n%2 == 0 {
			end, class = "N", "0"
		}
		if n%7 == 0 {
			end = "F"
		}
		if n > 33 {
			class = ""
		}
		fmt.Fprintf(&rows, "%d,%s%s,%s\n", n, strings.Repeat("C", 2+n%5), end, class)
		fmt.Fprintln(&lines, []string{"train", "train", "valid", "test", "train", "none"}[n/2%6])
	}
	return clitest.File(t, "acids.csv", rows.String()), clitest.File(t, "parts.txt", lines.String())
}

// ofKinds gives the molecules of an SD file a data item, of two values.
func ofKinds(sdf string) string {
	var b strings.Builder
	for i, m := range strings.SplitAfter(sdf, "$$$$\n") {
		b.WriteString(strings.Replace(m, "$$$$\n", fmt.Sprintf("> <kind>\n%d\n\n$$$$\n", i%2), 1))
	}
	return b.String()
}

// Molecules have an AUC on the parts of a file, or are a collection as any other.
func TestMolecules(t *testing.T) {
	defer leak.VerifyNone(t)
	table, parts := moleculeTable(t)
	args := []string{"-data", table, "-smiles", "SMILES", "-class", "acid", "-parts", parts}
	r := benchmark(t, args...)
	one := r.Cells[0]
	if len(r.Cells) != 1 || one.System != "best" || r.Collections[0].Graphs != 34 || one.MeanValid == nil || *one.Mean < 0.5 || *one.Mean > 1 || one.StdDev != nil {
		t.Errorf("%+v", one)
	}
	if one := benchmark(t, append(args, "-inner")...).Cells[0]; one.Mean == nil || one.MeanValid == nil {
		t.Errorf("%+v", one)
	}
	for _, one := range benchmark(t, append(args, "-systems", "trees,best+trees")...).Cells {
		if one.MeanValid == nil || *one.MeanValid < 0 || *one.MeanValid > 1 {
			t.Errorf("%+v", one)
		}
	}
	if one := benchmark(t, append(args, "-repeats", "2", "-score", "logloss", "-systems", "online")...).Cells[0]; one.StdDev == nil || one.Runs != 2 || *one.Mean < 0 {
		t.Errorf("%+v", one)
	}
	if one := benchmark(t, "-data", table, "-smiles", "SMILES", "-class", "acid", "-folds", "3", "-repeats", "1", "-score", "ap").Cells[0]; one.Nested == nil || *one.Nested > 1 || *one.Behind != 0 {
		t.Errorf("%+v", one)
	}
	collection := small(t, "SMALL", 4)
	short := clitest.File(t, "short.txt", "train\n")
	sdf, err := os.ReadFile("../../sources/molecules/testdata/rdkit.sdf")
	if err != nil {
		t.Fatal(err)
	}
	kinds := clitest.File(t, "kinds.sdf", ofKinds(string(sdf)))
	if r := benchmark(t, "-data", kinds, "-class", "kind", "-folds", "2", "-repeats", "1"); r.Cells[0].System != "best" || r.Cells[0].Nested == nil || r.Collections[0].Classes != 2 {
		t.Errorf("%+v", r)
	}
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"-data", collection, "-splits", splitsOf(t, 8)}, "splits.json for SMALL: splits: split 0 has 8 rows, want all 9: row 8 is missing"},
		{[]string{"-data", collection, "-splits", splitsOf(t, 10)}, "there is no row 9, want 0 to 8"},
		{[]string{"-data", collection, "-splits", clitest.File(t, "s.json", "[1]")}, "s.json for SMALL: splits: byte 2: a JSON number"},
		{[]string{"-data", collection, "-splits", "nowhere.json"}, "nowhere.json: no such file"},
		{[]string{"-data", collection, "-splits", "a", "-folds", "3"}, "-folds is for random folds"},
		{[]string{"-data", collection, "-splits", "a", "-parts", "b"}, "want one"},
		{[]string{"-data", collection + ",B", "-splits", "a"}, "-data names several"},
		{[]string{"-data", collection, "-splits", "a", "-protocol", "paper"}, "-protocol paper chooses on test folds"},
		{[]string{"-data", collection, "-splits", "a", "-out", "x.svg"}, "-out draws random folds"},
		{[]string{"-data", collection, "-refit"}, "-refit is for -splits and -parts"},
		{[]string{"-data", collection, "-score", "auc", "-systems", "wl"}, "-score auc needs probabilities, which wl does not give"},
		{[]string{"-data", collection, "-score", "f1"}, "-score is f1, want one of accuracy, balanced"},
		{[]string{"-data", collection, "-score", "mae", "-systems", "best"}, "-score mae is for numbers"},
		{[]string{"-data", collection, "-parts", parts, "-systems", "best"}, "parts.txt has 36 lines, and SMALL 9 graphs"},
		{[]string{"-data", collection, "-parts", clitest.File(t, "p", "train\n")}, "p has 1 lines, and SMALL a graph 1, from 0"},
		{[]string{"-data", collection, "-parts", clitest.File(t, "p", "train\nfirst\n")}, `p:2: row 2: column "part": "first", want train, valid`},
		{[]string{"-data", collection, "-parts", clitest.File(t, "p", strings.Repeat("train\n", 9))}, `split 0 has no rows of "validation"`},
		{[]string{"-data", table, "-smiles", "SMILES"}, "-smiles needs -class"},
		{[]string{"-smiles", "SMILES", "-class", "acid"}, "-class is of one file of molecules"},
		{[]string{"-data", table}, "acids.csv needs -class"},
		{[]string{"-data", kinds}, "kinds.sdf needs -class"},
		{[]string{"-data", kinds, "-smiles", "SMILES", "-class", "kind"}, "an SD file has none"},
		{[]string{"-data", kinds, "-class", "none"}, `no molecule has the data item "none", want a class; there are the data items ["kind" "smiles"]`},
		{[]string{"-data", collection, "-class", "kind"}, "-class is for molecules"},
		{[]string{"-data", table, "-smiles", "SMILES", "-class", "acid", "-parts", short}, "Parts has only 1 rows"},
		{[]string{"-data", table, "-smiles", "SMILES", "-class", "acid", "-parts", clitest.File(t, "long", strings.Repeat("train\n", 37))}, "36 rows, and Parts has 37"},
		{[]string{"-data", table, "-smiles", "SMILE", "-class", "acid"}, `there is no column "SMILE"`},
		{[]string{"-data", table, "-smiles", "acid", "-class", "id"}, `acids.csv:2: row 1: column "acid": character 1, "0"`},
	} {
		if err := run(context.Background(), test.args); err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v: %v, want %q", test.args, err, test.want)
		}
	}
}

// With -skip molecules that cannot be read are left out, and the others keep their parts.
func TestSkip(t *testing.T) {
	var all, good, parts, left strings.Builder
	all.WriteString("smi\tactive\n")
	good.WriteString("smi\tactive\n")
	for n := range 48 {
		row := fmt.Sprintf("%s%s\t%s\n", strings.Repeat("C", 2+n%5), []string{"N", "O"}[n%2], []string{"inactive", "active"}[n%5/3])
		part := []string{"train", "train", "valid", "test"}[n/3%4]
		fmt.Fprintln(&parts, part)
		if n%11 == 5 {
			fmt.Fprintf(&all, "C1%s", row)
			continue
		}
		all.WriteString(row)
		good.WriteString(row)
		fmt.Fprintln(&left, part)
	}
	args := []string{"-smiles", "smi", "-class", "active", "-parts", clitest.File(t, "parts", parts.String()), "-data", clitest.File(t, "all.tsv", all.String())}
	got := benchmark(t, append(args, "-skip")...)
	want := benchmark(t, append(args[:4:4], "-parts", clitest.File(t, "left", left.String()), "-data", clitest.File(t, "all.tsv", good.String()))...)
	if a, b := got.Collections[0], want.Collections[0]; a.Graphs != 44 || a != b {
		t.Errorf("%+v, want %+v", a, b)
	}
	if a, b := got.Cells[0], want.Cells[0]; *a.Mean != *b.Mean || *a.MeanValid != *b.MeanValid {
		t.Errorf("%+v, want %+v", a, b)
	}
	for want, args := range map[string][]string{
		`all.tsv:7: row 6: column "smi": character 2, "1": the ring 1 is never closed`: args,
		"-skip is for molecules": {"-skip"},
	} {
		if err := run(context.Background(), args); err == nil || !strings.HasSuffix(strings.Split(err.Error(), ": a table")[0], want) {
			t.Errorf("%v: %v, want %s", args, err, want)
		}
	}
}

// Of a table with several targets each column has the molecules for which it is known; the parts
// stay those of the rows.
func TestTargets(t *testing.T) {
	var rows, parts strings.Builder
	rows.WriteString("\ufeff\"smi\",one,two,three\r\n")
	known := map[string]int{}
	for n := range 60 {
		end, words := []string{"N", "O"}[n%2], map[string]string{}
		for i, name := range []string{"one", "two", "three"} {
			if n%(7-2*i) > 0 {
				words[name] = map[string]string{"N": "inactive", "O": "active"}[end]
				known[name]++
			}
		}
		if n/3%4 == 3 {
			words["three"] = strings.Repeat("inactive", len(words["three"])/6) // all tested ones are of one class
		}
		fmt.Fprintf(&rows, "\"%s%s\",%s,\"%s\",%s\r\n", strings.Repeat("C", 2+n%5), end, words["one"], words["two"], words["three"])
		fmt.Fprint(&parts, []string{"train", "train", "valid", "test"}[n/3%4], "\r\n")
	}
	args := []string{"-data", clitest.File(t, "t.csv", rows.String()), "-smiles", "smi", "-parts", clitest.File(t, "parts", parts.String()), "-class"}
	for _, name := range []string{"one", "two"} {
		if r := benchmark(t, append(args, name)...); r.Collections[0].Graphs != known[name] || r.Collections[0].Classes != 2 || *r.Cells[0].Mean != 1 {
			t.Errorf("%s: %+v, want %d graphs", name, r, known[name])
		}
	}
	for name, want := range map[string]string{"three": "test rows: auc: all", "one,two": `there is no column "one,two"; there are "smi", "one", "two", "three"`} {
		if err := run(context.Background(), append(args, name)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
}

// A matrix of all pairs of many graphs is refused before the work.
func TestKernelsRefuseManyGraphs(t *testing.T) {
	_, err := find("wl").plan(t.Context(), &config{}, &collection{Collection: &choose.Collection{Class: make([]int32, 40_000)}})
	if err == nil || !strings.Contains(err.Error(), "12.8 GB for 40000 graphs") {
		t.Errorf("%v", err)
	}
}
