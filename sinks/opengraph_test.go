package sinks_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/internal/leak"
	"github.com/sanflow/sanflow/internal/propagation"
	"github.com/sanflow/sanflow/internal/race"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/count"
	"github.com/sanflow/sanflow/operators/labeling"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sinks/choose"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/generate"
	"github.com/sanflow/sanflow/sources/links"
)

// halves is a graph with hubs, of whose nodes the first half is of one class, and has
// attributes of its own.
func halves(t testing.TB, n int) *sources.NodeSet {
	t.Helper()
	g, err := generate.PreferentialAttachment(n, 2, 1)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	set := &sources.NodeSet{Graph: g, Classes: []string{"first half", "second half"}}
	g.SparseCard, g.SparseOffsets = 8, []int32{0}
	for v := range n {
		half := int32(2 * v / n)
		set.Class = append(set.Class, half)
		g.NodeSparse = append(g.NodeSparse, rng.Int32N(4)+4*half)
		g.SparseOffsets = append(g.SparseOffsets, int32(len(g.NodeSparse)))
	}
	return set
}

// openTrial is a recipe and the model that its rows are for.
type openTrial struct {
	name   string
	recipe operators.Recipe // without Expect
	net    nn.Model
}

func openTrials(set *sources.NodeSet) []openTrial {
	fields := func(name string, ops ...flow.Operator) openTrial {
		return openTrial{name, ops, &nn.Pooled{Seed: 1, Maps: 8}}
	}
	one := operators.Roots{Nodes: []int32{-1}}
	none := slices.Repeat([]int32{-1}, 7)
	distances := operators.Normalize{K: 6, Distances: 3}
	around := func(a count.Around) flow.Operator {
		return operators.Count{Of: []count.Counter{a}, DropGraph: true}
	}
	return []openTrial{
		{"words", operators.Recipe{one, around(count.Around{})}, nn.Best()},
		{"words with beliefs", operators.Recipe{
			operators.Beliefs{Names: set.Classes, Probs: slices.Repeat([]float32{0.25, 0.75}, set.Graph.N()*len(set.Classes))[:set.Graph.N()*len(set.Classes)]},
			one, around(count.Around{Hops: 2, Beliefs: operators.Beliefs{Names: set.Classes}.Channels()}),
		}, nn.Best()},
		{"pairs", operators.Recipe{operators.Roots{Nodes: []int32{-1, -1}}, operators.Count{Of: []count.Counter{count.Pair{}}, DropGraph: true}}, nn.Best()},
		fields("chunks", one, operators.Chunk{Size: 256}, operators.Assemble{K: 6}, operators.Normalize{Distances: 3}, operators.PerRoot{}),
		fields("bounded", one, operators.Chunk{Size: 3}, operators.Assemble{K: 6, Bound: 8}, operators.Normalize{Distances: 3}, operators.PerRoot{}),
		fields("without chunks", operators.Roots{Nodes: none}, distances, operators.PerRoot{}),
		fields("labels of all nodes", one, operators.Chunk{Size: 1}, operators.Normalize{K: 6, By: labeling.Betweenness, Global: true, Distances: 3}, operators.PerRoot{}),
		fields("propagated attributes", operators.Propagate{Sparse: true, Unit: true}, one, operators.Chunk{}, operators.Normalize{K: 1, Distances: 3}, operators.PerRoot{}),
		fields("known classes", operators.Channel{By: labeling.NormalizedDegree}, one, operators.Chunk{}, distances,
			operators.PerRoot{}, operators.KnownClasses{Class: set.Class, Names: set.Classes}),
	}
}

