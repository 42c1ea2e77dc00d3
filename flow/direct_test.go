package flow_test

import (
	"context"
	"errors"
	"io"
	"maps"
	"sync"
	"testing"

	"github.com/sanflow/sanflow/flow"
)

// One record after the other, through every kind of stage: what is refused, or
// fails, is told of that record alone.
func TestDirect(t *testing.T) {
	mem := checked(t)
	reader, err := numbers{Records: 6, Rows: 5}.Open(context.Background(), mem)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	for _, m := range []mode{plain, forks, holds} {
		d, err := flow.OpenDirect(reader.Schema(), flow.Options{Allocator: mem},
			step{Label: "before"}, step{Label: "strict", mode: m, refuse: badIDs}, step{Label: "after", hook: failing("process", 25, true)})
		if err != nil {
			t.Fatal(err)
		}
		reader, err := numbers{Records: 6, Rows: 5}.Open(context.Background(), mem)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; ; i++ {
			rec, err := reader.Next(context.Background())
			if err == io.EOF {
				break
			}
			outs, err := d.Process(context.Background(), rec)
			var e *flow.Error
			switch {
			case i == 2: // 10 to 14, of which none is bad
				rows := int64(0)
				for _, out := range outs {
					rows += out.NumRows()
					out.Release()
				}
				if err != nil || rows != 5 {
					t.Errorf("mode %d, record %d: %d rows, %v", m, i, rows, err)
				}
			case i == 5:
				if !errors.As(err, &e) || e.Stage != "after" || outs != nil {
					t.Errorf("mode %d, record %d: %v", m, i, err)
				}
			case !errors.As(err, &e) || e.Stage != "strict" || outs != nil:
				t.Errorf("mode %d, record %d: %v", m, i, err)
			}
			gone, cancel := context.WithCancelCause(context.Background())
			cancel(errTest)
			if outs, err := d.Process(gone, rec); !errors.Is(err, errTest) || outs != nil {
				t.Errorf("mode %d: after the end of the context: %v", m, err)
			}
			rec.Release()
		}
		if err := errors.Join(d.Close(), d.Close(), reader.Close()); err != nil {
			t.Error(err)
		}
	}
	if _, err := flow.OpenDirect(reader.Schema(), flow.Options{}, step{Label: "bad", hook: failing("open", 0, false)}); err == nil {
		t.Error("an operator that cannot be opened was")
	}
}

