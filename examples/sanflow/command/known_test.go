package command

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/examples/internal/clitest"
	"github.com/sanflow/sanflow/internal/race"
)

// shuffled returns lines with the rows behind the header in another order.
func shuffled(lines []string) []string {
	out := slices.Clone(lines)
	rand.New(rand.NewPCG(7, 7)).Shuffle(len(out)-1, func(i, j int) { out[i+1], out[j+1] = out[j+1], out[i+1] })
	return out
}

// evaluate counts the rows of a changed file from which the model has not learned, and those alone: of
// nodes, graphs of tables, node-link JSON, molecules and links.
func TestEvaluateLeavesOutWhatWasLearned(t *testing.T) {
	race.Skip(t)
	clitest.Silence(t)
	rng := rand.New(rand.NewPCG(3, 3))
	nodes, edges := []string{"id,size,class"}, []string{"source,target"}
	graphs, arcs := []string{"graph,id,kind,class"}, []string{"graph,source,target"}
	molecules, links := []string{"smiles,class"}, []string(nil)
	atoms := []string{"C", "N", "O", "S", "P", "F"}
	for v := range 240 {
		nodes = append(nodes, fmt.Sprintf("n%d,%d.5,%s", v, 100*(v%2)+rng.IntN(120), []string{"a", "b"}[v%2]))
		for range 2 {
			edges = append(edges, fmt.Sprintf("n%d,n%d", v, rng.IntN(240)))
		}
		if v >= 60 {
			continue
		}
		text := ""
		var join []string
		for i := range 6 {
			kind := atoms[v/6%6]
			if i%2 == 1 {
				kind = atoms[v%6]
			}
			text += kind
			graphs = append(graphs, fmt.Sprintf("g%d,%d,%s%d,%s", v, i, kind, v*i%7, []string{"a", "b"}[v%2]))
			if i > 0 {
				arcs = append(arcs, fmt.Sprintf("g%d,%d,%d", v, i-1, i))
				join = append(join, fmt.Sprintf(`{"source":%d,"target":%d}`, i-1, i))
			}
		}
		molecules = append(molecules, fmt.Sprintf("C%sC%s,%s", strings.Repeat("C", v/6), strings.Repeat("(N)C", v%6), []string{"a", "b"}[v%2]))
		links = append(links, fmt.Sprintf(`{"graph":{"class":"%s"},"nodes":[{"id":0,"type":"%s"},{"id":1,"type":"%s"},{"id":2,"type":"x%d"},{"id":3,"type":"x0"},{"id":4,"type":"x1"},{"id":5,"type":"x2"}],"links":[%s]}`, []string{"a", "b"}[v%2], atoms[v%6], atoms[v/6%6], v/36, strings.Join(join, ",")))
	}
	for _, c := range []struct {
		name, args string
		files      map[string][]string
		more       map[string]string // a row, of graphs alone with a class
		rows       int               // with a class
	}{
		{"nodes", "-edges e.csv -nodes n.csv -class class -systems linear", map[string][]string{"e.csv": edges, "n.csv": nodes}, map[string]string{"n.csv": "new,1.5,"}, 240},
		{"neighbours", "-edges e.csv -nodes n.csv -class class -systems neighbours", map[string][]string{"e.csv": edges, "n.csv": nodes}, map[string]string{"n.csv": "new,1.5,"}, 240},
		{"ids", "-edges e.csv -nodes n.csv -class class -ignore size -systems words", map[string][]string{"e.csv": edges, "n.csv": nodes}, map[string]string{"n.csv": "new,1.5,"}, 240},
		{"links", "-task links -edges e.csv -systems linear", map[string][]string{"e.csv": edges}, map[string]string{"e.csv": "n1,new"}, 0},
		{"graphs", "-task graphs -graph graph -edges e.csv -nodes n.csv -id id -class class -graphs t.csv -systems linear", map[string][]string{"e.csv": arcs, "n.csv": cut(graphs, 0, 1, 2), "t.csv": slices.Compact(cut(graphs, 0, 3))}, map[string]string{"n.csv": "new,0,C1", "t.csv": "new,a"}, 61},
		{"molecules", "-data m.csv -smiles smiles -class class -systems linear", map[string][]string{"m.csv": molecules}, map[string]string{"m.csv": "OOOO,"}, 60},
		{"node-link", "-data g.jsonl -class class -systems linear", map[string][]string{"g.jsonl": links}, map[string]string{"g.jsonl": `{"nodes":[{"id":0,"type":"x0"},{"id":1,"type":"x1"}],"links":[{"source":0,"target":1}]}`}, 60},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			args, asked := strings.Fields(c.args), []string{"evaluate", "-model", filepath.Join(dir, "m")}
			for i, arg := range args {
				if c.files[arg] != nil {
					args[i] = write(t, dir, arg, c.files[arg])
					asked = append(asked, args[i-1], args[i])
				}
			}
			if c.name == "node-link" {
				asked = append(asked, "-class", "class")
			}
			r := clitest.JSON[report](t, run, append([]string{"train", "-out", filepath.Join(dir, "m")}, args...)...)
			same := clitest.JSON[report](t, run, asked...)
			// Node-link JSON is read with another layout, and counts as changed.
			if same.Rows != r.Rows || same.LeftOut != 0 && c.name != "node-link" || *same.Accuracy != *r.Accuracy {
				t.Errorf("the same data: %d rows, %d seen, %v, want %d, 0, %v", same.Rows, same.LeftOut, *same.Accuracy, r.Rows, *r.Accuracy)
			}
			for name, lines := range c.files {
				if c.more[name] != "" {
					lines = append(slices.Clone(lines), c.more[name])
				}
				write(t, dir, name, shuffled(lines))
			}
			other := clitest.JSON[report](t, run, asked...)
			if c.rows > 0 && (other.Rows != r.Rows+c.rows%10 || other.Rows+other.LeftOut != c.rows) {
				t.Errorf("a row more: %d rows, %d seen, want %d and %d in all", other.Rows, other.LeftOut, r.Rows+c.rows%10, c.rows)
			}
			if c.rows == 0 && (other.LeftOut == 0 || other.Rows == 0) {
				t.Errorf("a row more: %d rows and %d seen, want some of both", other.Rows, other.LeftOut)
			}
		})
	}
}

