package prequential

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math"

	"github.com/sanflow/sanflow/flow/event"
	"github.com/sanflow/sanflow/flow/file/store"
	"github.com/sanflow/sanflow/internal/state"
	"github.com/sanflow/sanflow/internal/temporal"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/nn/validation"
)

// Nodes tests the prediction of the class of each node, from its contacts with nodes of known
// class, before the class becomes known. The model learns from the contacts of nodes that are
// known; to its scores the logarithm of the share of each class among the contacts is added, with
// 0.02 for a class that was not met, so that an answer of a model that has learned little is that
// of the majority. Zero fields are the defaults.
type Nodes struct {
	Net *nn.Ranker // nil = &nn.Ranker{Batch: 1}, since there are few nodes
	// after is the number of edges of a node before the question about it; an earlier class in the
	// stream is held back until then. 0 = 10. Nodes with fewer edges are asked about at the end.
	after int
	watch
}

// Run tests the model on the nodes of a stream. Classes are numbers from 0.
func (n *Nodes) Run(ctx context.Context, events iter.Seq2[event.Event, error]) (*Report, error) {
	after := cmp.Or(n.after, 10)
	if after < 1 {
		return nil, fmt.Errorf("prequential: after is %d, want at least 1", n.after)
	}
	if n.Net == nil {
		n.Net = &nn.Ranker{Batch: 1}
	}
	if err := n.Net.Init(temporal.ClassFeatures); err != nil {
		return nil, err
	}
	report, known, m := &Report{}, &temporal.Classes{}, &meter{}
	var held, edges []int32 // by node: the class that is kept back, edges so far
	var now int64           // time of the last event
	var scores []float32
	grow := func(v int32) {
		for int(v) >= len(held) {
			held, edges = append(held, -1), append(edges, 0)
		}
	}
	ask := func(v int32) error {
		class := held[v]
		held[v] = -1
		told := event.Event{Kind: event.SetClass, Time: now, Source: v, Class: class}
		if known.Len() > 1 && int(class) < known.Len() {
			x := known.Describe(v, now)
			scores = room(scores, known.Len())
			if err := n.Net.Score(x, scores); err != nil {
				return err
			}
			best := 0
			for k := range scores {
				scores[k] += float32(math.Log(float64(x[k*temporal.ClassFeatures]) + 0.02))
				if x[k*temporal.ClassFeatures]+x[k*temporal.ClassFeatures+6]/1e3 > x[best*temporal.ClassFeatures]+x[best*temporal.ClassFeatures+6]/1e3 {
					best = k
				}
			}
			if best == int(class) {
				m.base[0]++
			}
			scores[0], scores[class] = scores[class], scores[0]
			m.pos, m.neg = last(append(m.pos, scores[0])), last(append(m.neg, scores[1:]...))
			a, wrong := Answer{told, validation.Rank(scores, 0)}, 0.
			if a.Rank != 1 {
				wrong = 1
			}
			if err := n.answer(m, a, wrong); err != nil {
				return err
			}
		}
		known.Add(told)
		return nil
	}
	l := loop{task: "nodes", settings: []store.Setting{setting("After", after)}, net: n.Net, features: known, watch: &n.watch}
	l.state = func(c *state.Codec) {
		state.Int(c, "the number of events", &report.Events, 0, 1<<62)
		m.state(c)
		state.Slice(c, "nodes", mostNumbers, &held)
		state.Slice(c, "nodes", mostNumbers, &edges)
		state.Num(c, &now)
		c.Check(len(held) == len(edges), "there are %d classes of %d nodes", len(held), len(edges))
	}
	l.do = func(e event.Event) (bool, error) {
		report.Events++
		now = e.Time
		switch e.Kind {
		case event.SetClass:
			if grow(e.Source); known.Class(e.Source) >= 0 || e.Class < 0 {
				held[e.Source] = -1
				known.Add(e)
			} else if held[e.Source] = e.Class; edges[e.Source] >= int32(after) {
				return true, ask(e.Source)
			}
		case event.RemoveNode:
			grow(e.Source)
			held[e.Source], edges[e.Source] = -1, 0
			known.Add(e)
		case event.AddEdge:
			grow(max(e.Source, e.Target))
			known.Add(e)
			for _, v := range [2]int32{e.Source, e.Target} {
				edges[v]++
				if class := known.Class(v); class >= 0 && known.Len() > 1 {
					x := known.Describe(v, e.Time)
					swap(x, int(class), temporal.ClassFeatures)
					if _, err := n.Net.Learn(nn.Question{X: x}); err != nil {
						return false, err
					}
				} else if held[v] >= 0 && edges[v] >= int32(after) {
					if err := ask(v); err != nil {
						return false, err
					}
				}
			}
		}
		return true, nil
	}
	if err := l.run(ctx, events); err != nil {
		return nil, err
	}
	for v := range held {
		if held[v] >= 0 {
			if err := ask(int32(v)); err != nil {
				return nil, err
			}
		}
	}
	report.Test, report.Alarms = m.scores(Majority), n.alarms
	return report, nil
}

// swap exchanges a row with the first.
func swap(x []float32, row, width int) {
	for j := range width {
		x[j], x[row*width+j] = x[row*width+j], x[j]
	}
}
