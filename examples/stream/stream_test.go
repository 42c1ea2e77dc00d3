package main

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/examples/internal/clitest"
	"github.com/sanflow/sanflow/internal/leak"
)

func TestMain(m *testing.M) { clitest.Main(m) }

// learned runs the command and returns what does not depend on the machine.
func learned(t *testing.T, args ...string) report {
	t.Helper()
	r := clitest.JSON[report](t, run, args...)
	for _, s := range r.Systems {
		for _, x := range []float64{s.Seconds, s.CPU, s.MedianMs, s.P99Ms} {
			if x < 0 {
				t.Errorf("%+v", s)
			}
		}
		s.Seconds, s.CPU, s.MedianMs, s.P99Ms = 0, 0, 0, 0
		for i := range s.Curve {
			if s.Curve[i].HeapMB <= 0 {
				t.Errorf("%+v", s.Curve[i])
			}
			s.Curve[i].HeapMB = 0
		}
		for i := range s.Costs {
			s.Costs[i].CPU = 0
		}
	}
	r.PeakMB, r.Workers = 0, 0
	return r
}

// The curve is the same at any number of workers, a longer stream begins with a
// shorter one, and the models learn.
func TestStream(t *testing.T) {
	defer leak.VerifyNone(t)
	args := []string{"-graphs", "230", "-noise", "0", "-window", "50", "-answers", "10"}
	r := learned(t, append(args, "-workers", "1")...)
	if again := learned(t, append(args, "-workers", "3")...); !reflect.DeepEqual(again, r) {
		t.Errorf("3 workers: %+v, want %+v", again, r)
	}
	short := learned(t, append(args, "-graphs", "100", "-systems", "best")...)
	for i, name := range []string{"best", "online"} {
		s := r.Systems[i]
		right := 0.0
		for j, p := range s.Curve {
			right += p.Accuracy * float64(min(50, 230-50*j)) / 100
		}
		if s.System != name || len(s.Curve) != 5 || s.Curve[4].Graphs != 230 || s.Answers != 10 || len(s.Costs) != 1 || math.Abs(100*right/230-s.Accuracy) > 1e-9 {
			t.Errorf("%+v", s)
		}
		if s.Curve[3].Accuracy < 60 { // of 6 classes
			t.Errorf("%s learns nothing: %+v", name, s.Curve)
		}
	}
	if len(short.Systems) != 1 || !reflect.DeepEqual(short.Systems[0].Curve, r.Systems[0].Curve[:2]) {
		t.Errorf("100 graphs %+v, of 230 %+v", short.Systems[0].Curve, r.Systems[0].Curve)
	}
}

func TestPicture(t *testing.T) {
	out := filepath.Join(t.TempDir(), "curve.svg")
	learned(t, "-graphs", "60", "-answers", "0", "-out", out)
	if text, err := os.ReadFile(out); err != nil || !strings.Contains(string(text), "</svg>") || !strings.Contains(string(text), "share of the largest class") {
		t.Errorf("%.100s (%v)", text, err)
	}
}

func TestErrors(t *testing.T) {
	clitest.Silence(t)
	real := filepath.Join(t.TempDir(), "REG")
	if err := os.Mkdir(real, 0o755); err != nil {
		t.Fatal(err)
	}
	for suffix, text := range map[string]string{"A": "1, 2\n2, 1\n3, 4\n4, 3\n", "graph_indicator": "1\n1\n2\n2\n", "graph_attributes": "0.5\n1.25\n"} {
		if err := os.WriteFile(filepath.Join(real, "REG_"+suffix+".txt"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct{ args, want string }{
		{"-systems k10", `-systems has "k10", want some of best online`},
		{"-systems best,best", "names best twice"},
		{"-noise 2", "-noise is 2"},
		{"-noise NaN", "-noise is NaN"},
		{"-graphs 0", "-graphs is 0"},
		{"-window -1", "-window is -1"},
		{"-out curve.gif", ".svg or .png"},
		{"-json /nowhere/at/all", "cannot write"},
		{"-data " + real, "the targets are real values, not classes"},
		{"-data X -graphs 5", "-graphs: of generated graphs, and -data X is a collection"},
		{"-data X -noise 0 -graphs 3000", "-graphs and -noise: of generated graphs"},
		{"-data /nowhere/at/all", "neither a file or directory"},
	} {
		if err := run(context.Background(), strings.Fields(test.args)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.args, err, test.want)
		}
	}
}

func TestInterrupt(t *testing.T) {
	defer leak.VerifyNone(t)
	ctx, cancel := context.WithCancelCause(context.Background())
	time.AfterFunc(30*time.Millisecond, func() { cancel(cli.ErrInterrupted) })
	if err := run(ctx, []string{"-graphs", "1000000"}); !errors.Is(err, cli.ErrInterrupted) {
		t.Errorf("%v, want %v", err, cli.ErrInterrupted)
	}
}

// The report has no figure for a quantity that was not measured: predictions not asked
// for, and the cost of a graph if there are too few.
func TestNoFigures(t *testing.T) {
	one := &system{System: "best", Curve: []point{{Graphs: 9}}}
	r := &report{Systems: []*system{one}}
	text := func() string {
		var out strings.Builder
		if err := r.Print(&out); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	if s := text(); strings.Contains(s, " ms") || strings.Contains(s, "processor time") {
		t.Error(s)
	}
	one.Answers, one.MedianMs, one.Costs = 3, 0.25, []cost{{100, 17}}
	if s := text(); !strings.Contains(s, "0.25 ms") || !strings.Contains(s, "17 µs") {
		t.Error(s)
	}
}
