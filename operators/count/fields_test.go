package count_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/operators/count"
	"github.com/sanflow/sanflow/operators/field"
)

// words compares the words of single fields with what stands in these by brute
// force: the members, in any order but with the root in front.
type words struct {
	s     smallest
	texts map[uint64]string
	ids   map[string]uint64
	fork  count.Worker
	norm  field.Normalizer
	walk  field.Assembler
}

func newWords(t *testing.T, f count.Fields) *words {
	fork, err := count.Prepare(f)
	if err != nil {
		t.Fatal(err)
	}
	return &words{s: smallest{}, texts: map[uint64]string{}, ids: map[string]uint64{}, fork: fork,
		norm: field.Normalizer{K: f.K[0]}}
}

func (w *words) check(t *testing.T, g *graph.Graph) {
	t.Helper()
	bare := *g // continuous attributes decide nothing
	bare.NodeAttrs, bare.NodeAttr, bare.EdgeAttrs, bare.EdgeAttr = 0, nil, 0, nil
	ix := field.NewIndex(&bare, field.Both)
	members := make([]int32, w.norm.K)
	for root := range int32(g.N()) {
		hood, dist := w.walk.Assemble(ix, root, w.norm.K)
		if err := w.norm.Normalize(ix, hood, dist, nil, members); err != nil {
			t.Fatal(err)
		}
		size := 0
		for size < len(members) && members[size] >= 0 {
			size++
		}
		text := w.s.text(g, members[:size], 1)
		var bag count.Bag
		if err := w.fork.Count(count.Input{Graph: g, Roots: []int32{-1, root}}, &bag); err != nil || len(bag.Entries()) != 1 {
			t.Fatal(len(bag.Entries()), err)
		}
		id := bag.Entries()[0].ID
		if was, ok := w.texts[id]; ok && was != text {
			t.Fatalf("the word %#x is %s and %s", id, was, text)
		}
		if was, ok := w.ids[text]; ok && was != id {
			t.Fatalf("the words %#x and %#x are both %s", id, was, text)
		}
		w.texts[id], w.ids[text] = text, id
	}
}

func TestWordsOfEveryGraph(t *testing.T) {
	graphs := everyGraph()
	for _, k := range []int{3, 4, 6} {
		w := newWords(t, count.Fields{K: []int{k}, Selected: true})
		for _, g := range graphs {
			w.check(t, g)
		}
	}
}

func TestWordsAreTheirDefinition(t *testing.T) {
	for i, k := range kindsOfGraphs {
		rng := rand.New(rand.NewPCG(uint64(i), 41))
		for _, f := range []count.Fields{{K: []int{4}}, {K: []int{6}}, {K: []int{3}}} {
			f.Selected = true
			w := newWords(t, f)
			for range often(9) {
				w.check(t, random(rng, 8, k))
			}
		}
	}
}

// Fields of all nodes and of several sizes are those of each, and a cache that has
// seen other graphs changes nothing.
func TestWordsAddUp(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 42))
	several, err := count.Prepare(count.Fields{K: []int{2, 5}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range often(36) {
		g := random(rng, 9, kindsOfGraphs[i%len(kindsOfGraphs)])
		want := map[uint64]float64{}
		for _, k := range []int{2, 5} {
			for root := range int32(g.N()) {
				ids, _, err := count.Of(count.Input{Graph: g, Roots: []int32{root}}, count.Fields{K: []int{k}, Selected: true})
				if err != nil || len(ids) != 1 {
					t.Fatal(ids, err)
				}
				want[ids[0]]++
			}
		}
		if got := counted(t, g, plainly{several}); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("%v, want %v", got, want)
		}
	}
}

// A size that K lists twice is refused: a text that repeats one makes the work of a root
// as long as the text.
func TestFieldsRefusesASizeTwice(t *testing.T) {
	for _, k := range [][]int{{5, 5}, {2, 3, 2}, {field.MaxK, 1, field.MaxK}} {
		_, err := count.Fields{K: k}.Prepare()
		if want := fmt.Sprintf("K has %d twice", k[0]); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %s", k, err, want)
		}
	}
	if _, err := (count.Fields{K: []int{1, 5, field.MaxK}}).Prepare(); err != nil {
		t.Error(err)
	}
}

// permutations returns all orders of n things.
func permutations(n int) [][]int {
	if n == 0 {
		return [][]int{{}}
	}
	var all [][]int
	for _, p := range permutations(n - 1) {
		for i := range n {
			all = append(all, slices.Insert(slices.Clone(p), i, n-1))
		}
	}
	return all
}

var orders = func() (all [8][][]int) {
	for n := range all {
		all[n] = permutations(n)
	}
	return all
}()

// smallest returns the smallest text of what nodes induce, over all orders of them
// that keep the first fixed ones in front: the definition of isomorphism.
type smallest map[string]string

func (s smallest) text(g *graph.Graph, nodes []int32, fixed int) string {
	write := func(order []int) string {
		var b strings.Builder
		for i, x := range order {
			v := nodes[x]
			if g.NodeCats+g.SparseCard > 0 {
				b.WriteString(nodeText(g, v))
			}
			for _, y := range order[:i] {
				for _, e := range []int{g.Entry(v, nodes[y]), g.Entry(nodes[y], v)} {
					switch {
					case e < 0:
						b.WriteByte('.')
					case g.EdgeCats == 0:
						b.WriteByte('x')
					default:
						b.WriteString(edgeText(g, int32(e)))
					}
				}
			}
		}
		return b.String()
	}
	key := fmt.Sprint(len(nodes), fixed, write(orders[len(nodes)][0]))
	if text, ok := s[key]; ok {
		return text
	}
	best := ""
next:
	for _, order := range orders[len(nodes)] {
		for i := range fixed {
			if order[i] != i {
				continue next
			}
		}
		if text := write(order); best == "" || text < best {
			best = text
		}
	}
	s[key] = fmt.Sprint(len(nodes), best)
	return s[key]
}
