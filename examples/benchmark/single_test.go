package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/examples/internal/clitest"
	"github.com/sanflow/sanflow/internal/leak"
	"github.com/sanflow/sanflow/nn"
)

// classify runs the command and returns its JSON object.
func classify(t *testing.T, args ...string) map[string]any {
	t.Helper()
	return clitest.JSON[map[string]any](t, run, append([]string{"-task", "graphs"}, args...)...)
}

// collectionOfFiles writes a small TU collection: files by suffix.
func collectionOfFiles(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "SMALL")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for suffix, text := range files {
		if err := os.WriteFile(filepath.Join(dir, "SMALL_"+suffix+".txt"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// pathsAndStars is a collection of n paths and n stars of 5 nodes, with one
// continuous attribute that says nothing.
func pathsAndStars(n int) map[string]string {
	var edges, indicator, labels, attributes strings.Builder
	for g := range 2 * n {
		first := 5*g + 1
		for v := range 5 {
			fmt.Fprintln(&indicator, g+1)
			fmt.Fprintf(&attributes, "%d.5\n", (7*g+3*v)%11)
			if v > 0 {
				from := first
				if g%2 == 0 {
					from = first + v - 1
				}
				fmt.Fprintf(&edges, "%d, %d\n%d, %d\n", from, first+v, first+v, from)
			}
		}
		fmt.Fprintln(&labels, g%2)
	}
	return map[string]string{
		"A": edges.String(), "graph_indicator": indicator.String(),
		"graph_labels": labels.String(), "node_attributes": attributes.String(),
	}
}

func TestOneWorkersDoNotMatter(t *testing.T) {
	defer leak.VerifyNone(t)
	dir, numbers := collectionOfFiles(t, pathsAndStars(20)), []string{"1", "2", "5", "1"}
	if os.Getenv("SANFLOW_LONG") == "" {
		numbers = []string{"1", "5"}
	}
	for _, args := range [][]string{
		{"-folds", "2", "-epochs", "2", "-w", "6", "-k", "5"},
		{"-data", dir, "-folds", "3", "-k", "3", "-batch", "0", "-repeats", "2", "-protocol", "paper"},
		{"-data", dir, "-folds", "2", "-k", "3", "-epochs", "2", "-field-edges", "-pretrain", "rbm"},
		{"-data", dir, "-folds", "2", "-k", "3", "-epochs", "2", "-pretrain", "autoencoder"},
		{"-data", dir, "-folds", "2", "-k", "3", "-epochs", "2", "-model-kind", "gru", "-field-edges"},
		{"-data", dir, "-folds", "2", "-epochs", "2", "-model-kind", "best"},
	} {
		var first map[string]any
		for _, workers := range numbers {
			r := untimed(classify(t, append(slices.Clone(args), "-workers", workers)...))
			if first == nil {
				first = r
			} else if a, b := fmt.Sprint(first), fmt.Sprint(r); a != b {
				t.Fatalf("%v: results differ at %s workers:\n%s\n%s", args, workers, a, b)
			}
		}
	}
}

func TestAuto(t *testing.T) {
	defer leak.VerifyNone(t)
	r := classify(t, "-data", collectionOfFiles(t, pathsAndStars(10)), "-folds", "2", "-epochs", "1", "-k", "3", "-normalize", "auto", "-select", "AUTO")
	if r["normalize"] == "auto" || r["normalize"] != r["select"] {
		t.Errorf("select %v, normalize %v, want the same labeling in place of auto", r["select"], r["normalize"])
	}
}

func TestOneJSON(t *testing.T) {
	r := classify(t, "-data", collectionOfFiles(t, pathsAndStars(20)), "-folds", "4", "-k", "3", "-seed", "7")
	for _, name := range strings.Fields("dataset graphs classes w k protocol accuracy std fold_accuracy majority size_only epochs batch seed fields fields_per_s train_examples_per_s seconds model_sha256") {
		if _, ok := r[name]; !ok {
			t.Errorf("no field %s", name)
		}
	}
	want := map[string]any{"dataset": "SMALL", "graphs": 40., "classes": 2., "w": 5., "k": 3., "protocol": "nested",
		"majority": 50., "size_only": 50., "batch": 32., "seed": 7., "fields": 200.}
	for name, v := range want {
		if r[name] != v {
			t.Errorf("%s is %v, want %v", name, r[name], v)
		}
	}
	// Paths and stars of equal size are told apart by any field but the leaves'.
	if r["accuracy"].(float64) < 99 {
		t.Errorf("accuracy is %v, want 100", r["accuracy"])
	}
}

// rings is a collection of n rings of 4 nodes whose edges are of one of two
// types, which is their class.
func rings(n int) map[string]string {
	var edges, indicator, labels, types strings.Builder
	for g := range n {
		for v := range 4 {
			u := (v + 1) % 4
			fmt.Fprintln(&indicator, g+1)
			fmt.Fprintf(&edges, "%d, %d\n%d, %d\n", 4*g+v+1, 4*g+u+1, 4*g+u+1, 4*g+v+1)
			fmt.Fprintf(&types, "%d\n%d\n", g%2, g%2)
		}
		fmt.Fprintln(&labels, g%2)
	}
	return map[string]string{
		"A": edges.String(), "graph_indicator": indicator.String(),
		"graph_labels": labels.String(), "edge_labels": types.String(),
	}
}

// Every kind of model tells the rings apart with their edges, and none without.
func TestEdgesAndKinds(t *testing.T) {
	dir := collectionOfFiles(t, rings(40))
	for _, kind := range []string{"cnn", "pslr", "gru"} {
		for _, args := range [][]string{{"-field-edges"}, nil} {
			r := classify(t, append(args, "-data", dir, "-folds", "2", "-k", "4", "-batch", "4", "-epochs", "30", "-model-kind", kind)...)
			if a := r["accuracy"].(float64); args != nil && a < 99 || args == nil && a > 51 {
				t.Errorf("%s %v: accuracy %v", kind, args, a)
			}
			if r["edges"] != nil != (args != nil) || r["model_kind"] != nil != (kind != "cnn") {
				t.Errorf("%s %v: the report says %v and %v", kind, args, r["model_kind"], r["edges"])
			}
		}
	}
}

func TestModelFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "m.safetensors")
	classify(t, "-data", collectionOfFiles(t, pathsAndStars(10)), "-folds", "2", "-k", "3", "-epochs", "1", "-model", file)
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	net, err := nn.LoadPredictor(f)
	if err != nil {
		t.Fatal(err)
	}
	if says := net.Metadata(); says["classes"] != "0,1" || says["select"] != "betweenness" || says["k"] != "3" || says["mean"] == "" {
		t.Errorf("the model tells %v", says)
	}
}

func TestLegalOddities(t *testing.T) {
	// Graph 3 has no node, graph 4 has one, class 9 has one member; a self-loop,
	// a repeated edge.
	dir := collectionOfFiles(t, map[string]string{
		"A":               "1, 2\n2, 1\n2, 2\n1, 2\n3, 4\n4, 3\n6, 7\n7, 6\n",
		"graph_indicator": "1\n1\n2\n2\n4\n5\n5\n6\n",
		"graph_labels":    "1\n1\n2\n2\n9\n2\n",
	})
	r := classify(t, "-data", dir, "-folds", "2", "-epochs", "1", "-w", "2", "-k", "4")
	if r["graphs"] != 6. || r["classes"] != 3. {
		t.Errorf("got %v graphs of %v classes, want 6 of 3", r["graphs"], r["classes"])
	}
}

func TestOneErrors(t *testing.T) {
	good := pathsAndStars(3)
	with := func(suffix, text string) string {
		files := map[string]string{}
		for k, v := range good {
			files[k] = v
		}
		if files[suffix] = text; text == "" {
			delete(files, suffix)
		}
		return collectionOfFiles(t, files)
	}
	notZip := filepath.Join(t.TempDir(), "x.zip")
	if err := os.WriteFile(notZip, []byte("PK this is not"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		args string
		want string
	}{
		{"-k 0", "-k is 0"},
		{"-k 300", "256"},
		{"-w -1", "-w is -1"},
		{"-stride 0", "-stride is 0"},
		{"-folds 1", "-folds is 1"},
		{"-workers -2", "-workers is -2"},
		{"-select best", `unknown labeling "best"`},
		{"-normalize best", `unknown labeling "best"`},
		{"-protocol both", "nested or paper"},
		{"-epochs x", "invalid value"},
		{"-model-kind tree", "cnn, pslr, gru or best"},
		{"-model-kind best -k 5", "-k is of fields"},
		{"-pretrain dream", "rbm, autoencoder or none"},
		{"-pretrain rbm -model-kind gru", "a gru has no first layer"},
		{"stray", "unexpected argument"},
		{"-model /nowhere/at/all", "cannot write"},
		{"-data " + notZip, "x.zip"},
		{"-data " + with("A", "1, 2\n0, 1\n"), "SMALL_A.txt:2"},
		{"-data " + with("A", "1, 2\n1, 6\n"), "SMALL_A.txt:2"},
		{"-data " + with("node_attributes", strings.Repeat("1\n", 12)+"NaN\n"+strings.Repeat("1\n", 17)), "SMALL_node_attributes.txt:13"},
		{"-data " + with("graph_labels", "1\n2\n"), "SMALL_graph_labels.txt"},
		{"-data " + with("graph_labels", strings.Repeat("4\n", 6)), "class 4"},
		{"-data " + with("graph_labels", strings.Repeat("0.5\n", 6)), "real values"},
		{"-data " + with("graph_indicator", ""), "graph_indicator"},
		{"-data " + with("A", good["A"]) + " -folds 7", "7 folds of 6 graphs"},
	} {
		err := run(context.Background(), append([]string{"-task", "graphs"}, strings.Fields(test.args)...))
		if err == nil {
			t.Errorf("%s: no error, want one with %q", test.args, test.want)
		} else if !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want one with %q", test.args, err, test.want)
		}
	}
}

// The context of an example ends with Ctrl-C.
func TestOneInterrupt(t *testing.T) {
	defer leak.VerifyNone(t)
	for _, after := range []time.Duration{0, 20 * time.Millisecond, 300 * time.Millisecond} {
		ctx, cancel := context.WithCancelCause(context.Background())
		time.AfterFunc(after, func() { cancel(cli.ErrInterrupted) })
		start := time.Now()
		err := run(ctx, []string{"-task", "graphs", "-epochs", "1000"})
		if !errors.Is(err, cli.ErrInterrupted) {
			t.Errorf("interrupted after %v: %v, want %v", after, err, cli.ErrInterrupted)
		}
		if took := time.Since(start) - after; took > leak.Patience {
			t.Errorf("interrupted after %v: took another %v", after, took)
		}
	}
}

// A command without a model takes the recommended one for the generated collection, and
// the network of the paper for a collection, or with a flag that words have no use for.
func TestDefaultModel(t *testing.T) {
	for line, want := range map[string]string{
		"": best, "-seed 3": best, "-folds 2 -checkpoint DIR": best, "-data MUTAG": "cnn", "-k 5": "cnn", "-field-edges": "cnn",
		"-pretrain rbm": "cnn", "-data MUTAG -model-kind best": best, "-model-kind cnn": "cnn",
	} {
		c, err := parse(strings.Fields("-task graphs " + line))
		if err != nil || c.one.kind != want {
			t.Errorf("%q: %v, want %s", line, err, want)
		}
	}
}

// One model has what every row of the table has: -inner and -out. A flag of one
// model beside one of several is refused.
func TestOneIsARow(t *testing.T) {
	data, out := collectionOfFiles(t, pathsAndStars(10)), filepath.Join(t.TempDir(), "o.svg")
	r := classify(t, "-data", data, "-k", "3", "-folds", "3", "-epochs", "1", "-inner", "-out", out)
	cells := r["cells"].([]any)
	if len(cells) != 1 || cells[0].(map[string]any)["nested"] != r["accuracy"] || cells[0].(map[string]any)["system"] != "cnn" || r["inner"] != true {
		t.Errorf("%v", r)
	}
	if text, err := os.ReadFile(out); err != nil || !strings.Contains(string(text), "</svg>") {
		t.Errorf("%v, no picture", err)
	}
	for args, want := range map[string]string{
		"-model-kind cnn -systems wl": "-model-kind is of one model, and -systems of systems that are compared",
		"-epochs 3 -splits x.json":    "-epochs is of one model, and -splits",
		"-model-kind cnn -data a,b":   "-data names several collections",
	} {
		if err := run(t.Context(), strings.Fields(args)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", args, err, want)
		}
	}
}
