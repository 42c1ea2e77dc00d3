package sinks_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/labeling"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

// A model that an earlier version kept with its recipe gives the answers that it
// gave then. SANFLOW_UPDATE=1 writes the file where it is missing.
func TestGoldenRecipe(t *testing.T) {
	file := filepath.Join("testdata", "golden", "families.safetensors")
	graphs, layout := collectedGraphs(t, sources.Families{Graphs: 12})
	if _, err := os.Stat(file); err != nil && os.Getenv("SANFLOW_UPDATE") != "" {
		recipe := operators.Recipe{
			operators.Expect{Layout: layout}, operators.Channel{By: labeling.NormalizedDegree},
			operators.Select{W: 6, By: labeling.PageRank, Stride: 2}, operators.Assemble{K: 4}, operators.Normalize{Edges: true},
		}
		net := &nn.PSLR{}
		err := recipe.Onto(flow.From(sources.Families{Graphs: 60})).Via(operators.Batch{}).To(sinks.Train{Net: net}).Run(context.Background())
		if err := errors.Join(err, os.MkdirAll(filepath.Dir(file), 0o755), sinks.Save(file, net, recipe)); err != nil {
			t.Fatal(err)
		}
	}
	p, err := sinks.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	var said [][]float32
	for _, g := range graphs {
		a, err := p.Predict(context.Background(), g)
		if err != nil {
			t.Fatal(err)
		}
		said = append(said, a.Probs)
	}
	if _, err := os.Stat(file + ".json"); err != nil && os.Getenv("SANFLOW_UPDATE") != "" {
		text, _ := json.Marshal(said)
		if err := os.WriteFile(file+".json", append(text, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var want [][]float32
	text, err := os.ReadFile(file + ".json")
	if err := errors.Join(err, json.Unmarshal(text, &want)); err != nil {
		t.Fatal(err)
	}
	for i := range want {
		for c, x := range want[i] {
			if math.Abs(float64(said[i][c]-x)) > 1e-5 {
				t.Fatalf("graph %d: %v, want %v", i, said[i], want[i])
			}
		}
	}
}
