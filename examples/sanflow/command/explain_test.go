package command

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/examples/internal/clitest"
	"github.com/sanflow/sanflow/internal/leak"
	"github.com/sanflow/sanflow/internal/race"
	"github.com/sanflow/sanflow/sinks"
)

// The command writes an explanation that adds up, the same each time.
func TestExplain(t *testing.T) {
	race.Skip(t)
	defer leak.VerifyNone(t)
	clitest.Silence(t)
	dir := t.TempDir()
	model, one, two, page := filepath.Join(dir, "model"), filepath.Join(dir, "one"), filepath.Join(dir, "two"), filepath.Join(dir, "page")
	trainLinear(t, model)
	must(t, "explain", "-model", model, "-graph", "5", "-class", "torus", "-json", one, "-html", page)
	must(t, "explain", "-model", model, "-graph", "5", "-class", "torus", "-json", two)
	if read(t, one) != read(t, two) || !strings.Contains(read(t, page), "<svg") {
		t.Error("other bytes, or no drawing")
	}
	e, sum, _ := sums(t, one)
	if e.Class != "torus" || e.Predicted == "" || len(e.Probs) != 6 || math.Abs(sum-e.Sum) > 1e-9 {
		t.Errorf("class %s, predicted %s, %v, sum %v, want %v", e.Class, e.Predicted, e.Probs, sum, e.Sum)
	}
	for _, bad := range [][]string{{"-graph", "x"}, {"-graph", "-1"}, {"-graph", "100000"}, {"-graph", "3-"}, {"-graph", "3-1"}, {"-graph", "0-9999999"}, {"-class", "none"}, {"-task", "nodes"}} {
		if err := run(t.Context(), append([]string{"explain", "-model", model}, bad...)); err == nil {
			t.Errorf("%q: want an error", bad)
		}
	}
}

// The command writes an atlas, the same each time, whose page leads from a motif to its graphs.
func TestAtlas(t *testing.T) {
	race.Skip(t)
	defer leak.VerifyNone(t)
	clitest.Silence(t)
	dir := t.TempDir()
	model, one, two, page := filepath.Join(dir, "model"), filepath.Join(dir, "one"), filepath.Join(dir, "two"), filepath.Join(dir, "page")
	trainLinear(t, model)
	must(t, "atlas", "-model", model, "-json", one, "-html", page, "-motifs", "5")
	must(t, "atlas", "-model", model, "-json", two, "-motifs", "5", "-workers", "2")
	if read(t, one) != read(t, two) {
		t.Error("other bytes")
	}
	for _, part := range []string{"<svg", `href="#m5"`, `id="m5"`} {
		if !strings.Contains(read(t, page), part) {
			t.Errorf("the page has no %s", part)
		}
	}
	for _, bad := range [][]string{{"-graph", "5"}, {"-class", "torus"}, {"-motifs", "0"}, {"-task", "nodes"}, {"-data", "nowhere"}} {
		if err := run(t.Context(), append([]string{"atlas", "-model", model}, bad...)); err == nil {
			t.Errorf("%q: want an error", bad)
		}
	}
}

