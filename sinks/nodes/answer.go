package nodes

import (
	"context"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/count"
	"github.com/sanflow/sanflow/operators/propagation"
	"github.com/sanflow/sanflow/sinks"
)

// best is the model of words.
func (t *fitting) best() *nn.Logistic {
	m := nn.Best()
	if !t.few() { // there is less to fear from chance, and more to learn
		m.Width, m.Heads, m.Optimizer = 1<<18, 1, nn.AdaGrad{Rate: 0.2, Epsilon: 1e-3}
	}
	return m
}

// words is what the model of words says of all nodes, learned from the training nodes
// and stopped by the validation nodes. With few of them it looks three hops far; with
// many two, and at their classes.
func (t *fitting) words(ctx context.Context) (said *sinks.Probabilities, err error) {
	around := count.Around{Hops: 3}
	if !t.few() {
		if around = (count.Around{Hops: 2}); !t.Portable {
			around.Class = t.known()
		}
	}
	around.Bins = count.BinsOf(t.set.Graph)
	counts := operators.Count{Of: []count.Counter{around}, DropGraph: true}
	rows := func(nodes []int32) flow.Pipeline {
		return flow.From(t.set.Rooted(nodes)).Via(counts).With(flow.Options{Workers: t.Workers})
	}
	v := &view{words: true}
	defer v.release()
	if v.train, err = t.inOne(ctx, rows(t.train), "words"); err != nil {
		return nil, err
	}
	if v.val, err = t.inOne(ctx, rows(t.val), "words"); err != nil {
		return nil, err
	}
	m := &ensemble{view: v}
	if err := t.grow(ctx, []*ensemble{m}, 1, t.Epochs); err != nil {
		return nil, err
	}
	t.wordsModel = model{m.nets[0].net.(nn.Saver), operators.Recipe{operators.Expect{Layout: t.set.Rooted(nil).Layout}, operators.Roots{Nodes: []int32{-1}}, counts}}
	// A node may have a thousand words, so those of all nodes are not kept.
	said = t.nothing()
	ask, n := said.Ask(m.nets[0].net), 0
	each := ask.Each
	ask.Each = func(p sinks.Prediction) error {
		n++
		t.Progress("words", n, len(t.set.Class))
		return each(p)
	}
	return said, rows(t.all()).Via(operators.Batch{Size: 1024}).To(ask).Run(ctx)
}

// smoothed smooths the predictions of all nodes over the edges, where that is better on the
// validation nodes. It tries some shares, and the predictions of training nodes or their
// classes. Unless there is one share, it must be better by more than
// chance. O(edges·classes) a round.
func (t *fitting) smoothed(ctx context.Context, a Answer) (best Answer, err error) {
	best = a
	for i, share := range t.Smooth {
		for j, classes := range [2]bool{false, true} {
			if share == 0 || classes && t.Portable {
				continue
			}
			said, err := t.walk(ctx, a.Probabilities, share, classes)
			if err != nil {
				return best, err
			}
			better, err := t.better(said, best.Probabilities)
			if err != nil {
				return best, err
			}
			if better || len(t.Smooth) == 1 && !classes {
				best.Probabilities, best.Smooth, best.SmoothClasses = said, share, classes
			}
			t.Progress("smoothing", 2*i+j+1, 2*len(t.Smooth))
		}
	}
	return best, nil
}

// better reports whether a is better than b on the validation nodes: by more than chance, or
// by the measure.
func (t *fitting) better(a, b *sinks.Probabilities) (bool, error) {
	if t.Measure == "" {
		return a.Better(b, t.val), nil
	}
	x, err := a.Of(t.val).By(t.Measure)
	if err != nil {
		return false, err
	}
	y, err := b.Of(t.val).By(t.Measure)
	return t.Measure.Loss(x) < t.Measure.Loss(y), err
}

// walk propagates what is said of all nodes.
func (t *fitting) walk(ctx context.Context, said *sinks.Probabilities, share float64, classes bool) (*sinks.Probabilities, error) {
	x := make([]float32, len(said.Sum))
	for i, p := range said.Sum {
		x[i] = float32(p / said.Models)
	}
	if classes {
		for _, v := range t.train {
			row := x[int(v)*said.Classes:][:said.Classes]
			clear(row)
			row[t.set.Class[v]] = 1
		}
	}
	if err := (propagation.Walk{Share: share, Workers: t.Workers}).Rows(ctx, t.set.Graph, x, said.Classes); err != nil {
		return nil, err
	}
	a := t.nothing()
	a.Target, a.Models = said.Target, 1
	for i, p := range x {
		a.Sum[i] = float64(p)
	}
	return a, nil
}