// stream returns the rows of these roots.
func (o openTrial) stream(set *sources.NodeSet, roots []int32) flow.Pipeline {
	src := set.Rooted(roots)
	if o.name == "pairs" {
		src.Layout, src.W = links.Layout(set.Graph), 2
		src.Graphs[0].Target = make([]int32, len(roots)/2)
	}
	if strings.HasPrefix(o.name, "words") || o.name == "pairs" {
		ahead := slices.DeleteFunc(slices.Clone(o.recipe), func(op flow.Operator) bool { _, ok := op.(operators.Roots); return ok })
		return ahead.Onto(flow.From(src))
	}
	recipe := slices.Clone(o.recipe)
	for i, op := range recipe {
		if _, ok := op.(operators.Roots); ok {
			recipe[i] = operators.Roots{Nodes: roots}
		}
	}
	return recipe.Onto(flow.From(set))
}

// predictor trains the model for a step, and returns it with what a stream over all
// roots says.
func (o openTrial) predictor(t testing.TB, set *sources.NodeSet, roots []int32) (p *sinks.Predictor, want []sinks.Answer) {
	t.Helper()
	ctx := context.Background()
	if err := o.stream(set, roots).Via(operators.Batch{Size: 16}).To(sinks.Train{Net: o.net}).Run(ctx); err != nil {
		t.Fatal(err)
	}
	err := o.stream(set, roots).To(sinks.Predict{Net: o.net, Each: func(p sinks.Prediction) error {
		a := sinks.Answer{Index: p.Class, Probs: slices.Clone(p.Probs), Root: p.Root}
		want = append(want, a)
		return nil
	}}).Run(ctx)
	if err != nil {
		t.Fatal(err)
	}
	layout := set.Rooted(nil).Layout
	switch {
	case o.name == "pairs":
		layout = links.Layout(set.Graph)
	case !strings.HasPrefix(o.name, "words"):
		layout = set.Layout()
	}
	p, err = sinks.NewPredictor(o.net, append(operators.Recipe{operators.Expect{Layout: layout}}, o.recipe...))
	if err != nil {
		t.Fatal(err)
	}
	for i := range want {
		want[i].Class = p.Classes()[want[i].Index]
	}
	return p, want
}

// An open graph says of nodes, one by one or several, from several goroutines, what a
// stream over all nodes says, and what PredictRoots says: to the byte.
func TestOpenGraph(t *testing.T) {
	const n = 150
	set := halves(t, n)
	for _, trial := range race.Some(openTrials(set)) {
		t.Run(trial.name, func(t *testing.T) {
			defer leak.VerifyNone(t)
			width, roots := 1, []int32(nil)
			for v := range int32(n) {
				roots = append(roots, v)
			}
			set := set
			if trial.name == "pairs" { // of nodes that are not joined, as a stream has them
				width = 2
				apart := *set
				for v := int32(0); v < n; v += 2 {
					if apart.Graph.Entry(v, v+1) >= 0 {
						var err error
						if apart.Graph, err = apart.Graph.Without(nil, []graph.Edge{{U: v, V: v + 1}}); err != nil {
							t.Fatal(err)
						}
					}
				}
				set = &apart
			}
			p, want := trial.predictor(t, set, roots)
			defer p.Close()
			if len(want) != n/width {
				t.Fatalf("a stream has %d answers", len(want))
			}
			mine := *set.Graph
			mine.Neighbors = slices.Clone(mine.Neighbors)
			open, err := p.Open(t.Context(), &mine)
			if err != nil {
				t.Fatal(err)
			}
			for i := range mine.Neighbors { // the graph has been copied
				mine.Neighbors[i] = -5
			}
			var asking sync.WaitGroup
			for seed := range uint64(4) {
				asking.Go(func() {
					rng := rand.New(rand.NewPCG(seed, 2))
					for range 60 {
						some := 1 + rng.IntN(1+int(seed)*3)
						var nodes []int32
						var expect []sinks.Answer
						for range some {
							i := rng.IntN(len(want))
							nodes = append(nodes, roots[i*width:(i+1)*width]...)
							expect = append(expect, want[i])
						}
						got, err := open.Predict(t.Context(), nodes...)
						if err != nil || !reflect.DeepEqual(got, expect) {
							t.Errorf("nodes %v: %v\n%+v, want\n%+v", nodes, err, got, expect)
							return
						}
					}
				})
			}
			asking.Wait()
			for i := range 5 {
				got, err := p.PredictRoots(t.Context(), set.Graph, roots[i*width:(i+1)*width]...)
				if err != nil || !reflect.DeepEqual(got, want[i:i+1]) {
					t.Errorf("PredictRoots of row %d: %v, %+v, want %+v", i, err, got, want[i])
				}
			}
			if err := errors.Join(open.Close(), open.Close()); err != nil {
				t.Error(err)
			}
			if _, err := open.Predict(t.Context(), roots[:width]...); err == nil || !strings.Contains(err.Error(), "closed") {
				t.Errorf("after Close: %v", err)
			}
		})
	}
}

