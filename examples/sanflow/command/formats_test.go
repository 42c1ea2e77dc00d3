package command

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/examples/internal/clitest"
	"github.com/sanflow/sanflow/internal/race"
)

// One graph of node-link JSON, in lines or in many, is the graph of nodes and of links; predict,
// evaluate and serve read it.
func TestNodesOfNodeLink(t *testing.T) {
	race.Skip(t)
	clitest.Silence(t)
	dir := t.TempDir()
	var nodes, links []string
	for v := range 120 {
		nodes = append(nodes, fmt.Sprintf("{\n \"id\": \"n%d\", \"job\": %q, \"class\": %q, \"pos\": [1, 2]\n}", v, []string{"baker", "clerk"}[v%2], []string{"a", "b"}[v%2]))
		links = append(links, fmt.Sprintf(`{"source":"n%d","target":"n%d"}`, v, (v+2)%120), fmt.Sprintf(`{"source":"n%d","target":"n%d"}`, v, (v+7)%120))
	}
	text := `{"directed":false,"nodes":[` + strings.Join(nodes, ",\n") + `],"links":[` + strings.Join(links, ",\n") + `]}`
	data, model, out := write(t, dir, "g.json", []string{text}), filepath.Join(dir, "m"), filepath.Join(dir, "p.csv")
	r := clitest.JSON[report](t, run, "train", "-task", "nodes", "-data", data, "-class", "class", "-systems", "linear", "-out", model)
	again := clitest.JSON[report](t, run, "evaluate", "-data", data, "-model", model)
	if *r.Accuracy < 95 || *again.Accuracy != *r.Accuracy {
		t.Errorf("%v, %v", *r.Accuracy, *again.Accuracy)
	}
	must(t, "predict", "-data", data, "-model", model, "-out", out)
	if rows := strings.Split(read(t, out), "\n"); len(rows) != 122 || !strings.HasPrefix(rows[1], "n0,a,") {
		t.Errorf("%d rows, %s", len(rows), rows[1])
	}
	_, url := started(t, "-model", model, "-data", data)
	if status, answer := post(t, url, `{"ids": ["n1"]}`); status != 200 || !strings.Contains(answer, `"class":"b"`) {
		t.Errorf("%d, %s", status, answer)
	}
	must(t, "train", "-task", "links", "-data", data, "-systems", "linear", "-out", filepath.Join(dir, "l"))
	two := write(t, dir, "two.json", []string{"[", text, ",", text, "]"})
	if err := run(t.Context(), []string{"train", "-task", "nodes", "-data", two, "-class", "class", "-out", model}); err == nil || !strings.Contains(err.Error(), "a second graph, want one whose nodes are a set") {
		t.Error(err)
	}
}

// Formats that are not read are refused by their names, with what converts them.
func TestOtherFormats(t *testing.T) {
	clitest.Silence(t)
	for ext, want := range map[string]string{"graphml": "read_graphml", "gexf": "read_gexf", "net": "read_pajek", "gml.gz": "read_gml"} {
		path := clitest.File(t, "g."+ext, "<xml>")
		for _, task := range []string{"graphs", "nodes", "links"} {
			err := run(t.Context(), []string{"train", "-task", task, "-data", path, "-out", filepath.Join(t.TempDir(), "m")})
			if err == nil || !strings.Contains(err.Error(), "are not read; write node-link JSON") || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", ext, err)
			}
		}
	}
}

// A table of edges is an array of objects too, and a file .smi has molecules.
func TestRecordsAndSMI(t *testing.T) {
	clitest.Silence(t)
	dir := t.TempDir()
	var rows, smiles []string
	for v := range 60 {
		rows = append(rows, fmt.Sprintf(`{"source":%d,"target":%d,"kind":"x"}`, v, (v+1)%60))
		smiles = append(smiles, "C"+strings.Repeat("C", v%5)+[]string{"O", "N"}[v%2]+fmt.Sprintf(" m%d", v))
	}
	must(t, "train", "-task", "links", "-edges", write(t, dir, "e.json", []string{"[" + strings.Join(rows, ",") + "]"}), "-systems", "linear", "-out", filepath.Join(dir, "m"))
	csv := []string{"smiles,class"}
	for i, s := range smiles {
		csv = append(csv, strings.Fields(s)[0]+" ,"+[]string{"alcohol", "amine"}[i%2])
	}
	model, out := filepath.Join(dir, "mol"), filepath.Join(dir, "p.csv")
	must(t, "train", "-data", write(t, dir, "m.csv", csv), "-smiles", "smiles", "-class", "class", "-systems", "linear", "-out", model)
	must(t, "predict", "-data", write(t, dir, "m.smi", smiles), "-model", model, "-out", out)
	if rows := strings.Split(read(t, out), "\n"); len(rows) != 62 || !strings.HasPrefix(rows[1], "m0,alcohol,") || !strings.HasPrefix(rows[2], "m1,amine,") {
		t.Errorf("%d rows, %q", len(rows), rows[:3])
	}
}
