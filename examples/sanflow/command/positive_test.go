package command

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/examples/internal/clitest"
	"github.com/sanflow/sanflow/internal/race"
	"github.com/sanflow/sanflow/sinks/choose"
)

// scored is what the tests read of a report.
type scored struct {
	Positive                   string
	Value, AUC, AP             *float64
	Precision, Recall          *float64
	Threshold, Accuracy, Error *float64
	Interval                   []float64
	Classes                    []string
	Confusion                  [][]int
	Rows                       int
	Top                        []choose.Top
}

// payments writes tables of people: one class in twelve is rare and has greater numbers, and there
// are more than two classes if others are given.
func payments(t *testing.T, n int, rare, usual string, others ...string) (args []string) {
	r := rand.New(rand.NewPCG(3, 5))
	nodes, edges := []string{"id,x,y,class"}, []string{"source,target"}
	for v := range n {
		class, x := usual, r.NormFloat64()
		if v%12 == 5 {
			class, x = rare, x+1.8
		} else if len(others) > 0 && v%3 == 1 {
			class, x = others[v%len(others)], x-2
		}
		nodes = append(nodes, fmt.Sprintf("p%d,%.3f,%.3f,%s", v, x, r.NormFloat64(), class))
		edges = append(edges, fmt.Sprintf("p%d,p%d", v, r.IntN(n)))
	}
	dir := t.TempDir()
	return []string{"-edges", write(t, dir, "edges.csv", edges), "-nodes", write(t, dir, "nodes.csv", nodes), "-class", "class"}
}

// The positive class is the rare one, whatever its name, or that of -positive; train, evaluate and
// the measures of the report agree.
func TestPositive(t *testing.T) {
	race.Skip(t)
	for _, test := range []struct {
		rare, usual string
		others      []string
		flag, want  string
	}{
		{"fraud", "ok", nil, "", "fraud"},
		{"z-fraud", "a-ok", nil, "", "z-fraud"},
		{"мошенник", "ok", nil, "", "мошенник"},
		{"fraud", "ok", nil, "ok", "ok"},
		{"fraud", "ok", []string{"new"}, "", ""},
		{"fraud", "ok", []string{"new"}, "fraud", "fraud"},
	} {
		t.Run(fmt.Sprint(test), func(t *testing.T) {
			data, model := payments(t, 480, test.rare, test.usual, test.others...), filepath.Join(t.TempDir(), "m")
			args := append([]string{"-score", "ap", "-systems", "linear", "-out", model}, data...)
			if test.flag != "" {
				args = append(args, "-positive", test.flag)
			}
			r := clitest.JSON[scored](t, train, args...)
			if r.Positive != test.want {
				t.Fatalf("the positive class is %q, want %q", r.Positive, test.want)
			}
			again := clitest.JSON[scored](t, evaluate, append([]string{"-model", model}, data...)...)
			if fmt.Sprint(*r.Value, again.Positive) != fmt.Sprint(*again.Value, r.Positive) {
				t.Errorf("train has %v of %q, evaluate %v of %q", *r.Value, r.Positive, *again.Value, again.Positive)
			}
			if test.want == "" {
				if r.AP != nil || r.AUC != nil || r.Recall != nil {
					t.Error("there is no positive class, and it has measures")
				}
				return
			}
			if *r.Value != *r.AP {
				t.Errorf("-score ap is %v, ap %v", *r.Value, *r.AP)
			}
			at, are, said := -1, 0, 0
			for c, name := range r.Classes {
				if name == test.want {
					at = c
				}
			}
			for c := range r.Classes {
				are, said = are+r.Confusion[at][c], said+r.Confusion[c][at]
			}
			if got, want := *r.Recall, 100*float64(r.Confusion[at][at])/float64(are); got != want {
				t.Errorf("recall %v, want %v", got, want)
			}
			if said > 0 && *r.Precision != 100*float64(r.Confusion[at][at])/float64(said) {
				t.Errorf("precision %v of %v", *r.Precision, r.Confusion)
			}
			if two := len(test.others) == 0; two != (r.Threshold != nil) {
				t.Errorf("threshold %v of the classes %q", r.Threshold, r.Classes)
			}
			// The AUC of the other one of two classes is the same, its AP is not.
			if len(test.others) > 0 {
				return
			}
			other := clitest.JSON[scored](t, evaluate, append([]string{"-model", model, "-positive", r.Classes[1-at]}, data...)...)
			if math.Abs(*other.AUC-*r.AUC) > 1e-6 || *other.AP == *r.AP || other.Positive != r.Classes[1-at] {
				t.Errorf("of %q AUC %v, AP %v; of %q %v, %v", r.Positive, *r.AUC, *r.AP, other.Positive, *other.AUC, *other.AP)
			}
		})
	}
}

