package command

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/examples/internal/clitest"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/internal/race"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/sinks/choose"
)

// helpOf returns what -h of a command prints.
func helpOf(t *testing.T, args ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "out")
	out, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	old := os.Stdout
	os.Stdout = out
	err = run(t.Context(), args)
	os.Stdout = old
	if !errors.Is(err, flag.ErrHelp) {
		t.Errorf("%q: %v", args, err)
	}
	return read(t, path)
}

// The help of a command has each of its flags once, in lines of at most 100 characters, and examples whose
// flags the command has. help COMMAND is the same.
func TestHelpInGroups(t *testing.T) {
	grouped := map[string]bool{}
	for _, g := range groups {
		for _, name := range strings.Fields(g.Flags) {
			if grouped[name] {
				t.Errorf("-%s is in two groups", name)
			}
			grouped[name] = true
		}
	}
	for _, c := range commands {
		f := cli.FlagsOf(func(args []string) error { return c.run(t.Context(), args) })
		text := helpOf(t, c.name, "-h")
		if again := helpOf(t, "help", c.name); again != text {
			t.Errorf("help %s: %s", c.name, again)
		}
		for line := range strings.Lines(text) {
			if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > 100 && strings.Contains(strings.TrimSpace(line), " ") {
				t.Errorf("%s -h: %d characters: %s", c.name, n, line)
			}
		}
		f.VisitAll(func(one *flag.Flag) {
			if strings.Count(text, "\n  -"+one.Name+" ")+strings.Count(text, "\n  -"+one.Name+"\n") != 1 {
				t.Errorf("%s -h: -%s is not there once", c.name, one.Name)
			}
		})
		for line := range strings.Lines(c.examples) {
			words := strings.Fields(line)
			at := slices.Index(words, c.name)
			if at < 1 || words[at-1] != "sanflow" && words[at-1] != "<(sanflow" {
				t.Errorf("example of %s: %s", c.name, line)
				continue
			}
			for _, word := range words[at+1:] {
				if name, ok := strings.CutPrefix(word, "-"); ok && f.Lookup(name) == nil {
					t.Errorf("example of %s: it has no flag %s", c.name, word)
				}
			}
		}
	}
	train := helpOf(t, "train", "-h")
	last := -1
	for _, title := range []string{"\nexamples:\n", "\ndata:\n", "\ncolumns:\n", "\nlearning:\n", "\noutput:\n"} {
		at := strings.Index(train, title)
		if at <= last {
			t.Errorf("%q is at %d, behind %d", title, at, last)
		}
		last = at
	}
	for flag, title := range map[string]string{"edges": "data", "source": "columns", "budget": "learning", "json": "output"} {
		if _, rest, _ := strings.Cut(train, "\n"+title+":\n"); !strings.Contains(strings.Split(rest, "\n\n")[0], "  -"+flag+" ") {
			t.Errorf("-%s is not in the group %s", flag, title)
		}
	}
}

// An unknown name near one that is there is answered with that; a name that is near none is not.
func TestDidYouMean(t *testing.T) {
	for args, want := range map[string]string{
		"trian":                      "; did you mean train?",
		"expotr":                     "; did you mean export?",
		"something":                  "",
		"train -bugdet 3s":           "; did you mean -budget?",
		"train -soruce a":            "; did you mean -source?",
		"predict -windwos 1h":        "; did you mean -windows?",
		"train -somethingelse":       "",
		"completion bahs":            "; did you mean bash?",
		"help trian":                 "; did you mean train?",
		"serve -max-bdy 3 -listen x": "; did you mean -max-body?",
	} {
		err := run(t.Context(), strings.Fields(args))
		if err == nil || strings.Contains(err.Error(), "did you mean") != (want != "") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", args, err, want)
		}
	}
}

func TestVersion(t *testing.T) {
	for _, args := range []string{"version", "-version", "--version"} {
		out, _ := printed(t, args)
		if !strings.HasPrefix(out, "sanflow ") || !strings.Contains(out, "\nrevision: ") || !strings.Contains(out, "\nkernels: "+nn.Kernels()+"\n") {
			t.Errorf("%s: %s", args, out)
		}
	}
}

