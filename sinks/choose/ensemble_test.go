package choose

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/internal/leak"
	"github.com/sanflow/sanflow/internal/race"
	"github.com/sanflow/sanflow/nn/validation"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/generate"
)

// communities is a graph of five communities whose nodes have ids and two numbers.
func communities(t *testing.T, n int) (set *sources.NodeSet, train, valid, test []int32) {
	t.Helper()
	g, class, err := generate.Communities(n, 5, 5, 2, 1)
	if err != nil {
		t.Fatal(err)
	}
	set = &sources.NodeSet{Graph: g, Class: class, Classes: strings.Fields("a b c d e"), IDs: named(t, "node", n)}
	if err := set.Identify(); err != nil {
		t.Fatal(err)
	}
	g.NodeAttrs = 2
	for v := range n {
		g.NodeAttr = append(g.NodeAttr, float32(v%7), 100*float32(v%3))
	}
	if train, valid, test, err = Deal(set, 1); err != nil {
		t.Fatal(err)
	}
	return set, train, valid, test
}

// named returns ids of n nodes.
func named(t *testing.T, what string, n int) graph.IDs {
	t.Helper()
	names := make([]string, n)
	for v := range names {
		names[v] = fmt.Sprint(what, " ", v)
	}
	ids, err := graph.IDsOfStrings(names)
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

// ensembleOf returns the ensemble for so many training nodes, with few epochs.
func ensembleOf(t *testing.T, set *sources.NodeSet, train int) System {
	t.Helper()
	some, err := Pick(Nodes(set, train), []string{"ensemble"})
	if err != nil {
		t.Fatal(err)
	}
	some[0].Epochs, some[0].nets = 5, min(2, some[0].nets)
	return some[0]
}

// saved writes what was chosen to a file, and loads it.
func saved(t *testing.T, chosen *Chosen) (*sinks.Predictor, []byte) {
	t.Helper()
	var file bytes.Buffer
	if err := sinks.Write(&file, chosen.Net, chosen.Recipe); err != nil {
		t.Fatal(err)
	}
	text := slices.Clone(file.Bytes())
	p, err := sinks.Read(&file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p, text
}

// The score by which a system is chosen is that of the file of its model for the validation nodes: of
// networks, propagated features, known classes and words, smoothed or not, portable or not. It
// does not depend on the workers, nor on classes that are not to be learned from.
func TestScoresAreOfTheFile(t *testing.T) {
	race.Skip(t)
	defer leak.VerifyNone(t, leak.IgnoreCurrent())
	set, train, valid, test := communities(t, 250)
	hidden := *set
	hidden.Class = slices.Clone(set.Class)
	for _, v := range test {
		hidden.Class[v] = -1
	}
	for _, c := range []struct {
		name     string
		train    int
		portable bool
		measure  validation.Measure
		only     int // of the views; -1: all
		took     string
	}{
		{"ensemble", 0, false, "", -1, "decay"}, {"ensemble", 0, true, "", 0, "fields"}, {"ensemble", 0, false, validation.LogLoss, 1, "propagated features"},
		{"ensemble", few + 1, false, "", 1, "fields with known classes"}, {"ensemble", few + 1, true, "", -1, "fields"},
		{"words", 0, false, "", -1, ""}, {"words-smoothed", 0, false, "", -1, "smoothed"}, {"words-smoothed", 0, true, "", -1, "smoothed"},
	} {
		run := func(set *sources.NodeSet, workers int) (*Chosen, *sinks.Predictor, []byte) {
			systems, err := Pick(Nodes(set, c.train), []string{c.name})
			if err != nil {
				t.Fatal(err)
			}
			if c.name == "ensemble" {
				systems[0] = ensembleOf(t, set, c.train)
			}
			for i := range systems[0].views {
				if c.only >= 0 && i != c.only {
					systems[0].views[i].models = nil
				}
			}
			chosen, err := Choice{
				Systems: systems, Classes: set.Classes, Train: NodeRows(set, train), Valid: NodeRows(set, valid),
				Portable: c.portable, Measure: c.measure, Seed: 3, Workers: workers,
			}.Run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			p, text := saved(t, chosen)
			return chosen, p, text
		}
		chosen, p, text := run(set, 1)
		if _, _, again := run(&hidden, 3); !bytes.Equal(text, again) {
			t.Errorf("%+v: with other workers, and without classes of test nodes, the file is another", c)
		}
		m, err := Test(t.Context(), p, set.Graph, set.IDs, NodeRows(set, valid), "", 2)
		if err != nil {
			t.Fatal(err)
		}
		got := m.Accuracy()
		if c.measure != "" { // of answers without the temperature, which is kept
			delete(chosen.Net.Metadata(), "temperature")
			p, _ = saved(t, chosen)
			if m, err = Test(t.Context(), p, set.Graph, set.IDs, NodeRows(set, valid), "", 2); err != nil {
				t.Fatal(err)
			}
			if got, err = m.By(c.measure); err != nil {
				t.Fatal(err)
			}
		}
		if math.Abs(got-chosen.Tried[0].Score) > 1e-6 {
			t.Errorf("%+v: the file has %v on the validation nodes, %+v", c, got, chosen.Tried[0])
		}
		if !strings.Contains(chosen.Tried[0].Took, c.took) || p.Smoothed() != strings.Contains(chosen.Tried[0].Took, "smoothed") {
			t.Errorf("%+v: smoothed %t: %+v", c, p.Smoothed(), chosen.Tried[0])
		}
		if m, err = Test(t.Context(), p, set.Graph, set.IDs, NodeRows(set, test), "", 2); err != nil || m.Accuracy() < 50 {
			t.Errorf("%+v: %v, %v %% of the test nodes right", c, err, m.Accuracy())
		}
		if c.portable && strings.Contains(chosen.Tried[0].Took, "known classes") {
			t.Errorf("%+v: %+v", c, chosen.Tried[0])
		}
		for _, v := range []int32{train[0], valid[0], test[0]} {
			if n := p.Known().Learned(sinks.NodeID(set.IDs, v)); n != 1 && v != test[0] || n != 0 && v == test[0] {
				t.Errorf("%+v: the file has learned %d times from node %d", c, n, v)
			}
		}
	}
}

// A model with known classes in its fields, or with beliefs, has them by the ids of the nodes: a renumbered graph, one that
// has grown and a question about a part of it have the same answers, explanations are of these, and a
// graph of which it knows no node is refused. Portable leaves such models out.
func TestKnownClassesGoByIDs(t *testing.T) {
	race.Skip(t)
	for _, name := range []string{"ensemble", "stacked-trees"} {
		t.Run(name, func(t *testing.T) { knownByIDs(t, name) })
	}
}

func knownByIDs(t *testing.T, name string) {
	defer leak.VerifyNone(t, leak.IgnoreCurrent())
	set, train, valid, _ := communities(t, 1500)
	g := *set.Graph // without ids as features
	g.SparseCard, g.SparseOffsets, g.NodeSparse = 0, nil, nil
	set.Graph = &g
	some, err := Pick(Nodes(set, few+1), []string{"words", name})
	if err != nil {
		t.Fatal(err)
	}
	s := some[1]
	s.smooth = false
	choice := Choice{Systems: []System{s}, Classes: set.Classes, Train: NodeRows(set, train[:500]), Valid: NodeRows(set, valid), Seed: 1}
	choice.Systems[0].Epochs = 2
	chosen, err := choice.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if took := chosen.Tried[0].Took; name == "ensemble" && !strings.HasPrefix(took, "fields with known classes") {
		t.Fatal(took)
	}
	p, _ := saved(t, chosen)
	answers := func(g *graph.Graph, ids graph.IDs, nodes ...int32) (all [][]float32) {
		t.Helper()
		open, err := p.OpenIDs(t.Context(), g, ids)
		if err != nil {
			t.Fatal(err)
		}
		defer open.Close()
		for _, v := range nodes {
			said, err := open.Predict(t.Context(), v)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, said[0].Probs)
		}
		return all
	}
	asked := []int32{3, 70, 71, 512, 1499}
	want := answers(&g, set.IDs, asked...)
	perm, at := make([]int32, g.N()), make([]int32, len(asked))
	for i, v := range rand.New(rand.NewPCG(1, 1)).Perm(g.N()) {
		perm[i] = int32(v)
	}
	for i, v := range asked {
		at[i] = perm[v]
	}
	if got := answers(g.Renumber(perm), set.IDs.Renumber(perm), at...); !alike(got, want) {
		t.Errorf("renumbered: %v, want %v", got, want)
	}
	grown := g
	grown.Offsets, grown.NodeAttr = append(slices.Clone(g.Offsets), int32(len(g.Neighbors))), append(slices.Clone(g.NodeAttr), 1, 2)
	if got := answers(&grown, named(t, "node", g.N()+1), asked...); !alike(got, want) {
		t.Errorf("grown: %v, want %v", got, want)
	}
	e, err := p.ExplainRoots(t.Context(), &g, sinks.ExplainOptions{IDs: set.IDs}, asked[0])
	if err != nil || !alike([][]float32{e.Probs}, want[:1]) {
		t.Errorf("explained: %v, %v, want %v", err, e, want[0])
	}
	_, err = p.OpenIDs(t.Context(), &g, named(t, "other", g.N()))
	if err == nil || !strings.Contains(err.Error(), "-portable") {
		t.Errorf("another graph: %v", err)
	}
	if _, err := p.PredictRoots(t.Context(), &g, 1); err == nil || !strings.Contains(err.Error(), "-portable") {
		t.Errorf("a graph without ids: %v", err)
	}
	choice.Portable, choice.Systems = true, []System{some[0], s}
	if chosen, err = choice.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	p, _ = saved(t, chosen)
	_, reads := operators.Find[operators.KnownClasses](p.Recipe())
	if _, believes := operators.Find[operators.Beliefs](p.Recipe()); reads || believes {
		t.Error("what is portable reads known classes")
	}
	answers(&g, named(t, "other", g.N()), 1)
}

// The row of a training node does not know its class: with other classes of a fold no byte of the rows of the fold changes but
// the targets, while those of the other folds do.
func TestBeliefsOfFolds(t *testing.T) {
	race.Skip(t)
	set, train, valid, _ := communities(t, 120)
	rows := func(set *sources.NodeSet) (all []string) { // of each training node
		some, err := Pick(Nodes(set, len(train)), []string{"stacked-trees"})
		if err != nil {
			t.Fatal(err)
		}
		made, err := Choice{Systems: some, Classes: set.Classes, Train: NodeRows(set, train), Valid: NodeRows(set, valid), Seed: 1, Progress: func(string, int, int) {}}.rows(t.Context(), some[0])
		defer release(made)
		if err != nil {
			t.Fatal(err)
		}
		all = make([]string, set.Graph.N())
		at := 0
		for _, rec := range made[0].train.Records() {
			for row := range int(rec.NumRows()) {
				for i, f := range rec.Schema().Fields() {
					if f.Name != record.Target {
						one := rec.Column(i)
						all[made[0].nodes[at]] += fmt.Sprint(f.Name, one.ValueStr(row))
					}
				}
				at++
			}
		}
		return all
	}
	want := rows(set)
	for _, f := range []int{0, folds - 1} {
		other, changed := *set, 0
		other.Class = slices.Clone(set.Class)
		for i, v := range train {
			if i%folds == f {
				other.Class[v] = (other.Class[v] + 1 + v%4) % 5
			}
		}
		got := rows(&other)
		for i, v := range train {
			if same := got[v] == want[v]; i%folds == f && (!same || want[v] == "") {
				t.Errorf("the row of node %d of fold %d knows its class", v, f)
			} else if !same {
				changed++
			}
		}
		if changed == 0 {
			t.Errorf("no row knows the classes of fold %d", f)
		}
	}
}

// alike compares rows of probabilities: a walk sums in the order of the numbers.
func alike(a, b [][]float32) bool {
	return slices.EqualFunc(a, b, func(x, y []float32) bool {
		return slices.EqualFunc(x, y, func(p, q float32) bool { return math.Abs(float64(p-q)) < 1e-5 })
	})
}

// The classes of training nodes that a smoothing propagates, and the nodes that are features, go by ids: a
// renumbered graph has the same answers, and one of the same size with other ids none of that knowledge.
func TestKnowledgeGoesByIDs(t *testing.T) {
	race.Skip(t)
	set, train, valid, _ := communities(t, 240)
	chosen, err := Choice{Systems: []System{ensembleOf(t, set, len(train))}, Classes: set.Classes, Train: NodeRows(set, train), Valid: NodeRows(set, valid), Seed: 1}.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	of := slices.Repeat([]int32{-1}, set.Graph.N())
	for _, v := range train {
		of[v] = set.Class[v]
	}
	known := sinks.KnownNodes(set.Graph, set.IDs, set.Graph.SparseCard, train...)
	if err := errors.Join(known.WithClasses(set.IDs, of).Keep(chosen.Net), sinks.Smoothing{Share: 0.8, Classes: true}.Keep(chosen.Net)); err != nil {
		t.Fatal(err)
	}
	p, _ := saved(t, chosen)
	answers := func(g *graph.Graph, ids graph.IDs) (all [][]float32) {
		t.Helper()
		open, err := p.OpenIDs(t.Context(), g, ids)
		if err != nil {
			t.Fatal(err)
		}
		defer open.Close()
		for v := range int32(g.N()) {
			said, err := open.Predict(t.Context(), v)
			if err != nil || said[0].ID != ids.At(v) {
				t.Fatal(said, err)
			}
			all = append(all, said[0].Probs)
		}
		return all
	}
	plain := *set.Graph
	plain.SparseCard, plain.SparseOffsets, plain.NodeSparse = 0, nil, nil
	want := answers(&plain, set.IDs)
	if got := answers(set.Graph, set.IDs); !slices.EqualFunc(got, want, slices.Equal[[]float32]) {
		t.Error("with features by number the answers differ")
	}
	perm := make([]int32, plain.N())
	for i, v := range rand.New(rand.NewPCG(1, 1)).Perm(plain.N()) {
		perm[i] = int32(v)
	}
	got := answers(plain.Renumber(perm), set.IDs.Renumber(perm))
	for v, at := range perm {
		if !alike(got[at:at+1], want[v:v+1]) {
			t.Fatalf("node %d: %v renumbered, %v before", v, got[at], want[v])
		}
	}
	differ := 0
	for v, probs := range answers(&plain, named(t, "other", plain.N())) {
		if !alike([][]float32{probs}, want[v:v+1]) {
			differ++
		}
	}
	if differ < plain.N()*9/10 {
		t.Errorf("with ids that the model does not know %d of %d answers differ, want nearly all", differ, plain.N())
	}
	path := filepath.Join(t.TempDir(), "m")
	for _, text := range []string{"{", `{"ids":"AAAA"}`, `{"ids":"AAAAAAAA","learned":""}`, `{"ids":"AAAAAAAA","class":[1,2]}`, `{"ids":"AAAAAAAA","nodes":true,"first":-1}`} {
		chosen.Net.Metadata()["known"] = text
		if err := sinks.Save(path, chosen.Net, chosen.Recipe); err == nil {
			t.Errorf("%s was taken", text)
		}
	}
}

// The order in which nodes are listed does not matter: the parts have the same ids, and a training of
// words gives the same bytes.
func TestDealGoesByIDs(t *testing.T) {
	race.Skip(t)
	set, train, valid, _ := communities(t, 200)
	set.Graph.SparseCard, set.Graph.SparseOffsets, set.Graph.NodeSparse = 0, nil, nil
	perm := make([]int32, set.Graph.N())
	for i, v := range rand.New(rand.NewPCG(2, 2)).Perm(len(perm)) {
		perm[i] = int32(v)
	}
	other := *set
	other.Graph, other.IDs, other.Class = set.Graph.Renumber(perm), set.IDs.Renumber(perm), make([]int32, len(perm))
	for v, at := range perm {
		other.Class[at] = set.Class[v]
	}
	train2, valid2, _, err := Deal(&other, 1)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range train {
		if train2[i] != perm[v] {
			t.Fatalf("training node %d is %v, and renumbered %v", i, set.IDs.At(v), other.IDs.At(train2[i]))
		}
	}
	var files [][]byte
	for _, c := range []struct {
		set          *sources.NodeSet
		train, valid []int32
	}{{set, train, valid}, {&other, train2, valid2}} {
		systems, err := Pick(Nodes(c.set, len(c.train)), []string{"linear", "words"})
		if err != nil {
			t.Fatal(err)
		}
		chosen, err := Choice{Systems: systems, Classes: set.Classes, Train: NodeRows(c.set, c.train), Valid: NodeRows(c.set, c.valid), Seed: 1}.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		_, text := saved(t, chosen)
		files = append(files, text)
	}
	if !bytes.Equal(files[0], files[1]) {
		t.Error("renumbered nodes give another model")
	}
}

// The end of the context ends an ensemble, and leaves nothing behind.
func TestEnsembleCancelled(t *testing.T) {
	defer leak.VerifyNone(t)
	set, train, valid, _ := communities(t, 1000)
	s := ensembleOf(t, set, len(train))
	s.Epochs, s.Patience = 10000, 10000
	for _, after := range []time.Duration{0, 20 * time.Millisecond, 300 * time.Millisecond} {
		ctx, cancel := context.WithTimeout(t.Context(), after)
		start := time.Now()
		_, err := Choice{Systems: []System{s}, Classes: set.Classes, Train: NodeRows(set, train), Valid: NodeRows(set, valid)}.Run(ctx)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("ended after %v: %v", after, err)
		}
		if took := time.Since(start) - after; took > leak.Patience {
			t.Errorf("ended after %v: took another %v", after, took)
		}
		cancel()
	}
}
