package main

import (
	"context"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/internal/pool"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/sinks"
)

// committee is networks that were trained alike.
type committee struct {
	view  *view
	decay float64
	nets  []*trained
	val   *average // what they say of the validation nodes
}

// trained is a network as it was at its best epoch.
type trained struct {
	net   nn.Model
	epoch int
	val   *average
	curve []float64 // validation accuracy by epoch
}

// glance is for how many epochs each view is learned from where learning takes
// long, to see which to go on with.
const glance = 3

// choose trains networks of each view with each weight decay, and returns those
// that tell the validation nodes apart best. Where learning takes long, that is
// found out from one network of each kind and its first epochs, and then some are
// trained to the end.
func (d *dataset) choose(ctx context.Context, c *config, views []*view) (*committee, error) {
	var all []*committee
	for _, v := range views {
		for _, decay := range c.decays {
			all = append(all, d.committee(v, decay))
		}
	}
	if d.few() || len(all) == 1 {
		if err := d.grow(ctx, c, all, c.nets, c.epochs); err != nil {
			return nil, err
		}
		return bestOf(all), nil
	}
	if err := d.grow(ctx, c, all, 1, min(glance, c.epochs)); err != nil {
		return nil, err
	}
	best := bestOf(all)
	best = d.committee(best.view, best.decay)
	return best, d.grow(ctx, c, []*committee{best}, c.nets, c.epochs)
}

func (d *dataset) committee(v *view, decay float64) *committee {
	return &committee{view: v, decay: decay, val: newAverage(len(d.val), len(d.Classes))}
}

// bestOf returns the first that is right most often about the validation nodes;
// the loss decides between equals.
func bestOf(all []*committee) *committee {
	best := all[0]
	for _, m := range all[1:] {
		if m.val.accuracy() > best.val.accuracy() ||
			m.val.accuracy() == best.val.accuracy() && m.val.loss() < best.val.loss() {
			best = m
		}
	}
	return best
}

// grow trains n networks of each committee, side by side.
func (d *dataset) grow(ctx context.Context, c *config, all []*committee, n, epochs int) error {
	bar := cli.NewProgress("training", int64(len(all)*n))
	defer bar.Done()
	for _, m := range all {
		m.nets = make([]*trained, n)
	}
	err := pool.Each(ctx, c.workers, len(all)*n, func(ctx context.Context, _, job int) (err error) {
		m, i := all[job/n], job%n
		m.nets[i], err = d.fit(ctx, c, m, uint64(i), epochs)
		bar.Add(1)
		return err
	})
	if err != nil {
		return err
	}
	for _, m := range all {
		for _, t := range m.nets {
			m.val.merge(t.val)
		}
	}
	return nil
}

// fit trains network i of m.
func (d *dataset) fit(ctx context.Context, c *config, m *committee, i uint64, epochs int) (*trained, error) {
	seeds := newRand(c.seed, streamNets+i<<8)
	t := &trained{net: c.newNet(m.view, seeds.Uint64(), m.decay), val: newAverage(len(d.val), len(d.Classes))}
	steps := (len(d.train)-1)/c.batch + 1
	valid := inMemory(m.view.val)
	percent := func(r nn.Result) float64 { return 100 * float64(r.Correct) / float64(r.Rows) }
	fit, err := sinks.Fit{
		Net: t.net, Epochs: epochs, Batch: c.batch, Seed: seeds.Uint64(), Valid: &valid,
		// What counts is the accuracy; the loss decides between equal ones.
		Score: func(r nn.Result) float64 { return r.Loss/1e6 - percent(r) },
		// Twenty epochs without a better validation end it, or fewer if they are
		// long.
		Patience: max(3, min(20, 4000/steps)),
	}.Run(ctx, inMemory(m.view.train))
	if err != nil {
		return nil, err
	}
	for _, e := range fit.Epochs {
		t.curve = append(t.curve, percent(e.Valid))
	}
	t.epoch = fit.Best
	return t, examine(ctx, t.net, m.view.val, t.val)
}
