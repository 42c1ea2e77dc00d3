package sources

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/internal/race"
	"github.com/sanflow/sanflow/sources/internal/reading"
	"github.com/sanflow/sanflow/sources/internal/readtest"
)

func edgesOf(n *network) string {
	var s []string
	for u := range int32(n.Graph.N()) {
		for _, v := range n.Graph.Adj(u) {
			if n.Graph.Directed || u < v {
				s = append(s, fmt.Sprintf("%s-%s", n.IDs.Name(u), n.IDs.Name(v)))
			}
		}
	}
	return strings.Join(s, " ")
}

func TestEdgeList(t *testing.T) {
	for _, c := range []struct {
		name, text string
		n          int
		ids        []int64
		edges      string
		stats      TableStats
		isolated   int
	}{
		{"separators", "0 1\n0,2\n1\t2\r\n 2 , 3 \n", 4, nil, "0-1 0-2 1-2 2-3", TableStats{EdgeCounts: EdgeCounts{Edges: 4, OneWay: 4}, EdgeRows: 4}, 0},
		{"comments and empty lines", "# x\n\n% y\n0 1\n  \n#\n1 2", 3, nil, "0-1 1-2", TableStats{EdgeCounts: EdgeCounts{Edges: 2, OneWay: 2}, EdgeRows: 2}, 0},
		{"weights", "0 1 0.5\n1 2 x y z\n2,0,-3\n", 3, nil, "0-1 0-2 1-2", TableStats{EdgeCounts: EdgeCounts{Edges: 3, OneWay: 3}, EdgeRows: 3}, 0},
		{"dropped", "0 1\n1 0\n0 1\n2 2\n", 3, nil, "0-1", TableStats{EdgeCounts: EdgeCounts{Edges: 1, SelfLoops: 1, Duplicates: 1}, EdgeRows: 4}, 1},
		{"gap", "7 1000000000\n3 2147483647\n", 4, []int64{3, 7, 1000000000, 2147483647}, "3-2147483647 7-1000000000", TableStats{EdgeCounts: EdgeCounts{Edges: 2, OneWay: 2}, EdgeRows: 2}, 0},
		{"any integers", "-5 3\n9223372036854775807 -9223372036854775808\n3 9223372036854775807\n-5 3\n4294967296 4294967296\n0 3\n", 6,
			[]int64{math.MinInt64, -5, 0, 3, 1 << 32, math.MaxInt64}, "-9223372036854775808-9223372036854775807 -5-3 0-3 3-9223372036854775807",
			TableStats{EdgeCounts: EdgeCounts{Edges: 4, SelfLoops: 1, Duplicates: 1, OneWay: 4}, EdgeRows: 6}, 1},
		{"one large id, and a comment", "# 3 nodes\n0 1\n1 2147483648\n", 3, []int64{0, 1, 1 << 31}, "0-1 1-2147483648", TableStats{EdgeCounts: EdgeCounts{Edges: 2, OneWay: 2}, EdgeRows: 2}, 0},
		{"stated", "# five: 5 nodes, 1 edges\n3 1\n", 5, nil, "1-3", TableStats{EdgeCounts: EdgeCounts{Edges: 1, OneWay: 1}, EdgeRows: 1}, 3},
		{"stated as SNAP does", "# Nodes: 5 Edges: 1\n3 1\n", 5, nil, "1-3", TableStats{EdgeCounts: EdgeCounts{Edges: 1, OneWay: 1}, EdgeRows: 1}, 3},
		{"stated, from 1", "% 3 nodes\n3 1\n", 3, []int64{1, 2, 3}, "1-3", TableStats{EdgeCounts: EdgeCounts{Edges: 1, OneWay: 1}, EdgeRows: 1}, 1},
		{"stated, but ids are larger", "# 3 nodes\n0 9\n", 2, []int64{0, 9}, "0-9", TableStats{EdgeCounts: EdgeCounts{Edges: 1, OneWay: 1}, EdgeRows: 1}, 0},
		{"stated too late", "0 1\n# 5 nodes\n", 2, nil, "0-1", TableStats{EdgeCounts: EdgeCounts{Edges: 1, OneWay: 1}, EdgeRows: 1}, 0},
		{"stated alone", "# 2 nodes\n", 2, nil, "", TableStats{}, 2},
		{"nodes of a sentence", "# edges between nodes\n0 1\n", 2, nil, "0-1", TableStats{EdgeCounts: EdgeCounts{Edges: 1, OneWay: 1}, EdgeRows: 1}, 0},
	} {
		n, err := readEdges(EdgeList{Reader: strings.NewReader(c.text)})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if n.Graph.N() != c.n || !slices.Equal(n.IDs.Ints(), c.ids) || edgesOf(n) != c.edges || n.Stats != c.stats || isolated(n.Graph) != c.isolated {
			t.Errorf("%s: %d nodes, ids %v, edges %q, %+v, %d isolated; want %d, %v, %q, %+v, %d",
				c.name, n.Graph.N(), n.IDs, edgesOf(n), n.Stats, isolated(n.Graph), c.n, c.ids, c.edges, c.stats, c.isolated)
		}
		if err := n.Graph.Check(); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestEdgeListErrors(t *testing.T) {
	packed := pack(t, strings.Repeat("0 1\n", 500))
	for _, c := range []struct{ text, want string }{
		{"", "sources: x: no edge and no node"},
		{"#\n\n", "sources: x: no edge and no node"},
		{"0 1\n2\n", `sources: x:2: "2", want two nodes`},
		{"0 1\n\n#\n2 a\n", `sources: x:4: "a", want the id of a node: an integer; sources.Tables reads strings`},
		{"0 1.5\n", `sources: x:1: "1.5", want the id of a node: an integer; sources.Tables reads strings`},
		{"0 --1\n", `sources: x:1: "--1", want the id of a node: an integer; sources.Tables reads strings`},
		{"0 -1\n1 9223372036854775808\n", `sources: x:2: node "9223372036854775808" is beyond 64 bits`},
		{"99999999999999999999 0\n", `sources: x:1: node "99999999999999999999" is beyond 64 bits`},
		{"-1\n", `sources: x:1: "-1", want two nodes`},
		{"0,,1\n", `sources: x:1: "", want the id of a node: an integer; sources.Tables reads strings`},
		{"# 2000000000 nodes\n\n0 1\n", `sources: x:1: a comment tells of 2000000000 nodes, but only 2 are named; correct it`},
		{"%%MatrixMarket matrix\n3 3 1\n1 2\n", `sources: x:1: a Matrix Market file, want an edge list: remove the line of sizes, and count from either end`},
		{strings.Repeat("7", 3<<20), "sources: x:1: line of more than 1048576 bytes"},
		{packed[:len(packed)-12], "sources: x: gzip: the file is cut short: unexpected EOF"},
		{"\x1f\x8bnot gzip at all", "sources: x: gzip: invalid header"},
	} {
		_, err := readEdges(EdgeList{Path: "x", Reader: strings.NewReader(c.text)})
		if err == nil || err.Error() != c.want {
			t.Errorf("%.40q: %v, want %s", c.text, err, c.want)
		}
	}
	for _, c := range []struct {
		s    EdgeList
		want string
	}{
		{EdgeList{}, "no Path"},
		{EdgeList{Path: "nowhere/at/all"}, "nowhere/at/all: no such file"},
		{EdgeList{Path: "x", MaxBytes: -1}, "MaxBytes"},
		{EdgeList{Path: "x", Reader: strings.NewReader("0 1\n0 1\n"), MaxBytes: 5}, "more than 5 bytes"},
	} {
		if _, err := readEdges(c.s); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.s, err, c.want)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := (EdgeList{Reader: strings.NewReader("0 1\n")}).Read(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// A gap in the ids costs nothing, directed or not, and closing it leaves the
// structure alone.
func TestEdgeListRoundTrip(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		n := 2 + rng.IntN(20)
		ids := map[int32]bool{}
		for len(ids) < n {
			ids[rng.Int32()] = true
		}
		var all []int32
		for id := range ids {
			all = append(all, id)
		}
		slices.Sort(all)
		directed := rng.IntN(2) == 0
		want := map[string]bool{}
		var text strings.Builder
		for range 3 * n {
			u, v := all[rng.IntN(n)], all[rng.IntN(n)]
			fmt.Fprintln(&text, u, v)
			if !directed && u > v {
				u, v = v, u
			}
			if u != v {
				want[fmt.Sprintf("%d-%d", u, v)] = true
			}
		}
		net, err := readEdges(EdgeList{Reader: strings.NewReader(pack(t, text.String())), Directed: directed})
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Fields(edgesOf(net))
		if len(got) != len(want) || int(net.Stats.Edges) != len(got) {
			t.Fatalf("%d edges, want %d", len(got), len(want))
		}
		for _, e := range got {
			if !want[e] {
				t.Fatalf("edge %s was not there", e)
			}
		}
	}
}

func TestEdgeListReleases(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	ctx := context.Background()
	r, err := EdgeList{Reader: strings.NewReader("0 1\n1 2\n")}.Open(ctx, mem)
	if err != nil {
		t.Fatal(err)
	}
	rec, err := r.Next(ctx)
	if err != nil {
		t.Fatal(err)
	}
	rec.Release()
	if _, err := r.Next(ctx); err != io.EOF {
		t.Errorf("a second record: %v", err)
	}
	r.Close()
	if _, err := r.Next(ctx); !errors.Is(err, reading.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

func TestEdgeListDataSets(t *testing.T) {
	dir := filepath.Join(readtest.Data(t), "graphs")
	for _, c := range []struct {
		name     string
		directed bool
		n, m     int
		loops    int64
		isolated int
	}{
		{"power", false, 4941, 6594, 0, 0},
		{"polbooks", false, 105, 441, 0, 0},
		// 19090 lines: 3 self-loops and 65 repeats.
		{"polblogs", true, 1490, 19022, 3, 266},
		{"astro-ph", false, 16706, 121251, 0, 660},
		{"email-Enron", false, 36692, 183831, 0, 0},
		{"cnr-2000", false, 325557, 2738969, 0, 0},
	} {
		if (testing.Short() || race.Enabled) && c.m > 1e6 {
			continue
		}
		s := EdgeList{Path: filepath.Join(dir, c.name+".edges.gz"), Directed: c.directed}
		if _, err := os.Stat(s.Path); err != nil {
			t.Logf("skipped %s: %v", c.name, err)
			continue
		}
		n, err := readEdges(s)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if n.Graph.N() != c.n || n.Graph.M() != c.m || n.IDs.Len() > 0 || n.Stats.SelfLoops != c.loops ||
			isolated(n.Graph) != c.isolated {
			t.Errorf("%s: %d nodes, %d edges, %+v", c.name, n.Graph.N(), n.Graph.M(), n.Stats)
		}
	}
}

// Whatever the bytes, the reader ends with a graph that obeys its rules, or
// with one line that names the place.
func FuzzEdgeList(f *testing.F) {
	f.Add("# 5 nodes\n0 1\n1,2\n", false)
	f.Add("3 1000000000\r\n\r\n% x\n3 3\n", true)
	f.Add(pack(f, "0 1\n"), false)
	f.Add("0 -1\n", false)
	f.Fuzz(func(t *testing.T, text string, directed bool) {
		s := EdgeList{Path: "e", FS: readtest.MapFS(map[string]string{"e": text}), Directed: directed, MaxBytes: 1 << 20}
		same(t, text, func(workers int) EdgeList {
			s := s
			s.Workers = workers
			return s
		})
		n, err := readEdges(s)
		checkFailure(t, err)
		if err != nil {
			return
		}
		if err := n.Graph.Check(); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(text, "\x1f\x8b") {
			if got, want := edgesOf(n), plainEdges(text, directed); got != want {
				t.Fatalf("%q has the edges %s, want %s", text, got, want)
			}
		}
		if n.Graph.N() == 0 || n.IDs.Len() > 0 && n.IDs.Len() != n.Graph.N() || int64(n.Graph.M()) != n.Stats.Edges {
			t.Fatalf("%d nodes, %d ids, %d edges, %+v", n.Graph.N(), n.IDs.Len(), n.Graph.M(), n.Stats)
		}
	})
}

// plainEdges reads an edge list that is one, as edgesOf lists it.
func plainEdges(text string, directed bool) string {
	seen := map[[2]int]bool{}
	for _, line := range strings.Split(text, "\n") {
		f := strings.FieldsFunc(strings.TrimSpace(line), func(r rune) bool { return r == ' ' || r == '\t' || r == ',' })
		if len(f) == 0 || f[0][0] == '#' || f[0][0] == '%' {
			continue
		}
		u, _ := strconv.Atoi(f[0])
		v, _ := strconv.Atoi(f[1])
		if !directed {
			u, v = min(u, v), max(u, v)
		}
		if u != v {
			seen[[2]int{u, v}] = true
		}
	}
	list := slices.SortedFunc(maps.Keys(seen), func(a, b [2]int) int { return slices.Compare(a[:], b[:]) })
	var all []string
	for _, e := range list {
		all = append(all, fmt.Sprintf("%d-%d", e[0], e[1]))
	}
	return strings.Join(all, " ")
}

// A list with ids of 64 bits is, but for the ids, the list with their ranks, with weights
// and without, at any number of workers.
func TestWideIDs(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	var ids []int64
	for range 300 {
		ids = append(ids, []int64{int64(rng.IntN(1000)), -int64(rng.IntN(1000)), int64(rng.Uint64()), 1<<31 + int64(rng.IntN(50))}[rng.IntN(4)])
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	var wide, ranks strings.Builder
	for range 40_000 { // several pieces of text
		u, v, w := rng.IntN(len(ids)), rng.IntN(len(ids)), rng.IntN(100)
		fmt.Fprintln(&wide, ids[u], ids[v], w)
		fmt.Fprintln(&ranks, u, v, w)
	}
	for v, id := range ids {
		fmt.Fprintln(&ranks, v, v, 1) // a loop, so that all are named
		fmt.Fprintln(&wide, id, id, 1)
	}
	fsys := fstest.MapFS{"wide": {Data: []byte(wide.String())}, "ranks": {Data: []byte(ranks.String())}}
	for _, weights := range []bool{false, true} {
		want, err := readEdges(EdgeList{Path: "ranks", FS: fsys, Weights: weights})
		if err != nil {
			t.Fatal(err)
		}
		for _, workers := range []int{1, 4} {
			got, err := readEdges(EdgeList{Path: "wide", FS: fsys, Weights: weights, Workers: workers})
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got.IDs.Ints(), ids) || got.Stats != want.Stats || !slices.Equal(got.Graph.Offsets, want.Graph.Offsets) ||
				!slices.Equal(got.Graph.Neighbors, want.Graph.Neighbors) || !slices.Equal(got.Graph.EdgeAttr, want.Graph.EdgeAttr) {
				t.Errorf("%t, %d workers: %d ids of %d, %+v, want %+v", weights, workers, got.IDs.Len(), len(ids), got.Stats, want.Stats)
			}
		}
	}
}

// A file of METIS is refused by its name, and comments between edges are counted, on one processor and on
// several.
func TestEdgeListSaysWhatIsLeftOut(t *testing.T) {
	for _, name := range []string{"x.graph", "x.metis.gz", "x.graph.zst"} {
		for kind, err := range map[string]error{
			"list": func() error {
				_, err := readEdges(EdgeList{Path: name, Reader: strings.NewReader("3 2\n2\n1 3\n2\n")})
				return err
			}(),
			"table": func() error {
				_, err := Text{Path: name, Reader: strings.NewReader("3 2\n2 1\n")}.OpenTable(t.Context())
				return err
			}(),
		} {
			if err == nil || !strings.Contains(err.Error(), name+": a METIS graph") {
				t.Errorf("%s as a %s: %v", name, kind, err)
			}
		}
	}
	text := "# head\n" + strings.Repeat("1 2\n", 20_000) + "# between\n% two\n3 4\n"
	for _, s := range []EdgeList{
		{Path: "x", Reader: strings.NewReader(text)},
		{Path: "x", FS: readtest.MapFS(map[string]string{"x": text})},
	} {
		n, err := readEdges(s)
		if err != nil {
			t.Fatal(err)
		}
		if want := "left out: 2 lines of x behind the first row that begin with # or %"; !slices.Contains(n.Notes, want) {
			t.Errorf("%q, want %s", n.Notes, want)
		}
	}
}
