package prequential

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"iter"
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

// watch is what a run tells while it goes on.
type watch struct {
	// Drift, if set, is given how wrong each answer was, and OnAlarm its alarms: 1 - 1/rank. An error of OnAlarm ends the run.
	Drift   drift.Detector
	OnAlarm func(drift.Alarm) error
	// Each, if set, is called with every answer. An error ends the run.
	Each func(Answer) error
	// Checkpoint lets a run be killed and resumed, to the same bytes. Its file is written after Every edges at
	// the earliest. The default is not to.
	Checkpoint checkpoint.File

	asked  int64
	alarms []drift.Alarm
}

// Answer is the result of one question.
type Answer struct {
	Event event.Event // event with the true answer; its attributes are borrowed
	Rank  float64     // of the true answer, from 1
}

// Scores are the results over some questions.
type Scores struct {
	Questions int
	Accuracy  float64 // share of the answers of rank 1
	MRR       float64 // mean of 1/rank
	// AUC and AP compare the score of the true answer with that of one random candidate of each question,
	// over at least the last 2¹⁷ scores.
	AUC, AP float64
	// Baselines has the MRR of "edgebank", "recency", "common_neighbours" and "adamic_adar".
	Baselines map[string]float64
}

// Report is the results of a run. Valid is of Links.Benchmark alone.
type Report struct {
	Events      int // that came
	Candidates  int // the most that a question had
	Valid, Test Scores
	Alarms      []drift.Alarm // Position counts questions from 0
}

const lastAnswers = 1 << 17 // that AUC and AP are of

// meter adds up answers.
type meter struct {
	n, right int
	sum      float64
	base     [4]float64
	pos, neg []float32
}

// scores returns the means; base has the sums of these baselines.
func (m *meter) scores(of ...string) Scores {
	s, n := Scores{Questions: m.n, Baselines: map[string]float64{}}, float64(max(m.n, 1))
	s.Accuracy, s.MRR = float64(m.right)/n, m.sum/n
	for i, b := range of {
		s.Baselines[b] = m.base[i] / n
	}
	s.AUC, s.AP = curve(m.pos, m.neg)
	return s
}

func (m *meter) state(c *state.Codec) {
	state.Int(c, "the number of questions", &m.n, 0, 1<<62)
	state.Int(c, "the number of right answers", &m.right, 0, 1<<62)
	state.Num(c, &m.sum)
	state.Fixed(c, m.base[:])
	state.Slice(c, "scores", mostNumbers, &m.pos)
	state.Slice(c, "scores", mostNumbers, &m.neg)
}

// last forgets all but the last scores, now and then.
func last(scores []float32) []float32 {
	if len(scores) >= 2*lastAnswers {
		scores = scores[:copy(scores, scores[len(scores)-lastAnswers:])]
	}
	return scores
}

// answer adds an answer to a meter, tells the detector how wrong it was, and notes its alarm.
func (w *watch) answer(m *meter, a Answer, wrong float64) (err error) {
	m.n++
	m.sum += 1 / a.Rank
	if a.Rank == 1 {
		m.right++
	}
	if w.Drift != nil {
		if alarm, ok := w.Drift.Add(wrong); ok {
			alarm.Position, alarm.Time = w.asked, a.Event.Time
			if w.alarms = append(w.alarms, alarm); w.OnAlarm != nil {
				err = w.OnAlarm(alarm)
			}
		}
	}
	w.asked++
	if err == nil && w.Each != nil {
		err = w.Each(a)
	}
	return err
}

func (w *watch) state(c *state.Codec) {
	state.Num(c, &w.asked)
	state.Each(c, "alarms", mostNumbers, &w.alarms, func(a *drift.Alarm) {
		state.Num(c, &a.Position, &a.Time, &a.Width)
		state.Num(c, &a.Before, &a.After)
	})
}

// loop is the one loop of test-then-train: a task, a model, which is initialised, and what the features are of.
type loop struct {
	task     string
	settings []store.Setting
	net      *nn.Ranker
	features kept
	watch    *watch
	// state lists what the task knows beside the model, the features and the watch.
	state func(*state.Codec)
	// do asks about an event, then learns from it. It reports whether all events so far are learned.
	do func(event.Event) (learned bool, err error)
}

// run hands the events of a stream to do, and writes the checkpoint where all events so far are learned.
func (l loop) run(ctx context.Context, events iter.Seq2[event.Event, error]) error {
	f, d := l.watch.Checkpoint, l.watch.Drift
	l.watch.asked, l.watch.alarms = 0, nil
	all := func(c *state.Codec) {
		l.watch.state(c)
		l.state(c)
	}
	f.Settings = slices.Concat([]store.Setting{
		setting("task", l.task), setting("kernels", nn.Kernels()), // others round otherwise
		setting("Net", fmt.Sprintf("Hidden %d, Batch %d, Rate %v, Average %v, Seed %d, %d steps", l.net.Hidden, l.net.Batch, l.net.Rate, l.net.Average, l.net.Seed, l.net.Steps())),
		setting("Drift", fmt.Sprintf("%T", d)),
	}, l.settings, f.Settings)
	header := "sanflow " + l.task + " 3\n"
	parts := []checkpoint.Part{
		{Name: l.task, Save: func(w io.Writer) error { return state.Save(w, header, all) }, Load: func(r io.Reader) error { return state.Load(r, header, all) }},
		{Name: "known", Save: l.features.Save, Load: l.features.Load},
		{Name: "model", Save: l.net.Save, Load: func(r io.Reader) error {
			var next nn.Ranker
			if err := next.Load(r); err != nil {
				return err
			}
			if next.Features() != l.net.Features() {
				return fmt.Errorf("the model has %d features, want %d", next.Features(), l.net.Features())
			}
			*l.net = next
			return nil
		}},
	}
	if k, ok := d.(kept); ok {
		parts = append(parts, checkpoint.Part{Name: "drift", Save: k.Save, Load: k.Load})
	} else if d != nil && f.Path != "" {
		return fmt.Errorf("prequential: Checkpoint is set, but a %T has no Save and Load", d)
	}
	run, err := f.Open(parts...)
	if err != nil {
		return fmt.Errorf("prequential: %w", err)
	}
	defer run.Close()
	learned, n := true, 0
	for e, err := range run.Events(events) {
		if err == nil && n%1024 == 0 {
			err = ctx.Err()
		}
		if err == nil {
			learned, err = l.do(e)
		}
		if err == nil && learned {
			err = run.Save()
		}
		if err != nil {
			return err
		}
		n++
	}
	if !learned {
		return nil // a longer stream of the same beginning goes on from the last checkpoint
	}
	return run.Flush()
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
