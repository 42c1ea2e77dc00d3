package command

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/examples/internal/clitest"
	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/internal/race"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sinks/choose"
	sink "github.com/sanflow/sanflow/sinks/parquet"
	"github.com/sanflow/sanflow/sources/nodelink"
	"github.com/sanflow/sanflow/sources/parquet"
)

// write writes a file of a directory and returns its path.
func write(t *testing.T, dir, name string, lines []string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// Tables of people and payments become a model that answers by the names of the people,
// from other files too, with words that it has not met.
func TestTables(t *testing.T) {
	clitest.Silence(t)
	dir, rng := t.TempDir(), rand.New(rand.NewPCG(1, 1))
	people, payments := []string{"name,job,role"}, []string{"from,to,kind,amount"}
	for v := range 200 {
		role := []string{"fraud", "honest", ""}[min(2, v%4)]
		if v%4 == 3 {
			role = "honest"
		}
		people = append(people, fmt.Sprintf(`"Mx, %d",%s,%s`, v, []string{"baker", "clerk"}[rng.IntN(2)], role))
		for range 3 {
			payments = append(payments, fmt.Sprintf(`"Mx, %d","Mx, %d",%s,%d`, v, rng.IntN(200), []string{"cash", "card"}[min(1, v%4)], rng.IntN(9)))
		}
	}
	nodes, edges, model := write(t, dir, "people.csv", people), write(t, dir, "payments.csv", payments), filepath.Join(dir, "model")
	tables := []string{"-task", "nodes", "-edges", edges, "-source", "from", "-target", "to", "-type", "kind", "-nodes", nodes, "-id", "name", "-class", "role"}
	r := clitest.JSON[report](t, run, append([]string{"train", "-systems", "linear,cnn-edges", "-out", model}, tables...)...)
	if len(r.Classes) != 2 || *r.Accuracy <= *r.Majority {
		t.Errorf("%+v", r)
	}
	again := clitest.JSON[report](t, run, "evaluate", "-model", model, "-edges", edges, "-nodes", nodes)
	if *again.Accuracy != *r.Accuracy || again.Rows != r.Rows {
		t.Errorf("evaluate: %v of %d, train: %v of %d", *again.Accuracy, again.Rows, *r.Accuracy, r.Rows)
	}
	// The same rows in another order, as lines of JSON, without the classes.
	var lines [2][]string
	for i, rows := range [][]string{people, payments} {
		table, err := csv.NewReader(strings.NewReader(strings.Join(rows, "\n"))).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range table[1:] {
			object := map[string]any{}
			for c, name := range table[0] {
				if name != "role" {
					object[name] = row[c]
				}
			}
			if i == 1 {
				object["amount"] = json.Number(row[3])
			}
			b, err := json.Marshal(object)
			if err != nil {
				t.Fatal(err)
			}
			lines[i] = append(lines[i], string(b))
		}
		rng.Shuffle(len(lines[i]), func(a, b int) { lines[i][a], lines[i][b] = lines[i][b], lines[i][a] })
	}
	one, two := filepath.Join(dir, "one.csv"), filepath.Join(dir, "two.csv")
	must(t, append([]string{"predict", "-model", model, "-out", one}, tables...)...)
	must(t, "predict", "-model", model, "-out", two, "-edges", write(t, dir, "p.jsonl", lines[1]), "-nodes", write(t, dir, "n.jsonl", lines[0]))
	if text := read(t, one); text != read(t, two) || !strings.Contains(text, "\n\"Mx, 7\",") {
		t.Errorf("other answers, or names: %s", text[:200])
	}
	// A Parquet file of the payments gives the same model, and one of the answers has them.
	packed, same := filepath.Join(dir, "payments.parquet"), filepath.Join(dir, "same")
	toParquet(t, packed, payments)
	tables[3] = packed
	must(t, append([]string{"train", "-systems", "linear,cnn-edges", "-out", same}, tables...)...)
	if read(t, same) != read(t, model) {
		t.Error("another model of the same rows in Parquet")
	}
	answers := filepath.Join(dir, "scores.parquet")
	must(t, "predict", "-model", model, "-edges", packed, "-nodes", nodes, "-out", answers)
	var told bytes.Buffer
	for _, path := range []string{model, answers} {
		if err := describe(t.Context(), &told, path); err != nil {
			t.Error(err)
		}
	}
	for _, want := range []string{"the file is whole; classes: fraud, honest", "edge_cat: type (2 words, and one value for unseen words)", "system: ", "a table, 200 rows\n  id: string\n  class: string\n  p_fraud: float"} {
		if !strings.Contains(told.String(), want) {
			t.Errorf("inspect: %s; want %s", told.String(), want)
		}
	}
	table, err := parquet.Table{Path: answers}.OpenTable(t.Context())
	if err != nil || len(table.Columns()) != 4 || table.Columns()[1].Name != "class" {
		t.Fatal(table, err)
	}
	table.Close()
	s, url := started(t, "-model", model, "-edges", edges, "-nodes", nodes)
	if status, text := post(t, url, `{"ids": ["Mx, 7"]}`); status != 200 || !strings.Contains(text, `"id":"Mx, 7"`) {
		t.Errorf("%d, %s", status, text)
	}
	status, text := post(t, url, `{"nodes": [{"id": "a", "job": "pilot"}, {"id": "b", "job": "clerk"}], "edges": [{"source": "a", "target": "b", "type": "cash", "amount": 2}]}`)
	if status != 200 || s.stats.unknown.Load() != 1 || !strings.Contains(text, `{"id":"a","class":`) {
		t.Errorf("%d, %s, %d unknown words", status, text, s.stats.unknown.Load())
	}
	// An edge of a question stands for one row, unless it says of how many.
	ask := `{"nodes": [{"id": "a", "job": "pilot"}, {"id": "b", "job": "clerk"}], "edges": [{"source": "a", "target": "b", "type": "cash", "amount": 2%s}]}`
	_, single := post(t, url, fmt.Sprintf(ask, ""))
	_, same1 := post(t, url, fmt.Sprintf(ask, `, "count of rows": 1, "sum of amount": 2`))
	_, five := post(t, url, fmt.Sprintf(ask, `, "count of rows": 5, "sum of amount": 90`))
	if single != same1 || single == five || !strings.Contains(single, `"p":`) && !strings.Contains(single, `"class":`) {
		t.Errorf("one row: %s, said so: %s, five rows: %s", single, same1, five)
	}
	if status, text := post(t, url, fmt.Sprintf(ask, `}, {"source": "b", "target": "a", "type": "cash", "amount": 3`)); status != 422 || !strings.Contains(text, "1 links name an edge that another link names") {
		t.Errorf("%d, %s", status, text)
	}
}

// Links between named nodes are found, and asked about by name.
func TestTablesOfLinks(t *testing.T) {
	race.Skip(t)
	clitest.Silence(t)
	dir := t.TempDir()
	people, friends := []string{"name,job"}, []string{"source,target,since"}
	for v := range 120 {
		people = append(people, fmt.Sprintf("p%d,%s", v, []string{"baker", "clerk"}[v%2]))
		for _, step := range []int{1, 2, 3} {
			friends = append(friends, fmt.Sprintf("p%d,p%d,%d", v, (v+step)%120, v))
		}
	}
	e, n, model := write(t, dir, "e.csv", friends), write(t, dir, "n.csv", people), filepath.Join(dir, "m")
	r := clitest.JSON[report](t, run, "train", "-task", "links", "-edges", e, "-nodes", n, "-id", "name", "-time", "since", "-out", model, "-systems", "linear,trees")
	if r.AUC == nil || *r.AUC < 0.8 || r.Task != "links" {
		t.Errorf("%+v", r)
	}
	out := filepath.Join(dir, "s.jsonl")
	must(t, "predict", "-model", model, "-edges", e, "-nodes", n, "-out", out)
	line, _, _ := strings.Cut(read(t, out), "\n")
	var first struct {
		Source, Target string
		P              float32
	}
	if err := json.Unmarshal([]byte(line), &first); err != nil || !strings.HasPrefix(first.Source, "p") {
		t.Fatalf("%s, %v", line, err)
	}
	_, url := started(t, "-model", model, "-edges", e, "-nodes", n)
	status, text := post(t, url, fmt.Sprintf(`{"ids": [[%q, %q]]}`, first.Source, first.Target))
	if want := fmt.Sprintf(`[{"source":%q,"target":%q,"p":`, first.Source, first.Target); status != 200 || !strings.HasPrefix(text, want) {
		t.Errorf("%d, %s, want %s", status, text, want)
	}
}

// Node-link JSON, a graph a line, is data too.
func TestNodeLink(t *testing.T) {
	clitest.Silence(t)
	dir := t.TempDir()
	var lines []string
	for g := range 60 {
		var links []string
		for v := range 6 - g%2 {
			links = append(links, fmt.Sprintf(`{"source":%d,"target":%d}`, v, (v+1)%6))
		}
		lines = append(lines, fmt.Sprintf(`{"graph":{"kind":"%s"},"nodes":[{"id":0,"type":"a"},{"id":1,"type":"b"},{"id":2,"type":"a"},{"id":3,"type":"a"},{"id":4,"type":"a"},{"id":5,"type":"a"}],"links":[%s]}`,
			[]string{"ring", "path"}[g%2], strings.Join(links, ",")))
	}
	data, model, out := write(t, dir, "g.jsonl", lines), filepath.Join(dir, "m"), filepath.Join(dir, "s.csv")
	r := clitest.JSON[report](t, run, "train", "-data", data, "-class", "kind", "-out", model, "-systems", "linear")
	again := clitest.JSON[report](t, run, "evaluate", "-data", data, "-class", "kind", "-model", model)
	if *r.Accuracy < 90 || *again.Accuracy != *r.Accuracy {
		t.Errorf("%v, %v", *r.Accuracy, *again.Accuracy)
	}
	must(t, "predict", "-data", data, "-model", model, "-out", out)
	_, url := started(t, "-model", model)
	_, text := post(t, url, lines[1])
	if rows := strings.Split(read(t, out), "\n"); !strings.HasPrefix(rows[2], "1,path,") || !strings.Contains(text, `"class":"path"`) {
		t.Errorf("%s, %s", rows[2], text)
	}
}

// Graphs of another class are errors of the model, those without a class are left out, and
// a class may be absent: of node-link JSON, and of tables.
func TestOtherClassesOfGraphs(t *testing.T) {
	clitest.Silence(t)
	dir := t.TempDir()
	class := func(g int) string {
		switch {
		case g >= 60 && g < 65:
			return "weird"
		case g >= 65:
			return ""
		}
		return []string{"ring", "path"}[g%2]
	}
	graphs, edges, lines := []string{"g,kind"}, []string{"g,source,target"}, []string{}
	for g := range 68 {
		var links []string
		for v := range 6 - g%2 {
			links = append(links, fmt.Sprintf(`{"source":%d,"target":%d}`, v, (v+1)%6))
			edges = append(edges, fmt.Sprintf("%d,%d,%d", g, v, (v+1)%6))
		}
		graphs = append(graphs, fmt.Sprintf("%d,%s", g, class(g)))
		of := fmt.Sprintf(`{"kind":"%s"}`, class(g))
		if g == 67 {
			of = "{}"
		}
		lines = append(lines, fmt.Sprintf(`{"graph":%s,"links":[%s]}`, of, strings.Join(links, ",")))
	}
	rings := func(all []string) (some []string) {
		for _, l := range all {
			if !strings.Contains(l, "path") && !strings.Contains(l, "weird") {
				some = append(some, l)
			}
		}
		return some
	}
	e, model := write(t, dir, "e.csv", edges), filepath.Join(dir, "m")
	fewer := []string{edges[0]} // the graphs with an even number
	for _, l := range edges[1:] {
		if g, _ := strconv.Atoi(l[:strings.Index(l, ",")]); class(g) == "ring" || class(g) == "" {
			fewer = append(fewer, l)
		}
	}
	var learned []string // without the other class
	for _, l := range lines {
		if !strings.Contains(l, "weird") {
			learned = append(learned, l)
		}
	}
	var kept []string
	for _, l := range edges {
		if g, err := strconv.Atoi(l[:strings.Index(l, ",")]); err != nil || class(g) != "weird" {
			kept = append(kept, l)
		}
	}
	for _, c := range []struct {
		what                 string
		train, all, some, no []string
	}{
		{"node-link JSON", []string{"-data", write(t, dir, "learned.jsonl", learned), "-class", "kind"}, []string{"-data", write(t, dir, "all.jsonl", lines), "-class", "kind"},
			[]string{"-data", write(t, dir, "some.jsonl", rings(lines)), "-class", "kind"}, []string{"-data", filepath.Join(dir, "all.jsonl")}},
		{"tables", []string{"-edges", write(t, dir, "kept.csv", kept), "-graph", "g", "-nodes", write(t, dir, "keptg.csv", slices.DeleteFunc(slices.Clone(graphs), func(l string) bool { return strings.Contains(l, "weird") })), "-class", "kind"},
			[]string{"-edges", e, "-nodes", write(t, dir, "g.csv", graphs)},
			[]string{"-edges", write(t, dir, "fewer.csv", fewer), "-nodes", write(t, dir, "some.csv", rings(graphs))}, []string{"-edges", e}},
	} {
		r := clitest.JSON[report](t, run, append([]string{"train", "-systems", "linear", "-out", model}, c.train...)...)
		if len(r.Classes) != 2 || *r.Accuracy < 90 {
			t.Errorf("%s: train: %v, %v", c.what, r.Classes, *r.Accuracy)
		}
		r = clitest.JSON[report](t, run, append([]string{"evaluate", "-model", model}, c.all...)...)
		if r.Rows != 15 || r.LeftOut != 50 || r.Foreign != 5 || r.Unknown != 3 || *r.Accuracy > 100*10./15+1e-9 || *r.Accuracy < 50 {
			t.Errorf("%s: all: %d rows, %d left out, %d foreign, %d unknown, %v %% right", c.what, r.Rows, r.LeftOut, r.Foreign, r.Unknown, *r.Accuracy)
		}
		r = clitest.JSON[report](t, run, append([]string{"evaluate", "-model", model}, c.some...)...)
		if r.Rows != 5 || r.LeftOut != 25 || r.Foreign != 0 || r.Unknown != 3 || len(r.Classes) != 2 {
			t.Errorf("%s: a subset: %d rows, %d foreign, %d unknown, %v", c.what, r.Rows, r.Foreign, r.Unknown, r.Classes)
		}
		out := filepath.Join(dir, "s.csv")
		must(t, append([]string{"predict", "-model", model, "-out", out}, c.no...)...)
		if n := strings.Count(read(t, out), "\n"); n != 69 {
			t.Errorf("%s: %d lines of predictions, want 69", c.what, n)
		}
	}
}

// predict and serve call a graph by its id, its name, or the name in its object graph.
func TestNamesOfGraphs(t *testing.T) {
	clitest.Silence(t)
	dir := t.TempDir()
	model, out := filepath.Join(dir, "m"), filepath.Join(dir, "s.jsonl")
	trainLinear(t, model)
	_, url := started(t, "-model", model)
	const rest = `"links":[{"source":0,"target":1}]}`
	for _, c := range []struct{ lines, want []string }{
		{[]string{`{"id":"mol \u00e9","name":"x",`, `{"graph":{"name":"b"},"id":null,`, `{"name":"a",`, `{"name":"a",`}, []string{`"mol é"`, `"b"`, `"a"`, `"a"`}},
		{[]string{`{"id":9007199254740993,`, `{"name":-7,`}, []string{"9007199254740993", "-7"}},
		{[]string{`{"id":1,`, `{`}, []string{"0", "1"}}, // by number
	} {
		var lines []string
		for _, l := range c.lines {
			lines = append(lines, l+rest)
		}
		must(t, "predict", "-model", model, "-data", write(t, dir, "g.jsonl", lines), "-out", out)
		rows := strings.Split(read(t, out), "\n")
		for i, want := range c.want {
			if !strings.HasPrefix(rows[i], `{"id":`+want+`,`) {
				t.Errorf("predict: %s, want %s", rows[i], want)
			}
			if len(lines) == 2 && want == "1" || want == "0" {
				continue
			}
			if status, text := post(t, url, lines[i]); status != 200 || strings.ReplaceAll(text, `\u00e9`, "é")[:len(want)+8] != `[{"id":`+want+`,` {
				t.Errorf("serve: %s, want %s", text, want)
			}
		}
	}
}

// toParquet writes a table whose last column is integers, and the others strings.
func toParquet(t *testing.T, path string, lines []string) {
	t.Helper()
	rows, err := csv.NewReader(strings.NewReader(strings.Join(lines, "\n"))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var fields []arrow.Field
	last := len(rows[0]) - 1
	for i, name := range rows[0] {
		f := arrow.Field{Name: name, Type: arrow.BinaryTypes.String}
		if i == last {
			f.Type = arrow.PrimitiveTypes.Int64
		}
		fields = append(fields, f)
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema(fields, nil))
	defer b.Release()
	for _, row := range rows[1:] {
		for i, x := range row[:last] {
			b.Field(i).(*array.StringBuilder).Append(x)
		}
		n, err := strconv.ParseInt(row[last], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		b.Field(last).(*array.Int64Builder).Append(n)
	}
	rec := b.NewRecord()
	defer rec.Release()
	if err := flow.From(flow.Records{Records: []arrow.Record{rec}}).To(sink.Sink{Path: path}).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// Tables of many graphs become a model of graphs, of classes or numbers.
func TestTablesOfGraphs(t *testing.T) {
	clitest.Silence(t)
	dir := t.TempDir()
	edges, graphs := []string{"mol,source,target,bond"}, []string{"mol,kind,weight"}
	for g := range 60 {
		n := 5 + g%4
		for v := range n - g%2 { // a ring, or a path
			edges = append(edges, fmt.Sprintf("m%02d,%d,%d,single", g, v, (v+1)%n))
		}
		graphs = append(graphs, fmt.Sprintf("m%02d,%s,%d", g, []string{"ring", "path"}[g%2], n))
	}
	e, n, model := write(t, dir, "edges.tsv", tabs(edges)), write(t, dir, "graphs.csv", graphs), filepath.Join(dir, "model")
	r := clitest.JSON[report](t, run, "train", "-edges", e, "-graph", "mol", "-type", "bond", "-nodes", n, "-class", "kind", "-out", model, "-systems", "linear")
	if r.Task != "graphs" || *r.Accuracy < 90 || r.Classes[0] != "path" {
		t.Errorf("%+v", r)
	}
	out := filepath.Join(dir, "scores.csv")
	must(t, "predict", "-model", model, "-edges", e, "-out", out)
	if text := read(t, out); !strings.Contains(text, "\nm07,path,") || strings.Count(text, "\n") != 61 {
		t.Error(text)
	}
	r = clitest.JSON[report](t, run, "train", "-edges", e, "-graph", "mol", "-nodes", n, "-value", "weight", "-out", model, "-systems", "words")
	if r.RMSE == nil || *r.RMSE >= *r.Spread || r.Accuracy != nil {
		t.Errorf("%+v", r)
	}
	must(t, "predict", "-model", model, "-edges", e, "-out", out)
	if text := read(t, out); !strings.HasPrefix(text, "id,value\nm00,") {
		t.Error(text)
	}
}

func tabs(lines []string) (all []string) {
	for _, l := range lines {
		all = append(all, strings.ReplaceAll(l, ",", "\t"))
	}
	return all
}

// What is wrong with tables is an error that names the file or the flag.
func TestTableErrors(t *testing.T) {
	clitest.Silence(t)
	dir := t.TempDir()
	e := write(t, dir, "e.csv", []string{"source,target", "a,b", "b,c"})
	n := write(t, dir, "n.csv", []string{"id,class", "a,x", "b,y"})
	for want, args := range map[string]string{
		"e.csv":                  "-edges " + e + " -source from -class class -nodes " + n,
		"n.csv":                  "-edges " + e + " -nodes " + n + " -id name -class class",
		`"c"`:                    "-edges " + e + " -nodes " + n + " -class class",
		"-task graphs wants":     "-task graphs -edges " + e,
		"-value is a number":     "-task links -edges " + e + " -value class",
		`column "class": "x"`:    "-edges " + e + " -nodes " + write(t, dir, "abc.csv", []string{"id,class", "a,x", "b,y", "c,z"}) + " -value class",
		"-edges: e.dat: want a":  "-edges e.dat -class class",
		"wants -class":           "-edges " + e + " -nodes " + n,
		"-ignore: no table has":  "-edges " + e + " -nodes " + n + " -class class -ignore class,age",
		"-types: \"class=text\"": "-edges " + e + " -nodes " + n + " -class class -types class=text",
		"-types: no table has":   "-edges " + e + " -nodes " + n + " -class class -types age=float",
		`"id": "a", want an`:     "-edges " + e + " -nodes " + n + " -class class -types source=integer,target=integer,id=integer",
		"no such file":           "-edges " + dir + "/none.csv -class class",
	} {
		err := run(t.Context(), append([]string{"train", "-out", filepath.Join(dir, "m")}, strings.Fields(args)...))
		if err == nil || !strings.Contains(err.Error(), want) || strings.HasPrefix(err.Error(), "e: sources: ") {
			t.Errorf("%s: %v, want %s", args, err, want)
		}
	}
}

// town writes tables of people, whose role depends on the kind of what they pay by, and
// trains a model of them. The kinds are those of words.
func town(t *testing.T, dir, name string, words [2]string) (edges, nodes, model string) {
	t.Helper()
	people, payments := []string{"name,city,role"}, []string{"from,to,kind,amount"}
	for v := range 60 {
		people = append(people, fmt.Sprintf("n%d,%s,%s", v, []string{"east", "west"}[v%2], []string{"buyer", "seller"}[v%2]))
		for step := 1; step < 3; step++ {
			payments = append(payments, fmt.Sprintf("n%d,n%d,%s,%d", v, (v+2*step)%60, words[v%2], v%7))
		}
	}
	edges, nodes, model = write(t, dir, name+"e.csv", payments), write(t, dir, name+"n.csv", people), filepath.Join(dir, name+"model")
	must(t, "train", "-edges", edges, "-source", "from", "-target", "to", "-type", "kind", "-weight", "amount", "-nodes", nodes, "-id", "name", "-class", "role", "-systems", "linear", "-out", model)
	return edges, nodes, model
}

// A model with other words that takes the place of another answers as predict does, and
// one whose attributes have other names does not take it.
func TestReloadOfOtherWords(t *testing.T) {
	clitest.Silence(t)
	dir := t.TempDir()
	edges, nodes, model := town(t, dir, "a", [2]string{"card", "wire"})
	_, _, other := town(t, dir, "b", [2]string{"zebra", "card"})
	s, url := started(t, "-model", model, "-edges", edges, "-nodes", nodes)
	// Every node pays by card or by wire: the 60 people have 120 payments, 60 by wire.
	out := filepath.Join(dir, "out.csv")
	for _, path := range []string{model, other, model} {
		p, err := sinks.Load(path)
		if err != nil {
			t.Fatal(err)
		}
		if s.model = path; s.take(t.Context(), p) != nil {
			t.Fatal(err)
		}
		must(t, "predict", "-model", path, "-edges", edges, "-nodes", nodes, "-out", out)
		for _, line := range strings.Split(read(t, out), "\n")[1:20] {
			row := strings.Split(line, ",")
			if status, text := post(t, url, fmt.Sprintf(`{"ids": [%q]}`, row[0])); status != 200 || !strings.Contains(text, fmt.Sprintf(`"class":%q,"probs":{"buyer":%s,`, row[1], row[2])) {
				t.Errorf("%s: %d, %s, want %s", path, status, text, line)
			}
		}
	}
	if n := s.stats.unknown.Load(); n != 60 {
		t.Errorf("%d unknown words, want the 60 payments by wire", n)
	}
	renamed := write(t, dir, "r.csv", strings.Split(strings.TrimSpace(strings.Replace(read(t, nodes), "city", "town", 1)), "\n"))
	must(t, "train", "-edges", edges, "-source", "from", "-target", "to", "-type", "kind", "-nodes", renamed, "-id", "name", "-class", "role", "-systems", "linear", "-out", other)
	p, err := sinks.Load(other)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if err := s.take(t.Context(), p); err == nil || !strings.Contains(err.Error(), nodes+": there is no column \"town\"; there are \"name\", \"city\", \"role\"") {
		t.Error(err)
	}
}

// What a model that is asked lacks is an error of the command line that says what to do.
func TestAskingErrors(t *testing.T) {
	clitest.Silence(t)
	dir := t.TempDir()
	edges, nodes, model := town(t, dir, "a", [2]string{"card", "wire"})
	for args, want := range map[string]string{
		"predict":                 "there are no data: set -edges, -rows or -data",
		"evaluate":                "there are no data: set -edges, -rows or -data",
		"predict -edges " + edges: "the model reads city of nodes: set -nodes",
		"predict -ignore city -edges " + edges + " -nodes " + nodes:         `-ignore: the model reads the column "city"`,
		"predict -target from -edges " + edges + " -nodes " + nodes:         `-source and -target both name the column "from" of -edges`,
		"predict -edges " + edges + " -nodes " + nodes + " -out " + nodes:   "-out is the file of -nodes, want another: " + nodes,
		"evaluate -edges " + edges + " -nodes " + nodes + " -json " + model: "-json is the file of -model, want another: " + model,
		"explain -data " + edges + " -json x -html ./x":                     "-html is the file of -json, want another: ./x",
		"evaluate -class name -edges " + edges + " -nodes " + nodes:         `-id and -class both name the column "name" of -nodes`,
	} {
		if err := run(t.Context(), append(strings.Fields(args), "-model", model)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", args, err, want)
		}
	}
	for args, want := range map[string]string{
		" -out " + edges:        "-out is the file of -edges, want another: " + edges,
		" -out same -json same": "-json is the file of -out, want another: same",
		" -out a -model b":      "-out and -model both name the file for the model: set one",
	} {
		if err := run(t.Context(), strings.Fields("train -edges "+edges+" -nodes "+nodes+" -class role"+args)); err == nil || err.Error() != want {
			t.Errorf("train %s: %v, want %s", args, err, want)
		}
	}
	// Rows of a class that the model does not have are errors, and counted.
	more := write(t, dir, "more.csv", append(strings.Split(strings.TrimSpace(read(t, nodes)), "\n"), "n60,east,agent", "n61,east,"))
	r := clitest.JSON[report](t, run, "evaluate", "-model", model, "-edges", edges, "-nodes", more)
	if r.Rows != 11 || r.LeftOut != 50 || r.Unknown != 1 || r.Foreign != 1 || *r.Accuracy > 100*10./11 {
		t.Errorf("%d rows, %d unknown, %d foreign, %v right", r.Rows, r.Unknown, r.Foreign, *r.Accuracy)
	}
	// Data of the same name and number of rows are other data, where a class differs. Rows from which
	// the model has learned are left out, also of data that name their parts.
	rows := strings.Split(strings.TrimSpace(read(t, nodes)), "\n")
	parted := []string{rows[0] + ",part"}
	for i, row := range rows[1:] {
		parted = append(parted, row+","+[]string{"train", "valid", "test"}[i%3])
	}
	parted[3] = "n2,east,agent,test"
	r = clitest.JSON[report](t, run, "evaluate", "-model", model, "-edges", edges, "-nodes", write(t, dir, "parts.csv", parted), "-part", "part")
	if r.Rows+r.LeftOut < 20 || r.Rows > 10 || r.Unknown != 0 || r.Foreign != 1 {
		t.Errorf("the test part: %d rows, %d unknown, %d foreign", r.Rows, r.Unknown, r.Foreign)
	}
	for _, seen := range []int{0, 50} {
		if r := clitest.JSON[report](t, run, "evaluate", "-model", model, "-edges", edges, "-nodes", nodes); r.Rows != 10 || r.LeftOut != seen {
			t.Errorf("%d rows, %d seen, want 10 and %d", r.Rows, r.LeftOut, seen)
		}
		rows[1] = "n0,east,seller"
		write(t, dir, filepath.Base(nodes), rows)
	}
}

// A model of graphs of tables keeps that the nodes have ids.
func TestGraphsKeepTheirID(t *testing.T) {
	clitest.Silence(t)
	dir := t.TempDir()
	edges, nodes := []string{"source,target,g"}, []string{"g,id,atom,label"}
	for g := range 30 {
		for v := range 5 {
			nodes = append(nodes, fmt.Sprintf("g%d,%d,%s,%s", g, v, []string{"C", "N"}[v*g%2], []string{"act", "in"}[g%2]))
			if v < 4+g%2 {
				edges = append(edges, fmt.Sprintf("%d,%d,g%d", v, (v+1)%5, g))
			}
		}
	}
	e, n, model := write(t, dir, "e.csv", edges), write(t, dir, "n.csv", nodes), filepath.Join(dir, "m")
	must(t, "train", "-edges", e, "-graph", "g", "-nodes", n, "-id", "id", "-class", "label", "-systems", "linear", "-out", model)
	must(t, "predict", "-edges", e, "-nodes", n, "-model", model, "-out", filepath.Join(dir, "s.csv"))
	must(t, "evaluate", "-edges", e, "-nodes", n, "-model", model)
}

// A train that was stopped does not go on with other rows, nor with other parts.
func TestOtherRows(t *testing.T) {
	clitest.Silence(t)
	dir := t.TempDir()
	edges, nodes, model := town(t, dir, "a", [2]string{"card", "wire"})
	args := []string{"train", "-task", "nodes", "-edges", edges, "-source", "from", "-target", "to", "-type", "kind", "-nodes", nodes, "-id", "name", "-class", "role", "-part", "part", "-out", model, "-systems", "linear"}
	table := strings.Split(strings.TrimSpace(read(t, nodes)), "\n")
	begin := func(change func(line string, row int) string) error {
		var lines []string
		for i, line := range table {
			part := ",part"
			if i > 0 {
				part = "," + []string{"train", "valid", "test"}[i/2%3]
			}
			lines = append(lines, change(line+part, i))
		}
		write(t, dir, "an.csv", lines)
		c := &training{}
		f := cli.Flags("train", "")
		f.StringVar(&c.out, "out", "", "")
		f.StringVar(&c.systems, "systems", "", "")
		c.flags(f, "")
		if err := f.Parse(args[1:]); err != nil {
			t.Fatal(err)
		}
		if err := c.check(f, ""); err != nil {
			t.Fatal(err)
		}
		c.targets = true
		p, err := c.parts(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		defer p.release()
		keep, err := c.store(model+".train", p.digest)
		if err == nil {
			_, err = keep.Get("linear", &choose.Tried{})
			err = errors.Join(err, keep.Put("linear", choose.Tried{Name: "linear"}), keep.Close())
		}
		return err
	}
	same := func(line string, _ int) string { return line }
	for range 2 {
		if err := begin(same); err != nil {
			t.Fatal(err)
		}
	}
	for what, change := range map[string]func(string, int) string{
		"a city": func(line string, row int) string {
			if row == 5 {
				return strings.Replace(line, "east", "west", 1)
			}
			return line
		},
		"a class": func(line string, row int) string {
			if row == 5 {
				return strings.Replace(line, "buyer", "seller", 1)
			}
			return line
		},
		"a part": func(line string, row int) string {
			if row == 4 {
				return strings.Replace(line, "test", "train", 1)
			}
			return line
		},
	} {
		if err := begin(change); err == nil || !strings.Contains(err.Error(), "holds the progress of a train with other data or settings; remove") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// Each system answers for a graph of some of the nodes that it knows by their ids, and of others.
func TestOtherNumbers(t *testing.T) {
	clitest.Silence(t)
	dir, data := t.TempDir(), village(t)
	model, few := filepath.Join(dir, "m"), write(t, dir, "few.txt", []string{"0 1", "1 2", "2 3000000", "3000000 3000001"})
	for _, system := range []string{"linear", "cnn", "words"} {
		must(t, "train", "-task", "nodes", "-data", data, "-systems", system, "-out", model)
		must(t, "predict", "-model", model, "-data", few, "-out", filepath.Join(dir, "out.csv"))
		_, url := started(t, "-model", model, "-data", few)
		for _, line := range strings.Split(strings.TrimSpace(read(t, filepath.Join(dir, "out.csv"))), "\n")[1:] {
			row := strings.Split(line, ",")
			if status, text := post(t, url, fmt.Sprintf(`{"ids": [%s]}`, row[0])); status != 200 || !strings.Contains(text, fmt.Sprintf(`"class":%q`, row[1])) {
				t.Errorf("%s: %d, %s, want the class of %s", system, status, text, line)
			}
		}
	}
}

// What is posted has attributes by the names of columns, or those of channels.
func TestServeColumns(t *testing.T) {
	clitest.Silence(t)
	edges, nodes, model := town(t, t.TempDir(), "a", [2]string{"card", "wire"})
	_, url := started(t, "-model", model, "-edges", edges, "-nodes", nodes, "-max-ids", "2")
	graph := func(edge string) string {
		return `{"nodes": [{"id": "a", "city": "east"}, {"id": 2, "city": null}], "edges": [{` + edge + `}]}`
	}
	var first string
	for _, edge := range []string{`"source": "a", "target": 2, "kind": "wire", "amount": 2`, `"source": "a", "target": 2, "type": "wire", "weight": 2`} {
		status, text := post(t, url, graph(edge))
		if first == "" {
			first = text
		}
		if status != 200 || text != first || !strings.Contains(text, `{"id":"2","class":`) {
			t.Errorf("%s: %d, %s", edge, status, text)
		}
	}
	for body, want := range map[string]string{
		graph(`"from": "a", "to": 2`):                          "422 sources: node-link JSON: link 0: source: there is none",
		`{"nodes": [{"id": null, "city": "east"}, {"id": 1}]}`: "422 sources: node-link JSON: node 0: id: there is none",
		`{"ids": [null]}`:                                      "422 `null` is no name",
		`{"ids": ["n1", "n2", "n3"]}`:                          "413 the request is about 3 nodes or links, want at most 2",
		`{"ids": "n1"}`:                                        "400 ids is a JSON string, want an array; want {",
		`x`:                                                    "400 it is no JSON: invalid character 'x' at start of value at byte 1; want {",
		`{"nodes": [{"id":1},{"id":2},{"id":3}]}`:              "413 the request is about 3 nodes",
	} {
		status, text := post(t, url, body)
		if got := fmt.Sprint(status, " ", text); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
	}
}

// The names of the files are not in a model, and a list of systems names each once.
func TestTrainOfOtherFile(t *testing.T) {
	clitest.Silence(t)
	dir := t.TempDir()
	edges, nodes, model := town(t, dir, "a", [2]string{"card", "wire"})
	_, _, other := town(t, dir, "b", [2]string{"card", "wire"})
	if read(t, model) != read(t, other) {
		t.Error("the same rows in other files give another model")
	}
	for list, want := range map[string]string{"": `-systems: there is no system ""`, "linear,linear": `-systems: the system "linear" is named twice`} {
		err := run(t.Context(), []string{"train", "-edges", edges, "-source", "from", "-target", "to", "-nodes", nodes, "-id", "name", "-class", "role", "-systems", list, "-out", filepath.Join(dir, "m")})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("-systems %q: %v, want %s", list, err, want)
		}
	}
	var out strings.Builder
	half := 50.0
	r := report{Model: "words", quality: quality{Accuracy: &half, Error: &half}, Systems: []choose.Tried{{Name: "linear", Score: 62}, {Name: "words", Score: 59}}}
	if err := r.Print(&out); err != nil || !strings.Contains(out.String(), "chosen: recommended, and no other is better by a standard error") {
		t.Errorf("%v, %s", err, &out)
	}
}

// inspect describes all files, also behind one that fails, and predict refuses a file that
// is no model.
func TestInspectGoesOn(t *testing.T) {
	dir := t.TempDir()
	text := write(t, dir, "text", []string{"this is no model"})
	clitest.Silence(t)
	err := run(t.Context(), []string{"inspect", text, filepath.Join(dir, "none")})
	if err == nil || !strings.Contains(err.Error(), "text: neither a model") || !strings.Contains(err.Error(), "none: no such file") {
		t.Error(err)
	}
	if err := run(t.Context(), []string{"predict", "-model", text}); err == nil || err.Error() != text+": not a model file" {
		t.Error(err)
	}
}

// Numbers of nodes are learned, measured and predicted: a node's is that of its job, where
// it is known.
func TestValuesOfNodes(t *testing.T) {
	clitest.Silence(t)
	dir, rng := t.TempDir(), rand.New(rand.NewPCG(2, 2))
	people, payments := []string{"name,job,income"}, []string{"source,target"}
	for v := range 240 {
		job := rng.IntN(3)
		income := fmt.Sprint(1e6 + 1000*float64(job) + rng.Float64())
		if v%6 == 0 {
			income = ""
		}
		people = append(people, fmt.Sprintf("p%d,%s,%s", v, []string{"baker", "clerk", "cook"}[job], income))
		payments = append(payments, fmt.Sprintf("p%d,p%d", v, rng.IntN(240)))
	}
	nodes, edges, model := write(t, dir, "people.csv", people), write(t, dir, "payments.csv", payments), filepath.Join(dir, "model")
	r := clitest.JSON[report](t, run, "train", "-task", "nodes", "-edges", edges, "-nodes", nodes, "-id", "name", "-value", "income", "-systems", "linear,words", "-out", model)
	if r.RMSE == nil || *r.RMSE > 0.8**r.Spread {
		t.Errorf("%+v", r)
	}
	again := clitest.JSON[report](t, run, "evaluate", "-model", model, "-edges", edges, "-nodes", nodes)
	if again.RMSE == nil || *again.RMSE != *r.RMSE || again.Rows != r.Rows {
		t.Errorf("%+v, want the RMSE of %+v", again, r)
	}
	out := filepath.Join(dir, "out.csv")
	must(t, "predict", "-model", model, "-edges", edges, "-nodes", nodes, "-out", out)
	text, err := os.ReadFile(out)
	if err != nil || !strings.HasPrefix(string(text), "id,value\np0,1.00") || strings.Count(string(text), "\n") != 241 {
		t.Errorf("%v\n%.100s", err, text)
	}
}

// Numbers far from 0, such as times, are learned and predicted as the same numbers near 0,
// by predict, evaluate and serve, also of fewer rows.
func TestNumbersFarFromZero(t *testing.T) {
	race.Skip(t)
	clitest.Silence(t)
	const far = 1.7e9
	type said struct {
		rmse  float64
		value map[string]float64
	}
	asked := func(of string, by float64) said {
		dir, rng := t.TempDir(), rand.New(rand.NewPCG(3, 3))
		nodes, edges, graphs := []string{"id,seen,g,due"}, []string{"source,target,g,when"}, []string{"g,due"}
		for v := range 120 {
			kind := rng.IntN(3)
			row := fmt.Sprintf("%d,%.0f,%d,%.2f", v, by+float64(kind), v/2, by+20*float64(kind)+rng.Float64())
			edges = append(edges, fmt.Sprintf("%d,%d,%d,%.0f", v, v^1, v/2, by+float64(kind)))
			nodes = append(nodes, row)
			graphs = append(graphs, fmt.Sprintf("%d,%.2f", v/2, by+20*float64(v/2%3)))
		}
		e, n := write(t, dir, "e.csv", edges), write(t, dir, "n.csv", nodes)
		args := []string{"train", "-edges", e, "-nodes", n, "-value", "due", "-time", "when", "-repeated", "none", "-systems", "cnn-edges", "-ignore", "g"}
		if of == "graphs" {
			n = write(t, dir, "g.csv", graphs)
			args = []string{"train", "-edges", e, "-nodes", n, "-value", "due", "-time", "when", "-repeated", "none", "-systems", "cnn-edges", "-graph", "g"}
		}
		model, out := filepath.Join(dir, "model"), filepath.Join(dir, "out.csv")
		r := clitest.JSON[report](t, run, append(args, "-out", model)...)
		again := clitest.JSON[report](t, run, "evaluate", "-model", model, "-edges", e, "-nodes", n)
		if r.RMSE == nil || *r.RMSE == 0 || again.RMSE == nil || *again.RMSE != *r.RMSE || *r.Spread < 5 {
			t.Errorf("%s: %+v, then %+v", of, r, again)
		}
		must(t, "predict", "-model", model, "-edges", e, "-nodes", n, "-out", out)
		rows, err := csv.NewReader(strings.NewReader(read(t, out))).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		s := said{*r.RMSE, map[string]float64{}}
		for _, row := range rows[1:] {
			if s.value[row[0]], err = strconv.ParseFloat(row[1], 64); err != nil {
				t.Fatal(err)
			}
		}
		// The last two nodes, which are the last graph, in files of their own, and in a request.
		id, fewN, fewE := "118", append(nodes[:1:1], nodes[len(nodes)-2:]...), append(edges[:1:1], edges[len(edges)-2:]...)
		if of == "graphs" {
			id, fewN = "59", append(graphs[:1:1], graphs[len(graphs)-1])
		}
		must(t, "predict", "-model", model, "-edges", write(t, dir, "fewe.csv", fewE), "-nodes", write(t, dir, "fewn.csv", fewN), "-out", out)
		value := s.value[id]
		if text := read(t, out); !strings.Contains(text, fmt.Sprintf("\n%s,%s\n", id, strconv.FormatFloat(value, 'g', -1, 64))) {
			t.Errorf("%s of few rows: %s, want %v", of, text, value)
		}
		_, url := started(t, "-model", model)
		field := func(line string, column int) string { return strings.Split(line, ",")[column] }
		seen := func(v int) string {
			if of == "graphs" { // whose model does not read it
				return ""
			}
			return `, "seen": ` + field(nodes[1+v], 1)
		}
		status, text := post(t, url, fmt.Sprintf(`{"nodes": [{"id": 118%s}, {"id": 119%s}], "edges": [{"source": 118, "target": 119, "when": %s}]}`,
			seen(118), seen(119), min(field(edges[119], 3), field(edges[120], 3))))
		var got []struct{ Value float64 }
		if err := json.Unmarshal([]byte(text), &got); err != nil || status != 200 || got[0].Value != value {
			t.Errorf("%s posted: %d, %s, want %v", of, status, text, value)
		}
		return s
	}
	for _, of := range []string{"nodes", "graphs"} {
		near, got := asked(of, 0), asked(of, far)
		if math.Abs(got.rmse-near.rmse) > 1e-4*near.rmse {
			t.Errorf("%s: RMSE %v, want %v", of, got.rmse, near.rmse)
		}
		for id, want := range near.value {
			if x := got.value[id] - far; math.Abs(x-want) > 1e-3 {
				t.Errorf("%s: %s: %v, want %v", of, id, x, want)
			}
		}
	}
}

// Without the table that has the targets, train and evaluate name the flag.
func TestTargetsOfNoTable(t *testing.T) {
	clitest.Silence(t)
	dir := t.TempDir()
	edges, graphs, nodes := []string{"g,source,target"}, []string{"g,kind,size"}, []string{"id,kind,size"}
	for g := range 60 {
		n := 5 + g%4
		for v := range n - g%2 {
			edges = append(edges, fmt.Sprintf("G%02d,%d,%d", g, v, (v+1)%n))
		}
		graphs = append(graphs, fmt.Sprintf("G%02d,%s,%d", g, []string{"ring", "path"}[g%2], n))
	}
	for v := range 8 {
		nodes = append(nodes, fmt.Sprintf("%d,%s,%d", v, []string{"odd", "even"}[v%2], v))
	}
	e, model := write(t, dir, "e.csv", edges), filepath.Join(dir, "model")
	for _, c := range []struct {
		table string
		flags []string
	}{
		{write(t, dir, "graphs.csv", graphs), []string{"-graph", "g"}},
		{write(t, dir, "nodes.csv", nodes), []string{"-ignore", "g,kind,size"}},
	} {
		for _, target := range []string{"-class kind", "-value size"} {
			args := append(append([]string{"train", "-systems", "linear", "-out", model, "-edges", e}, c.flags...), strings.Fields(target)...)
			_, column, _ := strings.Cut(target, " ")
			want := fmt.Sprintf("of no row the target is known: set %s, the table with the column %q", map[string]string{"-graph": "-nodes or -graphs", "-ignore": "-nodes"}[c.flags[0]], column)
			if err := run(t.Context(), args); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("train %s: %v, want %s", target, err, want)
			}
			must(t, append(args, "-nodes", c.table)...)
			if err := run(t.Context(), []string{"evaluate", "-model", model, "-edges", e}); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("evaluate %s: %v, want %s", target, err, want)
			}
			must(t, "predict", "-model", model, "-edges", e, "-out", filepath.Join(dir, "s.csv"))
			if c.flags[0] == "-graph" {
				must(t, "explain", "-model", model, "-edges", e, "-of", "G03")
			}
		}
	}
}

// A model that knows nodes by their ids answers for a graph of some of them.
func TestOtherNumberOfNodes(t *testing.T) {
	clitest.Silence(t)
	dir := t.TempDir()
	nodes, edges := []string{"id,kind"}, []string{"source,target"}
	for v := range 60 {
		nodes = append(nodes, fmt.Sprintf("P%02d,%s", v, []string{"odd", "even"}[v/30]))
		if v < 50 {
			edges = append(edges, fmt.Sprintf("P%02d,P%02d", v, v/25*25+(v+1)%25))
		}
	}
	e, n, model := write(t, dir, "e.csv", edges), write(t, dir, "n.csv", nodes), filepath.Join(dir, "model")
	must(t, "train", "-systems", "linear", "-out", model, "-edges", e, "-nodes", n, "-class", "kind")
	fewer := write(t, dir, "fewer.csv", nodes[:57])
	answers := func(args ...string) (rows []string) {
		out := filepath.Join(dir, "out.csv")
		must(t, append([]string{"predict", "-model", model, "-edges", e, "-out", out}, args...)...)
		rows = strings.Split(strings.TrimSpace(read(t, out)), "\n")
		slices.Sort(rows)
		return rows
	}
	all := answers("-nodes", n)
	for _, rows := range [][]string{answers(), answers("-nodes", fewer)} { // without nodes that are alone
		for _, row := range rows {
			if !slices.Contains(all, row) {
				t.Errorf("%d rows: %s is not among the answers for the whole graph", len(rows), row)
			}
		}
	}
}

// Graphs of three tables: edges, nodes with attributes, and the classes or values of graphs. Only the attributes of
// nodes tell the class.
func TestTableOfGraphs(t *testing.T) {
	clitest.Silence(t)
	dir := t.TempDir()
	edges, nodes, graphs := []string{"g,source,target"}, []string{"g,node,atom"}, []string{"g,kind,size"}
	for g := range 60 {
		for v := range 5 {
			edges = append(edges, fmt.Sprintf("G%02d,%d,%d", g, v, (v+1)%5))
			nodes = append(nodes, fmt.Sprintf("G%02d,%d,%s", g, v, []string{"C", "N"}[g%2*(v%2)]))
		}
		graphs = append(graphs, fmt.Sprintf("G%02d,%s,%d", g, []string{"plain", "mixed"}[g%2], 10*(g%2)))
	}
	e, n, k, model := write(t, dir, "e.csv", edges), write(t, dir, "n.csv", nodes), write(t, dir, "k.csv", graphs), filepath.Join(dir, "model")
	for _, target := range []string{"-class kind", "-value size"} {
		args := append([]string{"train", "-systems", "linear", "-out", model, "-edges", e, "-graph", "g", "-nodes", n, "-id", "node", "-graphs", k}, strings.Fields(target)...)
		r := clitest.JSON[report](t, run, args...)
		again := clitest.JSON[report](t, run, "evaluate", "-model", model, "-edges", e, "-nodes", n, "-graphs", k)
		if target == "-class kind" && (*r.Accuracy < 100 || *again.Accuracy != *r.Accuracy) || target == "-value size" && (*r.RMSE > *r.Spread/2 || *again.RMSE != *r.RMSE) {
			t.Errorf("%s: %+v, then %+v", target, r, again)
		}
		must(t, "predict", "-model", model, "-edges", e, "-nodes", n, "-out", filepath.Join(dir, "s.csv"))
		if err := run(t.Context(), []string{"predict", "-model", model, "-edges", e}); err == nil || !strings.Contains(err.Error(), "the model reads atom of nodes: set -nodes") {
			t.Errorf("%v, want an error that names the attribute", err)
		}
	}
	for args, want := range map[string]string{
		"-edges " + e + " -task nodes -class kind -nodes " + n + " -graphs " + k:              "-graphs wants -graph",
		"-edges " + e + " -graph g -class kind -nodes " + n + " -id node -graphs nowhere.dat": "-graphs: nowhere.dat: want a name",
		"-edges " + e + " -graph g -class none -nodes " + n + " -id node -graphs " + k:        `"none"`,
		"-edges " + e + " -graph g -class g -nodes " + n + " -id node -graphs " + k:           `-graph and -class both name the column "g" of -graphs`,
	} {
		if err := run(t.Context(), append([]string{"train", "-out", model}, strings.Fields(args)...)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", args, err, want)
		}
	}
}

// predict names a word that the model does not have, and its column.
func TestUnseenText(t *testing.T) {
	layout := func(jobs, kinds []string) record.Layout {
		return record.Layout{NodeCat: []record.Channel{record.WordsChannel("job", jobs)}, EdgeCat: []record.Channel{record.WordsChannel("type", kinds)}}
	}
	like := layout([]string{"baker", "clerk"}, []string{"cash"})
	for _, c := range []struct {
		jobs, kinds []string
		job, kind   int32
		want        string
	}{
		{[]string{"baker", "pilot"}, []string{"cash"}, 1, 0, `1 value is a word that the model does not have: "pilot" of the column "job"`},
		{[]string{"baker", "clerk"}, []string{"card"}, 1, 0, `1 value is a word that the model does not have: "card" of the column "kind"`},
		{[]string{"clerk", "pilot"}, []string{"card"}, 1, 0, `2 values are words that the model does not have: "pilot" of the column "job"`},
	} {
		g, err := graph.New(2, false, []graph.Edge{{U: 0, V: 1}})
		if err != nil {
			t.Fatal(err)
		}
		g.NodeCat, g.NodeCats, g.EdgeCat, g.EdgeCats = []int32{0, c.job}, 1, []int32{c.kind, c.kind}, 1
		d := &data{asked: asked{like: &like}, columns: columns{Columns: record.Columns{Type: "kind"}}}
		if err := d.adapt(&g, layout(c.jobs, c.kinds)); err != nil || d.unseenText() != c.want {
			t.Errorf("%v, %s, want %s", err, d.unseenText(), c.want)
		}
	}
}

// inspect counts the rows of a Parquet file of graphs and names attributes and classes.
func TestInspectParquet(t *testing.T) {
	path, out := filepath.Join(t.TempDir(), "g.parquet"), &bytes.Buffer{}
	src := nodelink.Source{Class: "kind", Path: clitest.File(t, "g.jsonl", strings.Repeat(`{"graph":{"kind":"ring"},"nodes":[{"id":0,"type":"a"},{"id":1,"type":"b"}],"links":[{"source":0,"target":1}]}
{"graph":{"kind":"path"},"nodes":[{"id":0,"type":"a"}],"links":[]}
`, 150))}
	if err := flow.From(src).To(sink.Sink{Path: path}).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := describe(t.Context(), out, path); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"records of graphs or fields, 300 rows\n", "  undirected graphs, node_cat: type (2 words, ", "\n  classes: path, ring\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s; want %s", out, want)
		}
	}
}

// The help of a command that asks a model names no default of a column that is the model's.
func TestHelpOfColumns(t *testing.T) {
	f, out := newAsking(cli.NewService("predict", "")), &bytes.Buffer{}
	f.SetOutput(out)
	f.PrintDefaults()
	if text := out.String(); strings.Contains(text, `(default "source")`) || strings.Count(text, "; the default is that of the model\n") != 3 {
		t.Error(text)
	}
}

// A class is the same number in the data as in the model, also where it is written as 1.0.
func TestClassesOfOtherSpellings(t *testing.T) {
	clitest.Silence(t)
	dir := t.TempDir()
	var mols, floats, edges, ints, more []string
	mols, floats = append(mols, "smiles,c"), append(floats, "smiles,c")
	edges, ints, more = append(edges, "source,target"), append(ints, "id,x,c"), append(more, "id,x,c")
	for i := range 80 {
		mols = append(mols, fmt.Sprintf("%s,%d", strings.Repeat("C", 1+i/2)+[]string{"", "N"}[i%2], i%2))
		floats = append(floats, mols[i+1]+".0")
		edges = append(edges, fmt.Sprintf("%d,%d", i, (i+7)%80))
		ints = append(ints, fmt.Sprintf("%d,%s%d,%d", i, "ab"[i%2:i%2+1], i%3, i%2))
		more = append(more, ints[i+1]+".0")
	}
	m := write(t, dir, "m.csv", mols)
	e := write(t, dir, "e.csv", edges)
	for _, c := range [][2][]string{
		{{"-data", m, "-smiles", "smiles", "-class", "c"}, {"-data", write(t, dir, "f.csv", floats), "-smiles", "smiles", "-class", "c"}},
		{{"-edges", e, "-nodes", write(t, dir, "i.csv", ints), "-class", "c"}, {"-edges", e, "-nodes", write(t, dir, "j.csv", more), "-class", "c"}},
	} {
		for _, c := range [][2][]string{c, {c[1], c[0]}} {
			model := filepath.Join(dir, "model")
			r := clitest.JSON[report](t, run, append([]string{"train", "-systems", "linear", "-out", model}, c[0]...)...)
			again := clitest.JSON[report](t, run, append([]string{"evaluate", "-model", model}, c[1]...)...)
			if again.Foreign > 0 || *again.Accuracy != *r.Accuracy || *again.Accuracy < 60 || again.Rows != r.Rows {
				t.Errorf("%q: %v of %d rows, then %v of %d, %d foreign", c, *r.Accuracy, r.Rows, *again.Accuracy, again.Rows, again.Foreign)
			}
		}
	}
}

// TestNodesOfSpaces: -nodes has a table of each space, with columns of its own; a model is asked with the tables in any order.
func TestNodesOfSpaces(t *testing.T) {
	clitest.Silence(t)
	dir := t.TempDir()
	edges, users, items := []string{"user_id,item_id"}, []string{"user_id,age,class"}, []string{"id,price,city"}
	for v := range 80 {
		users = append(users, fmt.Sprintf("%d,%d,%s", v, 20+v%9, []string{"a", "b"}[v%2]))
		items = append(items, fmt.Sprintf("%d,%d.5,%s", v, v/2%7, []string{"Rome", "Oslo"}[v%2]))
		edges = append(edges, fmt.Sprintf("%d,%d", v, v), fmt.Sprintf("%d,%d", v, (v+2)%80))
	}
	e, u, i := write(t, dir, "e.csv", edges), write(t, dir, "u.csv", users), write(t, dir, "i.csv", items)
	model := filepath.Join(dir, "m")
	r := clitest.JSON[report](t, run, "train", "-edges", e, "-source", "user_id", "-target", "item_id", "-nodes", "user_id="+u+",item_id="+i, "-class", "class", "-systems", "words", "-out", model)
	if *r.Accuracy < 80 { // by the city of the items; without it half
		t.Errorf("accuracy %v", *r.Accuracy)
	}
	var answers []string
	for n, tables := range []string{"user_id=" + u + ",item_id=" + i, "item_id=" + i + ",user_id=" + u} {
		out := filepath.Join(dir, fmt.Sprint("out", n, ".csv"))
		must(t, "predict", "-model", model, "-edges", e, "-nodes", tables, "-out", out)
		answers = append(answers, read(t, out))
	}
	if answers[0] != answers[1] || strings.Count(answers[0], "\nuser_id:") != 80 {
		t.Errorf("%s\n%s", answers[0], answers[1])
	}
	for want, args := range map[string][]string{
		"the model reads item_id: city, item_id: price": {"predict", "-model", model, "-edges", e, "-nodes", "user_id=" + u},
		"want SPACE=FILE":                        {"train", "-edges", e, "-source", "user_id", "-target", "item_id", "-nodes", "user_id=" + u + "," + i, "-class", "class"},
		`-nodes: no table has the column "kind"`: {"train", "-edges", e, "-source", "user_id", "-target", "item_id", "-nodes", "user_id=" + u, "-class", "kind"},
		`the table has the space "people"`:       {"train", "-edges", e, "-source", "user_id", "-target", "item_id", "-nodes", "people=" + u, "-class", "class"},
	} {
		if err := run(t.Context(), args); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", args, err, want)
		}
	}
}

