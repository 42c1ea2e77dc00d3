package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/examples/internal/clitest"
	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/flowtest"
	"github.com/sanflow/sanflow/flow/manifest"
	"github.com/sanflow/sanflow/internal/leak"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/parquet"
)

// exportedRows runs the command and returns the rows it has written.
func exportedRows(t *testing.T, args ...string) []string {
	t.Helper()
	clitest.Silence(t)
	out := filepath.Join(t.TempDir(), "out")
	if err := export(context.Background(), append(args, "-out", out)); err != nil {
		t.Fatalf("export %v: %v", args, err)
	}
	return storedRows(t, out)
}

func storedRows(t *testing.T, dir string) (rows []string) {
	t.Helper()
	var src flow.Source = parquet.Source{Path: dir}
	if sources.FormatOf(dir, sources.Options{}) == "arrow" {
		src = sources.IPC{Path: dir}
	}
	r, err := src.Open(context.Background(), memory.DefaultAllocator)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for {
		rec, err := r.Next(context.Background())
		if err == io.EOF {
			return rows
		}
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, flowtest.Rows(rec)...)
		rec.Release()
	}
}

// A path 5-7-9, and a node 20 with 22 apart; k is larger than one component.
func TestExportRows(t *testing.T) {
	graph := clitest.File(t, "a.edges", "5 7\n7 9\n20 22\n")
	want := []string{
		"graph_id=0 pos=0 roots=[0] members=[0,1,2] edges=[0,1,0,1,0,1,0,1,0] root_ids=[5] member_ids=[5,7,9]",
		"graph_id=0 pos=0 roots=[1] members=[1,0,2] edges=[0,1,1,1,0,0,1,0,0] root_ids=[7] member_ids=[7,5,9]",
		"graph_id=0 pos=0 roots=[2] members=[2,1,0] edges=[0,1,0,1,0,1,0,1,0] root_ids=[9] member_ids=[9,7,5]",
		"graph_id=0 pos=0 roots=[3] members=[3,4,-1] edges=[0,1,0,1,0,0,0,0,0] root_ids=[20] member_ids=[20,22,0]",
		"graph_id=0 pos=0 roots=[4] members=[4,3,-1] edges=[0,1,0,1,0,0,0,0,0] root_ids=[22] member_ids=[22,20,0]",
	}
	for _, as := range []string{"parquet", "arrow"} {
		if got := exportedRows(t, "-graph", graph, "-k", "3", "-as", as, "-field-edges"); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", as, got, want)
		}
	}
}

// The fields depend neither on chunks nor on workers nor on the format.
func TestExportFieldLines(t *testing.T) {
	clitest.Silence(t)
	graph := clitest.File(t, "a.edges", "0 1\n1 2\n2 2\n8 9\n")
	want := `{"graph":0,"root":0,"members":[0,1,2,-1],"dist":[0,1,2,-1],"edges":[[0,1,0,0],[1,0,1,0],[0,1,0,0],[0,0,0,0]],"nodes":[[],[],[],[]]}
{"graph":0,"root":1,"members":[1,0,2,-1],"dist":[0,1,1,-1],"edges":[[0,1,1,0],[1,0,0,0],[1,0,0,0],[0,0,0,0]],"nodes":[[],[],[],[]]}
{"graph":0,"root":2,"members":[2,1,0,-1],"dist":[0,1,2,-1],"edges":[[0,1,0,0],[1,0,1,0],[0,1,0,0],[0,0,0,0]],"nodes":[[],[],[],[]]}
{"graph":0,"root":8,"members":[8,9,-1,-1],"dist":[0,1,-1,-1],"edges":[[0,1,0,0],[1,0,0,0],[0,0,0,0],[0,0,0,0]],"nodes":[[],[],[],[]]}
{"graph":0,"root":9,"members":[9,8,-1,-1],"dist":[0,1,-1,-1],"edges":[[0,1,0,0],[1,0,0,0],[0,0,0,0],[0,0,0,0]],"nodes":[[],[],[],[]]}
`
	for _, args := range []string{"-chunk 1 -workers 3", "-chunk 2", ""} {
		out := filepath.Join(t.TempDir(), "a.jsonl")
		r := clitest.JSON[map[string]any](t, export, append(strings.Fields(args), "-graph", graph, "-k", "4", "-as", "jsonl", "-out", out)...)
		got, err := os.ReadFile(out)
		if err != nil || string(got) != want {
			t.Errorf("%s: got\n%swant\n%s%v", args, got, want, err)
		}
		if r["rows"] != 5. || r["fields"] != 5. || r["bytes"] != float64(len(want)) {
			t.Errorf("%s: %v", args, r)
		}
	}
}

