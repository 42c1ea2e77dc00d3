package choose

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/nn/validation"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

// Collection holds graphs in memory, to be split into parts.
type Collection struct {
	Layout record.Layout
	// Class is the class of each graph, -1 if it is unknown; 0 for a known number.
	Class []int32
	ID    []int64 // graph_id of each graph
	// first is, for each graph, the number of the first graph that is equal to it, its own if there
	// is none before: isomorphic, with the same attributes of nodes and edges and the same direction.
	first []int32
	Sizes []int   // numbers of nodes of each graph
	Nodes float64 // of a graph on average
	// Hash is that of each graph and its target, whatever the numbers of its nodes, by the colours of
	// WL: an id for sinks.KnownRows.
	Hash []uint64

	rows sinks.Collect
}

// Collect reads graphs, which have targets. The caller releases the Collection.
func Collect(ctx context.Context, p flow.Pipeline) (*Collection, error) {
	c := new(Collection)
	err := p.To(&c.rows).Run(ctx)
	if err == nil {
		err = c.survey()
	}
	if err != nil {
		c.Release()
		return nil, err
	}
	return c, nil
}

// Records are the graphs, in order. They belong to the Collection.
func (c *Collection) Records() []arrow.Record { return c.rows.Records() }

// Release releases the graphs.
func (c *Collection) Release() { c.rows.Release() }

// survey sets the layout, the classes, the ids, the sizes and the hashes of the graphs, and finds equal graphs.
func (c *Collection) survey() error {
	nodes := 0
	var all []graph.Graph
	for _, rec := range c.rows.Records() {
		gs, err := record.GraphsOf(rec)
		if err != nil {
			return err
		}
		c.Layout = gs.Layout
		ids, err := record.Values[int64](rec, record.GraphID)
		if err != nil {
			return err
		}
		c.ID = append(c.ID, ids...)
		switch {
		case len(gs.Layout.Targets) > 0:
			lists, err := record.ListsOf[float32](rec, record.Targets)
			if err != nil {
				return err
			}
			for row := range gs.Len() {
				hash, class := uint64(0), int32(-1)
				for _, x := range lists.Row(row) {
					if hash = validation.Seed(hash, bits(x)); x == x {
						class = 0
					}
				}
				c.Hash, c.Class = append(c.Hash, hash), append(c.Class, class)
			}
		case gs.Layout.Real:
			values, err := record.Values[float32](rec, record.Target)
			if err != nil {
				return err
			}
			for _, x := range values {
				c.Hash = append(c.Hash, bits(x))
				class := int32(0)
				if math.IsNaN(float64(x)) {
					class = -1
				}
				c.Class = append(c.Class, class)
			}
		case len(gs.Layout.Classes) > 0:
			class, err := record.Values[int32](rec, record.Target)
			if err != nil {
				return err
			}
			c.Class = append(c.Class, class...)
			for _, class := range class {
				c.Hash = append(c.Hash, uint64(class))
			}
		default:
			return errors.New("the graphs have neither classes nor numbers to learn; those of nodes are learned with -task nodes")
		}
		var g graph.Graph
		for row := range gs.Len() {
			gs.At(row, &g)
			c.Sizes = append(c.Sizes, g.N())
			nodes += g.N()
			all = append(all, g)
		}
	}
	switch {
	case len(c.Class) == 0:
		return errors.New("there are no graphs")
	case !c.Layout.Real && c.Layout.Targets == nil && len(c.Layout.Classes) < 2:
		return fmt.Errorf("all %d graphs are of class %s; there is nothing to classify", len(c.Class), c.Layout.Classes[0])
	case nodes == 0:
		return errors.New("no graph has a node")
	}
	c.Nodes = float64(nodes) / float64(len(c.Class))
	var sums []uint64
	c.first, sums = equal(all)
	for i, sum := range sums {
		c.Hash[i] = validation.Seed(sum, c.Hash[i])
	}
	return nil
}

// Deal splits the graphs as the function Deal does nodes, in their order, and deals equal graphs to one part: a copy of a graph
// that was learned from is no test. Parts that split gives stay as they are, and fewer than six
// different graphs are dealt one by one: Repeated counts what parts share.
func (c *Collection) Deal(split []sources.Subset, seed uint64) (train, valid, test []int32, err error) {
	return deal(c.Class, c.first, split, seed)
}

// Repeated returns how many of the graphs with a class are equal to an earlier one with a class, and
// how many of some graphs are equal to one of others.
func (c *Collection) Repeated(some, others []int32) (repeated, shared int) {
	known, among := map[int32]bool{}, map[int32]bool{}
	for i, first := range c.first {
		if c.Class[i] >= 0 {
			if known[first] {
				repeated++
			}
			known[first] = true
		}
	}
	for _, i := range others {
		among[c.first[i]] = true
	}
	for _, i := range some {
		if among[c.first[i]] {
			shared++
		}
	}
	return repeated, shared
}

// Rows copies the graphs with the given ascending numbers. The caller releases the records.
func (c *Collection) Rows(rows []int32) (flow.Records, error) {
	const most = 64 // graphs in a record, so that several workers have records
	out := flow.Records{Schema: c.rows.Records()[0].Schema()}
	rec, before := 0, int64(0)
	recs := c.rows.Records()
	for len(rows) > 0 {
		refs := make([]record.Ref, 0, most)
		for _, row := range rows[:min(most, len(rows))] {
			for int64(row) >= before+recs[rec].NumRows() {
				before, rec = before+recs[rec].NumRows(), rec+1
			}
			refs = append(refs, record.Ref{Record: int32(rec), Row: int32(int64(row) - before)})
		}
		rows = rows[len(refs):]
		took, err := record.Take(memory.DefaultAllocator, recs, refs)
		if err != nil {
			Release(out)
			return out, err
		}
		out.Records = append(out.Records, took)
	}
	return out, nil
}

