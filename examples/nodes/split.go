package main

import (
	"context"
	"math"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

// bySplit learns from the training nodes, stops by the validation nodes, and
// asks about the test nodes once.
func bySplit(ctx context.Context, c *config, d *dataset, r *report) error {
	learned := make([]bool, len(d.Class))
	for _, v := range d.train {
		learned[v] = true
	}
	all := make([]int32, len(d.Class))
	for v := range all {
		all[v] = int32(v)
	}
	fields, err := d.collect(ctx, c, all, func(_, v int32) bool { return learned[v] }, r)
	if err != nil {
		return err
	}
	defer fields.Release()
	var recs [2]arrow.Record
	for i, part := range [2][]int32{d.train, d.val} {
		if recs[i], err = take(fields, part); err != nil {
			return err
		}
		defer recs[i].Release()
	}
	best, err := d.choose(ctx, c, recs[0], recs[1])
	if err != nil {
		return err
	}
	said := newAverage(len(all), len(d.Classes))
	for _, net := range best.nets {
		one := newAverage(len(all), len(d.Classes))
		if err := examine(ctx, net, fields, one, said); err != nil {
			return err
		}
		r.EachAccuracy = append(r.EachAccuracy, one.of(d.test).accuracy())
	}
	v, err := votersOf(fields, c.k)
	if err != nil {
		return err
	}
	said, r.Votes = v.elect(said, d.val, c.votes)
	r.Epochs, r.Decay, r.curve = best.epochs, best.decay, best.curve
	r.ValAccuracy, r.Accuracy = said.of(d.val).accuracy(), said.of(d.test).accuracy()
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

// committee is networks that were trained alike.
type committee struct {
	decay  float64
	nets   []nn.Model // each as it was at its best epoch
	epochs []int
	val    *average  // what they say of the validation nodes
	curve  []float64 // validation accuracy of the first network, by epoch
}

// choose trains networks with each weight decay, and returns those that tell the
// validation nodes apart best.
func (d *dataset) choose(ctx context.Context, c *config, train, val arrow.Record) (*committee, error) {
	bar := cli.NewProgress("training", int64(len(c.decays)*c.nets))
	defer bar.Done()
	var best *committee
	for _, decay := range c.decays {
		m := &committee{decay: decay, val: newAverage(len(d.val), len(d.Classes))}
		for i := range c.nets {
			if err := d.fit(ctx, c, m, uint64(i), train, val); err != nil {
				return nil, err
			}
			if err := examine(ctx, m.nets[i], val, m.val); err != nil {
				return nil, err
			}
			bar.Add(1)
		}
		if best == nil || m.val.accuracy() > best.val.accuracy() ||
			m.val.accuracy() == best.val.accuracy() && m.val.loss() < best.val.loss() {
			best = m
		}
	}
	return best, nil
}

// fit trains a further network and adds it to m.
func (d *dataset) fit(ctx context.Context, c *config, m *committee, i uint64, train, val arrow.Record) error {
	seeds := newRand(c.seed, streamNets+i<<8)
	net := c.newNet(seeds.Uint64(), m.decay)
	steps := (int(train.NumRows()) + c.batch - 1) / c.batch
	valid := inMemory(val)
	percent := func(r nn.Result) float64 { return 100 * float64(r.Correct) / float64(r.Rows) }
	fit, err := sinks.Fit{
		Net: net, Epochs: c.epochs, Batch: c.batch, Seed: seeds.Uint64(), Valid: &valid,
		// What counts is the accuracy; the loss decides between equal ones.
		Score: func(r nn.Result) float64 { return r.Loss/1e6 - percent(r) },
		// Twenty epochs without a better validation end it, or fewer if they are
		// long.
		Patience: max(3, min(20, 4000/steps)),
	}.Run(ctx, inMemory(train))
	if err != nil {
		return err
	}
	if i == 0 {
		for _, e := range fit.Epochs {
			m.curve = append(m.curve, percent(e.Valid))
		}
	}
	m.nets, m.epochs = append(m.nets, net), append(m.epochs, fit.Best)
	return nil
}

// inMemory is a pipeline of the rows of a record.
func inMemory(rec arrow.Record) flow.Pipeline {
	return flow.From(sources.Records{Records: []arrow.Record{rec}}).
		Via(operators.Batch{Size: 1024}).
		With(flow.Options{Workers: 1})
}

// newNet returns the network that -net names.
func (c *config) newNet(seed uint64, decay float64) nn.Model {
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
