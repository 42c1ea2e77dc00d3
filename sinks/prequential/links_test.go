package prequential

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/sanflow/sanflow/flow/event"
	"github.com/sanflow/sanflow/internal/temporal"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/nn/drift"
)

// circle makes a stream in which each source goes from its last target to the next one;
// from the middle on, if turned, to the one before it.
func circle(n int, turned bool) []event.Event {
	rng := rand.New(rand.NewPCG(1, 1))
	var at [20]int
	list := make([]event.Event, n)
	for i := range list {
		s := rng.IntN(len(at))
		if step := 1; rng.IntN(10) > 0 {
			if turned && i > n/2 {
				step = 29
			}
			at[s] = (at[s] + step) % 30
		} else {
			at[s] = rng.IntN(30)
		}
		list[i] = event.Event{Pos: int64(i), Time: int64(10 * i), Source: int32(s), Target: int32(len(at) + at[s])}
	}
	return list
}

func seq(list []event.Event) func(func(event.Event, error) bool) {
	return func(yield func(event.Event, error) bool) {
		for _, e := range list {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func TestLinks(t *testing.T) {
	list := circle(1600, false)
	for _, every := range []int{1, 50} {
		var reports [2]*Report
		var hashes [2]string
		for i := range reports {
			if i == 1 && every > 1 {
				continue // one repetition is enough
			}
			l := &Links{Every: every, Net: &nn.Ranker{Seed: 3, Batch: 8}, Seed: 4}
			r, err := l.Benchmark(context.Background(), list)
			if err != nil {
				t.Fatal(err)
			}
			reports[i], hashes[i] = r, l.Net.Hash()
		}
		r := reports[0]
		if every == 1 && (!reflect.DeepEqual(r, reports[1]) || hashes[0] != hashes[1]) {
			t.Errorf("every %d: another run has another result", every)
		}
		if r.Events != 1600 || r.Valid.Questions != 240 || r.Test.Questions != 240 {
			t.Errorf("every %d: %d edges, %d and %d questions", every, r.Events, r.Valid.Questions, r.Test.Questions)
		}
		if best := r.Test.Baselines[temporal.Recency]; every == 1 && r.Test.MRR < 0.5 || r.Test.MRR < best+0.02 || r.Test.AUC < 0.6 || r.Test.AP < 0.6 {
			t.Errorf("every %d: %+v", every, r.Test)
		}
	}
}

// The alarm sees that the mechanism changes, and not where it does not.
func TestDrift(t *testing.T) {
	for _, turned := range []bool{false, true} {
		l := &Links{Net: &nn.Ranker{Seed: 3, Batch: 8}, Drift: &drift.ADWIN{}}
		r, err := l.Run(context.Background(), seq(circle(2400, turned)))
		if err != nil {
			t.Fatal(err)
		}
		if rises := slices.ContainsFunc(r.Alarms, func(a drift.Alarm) bool { return a.After > a.Before+0.05 }); rises != turned {
			t.Errorf("turned %t: alarms %v", turned, r.Alarms)
		}
		if r.Test.Questions != 2400 || r.Events != 2400 {
			t.Errorf("%+v", r)
		}
	}
}

// Targets of one source and time in one batch are left out of each other's questions,
// also those that are new.
func TestBatchOfNewTargets(t *testing.T) {
	list := []event.Event{{Target: 1}, {Target: 9}, {Source: 3, Target: 70}, {Source: 3, Target: 80}}
	if _, err := (&Links{Every: 4}).Run(context.Background(), seq(list)); err != nil {
		t.Fatal(err)
	}
}

func TestRefuses(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	list := circle(100, false)
	if _, err := (&Links{}).Benchmark(ctx, list); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := (&Links{}).Benchmark(context.Background(), list[:5]); err == nil {
		t.Error("five edges")
	}
	ends := errors.New("the stream ends")
	broken := func(yield func(event.Event, error) bool) {
		for _, e := range list {
			if !yield(e, nil) {
				return
			}
		}
		yield(event.Event{}, ends)
	}
	if r, err := (&Links{Every: 7}).Run(context.Background(), broken); !errors.Is(err, ends) || r != nil {
		t.Errorf("an error of the stream: %v", err)
	}
	if _, err := (&Links{Each: func(Answer) error { return ends }}).Run(context.Background(), seq(list)); !errors.Is(err, ends) {
		t.Errorf("an error of Each: %v", err)
	}
	list[50].Time = 0
	if _, err := (&Links{}).Benchmark(context.Background(), list); err == nil {
		t.Error("not in order")
	}
	if _, err := (&Links{Candidates: 1}).Run(context.Background(), seq(nil)); err == nil {
		t.Error("one candidate")
	}
	if r, err := (&Links{}).Run(context.Background(), seq(nil)); err != nil || r.Test.Questions != 0 {
		t.Error(r, err)
	}
}

func TestCurve(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 1))
	for range 200 {
		n := 1 + rng.IntN(9)
		pos, neg := make([]float32, n), make([]float32, n)
		for _, x := range [][]float32{pos, neg} {
			for i := range x {
				x[i] = float32(rng.IntN(6))
			}
		}
		var m meter
		for i := range pos {
			m.compare(pos[i], neg[i])
		}
		s := m.scores()
		auc, ap := s.AUC, s.AP
		wantAUC, wantAP := 0.0, 0.0
		for _, p := range pos {
			above, all := 0, 0
			for _, n := range neg {
				if p > n {
					wantAUC++
				} else if p == n {
					wantAUC += 0.5
				}
				if n >= p {
					all++
				}
			}
			for _, q := range pos {
				if q >= p {
					above++
				}
			}
			wantAP += float64(above) / float64(above+all) / float64(len(pos))
		}
		wantAUC /= float64(len(pos) * len(neg))
		if math.Abs(auc-wantAUC) > 1e-9 || math.Abs(ap-wantAP) > 1e-9 {
			t.Errorf("%v, %v: %v %v, want %v %v", pos, neg, auc, ap, wantAUC, wantAP)
		}
	}
}

// The baselines of tgbl-wiki-v2 are those of the reference, which has the figures that are
// published for EdgeBank.
func TestWiki(t *testing.T) {
	data := os.Getenv("SANFLOW_DATA")
	if data == "" || os.Getenv("SANFLOW_LONG") == "" {
		t.Skip("SANFLOW_DATA and SANFLOW_LONG are not set")
	}
	f, err := os.Open(filepath.Join(data, "temporal", "jodie-wikipedia.txt.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var list []event.Event
	for s := bufio.NewScanner(z); s.Scan(); {
		var e event.Event
		if _, err := fmt.Sscan(s.Text(), &e.Source, &e.Target, &e.Time); err != nil {
			t.Fatal(err)
		}
		list = append(list, e)
	}
	for every, want := range map[int][2]float64{1: {0.5250, 0.8206}, 200: {0.4947, 0.7290}} {
		r, err := (&Links{Every: every}).Benchmark(context.Background(), list)
		if err != nil {
			t.Fatal(err)
		}
		for i, b := range []string{temporal.EdgeBank, temporal.Recency} {
			if math.Abs(r.Test.Baselines[b]-want[i]) > 5e-5 {
				t.Errorf("every %d: %s has %v, want %v", every, b, r.Test.Baselines[b], want[i])
			}
		}
		t.Logf("every %d: validation %.4f, test %.4f", every, r.Valid.MRR, r.Test.MRR)
	}
}
