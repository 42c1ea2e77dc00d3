package operators_test

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/flowtest"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/count"
	"github.com/sanflow/sanflow/operators/internal/settings/settingstest"
	"github.com/sanflow/sanflow/operators/labeling"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

// written are the operators that a recipe can hold.
var written = []flow.Operator{
	operators.Assemble{}, operators.Batch{}, operators.Channel{}, operators.Check{}, operators.Chunk{}, operators.Count{}, operators.Expect{}, operators.ExpectColumns{},
	operators.Normalize{}, operators.PerRoot{}, operators.Replay{}, operators.Roots{}, operators.Select{},
	operators.Shuffle{}, operators.Propagate{}, operators.Standardize{}, operators.MaskWords{}, operators.KnownClasses{}, operators.Beliefs{}, operators.Describe{}, operators.Intervals{},
}

// unwritten are those that it cannot: Evolve reads events.
var unwritten = []string{"Evolve"}

// Every setting of every operator is written and read back, also one that is
// added tomorrow.
func TestRecipeHoldsEverySetting(t *testing.T) {
	var names []string
	for _, op := range written {
		names = append(names, reflect.TypeOf(op).Name())
	}
	names = append(names, unwritten...)
	slices.Sort(names)
	if want := settingstest.Declared(t, os.DirFS("."), "Open"); !slices.Equal(names, want) {
		t.Fatalf("the operators are %v, this test knows %v", want, names)
	}
	labelings := []labeling.Labeling{
		labeling.PageRankCentrality{Damping: 0.9}, labeling.WeisfeilerLehman{Rounds: 3, Uniform: true},
		labeling.SampledBetweenness{Sources: 50, Seed: 1 << 63}, labeling.Core, &mine{Least: 4},
	}
	rng := rand.New(rand.NewPCG(3, 4))
	counters := []count.Counter{count.WL{Height: 3, Rounded: true}, count.Size{}, count.Labels{}, count.Around{Bins: count.Bins{Nodes: []count.Cuts{{0.5, 7}, nil}}},
		count.Fields{K: []int{3, 5}, Selected: true}}
	ask := func(t reflect.Type) reflect.Value {
		if t == reflect.TypeFor[count.Counter]() {
			return reflect.ValueOf(counters[rng.IntN(len(counters))])
		}
		return reflect.ValueOf(labelings[rng.IntN(len(labelings))])
	}
	recipe := operators.Recipe(slices.Clone(written))
	add := func(v reflect.Value) {
		op := v.Interface().(flow.Operator)
		switch known := op.(type) { // sinks.Known keeps it
		case operators.KnownClasses:
			known.Class = nil
			op = known
		case operators.Beliefs:
			known.Probs = nil
			op = known
		}
		recipe = append(recipe, op)
	}
	for _, op := range written {
		for range 20 {
			v := reflect.New(reflect.TypeOf(op)).Elem()
			settingstest.Fill(t, rng, v, ask)
			add(v)
		}
		one := reflect.New(reflect.TypeOf(op)).Elem() // of which one setting alone is set
		for i := range one.NumField() {
			settingstest.Fill(t, rng, one.Field(i), ask)
			add(one)
			one.Field(i).SetZero()
		}
	}
	text, err := json.Marshal(recipe)
	if err != nil {
		t.Fatal(err)
	}
	var back operators.Recipe
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	for i, op := range recipe {
		if !reflect.DeepEqual(back[i], op) {
			t.Errorf("%#v came back as %#v", op, back[i])
		}
	}
	if len(back) != len(recipe) || back.String() != string(text) {
		t.Error("the text of what came back is another")
	}
}

// mine is a labeling of the user's own, and twice an operator.
type mine struct{ Least int }

func (*mine) String() string { return "mine" }

func (*mine) Label(in labeling.Input, labels []float64) error {
	return labeling.Degree.Label(in, labels)
}

