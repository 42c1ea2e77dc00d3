package prequential

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/sanflow/sanflow/flow/event"
	"github.com/sanflow/sanflow/flow/file/store"
	"github.com/sanflow/sanflow/internal/state"
	"github.com/sanflow/sanflow/nn/drift"
)

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
	state.Int(c, "the number of edges", &l.met, 0, 1<<62)
	alarms(c, &l.alarms)
	state.Slice(c, "nodes", mostNumbers, &l.known)
	state.Slice(c, "targets", len(l.known), &l.targets)
	state.Slice(c, "last targets", 64*l.Negatives, &l.recent)
	if !c.Loading() {
		return
	}
	l.skip = make([]bool, len(l.known))
	for _, v := range slices.Concat(l.targets, l.recent) {
		c.Check(v >= 0 && int(v) < len(l.known) && l.known[v] != 0, "target %d is not known", v)
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
