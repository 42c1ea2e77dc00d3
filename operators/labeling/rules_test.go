package labeling_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sanflow/sanflow/flow/flowtest"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/operators/labeling"
)

// checkRules checks that a labeling keeps the rules of package labeling. The
// checks, a subtest each:
//
//	name        String is a word
//	labels      every label is written, and is a number; the same again
//	numbering   renumbering the nodes renumbers the labels, to the last bit
//	input       the graph is not written to
//	concurrent  several goroutines get the labels of one
//	context     Label returns within a second of the end of its context
//
// The graphs are empty, small and of up to 60 nodes, directed and not, with
// attributes and without, whole and as neighbourhoods of a root, and for context a
// large one. A labeling may refuse a graph, under every numbering of it. Checks
// to leave out are named: "numbering" for one that has to tell apart nodes that
// are images of each other.
func checkRules(t *testing.T, l labeling.Labeling, without ...string) {
	t.Helper()
	for _, c := range checks {
		if slices.Contains(without, c.name) {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			if err := c.run(l); err != nil {
				t.Error(err)
			}
		})
	}
}

var checks = []struct {
	name string
	run  func(labeling.Labeling) error
}{
	{"name", checkName},
	{"labels", checkLabels},
	{"numbering", checkNumbering},
	{"input", checkInput},
	{"concurrent", checkConcurrent},
	{"context", checkContext},
}

// patience is how long Label may go on after its context has ended.
var patience = 10 * time.Second

// labelled returns the labels of in, over what was there before.
func labelled(l labeling.Labeling, in labeling.Input, before float64) (labels []float64, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v", v)
		}
	}()
	labels = make([]float64, in.Graph.N())
	for v := range labels {
		labels[v] = before
	}
	err = l.Label(in, labels)
	return labels, err
}

// sameLabels compares to the last bit.
func sameLabels(got, want []float64) error {
	for v := range want {
		if math.Float64bits(got[v]) != math.Float64bits(want[v]) {
			return fmt.Errorf("node %d has the label %v, want %v", v, got[v], want[v])
		}
	}
	return nil
}

func checkName(l labeling.Labeling) error {
	if name := l.String(); name == "" || strings.ContainsAny(name, " \t\n,") {
		return fmt.Errorf("the name is %q, want a word that command lines can hold", name)
	}
	return nil
}

func checkLabels(l labeling.Labeling) error {
	for i, in := range inputs() {
		want, err := labelled(l, in, math.NaN())
		if panicked(err) {
			return fmt.Errorf("graph %d: %w\n%s", i, err, flowtest.EdgeList(in.Graph))
		}
		if err != nil {
			continue
		}
		for v, x := range want {
			if math.IsNaN(x) {
				return fmt.Errorf("graph %d: node %d has no label, or one that is not a number\n%s", i, v, flowtest.EdgeList(in.Graph))
			}
		}
		got, err := labelled(l, in, -1)
		if err == nil {
			err = sameLabels(got, want)
		}
		if err != nil {
			return fmt.Errorf("graph %d, the second time: %w\n%s", i, err, flowtest.EdgeList(in.Graph))
		}
	}
	return nil
}

func panicked(err error) bool { return err != nil && strings.HasPrefix(err.Error(), "panic: ") }

func checkNumbering(l labeling.Labeling) error {
	rng := rand.New(rand.NewPCG(3, 4))
	for i, in := range inputs() {
		for range 3 {
			moved, perm := renumbered(rng, in)
			want, refused := labelled(l, in, 0)
			got, err := labelled(l, moved, 0)
			if (err != nil) != (refused != nil) {
				return fmt.Errorf("graph %d: the error is %v, renumbered %v\n%s", i, refused, err, flowtest.EdgeList(in.Graph))
			}
			if err != nil {
				continue
			}
			back := make([]float64, len(got))
			for v, p := range perm {
				back[v] = got[p]
			}
			if err := sameLabels(back, want); err != nil {
				return fmt.Errorf("graph %d, renumbered: %w\n%s", i, err, flowtest.EdgeList(in.Graph))
			}
		}
	}
	return nil
}

// renumbered returns the same graph under other numbers. If there is a root,
// it stays node 0, and distances go on rising.
func renumbered(rng *rand.Rand, in labeling.Input) (labeling.Input, []int32) {
	n := in.Graph.N()
	perm := make([]int32, n)
	for v := range perm {
		perm[v] = int32(v)
	}
	for from := 0; from < n; {
		to := from + 1
		for to < n && (in.Dist == nil || in.Dist[to] == in.Dist[from]) {
			to++
		}
		part := perm[from:to]
		rng.Shuffle(len(part), func(i, j int) { part[i], part[j] = part[j], part[i] })
		from = to
	}
	in.Graph = in.Graph.Renumber(perm)
	return in, perm
}

