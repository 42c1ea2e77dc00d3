package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/ipc"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/examples/internal/clitest"
	"github.com/sanflow/sanflow/internal/leak"
)

// fieldLine is a line of the output.
type fieldLine struct {
	Graph   int64       `json:"graph"`
	Root    int32       `json:"root"`
	Members []int32     `json:"members"`
	Dist    []int32     `json:"dist"`
	Edges   [][]int32   `json:"edges"`
	Nodes   [][]float32 `json:"nodes"`

	EdgeAttr [][][]float32 `json:"edge_attr"`
}

// fieldLines runs the command and returns its lines, and the bytes of them.
func fieldLines(t *testing.T, args ...string) ([]fieldLine, []byte) {
	t.Helper()
	clitest.Silence(t)
	out := filepath.Join(t.TempDir(), "out.jsonl")
	if err := export(context.Background(), append(args, "-out", out)); err != nil {
		t.Fatalf("export %v: %v", args, err)
	}
	b, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	var lines []fieldLine
	for text := range bytes.Lines(b) {
		var l fieldLine
		d := json.NewDecoder(bytes.NewReader(text))
		d.DisallowUnknownFields()
		if err := d.Decode(&l); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		lines = append(lines, l)
	}
	return lines, b
}

// A path 0-1-2, a self-loop, a node 9 apart with 8; k is larger than any
// component.
func TestLinesOfFields(t *testing.T) {
	_, got := fieldLines(t, "-graph", clitest.File(t, "a.edges", "0 1\n1 2\n2 2\n8 9\n"), "-k", "4")
	want := `{"graph":0,"root":0,"members":[0,1,2,-1],"dist":[0,1,2,-1],"edges":[[0,1,0,0],[1,0,1,0],[0,1,0,0],[0,0,0,0]],"nodes":[[],[],[],[]]}
{"graph":0,"root":1,"members":[1,0,2,-1],"dist":[0,1,1,-1],"edges":[[0,1,1,0],[1,0,0,0],[1,0,0,0],[0,0,0,0]],"nodes":[[],[],[],[]]}
{"graph":0,"root":2,"members":[2,1,0,-1],"dist":[0,1,2,-1],"edges":[[0,1,0,0],[1,0,1,0],[0,1,0,0],[0,0,0,0]],"nodes":[[],[],[],[]]}
{"graph":0,"root":8,"members":[8,9,-1,-1],"dist":[0,1,-1,-1],"edges":[[0,1,0,0],[1,0,0,0],[0,0,0,0],[0,0,0,0]],"nodes":[[],[],[],[]]}
{"graph":0,"root":9,"members":[9,8,-1,-1],"dist":[0,1,-1,-1],"edges":[[0,1,0,0],[1,0,0,0],[0,0,0,0],[0,0,0,0]],"nodes":[[],[],[],[]]}
`
	if string(got) != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// A table of edges has strings as ids.
func TestLinesTables(t *testing.T) {
	clitest.Silence(t)
	out := filepath.Join(t.TempDir(), "out.jsonl")
	table := clitest.File(t, "a.csv", "source,target,w\nAnn,Bob,2\nBob,Cé,3\n")
	if err := export(t.Context(), []string{"-edges", table, "-weight", "w", "-k", "2", "-directed", "-out", out}); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(out)
	want := `{"graph":0,"root":"Ann","members":["Ann","Bob"],"dist":[0,1],"edges":[[0,1],[0,0]],"nodes":[[],[]],"edge_attr":[[[0],[2]],[[0],[0]]]}
{"graph":0,"root":"Bob","members":["Bob","Cé"],"dist":[0,1],"edges":[[0,1],[0,0]],"nodes":[[],[]],"edge_attr":[[[0],[3]],[[0],[0]]]}
{"graph":0,"root":"Cé","members":["Cé","Bob"],"dist":[0,1],"edges":[[0,0],[1,0]],"nodes":[[],[]],"edge_attr":[[[0],[0]],[[3],[0]]]}
`
	if err != nil || string(got) != want {
		t.Errorf("%v, got\n%swant\n%s", err, got, want)
	}
}

func TestLinesDirected(t *testing.T) {
	got, _ := fieldLines(t, "-graph", clitest.File(t, "a.csv", "0,1\n1,2\n"), "-k", "3", "-directed")
	if want := [][]int32{{0, 1, 0}, {0, 0, 1}, {0, 0, 0}}; fmt.Sprint(got[0].Edges) != fmt.Sprint(want) {
		t.Errorf("arcs %v, want %v", got[0].Edges, want)
	}
}

func TestLinesSelection(t *testing.T) {
	star := clitest.File(t, "star.txt", "5 0\n5 1\n5 2\n5 3\n5 4\n4 6\n")
	roots := func(args ...string) (r []int32) {
		got, _ := fieldLines(t, append(args, "-graph", star, "-k", "2")...)
		for _, l := range got {
			r = append(r, l.Root)
		}
		return r
	}
	for _, c := range []struct {
		args string
		want []int32
	}{
		{"-select all", []int32{0, 1, 2, 3, 4, 5, 6}},
		{"-w 3", []int32{0, 1, 2}},
		{"-stride 3", []int32{0, 3, 6}},
		{"-w 2 -stride 3", []int32{0, 3}},
		{"-select degree -w 2", []int32{5, 4}},
		{"-select betweenness -w 2 -scope global", []int32{5, 4}},
	} {
		if got := roots(strings.Fields(c.args)...); !slices.Equal(got, c.want) {
			t.Errorf("%s: roots %v, want %v", c.args, got, c.want)
		}
	}
}

// The same graphs in three formats.
func TestLinesFormats(t *testing.T) {
	_, want := fieldLines(t, "-graph", clitest.File(t, "a.g6", ">>graph6<<Bw\nA_\n"), "-k", "3")
	if n := bytes.Count(want, []byte("\n")); n != 5 {
		t.Fatalf("%d fields, want 5", n)
	}
	_, got := fieldLines(t, "-graph", clitest.File(t, "a.gv", "graph { a -- b -- c -- a } graph { a -- b }"), "-k", "3")
	if !bytes.Equal(got, want) {
		t.Errorf("dot: got\n%swant\n%s", got, want)
	}
	_, got = fieldLines(t, "-graph", clitest.File(t, "a.edges", "0 1\n1 2\n2 0\n"), "-k", "3")
	if !bytes.HasPrefix(want, got) {
		t.Errorf("edges: got\n%swant\n%s", got, want)
	}
	_, got = fieldLines(t, "-graph", clitest.File(t, "a.txt", "Bw\nA_\n"), "-format", "graph6", "-k", "3", "-workers", "3")
	if !bytes.Equal(got, want) {
		t.Errorf("graph6: got\n%swant\n%s", got, want)
	}
}

// Attributes and edge types of a TU collection, whose second graph is empty.
func TestLinesCollection(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "DS")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"A": "1, 2\n2, 1\n", "graph_indicator": "1\n1\n3\n", "graph_labels": "0\n1\n0\n",
		"node_labels": "7\n9\n9\n", "node_attributes": "0.5\n1\n-2\n", "edge_labels": "4\n4\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, "DS_"+name+".txt"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	_, got := fieldLines(t, "-graph", dir, "-k", "2")
	want := `{"graph":0,"root":0,"members":[0,1],"dist":[0,1],"edges":[[0,1],[1,0]],"nodes":[[0,0.5],[1,1]]}
{"graph":0,"root":1,"members":[1,0],"dist":[0,1],"edges":[[0,1],[1,0]],"nodes":[[1,1],[0,0.5]]}
{"graph":2,"root":0,"members":[0,-1],"dist":[0,-1],"edges":[[0,0],[0,0]],"nodes":[[1,-2],[-1,0]]}
`
	if string(got) != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// Edges with types, and with two real values each: both come out.
func TestLinesEdgeAttributes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "DS")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"A": "1, 2\n2, 1\n2, 3\n3, 2\n", "graph_indicator": "1\n1\n1\n", "graph_labels": "0\n",
		"edge_labels": "4\n4\n5\n5\n", "edge_attributes": "0.5, 0\n0.5, 0\n-3, 8\n-3, 8\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, "DS_"+name+".txt"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	_, got := fieldLines(t, "-graph", dir, "-k", "2", "-w", "1")
	want := `{"graph":0,"root":0,"members":[0,1],"dist":[0,1],"edges":[[0,1],[1,0]],"nodes":[[],[]],"edge_attr":[[[0,0],[0.5,0]],[[0.5,0],[0,0]]]}
`
	if string(got) != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestLinesWorkersDoNotMatter(t *testing.T) {
	defer leak.VerifyNone(t)
	for _, args := range []string{
		"-graph preferential -n 400 -k 10",
		"-graph random -n 400 -k 7 -select pagerank -stride 2",
		"-graph torus -n 400 -k 17 -normalize degree -scope global",
	} {
		var first []byte
		for _, workers := range []string{"1", "2", "5", "1"} {
			_, got := fieldLines(t, append(strings.Fields(args), "-workers", workers)...)
			if first == nil {
				first = got
			} else if !bytes.Equal(first, got) {
				t.Fatalf("%s: other bytes at %s workers", args, workers)
			}
		}
	}
}

