package choose

import (
	"context"
	"errors"
	"fmt"
	"math"

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
		return fmt.Errorf("all %d graphs are of class %s; there is nothing to tell apart", len(c.Class), c.Layout.Classes[0])
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

// Adapt gives a graph the words of a model: the discrete attributes of nodes and edges,
// which are words of the channels in from, become the same words of those in to, which
// stand in the same order. It returns how many words the model does not have, which become
// its reserved one. The graph must not be shared. O(values).
func Adapt(g *graph.Graph, from, to record.Layout) (unseen int) {
	channels := func(values []int32, width int, from, to []record.Channel) {
		for i := range min(width, len(from), len(to)) {
			if from[i].Words == nil || to[i].Words == nil || from[i].Equal(to[i]) {
				continue
			}
			as := make([]int32, from[i].Card)
			for x := range as {
				as[x] = to[i].Unseen()
				if word, ok := from[i].Word(int32(x)); ok {
					as[x] = to[i].Index(word)
				}
			}
			for at := i; at < len(values); at += width {
				if values[at] = as[values[at]]; values[at] == to[i].Unseen() {
					unseen++
				}
			}
		}
	}
	channels(g.NodeCat, g.NodeCats, from.NodeCat, to.NodeCat)
	channels(g.EdgeCat, g.EdgeCats, from.EdgeCat, to.EdgeCat)
	return unseen
}
