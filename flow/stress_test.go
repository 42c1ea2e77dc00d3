package flow_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/internal/leak"
)

// TestStress runs pipelines drawn at random, half of them with something that
// fails or is cancelled somewhere. Whatever happens, no buffer and no goroutine
// is left; there is an error if and only if something failed; without one,
// every row is where it belongs and every position is acknowledged.
func TestStress(t *testing.T) {
	pipelines := 400
	if testing.Short() {
		pipelines = 50
	}
	before := leak.IgnoreCurrent()
	for seed := range uint64(pipelines) {
		if err := stress(seed); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
	leak.VerifyNone(t, before)
}

// drawn is a random pipeline with what is known of its result.
type drawn struct {
	*rand.Rand
	p       flow.Pipeline
	text    string
	want    map[int64]int // how often each row comes out
	refused map[int64]bool
	ordered bool
}

func stress(seed uint64) (err error) {
	mem := memory.NewCheckedAllocator(record.Poison{})
	d := &drawn{Rand: rand.New(rand.NewPCG(seed, 1)), want: map[int64]int{}, refused: map[int64]bool{}, ordered: true}
	records, rows := d.IntN(40), 1+d.IntN(4)
	for id := range int64(records * rows) {
		d.want[id] = 1
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	fault := d.fault(records*rows, stop)
	last := int64(-1)
	rising := true
	src := numbers{Records: records, Rows: rows, ack: func(pos int64) {
		rising = rising && pos > last
		last = pos
	}}
	if fault.stage == 0 {
		src.hook = fault.hook
	}
	d.p = flow.From(src)
	for i := range 1 + d.IntN(5) {
		var h hook
		if fault.stage == i+1 {
			h = fault.hook
		}
		d.draw(mem, i, h)
	}
	sink := &keeper{}
	if fault.stage == 6 {
		sink.hook = fault.hook
	}
	var letters []int64
	opts := flow.Options{
		Allocator: mem, Workers: 1 + d.IntN(5), Buffer: 1 + d.IntN(3),
		Refused: flow.Policy(1 + d.IntN(2)),
		DeadLetters: func(l flow.Letter) error {
			letters = append(letters, l.Graph)
			return nil
		},
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("%d × %d rows, %s, %d workers, %v, fault: %s: %w", records, rows, d.text, opts.Workers, opts.Refused, fault.text, err)
		}
	}()
	run := d.p.To(sink).With(opts).Start(ctx)
	timeout := time.AfterFunc(2*time.Minute, func() { panic(fmt.Sprintf("seed %d hangs: %s", seed, d.text)) })
	failed := run.Wait()
	timeout.Stop()
	if n := mem.CurrentAlloc(); n != 0 {
		return fmt.Errorf("%d bytes are left after %v", n, failed)
	}
	if !rising || last > int64(records*rows) {
		return fmt.Errorf("acknowledged positions do not rise to %d", last)
	}
	switch {
	case fault.fired.Load() && !fault.cancels && failed == nil:
		return errors.New("an error was lost")
	case !fault.fired.Load() && failed != nil:
		return fmt.Errorf("an error from nowhere: %w", failed)
	case failed != nil && !errors.Is(failed, errTest) && !errors.Is(failed, context.Canceled):
		return fmt.Errorf("another error: %w", failed)
	case failed != nil:
		return nil
	}
	got := map[int64]int{}
	for _, id := range sink.ids {
		got[id]++
	}
	for id, n := range d.want {
		if got[id] != n {
			return fmt.Errorf("row %d came out %d times, want %d", id, got[id], n)
		}
	}
	if d.ordered && !slices.IsSorted(sink.ids) {
		return fmt.Errorf("rows out of order: %v", sink.ids)
	}
	if opts.Refused == flow.Keep {
		slices.Sort(letters)
		var want []int64
		for id := range d.refused {
			want = append(want, id)
		}
		slices.Sort(want)
		if !slices.Equal(slices.Compact(letters), want) {
			return fmt.Errorf("letters %v, want %v", letters, want)
		}
	}
	if last != int64(records*rows)-1 || run.Stats().Done != last {
		return fmt.Errorf("acknowledged up to %d, Done %d, want %d", last, run.Stats().Done, records*rows-1)
	}
	return nil
}

// fault fails, panics or cancels at one place, from one row on, or never.
type fault struct {
	stage   int // 0 source, 1 to 5 in between, 6 sink; -1 none
	cancels bool
	fired   atomic.Bool
	text    string
	hook    hook
}

func (d *drawn) fault(rows int, stop func()) *fault {
	f := &fault{stage: d.IntN(7), text: "none"}
	kind := d.IntN(6)
	if kind > 2 || rows == 0 {
		f.stage = -1
		return f
	}
	place, n := "process", d.Int64N(int64(rows))
	switch f.stage {
	case 0:
		place = "next"
	case 6:
		place = "write"
	}
	if at := d.IntN(8); at == 0 {
		place, n = "close", 0
	} else if at == 1 && place == "process" {
		place, n = "flush", 0
	}
	f.cancels = kind == 2
	f.text = fmt.Sprintf("%s stage %d at %s %d", []string{"fails", "panics", "cancels"}[kind], f.stage, place, n)
	f.hook = func(p string, i int64) error {
		if p != place || i < n {
			return nil
		}
		f.fired.Store(true)
		switch kind {
		case 1:
			panic(errTest)
		case 2:
			stop()
			return nil
		}
		return errTest
	}
	return f
}

// draw adds a random stage.
func (d *drawn) draw(mem memory.Allocator, i int, h hook) {
	label := fmt.Sprint("s", i)
	m := mode(d.IntN(3))
	name := fmt.Sprint("step in mode ", m)
	switch d.IntN(7) {
	case 0, 1:
		d.p = d.p.Via(step{Label: label, mode: m, hook: h})
	case 2:
		d.p = d.p.Via(step{Label: label, mode: forks, hook: func(place string, n int64) error {
			return errors.Join(jitter(place, n), h.at(place, n))
		}})
		name = "jitter"
	case 3:
		by, rest := 2+d.Int64N(4), d.Int64N(2)
		d.p = d.p.Via(step{Label: label, mode: m, hook: h, refuse: func(id int64) error {
			if id%by == rest {
				return errTest
			}
			return nil
		}})
		for id, n := range d.want {
			if n > 0 && id%by == rest {
				d.want[id], d.refused[id] = 0, true
			}
		}
		name += " that refuses"
	case 4:
		d.p = d.p.Via(keepGood)
		for id := range d.want {
			if badIDs(id) != nil {
				d.want[id] = 0
			}
		}
		name = "drop"
	case 5:
		n := d.IntN(4)
		d.p = d.p.Via(epochs(n))
		for id := range d.want {
			d.want[id] *= n
		}
		d.ordered = d.ordered && n < 2
		name = fmt.Sprint(n, " epochs")
	case 6:
		d.p = d.p.Via(opFunc(func(rec arrow.Record, out *flow.Out) error {
			for row := range rec.NumRows() {
				if err := out.Emit(rec.NewSlice(row, row+1)); err != nil {
					return err
				}
			}
			return nil
		}))
		name = "cut"
	}
	d.text = strings.TrimPrefix(d.text+", "+name, ", ")
}
