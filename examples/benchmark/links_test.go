package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/examples/internal/clitest"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/internal/leak"
	"github.com/sanflow/sanflow/internal/race"
	"github.com/sanflow/sanflow/sources/generate"
)

func random(t *testing.T, n, m int) *graph.Graph {
	g, err := generate.ErdosRenyi(n, m, 7)
	if err != nil {
		t.Fatal(err)
	}
	return g
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

// linksResult runs the command and returns its JSON object.
func linksResult(t *testing.T, args ...string) map[string]any {
	t.Helper()
	return clitest.JSON[map[string]any](t, linksTask, args...)
}

// If each hidden edge was the only one of an end there is no figure for pairs whose
// ends have others, and none is made up.
func TestLinksNoneAttached(t *testing.T) {
	var star []graph.Edge
	for v := range int32(200) {
		star = append(star, graph.Edge{U: 0, V: v + 1})
	}
	g, err := graph.New(201, false, star)
	if err != nil {
		t.Fatal(err)
	}
	r := linksResult(t, "-graph", write(t, g), "-repeats", "2", "-systems", "linear")
	if r["attached_auc"] != nil || r["attached_aa_auc"] != nil || r["attached"].(float64) == 0 {
		t.Errorf("%v and %v of %v of the pairs, want nothing of some", r["attached_auc"], r["attached_aa_auc"], r["attached"])
	}
	var out strings.Builder
	if err := (&linksReport{linksFigures: linksFigures{Attached: 0.4, AttachedAUC: rating(math.NaN())}}).Print(&out); err != nil || !strings.Contains(out.String(), "\nof the 40 % of pairs whose ends both have an edge left: no AUC, ") {
		t.Errorf("%s%v", &out, err)
	}
}

// Random edges cannot be predicted: a model that can has seen them.
func TestLinksNoLeak(t *testing.T) {
	race.Skip(t)
	file := write(t, random(t, 200, 600))
	for _, net := range []string{"linear", "words", "trees"} {
		r := linksResult(t, "-graph", file, "-systems", net, "-folds", "4", "-max-edges", "240", "-repeats", "4")
		if a := r["auc"].(float64); a < 0.38 || a > 0.62 { // 4 × (60 + 60) pairs: ± 4 standard errors
			t.Errorf("%s: AUC %v of edges that were drawn by lot", net, a)
		}
	}
}

// On a grid with its diagonals what is missing is plain to see.
func TestLinksGrid(t *testing.T) {
	race.Skip(t)
	defer leak.VerifyNone(t)
	g, err := generate.Grid(12, 12)
	if err != nil {
		t.Fatal(err)
	}
	file := write(t, g)
	for _, net := range []string{"words", "trees"} {
		t.Run(net, func(t *testing.T) { onGrid(t, file, net) })
	}
}

func onGrid(t *testing.T, file, net string) {
	var first string
	for _, workers := range []string{"1", "3"} {
		r := linksResult(t, "-graph", file, "-systems", net, "-folds", "4", "-repeats", "2", "-workers", workers)
		for _, name := range strings.Fields("dataset nodes edges models auc ap mrr cn_auc cn_ap aa_auc aa_ap katz_auc katz_ap pa_auc pa_ap peak_rss_mb seconds") {
			if _, ok := r[name]; !ok {
				t.Errorf("no field %s", name)
			}
		}
		if r["auc"].(float64) < 0.97 || r["ap"].(float64) < 0.95 || r["cn_auc"].(float64) < 0.9 {
			t.Errorf("%v", r)
		}
		for _, clock := range []string{"seconds", "peak_rss_mb"} {
			delete(r, clock)
		}
		if got := fmt.Sprint(r); first == "" {
			first = got
		} else if got != first {
			t.Errorf("results differ at %s workers:\n%s\n%s", workers, first, got)
		}
	}
}

func TestLinksErrors(t *testing.T) {
	complete := write(t, random(t, 12, 60))
	tiny := write(t, random(t, 12, 8))
	cut := filepath.Join(t.TempDir(), "cut.edges.gz")
	if err := os.WriteFile(cut, []byte("\x1f\x8b\x08"), 0o600); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"-graph x -splits y":             "both set",
		"-graph x -share 0":              "-share is 0",
		"-systems gcn":                   `there is no system "gcn"`,
		"-graph x -folds 1":              "-folds is 1",
		"-graph x -json /nowhere/at/all": "cannot write",
		"-graph /nowhere/at/all":         "no such file",
		"-graph " + cut:                  "cut short",
		"-graph " + complete:             "too dense",
		"-graph " + tiny:                 "too few",
	} {
		if err := linksTask(context.Background(), strings.Fields(args)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error with %q", args, err, want)
		}
	}
}