// counted is a labeling that counts its calls.
type counted struct{ calls *atomic.Int64 }

func (c counted) String() string { return "counted" }

func (c counted) Label(in labeling.Input, labels []float64) error {
	c.calls.Add(1)
	return labeling.Compute(labeling.Degree, in, labels)
}

// What needs all nodes is computed once, by Open, whatever is asked, and also by those
// that were refused or cancelled.
func TestOpenGraphOnce(t *testing.T) {
	defer leak.VerifyNone(t)
	set, calls := halves(t, 200), new(atomic.Int64)
	trial := openTrial{"once", operators.Recipe{
		operators.Channel{By: counted{calls}}, operators.Roots{Nodes: []int32{-1}}, operators.Chunk{},
		operators.Normalize{K: 6, By: counted{calls}, Global: true, Distances: 3}, operators.PerRoot{},
	}, &nn.Pooled{Seed: 1, Maps: 4}}
	p, _ := trial.predictor(t, set, []int32{1, 2, 3})
	defer p.Close()
	calls.Store(0)
	open, err := p.Open(t.Context(), set.Graph)
	if err != nil || calls.Load() != 2 {
		t.Fatalf("%v, Open has computed %d labelings, want 2", err, calls.Load())
	}
	defer open.Close()
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		ctx   context.Context
		nodes []int32
		want  string
	}{
		{t.Context(), []int32{200}, "root 200 is not among the 200 nodes"}, {t.Context(), []int32{-2}, "root -2 is not among"},
		{t.Context(), nil, "there are 0 nodes"}, {gone, []int32{1}, "canceled"},
	} {
		if _, err := open.Predict(c.ctx, c.nodes...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %s", c.nodes, err, c.want)
		}
	}
	var asking sync.WaitGroup
	for range 8 {
		asking.Go(func() {
			for v := range int32(50) {
				if _, err := open.Predict(t.Context(), v, 199-v); err != nil {
					t.Error(err)
				}
			}
		})
	}
	asking.Wait()
	if n := calls.Load(); n != 2 {
		t.Errorf("%d labelings were computed, want those of Open alone", n)
	}
	if _, err := p.Open(gone, set.Graph); !errors.Is(err, context.Canceled) {
		t.Errorf("Open after the end of the context: %v", err)
	}
	if _, err := p.Open(t.Context(), &graph.Graph{Offsets: []int32{0, 1}, Neighbors: []int32{9}}); err == nil || !strings.Contains(err.Error(), "neighbour 9") {
		t.Errorf("Open of a damaged graph: %v", err)
	}
	if _, err := p.Open(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "nil") {
		t.Errorf("Open of nil: %v", err)
	}
}