type twice struct {
	By    labeling.Labeling
	Parts map[string][]uint8
	op    func()
}

func (twice) Open(*arrow.Schema) (flow.Stage, error) { panic("not run") }

func init() {
	for _, err := range []error{
		labeling.Register("mine", &mine{}),
		operators.Register("Twice", &twice{By: labeling.WL}),
	} {
		if err != nil {
			panic(err)
		}
	}
}

func TestRecipeText(t *testing.T) {
	for _, c := range []struct {
		recipe operators.Recipe
		text   string
	}{
		{nil, `[]`},
		{
			operators.Recipe{
				operators.Channel{By: labeling.NormalizedDegree},
				operators.Select{W: 18, By: labeling.PageRankCentrality{Damping: 0.9}, Strict: true},
				operators.Normalize{K: 5, Suffix: "_k5", KeepGraph: true},
				&twice{By: &mine{Least: 2}, Parts: map[string][]uint8{"a": {1}}},
				&twice{},
			},
			`[{"operator":"Channel","By":"normalized-degree"},` +
				`{"operator":"Select","W":18,"By":"pagerank(damping=0.9)","Strict":true},` +
				`{"operator":"Normalize","K":5,"KeepGraph":true,"Suffix":"_k5"},` +
				`{"operator":"Twice","By":"mine(least=2)","Parts":{"a":"AQ=="}},` +
				`{"operator":"Twice","By":null}]`,
		},
	} {
		if c.recipe.String() != c.text {
			t.Errorf("%s, want %s", c.recipe, c.text)
		}
		back, err := operators.ParseRecipe(c.text)
		if err != nil || len(back) != len(c.recipe) || len(back) > 0 && !reflect.DeepEqual(back, c.recipe) {
			t.Errorf("%s came back as %s, %v", c.text, back, err)
		}
	}
	for text, want := range map[string]string{
		``:                                   `operators: recipe: EOF`,
		`3`:                                  `operators: recipe: it is of the kind number, want []json.RawMessage`,
		`[3]`:                                `operators: recipe: operator 1: it is of the kind number, want map[string]json.RawMessage`,
		`[{}]`:                               `operators: recipe: operator 1: it has no name, as "operator"`,
		`[{"operator": 1}]`:                  `operators: recipe: operator 1: its name: it is of the kind number, want string`,
		`[{"operator": "Selec"}]`:            `operators: recipe: operator 1: there is no operator "Selec": operators.Register makes one known`,
		`[{"operator": "Evolve"}]`:           `operators: recipe: operator 1: there is no operator "Evolve": operators.Register makes one known`,
		`[{"operator": "Select", "V": 3}]`:   `operators: recipe: operator 1: Select: V: there is no setting "V", want one of W, By, Stride, Strict, DepthFirst`,
		`[{"operator": "Select", "W": "3"}]`: `operators: recipe: operator 1: Select: W: it is of the kind string, want int`,
		`[{"operator": "Batch"}, {"operator": "Select", "By": "him"}]`: `operators: recipe: operator 2: Select: By: labeling: unknown labeling "him", want one of `,
		`[{"operator": "Expect", "Layout": {"Size": 3}}]`:              `operators: recipe: operator 1: Expect: Layout: unknown field "Size"`,
		`[] []`:    `operators: recipe: there is more behind it`,
		`{"w": 3}`: `operators: recipe: it is of the kind object, want []json.RawMessage`,
	} {
		var r operators.Recipe
		if err := r.UnmarshalJSON([]byte(text)); err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	for want, op := range map[string]flow.Operator{
		"operators: recipe: operators.KnownClasses has the classes of nodes by their numbers":                                                                 operators.KnownClasses{Class: []int32{}},
		"operators: recipe: operators.Beliefs has the classes of nodes by their numbers":                                                                      operators.Beliefs{Probs: []float32{}},
		"operators: recipe: an operator is nil":                                                                                                               nil,
		"operators: recipe: operators_test.twice is not known by a name: operators.Register gives it one":                                                     twice{},
		"operators: recipe: Twice: it is more than its settings say: ":                                                                                        &twice{By: labeling.WL, op: func() {}},
		"operators: recipe: Select: the setting By cannot be written: labeling: operators_test.sparse is not known by a name: labeling.Register gives it one": operators.Select{By: sparse{}},
	} {
		if text, err := (operators.Recipe{op}).MarshalJSON(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s, %v, want %s", text, err, want)
		}
	}
	for name, op := range map[string]flow.Operator{"select": &sparseOp{}, "Again": operators.Select{}, "": &sparseOp{}, "Nothing": nil, "Sieve": sieve{}} {
		if err := operators.Register(name, op); err == nil {
			t.Errorf("%T is registered as %q", op, name)
		}
	}
}

type sparseOp struct{ twice }

// sieve has a setting that no text can hold.
type sieve struct {
	twice
	Keep func(int) bool
}

// A recipe does what the pipeline does that it was written from.
func TestRecipeOnto(t *testing.T) {
	src := flow.From(sources.Families{Graphs: 20})
	recipe := operators.Recipe{
		operators.Channel{By: labeling.NormalizedDegree},
		operators.Select{W: 9, By: labeling.Degree, Stride: 2},
		operators.Assemble{K: 4},
		operators.Normalize{},
		operators.Standardize{Mean: []float32{0.2}, Std: []float32{0.1}, Missing: []int{0}},
	}
	back, err := operators.ParseRecipe(recipe.String())
	if err != nil {
		t.Fatal(err)
	}
	got := gathered(t, back.Onto(src))
	for i, rec := range gathered(t, recipe.Onto(src)).Records() {
		if !reflect.DeepEqual(values(t, got.Records()[i]), values(t, rec)) {
			t.Fatalf("record %d differs", i)
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
			`the graphs have the channels ["colour (2 words)"] in node_cat, want ["colour (4 values)"]`},
		{change(func(l *record.Layout) { l.NodeAttr = nil }), `the graphs have the channels ["x" "y"] in node_attr, want none`},
		{change(func(l *record.Layout) { l.EdgeCat[0].Name = "bond" }), ""},
		{change(func(l *record.Layout) { l.EdgeAttr = []record.Channel{{Name: "weight"}} }), `the graphs have the channels ["length"] in edge_attr, want ["weight"]`},
		{change(func(l *record.Layout) { l.NodeSparse.Card = 7 }), `the graphs have the channels ["words (100 values)"] in node_sparse, want ["words (7 values)"]`},
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

// Any text is a recipe that is written and read back, or an error in one line.
func FuzzParseRecipe(f *testing.F) {
	for _, text := range []string{
		`[{"operator":"Channel","By":"normalized-degree"},{"operator":"Select","W":18,"By":"wl-2(uniform)","Strict":true}]`,
		`[{"operator":"Twice","By":"mine(least=2)","Parts":{"a":"AQ=="}},{"operator":"Twice","By":null}]`,
		`[{"operator":"Expect","Layout":{"NodeCat":[{"name":"colour","card":3}],"Classes":["a"]}}, {"operator":"Normalize","K":5}]`,
		`[] []`, `[{"operator": "Selec"}]`, `[{"operator": "Select", "a\nb": 1}]`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := operators.ParseRecipe(text)
		if err != nil {
			if strings.ContainsAny(err.Error(), "\r\n") || !strings.HasPrefix(err.Error(), "operators: recipe: ") {
				t.Fatalf("%q", err)
			}
			return
		}
		again, err := r.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		back, err := operators.ParseRecipe(string(again))
		if err != nil || len(back) != len(r) || len(r) > 0 && !reflect.DeepEqual(back, r) {
			t.Fatalf("%s is %#v, %s is %#v, %v", text, r, again, back, err)
		}
	})
}