// Whatever code of a stage does, the caller goes on: an error, a panic and the end
// of the goroutine are errors that name the stage, all stages are closed, and the
// Direct takes the next record.
func TestDirectFailures(t *testing.T) {
	mem := checked(t)
	reader, err := numbers{Records: 1, Rows: 3}.Open(context.Background(), mem)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	rec, err := reader.Next(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Release()
	for name, bad := range map[string]func(place string, n int64) hook{
		"error": func(place string, n int64) hook { return failing(place, n, false) },
		"panic": func(place string, n int64) hook { return failing(place, n, true) },
		"exit":  exiting,
	} {
		for _, place := range []string{"open", "process", "flush"} {
			t.Run(name+" in "+place, func(t *testing.T) {
				failure, closed := bad(place, 0), map[string]int{}
				closing := func(label string, also hook) hook {
					return func(p string, i int64) error {
						if p == "close" {
							closed[label]++
						}
						return also.at(p, i)
					}
				}
				var now hook // fails once
				check := func(err error) {
					t.Helper()
					var e *flow.Error
					if !errors.As(err, &e) || e.Stage != "bad" {
						t.Errorf("%v, want an error of the stage", err)
					}
				}
				once := func(p string, i int64) error { return now.at(p, i) }
				if place == "open" {
					now = failure
				}
				d, err := flow.OpenDirect(reader.Schema(), flow.Options{Allocator: mem}, step{Label: "before", hook: closing("before", nil)},
					step{Label: "bad", mode: holds, hook: closing("bad", once)}, step{Label: "after", hook: closing("after", nil)})
				if place == "open" {
					check(err)
					if closed["before"] != 1 {
						t.Errorf("closed: %v", closed)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				now = failure
				outs, err := d.Process(context.Background(), rec)
				if check(err); outs != nil {
					t.Errorf("%d records came out of a call that failed", len(outs))
				}
				if closed["before"] != 1 || closed["bad"] != 1 || closed["after"] != 1 {
					t.Errorf("closed: %v", closed)
				}
				now = nil
				outs, err = d.Process(context.Background(), rec)
				if err != nil || len(outs) != 1 || outs[0].NumRows() != 3 {
					t.Errorf("afterwards: %d records, %v", len(outs), err)
				}
				for _, out := range outs {
					out.Release()
				}
				// holds is a Flusher, for which each record is a stream: all is closed.
				if err := d.Close(); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// What Close meets is told, once, and ends nothing but the stages.
func TestDirectClose(t *testing.T) {
	mem := checked(t)
	reader, err := numbers{Records: 1, Rows: 1}.Open(context.Background(), mem)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	for name, h := range map[string]hook{"error": failing("close", 0, false), "panic": failing("close", 0, true), "exit": exiting("close", 0)} {
		closed := 0
		d, err := flow.OpenDirect(reader.Schema(), flow.Options{Allocator: mem}, step{Label: "good", hook: func(p string, _ int64) error {
			if p == "close" {
				closed++
			}
			return nil
		}}, step{Label: "bad", hook: h})
		if err != nil {
			t.Fatal(err)
		}
		var e *flow.Error
		if err := d.Close(); !errors.As(err, &e) || e.Stage != "bad" {
			t.Errorf("%s: %v, want an error of the stage", name, err)
		}
		if err := d.Close(); err != nil || closed != 1 {
			t.Errorf("%s: closed %d times, then %v", name, closed, err)
		}
	}
}

// Forks, on goroutines of their own, give what their Direct gives. Stages that are a
// Forker are forked and not opened, others are opened, and all are closed; a Fork that
// fails is an error of its stage.
func TestDirectFork(t *testing.T) {
	mem := checked(t)
	reader, err := numbers{Records: 1, Rows: 4}.Open(context.Background(), mem)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	rec, err := reader.Next(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Release()
	var mu sync.Mutex
	happened, bad := map[string]int{}, hook(nil)
	watching := func(label string) step {
		return step{Label: label, hook: func(place string, n int64) error {
			mu.Lock()
			defer mu.Unlock()
			happened[label+" "+place]++
			if label == "forker" {
				return bad.at(place, n)
			}
			return nil
		}}
	}
	forker, plain, holder := watching("forker"), watching("plain"), watching("holder")
	forker.mode, holder.mode = forks, holds
	d, err := flow.OpenDirect(reader.Schema(), flow.Options{Allocator: mem}, forker, plain, holder)
	if err != nil {
		t.Fatal(err)
	}
	rows := func(d *flow.Direct) (n int64) {
		outs, err := d.Process(context.Background(), rec)
		if err != nil {
			t.Error(err)
		}
		for _, out := range outs {
			n += out.NumRows()
			out.Release()
		}
		return n
	}
	if rows(d) != 4 {
		t.Error("rows are missing")
	}
	var work sync.WaitGroup
	for range 3 {
		work.Go(func() {
			f, err := d.Fork()
			if err != nil {
				t.Error(err)
				return
			}
			for range 5 {
				if rows(f) != 4 {
					t.Error("rows are missing from a fork")
				}
			}
			if err := f.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	work.Wait()
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	// The two that are no Forker are opened for each of 16 records; all are closed.
	want := map[string]int{
		"forker open": 1, "forker fork": 3, "forker process": 16, "forker close": 4,
		"plain open": 16, "plain process": 16, "plain close": 16,
		"holder open": 16, "holder process": 16, "holder flush": 16, "holder close": 16,
	}
	if !maps.Equal(happened, want) {
		t.Errorf("%v, want %v", happened, want)
	}
	for name, h := range map[string]hook{"error": failing("fork", 0, false), "panic": failing("fork", 0, true), "exit": exiting("fork", 0)} {
		d, err := flow.OpenDirect(reader.Schema(), flow.Options{Allocator: mem}, plain, forker)
		if err != nil {
			t.Fatal(err)
		}
		bad = h
		var e *flow.Error
		if _, err := d.Fork(); !errors.As(err, &e) || e.Stage != "forker" {
			t.Errorf("%s: %v, want an error of the stage", name, err)
		}
		bad = nil
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
}
