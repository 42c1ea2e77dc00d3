package choose

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/sinks"
)

// Collection is graphs in memory, to be dealt into parts.
type Collection struct {
	Layout record.Layout
	// Class is that of each graph, -1 where it is not known; 0 for a number that is known.
	Class []int32
	Nodes float64 // of a graph on average

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

// Release gives the memory back.
func (c *Collection) Release() { c.rows.Release() }

// survey notes the class of each graph, and the number of nodes.
func (c *Collection) survey() error {
	nodes := 0
	for _, rec := range c.rows.Records() {
		gs, err := record.GraphsOf(rec)
		if err != nil {
			return err
		}
		c.Layout = gs.Layout
		switch {
		case gs.Layout.Real:
			values, err := record.Values[float32](rec, record.Target)
			if err != nil {
				return err
			}
			for _, x := range values {
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
		default:
			return errors.New("the graphs have neither classes nor numbers to learn")
		}
		var g graph.Graph
		for row := range gs.Len() {
			gs.At(row, &g)
			nodes += g.N()
		}
	}
	switch {
	case len(c.Class) == 0:
		return errors.New("there are no graphs")
	case !c.Layout.Real && len(c.Layout.Classes) < 2:
		return fmt.Errorf("all %d graphs are of class %s; there is nothing to classify", len(c.Class), c.Layout.Classes[0])
	case nodes == 0:
		return errors.New("no graph has a node")
	}
	c.Nodes = float64(nodes) / float64(len(c.Class))
	return nil
}

// Rows copies some graphs, whose numbers ascend. The caller releases the records.
func (c *Collection) Rows(rows []int32) (flow.Records, error) {
	const most = 64 // graphs in a record: workers share records
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
func Release(s flow.Records) {
	for _, rec := range s.Records {
		rec.Release()
	}
}

// Adapt maps the categories of a graph to the indices of a model: the words of the channels
// in from become the same words of those in to. A word that the model does not have
// becomes its reserved one, and counts in unseen: once for a node or an edge. Numbers
// become those with the offsets of to. A channel of
// another name, or another number of them, is an error. The graph is not changed, and the
// result has its memory but for what differs. O(values).
func Adapt(g *graph.Graph, from, to record.Layout) (adapted *graph.Graph, unseen int, err error) {
	for _, c := range []struct {
		what     string
		from, to []record.Channel
	}{{"nodes", slices.Concat(from.NodeCat, from.NodeAttr), slices.Concat(to.NodeCat, to.NodeAttr)}, {"edges", slices.Concat(from.EdgeCat, from.EdgeAttr), slices.Concat(to.EdgeCat, to.EdgeAttr)}} {
		if has, want := channelNames(c.from), channelNames(c.to); !slices.Equal(has, want) {
			return nil, 0, fmt.Errorf("choose: the attributes of %s are %q, the model reads %q", c.what, has, want)
		}
	}
	if len(from.NodeCat) != len(to.NodeCat) || len(from.EdgeCat) != len(to.EdgeCat) {
		return nil, 0, errors.New("choose: an attribute has words, and numbers in the model, or the reverse")
	}
	out := *g
	var nodes, edges int
	out.NodeCat, nodes = adapt(g.NodeCat, from.NodeCat, to.NodeCat)
	out.EdgeCat, edges = adapt(g.EdgeCat, from.EdgeCat, to.EdgeCat)
	out.NodeAttr, out.EdgeAttr = shifted(g.NodeAttr, from.NodeAttr, to.NodeAttr), shifted(g.EdgeAttr, from.EdgeAttr, to.EdgeAttr)
	if !g.Directed { // an edge is stored as two arcs
		edges /= 2
	}
	return &out, nodes + edges, nil
}

// shifted returns numbers with the offsets of other channels.
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

// adapt returns values with the indices of other channels, and the number of words that
// these do not have.
func adapt(values []int32, from, to []record.Channel) (adapted []int32, unseen int) {
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