// Close while questions are answered ends later ones alone, and what the model learns
// reaches open graphs by Update.
func TestOpenGraphClose(t *testing.T) {
	defer leak.VerifyNone(t)
	set := halves(t, 100)
	trial := openTrials(set)[0]
	p, want := trial.predictor(t, set, []int32{0, 1, 2, 3, 4, 5, 6, 7})
	open, err := p.Open(t.Context(), set.Graph)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil { // which an open graph outlives
		t.Fatal(err)
	}
	var asking sync.WaitGroup
	begun := make(chan struct{}, 4)
	for range 4 {
		asking.Go(func() {
			for i := 0; ; i++ {
				got, err := open.Predict(context.Background(), int32(i%8))
				if err != nil {
					if !strings.Contains(err.Error(), "closed") {
						t.Error(err)
					}
					return
				}
				if !reflect.DeepEqual(got, want[i%8:i%8+1]) {
					t.Errorf("%+v, want %+v", got, want[i%8])
				}
				if i == 3 {
					begun <- struct{}{}
				}
			}
		})
	}
	for range 4 {
		<-begun
	}
	if err := open.Close(); err != nil {
		t.Error(err)
	}
	asking.Wait()
}

func TestOpenGraphUpdate(t *testing.T) {
	set := halves(t, 100)
	trial := openTrials(set)[0]
	roots := []int32{0, 1, 2, 3, 90, 91, 92}
	p, before := trial.predictor(t, set, roots)
	defer p.Close()
	open, err := p.Open(t.Context(), set.Graph)
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	if got, err := open.Predict(t.Context(), 3); err != nil || !reflect.DeepEqual(got, before[3:4]) {
		t.Errorf("%+v, %v", got, err)
	}
	if err := trial.stream(set, roots).To(sinks.Train{Net: trial.net}).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := p.Update(trial.net); err != nil {
		t.Fatal(err)
	}
	if got, err := open.Predict(t.Context(), 3); err != nil || slices.Equal(got[0].Probs, before[3].Probs) {
		t.Errorf("after Update: %+v, %v", got, err)
	}
}

// dropped is an operator that emits nothing.
type dropped struct{}

func (dropped) Open(in *arrow.Schema) (flow.Stage, error) { return droppedStage{in}, nil }

type droppedStage struct{ schema *arrow.Schema }

func (d droppedStage) Schema() *arrow.Schema                     { return d.schema }
func (d droppedStage) Fork() flow.Stage                          { return d }
func (droppedStage) Process(rec arrow.Record, _ *flow.Out) error { return nil }
func (droppedStage) Close() error                                { return nil }

