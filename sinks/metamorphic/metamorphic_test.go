package metamorphic

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/internal/leak"
)

// seeds calls f with one seed after the other: 75, or 1000 if SANFLOW_LONG is set, or
// new ones for as long as it says, such as 1h.
func seeds(t *testing.T, f func(seed uint64) error) {
	n, first := 75, uint64(0)
	if os.Getenv("SANFLOW_LONG") != "" {
		n = 1000
	}
	long, err := time.ParseDuration(os.Getenv("SANFLOW_LONG"))
	start := time.Now()
	if err == nil {
		n, first = 1<<62, uint64(start.UnixNano())
	}
	ran := 0
	for i := range n {
		if long > 0 && time.Since(start) > long {
			break
		}
		seed := first + uint64(i)
		hangs := time.AfterFunc(5*time.Minute, func() { panic(fmt.Sprintf("seed %d hangs", seed)) })
		err := f(seed)
		hangs.Stop()
		ran++
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
	t.Logf("%d seeds, the first %d", ran, first)
}

// TestMetamorphic compares the ways to run a plan with each other, and with the
// plain answer.
func TestMetamorphic(t *testing.T) {
	before := leak.IgnoreCurrent()
	seeds(t, func(seed uint64) error {
		rng := rand.New(rand.NewPCG(seed, 7))
		p := draw(rng)
		var ways []variant
		for range 3 {
			ways = append(ways, drawVariant(rng, p))
		}
		wrong := plainly() // the way that failed
		check := func(p plan) (err error) {
			dir, err := os.MkdirTemp("", "metamorphic")
			if err != nil {
				return err
			}
			defer os.RemoveAll(dir)
			wrong, err = p.check(ways, dir)
			return err
		}
		if err := check(p); err != nil {
			p = shrink(p, func(p plan) bool { return check(p) != nil })
			return fmt.Errorf("%w\nAs small as it gets: %w\n\n%s", err, check(p), p.program(wrong))
		}
		return nil
	})
	leak.VerifyNone(t, before)
}

// check runs p plainly and in those ways. It returns the way that failed.
func (p plan) check(ways []variant, dir string) (variant, error) {
	plain := plainly()
	want, err := p.solve()
	if err != nil {
		return plain, fmt.Errorf("the plain answer: %w", err)
	}
	var rows, got []string
	letters, err := plain.run(p, func(recs []arrow.Record) (err error) {
		rows = rowTexts(recs)
		got, err = describe(recs)
		return err
	})
	if err == nil {
		err = want.compare(got, p.texts(want.rows))
	}
	var weights []byte
	if err == nil && p.trainable() {
		weights, err = plain.train(p)
	}
	if err != nil || letters != want.refused {
		return plain, fmt.Errorf("run plainly, %d rows refused, want %d: %w", letters, want.refused, err)
	}
	for _, v := range ways {
		v.dir = dir
		v.cuts = slices.DeleteFunc(slices.Clone(v.cuts), func(c cut) bool { return c.after > len(p.ops) })
		if err := v.again(p, rows, want.refused, weights); err != nil {
			return v, fmt.Errorf("%+v: %w", v, err)
		}
	}
	return plain, nil
}

// again runs p in one more way and compares.
func (v variant) again(p plan, rows []string, refused int, weights []byte) error {
	if err := errors.Join(os.RemoveAll(v.dir), os.Mkdir(v.dir, 0o755)); err != nil {
		return err
	}
	letters, err := v.run(p, func(recs []arrow.Record) error { return equal(rowTexts(recs), rows) })
	if err != nil {
		return err
	}
	if v.keep && letters != refused {
		return fmt.Errorf("%d rows were refused, want %d", letters, refused)
	}
	if weights == nil {
		return nil
	}
	net, err := v.train(p)
	if err == nil && !bytes.Equal(net, weights) {
		err = errors.New("the weights are others")
	}
	return err
}

// compare holds what came out against the plain answer.
func (a answer) compare(got, want []string) error {
	if !a.ordered {
		slices.Sort(got)
		slices.Sort(want)
	}
	return equal(got, want)
}

func equal(got, want []string) error {
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			return fmt.Errorf("row %d is\n\t%s\nwant\n\t%s", i, got[i], want[i])
		}
	}
	if len(got) != len(want) {
		return fmt.Errorf("%d rows, want %d", len(got), len(want))
	}
	return nil
}

// TestFaults cancels runs, and lets their sources and sinks fail: the error is
// that one, and what arrived is the beginning of the answer.
func TestFaults(t *testing.T) {
	before := leak.IgnoreCurrent()
	seeds(t, func(seed uint64) error {
		rng := rand.New(rand.NewPCG(seed, 8))
		p := draw(rng)
		var rows []string
		if _, err := plainly().run(p, func(recs []arrow.Record) error { rows = rowTexts(recs); return nil }); err != nil {
			return fmt.Errorf("run plainly: %w\n%s", err, p.program(plainly()))
		}
		v := drawVariant(rng, p)
		v.cuts = nil
		v.streams = false // go-streams does not tell a stage that one before it has failed
		v.fault = &fault{where: []string{"cancel", "source", "sink"}[rng.IntN(3)], after: rng.IntN(8)}
		var arrived []string
		_, err := v.run(p, func(recs []arrow.Record) error { arrived = rowTexts(recs); return nil })
		wrong := func(format string, args ...any) error {
			return fmt.Errorf("%s after %d rows: %w\n%s", v.fault.where, v.fault.after, fmt.Errorf(format, args...), p.program(v))
		}
		switch fired := v.fault.fired.Load(); {
		case err == nil && fired && v.fault.where != "cancel":
			return wrong("the error was lost")
		case err != nil && !fired:
			return wrong("an error from nowhere: %w", err)
		case err != nil && !errors.Is(err, errFault) && !errors.Is(err, context.Canceled):
			return wrong("another error: %w", err)
		case len(arrived) > len(rows):
			return wrong("%d rows arrived, of %d", len(arrived), len(rows))
		}
		if err := equal(arrived, rows[:len(arrived)]); err != nil {
			return wrong("%w", err)
		}
		return nil
	})
	leak.VerifyNone(t, before)
}
