package sinks_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"gorgonia.org/tensor"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/count"
	"github.com/sanflow/sanflow/operators/field"
	"github.com/sanflow/sanflow/operators/labeling"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/generate"
)

// familiar is how the families of graphs become fields.
func familiar() operators.Recipe {
	return operators.Recipe{
		operators.Expect{Layout: record.Layout{Classes: []string{"ring", "grid", "tree", "small world", "hubs", "random"}}},
		operators.Channel{By: labeling.NormalizedDegree},
		operators.Select{W: 20},
		operators.Assemble{K: 6},
		operators.Normalize{},
	}
}

// collectedGraphs returns the graphs of a source.
func collectedGraphs(t testing.TB, src flow.Source) (list []*graph.Graph, layout record.Layout) {
	t.Helper()
	var all sinks.Collect
	if err := flow.From(src).To(&all).Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(all.Release)
	for _, rec := range all.Records() {
		gs, err := record.GraphsOf(rec)
		if err != nil {
			t.Fatal(err)
		}
		layout = gs.Layout
		for row := range gs.Len() {
			g := new(graph.Graph)
			gs.At(row, g)
			list = append(list, g)
		}
	}
	return list, layout
}

// trained returns a network, its recipe, and what a pipeline says of graphs.
func trained(t testing.TB, src flow.Source, layout record.Layout) (*nn.CNN, operators.Recipe, []sinks.Prediction) {
	t.Helper()
	recipe := familiar()
	recipe[0] = operators.Expect{Layout: layout}
	net := &nn.CNN{Seed: 1, Dropout: -1, Size2: 3}
	err := recipe.Onto(flow.From(src)).Via(operators.Batch{Size: 16}).To(sinks.Train{Net: net}).Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return net, recipe, asked(t, net, recipe, src)
}

func asked(t testing.TB, net nn.Model, recipe operators.Recipe, src flow.Source) (said []sinks.Prediction) {
	t.Helper()
	err := recipe.Onto(flow.From(src)).To(sinks.Predict{Net: net, Each: func(p sinks.Prediction) error {
		p.Probs = slices.Clone(p.Probs)
		said = append(said, p)
		return nil
	}}).Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return said
}

