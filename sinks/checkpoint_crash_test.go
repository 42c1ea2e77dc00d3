package sinks_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/file"
	"github.com/sanflow/sanflow/internal/filetest"
	"github.com/sanflow/sanflow/internal/race"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

var shortRecipe = operators.Recipe{operators.Select{W: 4}, operators.Assemble{K: 2}, operators.Normalize{}, operators.Batch{Size: 8}}

// Every operation of a training that writes checkpoints fails once, and the
// machine dies at each: the training can be gone on with from what is there, to
// the same weights.
func TestCheckpointCrash(t *testing.T) {
	race.Skip(t)
	src := stream(t, paths(20, nil))
	train := func(fsys file.FS, dir string, limit int) (*nn.PSLR, error) {
		net, steps := &nn.PSLR{}, 0
		return net, shortRecipe.Onto(flow.From(src)).With(flow.Options{Workers: 1}).To(sinks.Train{
			Net: net,
			OnStep: func(nn.Result) error {
				if steps++; steps > limit {
					return errTested
				}
				return nil
			},
			Checkpoint: sinks.Checkpoint{File: filepath.Join(dir, "run"), Every: -1, Resume: true, FS: fsys},
		}).Run(context.Background())
	}
	whole, err := train(nil, t.TempDir(), 99)
	if err != nil {
		t.Fatal(err)
	}
	filetest.Torture(t,
		func(dir string) {
			if _, err := train(nil, dir, 1); !errors.Is(err, errTested) {
				t.Fatal(err)
			}
		},
		func(d *filetest.Disk, dir string) error {
			_, err := train(d, dir, 99)
			return err
		},
		func(t *testing.T, o filetest.Outcome) {
			net, err := train(nil, o.Dir, 99)
			if err != nil || net.Hash() != whole.Hash() || net.Seen() != 20 {
				t.Errorf("%s: %v after %d graphs", o.What, err, net.Seen())
			}
			if left := listing(t, o.Dir); len(left) != 1 {
				t.Errorf("%s: %v is left", o.What, left)
			}
		})
}

// Two runs cannot use one file, one after the other can; no lock is left.
func TestCheckpointLock(t *testing.T) {
	src := stream(t, paths(20, nil))
	dir := t.TempDir()
	train := func(on func()) error {
		return shortRecipe.Onto(flow.From(src)).To(sinks.Train{
			Net:        &nn.PSLR{},
			OnStep:     func(nn.Result) error { on(); return nil },
			Checkpoint: sinks.Checkpoint{File: filepath.Join(dir, "run")},
		}).Run(context.Background())
	}
	err := train(func() {
		if err := train(func() {}); !errors.Is(err, file.ErrHeld) || strings.Contains(err.Error(), "\n") {
			t.Errorf("a second run: %v, want ErrHeld", err)
		}
	})
	if err == nil {
		err = train(func() {})
	}
	left, _ := os.ReadDir(dir)
	if err != nil || len(left) != 1 {
		t.Errorf("%v; %v is left", err, left)
	}
}

// A run leaves no lock, whatever ends it.
func TestCheckpointNoLock(t *testing.T) {
	src := stream(t, paths(20, nil))
	for name, edit := range map[string]func(to *sinks.Train, cancel context.CancelFunc){
		"nothing":              func(*sinks.Train, context.CancelFunc) {},
		"a context that ended": func(_ *sinks.Train, cancel context.CancelFunc) { cancel() },
		"a panic in OnStep":    func(to *sinks.Train, _ context.CancelFunc) { to.OnStep = func(nn.Result) error { panic("step") } },
		"a panic in State": func(to *sinks.Train, _ context.CancelFunc) {
			to.Checkpoint.State = func() (string, error) { panic("state") }
		},
		"an error of Restore": func(to *sinks.Train, _ context.CancelFunc) {
			to.Checkpoint.Restore = func(string) error { return errTested }
		},
		"a panic in Restore": func(to *sinks.Train, _ context.CancelFunc) {
			to.Checkpoint.Restore = func(string) error { panic("restore") }
		},
	} {
		dir := t.TempDir()
		ctx, cancel := context.WithCancel(context.Background())
		train := func(graphs int, edit func(*sinks.Train, context.CancelFunc)) error {
			to := sinks.Train{Net: &nn.PSLR{}, Checkpoint: sinks.Checkpoint{File: filepath.Join(dir, "state"), Every: -1, Resume: true}}
			edit(&to, cancel)
			return shortRecipe.Onto(flow.From(sources.Records{Records: []arrow.Record{src.Records[0].NewSlice(0, int64(graphs))}})).To(to).Run(ctx)
		}
		if err := train(8, func(*sinks.Train, context.CancelFunc) {}); err != nil {
			t.Fatal(err)
		}
		err := train(20, edit)
		if left, _ := filepath.Glob(filepath.Join(dir, ".unfinished-*")); (err == nil) != (name == "nothing") || len(left) > 0 {
			t.Errorf("%s: %v is left; %v", name, left, err)
		}
		cancel()
	}
}

// acking is a source that waits for a moment between its records, and keeps what
// was acknowledged.
type acking struct {
	recs  []arrow.Record
	acked *atomic.Int64
	pause func(i int)
}

func (a acking) Open(context.Context, memory.Allocator) (flow.Reader, error) {
	return &ackingReader{acking: a}, nil
}

type ackingReader struct {
	acking
	next int
}

func (r *ackingReader) Schema() *arrow.Schema { return r.recs[0].Schema() }

func (r *ackingReader) Next(context.Context) (arrow.Record, error) {
	r.pause(r.next)
	if r.next == len(r.recs) {
		return nil, io.EOF
	}
	rec := r.recs[r.next]
	rec.Retain()
	r.next++
	return rec, nil
}

func (r *ackingReader) Close() error  { return nil }
func (r *ackingReader) Ack(pos int64) { r.acked.Store(pos) }

// A row is acknowledged when a checkpoint has what was learned from it, and not
// before; a stream that pauses does not keep it from being written.
func TestTrainAcknowledgesCheckpoints(t *testing.T) {
	whole := stream(t, paths(24, nil)).Records[0]
	run := func(every time.Duration, pause func(acked *atomic.Int64, i int), name string) error {
		var acked atomic.Int64
		acked.Store(-1)
		src := acking{acked: &acked, pause: func(i int) { pause(&acked, i) }}
		for i := range int64(3) {
			rec := whole.NewSlice(8*i, 8*i+8)
			defer rec.Release()
			src.recs = append(src.recs, rec)
		}
		return shortRecipe[:3].Onto(flow.From(src)).With(flow.Options{Workers: 1}).To(sinks.Train{
			Net: &nn.PSLR{}, Checkpoint: sinks.Checkpoint{File: name, Every: every},
		}).Run(context.Background())
	}
	name := filepath.Join(t.TempDir(), "run")
	err := run(time.Hour, func(acked *atomic.Int64, i int) {
		if time.Sleep(20 * time.Millisecond); acked.Load() >= 0 {
			t.Errorf("before record %d: rows up to %d are acknowledged, and no checkpoint has them", i, acked.Load())
		}
	}, name)
	if err != nil {
		t.Fatal(err)
	}
	err = run(30*time.Millisecond, func(acked *atomic.Int64, i int) {
		for start := time.Now(); i == 3 && acked.Load() < 23; time.Sleep(5 * time.Millisecond) {
			if time.Since(start) > 20*time.Second {
				t.Errorf("nothing comes for a while, and rows up to %d alone are acknowledged", acked.Load())
				break
			}
		}
	}, name)
	if err != nil {
		t.Fatal(err)
	}
}