// A training with -directed says how many nodes have no outgoing edge, and what to do.
func TestDirectedIsTold(t *testing.T) {
	dir := t.TempDir()
	edges, nodes, leaves := []string{"source,target"}, []string{"id,age,class"}, map[int]bool{}
	for v := range 60 {
		nodes = append(nodes, fmt.Sprintf("%d,%d,%s", v, v%7, []string{"a", "b"}[v%2]))
		if v%3 > 0 {
			edges = append(edges, fmt.Sprintf("%d,%d", v, (v*7+1)%60), fmt.Sprintf("%d,%d", v, (v*5+2)%60))
			leaves[v] = true
		}
	}
	model := filepath.Join(dir, "model")
	data := []string{"-edges", write(t, dir, "e.csv", edges), "-nodes", write(t, dir, "n.csv", nodes)}
	learn := append([]string{"train", "-class", "class", "-systems", "linear", "-out", model}, data...)
	if _, said := printed(t, learn...); strings.Contains(said, "-directed") {
		t.Error(said)
	}
	_, said := printed(t, append(learn, "-directed")...)
	if want := fmt.Sprintf("left out: -directed lets a node see the edges that leave it alone, and %d of 60 nodes have none: ", 60-len(leaves)); strings.Count(said, want) != 1 || !strings.Contains(said, "leave -directed out, or give each edge twice") {
		t.Errorf("%s, want %s", said, want)
	}
	if _, said := printed(t, append([]string{"evaluate", "-model", model}, data...)...); strings.Contains(said, "-directed") {
		t.Error(said)
	}
}