// A shell that asks what may follow gets commands, flags and files.
func TestCompletion(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "payments.csv", []string{"a"})
	for line, want := range map[string]string{
		"sanflow tr":                      "train",
		"sanflow help atl":                "atlas",
		"sanflow train -bud":              "-budget",
		"sanflow train -task li":          "links",
		"sanflow train -rows pay":         "payments.csv",
		"sanflow inspect pay":             "payments.csv",
		"sanflow completion z":            "zsh",
		"sanflow serve -directed -listen": "-listen",
		"sanflow inspect nothing":         "",
	} {
		cmd := exec.Command(os.Args[0])
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "SANFLOW_TEST_COMMAND=1", "COMP_LINE="+line, fmt.Sprint("COMP_POINT=", len(line)))
		out, err := cmd.Output()
		if err != nil || strings.TrimSpace(string(out)) != want {
			t.Errorf("%s: %q, %v, want %s", line, out, err, want)
		}
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		out, _ := printed(t, "completion", shell)
		if path, err := exec.LookPath(shell); err == nil {
			cmd := exec.Command(path, "-n")
			cmd.Stdin = strings.NewReader(out)
			if text, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s: %v, %s", shell, err, text)
			}
		}
	}
	// The shells take the lines as they are, also zsh without compinit, and a path with a space stays one word.
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for shell, c := range map[string]struct{ script, want string }{
		"bash": {`eval "$0"; complete -p sanflow`, `-C '"/a b/sanflow"' sanflow`},
		"zsh":  {`eval "$0"; print -r -- $_comps[sanflow]`, `-C \"/a\ b/sanflow\"`},
		"fish": {`printf %s $argv[1] | source; complete -C "sanflow help ev"`, "evaluate"},
	} {
		found, err := exec.LookPath(shell)
		if err != nil {
			continue // there is no such shell here
		}
		out, _ := printed(t, "completion", shell)
		if shell != "fish" {
			out = strings.ReplaceAll(out, path, "/a b/sanflow")
		}
		cmd := exec.Command(found, "-c", c.script, out)
		cmd.Env = append(os.Environ(), "SANFLOW_TEST_COMMAND=1", "ZDOTDIR="+t.TempDir())
		if text, err := cmd.CombinedOutput(); err != nil || !bytes.Contains(text, []byte(c.want)) || bytes.Contains(text, []byte("not found")) {
			t.Errorf("%s: %s, %v, want %s", shell, text, err, c.want)
		}
	}
}

// Systems that were not tried are in the report with the reason, and a recommended one that a longer
// -budget reaches is advised.
func TestNotTried(t *testing.T) {
	race.Skip(t)
	model, file := filepath.Join(t.TempDir(), "m"), filepath.Join(t.TempDir(), "r.json")
	for task, all := range map[string][]string{
		"graphs": {"\nwords   ", "\ntrees   ", "not tried: the budget ended before it did\n", "cnn-edges ", "not tried: the budget was used up\n", "-systems words -seed 1"}, // the recommended system is the first
		"links":  {"\nlinear  ", "\nwords   ", "not tried: the budget ended before it did\n", "\nadvice: the recommended system words+trees was not reached"},
	} {
		args := []string{"train", "-task", task, "-budget", "1ms", "-out", model, "-json", file}
		if task == "graphs" {
			args = append(args, families(t)...)
		}
		out, _ := printed(t, args...)
		for _, want := range all {
			if !strings.Contains(out, want) {
				t.Errorf("%s: no %q in %s", task, want, out)
			}
		}
		if task == "graphs" && strings.Contains(out, "advice") {
			t.Error(out)
		}
	}
	r := clitest.JSON[report](t, run, "train", "-task", "nodes", "-budget", "1ms", "-live-only", "-out", model)
	late := 0
	for _, s := range r.NotTried {
		if s.Late {
			late++
		} else if !strings.Contains(s.Why, "-live-only") {
			t.Errorf("%+v", s)
		}
	}
	if len(r.Systems) != 1 || late == 0 || late == len(r.NotTried) {
		t.Errorf("%+v", r.NotTried)
	}
}

