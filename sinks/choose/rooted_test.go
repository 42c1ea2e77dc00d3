package choose_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/internal/leak"
	"github.com/sanflow/sanflow/internal/race"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sinks/choose"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/generate"
	"github.com/sanflow/sanflow/sources/links"
)

// shops is a graph whose nodes have two attributes of these words, kind decides the class.
func shops(t *testing.T, kinds, towns []string) *sources.NodeSet {
	t.Helper()
	g := must(generate.RingOfCliques(8, 5))
	set := &sources.NodeSet{Graph: g, Classes: []string{"buyer", "seller"}}
	for v := range g.N() {
		kind, town := []string{"bar", "home"}[v/3%2], []string{"east", "west"}[v%2]
		set.Class = append(set.Class, int32(v/3%2))
		for _, c := range []struct {
			word  string
			words []string
		}{{kind, kinds}, {town, towns}} {
			at := slices.Index(c.words, c.word)
			if at < 0 {
				at = len(c.words)
			}
			g.NodeCat = append(g.NodeCat, int32(at))
		}
	}
	g.NodeCats = 2
	set.Channels.NodeCat = []record.Channel{{Name: "kind", Card: len(kinds) + 1, Words: kinds}, {Name: "town", Card: len(towns) + 1, Words: towns}}
	return set
}

// A model says of a graph what it says of the same graph with other indices of words, and
// refuses one with other attributes, classes or directions.
func TestNodeRowsOfOtherGraphs(t *testing.T) {
	race.Skip(t)
	defer leak.VerifyNone(t, leak.IgnoreCurrent())
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer mem.AssertSize(t, 0)
	kinds, towns := []string{"bar", "home"}, []string{"east", "west"}
	set := shops(t, kinds, towns)
	for _, s := range choose.Nodes(set, len(set.Class)) {
		if s.New == nil {
			continue
		}
		s.Epochs = min(s.Epochs, 5)
		rows := choose.NodeRows(set, set.All())
		chosen, err := choose.Choice{Systems: []choose.System{s}, Classes: set.Classes, Train: rows, Valid: rows, Seed: 1}.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		p := must(sinks.NewPredictor(chosen.Net, chosen.Recipe))
		defer p.Close()
		known := sinks.KnownNodes(set.Graph, set.IDs, chosen.Recipe.Graphs().NodeSparse.Card)
		ask := func(of *sources.NodeSet) (said []string, err error) {
			named := *of
			if of = &named; of.Graph.SparseCard == 0 {
				if of.Graph, _, err = known.Identify(of.Graph, of.IDs); err != nil {
					return nil, err
				}
			}
			knowing, err := p.Knowing(of.Graph.N(), of.IDs) // stacked systems read beliefs of the nodes
			if err != nil {
				return nil, err
			}
			if knowing != p {
				defer knowing.Close()
			}
			err = choose.NodeRows(of, of.All())(knowing.Recipe()).With(flow.Options{Allocator: mem}).To(sinks.Predict{Net: chosen.Net, Each: func(p sinks.Prediction) error {
				said = append(said, fmt.Sprint(p.Root, p.Probs, p.Target))
				return nil
			}}).Run(t.Context())
			return said, err
		}
		want, err := ask(set)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ask(shops(t, []string{"attic", "bar", "home"}, []string{"centre", "east", "west"}))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: more words: %v, %v, want %v", s.Name, err, got, want)
		}
		none := shops(t, []string{"bar"}, towns)
		unseen := shops(t, kinds, towns)
		for i := 0; i < len(unseen.Graph.NodeCat); i += 2 {
			if unseen.Graph.NodeCat[i] == 1 {
				unseen.Graph.NodeCat[i] = 2
			}
		}
		if want, err = ask(unseen); err != nil {
			t.Fatal(err)
		}
		if got, err = ask(none); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: a word that is not known: %v, %v, want %v", s.Name, err, got, want)
		}
		for text, change := range map[string]func(*sources.NodeSet){
			`the channels ["town (2 words)" "kind (2 words)"] in node_cat`: func(set *sources.NodeSet) { slices.Reverse(set.Channels.NodeCat) },
			`of the classes ["seller" "buyer"]`:                            func(set *sources.NodeSet) { set.Classes = []string{"seller", "buyer"} },
			`are directed`:                                                 func(set *sources.NodeSet) { set.Graph.Directed = true },
			`in node_sparse, want none`:                                    func(set *sources.NodeSet) { _ = set.Identify() },
		} {
			other := shops(t, kinds, towns)
			if change(other); other.Graph.SparseCard > 0 && s.Name == "neighbours" {
				continue // which reads them
			}
			if _, err := ask(other); err == nil || !strings.Contains(err.Error(), text) {
				t.Errorf("%s: %v, want %s", s.Name, err, text)
			}
		}
	}
}