// Release releases records.
func Release(s flow.Records) { record.Release(s.Records) }

// Adapt returns a graph with the attributes of the layout to, in its order, found by the names of their
// channels. A word becomes the model's index of that word. A word that the model does not have becomes the
// reserved index and counts in unseen, once for a node or an edge. Numbers become those with the offsets of to.
// Other attributes are left out. A channel of to that from lacks is an error, and so are a name that two
// channels share, unless from and to have the same names in the same order, columns that differ by
// record.Layout.SameColumns, and another direction of edges. The graph is not changed. The
// result shares the memory of unchanged parts. O(values).
func Adapt(g *graph.Graph, from, to record.Layout) (adapted *graph.Graph, unseen int, err error) {
	if err := from.SameColumns(&to); err != nil {
		return nil, 0, fmt.Errorf("choose: %w", err)
	}
	if g.Directed != to.Directed {
		return nil, 0, fmt.Errorf("choose: directed is %t, want %t", g.Directed, to.Directed)
	}
	out := *g
	nodes, err := adapt("nodes", &out.NodeCat, from.NodeCat, to.NodeCat, &out.NodeAttr, from.NodeAttr, to.NodeAttr)
	if err != nil {
		return nil, 0, err
	}
	edges, err := adapt("edges", &out.EdgeCat, from.EdgeCat, to.EdgeCat, &out.EdgeAttr, from.EdgeAttr, to.EdgeAttr)
	if err != nil {
		return nil, 0, err
	}
	out.NodeCats, out.NodeAttrs, out.EdgeCats, out.EdgeAttrs = len(to.NodeCat), len(to.NodeAttr), len(to.EdgeCat), len(to.EdgeAttr)
	if !g.Directed { // an edge is stored as two arcs
		edges /= 2
	}
	return &out, nodes + edges, nil
}

// adapt replaces the attributes of nodes or edges, which what says, by those of the channels toCat and toAttr. It returns the number of words that
// these lack.
func adapt(what string, cat *[]int32, fromCat, toCat []record.Channel, attr *[]float32, fromAttr, toAttr []record.Channel) (unseen int, err error) {
	cats, ok := places(fromCat, toCat)
	attrs, ok2 := places(fromAttr, toAttr)
	if !ok || !ok2 {
		return 0, fmt.Errorf("choose: the attributes of %s are %q, the model reads %q, %d and %d of them with words or categories", what,
			append(channelNames(fromCat), channelNames(fromAttr)...), append(channelNames(toCat), channelNames(toAttr)...), len(fromCat), len(toCat))
	}
	*cat, unseen = translated(pick(*cat, len(fromCat), cats), pick(fromCat, len(fromCat), cats), toCat)
	*attr = shifted(pick(*attr, len(fromAttr), attrs), pick(fromAttr, len(fromAttr), attrs), toAttr)
	return unseen, nil
}

// AdaptClasses codes the classes of a set by those of a model. It returns the nodes with a class that the
// model does not have; their class becomes unknown.
func AdaptClasses(set *sources.NodeSet, classes []string) (foreign []int32) {
	class := slices.Repeat([]int32{-1}, set.Graph.N())
	for v, c := range set.Class {
		if c >= 0 {
			if class[v] = sources.ClassIndex(classes, set.Classes[c]); class[v] < 0 {
				foreign = append(foreign, int32(v))
			}
		}
	}
	set.Class, set.Classes = class, classes
	return foreign
}

// places returns, for each channel of to, the index of the channel of that name in from.
func places(from, to []record.Channel) (at []int, ok bool) {
	has, want := channelNames(from), channelNames(to)
	same := slices.Equal(has, want)
	for i, name := range want {
		if !same {
			i = slices.Index(has, name)
			if i < 0 || slices.Contains(has[i+1:], name) {
				return nil, false
			}
		}
		at = append(at, i)
	}
	return at, true
}

// pick returns the columns of the given indices in rows of n values.
func pick[T any](rows []T, n int, at []int) []T {
	same := len(at) == n
	for i, place := range at {
		same = same && place == i
	}
	if same {
		return rows
	}
	picked := make([]T, 0, len(rows)/n*len(at))
	for ; len(rows) > 0; rows = rows[n:] {
		for _, i := range at {
			picked = append(picked, rows[i])
		}
	}
	return picked
}

// shifted converts numbers from the offsets of from to those of to.
func shifted(numbers []float32, from, to []record.Channel) []float32 {
	for c := range from {
		if by := from[c].Offset - to[c].Offset; by != 0 {
			numbers = slices.Clone(numbers)
			for i := c; i < len(numbers); i += len(from) {
				numbers[i] = float32(float64(numbers[i]) + by)
			}
		}
	}
	return numbers
}

func channelNames(channels []record.Channel) (names []string) {
	for _, c := range channels {
		names = append(names, c.Name)
	}
	return names
}

// translated converts indices of words from the channels of from to those of to. unseen is the number of words
// that to lacks.
func translated(values []int32, from, to []record.Channel) (adapted []int32, unseen int) {
	adapted = slices.Clone(values)
	for i, c := range from {
		if c.Words == nil || to[i].Words == nil || c.Equal(to[i]) {
			continue
		}
		as := make([]int32, c.Card)
		for x := range as {
			as[x] = to[i].Unseen()
			if word, ok := c.Word(int32(x)); ok {
				as[x] = to[i].Index(word)
			}
		}
		for at := i; at < len(values); at += len(from) {
			if adapted[at] = as[values[at]]; adapted[at] == to[i].Unseen() && values[at] != c.Unseen() {
				unseen++
			}
		}
	}
	return adapted, unseen
}
