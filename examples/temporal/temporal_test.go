package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/examples/internal/clitest"
	"github.com/sanflow/sanflow/internal/leak"
	"github.com/sanflow/sanflow/internal/race"
)

func TestMain(m *testing.M) { clitest.Main(m) }

// The model is better than the heuristics, its alarm sees that the mechanism changes
// half-way, and another run gives the same.
func TestLinks(t *testing.T) {
	race.Skip(t)
	defer leak.VerifyNone(t)
	out := filepath.Join(t.TempDir(), "curve.svg")
	args := []string{"-n", "3000", "-candidates", "60"}
	r := clitest.JSON[report](t, run, append(args, "-out", out)...)
	if r.Events < 3000 || r.Valid != nil || *r.Test < *r.Baselines.Recency || *r.Test < *r.Baselines.EdgeBank || *r.AUC < 0.7 || len(r.Model) != 64 || r.Latency.Max < r.Latency.P50 {
		t.Errorf("%+v", r)
	}
	if len(r.Alarms) == 0 || r.Alarms[0].Question < 1500 || r.Alarms[0].Question >= 1800 {
		t.Errorf("the alarms are %+v", r.Alarms)
	}
	if len(r.Curve) < 90 || r.Curve[len(r.Curve)-1].Question > 3000 || r.Candidates != 60 {
		t.Errorf("%d points of a curve, %d candidates", len(r.Curve), r.Candidates)
	}
	if again := clitest.JSON[report](t, run, args...); again.Model != r.Model || *again.Test != *r.Test {
		t.Errorf("another run: %+v, want %+v", again, r)
	}
	if text, err := os.ReadFile(out); err != nil || !strings.Contains(string(text), "</svg>") {
		t.Errorf("%.100s (%v)", text, err)
	}
}

// Streams whose mechanism changes half-way raise the first alarm soon after, and few before,
// over 100 seeds. The change is at each of the 32 places between two looks of the detector.
// A stream that is long before its change stands for one without a change.
func TestAlarms(t *testing.T) {
	race.Skip(t)
	seeds, half := 3, 1000
	if os.Getenv("SANFLOW_LONG") != "" {
		seeds, half = 100, 3000
	}
	alarms := func(seed, half int) (early int, first int64) {
		first = -1
		for _, a := range clitest.JSON[report](t, run, "-seed", strconv.Itoa(seed+1), "-n", strconv.Itoa(2*half)).Alarms {
			if a.Question < int64(half) {
				early++
			} else if first < 0 {
				first = a.Question - int64(half)
			}
		}
		return early, first
	}
	wrong, asked, delays := 0, 0, []int64{}
	for seed := range seeds {
		at := half + seed%32
		early, delay := alarms(seed, at)
		wrong, asked = wrong+early, asked+at
		if delay >= 0 {
			delays = append(delays, delay)
		}
	}
	slices.Sort(delays)
	found := len(delays)
	if found < seeds || delays[found-1] > 300 || wrong > 1+asked/5000 {
		t.Errorf("%d streams: found in %d after %d questions, %d alarms in %d questions before the change", seeds, found, delays, wrong, asked)
	} else {
		t.Logf("%d streams: found in %d after %d questions (median), %d (90 %%), %d (all); %d alarms in %d questions before the change",
			seeds, found, delays[found/2], delays[found*9/10], delays[found-1], wrong, asked)
	}
	if os.Getenv("SANFLOW_LONG") == "" {
		return
	}
	wrong = 0
	for seed := range seeds {
		early, _ := alarms(seed, 6000)
		wrong += early
	}
	t.Logf("%d streams of 6000 questions without a change: %d alarms", seeds, wrong)
	if wrong > seeds {
		t.Error("there is more than one in a stream")
	}
}

