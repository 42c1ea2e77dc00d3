package command

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/examples/internal/clitest"
	"github.com/sanflow/sanflow/internal/race"
)

// table returns the records of a CSV file.
func table(t *testing.T, path string) [][]string {
	t.Helper()
	rows, err := csv.NewReader(strings.NewReader(read(t, path))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// manyTargets writes molecules with three targets of two classes, or of numbers, which some lack; the name of the second has a comma.
func manyTargets(t *testing.T, numbers bool) string {
	r := rand.New(rand.NewPCG(3, 1))
	lines := []string{`name,smiles,acid,"has, N",long,part`}
	for i := range 240 {
		n, acid, amine := 2+r.IntN(7), r.IntN(2), r.IntN(2)
		s := strings.Repeat("C", n)
		if amine == 1 {
			s = "N" + s
		}
		if acid == 1 {
			s += "C(=O)O"
		}
		long := 0
		if n > 5 {
			long = 1
		}
		values := []int{acid, amine, long}
		if numbers {
			values = []int{n + 3*acid, n - amine, -n}
		}
		var cells []string
		for _, x := range values {
			cell := fmt.Sprint(x)
			if i%30 == 7 || r.IntN(5) == 0 {
				cell = ""
			}
			cells = append(cells, cell)
		}
		lines = append(lines, fmt.Sprintf("m%d,%s,%s,%s", i, s, strings.Join(cells, ","), []string{"train", "train", "train", "valid", "test"}[i%5]))
	}
	return clitest.File(t, "m.csv", strings.Join(lines, "\n")+"\n")
}

// Each of several targets is answered and measured as the model says that learns it alone, by predict, evaluate, serve and explain.
func TestTargets(t *testing.T) {
	race.Skip(t)
	clitest.Silence(t)
	for flag, numbers := range map[string]bool{"-class": false, "-value": true} {
		data, dir := manyTargets(t, numbers), t.TempDir()
		names := []string{"acid", "has, N", "long"}
		var model string
		learn := func(column, name, systems string, more ...string) report {
			model = filepath.Join(dir, name)
			args := []string{"-task", "graphs", "-data", data, "-smiles", "smiles", "-id", "name", flag, column, "-part", "part", "-systems", systems, "-out", model}
			if !numbers {
				args = append(args, "-score", "auc")
			}
			return clitest.JSON[report](t, train, append(args, more...)...)
		}
		answers := func() [][]string {
			out := filepath.Join(dir, "out.csv")
			must(t, "predict", "-model", model, "-data", data, "-out", out)
			return table(t, out)
		}
		one := learn(`acid,"has, N",long`, "one", "linear,trees", "-workers", "1")
		again := learn(`acid,"has, N",long`, "again", "linear,trees", "-workers", "3")
		r := learn(`acid,"has, N",long`, "all", "linear,trees")
		if one.ModelSHA256 != again.ModelSHA256 {
			t.Error("the model depends on the workers")
		}
		all, mean := answers(), 0.
		wrong, want := "-value", "the model has learned classes, -class "
		if numbers {
			wrong, want = "-class", "the model has learned a number, -value "
		}
		if err := run(t.Context(), []string{"evaluate", "-model", model, "-data", data, wrong, "SMILES"}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", wrong, err)
		}
		if e := clitest.JSON[report](t, run, "evaluate", "-model", model, "-data", data); !reflect.DeepEqual(e.Targets, r.Targets) || e.Rows != r.Rows {
			t.Errorf("evaluate: %+v, want %+v", e.Targets, r.Targets)
		}
		_, url := started(t, "-model", model)
		status, text := post(t, url, `{"nodes": [{"id": 1, "element": "C"}, {"id": 2, "element": "N"}], "edges": [{"source": 1, "target": 2, "type": "-"}]}`)
		var served []answer
		if err := json.Unmarshal([]byte(text), &served); err != nil || status != 200 || len(served) != 1 || len(served[0].Targets) != 3 || served[0].Class != "" {
			t.Fatalf("%d %s %v", status, text, err)
		}
		// The first of the targets is explained, beside the answers for all.
		explain := func(url string) (of answer) {
			status, _, text := request(t, "POST", url+"/explain", `{"nodes": [{"id": 1, "element": "C"}, {"id": 2, "element": "N"}], "edges": [{"source": 1, "target": 2, "type": "-"}]}`)
			var all []answer
			if err := json.Unmarshal([]byte(text), &all); err != nil || status != 200 || len(all) != 1 || all[0].Reasons == nil {
				t.Fatalf("explain: %d %s %v", status, text, err)
			}
			return all[0]
		}
		why := explain(url)
		if !reflect.DeepEqual(why.Targets, served[0].Targets) || why.Name != names[0] {
			t.Errorf("explain: %q with %+v, want %q with %+v", why.Name, why.Targets, names[0], served[0].Targets)
		}
		several := model
		first := 1
		for i, name := range names {
			column := name
			if strings.Contains(name, ",") {
				column = `"` + name + `"`
			}
			// The system that is chosen for all may be another one than for a target alone.
			one := learn(column, fmt.Sprint("one", i), r.Model)
			got := r.Targets[i]
			if got.Unknown == 0 || got.Rows+got.Unknown != r.Rows {
				t.Errorf("%s: %d of %d rows, %d unknown", name, got.Rows, r.Rows, got.Unknown)
			}
			got.Unknown = 0 // alone these rows are left out
			if got.Name != name || !reflect.DeepEqual(got.quality, one.quality) {
				t.Errorf("%s: %+v, want %+v", name, got, one.quality)
			}
			alone := answers()
			for row := range alone {
				want := slices.Clone(alone[row][1:])
				if row == 0 {
					for c := range want {
						kind, class, _ := strings.Cut(want[c], "_")
						want[c] = kind + "_" + name
						if class != "" {
							want[c] += "_" + class
						}
					}
				}
				if have := all[row][first : first+len(want)]; !slices.Equal(have, want) || all[row][0] != alone[row][0] {
					t.Fatalf("%s, row %d: %q, want %q", name, row, have, want)
				}
			}
			first += len(alone[0]) - 1
			_, url := started(t, "-model", model)
			_, text := post(t, url, `{"nodes": [{"id": 1, "element": "C"}, {"id": 2, "element": "N"}], "edges": [{"source": 1, "target": 2, "type": "-"}]}`)
			var lone []answer
			if err := json.Unmarshal([]byte(text), &lone); err != nil {
				t.Fatal(err)
			}
			if lone[0].Name = name; !reflect.DeepEqual(served[0].Targets[i], answer{Name: name, Class: lone[0].Class, Probs: lone[0].Probs, Value: lone[0].Value}) {
				t.Errorf("serve: %+v, want %+v", served[0].Targets[i], lone[0])
			}
			if one := explain(url); i == 0 && (!reflect.DeepEqual(why.Reasons, one.Reasons) || why.Text != name+" = "+one.Text) {
				t.Errorf("explained %q, %+v, want %q, %+v", why.Text, why.Reasons, one.Text, one.Reasons)
			}
			html := filepath.Join(dir, "why.html")
			explained := clitest.JSON[map[string]any](t, run, "explain", "-model", several, "-data", data, "-of", "m3", "-of-target", name, "-html", html)
			want := clitest.JSON[map[string]any](t, run, "explain", "-model", model, "-data", data, "-of", "m3")
			if explained["target"] != name || explained["text"] != fmt.Sprint(name, " = ", want["text"]) {
				t.Errorf("%s: %v, want %v", name, explained["text"], want["text"])
			}
			delete(explained, "target")
			if explained["text"] = want["text"]; !reflect.DeepEqual(explained, want) {
				t.Errorf("%s: explained %v, want %v", name, explained, want)
			}
			// The page has the answers for all targets, those of predict.
			page := read(t, html)
			for c, head := range all[0] {
				target, is := strings.CutPrefix(head, "class_")
				cells := "<td>" + target + "</td><td>" + all[4][c] + "</td><td>"
				if p := slices.Index(all[0], "p_"+target+"_"+all[4][c]); is && p >= 0 {
					x, err := strconv.ParseFloat(all[4][p], 32)
					if cells += fmt.Sprintf("%.4g</td>", float32(x)); err != nil || !strings.Contains(page, cells) {
						t.Errorf("%s: no %s, %v", name, cells, err)
					}
				} else if is {
					t.Error(target)
				}
			}
			if !strings.Contains(page, "<h3>All targets; -of-target names the one") || !strings.Contains(page, "<b>"+name+" = ") {
				t.Errorf("%s: %.3000s", name, page)
			}
			if i == 1 {
				must(t, "atlas", "-model", several, "-data", data, "-of-target", name, "-html", html, "-motifs", "2")
				if page := read(t, html); !strings.Contains(page, " on m, "+name+"</title>") {
					t.Errorf("%.500s", page)
				}
			}
			if numbers {
				mean += *one.RMSE / 3
			} else {
				mean += *one.AUC / 3
			}
		}
		if got := map[bool]*float64{false: r.AUC, true: r.RMSE}[numbers]; got == nil || math.Abs(*got-mean) > 1e-12 || r.Rows != 48 {
			t.Errorf("mean %v of %d rows, want %v of 48", got, r.Rows, mean)
		}
	}
}

// Nodes of a table and graphs of a table have several targets too. A target without a row to test on is a line of the report.
func TestTargetsOfTables(t *testing.T) {
	race.Skip(t)
	clitest.Silence(t)
	dir := t.TempDir()
	edges, nodes := []string{"source,target"}, []string{"id,colour,a,b,part"}
	graphs, graphEdges := []string{"g,kind,other"}, []string{"g,source,target"}
	for v := range 120 {
		part := []string{"train", "train", "valid", "test"}[v%4]
		a, b := []string{"x", "y"}[v/4%2], []string{"p", "q", ""}[v/4%3]
		if part == "test" {
			b = ""
		}
		nodes = append(nodes, fmt.Sprintf("%d,%s,%s,%s,%s", v, []string{"red", "blue"}[v/4%2], a, b, part))
		edges = append(edges, fmt.Sprintf("%d,%d", v, (v+4)%120))
		if v < 60 {
			for u := range 4 + v%2 {
				graphEdges = append(graphEdges, fmt.Sprintf("G%d,%d,%d", v, u, (u+1)%(4+v%2)))
			}
			graphs = append(graphs, fmt.Sprintf("G%d,%s,%s", v, []string{"four", "five"}[v%2], []string{"", "one", "two"}[v%3]))
		}
	}
	e, n, model := write(t, dir, "e.csv", edges), write(t, dir, "n.csv", nodes), filepath.Join(dir, "model")
	r := clitest.JSON[report](t, train, "-edges", e, "-nodes", n, "-class", "a,b", "-part", "part", "-systems", "linear,neighbours,cnn,words,trees", "-out", model)
	if len(r.Systems) != 5 || r.Rows != 30 || *r.Targets[0].Accuracy != 100 || *r.Accuracy != 100 || r.Targets[1].Rows != 0 || r.Targets[1].Accuracy != nil || r.Targets[1].AUC != nil {
		t.Errorf("%+v", r)
	}
	var text strings.Builder
	if err := r.Print(&text); err != nil || !strings.Contains(text.String(), "\nleft out: of no row to test on the target \"b\" is known\n") {
		t.Errorf("%v\n%s", err, &text)
	}
	if got := clitest.JSON[report](t, run, "evaluate", "-model", model, "-edges", e, "-nodes", n); !reflect.DeepEqual(got.Targets, r.Targets) {
		t.Errorf("evaluate: %+v, want %+v", got.Targets, r.Targets)
	}
	out := filepath.Join(dir, "s.csv")
	must(t, "predict", "-model", model, "-edges", e, "-nodes", n, "-out", out)
	if rows := table(t, out); len(rows) != 121 || strings.Join(rows[0], ",") != "id,class_a,p_a_x,p_a_y,class_b,p_b_p,p_b_q" {
		t.Errorf("%d rows, %q", len(rows), rows[0])
	}
	g, k := write(t, dir, "g.csv", graphEdges), write(t, dir, "k.csv", graphs)
	r = clitest.JSON[report](t, train, "-edges", g, "-graph", "g", "-graphs", k, "-class", "kind,other", "-systems", "linear", "-out", model)
	if again := clitest.JSON[report](t, run, "evaluate", "-model", model, "-edges", g, "-graphs", k); len(r.Targets) != 2 || r.Targets[1].Rows >= r.Targets[0].Rows || !reflect.DeepEqual(again.Targets, r.Targets) {
		t.Errorf("train %+v, evaluate %+v", r, again)
	}
	lines := clitest.File(t, "g.jsonl", `{"nodes": [{"id": 1}], "links": [], "graph": {"a": "x"}}`+"\n")
	for args, want := range map[string]string{
		"train -edges " + e + " -nodes " + n + " -class a,a":                   `the column "a" is named twice`,
		"train -edges " + e + " -nodes " + n + " -class a,,b":                  "the name of column 2 is empty",
		"train -edges " + e + " -nodes " + n + " -class a,none":                `"none"`,
		"train -edges " + e + " -nodes " + n + " -class a,id":                  `-id and -class both name the column "id"`,
		"train -edges " + e + " -nodes " + n + " -class a,b -value colour":     "-class and -value are both set",
		"train -edges " + e + " -nodes " + n + " -class a,b -systems ensemble": `there is no system "ensemble"`,
		"train -edges " + e + " -nodes " + n + " -class a,b -positive x":       `-positive: the positive class is "x"`,
		"train -edges " + e + " -nodes " + n + " -value a,b":                   `column "a"`,
		"train -class a,b":                     "several columns of molecules or of the tables",
		"train -data " + lines + " -class a,b": "several columns of molecules or of the tables",
		"evaluate -model " + model + " -edges " + g + " -graphs " + k + " -class kind": "the model has 2 targets",
		"explain -model " + model + " -edges " + g + " -of G3 -of-target nobody":       `the model has no target "nobody"`,
	} {
		if err := run(t.Context(), strings.Fields(args)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", args, err, want)
		}
	}
	one := clitest.File(t, "one.csv", "smiles,a,b\n"+strings.Repeat("C,x,k\nCC,y,k\nCCC,x,k\n", 5))
	if err := run(t.Context(), []string{"train", "-data", one, "-smiles", "smiles", "-class", "a,b", "-out", model}); err == nil || !strings.Contains(err.Error(), `the column "b" has the classes ["k"] alone`) {
		t.Errorf("a target of one class: %v", err)
	}
}

// A target that no row to learn from has, or only of one class, is left out with a line, and ends nothing; one whose rows to choose by or
// to test on are of one class has no part in the mean of the AUC.
func TestTargetsLeftOut(t *testing.T) {
	dir, lines := t.TempDir(), []string{"smiles,acid,later,same,flat,part"}
	for i := range 120 {
		part := []string{"train", "train", "train", "valid", "test"}[i%5]
		acid, later, same, flat := fmt.Sprint(i/5%2), fmt.Sprint(i%2), "0", fmt.Sprint(i/5%2)
		switch {
		case part == "train":
			later = ""
		case part == "test":
			same, flat = "1", "0"
		case i%2 == 0:
			flat = "0"
		}
		if part == "valid" {
			flat = "0"
		}
		lines = append(lines, strings.Join([]string{strings.Repeat("C", 1+i%7) + []string{"", "C(=O)O"}[i/5%2], acid, later, same, flat, part}, ","))
	}
	data, model := write(t, dir, "m.csv", lines), filepath.Join(dir, "model")
	args := []string{"-data", data, "-smiles", "smiles", "-part", "part", "-score", "auc", "-systems", "linear", "-out", model}
	text, said := printed(t, append([]string{"train", "-class", "acid,later,same,flat"}, args...)...)
	if want := `left out of the means of AUC and AP: all 24 rows to test on the target "flat" are of one class`; !strings.Contains(text, want) {
		t.Errorf("no line %q in\n%s", want, text)
	}
	for _, want := range []string{`left out: the target "later": it is known of no row to learn from`, `left out: the target "same": all rows to learn from are of one class`} {
		if !strings.Contains(said, want) {
			t.Errorf("no line %q in %s", want, said)
		}
	}
	clitest.Silence(t)
	r := clitest.JSON[report](t, train, append([]string{"-class", "acid,later,same,flat"}, args...)...)
	if len(r.Targets) != 2 || r.Targets[0].Name != "acid" || r.Targets[1].Name != "flat" || r.Targets[1].AUC != nil || r.AUC == nil || *r.AUC != *r.Targets[0].AUC {
		t.Fatalf("%+v", r)
	}
	alone := clitest.JSON[report](t, train, append([]string{"-class", "acid"}, args...)...)
	if *alone.AUC != *r.AUC || alone.Systems[0].Score != r.Systems[0].Score {
		t.Errorf("AUC %v and %v, alone %v and %v", *r.AUC, r.Systems[0].Score, *alone.AUC, alone.Systems[0].Score)
	}
	if err := run(t.Context(), []string{"train", "-data", data, "-smiles", "smiles", "-class", "later,same", "-part", "part", "-out", model}); err == nil || !strings.Contains(err.Error(), "no target can be learned") {
		t.Errorf("no target: %v", err)
	}
}

// Several targets whose classes are rare have the advice that one target has.
func TestRareTargets(t *testing.T) {
	for majority, want := range map[float64]bool{92.5: true, 70: false} {
		var out strings.Builder
		r := &report{quality: quality{Majority: &majority}, Targets: []targetQuality{{Name: "a"}}}
		if err := r.Print(&out); err != nil || strings.Contains(out.String(), "set -score auc") != want {
			t.Errorf("majority %g: %v, %s", majority, err, &out)
		}
	}
}