// A recipe that has no row for each root is an error.
func TestOpenGraphRecipe(t *testing.T) {
	set := halves(t, 50)
	trial := openTrials(set)[0]
	p, _ := trial.predictor(t, set, []int32{0, 1})
	defer p.Close()
	expect := p.Recipe()[0]
	for want, r := range map[string]operators.Recipe{
		"the recipe has no operators.Roots": {expect, operators.Select{W: 1}, trial.recipe[1]},
		"do not make one row of a graph":    {expect, dropped{}, trial.recipe[0], trial.recipe[1]},
		"5 nodes, want 2 for each answer":   {expect, operators.Roots{Nodes: []int32{-1, -1}}, trial.recipe[1]},
	} {
		q, err := sinks.NewPredictor(trial.net, r)
		if err != nil {
			t.Fatal(err)
		}
		open, err := q.Open(t.Context(), set.Graph)
		if err == nil {
			_, err = open.Predict(t.Context(), 1, 2, 3, 4, 5)
			open.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
		q.Close()
	}
}

// Smoothed answers are those of a stream over all nodes, once they have propagated over
// the edges, to the byte, with known classes in place of answers and without.
func TestOpenSmoothed(t *testing.T) {
	race.Skip(t)
	const n = 300
	set := halves(t, n)
	var roots []int32
	known := make([]int32, n)
	for v := range int32(n) {
		roots = append(roots, v)
		if known[v] = -1; v%5 == 0 {
			known[v] = set.Class[v]
		}
	}
	for _, trial := range openTrials(set) {
		if trial.name == "pairs" {
			continue
		}
		t.Run(trial.name, func(t *testing.T) {
			defer leak.VerifyNone(t)
			p, all := trial.predictor(t, set, roots)
			defer p.Close()
			for _, s := range []sinks.Smoothing{{}, {Share: 0.5}, {Share: 0.8, Class: known}} {
				var want []float32
				for v, a := range all {
					if s.Class != nil && known[v] >= 0 {
						row := make([]float32, 2)
						row[known[v]] = 1
						a.Probs = row
					}
					want = append(want, a.Probs...)
				}
				if err := (propagation.Walk{Share: s.Share}).Rows(t.Context(), set.Graph, want, 2); err != nil {
					t.Fatal(err)
				}
				open, err := p.OpenSmoothed(t.Context(), set.Graph, s)
				if err != nil {
					t.Fatal(err)
				}
				for _, v := range []int32{0, 7, n - 1, 7} {
					got, err := open.Predict(t.Context(), v, 3)
					if err != nil || len(got) != 2 || got[0].Root != v || !slices.Equal(got[0].Probs, want[2*v:2*v+2]) || !slices.Equal(got[1].Probs, want[6:8]) {
						t.Fatalf("%+v: node %d: %v, %+v, want %v", s, v, err, got, want[2*v:2*v+2])
					}
					index := 0
					if want[2*v+1] > want[2*v] {
						index = 1
					}
					if got[0].Index != index || got[0].Class != set.Classes[index] {
						t.Errorf("%+v: node %d: %+v", s, v, got[0])
					}
				}
				for _, v := range []int32{-1, n} {
					if _, err := open.Predict(t.Context(), v); err == nil || !strings.Contains(err.Error(), "is not among") {
						t.Errorf("node %d: %v", v, err)
					}
				}
				if err := open.Close(); err != nil {
					t.Error(err)
				}
				if _, err := open.Predict(t.Context(), 1); err == nil || !strings.Contains(err.Error(), "closed") {
					t.Errorf("after Close: %v", err)
				}
			}
			for want, s := range map[string]sinks.Smoothing{
				"Share is 1": {Share: 1}, "the classes of 2 nodes": {Class: []int32{0, 1}}, "the class 7 of node 0": {Class: append([]int32{7}, known[1:]...)},
			} {
				if _, err := p.OpenSmoothed(t.Context(), set.Graph, s); err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%v, want %s", err, want)
				}
			}
			gone, cancel := context.WithCancel(t.Context())
			cancel()
			if _, err := p.OpenSmoothed(gone, set.Graph, sinks.Smoothing{}); !errors.Is(err, context.Canceled) {
				t.Errorf("after the end of the context: %v", err)
			}
		})
	}
	if _, err := pairs(t, set).OpenSmoothed(t.Context(), set.Graph, sinks.Smoothing{}); err == nil || !strings.Contains(err.Error(), "has 2 roots") {
		t.Errorf("pairs: %v", err)
	}
}

// pairs is a predictor of pairs of nodes.
func pairs(t *testing.T, set *sources.NodeSet) *sinks.Predictor {
	for _, trial := range openTrials(set) {
		if trial.name == "pairs" {
			p, _ := trial.predictor(t, set, []int32{0, 1, 2, 3})
			t.Cleanup(func() { p.Close() })
			return p
		}
	}
	return nil
}

