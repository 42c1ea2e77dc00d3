package nodes_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sinks/nodes"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/generate"
)

// The classes of training nodes that a smoothing propagates, and the nodes that are features, go by ids: a
// renumbered graph has the same answers, and one of the same size with other ids none of that knowledge.
func TestKnowledgeGoesByIDs(t *testing.T) {
	g, class, err := generate.Communities(240, 3, 6, 2, 1)
	if err != nil {
		t.Fatal(err)
	}
	names := make([]string, g.N())
	for v := range names {
		names[v] = fmt.Sprint("node ", v)
	}
	ids, err := graph.IDsOfStrings(names)
	if err != nil {
		t.Fatal(err)
	}
	plain := *g
	set := &sources.NodeSet{Graph: g, Class: class, Classes: []string{"a", "b", "c"}, IDs: ids}
	if err := set.Identify(); err != nil {
		t.Fatal(err)
	}
	var train, val []int32
	for v := int32(0); v < 240; v += 3 {
		train, val = append(train, v), append(val, v+1)
	}
	fitted, err := nodes.Fit{Seed: 1, K: 6, Nets: 1, Epochs: 3, Propagate: nodes.Off, Words: nodes.Off, Decays: []float64{0}}.Run(t.Context(), set, train, val)
	if err != nil {
		t.Fatal(err)
	}
	known := sinks.KnownNodes(g, ids, g.SparseCard, append(slices.Clone(train), val...)...)
	of := slices.Repeat([]int32{-1}, g.N())
	for _, v := range train {
		of[v] = class[v]
	}
	if err := known.WithClasses(ids, of).Keep(fitted.Net); err != nil {
		t.Fatal(err)
	}
	if err := (sinks.Smoothing{Share: 0.8, Classes: true}).Keep(fitted.Net); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "m")
	if err := sinks.Save(path, fitted.Net, fitted.Recipe); err != nil {
		t.Fatal(err)
	}
	p, err := sinks.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
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
	far := func(a, b []float32) bool { // a walk sums in the order of the numbers
		for i := range a {
			if math.Abs(float64(a[i]-b[i])) > 1e-5 {
				return true
			}
		}
		return false
	}
	want := answers(&plain, ids)
	if got := answers(g, ids); !slices.EqualFunc(got, want, slices.Equal[[]float32]) {
		t.Error("with features by number the answers differ")
	}
	perm := make([]int32, g.N())
	for i, v := range rand.New(rand.NewPCG(1, 1)).Perm(g.N()) {
		perm[i] = int32(v)
	}
	got := answers(plain.Renumber(perm), ids.Renumber(perm))
	for v, p := range perm {
		if far(got[p], want[v]) {
			t.Fatalf("node %d: %v renumbered, %v before", v, got[p], want[v])
		}
	}
	for v := range names {
		names[v] = fmt.Sprint("other ", v)
	}
	if ids, err = graph.IDsOfStrings(names); err != nil {
		t.Fatal(err)
	}
	differ := 0
	for v, probs := range answers(&plain, ids) {
		if far(probs, want[v]) {
			differ++
		}
	}
	if differ < g.N()*9/10 {
		t.Errorf("with ids that the model does not know %d of %d answers differ, want nearly all", differ, g.N())
	}
	for _, v := range []int32{0, 1, 2} {
		if n, want := p.Known().Learned(sinks.NodeID(set.IDs, v)), map[int32]int{0: 1, 1: 1}[v]; n != want {
			t.Errorf("node %d was learned from %d times, want %d", v, n, want)
		}
	}
	if p.Known().Learned(sinks.NodeID(ids, 0)) != 0 {
		t.Error("another id was learned from")
	}
	for _, text := range []string{"{", `{"ids":"AAAA"}`, `{"ids":"AAAAAAAA","learned":""}`, `{"ids":"AAAAAAAA","class":[1,2]}`, `{"ids":"AAAAAAAA","nodes":true,"first":-1}`} {
		fitted.Net.Metadata()["known"] = text
		if err := sinks.Save(path, fitted.Net, fitted.Recipe); err == nil {
			t.Errorf("%s was taken", text)
		}
	}
}