// A model of links refuses a graph with other attributes or directions.
func TestLinkRowsOfOtherGraphs(t *testing.T) {
	set := shops(t, nil, nil)
	g := &graph.Graph{Offsets: set.Graph.Offsets, Neighbors: set.Graph.Neighbors}
	for _, s := range choose.Links(g) {
		ask := func(g *graph.Graph) error {
			fold := links.Fold{Graph: g, Pairs: []links.Pair{{0, 1}, {0, 7}}, Link: []bool{true, false}}
			return choose.LinkRows(fold)(s.Recipe).To(&sinks.Collect{}).Run(t.Context())
		}
		if err := ask(g); err != nil {
			t.Error(err)
		}
		directed, features := *g, sources.NodeSet{Graph: &graph.Graph{Offsets: g.Offsets, Neighbors: g.Neighbors}}
		directed.Directed = true
		if err := features.Identify(); err != nil {
			t.Fatal(err)
		}
		if err := ask(&directed); err == nil || !strings.Contains(err.Error(), "are directed") {
			t.Errorf("%s: %v", s.Name, err)
		}
		if err := ask(features.Graph); err == nil || !strings.Contains(err.Error(), "in node_sparse, want none") {
			t.Errorf("%s: %v", s.Name, err)
		}
	}
}

// Numbers become those of the offsets of a model.
func TestAdaptOffsets(t *testing.T) {
	g := &graph.Graph{NodeAttrs: 2, NodeAttr: []float32{1, 2, 3, 4}, Offsets: []int32{0, 0, 0}}
	layout := func(by float64) record.Layout {
		return record.Layout{NodeAttr: []record.Channel{{Name: "a"}, {Name: "time", Offset: by}}}
	}
	adapted, _, err := choose.Adapt(g, layout(1.7e9+5), layout(1.7e9))
	if err != nil || !slices.Equal(adapted.NodeAttr, []float32{1, 7, 3, 9}) || g.NodeAttr[1] != 2 {
		t.Errorf("%v, %v", adapted, err)
	}
}

// The attributes of a graph are found by name, whichever others it has.
func TestAdaptByName(t *testing.T) {
	kind := record.Channel{Name: "kind", Card: 3, Words: []string{"a", "b"}}
	town := record.Channel{Name: "town", Card: 4, Words: []string{"k", "l", "m"}}
	of := func(names ...record.Channel) record.Layout { return record.Layout{NodeCat: names} }
	g := &graph.Graph{NodeCats: 2, NodeCat: []int32{0, 2, 1, 1, 0, 3}, Offsets: []int32{0, 0, 0, 0}}
	for _, c := range []struct {
		to   record.Layout
		want []int32
	}{
		{of(kind, town), []int32{0, 2, 1, 1, 0, 3}},
		{of(town, kind), []int32{2, 0, 1, 1, 3, 0}},
		{of(town), []int32{2, 1, 3}},
		{of(), nil},
	} {
		adapted, unseen, err := choose.Adapt(g, of(kind, town), c.to)
		if err != nil || unseen != 0 || !slices.Equal(adapted.NodeCat, c.want) || adapted.NodeCats != len(c.to.NodeCat) {
			t.Errorf("%v: %v, %d, %v", c.to.NodeCat, adapted, unseen, err)
		}
	}
	if _, _, err := choose.Adapt(g, of(kind, kind), of(kind)); err == nil {
		t.Error("no error for a name of two channels")
	}
	if _, _, err := choose.Adapt(g, of(kind), of(town)); err == nil || !strings.Contains(err.Error(), `the model reads ["town"]`) {
		t.Errorf("another name: %v", err)
	}
}

// Equal names of channels are not enough: the columns behind them are compared, in Go as in the command.
func TestAdaptComparesColumns(t *testing.T) {
	weight := record.Channel{Name: "weight"}
	layout := func(c record.Columns) record.Layout {
		return record.Layout{EdgeAttr: []record.Channel{weight}, Columns: c}
	}
	set := must(sources.Tables{Edges: sources.EdgeTable{
		Table: sources.CSV{Path: "e.csv", Reader: strings.NewReader("source,target,amount,fee\n1,2,3,4\n2,3,5,6\n")}, Weight: "amount", Ignore: []string{"fee"},
	}}.Read(t.Context()))
	if want := (record.Columns{Source: "source", Target: "target", Weight: "amount"}); set.Layout.Columns != want {
		t.Errorf("the tables have the columns %+v, want %+v", set.Layout.Columns, want)
	}
	again := must(record.LayoutOf(set.Layout.Schema()))
	if again.Columns != set.Layout.Columns {
		t.Errorf("the schema has the columns %+v", again.Columns)
	}
	for _, c := range []struct {
		of   record.Columns
		want string
	}{
		{record.Columns{}, ""},
		{record.Columns{Weight: "amount"}, ""},
		{record.Columns{Weight: "amount", Type: "kind", ID: "name"}, ""}, // that the tables do not have
		{record.Columns{Weight: "fee"}, `the weight of the graphs is the column "amount", want "fee"`},
		{record.Columns{Source: "source"}, `the weight of the graphs is the column "amount", want "weight"`}, // an attribute of that name
		{record.Columns{Weight: "amount", Source: "from"}, `the source of the graphs is the column "source", want "from"`},
		{record.Columns{Weight: "amount", Target: "source", Source: "target"}, `the source of the graphs is the column "source", want "target"`},
	} {
		to := layout(c.of)
		_, _, adapted := choose.Adapt(set.Items[0].Graph, set.Layout, to)
		_, opened := flow.OpenDirect(set.Layout.Schema(), flow.Options{}, operators.Expect{Layout: to})
		for _, err := range []error{adapted, opened} {
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%+v: %v, want %q", c.of, err, c.want)
			}
		}
	}
	to := layout(record.Columns{})
	to.Directed = true
	if _, _, err := choose.Adapt(set.Items[0].Graph, set.Layout, to); err == nil || !strings.Contains(err.Error(), "directed is false, want true") {
		t.Errorf("another direction: %v", err)
	}
}
