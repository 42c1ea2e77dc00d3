package nodes

import (
	"context"
	"math/rand/v2"
	"sync/atomic"

	"github.com/sanflow/sanflow/internal/pool"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/sinks"
)

// ensemble is networks that were trained alike.
type ensemble struct {
	view  *view
	decay float64
	nets  []*trained
	val   *sinks.Probabilities // of the validation nodes
}

// trained is a network as it was at its best epoch.
type trained struct {
	net   nn.Model
	epoch int
	val   *sinks.Probabilities
	curve []float64 // validation accuracy by epoch
}

// glance is for how many epochs each candidate is learned from where learning takes
// long, to see which to go on with.
const glance = 3

// networks chooses what networks read and their weight decay, and returns what those
// say together.
func (t *fitting) networks(ctx context.Context) (*sinks.Probabilities, error) {
	views, err := t.views(ctx)
	defer func() {
		for _, v := range views {
			v.release()
		}
	}()
	if err != nil {
		return nil, err
	}
	best, err := t.choose(ctx, views)
	if err != nil {
		return nil, err
	}
	said, together := t.nothing(), new(nn.Ensemble)
	for _, n := range best.nets {
		together.Nets = append(together.Nets, n.net)
		one := t.nothing()
		if err := inMemory(best.view.rows).To(one.Ask(n.net)).Run(ctx); err != nil {
			return nil, err
		}
		said.Add(one)
		t.out.PerNetwork, t.out.Epochs = append(t.out.PerNetwork, one), append(t.out.Epochs, n.epoch)
	}
	t.networksModel = model{together, best.view.recipe}
	t.out.Decay, t.out.Curve, t.out.Known, t.out.Propagated = best.decay, best.nets[0].curve, best.view.known, best.view.propagate
	return said, nil
}

// nothing is what was said of all nodes before a model was asked.
func (t *fitting) nothing() *sinks.Probabilities {
	return sinks.NewProbabilities(len(t.set.Class), len(t.set.Classes))
}

// choose trains networks of each view with each weight decay, and returns those with the
// most validation nodes right. If learning takes long, one network of each kind and
// its first epochs decide which are trained to the end.
func (t *fitting) choose(ctx context.Context, views []*view) (*ensemble, error) {
	var all []*ensemble
	for _, v := range views {
		for _, decay := range t.Decays {
			all = append(all, &ensemble{view: v, decay: decay})
		}
	}
	nets, epochs := t.Nets, t.Epochs
	slow := !t.few() && len(all) > 1
	if slow {
		nets, epochs = 1, min(glance, epochs)
	}
	if err := t.grow(ctx, all, nets, epochs); err != nil {
		return nil, err
	}
	best, err := t.bestOf(all)
	if err != nil || !slow {
		return best, err
	}
	best = &ensemble{view: best.view, decay: best.decay}
	return best, t.grow(ctx, []*ensemble{best}, t.Nets, t.Epochs)
}

// bestOf returns the first that is best on the validation nodes, by the measure or the
// accuracy; the loss decides between equals.
func (t *fitting) bestOf(all []*ensemble) (best *ensemble, err error) {
	least := 0.
	for _, m := range all {
		loss := -m.val.Accuracy()
		if t.Measure != "" {
			value, err := m.val.By(t.Measure)
			if err != nil {
				return nil, err
			}
			loss = t.Measure.Loss(value)
		}
		if best == nil || loss < least || loss == least && m.val.Loss() < best.val.Loss() {
			best, least = m, loss
		}
	}
	return best, nil
}

// grow trains n networks of each ensemble, side by side.
func (t *fitting) grow(ctx context.Context, all []*ensemble, n, epochs int) error {
	var done atomic.Int64
	t.Progress("training", 0, len(all)*n)
	for _, m := range all {
		m.nets = make([]*trained, n)
	}
	err := pool.Each(ctx, t.Workers, len(all)*n, func(ctx context.Context, _, job int) (err error) {
		m, i := all[job/n], job%n
		m.nets[i], err = t.fit(ctx, m, i, epochs)
		t.Progress("training", int(done.Add(1)), len(all)*n)
		return err
	})
	if err != nil {
		return err
	}
	for _, m := range all {
		m.val = sinks.NewProbabilities(len(t.val), len(t.set.Classes))
		for _, n := range m.nets {
			m.val.Add(n.val)
		}
	}
	return nil
}

// fit trains network i of m.
func (t *fitting) fit(ctx context.Context, m *ensemble, i, epochs int) (*trained, error) {
	seeds := rand.New(rand.NewPCG(t.Seed, 2+uint64(i)<<8))
	n := &trained{val: sinks.NewProbabilities(len(t.val), len(t.set.Classes))}
	if seed := seeds.Uint64(); m.view.words {
		n.net = t.best()
	} else {
		n.net = t.New(seed, t.Rate, m.decay)
	}
	steps := (len(t.train)-1)/t.Batch + 1
	valid := inMemory(m.view.val)
	percent := func(r nn.Result) float64 { return 100 * float64(r.Correct) / float64(r.Rows) }
	one := sinks.Fit{
		Net: n.net, Epochs: epochs, Batch: t.Batch, Seed: seeds.Uint64(), Valid: &valid, Measure: t.Measure,
		// Twenty epochs without a better validation end it, or fewer if they are
		// long.
		Patience: max(3, min(20, 4000/steps)),
	}
	if t.Measure == "" { // what counts is the accuracy; the loss decides between equal ones
		one.Score = func(r nn.Result) float64 { return r.Loss/1e6 - percent(r) }
	}
	fit, err := one.Run(ctx, inMemory(m.view.train))
	if err != nil {
		return nil, err
	}
	for _, e := range fit.Epochs {
		n.curve = append(n.curve, percent(e.Valid))
	}
	n.epoch = fit.Best
	return n, inMemory(m.view.val).To(n.val.Ask(n.net)).Run(ctx)
}
