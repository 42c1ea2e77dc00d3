package main

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/sinks"
)

// prequential streams all nodes with a class past the networks, which predict
// each batch before they learn from it.
func prequential(ctx context.Context, c *config, d *dataset, r *report) error {
	// A node is known once the batch that it came in has been learned from.
	came := make([]int32, len(d.Class))
	for i := range came {
		came[i] = int32(len(d.test))
	}
	for i, v := range d.test {
		came[v] = int32(i)
	}
	p := d.fields(c, d.test, 256).Via(operators.Batch{Size: c.batch})
	if c.neighbourLabels == yes {
		p = p.Via(neighbourLabels{d.Class, d.Classes, func(first, v int32) bool { return came[v] < came[first] }})
	}
	bar := cli.NewProgress("predict, then learn", int64(len(d.test)))
	defer bar.Done()
	l := &learner{steps: c.epochs, rng: newRand(c.seed, streamMemory), meter: newMeter(c, d)}
	defer l.forget()
	for i := range c.nets {
		l.nets = append(l.nets, c.newNet(nil, newRand(c.seed, streamNets+uint64(i)<<8).Uint64(), c.decays[0]))
	}
	start := time.Now()
	running := p.To(l).Start(ctx)
	cli.Watch(running, func(s flow.Stats) { bar.Set(s.Stages[len(s.Stages)-1].RowsIn) })
	if err := running.Wait(); err != nil {
		return err
	}
	r.roots, r.rootSeconds = len(d.test), time.Since(start).Seconds()
	r.Accuracy = l.meter.finish()
	r.Window, r.WindowAccuracy, r.curve = l.meter.size, l.meter.windows, l.meter.soFar
	return nil
}

// learner is a sink that asks the networks about a batch, averages what they
// say, and lets them learn: first from the batch, then, in the steps after that,
// from as many rows drawn from all that were seen.
type learner struct {
	steps int
	nets  []nn.Model
	rng   *rand.Rand
	meter *meter

	seen []arrow.Record
	rows []record.Ref // of seen
}

// Open opens the sinks that do the work.
func (l *learner) Open(in *arrow.Schema) (flow.Writer, error) {
	w := &learning{learner: l}
	for _, net := range l.nets {
		t, err := sinks.Train{Net: net, OnRow: func(p sinks.Prediction) error {
			if w.row < len(w.answers.target) { // it is new
				w.answers.add(w.row, p)
			}
			w.row++
			return nil
		}}.Open(in)
		if err != nil {
			return nil, err
		}
		w.train = append(w.train, t)
	}
	w.classes = l.meter.classes
	return w, nil
}

func (l *learner) forget() {
	for _, rec := range l.seen {
		rec.Release()
	}
}

type learning struct {
	*learner
	classes int
	train   []flow.Writer
	answers *average
	row     int // of the batch and those after it
}

func (w *learning) Write(ctx context.Context, rec arrow.Record) error {
	rows := int(rec.NumRows())
	if rows == 0 {
		return nil
	}
	w.answers = newAverage(rows, w.classes)
	rec.Retain()
	w.seen = append(w.seen, rec)
	for row := range int32(rows) {
		w.rows = append(w.rows, record.Ref{Record: int32(len(w.seen) - 1), Row: row})
	}
	for step := range w.steps {
		batch := rec
		if step > 0 {
			var err error
			if batch, err = w.remember(rows); err != nil {
				return err
			}
			defer batch.Release()
		}
		for _, t := range w.train {
			w.row = step * rows
			if err := t.Write(ctx, batch); err != nil {
				return err
			}
		}
	}
	w.meter.count(w.answers)
	return nil
}

// remember draws n rows from those seen.
func (w *learning) remember(n int) (arrow.Record, error) {
	at := map[int32]int32{}
	var recs []arrow.Record
	refs := make([]record.Ref, n)
	for i := range refs {
		r := w.rows[w.rng.IntN(len(w.rows))]
		j, ok := at[r.Record]
		if !ok {
			j = int32(len(recs))
			at[r.Record] = j
			recs = append(recs, w.seen[r.Record])
		}
		refs[i] = record.Ref{Record: j, Row: r.Row}
	}
	return record.Take(memory.DefaultAllocator, recs, refs)
}

func (w *learning) Close(error) error { return nil }

// meter keeps the accuracy over the stream.
type meter struct {
	classes, size int       // of a window
	right, rows   int       // so far
	was, from     int       // right and rows when the window began
	windows       []float64 // percent in each window
	soFar         []float64 // percent of all up to the end of each window
}

func newMeter(c *config, d *dataset) *meter {
	m := &meter{classes: len(d.Classes), size: c.window}
	if m.size == 0 {
		m.size = len(d.test) / 50
	}
	// A window is some whole batches.
	m.size = max(1, (m.size+c.batch-1)/c.batch) * c.batch
	return m
}

// count adds the answers of a batch.
func (m *meter) count(a *average) {
	m.right += a.right()
	if m.rows += len(a.target); m.rows-m.from >= m.size {
		m.close()
	}
}

func (m *meter) close() {
	m.windows = append(m.windows, 100*float64(m.right-m.was)/float64(m.rows-m.from))
	m.soFar = append(m.soFar, 100*float64(m.right)/float64(m.rows))
	m.was, m.from = m.right, m.rows
}

// finish ends the last window, and returns the accuracy of all.
func (m *meter) finish() float64 {
	if m.rows > m.from {
		m.close()
	}
	return 100 * float64(m.right) / float64(max(1, m.rows))
}