func TestExportChunks(t *testing.T) {
	defer leak.VerifyNone(t)
	var want []string
	for _, args := range []string{
		"-chunk 1 -workers 1", "-chunk 64 -workers 2", "-chunk 4096 -workers 3", "-chunk 7 -as arrow -compress lz4", "-part 1 -compress zstd",
	} {
		got := exportedRows(t, append(strings.Fields(args), "-graph", "preferential", "-n", "300", "-k", "8")...)
		if want == nil {
			want = got
		}
		if len(got) != 300 || !slices.Equal(got, want) {
			t.Errorf("%s: %d other rows", args, len(got))
		}
	}
}

// Not a byte of the files depends on chunks or workers.
func TestExportSameFiles(t *testing.T) {
	clitest.Silence(t)
	for _, as := range []string{"parquet", "arrow"} {
		var want []byte
		for _, args := range []string{"-chunk 1 -workers 2", "-chunk 64 -workers 1", "-chunk 4096 -workers 3"} {
			out := filepath.Join(t.TempDir(), "out")
			args := append(strings.Fields(args), "-graph", "preferential", "-n", "3000", "-k", "4", "-as", as, "-out", out)
			if err := export(context.Background(), args); err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(filepath.Join(out, "part-00000."+as))
			if err != nil {
				t.Fatal(err)
			}
			if want == nil {
				want = got
			}
			if !bytes.Equal(got, want) {
				t.Errorf("%v: %d bytes, other ones than %d", args, len(got), len(want))
			}
		}
	}
}

// Graphs that were exported come back, and have the fields of the first ones.
func TestExportGraphs(t *testing.T) {
	clitest.Silence(t)
	dir := t.TempDir()
	ctx := context.Background()
	for _, args := range []string{
		"-graph preferential -n 60 -graphs -out " + dir + "/a",
		"-graph " + dir + "/a -graphs -as arrow -out " + dir + "/b",
		"-graph " + dir + "/a -k 4 -out " + dir + "/fields",
	} {
		if err := export(ctx, strings.Fields(args)); err != nil {
			t.Fatalf("%s: %v", args, err)
		}
	}
	if a, b := storedRows(t, dir+"/a"), storedRows(t, dir+"/b"); !slices.Equal(a, b) || len(a) != 1 {
		t.Errorf("%d graphs, and %d from them", len(a), len(b))
	}
	if got, want := storedRows(t, dir+"/fields"), exportedRows(t, "-graph", "preferential", "-n", "60", "-k", "4"); !slices.Equal(got, want) {
		t.Error("the graphs that came back have other fields")
	}
}