// cut returns columns of lines.
func cut(lines []string, columns ...int) (out []string) {
	for _, line := range lines {
		var values []string
		for _, c := range columns {
			values = append(values, strings.Split(line, ",")[c])
		}
		out = append(out, strings.Join(values, ","))
	}
	return out
}

// Rows whose class the changed file does not have, or no more, are not rows that the model has learned from:
// each row is counted once.
func TestEvaluateCountsRowsOnce(t *testing.T) {
	nodes, edges := []string{"id,size,class"}, []string{"source,target"}
	changed := slices.Clone(nodes)
	for v := range 120 {
		class := []string{"a", "b"}[v%2]
		nodes = append(nodes, fmt.Sprintf("n%d,%d.5,%s", v, 100*(v%2)+v, class))
		if v%4 == 1 {
			class = "other"
		} else if v%4 == 2 {
			class = ""
		}
		changed = append(changed, fmt.Sprintf("n%d,%d.5,%s", v, 100*(v%2)+v, class))
		edges = append(edges, fmt.Sprintf("n%d,n%d", v, (v+1)%120))
	}
	dir := t.TempDir()
	args := []string{"-edges", write(t, dir, "e.csv", edges), "-nodes", write(t, dir, "n.csv", nodes), "-class", "class", "-systems", "linear"}
	trained := clitest.JSON[report](t, run, append([]string{"train", "-out", filepath.Join(dir, "m")}, args...)...)
	write(t, dir, "n.csv", changed)
	r := clitest.JSON[report](t, run, append([]string{"evaluate", "-model", filepath.Join(dir, "m")}, args[:6]...)...)
	if r.Foreign != 30 || r.Unknown != 30 || r.Rows+r.LeftOut+r.Unknown != 120 || r.Rows <= 30 || r.Rows >= 30+trained.Rows {
		t.Errorf("%d rows, %d foreign, %d left out, %d unknown", r.Rows, r.Foreign, r.LeftOut, r.Unknown)
	}
}

// Edge lists tell of lines that are no edges of their own, and data without tables of classes that may be none.
func TestTrainTellsOfLinesAndClasses(t *testing.T) {
	lines, molecules := "", []string{"smiles,class"}
	for v := range 60 {
		lines += fmt.Sprintf("%d %d\n%[2]d %[1]d\n%[1]d %[3]d\n", v, (v+1)%60, (v+7)%60)
		molecules = append(molecules, fmt.Sprintf("%sO,%s", strings.Repeat("C", v+1), []string{"0", "NA", "1"}[v%3]))
	}
	model := filepath.Join(t.TempDir(), "m")
	_, told := printed(t, "train", "-task", "links", "-data", clitest.File(t, "e.txt", lines+"5 5\n5 6\n"), "-systems", "linear", "-out", model)
	if !strings.Contains(told, "repeated rows: 61 of 182 ") || !strings.Contains(told, "left out: 1 of 182 rows of ") {
		t.Error(told)
	}
	_, told = printed(t, "train", "-data", clitest.File(t, "m.csv", strings.Join(molecules, "\n")), "-smiles", "smiles", "-class", "class", "-systems", "linear", "-out", model)
	if !strings.Contains(told, `guessed: "NA" is a value of column "class" of `) {
		t.Error(told)
	}
}

