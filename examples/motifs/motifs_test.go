package main

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/examples/internal/clitest"
	"github.com/sanflow/sanflow/internal/leak"
	"github.com/sanflow/sanflow/nn"
)

func TestMain(m *testing.M) { clitest.Main(m) }

// motifs runs the command and returns its JSON object and its directory.
func motifs(t *testing.T, args ...string) (map[string]any, string) {
	t.Helper()
	sheet := filepath.Join(t.TempDir(), "sheet")
	return clitest.JSON[map[string]any](t, run, append(args, "-out", sheet)...), sheet
}

// The club has 34 members, 78 ties, two leaders, and 45 triangles.
func TestKarate(t *testing.T) {
	g, err := karateClub(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	triangles := 0
	for u := range int32(g.N()) {
		for _, v := range g.Adj(u) {
			for _, w := range g.Adj(v) {
				if u < v && v < w && g.Entry(u, w) >= 0 {
					triangles++
				}
			}
		}
	}
	if g.N() != 34 || g.M() != 78 || g.Degree(0) != 16 || g.Degree(33) != 17 || triangles != 45 {
		t.Errorf("%d members, %d ties, %d and %d of the leaders, %d triangles", g.N(), g.M(), g.Degree(0), g.Degree(33), triangles)
	}
}

func TestJSON(t *testing.T) {
	defer leak.VerifyNone(t)
	r, dir := motifs(t, "-seed", "3", "-units", "5")
	want := map[string]any{"graph": "karate", "nodes": 34., "edges": 78., "rows": 34., "epochs": 30., "hidden": 100., "seed": 3., "k": 10., "batch": 1.}
	for name, v := range want {
		if r[name] != v {
			t.Errorf("%s is %v, want %v", name, r[name], v)
		}
	}
	first, last := r["first_epoch_reconstruction_error"].(float64), r["reconstruction_error"].(float64)
	if !(last > 0 && last < 0.8*first) || !(r["rows_per_s"].(float64) > 0) {
		t.Errorf("reconstruction error %v after %v, %v rows/s", last, first, r["rows_per_s"])
	}
	units := r["units"].([]any)
	if len(units) != 5 {
		t.Errorf("%d units, want 5", len(units))
	}
	before := math.Inf(1)
	for _, u := range units {
		u := u.(map[string]any)
		if s := u["strength"].(float64); s > before {
			t.Errorf("a unit of strength %v behind one of %v", s, before)
		} else {
			before = s
		}
		p := 1.0
		for _, f := range u["fields"].([]any) {
			f := f.(map[string]any)
			if q := f["probability"].(float64); q > p || q < 0 {
				t.Errorf("a field that excites with %v behind one with %v", q, p)
			} else {
				p = q
			}
			if v := f["root"].(float64); v < 0 || v > 33 {
				t.Errorf("root %v", v)
			}
		}
	}

	file, err := os.ReadFile(filepath.Join(dir, "motifs.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	if net, err := nn.LoadEncoder(bytes.NewReader(file)); err != nil || net.(*nn.RBM).Info["k"] != "10" {
		t.Errorf("the machine: %v, %v", net, err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "motifs.svg"))
	if err != nil {
		t.Fatal(err)
	}
	d := xml.NewDecoder(bytes.NewReader(text))
	for {
		if _, err := d.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if !strings.Contains(string(text), "weights") || !strings.Contains(string(text), "unit ") || strings.Contains(string(text), "%!") {
		t.Error("the sheet has no heads, or an argument of another type")
	}
	if black := strings.Count(string(text), `fill="#141414"`); black < 5 { // the largest weight of each unit
		t.Errorf("%d cells of matrices are black, want one for each unit", black)
	}
}

// Same seed, same files, whatever the number of workers.
func TestDeterministic(t *testing.T) {
	var sums []string
	for _, workers := range []string{"1", "3"} {
		r, dir := motifs(t, "-graph", "preferential", "-n", "60", "-epochs", "2", "-units", "2", "-workers", workers)
		svg, err := os.ReadFile(filepath.Join(dir, "motifs.svg"))
		if err != nil {
			t.Fatal(err)
		}
		if r["rows"] != 60. {
			t.Errorf("%v rows, want 60", r["rows"])
		}
		sums = append(sums, fmt.Sprint(r["model_sha256"], r["reconstruction_error"], string(svg)))
	}
	if sums[0] != sums[1] {
		t.Error("results depend on the number of workers")
	}
}

// All fields of a torus are equal, and so is what is drawn.
func TestTorus(t *testing.T) {
	r, _ := motifs(t, "-graph", "torus", "-n", "36", "-k", "5", "-hidden", "10")
	if r["distinct_fields"] != 1. || len(r["units"].([]any)) != 1 || r["reconstruction_error"].(float64) > 0.01 {
		t.Errorf("%v", r)
	}
}

func TestFileGraph(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a<b.edges")
	if err := os.WriteFile(path, []byte("10 20\n20 30\n30 10\n30 40\n50 60\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	r, _ := motifs(t, "-graph", path, "-k", "3", "-hidden", "4", "-epochs", "2")
	if r["graph"] != "a<b" || r["nodes"] != 6. || r["edges"] != 5. {
		t.Errorf("%v", r)
	}
	for _, u := range r["units"].([]any) {
		for _, f := range u.(map[string]any)["fields"].([]any) {
			if root := f.(map[string]any)["root"].(float64); root < 10 || math.Mod(root, 10) != 0 {
				t.Errorf("root %v is no id of the file", root)
			}
		}
	}
	if os.Getenv("SANFLOW_DATA") == "" {
		t.Skip("polbooks: SANFLOW_DATA is not set")
	}
	if r, _ := motifs(t, "-graph", "polbooks", "-epochs", "1"); r["rows"] != 105. || r["edges"] != 441. {
		t.Errorf("polbooks: %v", r)
	}
}

func TestErrors(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("SANFLOW_DATA", "")
	if err := os.WriteFile("bad.edges", []byte("1 2\n3\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("empty.edges", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ args, want string }{
		{"-k 1", "-k is 1"},
		{"-k 33", "-k is 33"},
		{"-hidden 0", "-hidden is 0"},
		{"-hidden 1000000000", "-hidden is 1000000000"},
		{"-epochs 0", "-epochs is 0"},
		{"-rate 0", "-rate is 0"},
		{"-rate -1", "-rate is -1"},
		{"-rate NaN", "-rate is NaN"},
		{"-units 0", "-units is 0"},
		{"-n 0", "-n is 0"},
		{"-graph torus -n 7", "-n 7: a torus"},
		{"-graph nowhere.edges", "nowhere.edges"},
		{"-graph bad.edges", "bad.edges:2"},
		{"-graph empty.edges", "empty.edges"},
		{"-graph polbooks", "-graph: sources: polbooks: no such file"},
		{"-out bad.edges", "bad.edges"},
		{"-json /nowhere/at/all", "cannot write"},
		{"stray", "unexpected argument"},
	} {
		err := run(context.Background(), strings.Fields(test.args))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.args, err, test.want)
		}
	}
	// What failed has left no file under its name.
	if files, _ := filepath.Glob("motifs/*"); len(files) > 0 {
		t.Errorf("left behind: %v", files)
	}
}

func TestInterrupt(t *testing.T) {
	defer leak.VerifyNone(t)
	t.Chdir(t.TempDir())
	for _, after := range []time.Duration{0, 30 * time.Millisecond, 300 * time.Millisecond} {
		ctx, cancel := context.WithCancelCause(context.Background())
		time.AfterFunc(after, func() { cancel(cli.ErrInterrupted) })
		start := time.Now()
		err := run(ctx, []string{"-graph", "preferential", "-epochs", "100000"})
		if !errors.Is(err, cli.ErrInterrupted) {
			t.Errorf("interrupted after %v: %v, want %v", after, err, cli.ErrInterrupted)
		}
		if took := time.Since(start) - after; took > leak.Patience {
			t.Errorf("interrupted after %v: took another %v", after, took)
		}
	}
}

// The part above the diagonal counts, and only the root may stand alone.
func TestOfMatrix(t *testing.T) {
	g, places, err := ofMatrix([]float32{
		0, 0, 0, 0,
		1, 0, 0, 1,
		1, 0, 1, 0,
		0, 1, 0, 0,
	}, 4)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(places, []int{0, 1, 3}) || g.M() != 1 || g.Entry(1, 2) < 0 {
		t.Errorf("nodes %v, %d edges; want 0, 1 and 3, one between the last two", places, g.M())
	}
}
