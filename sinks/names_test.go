package sinks_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/flowtest"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

// atoms are rings of 5 and 6 atoms: a class each, with one atom of a kind that tells
// the class. A file names atoms by its own list of words, in any order.
func atoms(t *testing.T, words []string, n int) sources.Graphs {
	t.Helper()
	sorted, place := record.SortWords(words)
	of := func(word string) int32 { return place[slices.Index(words, word)] }
	rng := rand.New(rand.NewPCG(1, 2))
	layout := record.Layout{NodeCat: []record.Channel{record.WordsChannel("atom", sorted)}, Classes: []string{"a", "b"}, NodeIDs: graph.StringIDs}
	var items []sources.Item
	for i := range n {
		size, class := 5+rng.IntN(2), int32(i%2)
		var edges []graph.Edge
		for v := range int32(size) {
			edges = append(edges, graph.Edge{U: v, V: (v + 1) % int32(size)})
		}
		g, err := graph.New(size, false, edges)
		if err != nil {
			t.Fatal(err)
		}
		g.NodeCats = 1
		var ids []string
		for v := range size {
			g.NodeCat = append(g.NodeCat, of("carbon"))
			ids = append(ids, fmt.Sprintf("%c%d", 'z'-v, i))
		}
		g.NodeCat[rng.IntN(size)] = of([]string{"nitrogen", "oxygen"}[class])
		names, err := graph.IDsOfStrings(ids)
		if err != nil {
			t.Fatal(err)
		}
		items = append(items, sources.Item{Graph: g, Class: class, NodeID: names})
	}
	return sources.Graphs{Items: items, Layout: layout}
}

// wordsModel trains on a source, and returns the file of the model.
func wordsModel(t *testing.T, src sources.Graphs, workers int) []byte {
	t.Helper()
	recipe := operators.Recipe{operators.Expect{Layout: src.Layout}, operators.Select{W: 6}, operators.Normalize{K: 4}}
	net := &nn.CNN{Seed: 3}
	err := recipe.Onto(flow.From(src).Via(operators.MaskWords{Rate: 0.1, Seed: 9})).Via(operators.Replay{Epochs: 20, Seed: 1, Rows: 10}).
		To(sinks.Train{Net: net}).With(flow.Options{Allocator: flowtest.Mem(t), Workers: workers}).Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if err := sinks.Write(&file, net, recipe); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// A model depends neither on the order in which a file has its words, nor on workers; it
// answers the same for graphs of a file with other words, and counts those that it does
// not know.
func TestWordsOfAFile(t *testing.T) {
	words := []string{"oxygen", "carbon", "nitrogen"}
	want := wordsModel(t, atoms(t, words, 60), 1)
	for _, permuted := range [][]string{{"carbon", "nitrogen", "oxygen"}, {"nitrogen", "oxygen", "carbon"}} {
		if got := wordsModel(t, atoms(t, permuted, 60), 3); !bytes.Equal(got, want) {
			t.Errorf("the words in the order %q make another model", permuted)
		}
	}
	p, err := sinks.Read(bytes.NewReader(want))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	more := []string{"boron", "oxygen", "argon", "nitrogen", "carbon"}
	other, err := p.For(atoms(t, more, 0).Layout)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	same, foreign := atoms(t, words, 40), atoms(t, more, 40)
	right := 0
	for i, item := range same.Items {
		a, err1 := p.Predict(t.Context(), item.Graph)
		b, err2 := other.Predict(t.Context(), foreign.Items[i].Graph)
		if err1 != nil || err2 != nil || !slices.Equal(a.Probs, b.Probs) {
			t.Fatalf("graph %d: %v and %v; %v, %v", i, a, b, err1, err2)
		}
		if a.Index == int(item.Class) {
			right++
		}
	}
	if right < 38 {
		t.Errorf("%d of 40 answers are right", right)
	}
	if p.Unseen() != 0 || other.Unseen() != 0 {
		t.Errorf("%d and %d unseen words", p.Unseen(), other.Unseen())
	}
	g := *foreign.Items[0].Graph
	g.NodeCat = slices.Repeat([]int32{0}, g.N()) // argon
	if _, err := other.Predict(t.Context(), &g); err != nil || other.Unseen() != int64(g.N()) {
		t.Errorf("%d unseen words of %d; %v", other.Unseen(), g.N(), err)
	}
	if _, err := p.For(record.Layout{}); err == nil {
		t.Error("graphs without words pass")
	}
}

// Predictions have the ids of their roots, in a stream and of an open graph.
func TestIDsOfRoots(t *testing.T) {
	src := atoms(t, []string{"carbon", "nitrogen", "oxygen"}, 8)
	for i := range src.Items {
		src.Items[i].NodeClass = make([]int32, src.Items[i].Graph.N())
		src.Items[i].NodeClass[0] = 1
	}
	src.Layout.NodeClasses, src.Layout.Classes = []string{"other", "first"}, nil
	for i := range src.Items {
		src.Items[i].Class = 0
	}
	recipe := operators.Recipe{operators.Expect{Layout: src.Layout}, operators.Select{W: 6}, operators.Normalize{K: 4, Distances: 3}, operators.PerRoot{}}
	net := &nn.Pooled{}
	if err := recipe.Onto(flow.From(src)).Via(operators.Batch{Size: 8}).To(sinks.Train{Net: net}).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	seen := 0
	err := recipe.Onto(flow.From(src)).To(sinks.Predict{Net: net, Each: func(p sinks.Prediction) error {
		if want := fmt.Sprintf("%c%d", 'z'-p.Root, p.Graph); p.ID.String() != want {
			return fmt.Errorf("root %d of graph %d has the id %q, want %q", p.Root, p.Graph, p.ID, want)
		}
		seen++
		return nil
	}}).With(flow.Options{Allocator: flowtest.Mem(t), Workers: 2}).Run(t.Context())
	if err != nil || seen == 0 {
		t.Fatal(seen, err)
	}
	roots := operators.Recipe{recipe[0], operators.Roots{Nodes: []int32{0}}, recipe[2], recipe[3]}
	p, err := sinks.NewPredictor(net, roots)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	g := src.Items[3].Graph
	list := []int64{math.MaxInt64, -7, 0, 5, 6, 7}[:g.N()]
	open, err := p.OpenIDs(t.Context(), g, graph.IDsOf(list))
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	answers, err := open.Predict(t.Context(), 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(answers[0])
	if err != nil || !bytes.Contains(text, []byte(`"id":9223372036854775807`)) || answers[1].ID != graph.IDOf(-7) {
		t.Errorf("%s, %v", text, answers[1].ID)
	}
	var back sinks.Answer
	if err := json.Unmarshal(text, &back); err != nil || back.ID != answers[0].ID {
		t.Errorf("%v, %v", back.ID, err)
	}
	if _, err := p.OpenIDs(t.Context(), g, graph.IDsOf(list[:1])); err == nil {
		t.Error("too few ids pass")
	}
}
