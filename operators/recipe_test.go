package operators_test

import (
	"context"
	"reflect"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/flowtest"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/labeling"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

func TestRecipeText(t *testing.T) {
	layout := flowtest.Layout
	for _, r := range []operators.Recipe{
		{},
		{W: 18, K: 10, Stride: 2, Select: labeling.Betweenness, Normalize: labeling.WL, Edges: true},
		{W: 3, K: 2, Bare: labeling.NormalizedDegree, Mean: []float32{0.1, 1e-30}, Std: []float32{3, 1. / 3}, Graphs: &layout},
	} {
		got, err := operators.ParseRecipe(r.String())
		if err != nil || !reflect.DeepEqual(got, r) {
			t.Errorf("%v came back as %v, %v", r, got, err)
		}
	}
	for _, text := range []string{"", "{", `{"w": "3"}`, `{"select": "mine"}`} {
		if _, err := operators.ParseRecipe(text); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// gathered runs a pipeline into memory.
func gathered(t *testing.T, p flow.Pipeline) *sinks.Collect {
	t.Helper()
	var out sinks.Collect
	if err := p.To(&out).Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(out.Release)
	return &out
}

// A recipe is the stages that it names.
func TestRecipeOnto(t *testing.T) {
	src := flow.From(sources.Families{Graphs: 20})
	recipe := operators.Recipe{
		W: 9, K: 4, Stride: 2, Select: labeling.Degree, Bare: labeling.NormalizedDegree,
		Mean: []float32{0.2}, Std: []float32{0.1},
	}
	got := gathered(t, recipe.Onto(src))
	want := gathered(t, src.
		Via(operators.Channel{By: labeling.NormalizedDegree}).
		Via(operators.Select{W: 9, By: labeling.Degree, Stride: 2}).
		Via(operators.Assemble{K: 4}).
		Via(operators.Normalize{}).
		Via(operators.Standardize{Mean: []float32{0.2}, Std: []float32{0.1}}))
	for i, rec := range got.Records() {
		if !reflect.DeepEqual(values(t, rec), values(t, want.Records()[i])) {
			t.Fatalf("record %d differs", i)
		}
	}
}

func values(t *testing.T, rec arrow.Record) []float32 {
	t.Helper()
	x, _, err := record.FixedValues[float32](rec, record.Nodes)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func TestExpect(t *testing.T) {
	change := func(f func(l *record.Layout)) operators.Expect {
		l := flowtest.Layout
		f(&l)
		return operators.Expect{Layout: l}
	}
	schema := flowtest.Layout.Schema()
	for _, c := range []struct {
		e    operators.Expect
		want string
	}{
		{change(func(l *record.Layout) {}), ""},
		{change(func(l *record.Layout) { l.NodeCat = []record.Channel{{Name: "colour", Card: 4}} }),
			`the graphs have ["colour (3 values)"] of discrete node channels, want ["colour (4 values)"]`},
		{change(func(l *record.Layout) { l.NodeAttr = nil }), `the graphs have ["x" "y"] of continuous node channels, want none`},
		{change(func(l *record.Layout) { l.EdgeCat[0].Name = "bond" }), ""},
		{change(func(l *record.Layout) { l.EdgeAttr = []record.Channel{{Name: "weight"}} }), `the graphs have ["length"] of continuous edge channels, want ["weight"]`},
		{change(func(l *record.Layout) { l.NodeSparse.Card = 7 }), `the graphs have ["words (100 values)"] of sparse node channels, want ["words (7 values)"]`},
		{change(func(l *record.Layout) { l.Classes = []string{"a", "b"} }), `the graphs are of the classes ["sparse" "dense"], want ["a" "b"]`},
		{change(func(l *record.Layout) { l.Directed = true }), "the graphs are undirected, want directed ones"},
	} {
		_, err := c.e.Open(schema)
		if c.want == "" && err != nil || c.want != "" && (err == nil || err.Error() != c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
	unknown := flowtest.Layout
	unknown.Classes = nil
	if _, err := (operators.Expect{Layout: flowtest.Layout}).Open(unknown.Schema()); err != nil {
		t.Errorf("graphs without classes: %v", err)
	}
}
