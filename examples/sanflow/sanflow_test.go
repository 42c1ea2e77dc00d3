package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/sanflow/sanflow/examples/internal/clitest"
	"github.com/sanflow/sanflow/flow/flowtest/leak"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

// command runs a command, which must end well.
func must(t testing.TB, args ...string) {
	t.Helper()
	if err := run(t.Context(), args); err != nil {
		t.Fatalf("%q: %v", args, err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// The systems that a report names repeat the model, with other workers too; the report of
// evaluate is that of train.
func TestTrainRepeats(t *testing.T) {
	defer leak.VerifyNone(t)
	clitest.Silence(t)
	dir := t.TempDir()
	one, two := filepath.Join(dir, "one"), filepath.Join(dir, "two")
	r := clitest.JSON[report](t, run, "train", "-out", one, "-budget", "1h", "-workers", "2")
	var names []string
	for _, s := range r.Systems {
		names = append(names, s.Name)
	}
	if len(names) != 4 || r.Task != "graphs" || *r.Accuracy < 2**r.Majority || r.Rows < 70 || len(r.Classes) != 6 || len(r.Confusion) != 6 || r.AUC != nil || r.ModelSHA256 == "" {
		t.Errorf("%+v", r)
	}
	must(t, "train", "-model", two, "-systems", strings.Join(names, ","), "-workers", "1")
	if read(t, one) != read(t, two) {
		t.Error("other bytes")
	}
	again := clitest.JSON[report](t, run, "evaluate", "-model", one)
	if again.ModelSHA256 != r.ModelSHA256 || *again.Accuracy != *r.Accuracy || !reflect.DeepEqual(again.Confusion, r.Confusion) {
		t.Errorf("evaluate: %+v, want %+v", again, r)
	}
	if _, err := os.Stat(one + ".train"); !os.IsNotExist(err) {
		t.Errorf("what was tried is still there: %v", err)
	}
}

// The first system counts whatever the budget is, the others only within it.
func TestBudget(t *testing.T) {
	r := clitest.JSON[report](t, run, "train", "-out", filepath.Join(t.TempDir(), "m"), "-budget", "1ns")
	if len(r.Systems) != 1 || r.Systems[0].Name != "linear" || r.Model != "linear" {
		t.Errorf("%+v", r.Systems)
	}
}

// A train that is killed goes on, to the same bytes.
func TestKilled(t *testing.T) {
	clitest.Silence(t)
	dir := t.TempDir()
	want, got := filepath.Join(dir, "want"), filepath.Join(dir, "got")
	args := []string{"train", "-systems", "linear,cnn,cnn-edges", "-seed", "3", "-out"}
	must(t, append(args, want)...)
	for wait := 300 * time.Millisecond; ; wait += time.Second {
		cmd := exec.Command(os.Args[0], append(args, got)...)
		cmd.Env = append(os.Environ(), "SANFLOW_TEST_COMMAND=1")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		kill := time.AfterFunc(wait, func() { _ = cmd.Process.Kill() })
		err := cmd.Wait()
		kill.Stop()
		if err == nil {
			break
		}
	}
	if read(t, want) != read(t, got) {
		t.Error("other bytes")
	}
}

// Answers have the columns that are promised, and are those of the model.
func TestPredict(t *testing.T) {
	clitest.Silence(t)
	dir := t.TempDir()
	model, csv, lines := filepath.Join(dir, "m"), filepath.Join(dir, "s.csv"), filepath.Join(dir, "s.jsonl")
	must(t, "train", "-out", model, "-systems", "linear")
	must(t, "predict", "-model", model, "-out", csv)
	must(t, "predict", "-model", model, "-out", lines)
	rows := strings.Split(strings.TrimSpace(read(t, csv)), "\n")
	if len(rows) != 481 || !strings.HasPrefix(rows[0], "id,class,p_torus,p_random regular,p_") {
		t.Errorf("%d rows, %s", len(rows), rows[0])
	}
	var first map[string]any
	text, _, _ := strings.Cut(read(t, lines), "\n")
	if err := json.Unmarshal([]byte(text), &first); err != nil || !strings.HasPrefix(rows[1], fmt.Sprint(first["id"])+","+first["class"].(string)+",") {
		t.Errorf("%v: %s, and %s", err, text, rows[1])
	}
	p, err := sinks.Load(model)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	items, err := sources.Families{}.Items()
	if err != nil {
		t.Fatal(err)
	}
	a, err := p.Predict(t.Context(), items[0].Graph)
	if err != nil || a.Class != first["class"] || a.Probs[0] != float32(first["p_torus"].(float64)) {
		t.Errorf("%v: %v, want %v", err, a, first)
	}
}

// What is wrong with a command line is one line and exit code 2, what is wrong with a
// file is code 1.
func TestErrors(t *testing.T) {
	dir := t.TempDir()
	text := clitest.File(t, "text", "this is no model\n")
	for want, c := range map[string]struct {
		code int
		args string
	}{
		"want one of train, evaluate":     {2, ""},
		`unknown command "learn"`:         {2, "learn"},
		"-task is \"edges\"":              {2, "train -task edges"},
		"no system \"best\"":              {2, "train -systems best -out " + dir + "/m"},
		"-data and -edges are both set":   {2, "train -data MUTAG -edges e.csv"},
		"there is no -edges":              {2, "train -class c"},
		"-class and -value are both set":  {2, "train -edges e.csv -class c -value v"},
		"-budget is -1s, want 0s or more": {2, "train -budget -1s"},
		"no such file or directory":       {1, "evaluate -model " + dir + "/none"},
		"neither a model, a graph":        {1, "inspect " + text},
		"neither an export nor":           {1, "inspect " + dir},
		"want the files":                  {2, "inspect"},
		"cannot write":                    {1, "train -out " + dir + "/none/m"},
		"unexpected argument \"more\"":    {2, "train more"},
	} {
		cmd := exec.Command(os.Args[0], strings.Fields(c.args)...)
		cmd.Env = append(os.Environ(), "SANFLOW_TEST_COMMAND=1", "HTTPS_PROXY=http://127.0.0.1:1")
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != c.code || !strings.Contains(string(out), want) || strings.Count(string(out), "\n") != 1 {
			t.Errorf("%s: %v, %s; want %d and %s", c.args, err, out, c.code, want)
		}
	}
}

func TestHelp(t *testing.T) {
	clitest.Silence(t)
	for _, c := range append(commands, command{name: "-h"}) {
		if err := run(context.Background(), []string{c.name, "-h"}); !errors.Is(err, flag.ErrHelp) {
			t.Errorf("%s -h: %v", c.name, err)
		}
	}
}
