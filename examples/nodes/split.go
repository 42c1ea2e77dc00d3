package main

import (
	"context"
	"fmt"
	"math"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

// bySplit learns from the training nodes, chooses by the validation nodes, and
// asks about the test nodes once.
func bySplit(ctx context.Context, c *config, d *dataset, r *report) error {
	if c.words == yes && d.Graph.SparseCard == 0 {
		return fmt.Errorf("%s: -words is on, and the nodes have no sparse features, nor numbers in their place", d.name)
	}
	var fields arrow.Record
	if c.spread != yes { // else nobody looks at them
		var err error
		if fields, err = d.collect(ctx, c, r); err != nil {
			return err
		}
		defer fields.Release()
	}
	views, err := d.views(ctx, c, fields)
	if err != nil {
		return err
	}
	defer release(views)
	best, err := d.choose(ctx, c, views)
	if err != nil {
		return err
	}
	said := newAverage(len(d.Class), len(d.Classes))
	for _, t := range best.nets {
		one := newAverage(len(d.Class), len(d.Classes))
		if err := examine(ctx, t.net, best.view.rows, one); err != nil {
			return err
		}
		said.merge(one)
		r.EachAccuracy = append(r.EachAccuracy, one.of(d.test).accuracy())
		r.Epochs = append(r.Epochs, t.epoch)
	}
	last, smooth, err := d.smooth(ctx, c, said)
	if err != nil {
		return err
	}
	if c.words != no && d.Graph.SparseCard > 0 && (c.words == yes || d.few()) {
		words, err := d.words(ctx, c)
		if err != nil {
			return err
		}
		for _, model := range []struct {
			name string
			said *average
		}{{modelWords, words}, {modelBoth, mean(said, words)}} {
			a, s, err := d.smooth(ctx, c, model.said)
			if err != nil {
				return err
			}
			if better(a, last, d.val) {
				last, smooth, r.Model = a, s, model.name
			}
		}
	}
	r.Decay, r.curve = best.decay, best.nets[0].curve
	r.NeighbourLabels, r.Spread = best.view.labels, best.view.spread
	r.Smooth, r.SmoothKnown = smooth.share, smooth.known
	r.ValAccuracy, r.Accuracy = last.of(d.val).accuracy(), last.of(d.test).accuracy()
	return nil
}

// take returns the rows of some nodes.
func take(rec arrow.Record, nodes []int32) (arrow.Record, error) {
	refs := make([]record.Ref, len(nodes))
	for i, v := range nodes {
		refs[i].Row = v
	}
	return record.Take(memory.DefaultAllocator, []arrow.Record{rec}, refs)
}

// inMemory is a pipeline of the rows of a record.
func inMemory(rec arrow.Record) flow.Pipeline {
	return flow.From(sources.Records{Records: []arrow.Record{rec}}).
		Via(operators.Batch{Size: 1024}).
		With(flow.Options{Workers: 1})
}

// newNet returns the network that -net names, or the model of words for a view of
// them.
func (c *config) newNet(v *view, seed uint64, decay float64) nn.Model {
	if v != nil && v.words {
		m := nn.Best()
		if v.many { // there is less to fear from chance, and more to learn
			m.Width, m.Heads, m.Optimizer = 1<<18, 1, nn.AdaGrad{Rate: 0.2, Epsilon: 1e-3}
		}
		return m
	}
	opt := nn.Adam{Rate: c.rate, WeightDecay: decay}
	if c.net == "cnn" {
		return &nn.CNN{Seed: seed, Optimizer: opt}
	}
	return &nn.Pooled{Maps: c.maps, Seed: seed, Optimizer: opt}
}

// examine asks a network about all rows of rec.
func examine(ctx context.Context, net nn.Model, rec arrow.Record, into ...*average) error {
	row := 0
	return inMemory(rec).To(sinks.Predict{Net: net, Each: func(p sinks.Prediction) error {
		for _, a := range into {
			a.add(row, p)
		}
		row++
		return nil
	}}).Run(ctx)
}

// average adds up the probabilities that several networks give, row by row.
type average struct {
	classes int
	sum     []float64 // (rows, classes)
	target  []int
	nets    float64
}

func newAverage(rows, classes int) *average {
	return &average{classes: classes, sum: make([]float64, rows*classes), target: make([]int, rows)}
}

func (a *average) add(row int, p sinks.Prediction) {
	if row == 0 {
		a.nets++
	}
	a.target[row] = p.Target
	for c, x := range p.Probs {
		a.row(row)[c] += float64(x)
	}
}

// merge adds what is said in b, of the same rows.
func (a *average) merge(b *average) {
	for i, x := range b.sum {
		a.sum[i] += x
	}
	copy(a.target, b.target)
	a.nets += b.nets
}

// mean has as much to say from a as from b, of the same rows.
func mean(a, b *average) *average {
	m := newAverage(len(a.target), a.classes)
	copy(m.target, a.target)
	m.nets = 1
	for i := range m.sum {
		m.sum[i] = (a.sum[i]/a.nets + b.sum[i]/b.nets) / 2
	}
	return m
}

func (a *average) row(i int) []float64 { return a.sum[i*a.classes : (i+1)*a.classes] }

// of returns the part of a that is about some rows.
func (a *average) of(rows []int32) *average {
	b := newAverage(len(rows), a.classes)
	b.nets = a.nets
	for i, row := range rows {
		copy(b.row(i), a.row(int(row)))
		b.target[i] = a.target[row]
	}
	return b
}

// hit reports whether the most probable class of a row, the first of equals, is
// its own.
func (a *average) hit(row int) bool {
	probs, top := a.row(row), 0
	for c, x := range probs {
		if x > probs[top] {
			top = c
		}
	}
	return top == a.target[row]
}

// right counts the hits.
func (a *average) right() (right int) {
	for row := range a.target {
		if a.hit(row) {
			right++
		}
	}
	return right
}

// accuracy is the share of rows that are right, in percent.
func (a *average) accuracy() float64 { return 100 * float64(a.right()) / float64(len(a.target)) }

// loss is the mean cross-entropy.
func (a *average) loss() (sum float64) {
	for row, target := range a.target {
		sum -= math.Log(max(a.row(row)[target]/a.nets, 1e-30))
	}
	return sum / float64(len(a.target))
}
