package main

import (
	"github.com/sanflow/sanflow/examples/internal/rootwords"
	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/operators/count"
)

// pairWords counts what stands around a pair of nodes, the two roots of a row: the
// words of surroundings. The class is 1 where the pair is an edge of full. It stands
// behind Chunk of 2.
func pairWords(full *graph.Graph) flow.Operator {
	return rootwords.Operator{Name: "pairWords", Classes: linkClasses, Counter: func() rootwords.Counter { return &pairCounter{full: full} }}
}

// pairCounter is one worker.
type pairCounter struct {
	full   *graph.Graph
	around surroundings
}

func (c *pairCounter) Count(g *graph.Graph, roots []int32, bag *count.Bag) (link int32) {
	c.around.count(g, pair{roots[0], roots[1]}, bag)
	if c.full.Entry(roots[0], roots[1]) >= 0 {
		return 1
	}
	return 0
}