// Each system of nodes, links and graphs of tables is explained, and adds up.
func TestExplainTables(t *testing.T) {
	race.Skip(t)
	clitest.Silence(t)
	dir := t.TempDir()
	people, payments := []string{"name,city,role"}, []string{"from,to,kind"}
	for v := range 60 {
		people = append(people, fmt.Sprintf("n%d,%s,%s", v, []string{"east", "west"}[v%2], []string{"buyer", "seller"}[v%3/2]))
		for step := 1; step < 4; step++ {
			payments = append(payments, fmt.Sprintf("n%d,n%d,%s", v, (v+step*step)%60, []string{"card", "cash"}[v%3/2]))
		}
	}
	edges, graphs := []string{"mol,source,target,bond"}, []string{"mol,kind"}
	for g := range 60 {
		n := 5 + g%4
		for v := range n - g%2 { // a ring, or a path
			edges = append(edges, fmt.Sprintf("m%02d,%d,%d,single", g, v, (v+1)%n))
		}
		graphs = append(graphs, fmt.Sprintf("m%02d,%s", g, []string{"ring", "path"}[g%2]))
	}
	pay, of := write(t, dir, "pay.csv", payments), write(t, dir, "people.csv", people)
	mol, kinds := write(t, dir, "mol.csv", edges), write(t, dir, "kinds.csv", graphs)
	model, out, page := filepath.Join(dir, "model"), filepath.Join(dir, "out"), filepath.Join(dir, "page")
	nodes := []string{"-edges", pay, "-nodes", of}
	for _, c := range []struct {
		systems, method string
		train, data, of []string
	}{
		{"linear,neighbours,words", "exact", []string{"-source", "from", "-target", "to", "-type", "kind", "-id", "name", "-class", "role"}, nodes, []string{"-of", "n5", "-class", "buyer"}},
		{"cnn,cnn-edges", "occlusion", []string{"-source", "from", "-target", "to", "-type", "kind", "-id", "name", "-class", "role"}, nodes, []string{"-of", "n5"}},
		{"ensemble", "", []string{"-source", "from", "-target", "to", "-type", "kind", "-id", "name", "-class", "role"}, nodes, []string{"-of", "n5"}},
		{"linear,words", "exact", []string{"-task", "links", "-source", "from", "-target", "to"}, []string{"-edges", pay}, []string{"-of", "n5", "-of", "n7"}},
		{"trees,words+trees", "exact", []string{"-task", "links", "-source", "from", "-target", "to"}, []string{"-edges", pay}, []string{"-of", "n5", "-of", "n6"}},
		{"linear,words", "exact", []string{"-graph", "mol", "-class", "kind"}, []string{"-edges", mol, "-nodes", kinds}, []string{"-of", "m07", "-class", "ring"}},
		{"cnn", "occlusion", []string{"-graph", "mol", "-class", "kind"}, []string{"-edges", mol, "-nodes", kinds}, []string{"-of", "m07"}},
	} {
		for _, system := range strings.Split(c.systems, ",") {
			must(t, slices.Concat([]string{"train", "-out", model, "-systems", system}, c.train, c.data)...)
			args := slices.Concat([]string{"explain", "-model", model, "-json", out, "-html", page}, c.data, c.of)
			must(t, args...)
			first := read(t, out) + read(t, page)
			must(t, args...)
			if first != read(t, out)+read(t, page) {
				t.Errorf("%s: other bytes the second time", args)
			}
			e, words, parts := sums(t, out)
			near := 1e-5 * max(1, math.Abs(e.Sum))
			if math.Abs(parts-e.Sum) > near || e.Method == "exact" && math.Abs(words-e.Sum) > near || c.method != "" && e.Method != c.method {
				t.Errorf("%s: %s: words %v, parts %v, sum %v", args, e.Method, words, parts, e.Sum)
			}
			if named := e.Nodes[0].Name; c.data[1] == pay && !strings.HasPrefix(named.String(), "n") {
				t.Errorf("%s: node %v", args, e.Nodes[0])
			}
		}
	}
	for _, bad := range [][]string{{"-of", "m99"}, {"-of", "m01", "-of", "m99"}, {"-of", "m01", "-class", "none"}} {
		if err := run(t.Context(), slices.Concat([]string{"explain", "-model", model, "-edges", mol, "-nodes", kinds}, bad)); err == nil {
			t.Errorf("%q: want an error", bad)
		}
	}
}

// sums are those of a file of an explanation, by its words and by its parts.
func sums(t *testing.T, file string) (e explanation, words, parts float64) {
	t.Helper()
	if err := json.Unmarshal([]byte(read(t, file)), &e); err != nil {
		t.Fatal(err)
	}
	words, parts = e.Bias, e.Bias+e.Graph
	for _, w := range e.Words {
		words += w.Weight
	}
	for _, v := range e.Nodes {
		parts += v.Weight
	}
	for _, v := range e.Edges {
		parts += v.Weight
	}
	return e, words, parts
}

