package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/examples/internal/clitest"
	"github.com/sanflow/sanflow/flow/flowtest/leak"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/generate"
)

// AUC by comparing every link with every other pair, average precision by
// counting at every distinct score.
func TestScores(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 300 {
		pairs := make([]scored, 2+r.IntN(30))
		for i := range pairs {
			pairs[i] = scored{float64(r.IntN(8)), r.IntN(2) == 0}
		}
		pairs[0].link, pairs[1].link = true, false
		won, compared, ap, links := 0., 0., 0., 0.
		for _, p := range pairs {
			if p.link {
				links++
			}
			for _, q := range pairs {
				if !p.link || q.link {
					continue
				}
				compared++
				switch {
				case p.score > q.score:
					won++
				case p.score == q.score:
					won += 0.5
				}
			}
		}
		before := 0.
		for level := 7.; level >= 0; level-- {
			found, all := 0., 0.
			for _, p := range pairs {
				if p.score >= level {
					all++
					if p.link {
						found++
					}
				}
			}
			if all > 0 {
				ap += (found - before) / links * found / all
			}
			before = found
		}
		if got := auc(pairs); math.Abs(got-won/compared) > 1e-12 {
			t.Fatalf("%v: AUC %v, want %v", pairs, got, won/compared)
		}
		if got := averagePrecision(pairs); math.Abs(got-ap) > 1e-12 {
			t.Fatalf("%v: average precision %v, want %v", pairs, got, ap)
		}
		r.Shuffle(len(pairs), func(i, j int) { pairs[i], pairs[j] = pairs[j], pairs[i] })
		if got := averagePrecision(pairs); math.Abs(got-ap) > 1e-12 {
			t.Fatalf("in another order: average precision %v, want %v", got, ap)
		}
	}
}