// Lines shuffled, turned round and renumbered, with gaps, give the same tensors
// at the same nodes.
func TestLinesRenumbering(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, directed := range []bool{false, true} {
		const n = 60
		var edges [][2]int32
		for range 110 {
			edges = append(edges, [2]int32{rng.Int32N(n), rng.Int32N(n)})
		}
		text := func(name func(int32) int32) string {
			var b strings.Builder
			for _, i := range rng.Perm(len(edges)) {
				u, v := name(edges[i][0]), name(edges[i][1])
				if !directed && rng.IntN(2) == 0 {
					u, v = v, u
				}
				fmt.Fprintln(&b, u, v)
			}
			return b.String()
		}
		perm := rng.Perm(n)
		renamed := func(v int32) int32 { return int32(perm[v])*7919 + 3 }
		args := []string{"-k", "8", "-normalize", "wl", fmt.Sprintf("-directed=%t", directed)}
		before, _ := fieldLines(t, append(args, "-graph", clitest.File(t, "a.edges", text(func(v int32) int32 { return v })))...)
		after, _ := fieldLines(t, append(args, "-graph", clitest.File(t, "b.edges", text(renamed)))...)
		at := map[int32]fieldLine{}
		for _, l := range after {
			at[l.Root] = l
		}
		if len(before) != len(after) {
			t.Fatalf("%d fields, %d before", len(after), len(before))
		}
		for _, l := range before {
			m := at[renamed(l.Root)]
			if fmt.Sprint(l.Edges, l.Nodes, l.Dist) != fmt.Sprint(m.Edges, m.Nodes, m.Dist) {
				t.Errorf("root %d: %v, renumbered %v", l.Root, l.Edges, m.Edges)
			}
		}
	}
}

