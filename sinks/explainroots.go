package sinks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/internal/propagation"
)

const (
	occludedNodes = 64   // most nodes around the roots that an explanation removes, one at a time
	aroundNodes   = 1024 // least number of nodes of the part that replaces a large graph
	mostVotes     = 256  // most nodes in the list of votes
)

// ExplainRoots explains the answer for the roots of one row, a node or the two ends of a link, by
// the nodes around them. It explains every model with a recipe for roots. For models that are not nn.Additive it removes nodes
// and edges near the roots. In place of a large graph the model predicts on the nodes around them,
// a thousand or more, with the same answer. Of answers that are smoothed it takes one prediction
// for each node of the graph.
func (p *Predictor) ExplainRoots(ctx context.Context, g *graph.Graph, o ExplainOptions, roots ...int32) (e *Explanation, err error) {
	if g != nil { // a nil graph is an error below
		if err := o.check(g.N()); err != nil {
			return nil, explained(err)
		}
		q, err := p.Knowing(g.N(), o.IDs)
		if err != nil {
			return nil, err
		}
		if q != p {
			defer q.Close()
		}
		p = q
	}
	if p.as.smoothing != nil {
		e, err = p.votes(ctx, g, o, roots)
		return o.named(e, err)
	}
	open, err := p.openGraph(ctx, g)
	if err != nil {
		return nil, err
	}
	e, err = open.explain(ctx, o, roots)
	if err := errors.Join(err, open.Close()); err != nil {
		return nil, explained(err)
	}
	if e.Method == "" {
		if len(roots) == 2 && joined(g, roots) { // the edge between a pair is hidden, so it has no weight
			if g, err = g.Without(nil, []graph.Edge{{U: roots[0], V: roots[1]}}); err != nil {
				return nil, explained(err)
			}
		}
		err = p.occludeRoots(ctx, g, e, roots)
	}
	return o.named(e, err)
}

// predictOther is Predict for another graph of as many nodes, with the same model and operators.
func (o *OpenGraph) predictOther(ctx context.Context, g *graph.Graph, nodes ...int32) ([]Answer, error) {
	if err := o.check(nodes); err != nil {
		return nil, err
	}
	of, err := o.ahead(ctx, g)
	if err != nil {
		return nil, err
	}
	defer of.release()
	return o.ask(ctx, &of, nodes)
}

// occludeRoots sets the weights of an explanation by occlusion of each node and each edge near the roots.
func (p *Predictor) occludeRoots(ctx context.Context, g *graph.Graph, e *Explanation, roots []int32) error {
	q, near, at, number, err := p.around(ctx, g, e, roots)
	if err != nil {
		return err
	}
	if q != p {
		defer q.Close()
	}
	open, err := q.openGraph(ctx, near)
	if err != nil {
		return err
	}
	defer open.Close()
	hood := nearest(near, at, occludedNodes)
	slices.Sort(hood)
	err = e.occlude(ctx, near, hood, at, func(ctx context.Context, g *graph.Graph) ([]Answer, error) { return open.predictOther(ctx, g, at...) })
	if err != nil {
		return err
	}
	e.Roots = slices.Clone(roots)
	for i := range e.Nodes {
		e.Nodes[i].ID = number[e.Nodes[i].ID]
	}
	for i, edge := range e.Edges {
		e.Edges[i].Source, e.Edges[i].Target = number[edge.Source], number[edge.Target]
	}
	return nil
}

// around returns a part of g around the roots for which the model gives the same answer, a Predictor for
// the part, the roots in it, and the number in g of each node. Nodes keep their order.
func (p *Predictor) around(ctx context.Context, g *graph.Graph, e *Explanation, roots []int32) (q *Predictor, near *graph.Graph, at, number []int32, err error) {
	for size := aroundNodes; ; size *= 8 {
		number = nearest(g, roots, size)
		slices.Sort(number)
		if len(number) >= g.N()/2 { // so large a part saves little, and the whole graph is used
			return p, g, roots, numbersTo(g.N()), nil
		}
		if near, err = g.Only(number); err != nil {
			return nil, nil, nil, nil, err
		}
		at = slices.Clone(roots)
		for i, v := range roots {
			place, _ := slices.BinarySearch(number, v)
			at[i] = int32(place)
		}
		if q, err = p.within(number); err != nil {
			return nil, nil, nil, nil, err
		}
		said, err := q.PredictRoots(ctx, near, at...)
		if err == nil && slices.Equal(said[0].Probs, e.Probs) && said[0].Value == e.Value {
			return q, near, at, number, nil
		}
		if q != p {
			err = errors.Join(err, q.Close())
		}
		if err != nil {
			return nil, nil, nil, nil, err
		}
	}
}

