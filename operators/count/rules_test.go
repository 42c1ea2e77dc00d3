package count_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/sanflow/sanflow/flow/flowtest"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/operators/count"
)

// checkRules checks that a counter keeps the rules of package count. The checks, a subtest each:
//
//	name        String is not empty; a name that Parse knows is that of this counter
//	counts      the counts are the same again, and by a counter that is prepared
//	numbering   renumbering the nodes, and the roots with them, changes no count
//	bag         what the bag holds stays in it
//	input       neither the graph nor the roots are written to
//	concurrent  several goroutines get the counts of one
//	context     Count returns within a second of the end of its context
//
// The graphs are empty, small and of up to 60 nodes, directed and not, with attributes
// and without, with no roots, one root and several, and for context a large one. A
// counter may refuse a graph, under every numbering of it; the errors of all other checks
// have the graph as an edge list. Checks to leave out are named: "numbering" for a counter
// of one graph, whose settings name nodes, or for one that draws.
func checkRules(t *testing.T, c count.Counter, without ...string) {
	t.Helper()
	for _, check := range checks {
		if slices.Contains(without, check.name) {
			continue
		}
		t.Run(check.name, func(t *testing.T) {
			if err := check.run(c); err != nil {
				t.Error(err)
			}
		})
	}
}

var checks = []struct {
	name string
	run  func(count.Counter) error
}{
	{"name", checkName},
	{"counts", checkCounts},
	{"numbering", checkNumbering},
	{"bag", checkBag},
	{"input", checkInput},
	{"concurrent", checkConcurrent},
	{"context", checkContext},
}

// patience is how long Count may go on after its context has ended.
var patience = 10 * time.Second

// panicError is a panic of a counter.
type panicError struct{ error }

// countedOver returns what c counts in a graph, over what was in the bag.
func countedOver(c count.Counter, in count.Input, before ...count.Entry) (all []count.Entry, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = panicError{fmt.Errorf("panic: %v", v)}
		}
	}()
	var bag count.Bag
	for _, e := range before {
		bag.Add(e.ID, e.Count)
	}
	w, err := count.Prepare(c)
	if err == nil {
		err = count.Compute(w, in, &bag)
	}
	return slices.Clone(bag.Entries()), err
}

// sameEntries compares counts. Sums of numbers that are not whole may be rounded otherwise in
// another order.
func sameEntries(got, want []count.Entry, slack float64) error {
	for i := range min(len(got), len(want)) {
		g, w := got[i], want[i]
		if g.ID != w.ID || !(math.Abs(g.Count-w.Count) <= slack*math.Abs(w.Count)) {
			return fmt.Errorf("entry %d is %#x × %v, want %#x × %v", i, g.ID, g.Count, w.ID, w.Count)
		}
	}
	if len(got) != len(want) {
		return fmt.Errorf("there are %d different things, want %d", len(got), len(want))
	}
	return nil
}

// about adds the graph to an error.
func about(in count.Input, err error) error {
	return fmt.Errorf("%w\nroots: %v\n%s", err, in.Roots, flowtest.EdgeList(in.Graph))
}

func checkName(c count.Counter) error {
	name := c.String()
	if name == "" {
		return errors.New("the name is empty")
	}
	if known, err := count.Parse(name); err == nil && known.String() != name {
		return fmt.Errorf("the name is %q, and Parse makes %q of it", name, known)
	}
	return nil
}

func checkCounts(c count.Counter) error {
	w, err := count.Prepare(c)
	if err != nil {
		return err
	}
	prepared := plainly{w}
	for _, in := range ruleInputs() {
		want, refused := countedOver(c, in)
		if p := (panicError{}); errors.As(refused, &p) {
			return about(in, refused)
		}
		for name, again := range map[string]count.Counter{"the second time": c, "prepared": prepared} {
			got, err := countedOver(again, in)
			if (err == nil) != (refused == nil) {
				return about(in, fmt.Errorf("%s: the error is %v, before %v", name, err, refused))
			}
			if err != nil {
				continue
			}
			if err := sameEntries(got, want, 0); err != nil {
				return about(in, fmt.Errorf("%s: %w", name, err))
			}
		}
	}
	return nil
}