// A graph goes out as an edge list, comes back from it, and from the mapped file
// that is made of it, packed or not.
func TestEdges(t *testing.T) {
	clitest.Silence(t)
	dir := t.TempDir()
	for _, args := range []string{
		"-graph rmat -n 300 -graphs -as edges -out " + dir + "/drawn.edges",
		"-graph rmat -n 300 -graphs -out " + dir + "/made",
		"-graph " + dir + "/drawn.edges -graphs -out " + dir + "/read -workers 2",
		"-graph " + dir + "/read -graphs -as edges -out " + dir + "/again.edges",
		"-graph " + dir + "/again.edges -graphs -as arrow -out " + dir + "/mapped",
		"-graph " + dir + "/mapped -graphs -out " + dir + "/last",
		"-graph " + dir + "/again.edges -graphs -as arrow -compress zstd -out " + dir + "/packed",
		"-graph " + dir + "/packed/part-00000.arrow -graphs -out " + dir + "/unpacked",
		"-graph " + dir + "/mapped -k 3 -w 4 -out " + dir + "/fields",
		"-graph ../../../sources/parquet/testdata/duckdb.edges.parquet -graphs -out " + dir + "/table",
	} {
		if err := export(context.Background(), strings.Fields(args)); err != nil {
			t.Fatalf("%s: %v", args, err)
		}
	}
	want := storedRows(t, dir+"/read")
	for _, name := range []string{"mapped", "last", "unpacked"} {
		if got := storedRows(t, dir+"/"+name); !slices.Equal(got, want) {
			t.Errorf("%s is another graph", name)
		}
	}
	// What is generated has no lines, and so no ids of nodes.
	graph, ids, _ := strings.Cut(want[0], " node_ids=")
	if got := storedRows(t, dir+"/made"); len(got) != 1 || got[0] != graph || ids == "" {
		t.Errorf("another graph was read: %q, want %q and ids", want, got)
	}
	if got := storedRows(t, dir+"/table"); len(got) != 1 {
		t.Errorf("%d graphs of a table of edges", len(got))
	}
	if text, err := os.ReadFile(dir + "/drawn.edges"); err != nil || bytes.Count(text, []byte("\n")) != 7*512 {
		t.Errorf("%d lines, want %d; %v", bytes.Count(text, []byte("\n")), 7*512, err)
	}
}

// Nodes are called by the ids of an edge list with gaps, even if the file that was
// made of it is mapped, read and checked, or Parquet: in fields, of both kinds of rows
// and in lines, and in the edge list that is written of it.
func TestExportIDs(t *testing.T) {
	clitest.Silence(t)
	dir := t.TempDir()
	list := clitest.File(t, "a.edges", "7 70\n70 700\n700 7\n2147483647 700\n")
	command := func(args string) {
		t.Helper()
		if err := export(context.Background(), strings.Fields(args)); err != nil {
			t.Fatalf("%s: %v", args, err)
		}
	}
	command("-graph " + list + " -graphs -as arrow -out " + dir + "/arrow")
	command("-graph " + list + " -graphs -as arrow -compress zstd -out " + dir + "/packed")
	command("-graph " + list + " -graphs -out " + dir + "/parquet")
	for _, fields := range []string{"-k 3", "-k 3 -per graph -w 5 -as arrow", "-k 2 -as jsonl", "-graphs -as edges"} {
		text := func(graph string) (all []string) {
			out := filepath.Join(t.TempDir(), "out")
			command("-graph " + graph + " " + fields + " -out " + out)
			if b, err := os.ReadFile(out); err == nil {
				return strings.Split(string(b), "\n")
			}
			return storedRows(t, out)
		}
		want := text(list)
		if !strings.Contains(strings.Join(want, ""), "2147483647") {
			t.Errorf("%s: %q has not the ids of the file", fields, want)
		}
		for _, made := range []string{"arrow", "packed", "parquet"} {
			if got := text(dir + "/" + made); !slices.Equal(got, want) {
				t.Errorf("%s of %s: %q, want %q", fields, made, got, want)
			}
		}
	}
}

// Nodes without an edge keep their ids in an edge list that is written: they stand on a
// line with themselves, which a reader drops once it has met them.
func TestExportIDsWithoutEdges(t *testing.T) {
	clitest.Silence(t)
	for _, list := range []string{"5 5\n10 20\n20 30\n", "1 2\n2 3\n4 4\n", "# 3 nodes\n1 2\n", "# 4 nodes\n1 2\n", "0 1\n9 9\n"} {
		for _, flags := range []string{"", " -directed", " -weights"} {
			text := list
			if flags == " -weights" {
				text = strings.ReplaceAll(strings.ReplaceAll(list, "\n", " 0.5\n"), "nodes 0.5", "nodes")
			}
			dir := t.TempDir()
			for _, args := range []string{
				"-graph " + clitest.File(t, "a.edges", text) + " -as edges -out " + dir + "/b.edges",
				"-graph " + clitest.File(t, "a.edges", text) + " -as arrow -out " + dir + "/want",
				"-graph " + dir + "/b.edges -as arrow -out " + dir + "/got",
			} {
				if err := export(context.Background(), strings.Fields(args+" -graphs"+flags)); err != nil {
					t.Fatalf("%s: %v", args, err)
				}
			}
			if got, want := storedRows(t, dir+"/got"), storedRows(t, dir+"/want"); !slices.Equal(got, want) {
				t.Errorf("%q%s: %q, want %q", text, flags, got, want)
			}
		}
	}
}

