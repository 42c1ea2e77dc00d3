package sinks

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/internal/pool"
	"github.com/sanflow/sanflow/internal/propagation"
	"github.com/sanflow/sanflow/nn"
)

// Smoothing propagates the predictions for all nodes of a graph over the edges, by
// propagation.Walk with Share. Package choose takes it if it improves the result.
//
// Predictor.Open of a model that was kept with a Smoothing predicts all nodes at once. That costs n calls of OpenGraph.Predict and
// O(edges·classes) for each round of the walk, 29 by default; a million nodes at 0.5 ms take 8
// minutes of processor time. A Temperature and a Prior of the model apply after the smoothing. It keeps 4·classes bytes for each node, needs three times that
// while it works, and frees all other memory of Open. A call of Predict then copies a row.
// Update does not change these predictions.
type Smoothing struct {
	// Share is above 0 and below 1; 0 = 0.9.
	Share float64 `json:"share"`
	// Classes lets the classes that the model knows by the ids of nodes propagate in place of the
	// predictions; see Known.WithClasses. Keep stores it.
	Classes bool `json:"classes,omitempty"`
	// Class, if set, is the class of each node of the graph that is opened, or -1 if it is unknown: a
	// known class propagates in place of the prediction. Keep does not store it.
	Class []int32 `json:"-"`
}

// smoothingNote is the metadata key of a Smoothing.
const smoothingNote = "smoothing"

// Keep puts the smoothing into the metadata of a model, which Save writes. Predictor.Open smooths then.
func (s Smoothing) Keep(m nn.Saver) error { return keep(m, smoothingNote, &s) }

func (s *Smoothing) check(nn.Shape) error {
	if !(s.Share > 0 && s.Share < 1) {
		return fmt.Errorf("the share is %v, want above 0 and below 1", s.Share)
	}
	return nil
}

// smoothedNodes is the number of nodes in one call of Predict.
const smoothedNodes = 256

// openSmoothed opens a graph, predicts each node on GOMAXPROCS goroutines and smooths the predictions. The model must classify nodes.
func (p *Predictor) openSmoothed(ctx context.Context, g *graph.Graph, s Smoothing) (*OpenGraph, error) {
	said, err := p.unsmoothed(ctx, g, s)
	if err != nil {
		return nil, err
	}
	classes := p.net.Shape().Classes
	if err := (propagation.Walk{Share: s.Share}).Rows(ctx, g, said, classes); err != nil {
		return nil, err
	}
	p.as.behind(said, classes)
	return &OpenGraph{p: p, nodes: g.N(), width: 1, said: said}, nil
}

// unsmoothed returns the rows before the propagation, (nodes, classes): the probabilities of a node, or 1
// at its class if s.Class has one.
func (p *Predictor) unsmoothed(ctx context.Context, g *graph.Graph, s Smoothing) (said []float32, err error) {
	classes := p.net.Shape().Classes
	if classes == 0 {
		return nil, errors.New("sinks: predictor: the model has learned numbers, want one of classes to smooth")
	}
	open, err := p.openAll(ctx, g, true)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, open.Close()) }()
	open.as = calibration{heat: 1} // no calibration here, since the smoothed rows are calibrated
	n := g.N()
	if open.width > 1 {
		return nil, fmt.Errorf("sinks: predictor: a row of the recipe has %d roots, want one to smooth", open.width)
	}
	if s.Class != nil && len(s.Class) != n {
		return nil, fmt.Errorf("sinks: predictor: Class has the classes of %d nodes, the graph has %d", len(s.Class), n)
	}
	said = make([]float32, n*classes)
	err = pool.Each(ctx, runtime.GOMAXPROCS(0), (n+smoothedNodes-1)/smoothedNodes, func(ctx context.Context, _, i int) error {
		var nodes []int32
		for v := i * smoothedNodes; v < min(n, (i+1)*smoothedNodes); v++ {
			nodes = append(nodes, int32(v))
		}
		all, err := open.Predict(ctx, nodes...)
		if err == nil && len(all) != len(nodes) {
			err = fmt.Errorf("sinks: predictor: there are %d answers for %d nodes", len(all), len(nodes))
		}
		for j, a := range all {
			if err == nil {
				copy(said[int(nodes[j])*classes:], a.Probs)
			}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	for v, c := range s.Class {
		switch {
		case c >= int32(classes):
			return nil, fmt.Errorf("sinks: predictor: Class has the class %d of node %d, want below %d", c, v, classes)
		case c >= 0:
			row := said[v*classes : (v+1)*classes]
			clear(row)
			row[c] = 1
		}
	}
	return said, nil
}

// lookup returns the stored answers for nodes.
func (o *OpenGraph) lookup(nodes []int32) (all []Answer, err error) {
	o.workers.mu.Lock()
	defer o.workers.mu.Unlock()
	if o.workers.closed {
		return nil, errClosed
	}
	classes := o.p.net.Shape().Classes
	for _, v := range nodes {
		if v < 0 {
			return nil, fmt.Errorf("sinks: predictor: root %d is not among the %d nodes", v, o.nodes)
		}
		a := Answer{Probs: append([]float32(nil), o.said[int(v)*classes:][:classes]...), Root: v}
		a.Index = argmax(a.Probs)
		a.Class = className(o.p.classes, a.Index)
		all = append(all, a)
	}
	return all, nil
}