func checkNumbering(c count.Counter) error {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, in := range ruleInputs() {
		for range 3 {
			perm := make([]int32, in.Graph.N())
			for i, v := range rng.Perm(len(perm)) {
				perm[i] = int32(v)
			}
			moved := count.Input{Graph: in.Graph.Renumber(perm), Roots: slices.Clone(in.Roots)}
			for i, v := range in.Roots {
				if v >= 0 {
					moved.Roots[i] = perm[v]
				}
			}
			want, refused := countedOver(c, in)
			got, err := countedOver(c, moved)
			if (err == nil) != (refused == nil) {
				return about(in, fmt.Errorf("the error is %v, renumbered %v", refused, err))
			}
			if err != nil {
				continue
			}
			if err := sameEntries(got, want, 1e-9); err != nil {
				return about(in, fmt.Errorf("renumbered by %v: %w", perm, err))
			}
		}
	}
	return nil
}

func checkBag(c count.Counter) error {
	for _, in := range ruleInputs() {
		want, err := countedOver(c, in)
		if err != nil {
			continue
		}
		before := []count.Entry{{ID: 1, Count: 2.5}, {ID: math.MaxUint64, Count: 7}}
		got, err := countedOver(c, in, before...)
		if err != nil {
			return about(in, fmt.Errorf("with a bag that is not empty: %w", err))
		}
		var all count.Bag
		for _, e := range append(slices.Clone(want), before...) {
			all.Add(e.ID, e.Count)
		}
		if err := sameEntries(got, all.Entries(), 1e-12); err != nil {
			return about(in, fmt.Errorf("with a bag that is not empty: %w", err))
		}
	}
	return nil
}

func checkInput(c count.Counter) error {
	for _, in := range ruleInputs() {
		before := fmt.Sprint(*in.Graph, in.Roots)
		_, _ = countedOver(c, in)
		if fmt.Sprint(*in.Graph, in.Roots) != before {
			return about(in, errors.New("the graph was written to, or its roots; it was"))
		}
	}
	return nil
}

func checkConcurrent(c count.Counter) error {
	all := ruleInputs()
	want := make([][]count.Entry, len(all))
	refused := make([]error, len(all))
	for i, in := range all {
		want[i], refused[i] = countedOver(c, in)
	}
	errs := make([]error, 8)
	var wg sync.WaitGroup
	for w := range errs {
		wg.Go(func() {
			for i := range all {
				i := (i + w*5) % len(all)
				got, err := countedOver(c, all[i])
				if refused[i] != nil {
					continue
				}
				if err == nil {
					err = sameEntries(got, want[i], 0)
				}
				if err != nil {
					errs[w] = about(all[i], fmt.Errorf("in 8 goroutines: %w", err))
					return
				}
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

func checkContext(c count.Counter) error {
	g := ruleGraph(rand.New(rand.NewPCG(5, 6)), 60_000, 180_000, false)
	flowtest.Decorate(g)
	for _, after := range []time.Duration{0, 50 * time.Millisecond} {
		ctx, stop := context.WithTimeout(context.Background(), after)
		ended := make(chan error, 1)
		go func() {
			_, err := countedOver(c, count.Input{Graph: g, Roots: []int32{0}, Context: ctx})
			ended <- err
		}()
		<-ctx.Done()
		select {
		case err := <-ended:
			stop()
			if p := (panicError{}); errors.As(err, &p) {
				return err
			}
		case <-time.After(patience):
			stop()
			return fmt.Errorf("Count goes on %v after its context has ended; see Input.Err", patience)
		}
	}
	return nil
}

// ruleInputs returns the graphs of the checks, each with several choices of roots.
func ruleInputs() (all []count.Input) {
	rng := rand.New(rand.NewPCG(1, 2))
	add := func(g *graph.Graph) {
		all = append(all, count.Input{Graph: g}, count.Input{Graph: g, Roots: []int32{}})
		if n := g.N(); n > 0 {
			a, b := rng.Int32N(int32(n)), rng.Int32N(int32(n))
			all = append(all, count.Input{Graph: g, Roots: []int32{a}}, count.Input{Graph: g, Roots: []int32{a, b}},
				count.Input{Graph: g, Roots: []int32{b, -1, a}})
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
		g := ruleGraph(rng, n, rng.IntN(3*n), i%2 == 1)
		if i%4 < 2 {
			flowtest.Decorate(g)
		}
		add(g)
	}
	return all
}

func ruleGraph(rng *rand.Rand, n, m int, directed bool) *graph.Graph {
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