// The loaded file predicts, graph by graph and from many goroutines at once, the same
// as the pipeline.
func TestSaveLoadPredict(t *testing.T) {
	src := sources.Families{Graphs: 48, Rows: 16}
	graphs, layout := collectedGraphs(t, src)
	net, recipe, want := trained(t, src, layout)
	file := filepath.Join(t.TempDir(), "model.safetensors")
	if err := sinks.Save(file, net, recipe); err != nil {
		t.Fatal(err)
	}
	p, err := sinks.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(p.Classes(), layout.Classes) || p.Recipe().String() != recipe.String() {
		t.Errorf("classes %q, recipe %v", p.Classes(), p.Recipe())
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for i, g := range graphs {
				a, err := p.Predict(context.Background(), g)
				if err != nil || !slices.Equal(a.Probs, want[i].Probs) || a.Class != layout.Classes[want[i].Class] || a.Index != want[i].Class || a.Root != -1 {
					t.Errorf("graph %d: %+v, %v, want %+v", i, a, err, want[i])
					return
				}
			}
		})
	}
	all.Wait()
	var again bytes.Buffer
	if err := sinks.Write(&again, net, recipe); err != nil {
		t.Fatal(err)
	}
	if q, err := sinks.Read(&again); err != nil || q.Net().(*nn.CNN).Hash() != net.Hash() {
		t.Errorf("from a stream: %v", err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Predict(context.Background(), graphs[0]); err == nil {
		t.Error("a closed predictor answers")
	}
}

// What is wrong with one graph is told, and the next is answered.
func TestPredictorErrors(t *testing.T) {
	src := sources.Families{Graphs: 32, Rows: 16}
	graphs, layout := collectedGraphs(t, src)
	net, recipe, want := trained(t, src, layout)
	p, err := sinks.NewPredictor(net, recipe)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	colours := *graphs[0]
	colours.NodeCats, colours.NodeCat = 1, make([]int32, colours.N())
	directed := *graphs[0]
	directed.Directed = true
	gone, cancel := context.WithCancelCause(context.Background())
	cancel(errors.New("the client has gone"))
	for _, test := range []struct {
		ctx  context.Context
		g    *graph.Graph
		want string
	}{
		{context.Background(), &graph.Graph{Offsets: []int32{0, 1, 2}, Neighbors: []int32{1, 7}}, "7"},
		{context.Background(), &graph.Graph{Offsets: []int32{0, 5}, Neighbors: []int32{0}}, ""},
		{context.Background(), &colours, "node_cat has 1"},
		{context.Background(), &directed, "directed"},
		{gone, graphs[0], "the client has gone"},
		{context.Background(), nil, "the graph is nil"},
	} {
		if a, err := p.Predict(test.ctx, test.g); err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%+v, %v, want %q", a, err, test.want)
		}
		if a, err := p.Predict(context.Background(), graphs[3]); err != nil || !slices.Equal(a.Probs, want[3].Probs) {
			t.Errorf("after %q: %+v, %v", test.want, a, err)
		}
	}
	for _, test := range []struct {
		net    nn.Model
		recipe operators.Recipe
		want   string
	}{
		{net, recipe[1:], "operators.Expect"},
		{net, append(recipe[:3:3], operators.Assemble{K: 5}, operators.Normalize{}), "6 nodes a field"},
		{&nn.CNN{}, recipe, "neither been initialised nor loaded"},
		{nil, recipe, "the model is nil"},
	} {
		if _, err := sinks.NewPredictor(test.net, test.recipe); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v, want %q", err, test.want)
		}
		noted, ok := test.net.(nn.Saver)
		if !ok && test.net != nil {
			continue
		}
		if err := sinks.Write(io.Discard, noted, test.recipe); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("Write: %v, want %q", err, test.want)
		}
	}
	if _, err := sinks.Load(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a file that is not there was loaded")
	}
	var bare bytes.Buffer
	if err := (&nn.CNN{Dropout: -1}).Save(&bare); err == nil {
		t.Error("a model that is not there was saved")
	}
	if err := net.Save(&bare); err != nil {
		t.Fatal(err)
	}
	if _, err := sinks.Read(&bare); err == nil || !strings.Contains(err.Error(), "how its fields were made") {
		t.Errorf("without a recipe: %v", err)
	}
}

// While the model learns, its answers are those of the last Update.
func TestPredictorUpdate(t *testing.T) {
	src := sources.Families{Graphs: 64, Rows: 16}
	graphs, layout := collectedGraphs(t, src)
	net, recipe, before := trained(t, src, layout)
	p, err := sinks.NewPredictor(net, recipe)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	stop := make(chan struct{})
	var asking sync.WaitGroup
	asking.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			if _, err := p.Predict(context.Background(), graphs[i%len(graphs)]); err != nil {
				t.Error(err)
				return
			}
		}
	})
	steps := 0
	err = recipe.Onto(flow.From(src)).Via(operators.Batch{Size: 8}).To(sinks.Train{Net: net, OnStep: func(nn.Result) error {
		if steps++; steps < 5 {
			return nil
		}
		return p.Update(net)
	}}).Run(context.Background())
	close(stop)
	asking.Wait()
	if err != nil {
		t.Fatal(err)
	}
	after := asked(t, net, recipe, src)
	a, err := p.Predict(context.Background(), graphs[7])
	if err != nil || !slices.Equal(a.Probs, after[7].Probs) || slices.Equal(a.Probs, before[7].Probs) {
		t.Errorf("%+v, %v, want %v", a, err, after[7].Probs)
	}
}