// The help of train names all systems in their order.
func TestHelpNamesSystems(t *testing.T) {
	c := &data{}
	set, err := c.set(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	set.Graph.EdgeAttrs, set.Graph.EdgeAttr = 1, make([]float32, len(set.Graph.Neighbors))
	out := helpOf(t, "train", "-h")
	out = strings.Join(strings.Fields(out), " ")
	for task, systems := range map[string][]choose.System{"graphs": choose.Graphs(record.Layout{}, 9), "nodes": choose.Nodes(set, 600), "links": choose.Links(set.Graph)} {
		var names []string
		for _, s := range systems {
			names = append(names, s.Name)
		}
		if want := "of " + task + " " + strings.Join(names, ", ") + ";"; !strings.Contains(out, want) {
			t.Errorf("no %q in %s", want, out)
		}
	}
}

// What init prints runs as printed, and learns what the tables were made of.
func TestInit(t *testing.T) {
	race.Skip(t)
	clitest.Silence(t)
	dir := t.TempDir()
	t.Chdir(dir)
	var people, transfers, payments, mols, bonds, kinds, follows []string
	people, transfers = []string{"name,age,kind of person"}, []string{"payer,payee,amount"}
	payments = []string{"number,when,account,shop,currency,price,fraud"}
	assays := []string{`compound,structure,batch,tox,"ER, full"`} // zeros and ones with holes, and a text that is no SMILES
	mols, bonds, kinds, follows = []string{"name,structure,active"}, []string{"graph,source,target"}, []string{"graph,class"}, []string{"from\tto"}
	for v := range 120 {
		people = append(people, fmt.Sprintf("p%d,%d,%s", v, 20+v%40, []string{"buyer", "it's"}[v%2]))
		transfers = append(transfers, fmt.Sprintf("p%d,p%d,%d.5", v, (v+2)%120, v%7), fmt.Sprintf("p%d,p%d,%d.5", v, (v+4)%120, v%5))
		payments = append(payments, fmt.Sprintf("id%d,2026-03-%02dT%02d:00:00,A%d,S%d,%s,%d,%s", v, 1+v/24, v%24, v%9, v%5, []string{"EUR", "USD", "SEK"}[v%3], v%11, []string{"no", "yes"}[v%2]))
		mols = append(mols, fmt.Sprintf("m%d,CC%s%s,%d", v, strings.Repeat("C", v/2), []string{"N", "O"}[v%2], v%2))
		smiles := fmt.Sprintf("CC%s%s", strings.Repeat("C", v/2), []string{"N", "O"}[v%2])
		if v == 7 {
			smiles = "none"
		}
		assays = append(assays, fmt.Sprintf("Cpd %03d,%s,%d,%s,%s", v, smiles, v%7, []string{"0", "1", "0", "0", "0", "0", "NA"}[v%7], []string{"1", "0", "NA"}[v%3]))
		follows = append(follows, fmt.Sprintf("%d\t%d", v, (v+1)%120), fmt.Sprintf("%d\t%d", v, (v+5)%120))
		kinds = append(kinds, fmt.Sprintf("g%d,%s", v, []string{"ring", "path"}[v%2]))
		for n := range 6 - v%2 {
			bonds = append(bonds, fmt.Sprintf("g%d,%d,%d", v, n, (n+1)%6))
		}
	}
	for name, rows := range map[string][]string{
		"people.csv": people, "my transfers.csv": transfers, "payments.csv": payments, "mols.csv": mols, "assays.csv": assays, "bonds.csv": bonds, "kinds.csv": kinds, "follows.tsv": follows,
	} {
		write(t, dir, name, rows)
	}
	for files, want := range map[string]string{
		"payments.csv":                "-task rows -rows payments.csv -key account,shop -id number -time when -class fraud",
		"mols.csv":                    "-data mols.csv -smiles structure -id name -class active",
		"assays.csv":                  `-missing NA -data assays.csv -smiles structure -skip -id compound -class 'tox,"ER, full"' -score auc`,
		"my transfers.csv|people.csv": "-task nodes -edges 'my transfers.csv' -source payer -target payee -nodes people.csv -id name -class 'kind of person'",
		"people.csv|my transfers.csv": "-task nodes -edges 'my transfers.csv' -source payer -target payee -nodes people.csv -id name -class 'kind of person'",
		"bonds.csv|kinds.csv":         "-task graphs -edges bonds.csv -source source -target target -graph graph -graphs kinds.csv -class class",
		"follows.tsv":                 "-task links -edges follows.tsv -source from -target to",
	} {
		out, told := printed(t, append([]string{"init"}, strings.Split(files, "|")...)...)
		if out != "sanflow train "+want+"\n" {
			t.Errorf("%s: %s", files, out)
			continue
		}
		for line := range strings.Lines(told) {
			if !strings.HasPrefix(line, "guessed: ") {
				t.Errorf("%s: %s", files, line)
			}
		}
		cmd := exec.Command("sh", "-c", `sanflow() { "$0" "$@" -systems linear,trees -json r.json; }; `+out, os.Args[0])
		if strings.Contains(out, "-task links") || strings.Contains(out, "-task nodes") || strings.Contains(out, "-task rows") {
			cmd = exec.Command("sh", "-c", `sanflow() { "$0" "$@" -systems words,trees -json r.json; }; `+out, os.Args[0])
		}
		cmd.Env = append(os.Environ(), "SANFLOW_TEST_COMMAND=1")
		if text, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v, %s", out, err, text)
		}
		// Of every kind of model inspect writes words, and no object of JSON or Go.
		if words, _ := printed(t, "inspect", "sanflow.model"); strings.ContainsAny(words, "{}") || strings.Contains(words, "map[") || strings.Contains(words, "&") {
			t.Errorf("%s: %s", files, words)
		}
	}
	write(t, dir, "numbers.csv", []string{"x,y", "1.5,2.5", "2.5,3.5"})
	if err := run(context.Background(), []string{"init", "numbers.csv"}); err == nil || !strings.Contains(err.Error(), "numbers.csv: no texts repeat") {
		t.Error(err)
	}
}