// Answers about molecules are explained for the class of -class, where the model has a column of
// that name too, by JSON and by the page.
func TestExplainMolecules(t *testing.T) {
	race.Skip(t)
	clitest.Silence(t)
	dir := t.TempDir()
	rows := "smiles,acid,mass\n"
	for n := range 48 {
		rows += fmt.Sprintf("%s%s,%s,%d\n", strings.Repeat("C", 2+n%5), []string{"N", "O"}[n%2], []string{"no", "yes"}[n%2], n%5+n%2)
	}
	table, model, out, page := clitest.File(t, "acids.csv", rows), filepath.Join(dir, "model"), filepath.Join(dir, "out"), filepath.Join(dir, "page")
	must(t, "train", "-systems", "linear", "-out", model, "-data", table, "-smiles", "smiles", "-class", "acid")
	for class, args := range map[string][]string{"no": {"-class", "no"}, "yes": nil} {
		args = append([]string{"-model", model, "-data", table, "-graph", "1", "-html", page, "-json", out}, args...)
		must(t, append([]string{"explain"}, args...)...)
		if e, words, parts := sums(t, out); e.Class != class || math.Abs(words-e.Sum) > 1e-5 || math.Abs(parts-e.Sum) > 1e-5 {
			t.Errorf("%s: class %s, words %v, parts %v, sum %v", class, e.Class, words, parts, e.Sum)
		}
		if want := "Explained class: <b>" + class; !strings.Contains(read(t, page), want) {
			t.Errorf("the page has no %q", want)
		}
	}
	must(t, "train", "-systems", "linear", "-out", model, "-data", table, "-smiles", "smiles", "-value", "mass")
	must(t, "explain", "-model", model, "-data", table, "-graph", "1", "-json", out)
	if e, words, parts := sums(t, out); e.Class != "" || math.Abs(words-float64(e.Value)) > 1e-5 || math.Abs(parts-float64(e.Value)) > 1e-5 {
		t.Errorf("class %q, words %v, parts %v, value %v", e.Class, words, parts, e.Value)
	}
	for want, graph := range map[string]string{"the model has learned a number": "1", "there is no graph 48 among 48": "48"} {
		args := []string{"explain", "-model", model, "-data", table, "-graph", graph}
		if graph == "1" {
			args = append(args, "-class", "yes")
		}
		if err := run(t.Context(), args); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want an error with %q", err, want)
		}
	}
}

// An atlas begins with the number of words, and a model without words has none.
func TestAtlasOfWords(t *testing.T) {
	race.Skip(t)
	model, out := filepath.Join(t.TempDir(), "model"), clitest.File(t, "out", "")
	clitest.Silence(t)
	trainLinear(t, model)
	file, err := os.Create(out)
	if err != nil {
		t.Fatal(err)
	}
	old := os.Stdout
	os.Stdout = file
	err = run(t.Context(), []string{"atlas", "-model", model})
	os.Stdout = old
	file.Close()
	if first, _, _ := strings.Cut(read(t, out), "\n"); err != nil || !strings.HasSuffix(first, " words") {
		t.Errorf("%v, the output begins with %q, want an end with words", err, first)
	}
	must(t, "train", "-out", model, "-systems", "cnn")
	if err := run(t.Context(), []string{"atlas", "-model", model}); err == nil || !strings.Contains(err.Error(), "has no words: want a model of counts") {
		t.Errorf("an atlas of a cnn: %v, want an error", err)
	}
}