// rankOfLinks is the mean of brute-force ranks.
func TestRankOfLinks(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		n := 1 + rng.IntN(12)
		score, link, links, sum := make([]float64, n), make([]bool, n), 0, 0.
		for i := range n {
			score[i], link[i] = float64(rng.IntN(5)), rng.IntN(2) == 0
		}
		for i, x := range score {
			if !link[i] {
				continue
			}
			rank := 1.
			for j, y := range score {
				if !link[j] && y > x {
					rank++
				} else if !link[j] && y == x {
					rank += 0.5
				}
			}
			links, sum = links+1, sum+1/rank
		}
		got := rankOfLinks(score, link)
		if want := sum / float64(links); links == 0 || links == n {
			if !math.IsNaN(got) {
				t.Errorf("%v of %v, want none", got, link)
			}
		} else if math.Abs(got-want) > 1e-12 {
			t.Errorf("%v %v: %v, want %v", score, link, got, want)
		}
	}
}

// The context of an example ends with Ctrl-C.
func TestLinksInterrupt(t *testing.T) {
	defer leak.VerifyNone(t)
	file := write(t, random(t, 3000, 9000))
	for i, after := range []time.Duration{0, 20 * time.Millisecond, 100 * time.Millisecond, 300 * time.Millisecond} {
		ctx, cancel := context.WithCancelCause(context.Background())
		time.AfterFunc(after, func() { cancel(cli.ErrInterrupted) })
		start := time.Now()
		err := linksTask(ctx, []string{"-graph", file, "-repeats", "1000", "-systems", []string{"trees", "words"}[i%2]})
		if !errors.Is(err, cli.ErrInterrupted) {
			t.Errorf("interrupted after %v: %v, want %v", after, err, cli.ErrInterrupted)
		}
		if took := time.Since(start) - after; took > leak.Patience {
			t.Errorf("interrupted after %v: took another %v", after, took)
		}
	}
}