// A model that is kept with a Smoothing is opened as OpenSmoothed opens it, also once it was
// saved: its Temperature and its Prior apply after the smoothing. A stream of roots asks the open
// graph. Bad metadata are refused.
func TestSmoothingKept(t *testing.T) {
	defer leak.VerifyNone(t)
	set := halves(t, 60)
	roots := set.All()
	for _, trial := range openTrials(set) {
		if trial.name == "pairs" || trial.name == "known classes" || trial.name == "words with beliefs" { // which have no file: models of nodes keep what is known by ids
			continue
		}
		p, _ := trial.predictor(t, set, roots)
		defer p.Close()
		s := sinks.Smoothing{Share: 0.7}
		net := p.Net().(nn.Saver)
		if err := errors.Join(sinks.Temperature(0.4).Keep(net), sinks.Prior{0.8, 0.2}.Keep(net)); err != nil {
			t.Fatal(err)
		}
		calibrated, err := sinks.NewPredictor(net, p.Recipe())
		if err != nil {
			t.Fatal(err)
		}
		defer calibrated.Close()
		p = calibrated
		smoothed, err := p.OpenSmoothed(t.Context(), set.Graph, s)
		if err != nil {
			t.Fatal(err)
		}
		defer smoothed.Close()
		want, err := smoothed.Predict(t.Context(), roots...)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Keep(net); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "model")
		if err := sinks.Save(path, net, p.Recipe()); err != nil {
			t.Fatal(err)
		}
		q, err := sinks.Load(path)
		if err != nil || !q.Smoothed() || p.Smoothed() {
			t.Fatal(err, "or it is not smoothed")
		}
		defer q.Close()
		open, err := q.Open(t.Context(), set.Graph)
		if err != nil {
			t.Fatal(err)
		}
		defer open.Close()
		got, err := open.Predict(t.Context(), roots...)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%s: %v, %v, want %v", trial.name, err, got, want)
		}
		rows := 0
		err = flow.From(set.Rooted(roots)).To(sinks.Predict{Graph: open, Each: func(one sinks.Prediction) error {
			if a := want[rows]; one.Root != a.Root || one.Class != a.Index || !slices.Equal(one.Probs, a.Probs) || one.Target != int(set.Class[one.Root]) {
				t.Errorf("%s: %+v, want %+v", trial.name, one, a)
			}
			rows++
			return nil
		}}).Run(t.Context())
		if err != nil || rows != len(roots) {
			t.Errorf("%d rows, %v", rows, err)
		}
		for want, text := range map[string]string{"the share is 1": `{"share":1}`, "the share is 0": `{}`, "unknown field": `{"share":0.5,"x":1}`, "unexpected EOF": `{`} {
			net.Metadata()["smoothing"] = text
			if _, err := sinks.NewPredictor(net, p.Recipe()); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", text, err)
			}
		}
		if err := (sinks.Smoothing{Share: 1}).Keep(net); err == nil {
			t.Error("a share of 1 was kept")
		}
	}
	open, err := pairs(t, set).Open(t.Context(), set.Graph)
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	none := func(sinks.Prediction) error { return nil }
	if err := flow.From(set).To(sinks.Predict{Graph: open, Each: none}).Run(t.Context()); err == nil || !strings.Contains(err.Error(), `no column "roots"`) {
		t.Errorf("no roots: %v", err)
	}
	two := set.Rooted([]int32{0, 1})
	two.W, two.Layout.Classes, two.Graphs[0].Target = 2, nil, nil
	if err := flow.From(two).To(sinks.Predict{Graph: open, Each: none}).Run(t.Context()); err == nil || !strings.Contains(err.Error(), "several roots") {
		t.Errorf("two roots: %v", err)
	}
}

