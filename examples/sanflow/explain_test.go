package main

import (
	"encoding/json"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/examples/internal/clitest"
	"github.com/sanflow/sanflow/flow/flowtest/leak"
	"github.com/sanflow/sanflow/sinks"
)

// The command writes an explanation that adds up, the same each time.
func TestExplain(t *testing.T) {
	defer leak.VerifyNone(t)
	clitest.Silence(t)
	dir := t.TempDir()
	model, one, two, page := filepath.Join(dir, "model"), filepath.Join(dir, "one"), filepath.Join(dir, "two"), filepath.Join(dir, "page")
	must(t, "train", "-out", model, "-systems", "linear")
	must(t, "explain", "-model", model, "-graph", "5", "-class", "torus", "-json", one, "-html", page)
	must(t, "explain", "-model", model, "-graph", "5", "-class", "torus", "-json", two)
	if read(t, one) != read(t, two) || !strings.Contains(read(t, page), "<svg") {
		t.Error("other bytes, or no drawing")
	}
	var e sinks.Explanation
	if err := json.Unmarshal([]byte(read(t, one)), &e); err != nil {
		t.Fatal(err)
	}
	sum := e.Bias
	for _, w := range e.Words {
		sum += w.Weight
	}
	if e.Class != "torus" || e.Predicted == "" || len(e.Probs) != 6 || math.Abs(sum-e.Sum) > 1e-9 {
		t.Errorf("class %s, predicted %s, %v, sum %v, want %v", e.Class, e.Predicted, e.Probs, sum, e.Sum)
	}
	for _, bad := range [][]string{{"-graph", "x"}, {"-graph", "-1"}, {"-graph", "100000"}, {"-class", "none"}, {"-task", "nodes"}} {
		if err := run(t.Context(), append([]string{"explain", "-model", model}, bad...)); err == nil {
			t.Errorf("%q: want an error", bad)
		}
	}
}

// The command writes an atlas, the same each time, whose page leads from a motif to its graphs.
func TestAtlas(t *testing.T) {
	defer leak.VerifyNone(t)
	clitest.Silence(t)
	dir := t.TempDir()
	model, one, two, page := filepath.Join(dir, "model"), filepath.Join(dir, "one"), filepath.Join(dir, "two"), filepath.Join(dir, "page")
	must(t, "train", "-out", model, "-systems", "linear")
	must(t, "atlas", "-model", model, "-graph", "5", "-json", one, "-html", page, "-motifs", "5")
	must(t, "atlas", "-model", model, "-json", two, "-motifs", "5", "-workers", "2")
	if read(t, one) != read(t, two) {
		t.Error("other bytes")
	}
	for _, part := range []string{"<svg", `href="#m5"`, `id="m5"`, "Graph 5 of generated"} {
		if !strings.Contains(read(t, page), part) {
			t.Errorf("the page has no %s", part)
		}
	}
	for _, bad := range [][]string{{"-graph", "x"}, {"-graph", "100000"}, {"-motifs", "0"}, {"-task", "nodes"}, {"-data", "nowhere"}} {
		if err := run(t.Context(), append([]string{"atlas", "-model", model}, bad...)); err == nil {
			t.Errorf("%q: want an error", bad)
		}
	}
}