// evaluate reads tables that have changed since the training once, and tells of them once; inspect counts the
// rows that a model knows, and lists nothing that is empty.
func TestToldOnce(t *testing.T) {
	dir := t.TempDir()
	edges, nodes := []string{"source,target"}, []string{"id,kind"}
	for v := range 60 {
		edges = append(edges, fmt.Sprintf("n%d,n%d", v, (v+2)%60), fmt.Sprintf("n%d,n%d", v, (v+4)%60))
		nodes = append(nodes, fmt.Sprintf("n%d,%s", v, []string{"a", "b"}[v%2]))
	}
	e, n, model := write(t, dir, "e.csv", edges), write(t, dir, "n.csv", nodes), filepath.Join(dir, "m")
	must(t, "train", "-edges", e, "-nodes", n, "-class", "kind", "-systems", "linear", "-out", model)
	for v := 60; v < 80; v++ {
		edges = append(edges, fmt.Sprintf("n%d,n%d", v, v-2), fmt.Sprintf("n%d,n%d", v-2, v))
		nodes = append(nodes, fmt.Sprintf("n%d,%s", v, []string{"a", "b"}[v%2]))
	}
	_, told := printed(t, "evaluate", "-edges", write(t, dir, "e.csv", edges), "-nodes", write(t, dir, "n.csv", nodes), "-model", model)
	seen := map[string]bool{}
	for line := range strings.Lines(told) {
		if seen[line] {
			t.Errorf("told twice: %s", line)
		}
		seen[line] = true
	}
	if !strings.Contains(told, "repeated rows: 20 of 160") || !strings.Contains(told, "unknown ids: ") {
		t.Error(told)
	}
	// Classes by ids are knowledge too: another graph has none of them.
	smoothed := filepath.Join(dir, "smoothed")
	must(t, "train", "-edges", e, "-nodes", n, "-class", "kind", "-systems", "words-smoothed", "-out", smoothed)
	for i, row := range nodes[1:] {
		nodes[1+i] = "m" + row
	}
	for i, row := range edges[1:] {
		u, v, _ := strings.Cut(row, ",")
		edges[1+i] = "m" + u + ",m" + v
	}
	if _, told := printed(t, "evaluate", "-edges", write(t, dir, "other.csv", edges), "-nodes", write(t, dir, "others.csv", nodes), "-model", smoothed); !strings.Contains(told, "unknown ids: 80 of 80") {
		t.Error(told)
	}
	out, _ := printed(t, "inspect", model)
	if !strings.Contains(out, "  known: 50 rows, ") || strings.Contains(out, "ids ") || strings.Contains(out, ": \n") {
		t.Error(out)
	}
}

// TestRepeatedRows: a model learns from the number of the rows between two nodes, is asked about tables whose rows do not
// repeat, and refuses tables that are read otherwise. A model without the attribute keeps the smallest row, as its training did.
func TestRepeatedRows(t *testing.T) {
	race.Skip(t)
	clitest.Silence(t)
	dir := t.TempDir()
	edges, once, nodes := []string{"source,target,amount"}, []string{"source,target,amount"}, []string{"id,class"}
	for v := range 120 {
		row := fmt.Sprintf("n%d,n%d,%d.5", v, (v+2)%120, v/2%10)
		once = append(once, row)
		for range 1 + 2*(v%2) {
			edges = append(edges, row)
		}
		nodes = append(nodes, fmt.Sprintf("n%d,%s", v, []string{"few", "many"}[v%2]))
	}
	args := []string{"-edges", write(t, dir, "e.csv", edges), "-nodes", write(t, dir, "n.csv", nodes), "-class", "class", "-systems", "cnn-edges"}
	model, none := filepath.Join(dir, "m"), filepath.Join(dir, "none")
	r := clitest.JSON[report](t, run, append([]string{"train", "-out", model}, args...)...)
	must(t, append([]string{"train", "-out", none, "-repeated", "none"}, args...)...)
	if *r.Accuracy < 95 {
		t.Errorf("accuracy %v", *r.Accuracy)
	}
	w := write(t, dir, "once.csv", once)
	out := filepath.Join(dir, "out.csv")
	must(t, "predict", "-model", model, "-edges", w, "-nodes", args[3], "-out", out)
	if text, err := os.ReadFile(out); err != nil || strings.Count(string(text), ",few,") != 120 {
		t.Errorf("of rows that do not repeat: %v\n%s", err, text)
	}
	var answers [2]string
	for i, table := range []string{w, args[1]} {
		must(t, "predict", "-model", none, "-edges", table, "-nodes", args[3], "-out", out)
		text, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		answers[i] = string(text)
	}
	if answers[0] != answers[1] {
		t.Error("a model that keeps the smallest row answers otherwise where rows repeat")
	}
	for want, more := range map[string][]string{
		"-repeated is none, and the model has learned from count,sum": {"predict", "-model", model, "-repeated", "none"},
		"-repeated is count, and the model has learned from none":     {"predict", "-model", none, "-repeated", "count"},
		"the row names the edge of row 2 again":                       {"train", "-repeated", "error", "-class", "class"},
	} {
		if err := run(t.Context(), append(more, args[:4]...)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", more, err, want)
		}
	}
}