// Words about certain nodes have the ids of the table, not numbers.
func TestExplainIDs(t *testing.T) {
	race.Skip(t)
	clitest.Silence(t)
	dir := t.TempDir()
	people, payments := []string{"name,city,role"}, []string{"from,to"}
	for v := range 60 {
		people = append(people, fmt.Sprintf("P-%d,%s,%s", v, []string{"east", "west"}[v%2], []string{"buyer", "seller"}[v/30]))
		for step := 1; step < 4; step++ {
			payments = append(payments, fmt.Sprintf("P-%d,P-%d", v, v/30*30+(v+step*step)%30))
		}
	}
	pay, of, model, out, page := write(t, dir, "pay.csv", payments), write(t, dir, "people.csv", people), filepath.Join(dir, "model"), filepath.Join(dir, "out"), filepath.Join(dir, "page")
	for _, ignore := range []string{"", "city"} {
		for _, system := range []string{"linear", "neighbours", "words"} {
			if system == "neighbours" && ignore != "" {
				continue
			}
			must(t, "train", "-systems", system, "-out", model, "-edges", pay, "-source", "from", "-target", "to", "-nodes", of, "-id", "name", "-class", "role", "-ignore", ignore)
			must(t, "explain", "-model", model, "-edges", pay, "-nodes", of, "-of", "P-7", "-json", out, "-html", page)
			e, _, _ := sums(t, out)
			named := 0
			for _, w := range e.Words {
				what := regexp.MustCompile(`^(of the root|at distance \d): (node P-\d+|east|west|degree [0-9-]+)$`).FindStringSubmatch(w.Text)
				if what == nil {
					t.Fatalf("%s: %q", system, w.Text)
				}
				if id, ok := strings.CutPrefix(what[2], "node "); ok {
					named++
					at := slices.IndexFunc(e.Nodes, func(v sinks.NodeWeight) bool { return v.Name.String() == id })
					if at < 0 || !slices.Equal(slices.Concat(w.Members...), []int32{e.Nodes[at].ID}) {
						t.Errorf("%s: %q has the nodes %v, want %s", system, w.Text, w.Members, id)
					}
				}
			}
			if text := read(t, page); !strings.Contains(text, "<td>[P-") || strings.Contains(text, "<td>[7") {
				t.Errorf("%s: the page does not name the nodes of words", system)
			}
			if (named > 0) != (system == "neighbours" || ignore != "") {
				t.Errorf("%s: %d of %d words name a node", system, named, len(e.Words))
			}
		}
	}
}