func TestPositiveOfGraphsAndLinks(t *testing.T) {
	out := filepath.Join(t.TempDir(), "m")
	if r := clitest.JSON[scored](t, train, append(payments(t, 200, "a", "b")[:2:2], "-task", "links", "-systems", "linear", "-out", out)...); r.Positive != "link" || r.AP == nil {
		t.Errorf("of links %q is positive", r.Positive)
	}
	lines := []string{}
	for i := range 60 { // every fifth is a ring, the others are paths
		ring := ""
		if i%5 == 0 {
			ring = `,{"source":0,"target":4}`
		}
		class := map[bool]string{true: "ring", false: "walk"}[ring != ""]
		lines = append(lines, fmt.Sprintf(`{"graph":{"class":%q},"nodes":[{"id":0},{"id":1},{"id":2},{"id":3},{"id":4}],"links":[{"source":0,"target":1},{"source":1,"target":2},{"source":2,"target":3},{"source":3,"target":4}%s]}`, class, ring))
	}
	path := clitest.File(t, "g.jsonl", strings.Join(lines, "\n")+"\n")
	if r := clitest.JSON[scored](t, train, "-data", path, "-class", "class", "-systems", "linear", "-out", out); r.Positive != "ring" {
		t.Errorf("of graphs %q is positive", r.Positive)
	}
}

func TestPositiveErrors(t *testing.T) {
	data, out := payments(t, 60, "fraud", "ok"), filepath.Join(t.TempDir(), "m")
	for _, test := range [][2]string{
		{"-positive Fraud -class class", `-positive: the positive class is "Fraud", want one of the classes ["fraud" "ok"]`},
		{"-positive fraud -value x", "-positive is a class, and -value is a number to learn"},
	} {
		err := train(t.Context(), append(append(data[:4:4], strings.Fields(test[0])...), "-out", out))
		if err == nil || !strings.Contains(err.Error(), test[1]) {
			t.Errorf("%s: %v, want %s", test[0], err, test[1])
		}
	}
}

// A rare class is named with the flags for it, and a share has an interval that is not empty.
func TestRareClass(t *testing.T) {
	race.Skip(t)
	report := func(rare, usual string, others ...string) string {
		data, model := payments(t, 240, rare, usual, others...), filepath.Join(t.TempDir(), "m")
		out, _ := printed(t, append([]string{"train", "-systems", "linear", "-out", model}, data...)...)
		return out
	}
	if text := report("fraud", "ok"); !strings.Contains(text, "\nrare class \"fraud\": 4 of 40 rows") || !strings.Contains(text, "-score ap") || !strings.Contains(text, "-balance") {
		t.Error(text)
	}
	data, model := payments(t, 240, "fraud", "ok"), filepath.Join(t.TempDir(), "m")
	for _, args := range [][]string{{"train", "-systems", "linear", "-balance", "-out", model}, {"evaluate", "-model", model}} {
		if text, _ := printed(t, append(args, data...)...); !strings.Contains(text, "\nrare class \"fraud\"") || strings.Contains(text, "  train -") {
			t.Errorf("%s\n%s, want no flag that is set", args, text)
		}
	}
	if text := report("ok", "ok", "new"); strings.Contains(text, "rare class") {
		t.Error(text)
	}
}

// printed runs a command and returns what it writes to standard output and standard error.
func printed(t *testing.T, args ...string) (out, errors string) {
	t.Helper()
	var files [2]*os.File
	for i := range files {
		var err error
		if files[i], err = os.Create(filepath.Join(t.TempDir(), "out")); err != nil {
			t.Fatal(err)
		}
		defer files[i].Close()
	}
	oldOut, oldErr := os.Stdout, os.Stderr
	os.Stdout, os.Stderr = files[0], files[1]
	defer func() { os.Stdout, os.Stderr = oldOut, oldErr }()
	must(t, args...)
	return read(t, files[0].Name()), read(t, files[1].Name())
}