// Graphs of one file may have one number, as the edge lists that a program writes to it
// do: the nodes of each are called by its own ids.
func TestExportIDsOfOneNumber(t *testing.T) {
	clitest.Silence(t)
	lists := []string{"10 20\n20 30\n30 40\n40 50\n", "100 200\n"}
	two := edgeLists(t, lists...)
	for _, fields := range []string{"-k 2", "-k 2 -chunk 2 -workers 2 -as arrow", "-k 2 -per graph -w 5", "-k 2 -as jsonl"} {
		text := func(graph string) (text string) {
			out := filepath.Join(t.TempDir(), "out")
			if err := export(context.Background(), strings.Fields("-graph "+graph+" "+fields+" -out "+out)); err != nil {
				t.Fatalf("%s: %v", fields, err)
			}
			if b, err := os.ReadFile(out); err == nil {
				return string(b)
			}
			return strings.Join(storedRows(t, out), "\n") + "\n"
		}
		want := text(clitest.File(t, "a.edges", lists[0])) + text(clitest.File(t, "b.edges", lists[1]))
		if got := text(two); got != want || !strings.Contains(got, "200") {
			t.Errorf("%s: got\n%swant\n%s", fields, got, want)
		}
	}
}

// Weights of an edge list stay with its edges: in the file that is mapped, in the fields
// of that, and in the list that is written of it again.
func TestExportWeights(t *testing.T) {
	clitest.Silence(t)
	dir := t.TempDir()
	list := clitest.File(t, "a.edges", "3 1 0.5\n1 2 -4\n2 3 1e9\n1 3 7\n")
	for _, args := range []string{
		"-graph " + list + " -weights -graphs -as arrow -out " + dir + "/mapped",
		"-graph " + dir + "/mapped -graphs -as edges -out " + dir + "/again.edges",
		"-graph " + dir + "/again.edges -weights -graphs -as arrow -out " + dir + "/again",
		"-graph " + dir + "/mapped -k 2 -field-edges -out " + dir + "/fields",
		"-graph " + list + " -weights -field-edges -k 3 -out " + dir + "/three",
		"-graph " + list + " -weights -k 3 -as jsonl -out " + dir + "/three.jsonl",
	} {
		if err := export(context.Background(), strings.Fields(args)); err != nil {
			t.Fatalf("%s: %v", args, err)
		}
	}
	lines, err := os.ReadFile(dir + "/three.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	const line = `"members":[2,3,1],"dist":[0,1,1],"edges":[[0,1,1],[1,0,1],[1,1,0]],"nodes":[[],[],[]],"edge_attr":[[[0],[1e+09],[-4]],[[1e+09],[0],[0.5]],[[-4],[0.5],[0]]]}`
	if !strings.Contains(string(lines), line) {
		t.Errorf("lines\n%s\nhave no\n%s", lines, line)
	}
	if got := strings.Join(storedRows(t, dir+"/three"), "\n"); !strings.Contains(got, "members=[1,2,0] edges=[0,1e+09,-4,1e+09,0,0.5,-4,0.5,0] root_ids=[2] member_ids=[2,3,1]") {
		t.Errorf("rows\n%s\nhave not the weights of the lines", got)
	}
	if got, want := storedRows(t, dir+"/again"), storedRows(t, dir+"/mapped"); !slices.Equal(got, want) || !strings.Contains(want[0], "edge_attr=[-4,0.5,") {
		t.Errorf("%q, want %q", got, want)
	}
	if got := storedRows(t, dir+"/fields"); len(got) != 3 || !strings.Contains(strings.Join(got, ""), "edges=[0,0.5,0.5,0]") {
		t.Errorf("fields %q, want some with a weight", got)
	}
	const table = "../../../sources/parquet/testdata/duckdb.weights.parquet"
	if err := export(context.Background(), strings.Fields("-graph "+table+" -weights -graphs -as edges -out "+dir+"/table.edges")); err != nil {
		t.Fatal(err)
	}
	if lines, err := os.ReadFile(dir + "/table.edges"); err != nil || !strings.Contains(string(lines), "\n238 2 0.14285715\n") && !strings.Contains(string(lines), "\n2 238 0.14285715\n") {
		t.Errorf("the second row, 7919%%600*2, 2, 1/7, is not among the lines of %s: %v", table, err)
	}
	for _, args := range []string{"-graph " + dir + "/mapped", "-graph torus", "-data " + dir} {
		if err := export(context.Background(), strings.Fields(args+" -weights")); err == nil || !strings.Contains(err.Error(), "-weights needs an edge list") {
			t.Errorf("%s: %v", args, err)
		}
	}
}

// A row of a collection is a graph, with as many fields as nodes on average.
func TestExportCollection(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "DS")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"A": "1, 2\n2, 1\n", "graph_indicator": "1\n1\n2\n", "graph_labels": "0\n1\n", "node_labels": "7\n9\n9\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, "DS_"+name+".txt"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got := exportedRows(t, "-data", dir, "-k", "2", "-field-edges")
	want := []string{
		"graph_id=0 pos=0 target=0 roots=[0,1] members=[0,1,1,0] nodes_cat=[0,1,1,0] edges=[0,1,1,0,0,1,1,0]",
		"graph_id=1 pos=1 target=1 roots=[0,-1] members=[0,-1,-1,-1] nodes_cat=[1,-1,-1,-1] edges=[0,0,0,0,0,0,0,0]",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := exportedRows(t, "-data", dir, "-k", "1"); len(got) != 2 || !strings.Contains(got[0], "roots=[0,1]") {
		t.Errorf("%q, want roots by number", got)
	}
	if got := exportedRows(t, "-data", dir, "-k", "2", "-per", "root"); len(got) != 3 {
		t.Errorf("%q, want a row per node", got)
	}
}

func TestExportJSON(t *testing.T) {
	dir := t.TempDir()
	r := clitest.JSON[map[string]any](t, export, strings.Fields("-graph torus -n 100 -k 5 -out "+dir+"/a")...)
	for name, want := range map[string]float64{"graphs": 1, "nodes": 100, "edges": 200, "rows": 100, "fields": 100, "k": 5} {
		if r[name] != want {
			t.Errorf("%s is %v, want %v", name, r[name], want)
		}
	}
	info, err := os.Stat(dir + "/a/part-00000.parquet")
	if err != nil || r["bytes"] != float64(info.Size()) {
		t.Errorf("bytes are %v, want those of %v, %v", r["bytes"], info, err)
	}
	for _, name := range []string{"seconds", "mb_per_s"} {
		if x, ok := r[name].(float64); !ok || x <= 0 {
			t.Errorf("%s is %v", name, r[name])
		}
	}
}

func TestExportErrors(t *testing.T) {
	clitest.Silence(t)
	busy := t.TempDir()
	if err := os.WriteFile(filepath.Join(busy, "part-00000.parquet"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	plain := clitest.File(t, "plain", "")
	fields := filepath.Join(t.TempDir(), "fields")
	if err := export(context.Background(), strings.Fields("-graph torus -n 25 -out "+fields)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ args, want string }{
		{"-graph torus -data MUTAG", "either -graph or -data"},
		{"-graph torus -k 0", "-k is 0"},
		{"-graph torus -k 257", "want 1 to 256"},
		{"-graph torus -chunk -1", "-chunk is -1"},
		{"-graph torus -part 0", "-part is 0"},
		{"-graph torus -w -1", "-w is -1"},
		{"-graph torus -as csv", `-as is "csv"`},
		{"-graph torus -as edges -out x", "-graphs and -out"},
		{"-graph torus -per node", `-per is "node"`},
		{"-graph torus -scope local", "hood or global"},
		{"-graph torus -select best", `unknown labeling "best"`},
		{"-graph torus -compress gzip -out " + busy + "/x", `-compress is "gzip", want none, zstd, snappy`},
		{"-graph torus -compress lz4", `-compress is "lz4", want none, zstd, snappy`},
		{"-graph torus -compress snappy -as arrow", `-compress is "snappy", want none, zstd, lz4`},
		{"-graph torus -as jsonl -out a.jsonl -compress zstd", `-compress is "zstd", want none`},
		{"-graph torus -as jsonl -out a.jsonl -graphs", "no -graphs"},
		{"-data MUTAG -as jsonl -out a.jsonl -per graph", "-per root"},
		{"-graph " + fields, "has fields, and no graphs"},
		{"-graph " + clitest.File(t, "a.xml", ""), "set -format"},
		{"-graph nosuch", `-graph is "nosuch": no such file`},
		{"-graph nowhere.edges", "nowhere.edges: no such file"},
		{"-graph nowhere.parquet", "nowhere.parquet: no such file"},
		{"-graph torus -out " + busy, "part-00000.parquet, which no manifest names"},
		{"-graph torus -out " + plain, "cannot write " + plain},
		{"-graph torus -out " + plain + "/x", "cannot write " + plain + "/x"},
		{"-graph torus -json /nowhere/at/all", "cannot write"},
		{"-graph " + clitest.File(t, "bad.edges", "0 1\n\n1 x\n") + " -out " + busy + "/y", "bad.edges:3: "},
		{"-graph " + clitest.File(t, "bad.parquet", "PAR1 and nothing else") + " -out " + busy + "/y", "bad.parquet: "},
		{"stray", "unexpected argument"},
	} {
		err := export(context.Background(), strings.Fields(c.args))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want one with %q", c.args, err, c.want)
		}
	}
	if left, _ := filepath.Glob(busy + "/*"); len(left) != 1 {
		t.Errorf("%v is left", left)
	}
}

// An interrupt leaves nothing behind, at whatever time it comes.
func TestExportInterrupt(t *testing.T) {
	defer leak.VerifyNone(t)
	clitest.Silence(t)
	for _, after := range []time.Duration{0, 20 * time.Millisecond, 300 * time.Millisecond} {
		dir := t.TempDir()
		ctx, cancel := context.WithCancelCause(context.Background())
		time.AfterFunc(after, func() { cancel(cli.ErrInterrupted) })
		err := export(ctx, strings.Fields(fmt.Sprintf("-graph preferential -n 100000 -k 50 -out %s/a -json %s/a.json", dir, dir)))
		if !errors.Is(err, cli.ErrInterrupted) {
			t.Errorf("after %v: %v, want %v", after, err, cli.ErrInterrupted)
		}
		if left, _ := filepath.Glob(dir + "/*"); len(left) > 0 {
			t.Errorf("after %v: %v is left", after, left)
		}
	}
}

// A table of edges with strings as ids has the fields of the edge list with integers, in rows, in
// lines; attributes come from the columns that are named.
func TestExportTables(t *testing.T) {
	list := clitest.File(t, "a.edges", "5 7\n7 9\n20 22\n")
	table := clitest.File(t, "a.csv", "when,from,to\n1,n05,n07\n2,n07,n09\n3,n20,n22\n")
	tables := []string{"-edges", table, "-source", "from", "-target", "to"}
	node := regexp.MustCompile(`"?n0?(\d+)"?`)
	integers := func(text string) string { return node.ReplaceAllString(text, "$1") }
	want := exportedRows(t, "-graph", list, "-k", "2")
	if got := exportedRows(t, append(tables, "-k", "2")...); integers(strings.Join(got, "\n")) != strings.Join(want, "\n") || len(got) != 5 {
		t.Errorf("%q, want %q", got, want)
	}
	out := filepath.Join(t.TempDir(), "out.jsonl")
	lines := func(args ...string) string {
		if err := export(t.Context(), append(args, "-k", "2", "-as", "jsonl", "-out", out)); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	texts, ints := lines(tables...), lines("-graph", list)
	if integers(texts) != ints || !strings.Contains(texts, `"members":["n05","n07"]`) {
		t.Errorf("lines\n%s\nwant\n%s", texts, ints)
	}
	nodes := clitest.File(t, "n.csv", "name,age\nn05,50\nn07,70\nn09,90\nn20,200\nn22,220\n")
	if got := exportedRows(t, append(tables, "-k", "1", "-nodes", nodes, "-id", "name")...); !strings.Contains(strings.Join(got, "\n"), "220") {
		t.Errorf("%q has no age", got)
	}
	twice := clitest.File(t, "t.csv", "from,to,kind\nn05,n07,a\nn05,n07,a\nn07,n07,\nn07,n09,b\n")
	for _, per := range []string{"root", "graph"} {
		_, told := printed(t, "export", "-edges", twice, "-source", "from", "-target", "to", "-type", "kind", "-k", "2", "-per", per)
		for _, want := range []string{"left out: 1 of 4 rows", "repeated rows: 1 of 4", "missing values: 1 of 4 rows"} {
			if strings.Count(told, want) != 1 {
				t.Errorf("-per %s: %s, want one line %q", per, told, want)
			}
		}
	}
	// The graphs of a column have the fields that each has alone.
	one, other := "a,b\nb,c\nc,d\n", "b,a\nb,d\nd,a\n"
	many := clitest.File(t, "many.csv", "source,target,flow\n"+strings.ReplaceAll(one, "\n", ",x\n")+strings.ReplaceAll(other, "\n", ",y\n"))
	alone := ""
	for i, text := range []string{one, other} {
		alone += strings.ReplaceAll(lines("-edges", clitest.File(t, "one.csv", "source,target\n"+text)), `{"graph":0`, fmt.Sprintf(`{"graph":%d`, i))
	}
	if got := lines("-edges", many, "-graph", "flow"); got != alone || strings.Count(got, "\n") != 7 {
		t.Errorf("graphs of a column:\n%s\nwant\n%s", got, alone)
	}
	classed := clitest.File(t, "classed.json", `{"graph":{"shape":"ring"},"links":[{"source":"a","target":"b"}]}`+"\n"+`{"graph":{"shape":"path"},"links":[{"source":"a","target":"b"}]}`+"\n")
	if got := exportedRows(t, "-data", classed, "-class", "shape", "-graphs"); len(got) != 2 || !strings.Contains(got[0], "target=1") || !strings.Contains(got[1], "target=0") {
		t.Errorf("%q have not the classes path and ring", got)
	}
	// Types order the nodes of a field, whether or not its rows have them, and the line says so.
	typed := clitest.File(t, "typed.csv", "from,to,kind\na,b,y\na,c,x\na,d,z\n")
	if by, bare := exportedRows(t, "-edges", typed, "-source", "from", "-target", "to", "-type", "kind", "-k", "2"), exportedRows(t, "-edges", typed, "-source", "from", "-target", "to", "-k", "2"); slices.Equal(by, bare) {
		t.Errorf("fields with types: %q", by)
	}
	for want, flags := range map[int][]string{1: {}, 0: {"-field-edges"}} {
		if _, told := printed(t, append([]string{"export", "-edges", twice, "-source", "from", "-target", "to", "-type", "kind", "-k", "2"}, flags...)...); strings.Count(told, "left out: -type and -weight are no columns of rows without -field-edges; types of edges order the nodes") != want {
			t.Errorf("%q: %s", flags, told)
		}
	}
	for name, text := range map[string]string{"m.smi": "CCO a\nCCN b\n", "g.jsonl": `{"nodes": [{"id": 1}, {"id": 2}], "links": [{"source": 1, "target": 2}]}`} {
		if got := exportedRows(t, "-data", clitest.File(t, name, text), "-k", "2", "-per", "root"); len(got) < 2 {
			t.Errorf("%s: %q, want a row for each atom or node", name, got)
		}
	}
	for want, args := range map[string][]string{
		"-source is of a table": {"-source", "from"}, "-edges and -data are both set": append(tables, "-data", list),
		`column "nope"`: {"-edges", table, "-source", "nope", "-target", "to"}, "want a name that ends in .csv": {"-edges", clitest.File(t, "a.net", "1 2\n")},
	} {
		if err := export(t.Context(), args); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", args, err, want)
		}
	}
}

// The class of a node is the target of its field and no attribute, and neither is what -ignore
// names; the manifest has the other columns in their order, with their words.
func TestExportClass(t *testing.T) {
	edges := clitest.File(t, "e.csv", "source,target\na,b\nb,c\n")
	nodes := clitest.File(t, "n.csv", "id,kind,secret,age,role\na,x,1,10,good\nb,y,2,20,bad\nc,x,3,30,\n")
	args := []string{"-edges", edges, "-nodes", nodes, "-class", "role", "-ignore", "secret", "-k", "1"}
	want := []string{
		`graph_id=0 pos=0 roots=[0] members=[0] nodes_cat=[0] nodes=[10] target=1 root_ids=["a"] member_ids=["a"]`,
		`graph_id=0 pos=0 roots=[1] members=[1] nodes_cat=[1] nodes=[20] target=0 root_ids=["b"] member_ids=["b"]`,
		`graph_id=0 pos=0 roots=[2] members=[2] nodes_cat=[0] nodes=[30] target=-1 root_ids=["c"] member_ids=["c"]`,
	}
	got := exportedRows(t, args...)
	for i, row := range got {
		for _, cell := range strings.Fields(want[i]) {
			if !strings.Contains(" "+row+" ", " "+cell+" ") {
				t.Errorf("row %d is %s, want %s", i, row, cell)
			}
		}
		if strings.Contains(row, "nodes=[1") && i != 0 {
			t.Errorf("row %d is %s: a column that -ignore names is there", i, row)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d rows, want %d", len(got), len(want))
	}
	out := filepath.Join(t.TempDir(), "out")
	if err := export(t.Context(), append(args, "-out", out)); err != nil {
		t.Fatal(err)
	}
	m, err := manifest.Read(out)
	if err != nil {
		t.Fatal(err)
	}
	if cat := m.Channels["nodes_cat"]; len(cat) != 1 || cat[0].Name != "kind" || !slices.Equal(cat[0].Words, []string{"x", "y"}) {
		t.Errorf("nodes_cat has the channels %v, want kind of x and y", cat)
	}
	if attr := m.Channels["nodes"]; len(attr) != 1 || attr[0].Name != "age" {
		t.Errorf("nodes has the channels %v, want age", attr)
	}
	for want, args := range map[string][]string{
		"-ignore names a column of -nodes, and there is no -nodes": {"-edges", edges, "-ignore", "age"},
		"-class is of a table, and there is no -edges":             {"-graph", "torus", "-class", "age"},
		`"nope"`: {"-edges", edges, "-nodes", nodes, "-ignore", "nope"},
		`"gone"`: {"-edges", edges, "-nodes", nodes, "-class", "gone"},
	} {
		if err := export(t.Context(), args); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", args, err, want)
		}
	}
}

// Without a file -as jsonl measures; the end of the name of a file says that it has lines.
func TestExportMeasures(t *testing.T) {
	r := clitest.JSON[map[string]any](t, export, strings.Fields("-graph torus -n 100 -k 5 -as jsonl")...)
	if r["fields"] != 100. || r["as"] != "jsonl" || r["bytes"] != 0. || r["fields_per_s"].(float64) <= 0 {
		t.Errorf("%v", r)
	}
	out := filepath.Join(t.TempDir(), "a.jsonl")
	r = clitest.JSON[map[string]any](t, export, strings.Fields("-graph torus -n 100 -k 5 -out "+out)...)
	if text, err := os.ReadFile(out); err != nil || r["as"] != "jsonl" || bytes.Count(text, []byte("\n")) != 100 {
		t.Errorf("%v, %v", r, err)
	}
}