// A graph is explained by its id, and its nodes have theirs: of tables, node-link JSON and molecules.
func TestExplainNamesOfGraphs(t *testing.T) {
	clitest.Silence(t)
	dir := t.TempDir()
	model, out, page := filepath.Join(dir, "model"), filepath.Join(dir, "out"), filepath.Join(dir, "page")
	named, numbered, kinds, numbers, lines := []string{"g,source,target"}, []string{"g,source,target"}, []string{"g,kind"}, []string{"g,kind"}, []string{}
	molecules := []string{"name,smiles,acid"}
	for g := range 48 {
		kind, n := []string{"ring", "path"}[g%2], 5+g%4
		var links []string
		for v := range n - g%2 {
			named = append(named, fmt.Sprintf("G%02d,n%d,n%d", g, v, (v+1)%n))
			numbered = append(numbered, fmt.Sprintf("%d,%d,%d", 100+g, 10+v, 10+(v+1)%n))
			links = append(links, fmt.Sprintf(`{"source":"n%d","target":"n%d"}`, v, (v+1)%n))
		}
		kinds, numbers = append(kinds, fmt.Sprintf("G%02d,%s", g, kind)), append(numbers, fmt.Sprintf("%d,%s", 100+g, kind))
		lines = append(lines, fmt.Sprintf(`{"id":"G%02d","graph":{"kind":"%s"},"links":[%s]}`, g, kind, strings.Join(links, ",")))
		molecules = append(molecules, fmt.Sprintf("mol-%d,%s%s,%s", g, strings.Repeat("C", 2+n%5), []string{"N", "O"}[g%2], []string{"no", "yes"}[g%2]))
	}
	tables := func(edges, of []string) []string {
		return []string{"-edges", write(t, t.TempDir(), "edges.csv", edges), "-nodes", write(t, t.TempDir(), "kinds.csv", of)}
	}
	for _, c := range []struct {
		train       string
		data        []string
		by, of, one string
	}{
		{"-graph g -class kind", tables(named, kinds), "-of G03", "G03", "n0"},
		{"-class kind", []string{"-data", write(t, dir, "g.jsonl", lines)}, "-of G03", "G03", "n0"},
		{"-class kind", []string{"-data", write(t, dir, "g.jsonl", lines)}, "-graph 3", "G03", "n0"},
		{"-smiles smiles -class acid", []string{"-data", write(t, dir, "mol.csv", molecules), "-id", "name"}, "-of mol-3", "mol-3", ""},
		{"-smiles smiles -class acid", []string{"-data", write(t, dir, "mol.csv", molecules)}, "-graph 3", "3", ""},
		{"-graph g -class kind", tables(numbered, numbers), "-of 103", "103", "10"},
	} {
		must(t, slices.Concat([]string{"train", "-systems", "linear", "-out", model}, strings.Fields(c.train), c.data)...)
		explain := slices.Concat([]string{"explain", "-model", model, "-json", out, "-html", page}, c.data)
		must(t, append(explain, strings.Fields(c.by)...)...)
		e, _, _ := sums(t, out)
		if e.Of != c.of || e.Nodes[0].Name.String() != c.one {
			t.Errorf("%s: of %q, node %q, want %q, %q", c.by, e.Of, e.Nodes[0].Name, c.of, c.one)
		}
		if text := read(t, page); !regexp.MustCompile("<title>Graph (&#34;|)"+c.of+"(&#34;|) of ").MatchString(text) || c.one != "" && !strings.Contains(text, "node "+c.one+":") {
			t.Errorf("%s: the page does not name the graph %q or the node %q", c.by, c.of, c.one)
		}
		if strings.HasSuffix(c.data[1], "mol.csv") && !slices.ContainsFunc(e.Words, func(w sinks.WordWeight) bool { return strings.Contains(w.Text, "element=C ") }) {
			t.Errorf("%s: no word of %v names the attribute element", c.by, e.Words)
		}
		bad := map[string]string{"-of none": `there is no graph "none"`, "-of a -of b": `there is no graph "a"`}
		switch {
		case c.data[0] == "-edges":
			bad["-graph "+c.of] = "use -of, the id of the graph"
		case c.of == "3":
			bad["-of none"], bad["-of a -of b"] = `the graphs have no ids: -id names their column, one of ["name"], or -graph`, "the graphs have no ids: -id names"
		default:
			bad["-of G03 -graph 3"] = "-of and -graph are both set"
		}
		for args, want := range bad {
			if err := run(t.Context(), append(explain, strings.Fields(args)...)); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %s", args, err, want)
			}
		}
	}
}