// Published splits are learned and tested as given: the figures are means over those that -split names, in the file's
// order, and a split alone has the figures that it has among others.
func TestLinksSplits(t *testing.T) {
	race.Skip(t)
	defer leak.VerifyNone(t)
	var rows strings.Builder
	rows.WriteString("split,part,link,source,target\n")
	g, err := generate.RingOfCliques(8, 7)
	if err != nil {
		t.Fatal(err)
	}
	for split := 1; split <= 2; split++ {
		i := 0
		for u := range int32(g.N()) {
			for _, v := range g.Adj(u) {
				if u < v {
					part := "train"
					if (i+split)%10 == 0 {
						part = "test"
					}
					fmt.Fprintf(&rows, "%d,%s,1,c%d,c%d\n%d,%s,0,c%d,c%d\n", split, part, u, v, split, part, u, (int(u)+8+i%40)%g.N())
					i++
				}
			}
		}
	}
	seen, text := map[string]bool{}, strings.Builder{}
	for _, line := range strings.SplitAfter(rows.String(), "\n") { // a pair once, and none that is joined
		if f := strings.Split(strings.TrimSpace(line), ","); len(f) == 5 && f[2] == "0" {
			var u, v int32
			fmt.Sscanf(f[3]+" "+f[4], "c%d c%d", &u, &v)
			key := fmt.Sprint(f[0], min(u, v), max(u, v))
			if seen[key] || u == v || g.Entry(u, v) >= 0 {
				continue
			}
			seen[key] = true
		}
		text.WriteString(line)
	}
	path := clitest.File(t, "ring.csv", text.String())
	type result struct {
		AUC, AP, Std, MRR float64
		Value             *float64
		Hidden            int
		Splits            []linksSplit
	}
	ask := func(args ...string) result {
		return clitest.JSON[result](t, linksTask, append([]string{"-splits", path, "-folds", "3", "-systems", "words"}, args...)...)
	}
	both, one := ask(), ask("-split", "2")
	if len(both.Splits) != 2 || len(one.Splits) != 1 || both.Splits[1] != one.Splits[0] {
		t.Errorf("%+v, alone %+v", both, one)
	}
	if a, b := both.Splits[0], both.Splits[1]; math.Abs(both.AUC-float64(a.AUC+b.AUC)/2) > 1e-12 || math.Abs(both.AP-float64(a.AP+b.AP)/2) > 1e-12 ||
		math.Abs(both.Std-math.Abs(float64(a.AUC-b.AUC))/math.Sqrt2) > 1e-12 || a.Name != "1" || b.Name != "2" {
		t.Errorf("%+v", both)
	}
	lines := strings.SplitAfter(strings.TrimSpace(text.String()), "\n")
	rand.New(rand.NewPCG(5, 5)).Shuffle(len(lines)-1, func(i, j int) { lines[1+i], lines[1+j] = lines[1+j], lines[1+i] })
	for i, line := range lines[1:] { // either end first
		if f := strings.Split(strings.TrimSpace(line), ","); i%2 == 0 {
			lines[1+i] = strings.Join([]string{f[0], f[1], f[2], f[4], f[3]}, ",")
		}
		lines[1+i] = strings.TrimSpace(lines[1+i]) + "\n"
	}
	path = clitest.File(t, "ring.csv", strings.Join(lines, ""))
	if shuffled := ask(); !reflect.DeepEqual(shuffled, both) {
		t.Errorf("the order of the lines changes the figures: %+v, %+v", shuffled, both)
	}
	if ranked := ask("-split", "2", "-score", "mrr"); ranked.MRR != *ranked.Value || ranked.MRR < 0.2 || ranked.MRR > 1 {
		t.Errorf("MRR %v, by -score %v", ranked.MRR, *ranked.Value)
	}
	if both.AUC < 0.9 || both.Hidden == 0 {
		t.Errorf("links of cliques are found with AUC %v", both.AUC)
	}
	for want, args := range map[string][]string{
		`has no split "3"`:             {"-splits", path, "-split", "1,3"},
		"-split names splits":          {"-split", "1"},
		"-share hides edges at random": {"-splits", path, "-share", "0.2"},
		"both set":                     {"-splits", path, "-graph", "x"},
	} {
		if err := linksTask(t.Context(), args); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want an error with %q", args, err, want)
		}
	}
}

// Attributes of nodes change no answer about links.
func TestLinksDropAttributes(t *testing.T) {
	dir := villages(t, 40, 60, false)
	args := []string{"-graph", dir, "-repeats", "1", "-systems", "linear"}
	want := linksResult(t, args...)
	var features strings.Builder
	for v := range 120 {
		fmt.Fprintf(&features, "%d:1 %d\n", v%3, 10+v%7)
	}
	if err := os.WriteFile(filepath.Join(dir, "features.txt"), []byte(features.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	got := linksResult(t, args...)
	for _, name := range []string{"auc", "ap", "models"} {
		if want[name] == nil || !reflect.DeepEqual(got[name], want[name]) {
			t.Errorf("%s is %v with other features, %v before", name, got[name], want[name])
		}
	}
}
