package prequential

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/flow/event"
	"github.com/sanflow/sanflow/flow/event/checkpoint"
	"github.com/sanflow/sanflow/internal/temporal"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/nn/drift"
	"github.com/sanflow/sanflow/sources/events"
)

// task runs a task over events, and returns its report and its model.
type task func(f checkpoint.File, list []event.Event, s iter.Seq2[event.Event, error]) (any, *nn.Ranker, error)

func links(every int, h temporal.History, candidates int, d func() drift.Detector) task {
	return func(f checkpoint.File, _ []event.Event, s iter.Seq2[event.Event, error]) (any, *nn.Ranker, error) {
		h := h
		l := &Links{Every: every, Net: &nn.Ranker{Seed: 3, Batch: 8}, History: &h, Candidates: candidates, watch: watch{Drift: d(), Checkpoint: f}}
		r, err := l.Run(context.Background(), s)
		return r, l.Net, err
	}
}

var tasks = map[string]task{
	"links":           links(1, temporal.History{}, 0, func() drift.Detector { return &drift.ADWIN{} }),
	"links, a window": links(1, temporal.History{Within: 500}, 7, func() drift.Detector { return drift.Rise{Of: &drift.ADWIN{}} }),
	"links, batches":  links(9, temporal.History{Last: 90}, 7, func() drift.Detector { return nil }),
	"benchmark": func(f checkpoint.File, list []event.Event, s iter.Seq2[event.Event, error]) (any, *nn.Ranker, error) {
		n, ctx := 0, context.Background()
		for _, err := range s { // how far the stream comes
			if err != nil {
				break
			}
			n++
		}
		l := &Links{Every: 3, Net: &nn.Ranker{Seed: 3, Batch: 8}, watch: watch{Checkpoint: f}}
		asked := 0
		l.Learned = func(edges int) error {
			if asked += edges; n < len(list) && asked > n {
				return errCut
			}
			return nil
		}
		r, err := l.Benchmark(ctx, list)
		return r, l.Net, err
	},
}

var errCut = errors.New("cut")

// cut is a stream that fails after some events.
func cut(list []event.Event, at int) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		for i, e := range list {
			if i == at {
				yield(event.Event{}, errCut)
				return
			}
			if !yield(e, nil) {
				return
			}
		}
	}
}

// A run that fails at random events and is resumed has the report, the model and the last
// checkpoint of one that does not, and so has a run without checkpoints.
func TestCheckpoint(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	var list []event.Event
	for e := range events.Generated(600, 1) {
		e.Attr = []float32{float32(int(e.Source+e.Target)%3 - 1)}
		list = append(list, e)
	}
	for name, run := range tasks {
		t.Run(name, func(t *testing.T) {
			file := func(name string) checkpoint.File {
				return checkpoint.File{Path: filepath.Join(t.TempDir(), name), Every: 25}
			}
			plain, net, err := run(checkpoint.File{}, list, cut(list, -1))
			if err != nil {
				t.Fatal(err)
			}
			whole := file("whole")
			want, _, err := run(whole, list, cut(list, -1))
			if err != nil || !reflect.DeepEqual(plain, want) {
				t.Fatalf("with a checkpoint: %+v, want %+v (%v)", want, plain, err)
			}
			f, cuts := file("cut"), 0
			f.Resume = true
			for at := 0; at < len(list); at += 10 + rng.IntN(150) {
				if _, _, err := run(f, list, cut(list, at)); !errors.Is(err, errCut) && name != "benchmark" {
					t.Fatal(err)
				}
				cuts++
			}
			got, again, err := run(f, list, cut(list, -1))
			if err != nil || !reflect.DeepEqual(got, want) || again.Hash() != net.Hash() {
				t.Errorf("after %d cuts: %+v, want %+v (%v)", cuts, got, want, err)
			}
			a, err := os.ReadFile(whole.Path)
			if err != nil {
				t.Fatal(err)
			}
			if b, err := os.ReadFile(f.Path); err != nil || !bytes.Equal(a, b) {
				t.Errorf("the last checkpoints differ (%v)", err)
			}
			if more, err := filepath.Glob(filepath.Join(filepath.Dir(f.Path), "*")); len(more) != 1 || err != nil {
				t.Errorf("%q is left, want the checkpoint", more)
			}
		})
	}
}

// A checkpoint of other data, of other settings or of another task is refused, and says why.
func TestCheckpointRefuses(t *testing.T) {
	var list []event.Event
	for e := range events.Generated(80, 1) {
		list = append(list, e)
	}
	f := checkpoint.File{Path: filepath.Join(t.TempDir(), "run"), Every: 10}
	if _, _, err := tasks["links"](f, list, cut(list, -1)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := tasks["links"](f, list, cut(list, -1)); !errors.Is(err, checkpoint.ErrBegun) {
		t.Errorf("a second run: %v", err)
	}
	f.Resume = true
	other := append([]event.Event(nil), list...)
	other[40].Time++
	adwin := func() drift.Detector { return &drift.ADWIN{} }
	for i, c := range []struct {
		run  task
		list []event.Event
		want string
	}{
		{tasks["links"], other, "is of another stream: its first "},
		{tasks["links"], list[:70], fmt.Sprintf("was made after %d events, and the stream has 70", len(list))},
		{tasks["benchmark"], list, "of a run with task links, this one has task links of a benchmark"},
		{links(2, temporal.History{}, 0, adwin), list, "of a run with Every 1, this one has Every 2"},
		{links(1, temporal.History{Last: 9}, 0, adwin), list, "of a run with History.Last 0, this one has History.Last 9"},
		{links(1, temporal.History{}, 9, adwin), list, "Candidates 9"},
		{links(1, temporal.History{}, 0, func() drift.Detector { return drift.Rise{Of: &drift.ADWIN{}} }), list, "drift.Rise"},
	} {
		if _, _, err := c.run(f, c.list, cut(c.list, -1)); err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%d: %v, want %q", i, err, c.want)
		}
	}
	stub := links(1, temporal.History{}, 0, func() drift.Detector { return never{} })
	if _, _, err := stub(f, list, cut(list, -1)); err == nil || !strings.Contains(err.Error(), "has no Save and Load") {
		t.Errorf("a detector that cannot be saved: %v", err)
	}
}

type never struct{}

func (never) Add(float64) (drift.Alarm, bool) { return drift.Alarm{}, false }

// Targets of one source and time in one batch are left out of each other's questions,
// also those that are new.
func TestBatchOfNewTargets(t *testing.T) {
	list := []event.Event{{Target: 1}, {Target: 9}, {Source: 3, Target: 70}, {Source: 3, Target: 80}}
	if _, err := (&Links{Every: 4}).Run(context.Background(), seq(list)); err != nil {
		t.Fatal(err)
	}
}