// Several answers are one page with an index, a list of JSON and one table of parts, which add up; and without -of the
// command says what it explains.
func TestExplainMany(t *testing.T) {
	race.Skip(t)
	clitest.Silence(t)
	dir := t.TempDir()
	model, out, page, table := filepath.Join(dir, "model"), filepath.Join(dir, "out"), filepath.Join(dir, "page"), filepath.Join(dir, "table")
	mol, pay, people := []string{"id,smiles,acid"}, []string{"id,time,from,to,amount,fraud"}, []string{"name,role"}
	for n := range 60 {
		mol = append(mol, fmt.Sprintf("M%02d,%s%s,%s", n, strings.Repeat("C", 2+n%5), []string{"N", "O"}[n%2], []string{"no", "yes"}[n%2]))
		people = append(people, fmt.Sprintf("A%d,%s", n, []string{"mule", "normal"}[n/30]))
	}
	for n := range 200 {
		pay = append(pay, fmt.Sprintf("P%d,%d,A%d,A%d,%d,%s", n, n, n%60, n/60*7%60+n%60/30*30, n*37%100, []string{"ok", "fraud"}[n*37%100/80]))
	}
	molecules, rows, nodes := write(t, dir, "mol.csv", mol), write(t, dir, "pay.csv", pay), write(t, dir, "people.csv", people)
	for _, c := range []struct {
		train, data []string
		ids, ask    []string
		guess       string
	}{
		{[]string{"-class", "acid", "-systems", "linear"}, []string{"-data", molecules, "-smiles", "smiles"}, []string{"M03", "M00", "M17", "M18", "M19"}, []string{"-graph", "3,0,17-19"}, "guessed: graph M00, the first"},
		{[]string{"-task", "rows", "-key", "from:account,to:account", "-time", "time", "-id", "id", "-class", "fraud", "-systems", "trees-words"}, []string{"-rows", rows}, []string{"P199", "P7"}, nil, "guessed: row P199, the latest"},
		{[]string{"-source", "from", "-target", "to", "-id", "name", "-class", "role", "-systems", "linear"}, []string{"-edges", rows, "-nodes", nodes}, []string{"A5", "A31"}, nil, "guessed: node "},
		{[]string{"-task", "links", "-source", "from", "-target", "to", "-systems", "words"}, []string{"-edges", rows}, []string{"A5–A31", "A7–A8"}, nil, "guessed: link "},
	} {
		ask := c.ask
		for _, id := range c.ids {
			if c.ask == nil {
				for end := range strings.SplitSeq(id, "–") {
					ask = append(ask, "-of", end)
				}
			}
		}
		must(t, slices.Concat([]string{"train", "-out", model}, c.train, c.data)...)
		must(t, slices.Concat([]string{"explain", "-model", model, "-json", out, "-html", page, "-csv", table}, c.data, ask)...)
		var all []explanation
		if err := json.Unmarshal([]byte(read(t, out)), &all); err != nil || len(all) != len(c.ids) {
			t.Fatalf("%s: %d explanations, %v", ask, len(all), err)
		}
		lines, err := csv.NewReader(strings.NewReader(read(t, table))).ReadAll()
		if err != nil || strings.Join(lines[0], " ") != "id kind name value weight target class" {
			t.Fatal(err, lines[0])
		}
		sums := map[string]float64{}
		for _, line := range lines[1:] {
			w, err := strconv.ParseFloat(line[4], 64)
			if err != nil {
				t.Fatal(err)
			}
			sums[line[0]] += w
		}
		text := read(t, page)
		for i, id := range c.ids {
			e := all[i]
			if math.Abs(sums[id]-e.Sum) > 1e-5*(1+math.Abs(e.Sum)) {
				t.Errorf("%s: the parts of %s add up to %v, want %v", ask, id, sums[id], e.Sum)
			}
			if !strings.Contains(text, fmt.Sprintf(`<a href="#e%d">%s</a></td><td class="brief">%s</td><td class="number">%.4f`, i+1, id, e.Class, e.Probs[slices.Index(e.Classes, e.Class)])) {
				t.Errorf("%s: the index does not have %s", ask, id)
			}
		}
		if _, said := printed(t, slices.Concat([]string{"explain", "-model", model}, c.data)...); !strings.Contains(said, c.guess) {
			t.Errorf("%s, want %q", said, c.guess)
		}
	}
}

// Graphs without ids are explained by the numbers that predict writes as their ids.
func TestExplainNumbers(t *testing.T) {
	race.Skip(t)
	clitest.Silence(t)
	dir := t.TempDir()
	model, byID, byNumber := filepath.Join(dir, "model"), filepath.Join(dir, "of.json"), filepath.Join(dir, "graph.json")
	trainLinear(t, model)
	must(t, "explain", "-model", model, "-of", "3", "-json", byID)
	must(t, "explain", "-model", model, "-graph", "3", "-json", byNumber)
	if of, graph := read(t, byID), read(t, byNumber); of != graph {
		t.Errorf("-of 3: %s, -graph 3: %s", of, graph)
	}
	for of, want := range map[string]string{"none": "the graphs have no ids", "-1": "the graphs have no ids", "99999": "there is no graph 99999"} {
		if err := run(t.Context(), []string{"explain", "-model", model, "-of", of}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("-of %s: %v, want %s", of, err, want)
		}
	}
}