func checkInput(l labeling.Labeling) error {
	for i, in := range inputs() {
		before := fmt.Sprint(*in.Graph, in.Dist)
		_, _ = labelled(l, in, 0)
		if fmt.Sprint(*in.Graph, in.Dist) != before {
			return fmt.Errorf("graph %d was written to\n%s", i, flowtest.EdgeList(in.Graph))
		}
	}
	return nil
}

func checkConcurrent(l labeling.Labeling) error {
	all := inputs()
	want := make([][]float64, len(all))
	for i, in := range all {
		if labels, err := labelled(l, in, 0); err == nil {
			want[i] = labels
		}
	}
	errs := make([]error, 8)
	var wg sync.WaitGroup
	for w := range errs {
		wg.Go(func() {
			for i := range all {
				i := (i + w) % len(all)
				got, err := labelled(l, all[i], 0)
				if want[i] == nil {
					continue
				}
				if err == nil {
					err = sameLabels(got, want[i])
				}
				if err != nil {
					errs[w] = fmt.Errorf("graph %d, in 8 goroutines: %w", i, err)
					return
				}
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

func checkContext(l labeling.Labeling) error {
	g := randomGraph(rand.New(rand.NewPCG(5, 6)), 60_000, 180_000, false)
	for _, after := range []time.Duration{0, 50 * time.Millisecond} {
		ctx, stop := context.WithTimeout(context.Background(), after)
		ended := make(chan error, 1)
		go func() {
			_, err := labelled(l, labeling.Input{Graph: g, Context: ctx}, 0)
			ended <- err
		}()
		<-ctx.Done()
		select {
		case err := <-ended:
			if panicked(err) {
				stop()
				return err
			}
		case <-time.After(patience):
			stop()
			return fmt.Errorf("Label goes on %v after its context has ended; see Input.Err", patience)
		}
		stop()
	}
	return nil
}

// inputs returns the graphs of the checks.
func inputs() (all []labeling.Input) {
	rng := rand.New(rand.NewPCG(1, 2))
	add := func(g *graph.Graph) {
		all = append(all, labeling.Input{Graph: g})
		if near, dist := around(g, 0); near != nil {
			all = append(all, labeling.Input{Graph: near, Dist: dist})
		}
	}
	for _, directed := range []bool{false, true} {
		for _, g := range flowtest.Graphs(directed) {
			add(g)
			rich := *g
			flowtest.Decorate(&rich)
			add(&rich)
		}
	}
	for i := range 12 {
		n := 2 + rng.IntN(59)
		g := randomGraph(rng, n, rng.IntN(3*n), i%2 == 1)
		if i%4 < 2 {
			flowtest.Decorate(g)
		}
		add(g)
	}
	return all
}

func randomGraph(rng *rand.Rand, n, m int, directed bool) *graph.Graph {
	edges := make([]graph.Edge, m)
	for i := range edges {
		edges[i] = graph.Edge{U: int32(rng.IntN(n)), V: int32(rng.IntN(n))}
	}
	g, err := graph.New(n, directed, edges)
	if err != nil {
		panic(err)
	}
	return g
}

// around returns the nodes that a root reaches, numbered by their distance from
// it, and these distances; nil if there is no node.
func around(g *graph.Graph, root int32) (*graph.Graph, []uint8) {
	if g.N() == 0 {
		return nil, nil
	}
	place := map[int32]int32{root: 0}
	order, dist := []int32{root}, []uint8{0}
	for i := 0; i < len(order); i++ {
		for _, u := range g.Adj(order[i]) {
			if _, ok := place[u]; !ok {
				place[u] = int32(len(order))
				order, dist = append(order, u), append(dist, dist[i]+1)
			}
		}
	}
	var edges []graph.Edge
	for _, v := range order {
		for _, u := range g.Adj(v) {
			if g.Directed || v < u {
				edges = append(edges, graph.Edge{U: place[v], V: place[u]})
			}
		}
	}
	near, err := graph.New(len(order), g.Directed, edges)
	if err != nil {
		panic(err)
	}
	if g.HasNodeAttributes() {
		flowtest.Decorate(near)
	}
	return near, dist
}
