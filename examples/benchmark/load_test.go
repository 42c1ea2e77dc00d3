package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources/tu"
)

// A saved network is fed graphs straight away, and tells paths from stars that
// it has not seen.
func TestLoad(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "net.safetensors")
	classify(t, "-data", collectionOfFiles(t, pathsAndStars(20)), "-k", "3", "-folds", "2", "-epochs", "60", "-model", file)

	said, err := answers(t, file, collectionOfFiles(t, pathsAndStars(35)))
	if err != nil || len(said) != 70 || right(said) < 67 {
		t.Errorf("%d graphs, %d right, %v", len(said), right(said), err)
	}
	if first := said[0]; first.Graph != 0 || first.Class != 0 || first.Target != 0 || first.Probs[0] < 0.5 {
		t.Errorf("the first prediction is %v", first)
	}

	bare := pathsAndStars(5)
	delete(bare, "node_attributes")
	named := pathsAndStars(5)
	named["graph_labels"] = strings.ReplaceAll(named["graph_labels"], "1", "2")
	broken := filepath.Join(dir, "broken")
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(broken, content[:len(content)-5], 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		file, data, want string
	}{
		{file, collectionOfFiles(t, bare), "in node_attr, want"},
		{file, collectionOfFiles(t, named), `the graphs are of the classes ["0" "2"], want ["0" "1"]`},
		{broken, "", "broken: nn: load: the file is truncated"},
	} {
		_, err := answers(t, test.file, test.data)
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v: %v, want %q", test.file, err, test.want)
		}
	}
}

// answers reads a model and asks it about a collection.
func answers(t *testing.T, file, data string) (said []sinks.Prediction, err error) {
	t.Helper()
	p, err := sinks.Load(file)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	err = p.Recipe().Onto(flow.From(tu.Source{Path: data})).Via(operators.Batch{Size: 64}).
		To(sinks.Predict{Net: p.Net(), Each: func(p sinks.Prediction) error {
			p.Probs = slices.Clone(p.Probs)
			said = append(said, p)
			return nil
		}}).Run(t.Context())
	return said, err
}

func right(said []sinks.Prediction) (n int) {
	for _, p := range said {
		if p.Class == p.Target {
			n++
		}
	}
	return n
}

// The best model is saved, read, and told what it has not seen, from structure
// alone.
func TestBest(t *testing.T) {
	file := filepath.Join(t.TempDir(), "words.safetensors")
	r := classify(t, "-data", collectionOfFiles(t, pathsAndStars(20)), "-model-kind", "best", "-folds", "4", "-epochs", "10", "-model", file)
	if r["model_kind"] != "best" || r["w"] != 0. || r["k"] != 0. || r["accuracy"].(float64) < 95 {
		t.Errorf("%v", r)
	}
	if said, err := answers(t, file, collectionOfFiles(t, pathsAndStars(35))); err != nil || len(said) != 70 || right(said) < 67 {
		t.Errorf("%d graphs, %d right, %v", len(said), right(said), err)
	}
}
