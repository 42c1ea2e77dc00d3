package command

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sanflow/sanflow/examples/internal/clitest"
	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/internal/leak"
	"github.com/sanflow/sanflow/internal/race"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sinks/choose"
	"github.com/sanflow/sanflow/sources"
)

// command runs a command, which must end well.
func must(t testing.TB, args ...string) {
	t.Helper()
	if err := run(t.Context(), args); err != nil {
		t.Fatalf("%q: %v", args, err)
	}
}

// linear is the file of a linear model of the default graphs, which tests share.
var linear = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "linear")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "model")
	if err := run(context.Background(), []string{"train", "-systems", "linear", "-out", path}); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

// trainLinear writes the linear model to path.
func trainLinear(t testing.TB, path string) {
	t.Helper()
	file, err := linear()
	if err == nil {
		err = os.WriteFile(path, file, 0o600)
	}
	if err != nil {
		t.Fatal(err)
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

// families writes 150 graphs of six families, and returns the flags that read them. If SANFLOW_LONG is set
// there are none: the default is 480 graphs.
func families(t *testing.T) []string {
	t.Helper()
	if os.Getenv("SANFLOW_LONG") != "" {
		return nil
	}
	path := filepath.Join(t.TempDir(), "families.arrow")
	if err := flow.From(sources.Families{Graphs: 150}).To(sinks.IPC{Path: path}).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	return []string{"-data", path}
}

// The systems that a report names repeat the model, with other workers too; the report of
// evaluate is that of train.
func TestTrainRepeats(t *testing.T) {
	race.Skip(t)
	defer leak.VerifyNone(t)
	clitest.Silence(t)
	dir := t.TempDir()
	one, two := filepath.Join(dir, "one"), filepath.Join(dir, "two")
	data := families(t)
	r := clitest.JSON[report](t, run, append([]string{"train", "-out", one, "-budget", "1h", "-workers", "2"}, data...)...)
	var names []string
	for _, s := range r.Systems {
		names = append(names, s.Name)
	}
	if len(names) != 8 || r.Task != "graphs" || *r.Accuracy < 2**r.Majority || r.Rows < 20 || len(r.Classes) != 6 || len(r.Confusion) != 6 || r.AUC != nil || r.ModelSHA256 == "" {
		t.Errorf("%+v", r)
	}
	must(t, append([]string{"train", "-model", two, "-systems", strings.Join(names, ","), "-workers", "1"}, data...)...)
	if read(t, one) != read(t, two) {
		t.Error("other bytes")
	}
	again := clitest.JSON[report](t, run, append([]string{"evaluate", "-model", one}, data...)...)
	if again.ModelSHA256 != r.ModelSHA256 || *again.Accuracy != *r.Accuracy || !reflect.DeepEqual(again.Confusion, r.Confusion) {
		t.Errorf("evaluate: %+v, want %+v", again, r)
	}
	if _, err := os.Stat(one + ".train"); !os.IsNotExist(err) {
		t.Errorf("what was tried is still there: %v", err)
	}
}

// What -score names chooses among the systems, and is reported; evaluate knows it from the
// model, and takes another.
func TestScore(t *testing.T) {
	race.Skip(t)
	clitest.Silence(t)
	for task, data := range map[string][]string{"graphs": families(t), "nodes": {"-data", village(t)}, "links": {"-data", village(t)}} {
		model := filepath.Join(t.TempDir(), "model")
		r := clitest.JSON[report](t, run, append([]string{"train", "-task", task, "-systems", "linear,words", "-score", "logloss", "-out", model}, data...)...)
		least := r.Systems[0]
		for _, s := range r.Systems {
			if s.Score < least.Score {
				least = s
			}
		}
		if r.Score != "logloss" || r.Model != least.Name || r.Value == nil || r.ValidationValue == nil || *r.ValidationValue != least.Score {
			t.Errorf("%s: %+v", task, r)
		}
		if again := clitest.JSON[report](t, run, append([]string{"evaluate", "-model", model}, data...)...); again.Value == nil || *again.Value != *r.Value || again.Systems[0].Score != *r.Value {
			t.Errorf("%s: evaluate: %+v, want %v", task, again, *r.Value)
		}
		if again := clitest.JSON[report](t, run, append([]string{"evaluate", "-model", model, "-score", "accuracy"}, data...)...); again.Value == nil || math.Abs(*again.Value-*again.Accuracy) > 1e-9 {
			t.Errorf("%s: evaluate: %+v", task, again)
		}
	}
}

// Answers about molecules have the ids of the user, those that cannot be read are left out with
// -skip and reported by line and column, and neither shifts numbers, ids or parts.
func TestMoleculesOfUsers(t *testing.T) {
	clitest.Silence(t)
	rows, clean, sdf := "id,name,smi,active,part\n", "id,name,smi,active,part\n", ""
	var good []int
	for n := range 60 {
		bad := n == 7 || n == 33 || n == 50
		end, class := []string{"N", "O"}[n%2], []string{"active", "inactive"}[n%2]
		smi := strings.Repeat("C", 2+n%5) + end
		switch {
		case n == 50:
			smi += ",one value more"
		case bad:
			smi = "C(" + smi
		}
		row := fmt.Sprintf("%d,mol-%d,%s,%s,%s\n", 1000+n, n, smi, class, []string{"train", "train", "train", "valid", "test", "none"}[n/2%6])
		if rows += row; !bad {
			clean, good = clean+row, append(good, n)
		}
		atom := end
		if bad {
			atom = "Xx"
		}
		title, code := fmt.Sprintf("mol-%d", n), fmt.Sprintf("> <code>\n%d\n\n", 1000+n)
		if n == 33 {
			title, code = "", ""
		}
		sdf += fmt.Sprintf("%s\n\n\n  2  1  0  0  0  0            999 V2000\n    0.0000    0.0000    0.0000 C   0  0\n    0.0000    0.0000    0.0000 %s   0  0\n  1  2  1  0\nM  END\n> <active>\n%s\n\n%s$$$$\n", title, atom, class, code)
	}
	table, file, dir := clitest.File(t, "t.csv", rows), clitest.File(t, "t.sdf", sdf), t.TempDir()
	model, out := filepath.Join(dir, "model"), filepath.Join(dir, "out.csv")
	ids := func(args ...string) (ids []string) {
		must(t, append([]string{"predict", "-model", model, "-out", out}, args...)...)
		for _, line := range strings.Split(strings.TrimSpace(read(t, out)), "\n")[1:] {
			id, _, _ := strings.Cut(line, ",")
			ids = append(ids, id)
		}
		return ids
	}
	want := func(format string, from int) (ids []string) {
		for _, n := range good {
			ids = append(ids, fmt.Sprintf(format, from+n))
		}
		return ids
	}
	columns := []string{"-smiles", "smi", "-class", "active", "-part", "part"}
	learn := func(path string, more ...string) *report {
		r := clitest.JSON[report](t, run, append(append([]string{"train", "-systems", "linear", "-out", model, "-data", path}, columns...), more...)...)
		return &r
	}
	same := learn(clitest.File(t, "clean.csv", clean))
	r := learn(table, "-skip")
	if r.Rows != 9 || !reflect.DeepEqual(r.Confusion, same.Confusion) || !reflect.DeepEqual(r.Classes, []string{"active", "inactive"}) {
		t.Errorf("with refused rows other parts: %+v, want %+v", r, same)
	}
	again := clitest.JSON[report](t, run, "evaluate", "-model", model, "-data", table, "-skip")
	if again.Rows != 9 || *again.Accuracy != *r.Accuracy || again.Unknown != 0 {
		t.Errorf("evaluate: %+v", again)
	}
	others := strings.ReplaceAll(strings.ReplaceAll(clean, "1008,mol-8,CCCCCN,active", "1008,mol-8,CCCCCN,"), "1009,mol-9,CCCCCCO,inactive", "1009,mol-9,CCCCCCO,other")
	if r := clitest.JSON[report](t, run, "evaluate", "-model", model, "-data", clitest.File(t, "o.csv", others)); r.Rows != 8 || r.Unknown != 1 || r.Foreign != 1 {
		t.Errorf("evaluate with other classes: %d rows, %d unknown, %d foreign", r.Rows, r.Unknown, r.Foreign)
	}
	for name, x := range map[string]struct {
		want []string
		args []string
	}{
		"the column id":  {want("%d", 1000), []string{"-data", table, "-skip"}},
		"another column": {want("mol-%d", 0), []string{"-data", table, "-skip", "-id", "name"}},
		"numbers":        {want("%d", 0), []string{"-data", table, "-skip", "-id", ""}},
		"no column id":   {want("%d", 0), []string{"-data", clitest.File(t, "n.csv", strings.Replace(rows, "id,", "no,", 1)), "-skip"}},
		"a missing id":   {want("mol-%d", 0)[1:], []string{"-data", clitest.File(t, "n.csv", strings.Replace(rows, "mol-0,", ",", 1)), "-skip", "-id", "name"}},
		"titles":         {want("mol-%d", 0), []string{"-data", file, "-skip"}},
		"a data item":    {want("%d", 1000), []string{"-data", file, "-skip", "-id", "code"}},
		"no titles":      {want("%d", 0), []string{"-data", file, "-skip", "-id", ""}},
		"an empty title": {want("%d", 0), []string{"-data", clitest.File(t, "u.sdf", strings.Replace(sdf, "mol-3\n", "\n", 1)), "-skip"}},
	} {
		if got := ids(x.args...); !reflect.DeepEqual(got, x.want) {
			t.Errorf("%s: the ids are %q, want %q", name, got, x.want)
		}
	}
	clitest.JSON[report](t, run, "train", "-systems", "linear", "-out", model, "-data", file, "-class", "active", "-skip")
	e := clitest.JSON[explanation](t, run, "explain", "-model", model, "-data", file, "-graph", "8", "-skip")
	before := clitest.JSON[explanation](t, run, "explain", "-model", model, "-data", file, "-graph", "6", "-skip")
	if !reflect.DeepEqual(e.Probs, before.Probs) { // both are amines
		t.Errorf("graph 8 has %v, want %v", e.Probs, before.Probs)
	}
	for want, args := range map[string]string{
		`t.csv:9: row 8: column "smi": character 2`:   "predict -id= -data " + table + " -smiles smi",
		"t.sdf:111: molecule 8: columns 32 to 34":     "predict -data " + file,
		`t.csv: there is no column "nix"`:             "predict -skip -smiles smi -id nix -data " + table,
		`column "name": there is no value, want`:      "predict -smiles smi -id name -data " + clitest.File(t, "n.csv", "name,smi\n,CC\n"),
		"molecule 1: \"nix\": there is no such data":  "predict -skip -id nix -data " + file,
		"there is no graph 7 among 57":                "explain -skip -graph 7 -data " + file,
		`row 1: column "name": "mol-0", want train`:   "train -skip -data " + table + " -smiles smi -class active -part name",
		`t.sdf:10: molecule 1: "active": "active", w`: "train -skip -data " + file + " -class active -part active",
		"there are no rows to learn from":             "train -skip -data " + file + " -class active -part nix",
		"; -skip leaves out molecules that cannot be": "train -class active -data " + file,
		"-skip is for molecules":                      "train -skip",
	} {
		words := strings.Fields(args)
		if words[0] == "train" {
			words = append(words, "-out", filepath.Join(dir, "m"))
		} else {
			words = append(words, "-model", model)
		}
		if err := run(t.Context(), words); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", args, err, want)
		}
	}
}

// Of unbalanced classes -balance makes more of each right on average, also of those that
// evaluate and predict ask, and leaves the order of rows.
func TestBalance(t *testing.T) {
	race.Skip(t)
	clitest.Silence(t)
	rows := "smiles,active,part\n"
	rng := rand.New(rand.NewPCG(1, 0))
	for n := range 900 {
		end, active := []string{"N", "O", "F"}[n%3], "no"
		if rng.Float64() < map[string]float64{"O": 0.3}[end]+0.02 { // one of eight, most of them alcohols
			active = "yes"
		}
		rows += fmt.Sprintf("%s%s,%s,%s\n", strings.Repeat("C", 2+rng.IntN(4)), end, active, []string{"train", "valid", "test"}[n/3%3])
	}
	table, dir := clitest.File(t, "t.csv", rows), t.TempDir()
	for _, system := range []string{"linear", "words", "cnn"} {
		plain, balanced, out := filepath.Join(dir, "plain"), filepath.Join(dir, "balanced"), filepath.Join(dir, "out.csv")
		args := []string{"train", "-data", table, "-smiles", "smiles", "-class", "active", "-part", "part", "-systems", system}
		must(t, append(args, "-out", plain)...)
		before := clitest.JSON[report](t, run, "evaluate", "-model", plain, "-data", table, "-score", "balanced")
		after := clitest.JSON[report](t, run, append(args, "-out", balanced, "-balance")...)
		t.Logf("%s: balanced accuracy %.1f %%, and %.1f; accuracy %.1f %%, and %.1f; AUC %.3f, and %.3f", system, *before.Value, *after.Value, *before.Accuracy, *after.Accuracy, *before.AUC, *after.AUC)
		if *after.Value < *before.Value+10 || math.Abs(*after.AUC-*before.AUC) > 0.05 || after.Score != "balanced" {
			t.Errorf("%s: balanced accuracy %v, and %v before", system, *after.Value, *before.Value)
		}
		again := clitest.JSON[report](t, run, "evaluate", "-model", balanced, "-data", table)
		if *again.Value != *after.Value || !reflect.DeepEqual(again.Confusion, after.Confusion) {
			t.Errorf("%s: evaluate: %+v, want %+v", system, again, after)
		}
		must(t, "predict", "-model", balanced, "-data", table, "-out", out)
		answers := strings.Split(read(t, out), "\n")[1:]
		confusion := [2][2]int{}
		for n, row := range strings.Split(strings.TrimSpace(rows), "\n")[1:] {
			if strings.HasSuffix(row, "test") {
				is := map[bool]int{true: 1}
				confusion[is[strings.Contains(row, "yes")]][is[strings.Contains(answers[n], "yes")]]++
			}
		}
		if fmt.Sprint(confusion) != fmt.Sprint(after.Confusion) {
			t.Errorf("%s: predict: %v, want %v", system, confusion, after.Confusion)
		}
	}
	model := filepath.Join(dir, "nodes")
	r := clitest.JSON[report](t, run, "train", "-task", "nodes", "-systems", "linear", "-balance", "-out", model)
	if again := clitest.JSON[report](t, run, "evaluate", "-model", model); !reflect.DeepEqual(again.Confusion, r.Confusion) || r.ValidationValue == nil || *r.Value < 50 {
		t.Errorf("nodes: %+v, want %+v", again, r)
	}
	for want, args := range map[string]string{
		"-balance is for classes of graphs or nodes": "-value active",
		"-score rmse is for numbers":                 "-class active -score rmse",
	} {
		if err := run(t.Context(), append(strings.Fields("train -balance -smiles smiles "+args), "-data", table)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", args, err, want)
		}
	}
}

// Molecules of a table are learned, and others are predicted, by the columns of the model.
func TestMolecules(t *testing.T) {
	clitest.Silence(t)
	rows, sdf := "smiles,acid,mass\n", ""
	for n := range 48 {
		end := []string{"N", "O"}[n%2]
		rows += fmt.Sprintf("%s%s,%s,%d\n", strings.Repeat("C", 2+n/2), end, []string{"no", "yes"}[n%2], n%5+n%2)
		sdf += fmt.Sprintf("\n\n\n  2  1  0  0  0  0            999 V2000\n    0.0000    0.0000    0.0000 C   0  0\n    0.0000    0.0000    0.0000 %s   0  0\n  1  2  1  0\nM  END\n> <acid>\n%s\n\n$$$$\n", end, []string{"no", "yes"}[n%2])
	}
	table, file := clitest.File(t, "acids.csv", rows), clitest.File(t, "acids.sdf", sdf)
	model := filepath.Join(t.TempDir(), "model")
	for _, args := range [][]string{{"-data", table, "-smiles", "smiles", "-class", "acid"}, {"-data", file, "-class", "acid"}} {
		r := clitest.JSON[report](t, run, append([]string{"train", "-systems", "linear", "-out", model}, args...)...)
		again := clitest.JSON[report](t, run, "evaluate", "-model", model, "-data", args[1])
		if *r.Accuracy != 100 || *again.Accuracy != 100 || again.Rows != 8 {
			t.Errorf("%v: %v %% of %d rows, then %v %% of %d", args, *r.Accuracy, r.Rows, *again.Accuracy, again.Rows)
		}
	}
	must(t, "train", "-systems", "linear", "-out", model, "-data", table, "-smiles", "smiles", "-value", "mass")
	out := filepath.Join(t.TempDir(), "out.csv")
	must(t, "predict", "-model", model, "-data", clitest.File(t, "new.csv", "smiles\nCCN\nCCCO\n"), "-out", out)
	if got := read(t, out); strings.Count(got, "\n") != 3 || !strings.HasPrefix(got, "id,value\n0,") {
		t.Errorf("%q", got)
	}
	for want, args := range map[string]string{
		"molecules want -class or -value":          "-data " + file,
		"-smiles names a column of a table":        "-data " + file + " -smiles smiles -class acid",
		"-task nodes is about one graph":           "-task nodes -data " + file + " -class acid",
		`acids.csv:3: row 2: column "acid": char`:  "-data " + table + " -smiles acid -class mass",
		`there is no column "x"`:                   "-data " + table + " -smiles smiles -class x",
		"the column of -graphs to learn":           "-edges e.csv -graph g -graphs c.csv",
		"-data has its own classes":                "-data a.dot -class shape",
		"-score mae is for numbers":                "-data " + table + " -smiles smiles -class acid -score mae",
		"-score auc is for classes":                "-data " + table + " -smiles smiles -value mass -score auc",
		"-score is f1, want one of":                "-score f1",
		"-score rmse is for numbers, and classes ": "-score rmse",
	} {
		if err := run(t.Context(), append([]string{"train", "-out", model}, strings.Fields(args)...)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", args, err, want)
		}
	}
}

// The first system counts whatever the budget is, the others only within it.
func TestBudget(t *testing.T) {
	race.Skip(t)
	r := clitest.JSON[report](t, run, append([]string{"train", "-out", filepath.Join(t.TempDir(), "m"), "-budget", "1ns"}, families(t)...)...)
	if len(r.Systems) != 1 || r.Systems[0].Name != "words" || r.Model != "words" {
		t.Errorf("%+v", r.Systems)
	}
}

// A train that is killed goes on, to the same bytes.
func TestKilled(t *testing.T) {
	if race.Enabled {
		t.Skip("the command that is killed is another process; TestTrainRepeats trains the same systems")
	}
	clitest.Silence(t)
	dir := t.TempDir()
	want, got := filepath.Join(dir, "want"), filepath.Join(dir, "got")
	systems := "linear,cnn"
	if os.Getenv("SANFLOW_LONG") != "" {
		systems += ",cnn-edges"
	}
	args := []string{"train", "-systems", systems, "-seed", "3", "-out"}
	must(t, append(args, want)...)
	for wait := 300 * time.Millisecond; ; wait *= 2 { // so that the test ends on a slow machine too
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

// Without flags train ends soon, says what the data are, how good the largest class alone is, and
// what may come next; of data that are named it says nothing of the kind.
func TestTrainWithoutFlags(t *testing.T) {
	for args, want := range map[string]time.Duration{"": 13 * time.Second, "-budget 0": 0, "-data MUTAG": time.Minute, "-task nodes -budget 3s": 3 * time.Second} {
		if c, err := parseTrain(strings.Fields(args)); err != nil || c.budget != want {
			t.Errorf("%q: %v, budget %v, want %v", args, err, c.budget, want)
		}
	}
	m := choose.NewMeasures([]string{"a", "b"})
	for i := range 80 {
		if err := m.Add(sinks.Prediction{Class: 0, Target: min(1, i/60), Probs: []float32{0.75, 0.25}}); err != nil {
			t.Fatal(err)
		}
	}
	for args, want := range map[string][]string{
		"-out a.model":            {"The data are generated: 480 graphs of 6 kinds. The class of a graph is its kind.\n", "75 %", "\nnext: sanflow predict -model a.model -out scores.csv"},
		"-task nodes":             {"a graph of 480 nodes. The class of a node is its community."},
		"-task links":             {"a graph of communities with 480 edges, of which some are hidden."},
		"-data MUTAG -seed 7":     {"-seed 7 makes sanflow.model again"},
		"-data MUTAG -score auc":  {"-seed 1 -score auc makes sanflow.model again"},
		"-data MUTAG -balance":    {"-seed 1 -balance makes sanflow.model again"},
		"-data MUTAG -task nodes": {"-task nodes, measured on the test part"},
	} {
		c, err := parseTrain(strings.Fields(args))
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		r := newReport(c.task, "linear", c.name(), nil, m, "", c.start)
		c.tell(r, &parts{rows: 480, classes: make([]string, 6)})
		if err := r.Print(&out); err != nil {
			t.Fatal(err)
		}
		for _, text := range want {
			if !strings.Contains(out.String(), text) {
				t.Errorf("%q: no %q in\n%s", args, text, &out)
			}
		}
		if named := strings.Contains(args, "-data"); named == (strings.Contains(out.String(), "generated") || strings.Contains(out.String(), "next:")) {
			t.Errorf("%q:\n%s", args, &out)
		}
	}
}
