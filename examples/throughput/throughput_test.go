package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/examples/internal/clitest"
	"github.com/sanflow/sanflow/internal/leak"
)

func TestMain(m *testing.M) { clitest.Main(m) }

func TestMeasure(t *testing.T) {
	defer leak.VerifyNone(t)
	clitest.Silence(t)
	dir := t.TempDir()
	t.Setenv("SANFLOW_DATA", dir)
	if err := os.Mkdir(filepath.Join(dir, "graphs"), 0o755); err != nil {
		t.Fatal(err)
	}
	// power is a triangle here, and the other real graphs are not there.
	if err := os.WriteFile(filepath.Join(dir, "graphs", "power.edges.gz"), []byte("# 4 nodes\n0 1\n1 2\n2 0\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	plot := filepath.Join(dir, "p.png")
	r := clitest.JSON[struct{ Results []result }](t, run,
		strings.Fields("-n 100 -k 5,70 -seconds 0.02 -workers 2 -out "+plot)...)
	var names []string
	for _, g := range r.Results {
		names = append(names, g.Graph)
		for i, k := range []int{5, 70} {
			c := g.Cells[i]
			if c.K != k || c.Fields == 0 || !(c.Seconds > 0) || !(c.FieldsPerS > 0) || c.Paper != []float64{1000, 0}[i] {
				t.Errorf("%s: cell %+v", g.Graph, c)
			}
			if full := int64(c.Passes * g.Nodes); c.Fields < full {
				t.Errorf("%s: %d fields in %d passes over %d nodes", g.Graph, c.Fields, c.Passes, g.Nodes)
			}
		}
	}
	if got := strings.Join(names, " "); got != "torus random power preferential" {
		t.Errorf("measured %s", got)
	}
	img, err := os.ReadFile(plot)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := png.Decode(bytes.NewReader(img)); err != nil {
		t.Error(err)
	}
}

// Several sizes and bounds: a cell for each, and another picture.
func TestMeasureSizes(t *testing.T) {
	defer leak.VerifyNone(t)
	clitest.Silence(t)
	plot := filepath.Join(t.TempDir(), "p.svg")
	r := clitest.JSON[struct{ Results []result }](t, run,
		strings.Fields("-graphs rmat,torus -n 400,100 -k 3,5 -bound 8,0 -seconds 0.02 -cpu -out "+plot)...)
	var got []string
	for _, g := range r.Results {
		for _, c := range g.Cells {
			got = append(got, fmt.Sprint(g.Graph, c.Bound, c.K))
			if c.Fields == 0 || !(c.FieldsPerS > 0) || c.Paper > 0 && c.Bound > 0 {
				t.Errorf("%s: cell %+v", g.Graph, c)
			}
		}
		if g.Graph == "torus" && g.Nodes != 100 && g.Nodes != 400 || g.Edges < g.Nodes {
			t.Errorf("%s has %d nodes and %d edges", g.Graph, g.Nodes, g.Edges)
		}
	}
	cells := func(graph string) string { return strings.ReplaceAll("G0 3 G0 5 G8 3 G8 5", "G", graph) }
	want := strings.Join([]string{cells("rmat"), cells("rmat"), cells("torus"), cells("torus")}, " ")
	if strings.Join(got, " ") != want {
		t.Errorf("cells %s, want %s", got, want)
	}
	img, err := os.ReadFile(plot)
	if err != nil || !strings.Contains(string(img), "bound=8") {
		t.Errorf("the picture has no line of the bound: %v", err)
	}
}

// The table has a row for each cell.
func TestTable(t *testing.T) {
	var b strings.Builder
	err := (&report{Workers: 1, Results: []result{{"torus", 9, 18, []cell{{K: 5, Passes: 1, FieldsPerS: 1234.4, Paper: 1000}, {K: 20, Bound: 30, FieldsPerS: 56}}}}}).Print(&b)
	if err != nil {
		t.Fatal(err)
	}
	want := `graph nodes edges k bound fields/s the paper
torus 9 18 5 0 1234 1000
torus 9 18 20 30 56 0
-workers 1, seconds; the figures of the paper are for one core at 2.8 GHz, most of them lower bounds
`
	var got string
	for line := range strings.Lines(b.String()) {
		got += strings.Join(strings.Fields(line), " ") + "\n"
	}
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestErrors(t *testing.T) {
	clitest.Silence(t)
	t.Setenv("SANFLOW_DATA", t.TempDir())
	for _, c := range []struct{ args, want string }{
		{"-graphs cube", `-graphs: "cube"`},
		{"-k 0", `-k: "0"`},
		{"-k 5,x", `-k: "x"`},
		{"-k 257", `-k: "257"`},
		{"-seconds 0", "-seconds is 0"},
		{"-seconds NaN", "-seconds is NaN"},
		{"-workers -1", "-workers is -1"},
		{"-n 3", `-n: "3"`},
		{"-n 100,x", `-n: "x"`},
		{"-bound 3", "-bound is 3"},
		{"-bound 0,60,49", "-bound is 49"},
		{"-n 11 -graphs torus", "-n 11: a torus"},
		{"-out x.gif", ".svg or .png"},
		{"-out /nowhere/at/all.svg", "cannot write"},
		{"-graphs power", "no graph to measure"},
		{"stray", "unexpected argument"},
	} {
		err := run(context.Background(), strings.Fields(c.args))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want one with %q", c.args, err, c.want)
		}
	}
}

func TestInterrupt(t *testing.T) {
	defer leak.VerifyNone(t)
	clitest.Silence(t)
	ctx, cancel := context.WithCancelCause(context.Background())
	time.AfterFunc(50*time.Millisecond, func() { cancel(cli.ErrInterrupted) })
	start := time.Now()
	err := run(ctx, strings.Fields("-graphs torus,preferential -k 50 -seconds 100 -n 22500"))
	if !errors.Is(err, cli.ErrInterrupted) {
		t.Errorf("%v, want %v", err, cli.ErrInterrupted)
	}
	if took := time.Since(start); took > leak.Patience {
		t.Errorf("took another %v", took)
	}
}