func random(t *testing.T, n, m int) *graph.Graph {
	g, err := generate.ErdosRenyi(n, m, 7)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestCommon(t *testing.T) {
	g := random(t, 30, 120)
	for u := range int32(30) {
		for v := range int32(30) {
			count, aa := 0., 0.
			for w := range int32(30) {
				if g.Entry(u, w) >= 0 && g.Entry(v, w) >= 0 {
					count++
					aa += 1 / math.Log(float64(g.Degree(w)))
				}
			}
			if u == v {
				continue
			}
			if c, a := common(g, u, v); c != count || math.Abs(a-aa) > 1e-12 {
				t.Errorf("%d and %d: %v, %v, want %v, %v", u, v, c, a, count, aa)
			}
		}
	}
}

// No pair is joined in the graph of its fold, every edge is hidden exactly once,
// and no pair that is not joined is drawn twice.
func TestHide(t *testing.T) {
	g := random(t, 60, 200)
	tr, err := hide(t.Context(), &sources.NodeSet{Graph: g}, 0.1, 6, 0, rand.New(rand.NewPCG(3, 3)))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[pair]bool{}
	links := 0
	for i, f := range append([]fold{tr.test}, tr.folds...) {
		for j, p := range f.pairs {
			if f.graph.Entry(p.u, p.v) >= 0 {
				t.Errorf("fold %d: %v is an edge of the graph", i, p)
			}
			if f.link[j] != (g.Entry(p.u, p.v) >= 0) {
				t.Errorf("fold %d: %v has the wrong answer", i, p)
			}
			key := pair{min(p.u, p.v), max(p.u, p.v)}
			if seen[key] {
				t.Errorf("fold %d: %v is there twice", i, p)
			}
			seen[key] = true
			if f.link[j] {
				links++
			}
		}
		if want := map[bool]int{true: 180, false: 150}[i == 0]; f.graph.M() != want {
			t.Errorf("fold %d: %d edges are left, want %d", i, f.graph.M(), want)
		}
		for u := range int32(60) {
			for _, v := range f.graph.Adj(u) {
				if i > 0 && tr.test.graph.Entry(u, v) < 0 {
					t.Errorf("fold %d: the edge %d %d is one of the test", i, u, v)
				}
			}
		}
	}
	few, err := hide(t.Context(), &sources.NodeSet{Graph: g}, 0.1, 6, 60, rand.New(rand.NewPCG(3, 3)))
	if err != nil || len(few.folds[2].pairs) != 20 || few.folds[2].graph.M() != 150 || len(few.test.pairs) != 40 {
		t.Errorf("%v, with 60 to learn from a fold has %d pairs and %d edges are left", err, len(few.folds[2].pairs), few.folds[2].graph.M())
	}
	if links != 200 || len(tr.test.pairs) != 40 {
		t.Errorf("%d links, %d pairs in the test", links, len(tr.test.pairs))
	}
}

// A label is what breadth-first search from both ends says.
func TestLabels(t *testing.T) {
	const k = 6
	g := random(t, 40, 50)
	l := &labeler{k: k}
	r := rand.New(rand.NewPCG(5, 5))
	for range 50 {
		members := make([]int32, 2*k)
		for i := range members {
			members[i] = r.Int32N(40)
			if i%k == k-1 {
				members[i] = -1
			}
		}
		cats := make([]int32, 2*k*3)
		l.label(g, members, cats)
		for i, v := range members {
			want := []int32{-1, -1, -1}
			if v >= 0 {
				end := i / k
				a, b := distance(g, members[end*k], v), distance(g, members[(1-end)*k], v)
				degree := int32(0)
				for 2<<degree <= g.Degree(v) && degree < buckets-1 {
					degree++
				}
				between := min(a, own-1)*other + min(b, other-1)
				want = []int32{0, between, between*buckets + degree}
			}
			if got := cats[3*i : 3*i+3]; !slices.Equal(got, want) {
				t.Fatalf("member %d of %v: %v, want %v", i, members, got, want)
			}
		}
	}
}

// distance is 1000 where there is no way.
func distance(g *graph.Graph, from, to int32) int32 {
	d := make([]int32, g.N())
	for i := range d {
		d[i] = 1000
	}
	d[from] = 0
	for range g.N() {
		for u := range int32(g.N()) {
			for _, v := range g.Adj(u) {
				d[v] = min(d[v], d[u]+1)
			}
		}
	}
	return d[to]
}

// write writes a graph as an edge list.
func write(t *testing.T, g *graph.Graph) string {
	t.Helper()
	var b strings.Builder
	for u := range int32(g.N()) {
		for _, v := range g.Adj(u) {
			if u < v {
				fmt.Fprintln(&b, u, v)
			}
		}
	}
	file := filepath.Join(t.TempDir(), "g.edges")
	if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// links runs the command and returns its JSON object.
func links(t *testing.T, args ...string) map[string]any {
	t.Helper()
	return clitest.JSON[map[string]any](t, run, args...)
}

// Where each hidden edge was the only one of an end there is no figure for pairs whose
// ends have others, and none is made up.
func TestNoneAttached(t *testing.T) {
	var star []graph.Edge
	for v := range int32(200) {
		star = append(star, graph.Edge{U: 0, V: v + 1})
	}
	g, err := graph.New(201, false, star)
	if err != nil {
		t.Fatal(err)
	}
	r := links(t, "-graph", write(t, g), "-repeats", "2", "-epochs", "2")
	if r["attached_auc"] != nil || r["attached_aa_auc"] != nil || r["attached"].(float64) == 0 {
		t.Errorf("%v and %v of %v of the pairs, want nothing of some", r["attached_auc"], r["attached_aa_auc"], r["attached"])
	}
	var out strings.Builder
	if err := (&report{Attached: 0.4}).print(&out); err != nil || !strings.Contains(out.String(), "\nof the 40 % of pairs whose ends both have an edge left: no AUC, ") {
		t.Errorf("%s%v", &out, err)
	}
}

// Edges that were drawn by lot cannot be foretold: whoever can has seen them.
func TestNoLeak(t *testing.T) {
	file := write(t, random(t, 200, 600))
	for _, net := range []string{"words", "pooled", "link"} {
		r := links(t, "-graph", file, "-net", net, "-k", "8", "-folds", "4", "-most", "240", "-nets", "1", "-repeats", "4", "-epochs", "3")
		if a := r["auc"].(float64); a < 0.38 || a > 0.62 { // 4 × (60 + 60) pairs: ± 4 standard errors
			t.Errorf("%s: AUC %v of edges that were drawn by lot", net, a)
		}
	}
}

// On a grid with its diagonals what is missing is plain to see.
func TestGrid(t *testing.T) {
	defer leak.VerifyNone(t)
	g, err := generate.Grid(12, 12, true)
	if err != nil {
		t.Fatal(err)
	}
	file := write(t, g)
	for _, net := range []string{"words", "pooled"} {
		t.Run(net, func(t *testing.T) { onGrid(t, file, net) })
	}
}

func onGrid(t *testing.T, file, net string) {
	var first string
	for _, workers := range []string{"1", "3"} {
		r := links(t, "-graph", file, "-net", net, "-k", "12", "-folds", "4", "-nets", "1", "-repeats", "2", "-epochs", "4", "-workers", workers)
		for _, name := range strings.Fields("dataset nodes edges k auc ap cn_auc cn_ap aa_auc aa_ap katz_auc katz_ap pa_auc pa_ap roots_per_s peak_rss_mb seconds") {
			if _, ok := r[name]; !ok {
				t.Errorf("no field %s", name)
			}
		}
		if r["auc"].(float64) < 0.97 || r["ap"].(float64) < 0.95 || r["cn_auc"].(float64) < 0.9 {
			t.Errorf("%v", r)
		}
		for _, clock := range []string{"seconds", "roots_per_s", "peak_rss_mb"} {
			delete(r, clock)
		}
		if got := fmt.Sprint(r); first == "" {
			first = got
		} else if got != first {
			t.Errorf("results differ at %s workers:\n%s\n%s", workers, first, got)
		}
	}
}

func TestErrors(t *testing.T) {
	complete := write(t, random(t, 12, 60))
	tiny := write(t, random(t, 12, 8))
	cut := filepath.Join(t.TempDir(), "cut.gz")
	if err := os.WriteFile(cut, []byte("\x1f\x8b\x08"), 0o600); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"-graph x -data y":               "both set",
		"-graph x -k 0":                  "-k is 0",
		"-graph x -k 1000":               "want at most",
		"-graph x -share 0":              "-share is 0",
		"-graph x -net cnn":              "words, pooled or link",
		"-graph x -folds 1":              "-folds is 1",
		"-graph x -normalize auto":       "-normalize is auto",
		"-graph x -json /nowhere/at/all": "cannot write",
		"-graph /nowhere/at/all":         "no such file",
		"-graph " + cut:                  "cut short",
		"-graph " + complete:             "too dense",
		"-graph " + tiny:                 "too few",
	} {
		if err := run(context.Background(), strings.Fields(args)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error with %q", args, err, want)
		}
	}
}

// The context of an example ends with Ctrl-C.
func TestInterrupt(t *testing.T) {
	defer leak.VerifyNone(t)
	file := write(t, random(t, 3000, 9000))
	for i, after := range []time.Duration{0, 20 * time.Millisecond, 100 * time.Millisecond, 300 * time.Millisecond, time.Second} {
		ctx, cancel := context.WithCancelCause(context.Background())
		time.AfterFunc(after, func() { cancel(cli.ErrInterrupted) })
		start := time.Now()
		err := run(ctx, []string{"-graph", file, "-epochs", "1000", "-net", []string{"pooled", "words"}[i%2]})
		if !errors.Is(err, cli.ErrInterrupted) {
			t.Errorf("interrupted after %v: %v, want %v", after, err, cli.ErrInterrupted)
		}
		if took := time.Since(start) - after; took > leak.Patience {
			t.Errorf("interrupted after %v: took another %v", after, took)
		}
	}
}
