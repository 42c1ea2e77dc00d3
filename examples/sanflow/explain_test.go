package main

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/examples/internal/clitest"
	"github.com/sanflow/sanflow/flow/flowtest/leak"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/sinks"
)

// A page shows names as they are, whatever they hold, and asks no other host for anything.
func TestExplanationPage(t *testing.T) {
	const hostile = `</title><script>alert(1)</script>"'<b onclick=x>&amp;`
	g, err := graph.New(3, false, []graph.Edge{{U: 0, V: 1}})
	if err != nil {
		t.Fatal(err)
	}
	var long []sinks.WordWeight
	for range 2 * mostWords {
		long = append(long, sinks.WordWeight{Text: hostile, Weight: math.NaN(), Members: [][]int32{{0, 1}}, Capped: true})
	}
	for _, e := range []*sinks.Explanation{
		{},
		{Class: hostile, Predicted: hostile, Probs: []float32{0.5, float32(math.NaN())}, Sum: math.Inf(1), Words: long},
		{Nodes: []sinks.NodeWeight{{ID: 2, Weight: math.NaN()}, {ID: 0, Weight: -1}}, Edges: []sinks.EdgeWeight{{Source: 0, Target: 1, Weight: 0}}},
		{Probs: make([]float32, 1<<20)},
	} {
		page, err := explanationPage(g, e, hostile, 7)
		if err != nil {
			t.Fatal(err)
		}
		text := string(page)
		for _, bad := range []string{"<script", "<b ", "http:", "https:", "src=", "NaN\"", "Inf\""} {
			if strings.Contains(text, bad) {
				t.Errorf("the page has %q", bad)
			}
		}
		if len(page) > 1<<18 {
			t.Errorf("the page has %d bytes", len(page))
		}
		d := xml.NewDecoder(strings.NewReader(strings.TrimPrefix(text, "<!DOCTYPE html>")))
		d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
		for {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("not well-formed: %v", err)
			}
		}
	}
	if _, err := explanationPage(&graph.Graph{}, &sinks.Explanation{}, "", 0); err != nil {
		t.Errorf("a graph without nodes: %v", err)
	}
}

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