// numbersTo returns the numbers 0 … n-1.
func numbersTo(n int) []int32 {
	all := make([]int32, n)
	for i := range all {
		all[i] = int32(i)
	}
	return all
}

// nearest returns up to most nodes: the roots, then nodes by their distance from the roots, with arcs in
// either direction. It has all nodes of the largest distance, except if that is 1.
func nearest(g *graph.Graph, roots []int32, most int) []int32 {
	var offsets, tails []int32
	if g.Directed {
		offsets, tails, _ = g.Transpose()
	}
	seen := make(map[int32]bool, most)
	var nodes []int32
	see := func(v int32) {
		if v >= 0 && !seen[v] {
			seen[v] = true
			nodes = append(nodes, v)
		}
	}
	for _, v := range roots {
		see(v)
	}
	for from, first := 0, len(nodes); from < len(nodes); {
		end := len(nodes)
		for _, v := range nodes[from:end] {
			for _, u := range g.Adj(v) {
				see(u)
			}
			if g.Directed {
				for _, u := range tails[offsets[v]:offsets[v+1]] {
					see(u)
				}
			}
		}
		if len(nodes) > most {
			if end > first {
				return nodes[:end]
			}
			slices.Sort(nodes[end:])
			return nodes[:most]
		}
		from = end
	}
	return nodes
}

// votes explains a smoothed answer by the weights of the answers of all nodes.
func (p *Predictor) votes(ctx context.Context, g *graph.Graph, o ExplainOptions, roots []int32) (*Explanation, error) {
	if g == nil {
		return nil, errors.New("the graph is nil")
	}
	if len(roots) != 1 || roots[0] < 0 || int(roots[0]) >= g.N() {
		return nil, fmt.Errorf("the roots are %d, want one of the %d nodes", roots, g.N())
	}
	s := *p.as.smoothing
	said, err := p.unsmoothed(ctx, g, s)
	if err != nil {
		return nil, err
	}
	weights, err := (propagation.Walk{Share: s.Share}).Weights(g, roots[0])
	if err != nil {
		return nil, err
	}
	classes := p.net.Shape().Classes
	sum := make([]float64, classes)
	for v, w := range weights {
		for c := range sum {
			sum[c] += w * float64(said[v*classes+c])
		}
	}
	// answer returns the calibrated answer for a weighted sum.
	answer := func(sum []float64) []float32 {
		probs := make([]float32, classes)
		for c, x := range sum {
			probs[c] = float32(max(0, x))
		}
		p.as.behind(probs, classes)
		return probs
	}
	e := &Explanation{Probs: answer(sum), Method: "votes", Roots: slices.Clone(roots), Words: []WordWeight{}, Edges: []EdgeWeight{}}
	a := Answer{Index: argmax(e.Probs)}
	class, err := p.explainedClass(a, o.Class, classes)
	if err != nil {
		return nil, err
	}
	e.Predicted, e.Class, e.Classes = className(p.classes, a.Index), className(p.classes, class), p.classNames(classes)
	e.Sum = output(e.Probs, 0, class)
	without := make([]float64, classes)
	e.Nodes = []NodeWeight{}
	for v, w := range weights {
		if w == 0 {
			continue
		}
		for c, x := range sum {
			without[c] = x - w*(float64(said[v*classes+c])-1/float64(classes))
		}
		e.Nodes = append(e.Nodes, NodeWeight{ID: int32(v), Weight: e.Sum - output(answer(without), 0, class)})
	}
	if len(e.Nodes) > mostVotes {
		slices.SortStableFunc(e.Nodes, func(a, b NodeWeight) int { return cmp.Compare(math.Abs(b.Weight), math.Abs(a.Weight)) })
		e.Nodes = e.Nodes[:mostVotes]
		slices.SortFunc(e.Nodes, func(a, b NodeWeight) int { return cmp.Compare(a.ID, b.ID) })
	}
	e.Graph = e.Sum
	for _, v := range e.Nodes {
		e.Graph -= v.Weight
	}
	return e, nil
}
