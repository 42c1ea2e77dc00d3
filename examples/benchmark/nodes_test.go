package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/examples/internal/clitest"
	"github.com/sanflow/sanflow/internal/leak"
	"github.com/sanflow/sanflow/internal/race"
)

// nodesResult runs the command and returns its JSON object.
func nodesResult(t *testing.T, args ...string) map[string]any {
	t.Helper()
	return clitest.JSON[map[string]any](t, nodesTask, args...)
}

// villages is a folder with a graph of three communities of n nodes. Words tell
// a little of the community; rich is how often they do, in percent.
func villages(t *testing.T, n, rich int, split bool) string {
	t.Helper()
	dir := t.TempDir()
	r := rand.New(rand.NewPCG(1, 2))
	var edges, labels, features, parts strings.Builder
	for v := range 3 * n {
		home := v / n
		for range 3 {
			u := home*n + r.IntN(n)
			if r.IntN(8) == 0 {
				u = r.IntN(3 * n)
			}
			fmt.Fprintln(&edges, v, u)
		}
		fmt.Fprintln(&labels, home)
		word := r.IntN(30)
		if r.IntN(100) < rich {
			word = home*10 + r.IntN(10)
		}
		fmt.Fprintf(&features, "%d:1\n", word)
		fmt.Fprintln(&parts, []string{"train", "none", "val", "test", "test"}[r.IntN(5)])
	}
	files := map[string]string{"edges": edges.String(), "labels": labels.String(), "features": features.String()}
	if split {
		files["split"] = parts.String()
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name+".txt"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestNodesJSON(t *testing.T) {
	defer leak.VerifyNone(t)
	dir := villages(t, 60, 80, true)
	r := nodesResult(t, "-data", dir, "-seed", "3", "-systems", "linear,words")
	for _, name := range strings.Fields("dataset nodes edges classes model accuracy majority peak_rss_mb seconds systems") {
		if _, ok := r[name]; !ok {
			t.Errorf("no field %s", name)
		}
	}
	if r["nodes"] != 180. || r["classes"] != 3. || r["identity"] != false {
		t.Errorf("%v", r)
	}
	if a := r["accuracy"].(float64); a < 70 || a > 100 {
		t.Errorf("accuracy %v", a)
	}
	if m := r["majority"].(float64); m < 33 || m > 45 {
		t.Errorf("majority %v", m)
	}
}

func TestNodesWorkersDoNotMatter(t *testing.T) {
	defer leak.VerifyNone(t)
	dir, numbers := villages(t, 120, 40, true), []string{"1", "3", "2"}
	if race.Enabled {
		numbers = []string{"1", "3"}
	}
	for _, args := range [][]string{{"-data", dir, "-systems", "cnn,words"}} {
		var first string
		for _, workers := range numbers {
			r := nodesResult(t, append(slices.Clone(args), "-workers", workers)...)
			for _, clock := range []string{"seconds", "peak_rss_mb"} {
				delete(r, clock)
			}
			for _, in := range append(asList(r["splits"]), r) {
				for _, s := range asList(in.(map[string]any)["systems"]) {
					delete(s.(map[string]any), "seconds")
				}
			}
			if got := fmt.Sprint(r); first == "" {
				first = got
			} else if got != first {
				t.Fatalf("%v: results differ at %s workers:\n%s\n%s", args, workers, first, got)
			}
		}
	}
}

// Without features a node's number is one, and data without a split are dealt.
func TestNodesAlone(t *testing.T) {
	dir := villages(t, 60, 0, false)
	if err := os.Remove(filepath.Join(dir, "features.txt")); err != nil {
		t.Fatal(err)
	}
	r := nodesResult(t, "-data", dir, "-systems", "ensemble")
	if r["identity"] != true || r["split"] != "by the seed" || r["train"] != 120. || r["val"] != 30. || r["test"] != 30. {
		t.Errorf("%v", r)
	}
	if a := r["accuracy"].(float64); a < 60 {
		t.Errorf("accuracy %v", a)
	}
}

func TestNodesErrors(t *testing.T) {
	dir := villages(t, 20, 40, true)
	with := func(file, text string) string {
		d := t.TempDir()
		for _, name := range []string{"edges.txt", "labels.txt", "features.txt", "split.txt"} {
			b, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			if name == file {
				b = []byte(text)
			}
			if err := os.WriteFile(filepath.Join(d, name), b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return d
	}
	notZip := filepath.Join(t.TempDir(), "x.zip")
	if err := os.WriteFile(notZip, []byte("PK this is not"), 0o600); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"-data x -edges e -nodes n -class c":                       "both set",
		"-data " + dir + " -systems gcn":                           `there is no system "gcn"`,
		"-data x -score rmse":                                      "rmse is for numbers",
		"-data x -workers -1":                                      "-workers is -1",
		"-data x -json /nowhere/at/all":                            "cannot write",
		"-data " + notZip:                                          "x.zip",
		"-data /nowhere/at/all.zip":                                "no such file",
		"-data " + with("edges.txt", "0 1\n1 60\n"):                "edges.txt:2: node 60",
		"-data " + with("labels.txt", "1\n2\n"):                    "edges.txt:1: node",
		"-data " + with("labels.txt", strings.Repeat("7\n", 60)):   "all nodes are of class 7",
		"-data " + with("split.txt", strings.Repeat("test\n", 60)): "there are no rows to learn from",
	} {
		if err := nodesTask(context.Background(), strings.Fields(args)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error with %q", args, err, want)
		}
	}
}

// The context of an example ends with Ctrl-C.
func TestNodesInterrupt(t *testing.T) {
	defer leak.VerifyNone(t)
	dir := villages(t, 2000, 40, true)
	for _, args := range [][]string{{"-systems", "ensemble"}} {
		for _, after := range []time.Duration{0, 20 * time.Millisecond, 300 * time.Millisecond} {
			ctx, cancel := context.WithCancelCause(context.Background())
			time.AfterFunc(after, func() { cancel(cli.ErrInterrupted) })
			start := time.Now()
			err := nodesTask(ctx, append([]string{"-data", dir}, args...))
			if !errors.Is(err, cli.ErrInterrupted) {
				t.Errorf("interrupted after %v: %v, want %v", after, err, cli.ErrInterrupted)
			}
			if took := time.Since(start) - after; took > leak.Patience {
				t.Errorf("interrupted after %v: took another %v", after, took)
			}
		}
	}
}

// With 140 nodes to learn from a graph convolution has 81.5 %.
func TestNodesCora(t *testing.T) {
	dir := os.Getenv("SANFLOW_DATA")
	file := filepath.Join(dir, "nodes", "Cora.zip")
	if _, err := os.Stat(file); err != nil {
		t.Skip("needs the data sets: set SANFLOW_DATA to their folder")
	}
	r := nodesResult(t, "-data", file, "-systems", "ensemble")
	if a := r["accuracy"].(float64); a < 82 || r["train"] != 140. || r["test"] != 1000. {
		t.Errorf("accuracy %v with %v nodes to learn from", a, r["train"])
	}
}

// asList is a list of JSON, which may be missing.
func asList(x any) []any {
	list, _ := x.([]any)
	return list
}

// Splits in columns of a table are learned apart: figures are means over them, and a split alone has the figures that it has
// among others. Their columns are no attributes.
func TestNodesParts(t *testing.T) {
	defer leak.VerifyNone(t)
	r := rand.New(rand.NewPCG(4, 4))
	nodes, edges := strings.Builder{}, strings.Builder{}
	nodes.WriteString("name,word,kind,first,second\n")
	edges.WriteString("a,b\n")
	for v := range 180 {
		kind := v % 3
		word := kind
		if r.IntN(4) == 0 {
			word = r.IntN(3)
		}
		part := func() string { return []string{"train", "train", "valid", "test", ""}[r.IntN(5)] }
		fmt.Fprintf(&nodes, "n%d,w%d,k%d,%s,%s\n", v, word, kind, part(), part())
		for range 3 {
			fmt.Fprintf(&edges, "n%d,n%d\n", v, (v+3*(1+r.IntN(50)))%180)
		}
	}
	tables := []string{"-edges", clitest.File(t, "e.csv", edges.String()), "-source", "a", "-target", "b",
		"-nodes", clitest.File(t, "n.csv", nodes.String()), "-id", "name", "-class", "kind", "-systems", "linear"}
	type result struct {
		Accuracy, Std float64
		AUC           *float64
		Splits        []nodesSplit
	}
	ask := func(args ...string) result { return clitest.JSON[result](t, nodesTask, slices.Concat(tables, args)...) }
	both, one := ask("-parts", "first,second", "-score", "auc"), ask("-parts", "second", "-score", "auc")
	if len(both.Splits) != 2 || len(one.Splits) != 1 || *both.Splits[1].Value != *one.Splits[0].Value || both.AUC == nil || one.AUC == nil {
		t.Fatalf("%+v, alone %+v", both, one)
	}
	x, y := *both.Splits[0].Value, *both.Splits[1].Value
	if math.Abs(*both.AUC-(x+y)/2) > 1e-12 || math.Abs(both.Std-math.Abs(x-y)/math.Sqrt2) > 1e-12 || *one.AUC != y || *both.AUC < 0.8 {
		t.Errorf("%v and %v: %+v", x, y, both)
	}
	if plain := ask("-parts", "first,second"); plain.AUC != nil || math.Abs(plain.Accuracy-(plain.Splits[0].Accuracy+plain.Splits[1].Accuracy)/2) > 1e-9 {
		t.Errorf("%+v", plain)
	}
	var text strings.Builder
	if err := (&nodesReport{nodesSplit: nodesSplit{Accuracy: 80}, Std: 1.25, Splits: both.Splits}).Print(&text); err != nil || !strings.Contains(text.String(), "80 ± 1.2 ") || !strings.Contains(text.String(), "of 2 splits") {
		t.Errorf("%v, %s", err, &text)
	}
	for want, args := range map[string][]string{
		"there is no -edges":       {"-parts", "first"},
		"want one":                 append(slices.Clone(tables), "-data", "x"),
		"wants -nodes and -class":  {"-edges", "x"},
		`there is no column "none`: append(slices.Clone(tables), "-parts", "none"),
		`names first twice`:        append(slices.Clone(tables), "-parts", "first,first"),
	} {
		if err := nodesTask(t.Context(), args); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want an error with %q", args, err, want)
		}
	}
}
