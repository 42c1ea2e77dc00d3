package command

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/examples/internal/clitest"
	"github.com/sanflow/sanflow/internal/race"
)

// gaps writes a ring whose nodes have the class yes if their number x is missing, which none stands for, and other gaps in
// the numbers of nodes and edges, and the same as JSON lines.
func gaps(t *testing.T, dir, none string) (edges, nodes, lines string) {
	const n = 240
	rng := rand.New(rand.NewPCG(3, 9))
	e, v, l := []string{"source,target,amount"}, []string{"id,x,y,class"}, []string{}
	number := func(gap bool) (text string, x any) {
		if y := float64(rng.IntN(1000)) / 8; !gap {
			return fmt.Sprint(y), y
		}
		return none, nil
	}
	for i := range n {
		class := []string{"no", "yes"}[rng.IntN(2)]
		x, xJSON := number(class == "yes")
		y, yJSON := number(rng.IntN(4) == 0)
		amount, _ := number(rng.IntN(5) == 0)
		e = append(e, fmt.Sprintf("%d,%d,%s", i, (i+1)%n, amount))
		v = append(v, fmt.Sprintf("%d,%s,%s,%s", i, x, y, class))
		row := map[string]any{"id": i, "x": xJSON, "class": class}
		if yJSON != nil {
			row["y"] = yJSON // else the key is absent
		}
		text, err := json.Marshal(row)
		if err != nil {
			t.Fatal(err)
		}
		l = append(l, string(text))
	}
	return write(t, dir, "e.csv", e), write(t, dir, "n.csv", v), write(t, dir, "n.jsonl", l)
}

// Each command reads missing numbers: empty ones, those that -missing declares, which a model keeps, and those of JSON, with
// the same answers. A class that says whether a number is missing is learned.
func TestMissingNumbers(t *testing.T) {
	race.Skip(t)
	clitest.Silence(t)
	dir := t.TempDir()
	answers := func(train, ask string) string {
		model, out := filepath.Join(dir, "m"), filepath.Join(dir, "out.csv")
		must(t, strings.Fields("train -task nodes -weight amount -class class -systems trees -out "+model+" "+train)...)
		must(t, strings.Fields("predict -model "+model+" -out "+out+" "+ask)...)
		must(t, strings.Fields("explain -model "+model+" -json "+filepath.Join(dir, "x.json")+" -of 7 "+ask)...)
		return read(t, out)
	}
	edges, nodes, lines := gaps(t, t.TempDir(), "")
	want := answers("-edges "+edges+" -nodes "+nodes, "-edges "+edges+" -nodes "+nodes)
	if got := answers("-edges "+edges+" -nodes "+lines, "-edges "+edges+" -nodes "+lines); got != want {
		t.Error("JSON lines give other answers")
	}
	declared, of, _ := gaps(t, t.TempDir(), "NA")
	if got := answers("-missing NA,NULL -edges "+declared+" -nodes "+of, "-edges "+declared+" -nodes "+of); got != want {
		t.Error("declared texts give other answers")
	}
	err := run(t.Context(), strings.Fields("train -task nodes -weight amount -class class -out "+filepath.Join(dir, "m")+" -edges "+declared+" -nodes "+of))
	if err == nil || !strings.Contains(err.Error(), `: "NA", want a finite decimal number`) || !strings.Contains(err.Error(), "-missing NA reads it as missing") {
		t.Errorf("NA that is not declared: %v", err)
	}
	right := 0
	for i, line := range strings.Split(strings.TrimSpace(want), "\n")[1:] {
		if class := strings.Split(strings.Split(read(t, nodes), "\n")[i+1], ",")[3]; strings.Split(line, ",")[1] == class {
			right++
		}
	}
	if right < 228 {
		t.Errorf("%d of 240 nodes have the right class, want 228", right)
	}
	// Fields of graphs that were written to files are those of the tables, with null for a missing number in JSON.
	fields := ""
	for _, as := range []string{"", "arrow", "parquet"} {
		from := "-edges " + edges + " -weight amount -nodes " + nodes + " -ignore class"
		if as != "" {
			must(t, strings.Fields("export "+from+" -graphs -as "+as+" -out "+filepath.Join(dir, as))...)
			from = "-graph " + filepath.Join(dir, as)
		}
		out := filepath.Join(dir, "fields.jsonl")
		must(t, strings.Fields("export "+from+" -k 3 -as jsonl -out "+out)...)
		if text := read(t, out); fields == "" {
			fields = text
		} else if text != fields {
			t.Errorf("%s: other fields", as)
		}
	}
	if !strings.Contains(fields, "[null,") {
		t.Errorf("no number is missing: %.300s", fields)
	}
	// What is posted: a null, an absent key and a declared text are one.
	_, url := started(t, "-model", filepath.Join(dir, "m"))
	first := ""
	for _, x := range []string{`"x":null,"y":2`, `"y":2`, `"x":"NA","y":2`} {
		status, text := post(t, url, `{"nodes":[{"id":"a",`+x+`},{"id":"b","x":1,"y":1}],"edges":[{"source":"a","target":"b"}]}`)
		if first += text; status != 200 || first != strings.Repeat(text, strings.Count(first, `"id":"a"`)) || !strings.Contains(text, `{"id":"a","class":"yes"`) {
			t.Errorf("%s: %d %s", x, status, text)
		}
	}
}
