package command

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sanflow/sanflow/examples/internal/clitest"
	"github.com/sanflow/sanflow/flow/manifest"
)

// fileBytes returns the files of a directory.
func fileBytes(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all[e.Name()] = string(b)
	}
	return all
}

// Parts hold the rows of one run, of one graph and of many, whoever makes them; what is damaged is
// named by -verify, and the next run makes only that.
func TestExportParts(t *testing.T) {
	clitest.Silence(t)
	two := edgeLists(t, "10 20\n20 30\n30 40\n40 50\n", "100 200\n")
	for _, args := range []string{
		"-graph preferential -n 300 -k 5 -chunk 16", "-graph preferential -n 300 -k 5 -per graph -w 40 -as arrow",
		"-graph preferential -n 200 -k 3 -select degree -w 50", "-graph " + two + " -k 3", "-graph " + two + " -k 3 -per graph -w 4 -field-edges",
	} {
		whole := exportedRows(t, strings.Fields(args)...)
		dir := t.TempDir()
		one, many := filepath.Join(dir, "one"), filepath.Join(dir, "many")
		r := clitest.JSON[map[string]any](t, export, append(strings.Fields(args), "-parts", "5", "-out", one)...)
		if r["rows"] != float64(len(whole)) || r["parts"] == nil || r["made"] != r["parts"] || r["fields"] == 0. {
			t.Errorf("%s: %v", args, r)
		}
		if got := storedRows(t, one); !slices.Equal(got, whole) {
			t.Errorf("%s: %d rows of parts are other ones than %d of one run", args, len(got), len(whole))
		}
		var group sync.WaitGroup
		for i := range 3 {
			group.Go(func() {
				if err := export(t.Context(), append(strings.Fields(args), "-parts", "5", "-shard", fmt.Sprintf("%d/3", i), "-out", many, "-workers", "1")); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		want := fileBytes(t, one)
		if got := fileBytes(t, many); !maps.Equal(got, want) {
			t.Errorf("%s: three shards have %v, one run %v", args, slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
		}
		names, err := filepath.Glob(filepath.Join(one, "part-00000.*"))
		if err != nil || len(names) != 1 {
			t.Fatal(names, err)
		}
		if err := os.Truncate(names[0], 50); err != nil {
			t.Fatal(err)
		}
		if err := export(t.Context(), []string{"-verify", "-out", one}); err == nil || !strings.HasSuffix(err.Error(), "are missing or damaged: 0") {
			t.Errorf("%v, want that part 0 is damaged", err)
		}
		if r = clitest.JSON[map[string]any](t, export, append(strings.Fields(args), "-parts", "5", "-out", one)...); r["made"] != 1. {
			t.Errorf("%v were made again, want 1", r["made"])
		}
		if err := export(t.Context(), []string{"-verify", "-out", one}); err != nil || !maps.Equal(fileBytes(t, one), want) {
			t.Errorf("after the damage was mended: %v", err)
		}
		if err := os.Remove(filepath.Join(one, manifest.Name)); err != nil {
			t.Fatal(err)
		}
		if err := export(t.Context(), []string{"-verify", "-out", one}); err == nil || !strings.Contains(err.Error(), "manifest.json is missing") {
			t.Errorf("without a manifest: %v", err)
		}
		clitest.JSON[map[string]any](t, export, append(strings.Fields(args), "-parts", "5", "-out", one)...)
		if err := export(t.Context(), []string{"-verify", "-out", one}); err != nil || !maps.Equal(fileBytes(t, one), want) {
			t.Errorf("after the manifest was made again: %v", err)
		}
	}
}

// Another input or recipe in the same directory, and flags that do not fit, are refused in one line.
func TestExportPartsRefused(t *testing.T) {
	clitest.Silence(t)
	graph, dir := clitest.File(t, "a.edges", "1 2\n2 3\n3 4\n"), t.TempDir()
	run := func(args string) error {
		return export(t.Context(), append(strings.Fields(args), "-out", filepath.Join(dir, "out")))
	}
	for i, want := range []string{"made by this run", "made before"} {
		if out, _ := printed(t, "export", "-graph", graph, "-k", "2", "-parts", "2", "-shard", "0/2", "-chunk", "1", "-out", filepath.Join(dir, "half")); !strings.Contains(out, want) {
			t.Errorf("run %d: %s, want %q", i, out, want)
		}
	}
	if err := describe(t.Context(), io.Discard, filepath.Join(dir, "half")); err == nil || !strings.Contains(err.Error(), "1 of 2 parts are missing or damaged: 1") {
		t.Errorf("inspect of half an export: %v", err)
	}
	if out, _ := printed(t, "export", "-graph", graph, "-k", "2", "-parts", "2", "-shard", "0/2", "-chunk", "1", "-out", filepath.Join(dir, "out")); strings.Contains(out, "manifest.json") || !strings.Contains(out, "1 of the plan are not there yet") {
		t.Errorf("%s, want no manifest before the last part", out)
	}
	if err := os.WriteFile(graph, []byte("1 2\n2 3\n3 5\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"-graph " + graph + " -k 2 -parts 2 -chunk 1": "the input has changed",
		"-graph " + graph + " -k 3 -parts 2 -chunk 1": "plan of another recipe",
		"-graph torus -parts 2 -as jsonl":             "-parts writes files of fields",
		"-graph torus -graphs -parts 2":               "-parts writes files of fields",
		"-graph torus -shard 0/2":                     "-parts is not",
		"-graph torus -parts 2 -shard 2/2":            "want i/n, with i from 0 to n-1",
		"-graph torus -parts 2 -shard 1":              "want i/n, with i from 0 to n-1",
		"-graph torus -k 2":                           "it holds the parts of a plan",
	} {
		if err := run(args); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %q", args, err, want)
		}
	}
	if err := export(t.Context(), []string{"-verify", "-out", dir}); err == nil || !strings.Contains(err.Error(), "has no plan") {
		t.Errorf("%v", err)
	}
	if err := export(t.Context(), []string{"-verify", "-out", filepath.Join(dir, "out")}); err == nil || !strings.HasSuffix(err.Error(), "1 of 2 parts are missing or damaged: 1") {
		t.Errorf("%v", err)
	}
}

// The graphs that a shard leaves for the others are read again where they are damaged, and the input is what the files
// have, by whatever name they are called.
func TestExportPartsGraphs(t *testing.T) {
	clitest.Silence(t)
	rows := "source,target\n"
	for v := range 60 {
		rows += fmt.Sprintf("a%d,a%d\n", v, (v*7+1)%60)
	}
	table, dir := clitest.File(t, "a.csv", rows), t.TempDir()
	run := func(table, shard, out string) {
		t.Helper()
		if err := export(t.Context(), []string{"-edges", table, "-k", "3", "-chunk", "4", "-parts", "6", "-shard", shard, "-out", filepath.Join(dir, out)}); err != nil {
			t.Fatal(err)
		}
	}
	run(table, "0/1", "one")
	run(table, "0/2", "two")
	names, err := filepath.Glob(filepath.Join(dir, "two", "_graphs-*"))
	if err != nil || len(names) != 1 {
		t.Fatal(names, err)
	}
	text, err := os.ReadFile(names[0])
	if err != nil {
		t.Fatal(err)
	}
	text[len(text)/2] ^= 4
	if err := os.WriteFile(names[0], text, 0o644); err != nil {
		t.Fatal(err)
	}
	run(filepath.Dir(table)+"/../"+filepath.Base(filepath.Dir(table))+"/a.csv", "1/2", "two")
	if one, two := fileBytes(t, filepath.Join(dir, "one")), fileBytes(t, filepath.Join(dir, "two")); !maps.Equal(one, two) {
		t.Errorf("two shards have %v, one run %v", slices.Sorted(maps.Keys(two)), slices.Sorted(maps.Keys(one)))
	}
}
