package prequential

import (
	"context"
	"fmt"
	"io"
	"iter"
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

// loop is the one loop of test-then-train: a task, a model, which is initialised, and what the features are of.
type loop struct {
	task       string
	settings   []store.Setting
	net        *nn.Ranker
	features   kept
	drift      drift.Detector
	checkpoint checkpoint.File
	// state lists what the task knows beside the model, the features and the detector.
	state func(*state.Codec)
	// do asks about an event, then learns from it. It reports whether all events so far are learned.
	do func(event.Event) (learned bool, err error)
}

// run hands the events of a stream to do, and writes the checkpoint where all events so far are learned.
func (l loop) run(ctx context.Context, events iter.Seq2[event.Event, error]) error {
	f, d := l.checkpoint, l.drift
	f.Settings = slices.Concat([]store.Setting{
		setting("task", l.task), setting("kernels", nn.Kernels()), // others round otherwise
		setting("Net", fmt.Sprintf("Hidden %d, Batch %d, Rate %v, Average %v, Seed %d, %d steps", l.net.Hidden, l.net.Batch, l.net.Rate, l.net.Average, l.net.Seed, l.net.Steps())),
		setting("Drift", fmt.Sprintf("%T", d)),
	}, l.settings, f.Settings)
	header := "sanflow " + l.task + " 2\n"
	parts := []checkpoint.Part{
		{Name: l.task, Save: func(w io.Writer) error { return state.Save(w, header, l.state) }, Load: func(r io.Reader) error { return state.Load(r, header, l.state) }},
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

// observe tells a detector how wrong an answer was, and notes its alarm.
func observe(d drift.Detector, tell func(drift.Alarm) error, wrong float64, position, time int64, alarms *[]drift.Alarm) error {
	if d == nil {
		return nil
	}
	if a, ok := d.Add(wrong); ok {
		a.Position, a.Time = position, time
		if *alarms = append(*alarms, a); tell != nil {
			return tell(a)
		}
	}
	return nil
}
