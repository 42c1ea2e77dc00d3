package prequential

import (
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"

	"github.com/sanflow/sanflow/flow/event"
	"github.com/sanflow/sanflow/flow/event/checkpoint"
	"github.com/sanflow/sanflow/flow/file/store"
	"github.com/sanflow/sanflow/internal/state"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/nn/drift"
)

// kept is what can be a part of a checkpoint.
type kept interface {
	Save(io.Writer) error
	Load(io.Reader) error
}

// open opens the checkpoint of a task, whose model is initialised. do lists what the task
// knows beside the model, the detector and the other parts.
func open(f checkpoint.File, task string, settings []store.Setting, net *nn.Ranker, d drift.Detector, known kept, do func(*state.Codec)) (*checkpoint.Run, error) {
	f.Settings = slices.Concat([]store.Setting{
		setting("task", task), setting("kernels", nn.Kernels()), // others round otherwise
		setting("Net", fmt.Sprintf("Hidden %d, Batch %d, Rate %v, Average %v, Seed %d, %d steps", net.Hidden, net.Batch, net.Rate, net.Average, net.Seed, net.Steps())),
		setting("Drift", fmt.Sprintf("%T", d)),
	}, settings, f.Settings)
	header := "sanflow " + task + " 2\n"
	parts := []checkpoint.Part{
		{Name: task, Save: func(w io.Writer) error { return state.Save(w, header, do) }, Load: func(r io.Reader) error { return state.Load(r, header, do) }},
		{Name: "known", Save: known.Save, Load: known.Load},
		{Name: "model", Save: net.Save, Load: func(r io.Reader) error {
			var next nn.Ranker
			if err := next.Load(r); err != nil {
				return err
			}
			if next.Features() != net.Features() {
				return fmt.Errorf("the model has %d features, want %d", next.Features(), net.Features())
			}
			*net = next
			return nil
		}},
	}
	if k, ok := d.(kept); ok {
		parts = append(parts, checkpoint.Part{Name: "drift", Save: k.Save, Load: k.Load})
	} else if d != nil && f.Path != "" {
		return nil, fmt.Errorf("prequential: Checkpoint is set, but a %T has no Save and Load", d)
	}
	run, err := f.Open(parts...)
	if err != nil {
		return nil, fmt.Errorf("prequential: %w", err)
	}
	return run, nil
}

func setting(name string, value any) store.Setting {
	return store.Setting{Name: name, Value: fmt.Sprint(value)}
}

// digest says which events a run is over that reads them all before it begins.
func digest(events []event.Event) string {
	h, b := sha256.New(), []byte(nil)
	for i := range events {
		b = events[i].Append(b[:0])
		h.Write(b)
	}
	return fmt.Sprintf("%d, SHA-256 %x", len(events), h.Sum(nil))
}

const mostNumbers = 1<<31 - 1

func random(c *state.Codec, p *rand.PCG) {
	b, err := p.MarshalBinary()
	if err == nil {
		if state.Slice(c, "bytes of a random generator", 64, &b); c.Loading() {
			err = p.UnmarshalBinary(b)
		}
	}
	c.Check(err == nil, "%v", err)
}

func alarms(c *state.Codec, list *[]drift.Alarm) {
	state.Each(c, "alarms", mostNumbers, list, func(a *drift.Alarm) {
		state.Num(c, &a.Position, &a.Time, &a.Width)
		state.Num(c, &a.Before, &a.After)
	})
}

func (l *Links) state(c *state.Codec) {
	random(c, l.pcg)
	state.Num(c, &l.asked, &l.most)
	alarms(c, &l.alarms)
	known := make([]uint8, len(l.known))
	for i, k := range l.known {
		if k {
			known[i] = 1
		}
	}
	state.Slice(c, "nodes", mostNumbers, &known)
	state.Slice(c, "targets", len(known), &l.targets)
	state.Slice(c, "last targets", 64*l.Negatives, &l.recent)
	if !c.Loading() {
		return
	}
	l.known, l.skip = make([]bool, len(known)), make([]bool, len(known))
	for _, v := range slices.Concat(l.targets, l.recent) {
		if v < 0 || int(v) >= len(known) || known[v] == 0 {
			c.Fail("target %d is not known", v)
			return
		}
		l.known[v] = true
	}
}

func (m *meter) state(c *state.Codec) {
	state.Int(c, "the number of questions", &m.n, 0, 1<<62)
	state.Num(c, &m.sum)
	state.Fixed(c, m.base[:])
	state.Slice(c, "scores", lastAnswers, &m.pos)
	state.Slice(c, "scores", lastAnswers, &m.neg)
	c.Check(len(m.pos) == len(m.neg), "there are %d scores of answers and %d of others", len(m.pos), len(m.neg))
}

func (r *ClassReport) state(c *state.Codec, pos, neg *[]float32) {
	state.Int(c, "the number of events", &r.Events, 0, 1<<62)
	state.Int(c, "the number of questions", &r.Questions, 0, 1<<62)
	state.Num(c, &r.Accuracy, &r.MRR, &r.Baseline)
	alarms(c, &r.Alarms)
	state.Slice(c, "scores", mostNumbers, pos)
	state.Slice(c, "scores", mostNumbers, neg)
}