// Every way to ask about a pair gives the same answer, and that of a pair that is an edge is the answer for
// the graph without the edge, as in training.
func TestPairsThatAreEdges(t *testing.T) {
	race.Skip(t)
	defer leak.VerifyNone(t, leak.IgnoreCurrent())
	g, err := generate.RingOfCliques(6, 6)
	if err != nil {
		t.Fatal(err)
	}
	trial, err := links.Split{Folds: 3}.Hide(t.Context(), g, rand.New(rand.NewPCG(1, 0)))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range choose.Links(g) {
		s.Epochs = min(s.Epochs, 4)
		chosen, err := choose.Choice{Systems: []choose.System{s}, Classes: links.Classes(), Train: choose.LinkRows(trial.Folds[1:]...), Valid: choose.LinkRows(trial.Folds[0]), Seed: 1}.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		p, err := sinks.NewPredictor(chosen.Net, chosen.Recipe)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		open, err := p.Open(t.Context(), g)
		if err != nil {
			t.Fatal(err)
		}
		defer open.Close()
		changed := 0
		for _, pair := range [][]int32{{0, 1}, {1, 0}, {2, 5}, {0, 9}, {7, 8}, {0, 35}} {
			apart := g
			if g.Entry(pair[0], pair[1]) >= 0 {
				if apart, err = g.Without(nil, []graph.Edge{{U: pair[1], V: pair[0]}}); err != nil {
					t.Fatal(err)
				}
			}
			want, err := p.PredictRoots(t.Context(), apart, pair...)
			if err != nil {
				t.Fatal(err)
			}
			// All pairs at once, so that an edge that is hidden for one is there for the next.
			all, err := open.Predict(t.Context(), append([]int32{0, 1, 3, 9}, pair...)...)
			if err != nil || len(all) != 3 || !slices.Equal(all[2].Probs, want[0].Probs) {
				t.Errorf("%s %v: OpenGraph.Predict: %v, %v, want %v", s.Name, pair, all, err, want)
			}
			if got, err := p.PredictRoots(t.Context(), g, pair...); err != nil || !slices.Equal(got[0].Probs, want[0].Probs) {
				t.Errorf("%s %v: PredictRoots: %v, %v, want %v", s.Name, pair, got, err, want)
			}
			if got, err := p.ExplainRoots(t.Context(), g, sinks.ExplainOptions{}, pair...); err != nil || !slices.Equal(got.Probs, want[0].Probs) {
				t.Errorf("%s %v: ExplainRoots: %v, %v, want %v", s.Name, pair, got, err, want)
			} else if slices.ContainsFunc(got.Edges, func(e sinks.EdgeWeight) bool {
				return e.Source == pair[0] && e.Target == pair[1] || e.Source == pair[1] && e.Target == pair[0]
			}) {
				t.Errorf("%s %v: the edge that is hidden has a weight: %v", s.Name, pair, got.Edges)
			}
			if got, err := p.WithoutRoots(t.Context(), g, pair, sinks.Removal{}); err != nil || !slices.Equal(got[0].Probs, want[0].Probs) {
				t.Errorf("%s %v: WithoutRoots: %v, %v, want %v", s.Name, pair, got, err, want)
			}
			// The same with nodes in another order.
			number := rand.New(rand.NewPCG(2, 0)).Perm(g.N())
			if got, err := p.PredictRoots(t.Context(), g.Renumber(int32s(number)), int32(number[pair[0]]), int32(number[pair[1]])); err != nil || !slices.Equal(got[0].Probs, want[0].Probs) {
				t.Errorf("%s %v: renumbered: %v, %v, want %v", s.Name, pair, got, err, want)
			}
			if apart != g {
				changed++
			}
		}
		if changed != 5 {
			t.Errorf("%d pairs are edges, want 5", changed)
		}
		for what, err := range map[string]error{
			"OpenGraph.Predict": second(open.Predict(t.Context(), 0, 9, 1, 1)), "PredictRoots": second(p.PredictRoots(t.Context(), g, 1, 1)),
			"ExplainRoots": second(p.ExplainRoots(t.Context(), g, sinks.ExplainOptions{}, 1, 1)), "OpenGraph.Explain": second(open.Explain(t.Context(), sinks.ExplainOptions{}, 1, 1)),
			"WithoutRoots": second(p.WithoutRoots(t.Context(), g, []int32{1, 1}, sinks.Removal{})),
		} {
			if err == nil || !strings.Contains(err.Error(), " is a node with itself, want two nodes") {
				t.Errorf("%s %s: %v", s.Name, what, err)
			}
		}
	}
}

func second[T any](_ T, err error) error { return err }

func int32s(numbers []int) (all []int32) {
	for _, v := range numbers {
		all = append(all, int32(v))
	}
	return all
}
