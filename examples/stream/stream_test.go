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
		for _, x := range []float64{s.Seconds, s.CPU} {
			if x < 0 {
				t.Errorf("%+v", s)
			}
		}
		s.Seconds, s.CPU = 0, 0
		for i := range s.Curve {
			if s.Curve[i].HeapMB <= 0 {
				t.Errorf("%+v", s.Curve[i])
			}
			s.Curve[i].HeapMB = 0
		}
	}
	r.PeakMB, r.Workers = 0, 0
	return r
}

// The curve is the same at any number of workers, a longer stream begins with a
// shorter one, and the models learn.
func TestStream(t *testing.T) {
	defer leak.VerifyNone(t)
	defer func(was float64) { noise = was }(noise)
	noise = -1 // none
	args := []string{"-graphs", "230", "-window", "50"}
	r := learned(t, append(args, "-workers", "1")...)
	if again := learned(t, append(args, "-workers", "3")...); !reflect.DeepEqual(again, r) {
		t.Errorf("3 workers: %+v, want %+v", again, r)
	}
	short := learned(t, append(args, "-graphs", "100")...)
	for i, name := range []string{"best", "online"} {
		s := r.Systems[i]
		right := 0.0
		for j, p := range s.Curve {
			right += p.Accuracy * float64(min(50, 230-50*j)) / 100
		}
		if s.System != name || len(s.Curve) != 5 || s.Curve[4].Graphs != 230 || math.Abs(100*right/230-s.Accuracy) > 1e-9 {
			t.Errorf("%+v", s)
		}
		if s.Curve[3].Accuracy < 60 { // of 6 classes
			t.Errorf("%s learns nothing: %+v", name, s.Curve)
		}
	}
	for i, s := range short.Systems {
		if !reflect.DeepEqual(s.Curve, r.Systems[i].Curve[:2]) {
			t.Errorf("100 graphs %+v, of 230 %+v", s.Curve, r.Systems[i].Curve)
		}
	}
}

func TestPicture(t *testing.T) {
	out := filepath.Join(t.TempDir(), "curve.svg")
	learned(t, "-graphs", "60", "-out", out)
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
		{"-graphs 0", "-graphs is 0"},
		{"-window -1", "-window is -1"},
		{"-out curve.gif", ".svg or .png"},
		{"-json /nowhere/at/all", "cannot write"},
		{"-data " + real, "the graphs have no classes"},
		{"-data X -graphs 5", "-graphs is of generated graphs"},
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
