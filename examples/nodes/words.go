package main

import (
	"context"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/examples/internal/rootwords"
	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/count"
	"github.com/sanflow/sanflow/sinks"
)

// nodeWords counts what the nodes around a root have for sparse attributes, and for
// classes where those are known: a word is one of them with the hops from the root,
// up to hops. It stands behind Chunk of 1.
type nodeWords struct {
	classes []int32
	names   []string
	known   []bool // classes that are; nil = none. That of a root does not stand in its words
	hops    int
}

// widest is how many nodes are looked at around a root. Those of a distance are all
// looked at or none, so that the numbers of nodes do not matter.
const widest = 1024

func (w nodeWords) operator() flow.Operator {
	return rootwords.Operator{Name: "nodeWords", Classes: w.names, Counter: func() rootwords.Counter { return &nodeCounter{nodeWords: w} }}
}

// nodeCounter is one worker.
type nodeCounter struct {
	nodeWords
	seen   []bool
	around []int32 // the nodes that were seen
}

var (
	kindAround = count.Kind("node around")
	kindClass  = count.Kind("node class around")
)

// Count adds the words of a root to the bag, ring by ring.
func (w *nodeCounter) Count(g *graph.Graph, roots []int32, bag *count.Bag) (class int32) {
	root := roots[0]
	if len(w.seen) < g.N() {
		w.seen = make([]bool, g.N())
	}
	w.around, w.seen[root] = append(w.around[:0], root), true
	begin, ring := 0, 0
	for {
		end := len(w.around)
		for _, v := range w.around[begin:end] {
			for _, i := range g.Sparse(v) {
				bag.Add(uint64(kindAround.Add(uint64(ring)).Add(uint64(i))), 1)
			}
			if w.known != nil && w.known[v] && v != root {
				bag.Add(uint64(kindClass.Add(uint64(ring)).Add(uint64(w.classes[v]))), 1)
			}
		}
		if ring == w.hops {
			break
		}
		if !w.next(g, begin) {
			break
		}
		begin, ring = end, ring+1
	}
	for _, v := range w.around {
		w.seen[v] = false
	}
	return w.classes[root]
}

// next sees the ring behind the one that begins there, and returns whether it is to be
// looked at. It ends where that is known: a ring around a hub may be the whole graph.
func (w *nodeCounter) next(g *graph.Graph, begin int) bool {
	end := len(w.around)
	for _, v := range w.around[begin:end] {
		for _, u := range g.Adj(v) {
			if w.seen[u] {
				continue
			}
			if len(w.around) == widest {
				return false
			}
			w.around, w.seen[u] = append(w.around, u), true
		}
	}
	return len(w.around) > end
}

// words is what the model of words says of all nodes: that which is best for graphs
// (nn.Best), learned from the training nodes and
// stopped by the validation nodes. With few of them it looks three hops far; with
// many two, and at their classes.
func (d *dataset) words(ctx context.Context, c *config) (*average, error) {
	count := nodeWords{classes: d.Class, names: d.Classes, hops: 3}
	if !d.few() {
		count.hops, count.known = 2, d.learned()
	}
	rows := func(nodes []int32) flow.Pipeline {
		return flow.From(d.NodeSet).
			Via(operators.Roots{Nodes: nodes}).
			Via(operators.Chunk{Size: 1}).
			Via(count.operator()).
			With(flow.Options{Workers: c.workers})
	}
	v := &view{words: true, many: !d.few(), classes: len(d.Classes)}
	defer release([]*view{v})
	for _, part := range []struct {
		rec   *arrow.Record
		nodes []int32
	}{{&v.train, d.train}, {&v.val, d.val}} {
		bar := cli.NewProgress("words", int64(len(part.nodes)))
		rec, err := d.inOne(ctx, rows(part.nodes), bar)
		bar.Done()
		if err != nil {
			return nil, err
		}
		*part.rec = rec
	}
	m := d.committee(v, 0)
	if err := d.grow(ctx, c, []*committee{m}, 1, c.epochs); err != nil {
		return nil, err
	}
	// A node may have a thousand words, so those of all nodes are not kept.
	bar := cli.NewProgress("words", int64(len(d.Class)))
	defer bar.Done()
	said, row := newAverage(len(d.Class), len(d.Classes)), 0
	return said, rows(d.all()).Via(operators.Batch{Size: 1024}).To(sinks.Predict{Net: m.nets[0].net, Each: func(p sinks.Prediction) error {
		said.add(row, p)
		row++
		bar.Add(1)
		return nil
	}}).Run(ctx)
}