// The same edges in other forms have the same results.
func TestForms(t *testing.T) {
	forms := map[string]func(u, v, at int) string{
		"edges.txt": func(u, v, at int) string { return fmt.Sprintf("n%d n%d %d", u, v, at) },
		"edges.csv": func(u, v, at int) string { return fmt.Sprintf(`"n%d";"n%d";"%d"`, u, v, at) },
		"bars":      func(u, v, at int) string { return fmt.Sprintf("n%d|n%d|%d.5", u, v, at) },
		"edges.tsv": func(u, v, at int) string {
			return fmt.Sprintf("n%d\tn%d\t%s", u, v, time.Unix(int64(at), 0).UTC().Format(time.DateTime))
		},
		"edges.jsonl": func(u, v, at int) string { return fmt.Sprintf(`{"dst":"n%d","time":%d,"src":"n%d"}`, v, at, u) },
		"objects": func(u, v, at int) string {
			return fmt.Sprintf(`{"from":"n%d","to":"n%d","ts":"%s"}`, u, v, time.Unix(int64(at), 0).UTC().Format(time.RFC3339))
		},
	}
	var want float64
	for name, form := range forms {
		var text strings.Builder
		for i := range 300 {
			text.WriteString(form(i%20, (i*7+i/20*2)%20, -100+7*(i/2)) + "\n")
		}
		r := clitest.JSON[report](t, run, "-edges", clitest.File(t, name, text.String()))
		if want == 0 {
			want = *r.Test
		}
		if *r.Test != want || r.Events != 300 {
			t.Errorf("%s: %d events, %v, want %v", name, r.Events, *r.Test, want)
		}
	}
	for name, text := range map[string]string{"one": "a b 3\n", "equal": strings.Repeat("a b 3\nb c 3\n", 20), "names": "src,dst,ts\n"} {
		if r := clitest.JSON[report](t, run, "-edges", clitest.File(t, name, text)); (r.Test != nil) != (name == "one") {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// rows is a file out of order, with classes and ratings.
func rows(t *testing.T) string {
	text := strings.Builder{}
	text.WriteString("Time,id1,id2,c1,c2,rating\n")
	class := []string{"red", "blue"}
	for i := range 400 {
		u, v := i%20, (i*7+i/20*2)%20
		rating := "4"
		if u%2 == 0 {
			rating = "-3"
		}
		text.WriteString(strings.Join([]string{strconv.Itoa(1000 - i), "n" + strconv.Itoa(u), "n" + strconv.Itoa(v), class[u%2], class[v%2], rating}, ",") + "\n")
	}
	return clitest.File(t, "rows.csv", text.String())
}

func TestTasks(t *testing.T) {
	defer leak.VerifyNone(t)
	file := rows(t)
	if r := clitest.JSON[report](t, run, "-edges", file, "-every", "20"); r.Events != 400 || r.Valid == nil || r.Test == nil {
		t.Errorf("links: %+v", r)
	}
	for _, window := range []string{"100", "1m"} {
		if r := clitest.JSON[report](t, run, "-edges", file, "-task", "fields", "-k", "4", "-window", window, "-every", "7"); r.FieldsRecomputed < r.FieldsChanged || r.FieldsChanged < 20 || r.Events != 400 {
			t.Errorf("fields: %+v", r)
		} else if at := r.Curve[len(r.Curve)-1].Question; at < 393 || at > 406 {
			t.Errorf("the curve of 400 events ends at %d", at)
		}
	}
}

// A window of time is the same in every unit of the stream.
func TestWindowOfScale(t *testing.T) {
	file := rows(t)
	for _, task := range []string{"fields", "links"} {
		run := func(more ...string) report {
			return clitest.JSON[report](t, run, append([]string{"-edges", file, "-task", task, "-k", "4", "-every", "20"}, more...)...)
		}
		want, all := run("-window", "100s"), run()
		if task == "fields" && want.FieldsRecomputed == all.FieldsRecomputed {
			t.Errorf("a window of 100 s has all events")
		}
		for _, scale := range []string{"1000", "64"} {
			got := run("-window", "100s", "-columns", "scale="+scale)
			if got.FieldsRecomputed != want.FieldsRecomputed || got.FieldsChanged != want.FieldsChanged || task == "links" && !reflect.DeepEqual(got.Baselines, want.Baselines) {
				t.Errorf("%s, scale %s: %+v, want %+v", task, scale, got, want)
			}
		}
	}
	for _, args := range [][]string{{"-window", "500ms"}, {"-window", "1s", "-columns", "scale=0.5"}, {"-window", "1h", "-columns", "scale=1e300"}, {"-window", "-1s"}} {
		if _, err := parse(args); err == nil || !strings.Contains(err.Error(), "-window is") {
			t.Errorf("%q: %v", args, err)
		}
	}
	if c, err := parse([]string{"-window", "500ms", "-columns", "scale=1000"}); err != nil || c.within != 500 {
		t.Errorf("500 ms of milliseconds: %+v, %v", c, err)
	}
}

// The results, the model and the curve are the same bytes on one processor and on two.
func TestWorkers(t *testing.T) {
	defer leak.VerifyNone(t)
	file := rows(t)
	for _, args := range []string{
		"-n 300 -candidates 30", "-edges " + file + " -every 20",
		"-edges " + file + " -task fields -k 4 -window 100 -every 7",
	} {
		var want string
		for workers := 1; workers <= 2; workers++ {
			curve := filepath.Join(t.TempDir(), "curve.svg")
			before := runtime.GOMAXPROCS(workers)
			r := clitest.JSON[map[string]any](t, run, append(strings.Fields(args), "-out", curve)...)
			runtime.GOMAXPROCS(before)
			for _, name := range []string{"events_per_s", "latency_ms", "peak_rss_mb", "seconds"} {
				delete(r, name)
			}
			text, err := os.ReadFile(curve)
			if err != nil {
				t.Fatal(err)
			}
			got := fmt.Sprintf("%v %x", r, sha256.Sum256(text))
			if want == "" {
				want = got
			} else if got != want {
				t.Errorf("%s: on %d processors %s, on one %s", args, workers, got, want)
			}
		}
	}
}

func TestErrors(t *testing.T) {
	clitest.Silence(t)
	file := rows(t)
	for _, test := range []struct{ args, want string }{
		{"-task graphs", `-task is "graphs", want one of links fields`},
		{"-protocol x", `-protocol is "x"`},
		{"-order wait", `-order is "wait"`},
		{"-window x", `-window is "x"`},
		{"-window 0", `-window is "0"`},
		{"-window 5ms", `-window is "5ms"`},
		{"-candidates 1", "-candidates is 1"},
		{"-every 0", "-every is 0"},
		{"-columns size=3", `-columns: "size"`},
		{"-out curve.gif", ".svg or .png"},
		{"-json /nowhere/at/all", "cannot write"},
		{"-edges /nowhere/at/all", "no such file"},
		{"-edges " + file + " -task nodes", "-task is \"nodes\", want one of links fields"},
		{"-edges " + file + " -columns time=when", `there is no column "when"`},
		{"-edges " + file + " -order refuse", "rows.csv:3: row 2: time 999 is before 1000"},
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
	if err := run(ctx, []string{"-n", "1000000"}); !errors.Is(err, cli.ErrInterrupted) {
		t.Errorf("%v, want %v", err, cli.ErrInterrupted)
	}
}