func TestLinesArrowFile(t *testing.T) {
	clitest.Silence(t)
	graph := clitest.File(t, "a.edges", "5 7\n7 1000000000\n")
	out := filepath.Join(t.TempDir(), "out.arrow")
	if err := export(context.Background(), []string{"-graph", graph, "-k", "2", "-as", "jsonl", "-out", out}); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := ipc.NewFileReader(f)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	rec, err := r.Record(0)
	if err != nil {
		t.Fatal(err)
	}
	lines, _ := fieldLines(t, "-graph", graph, "-k", "2")
	if int(rec.NumRows()) != len(lines) {
		t.Fatalf("%d rows, want %d", rec.NumRows(), len(lines))
	}
	column := func(name string) (values []int32) {
		col := rec.Column(rec.Schema().FieldIndices(name)[0])
		if l, ok := col.(array.ListLike); ok {
			col = l.ListValues()
		}
		if ids, ok := col.(*array.Int64); ok {
			for _, id := range ids.Int64Values() {
				values = append(values, int32(id))
			}
			return values
		}
		return col.(*array.Int32).Int32Values()
	}
	var roots, members, dist, edges []int32
	for _, l := range lines {
		roots, members, dist = append(roots, l.Root), append(members, l.Members...), append(dist, l.Dist...)
		edges = append(edges, slices.Concat(l.Edges...)...)
	}
	for name, want := range map[string][]int32{"root": roots, "members": members, "dist": dist, "edges": edges} {
		if got := column(name); !slices.Equal(got, want) {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
}

// Graphs of one file may have one number, as the edge lists that a program writes to it
// do: the nodes of each are called by its own ids.
func TestLinesIDsOfOneNumber(t *testing.T) {
	lists := []string{"10 20\n20 30\n30 40\n40 50\n", "100 200\n"}
	_, got := fieldLines(t, "-graph", edgeLists(t, lists...), "-k", "2")
	_, a := fieldLines(t, "-graph", clitest.File(t, "a.edges", lists[0]), "-k", "2")
	_, b := fieldLines(t, "-graph", clitest.File(t, "b.edges", lists[1]), "-k", "2")
	if want := append(a, b...); !bytes.Equal(got, want) || !bytes.Contains(got, []byte(`"root":200`)) {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestLinesJSON(t *testing.T) {
	r := clitest.JSON[map[string]any](t, export, strings.Fields("-as jsonl -graph preferential -n 50 -k 5 -w 20")...)
	for _, name := range strings.Fields("nodes edges k fields seconds fields_per_s canon_calls cache_hit_rate fallbacks") {
		if _, ok := r[name]; !ok {
			t.Errorf("no field %s", name)
		}
	}
	if r["nodes"] != 50. || r["edges"] != 144. || r["k"] != 5. || r["fields"] != 20. {
		t.Errorf("got %v", r)
	}
}

func TestLinesErrors(t *testing.T) {
	clitest.Silence(t)
	for _, c := range []struct{ args, want string }{
		{"-k 0", "-k is 0"},
		{"-k 257", "-k is 257, want 1 to 256"},
		{"-w -1", "-w is -1"},
		{"-stride 0", "-stride is 0"},
		{"-workers -1", "-workers is -1"},
		{"-graph torus -n 7", "-n 7: a torus"},
		{"-n 0", "-n is 0"},
		{"-graph preferential -n 3", "preferential"},
		{"-select best", `unknown labeling "best"`},
		{"-normalize all", `unknown labeling "all"`},
		{"-scope local", "hood or global"},
		{"-format xml -graph a.xml", `-format is "xml"`},
		{"-graph " + clitest.File(t, "a.xml", ""), "set -format"},
		{"-graph nosuch", `-graph is "nosuch": no such file`},
		{"-graph nowhere.edges", "edgelist: sources: nowhere.edges: no such file"},
		{"-graph - -format tu", "several files"},
		{"-out /nowhere/at/all.jsonl", "cannot write"},
		{"-json /nowhere/at/all", "cannot write"},
		{"-as jsonl -out /dev/full", "cannot write /dev/full: no space left"},
		{"-as jsonl -out " + t.TempDir() + "/../.jsonl/x.arrow", "cannot write"},
		{"-graph " + clitest.File(t, "empty.edges", ""), "empty.edges: no edge"},
		{"-graph " + clitest.File(t, "bad.edges", "0 1\n\n1 x\n"), "bad.edges:3: "},
		{"-graph " + clitest.File(t, "far.edges", "0 1\n9223372036854775808 1\n"), "far.edges:2: "},
		{"-graph " + clitest.File(t, "bad.g6", "Bw\nBww\n"), "bad.g6:2: "},
		{"-graph " + clitest.File(t, "bad.dot", "graph {\na -- b"), "bad.dot:2: "},
		{"stray", "unexpected argument"},
	} {
		err := export(context.Background(), strings.Fields(c.args))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want one with %q", c.args, err, c.want)
		}
	}
}

func TestLinesInterrupt(t *testing.T) {
	defer leak.VerifyNone(t)
	for _, args := range []string{"-graph preferential -n 30000 -k 100", "-graph torus -n 10000 -select betweenness"} {
		for _, after := range []time.Duration{0, 20 * time.Millisecond, 300 * time.Millisecond} {
			ctx, cancel := context.WithCancelCause(context.Background())
			time.AfterFunc(after, func() { cancel(cli.ErrInterrupted) })
			start := time.Now()
			out := filepath.Join(t.TempDir(), "out.jsonl")
			err := export(ctx, append(strings.Fields(args), "-out", out))
			if !errors.Is(err, cli.ErrInterrupted) {
				t.Errorf("%s after %v: %v, want %v", args, after, err, cli.ErrInterrupted)
			}
			if took := time.Since(start) - after; took > leak.Patience {
				t.Errorf("%s after %v: took another %v", args, after, took)
			}
			if left, _ := filepath.Glob(filepath.Join(filepath.Dir(out), "*")); len(left) > 0 {
				t.Errorf("%s: left %v behind", args, left)
			}
		}
	}
}
