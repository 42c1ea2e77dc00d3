package flowtest_test

import (
	"archive/zip"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/flowtest"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/labeling"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/dot"
	"github.com/sanflow/sanflow/sources/graph6"
	"github.com/sanflow/sanflow/sources/tu"
)

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// collection writes a TU collection of three graphs.
func collection(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "T.zip")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z := zip.NewWriter(f)
	for name, text := range map[string]string{
		"T/T_A.txt":               "1, 2\n2, 1\n3, 4\n4, 3\n4, 5\n5, 4\n",
		"T/T_graph_indicator.txt": "1\n1\n2\n2\n2\n3\n",
		"T/T_graph_labels.txt":    "1\n-1\n1\n",
		"T/T_node_labels.txt":     "0\n1\n0\n1\n2\n0\n",
	} {
		w, err := z.Create(name)
		if err == nil {
			_, err = w.Write([]byte(text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestSources(t *testing.T) {
	recs := flowtest.Sample(memory.DefaultAllocator)
	path, err := graph.New(3, false, []graph.Edge{{U: 0, V: 1}, {U: 1, V: 2}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		src  flow.Source
	}{
		{"graphs", sources.Graphs{Items: []sources.Item{{Graph: path}, {Graph: path, Class: 1}, {Graph: path}}, Rows: 2}},
		{"no graphs", sources.Graphs{}},
		{"records", sources.Records{Records: recs}},
		{"families", sources.Families{Graphs: 70}},
		{"tu", tu.Source{Path: collection(t)}},
		{"edge list", sources.EdgeList{Path: write(t, "a.txt", "0 1\n1 2\n2 0\n")}},
		{"graph6", graph6.Source{Path: write(t, "a.g6", "Bw\nC~\n")}},
		{"dot", dot.Source{Path: write(t, "a.dot", "graph { a -- b; b -- c }\n")}},
	} {
		t.Run(c.name, func(t *testing.T) { flowtest.RunSource(t, c.src) })
	}
}

// fields returns the sample as a network reads it.
func fields(t *testing.T) []arrow.Record {
	t.Helper()
	var out sinks.Collect
	recs := flowtest.Sample(memory.DefaultAllocator)
	err := flow.From(sources.Records{Records: recs}).
		Via(operators.Select{W: 4, By: labeling.Degree}).
		Via(operators.Assemble{K: 3}).
		Via(operators.Normalize{}).
		To(&out).Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return out.Records()
}

func TestSinks(t *testing.T) {
	recs := fields(t)
	trained := func() *nn.CNN {
		net := &nn.CNN{}
		if err := flow.From(sources.Records{Records: recs}).To(sinks.Train{Net: net}).Run(context.Background()); err != nil {
			t.Fatal(err)
		}
		return net
	}
	for _, c := range []struct {
		name string
		open func() (flow.Sink, func())
	}{
		{"collect", func() (flow.Sink, func()) {
			out := &sinks.Collect{}
			return out, out.Release
		}},
		{"train", func() (flow.Sink, func()) { return sinks.Train{Net: &nn.CNN{}}, nil }},
		{"pretrain", func() (flow.Sink, func()) {
			return sinks.Pretrain{Net: &nn.RBM{Units: nn.Gaussian}, Of: sinks.Nodes, Batch: 3}, nil
		}},
		{"predict", func() (flow.Sink, func()) {
			return sinks.Predict{Net: trained(), Each: func(sinks.Prediction) error { return nil }}, nil
		}},
	} {
		t.Run(c.name, func(t *testing.T) { flowtest.RunSink(t, c.open, recs) })
	}
}