// A model of other classes, or for other fields, cannot take the place of one.
func TestPredictorUpdateOther(t *testing.T) {
	src := sources.Families{Graphs: 32, Rows: 16}
	_, layout := collectedGraphs(t, src)
	net, recipe, _ := trained(t, src, layout)
	p, err := sinks.NewPredictor(net, recipe)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for name, change := range map[string]func(*nn.Shape){
		"classes": func(s *nn.Shape) { s.Classes += 3 },
		"fields":  func(s *nn.Shape) { s.W -= 5 },
	} {
		other, shape := &nn.CNN{Seed: 1}, net.Shape()
		change(&shape)
		if err := other.Init(shape); err != nil {
			t.Fatal(err)
		}
		if err := p.Update(other); err == nil || !strings.Contains(err.Error(), "is for fields of") {
			t.Errorf("other %s: %v", name, err)
		}
	}
}

// A recipe that makes a row of every node.
func TestPredictAll(t *testing.T) {
	rings := bonds(t, 3)
	recipe := operators.Recipe{
		operators.Expect{Layout: record.Layout{NodeCat: []record.Channel{{Name: "colour", Card: 1}}, EdgeCat: []record.Channel{{Name: "bond", Card: 2}}, Real: true}},
		operators.Select{}, operators.Chunk{Size: 2}, operators.Assemble{K: 3}, operators.Normalize{Edges: true}, operators.PerRoot{},
	}
	_, layout := collectedGraphs(t, rings)
	recipe[0] = operators.Expect{Layout: layout}
	net := &nn.PSLR{}
	if err := net.Init(nn.Shape{W: 1, K: 3, Cats: []int{1}, EdgeCats: []int{2}}); err != nil {
		t.Fatal(err)
	}
	if err := net.SetWeights(net.AppendWeights(nil)); err != nil { // it has learned nothing, and means it
		t.Fatal(err)
	}
	p, err := sinks.NewPredictor(net, recipe)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	all, err := p.PredictAll(context.Background(), rings.Items[0].Graph)
	if err != nil || len(all) != 8 || all[5].Root != 5 || all[5].Index != -1 || all[5].Class != "" {
		t.Errorf("%+v, %v", all, err)
	}
	if _, err := p.Predict(context.Background(), rings.Items[0].Graph); err == nil || !strings.Contains(err.Error(), "8 answers") {
		t.Errorf("%v", err)
	}
}

// What a Predictor costs beyond the calls that it makes: the same fields and the
// same network, by Predict and by hand.
//
//	go test ./sinks -run '^$' -bench BenchmarkPredictor -cpu 1
func BenchmarkPredictor(b *testing.B) {
	src := sources.Families{Graphs: 64, Rows: 16}
	graphs, layout := collectedGraphs(b, src)
	net, recipe, want := trained(b, src, layout)
	p, err := sinks.NewPredictor(net, recipe)
	if err != nil {
		b.Fatal(err)
	}
	defer p.Close()
	byHand := direct(net)
	for i, g := range graphs {
		if got := byHand(b, g); !slices.Equal(got, want[i].Probs) {
			b.Fatalf("graph %d by hand: %v, want %v", i, got, want[i].Probs)
		}
	}
	for _, way := range []struct {
		name string
		f    func(g *graph.Graph)
	}{
		{"Predict", func(g *graph.Graph) {
			if _, err := p.Predict(context.Background(), g); err != nil {
				b.Fatal(err)
			}
		}},
		{"by hand", func(g *graph.Graph) { byHand(b, g) }},
	} {
		b.Run(way.name, func(b *testing.B) {
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				way.f(graphs[n%len(graphs)])
				n++
			}
		})
	}
}

