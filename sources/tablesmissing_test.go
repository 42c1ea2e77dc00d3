package sources_test

import (
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/sources"
)

// bitsOf are the bits of numbers, so that NaN is compared.
func bitsOf(x ...float32) (bits []uint32) {
	for _, x := range x {
		bits = append(bits, math.Float32bits(x))
	}
	return bits
}

var missing = float32(math.NaN())

// TestTablesMissing reads numbers without a value from each format: all are the same NaN, none moves an offset, and
// a line counts them. Of rows with one edge the one with a number is kept. -NaN of a column of floats is one of them.
func TestTablesMissing(t *testing.T) {
	nodes := table{names: []string{"id", "x", "at", "y"}, rows: [][]any{
		{"a", 1.5, 1700000000.25, 1.}, {"b", nil, 1700000001., 2.}, {"c", 2., nil, 3.}, {"d", nil, 1700000002., nil},
	}}
	edges := table{names: []string{"source", "target", "amount", "rank"}, rows: [][]any{
		{"a", "b", 2., nil}, {"b", "a", 1., int64(5)}, {"b", "c", nil, int64(7)}, {"b", "c", 3., nil}, {"c", "b", nil, nil}, {"c", "d", 4., int64(8)},
	}}
	read := func(form string, edges, nodes sources.Table) {
		set, err := sources.Tables{
			Edges: sources.EdgeTable{Table: edges, Weight: "amount", Repeated: []string{}}, Nodes: sources.NodeTable{Table: nodes, Targets: sources.Targets("y"), Numbers: true},
		}.Read(t.Context())
		if err != nil {
			t.Fatal(form, err)
		}
		g := set.Items[0].Graph
		if got, want := bitsOf(g.NodeAttr...), bitsOf(0, 1.5, 0.75, missing, missing, 2, 1.75, missing); !slices.Equal(got, want) || set.Layout.NodeAttr[0].Offset != 1700000000.25 {
			t.Errorf("%s: nodes have %v from %v, want %x", form, g.NodeAttr, set.Layout.NodeAttr, want)
		}
		for v, want := range [][]uint32{bitsOf(1, 5), bitsOf(3, missing), bitsOf(4, 8)} {
			e := g.Entry(int32(v), int32(v+1))
			if got := bitsOf(g.EdgeAttr[2*e : 2*e+2]...); !slices.Equal(got, want) {
				t.Errorf("%s: edge %d has %x, want %x", form, v, got, want)
			}
		}
		if got, want := bitsOf(set.Values...), bitsOf(1, 2, 3, missing); !slices.Equal(got, want) {
			t.Errorf("%s: values %x, want %x", form, got, want)
		}
		notes := strings.Join(set.Notes, "\n")
		for _, want := range []string{
			`missing values: 2 of 6 rows of FILE have none in column "amount", edge attribute weight`, `missing values: 3 of 6 rows of FILE have none in column "rank", edge attribute rank`,
			`missing values: 2 of 4 rows of FILE have none in column "x", node attribute x`, `missing values: 1 of 4 rows of FILE have none in column "at", node attribute at`,
			`missing values: 1 of 4 rows of FILE have none in column "y", value of a node`,
		} {
			before, after, _ := strings.Cut(want, "FILE")
			if !slices.ContainsFunc(set.Notes, func(line string) bool { return strings.HasPrefix(line, before) && strings.HasSuffix(line, after) }) {
				t.Errorf("%s: no line %q in\n%s", form, want, notes)
			}
		}
	}
	file := func(name string, text io.Reader) string {
		path := filepath.Join(t.TempDir(), name)
		all, err := io.ReadAll(text)
		if err = errors.Join(err, os.WriteFile(path, all, 0o600)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	csv := func(of table) sources.Table {
		return sources.CSV{Path: file("t.csv", of.csv(',').(sources.CSV).Reader)}
	}
	lines := func(of table) sources.Table {
		return sources.JSONLines{Path: file("t.jsonl", of.jsonLines().(sources.JSONLines).Reader)}
	}
	read("csv", csv(edges), csv(nodes))
	read("json lines", lines(edges), lines(nodes))
	read("parquet", edges.parquet(t, 4), nodes.parquet(t, 3))
	nodes.rows[1][1], nodes.rows[2][2], edges.rows[2][2] = math.NaN(), math.Copysign(math.NaN(), -1), math.Float64frombits(0x7ff8000000000123)
	read("parquet with NaN", edges.parquet(t, 4), nodes.parquet(t, 3))
}

// TestTablesDeclared reads texts that are declared to be missing as empty ones, in each format: the same records.
func TestTablesDeclared(t *testing.T) {
	const edges = "source,target,amount,kind\na,b,MISS1,x\na,c,5,MISS2\nb,c,2,y\nc,d,4,x\n"
	const nodes = "id,age,job,class\na,1,x,MISS1\nb,MISS3,MISS2,k\nc,MISS3,y,k\nd,4,x,l\n"
	read := func(texts []string, with ...string) (string, []string, error) {
		fill := strings.NewReplacer("MISS1", with[0], "MISS2", with[1], "MISS3", with[2])
		s := csvTables(fill.Replace(edges), fill.Replace(nodes))
		s.Edges.Weight, s.Edges.Type, s.Nodes.Targets, s.Missing = "amount", "kind", sources.Targets("class"), texts
		set, err := s.Read(t.Context())
		if err != nil {
			return "", nil, err
		}
		again := csvTables(fill.Replace(edges), fill.Replace(nodes))
		again.Edges.Weight, again.Edges.Type, again.Nodes.Targets, again.Missing = "amount", "kind", sources.Targets("class"), texts
		return textOf(t, again), set.Notes, nil
	}
	want, lines, err := read(nil, "", "", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range [][]string{{"NA", "NA", "NA"}, {"NA", "NULL", " NA "}, {"NULL", "NA", "-999"}, {"NA", "NA", "-999.0"}} {
		got, notes, err := read([]string{"NA", "NULL", "-999"}, c...)
		if err != nil || got != want || !slices.Equal(notes, lines) {
			t.Errorf("%q: %v, other records or lines: %q, want %q", c, err, notes, lines)
		}
	}
	if got, _, err := read([]string{"NA"}, "NA", "NA", "-999"); err != nil || got == want {
		t.Errorf("a number that is not declared is missing: %v", err)
	}
	if _, _, err := read(nil, "NA", "NA", "NA"); err == nil || !strings.Contains(err.Error(), `row 2: column "age": "NA", want a finite decimal number`) || !strings.HasSuffix(err.Error(), "; -missing NA reads it as missing") {
		t.Errorf("a text that is not declared: %v", err)
	}
	s := csvTables("source,target\na,b\nNA,b\n", "")
	s.Missing = []string{"NA"}
	if _, err := s.Read(t.Context()); err == nil || !strings.Contains(err.Error(), `row 2: column "source": there is no value, want an id`) {
		t.Errorf("an id that is missing: %v", err)
	}
	// Numbers of columns of numbers are declared by their value.
	n := table{names: []string{"id", "x", "y"}, rows: [][]any{{"a", -999., int64(-999)}, {"b", 2., int64(3)}}}
	s = sources.Tables{Edges: sources.EdgeTable{Table: sources.CSV{Path: "e.csv", Reader: strings.NewReader("source,target\na,b\n")}}, Nodes: sources.NodeTable{Table: n.parquet(t, 2)}, Missing: []string{"-999"}}
	set, err := s.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got, want := bitsOf(set.Items[0].Graph.NodeAttr...), bitsOf(missing, missing, 2, 3); !slices.Equal(got, want) {
		t.Errorf("numbers of a Parquet table: %x, want %x", got, want)
	}
}

// TestTablesMissingValueOfGraph: a graph whose number is missing has NaN, and two rows without one agree.
func TestTablesMissingValueOfGraph(t *testing.T) {
	s := csvTables("g,source,target\np,1,2\nq,1,2\n", "")
	s.Edges.Graph = "g"
	s.Graphs = sources.GraphTable{Table: sources.CSV{Path: "g.csv", Reader: strings.NewReader("graph,y\np,\nq,2\np,\n")}, Targets: sources.Targets("y"), Numbers: true}
	set, err := s.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got, want := bitsOf(set.Items[0].Value, set.Items[1].Value), bitsOf(missing, 2); !slices.Equal(got, want) {
		t.Errorf("values %x, want %x", got, want)
	}
}