// direct is the recipe familiar, and a network behind it, without records.
func direct(net nn.Predictor) func(b testing.TB, g *graph.Graph) []float32 {
	const w, k = 20, 6
	var walk field.Assembler
	norm := field.Normalizer{K: k, Cache: field.NewCache(1 << 20)}
	ask := net.Clone()
	return func(b testing.TB, g *graph.Graph) []float32 {
		labels, by := make([]float64, g.N()), make([]float64, g.N())
		if err := errors.Join(
			labeling.Compute(labeling.NormalizedDegree, labeling.Input{Graph: g}, labels),
			labeling.Compute(labeling.Betweenness, labeling.Input{Graph: g}, by),
		); err != nil {
			b.Fatal(err)
		}
		attributed := *g
		attributed.NodeAttrs, attributed.NodeAttr = 1, make([]float32, g.N())
		for v, x := range labels {
			attributed.NodeAttr[v] = float32(x)
		}
		order, _, err := labeling.Rank(context.Background(), &attributed, by)
		if err != nil {
			b.Fatal(err)
		}
		members, attrs := make([]int32, w*k), make([]float32, w*k)
		for i := range members {
			members[i] = -1
		}
		ix := field.NewIndex(&attributed, field.Both)
		for i, root := range order[:min(w, len(order))] {
			hood, dist := walk.Assemble(ix, root, k)
			if err := norm.Normalize(ix, hood, dist, nil, members[i*k:(i+1)*k]); err != nil {
				b.Fatal(err)
			}
		}
		field.NodeAttrs(&attributed, members, attrs)
		said, err := ask.Predict(nn.Batch{Attrs: tensor.New(tensor.WithShape(1, w, k, 1), tensor.WithBacking(attrs))}, nil)
		if err != nil {
			b.Fatal(err)
		}
		return said.Float32s()
	}
}

// Roots that a call names are those of the rows, and answers are what Predict says of
// them.
func TestPredictRoots(t *testing.T) {
	ctx, set := t.Context(), &sources.NodeSet{Classes: []string{"a", "b"}}
	var err error
	if set.Graph, err = generate.RingOfCliques(6, 5); err != nil {
		t.Fatal(err)
	}
	var all []int32
	for v := range int32(30) {
		set.Class, all = append(set.Class, v/15), append(all, v)
	}
	if err := set.Identify(); err != nil {
		t.Fatal(err)
	}
	around := operators.Count{Of: []count.Counter{count.Around{Hops: 1}}, DropGraph: true}
	rows := flow.From(set.Rooted(all)).Via(around)
	net := nn.Best()
	if _, err := (sinks.Fit{Net: net, Epochs: 3}).Run(ctx, rows); err != nil {
		t.Fatal(err)
	}
	expect := operators.Expect{Layout: set.Rooted(nil).Layout}
	p, err := sinks.NewPredictor(net, operators.Recipe{expect, operators.Roots{Nodes: []int32{-1}}, around})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	err = rows.To(sinks.Predict{Net: net, Each: func(want sinks.Prediction) error {
		got, err := p.PredictRoots(ctx, set.Graph, want.Root)
		if err != nil || len(got) != 1 || got[0].Root != want.Root || got[0].Index != want.Class || !slices.Equal(got[0].Probs, want.Probs) {
			t.Errorf("node %d: %v, %+v, want %v", want.Root, err, got, want.Probs)
		}
		return nil
	}}).Run(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []int32{30, -2} {
		if _, err := p.PredictRoots(ctx, set.Graph, bad); err == nil || !strings.Contains(err.Error(), "is not among the 30 nodes") {
			t.Errorf("root %d: %v", bad, err)
		}
	}
	if _, err := p.PredictRoots(ctx, set.Graph); err == nil || !strings.Contains(err.Error(), "there are 0 nodes") {
		t.Errorf("no roots: %v", err)
	}
	q, err := sinks.NewPredictor(net, operators.Recipe{expect, operators.Select{W: 1}, around})
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	if _, err := q.PredictRoots(ctx, set.Graph, 1); err == nil || !strings.Contains(err.Error(), "the recipe has no operators.Roots") {
		t.Errorf("without Roots: %v", err)
	}
}
