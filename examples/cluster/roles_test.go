package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/sanflow/sanflow/examples/internal/clitest"
	"github.com/sanflow/sanflow/flow/file"
	"github.com/sanflow/sanflow/flow/file/store"
	"github.com/sanflow/sanflow/internal/jet/jettest"
	"github.com/sanflow/sanflow/sinks"
)

// The audit replays a run that lost chunks: what is lost are the rows that they had, in every
// epoch, and the command fails.
func TestLostRows(t *testing.T) {
	const epochs, chunks, came, roots = 3, 10, 7, 25
	a, r := newAudit(true), &report{config: &config{epochs: epochs}}
	for range epochs {
		for p := range int64(came) {
			if len(a.got) <= int(p) {
				a.pending[p] = roots
			}
			for range roots {
				if r.Trained++; a.learned(sinks.Prediction{Pos: p}) != nil {
					t.Fatal()
				}
			}
		}
	}
	a.judge(r, epochs)
	if err := r.err(); r.Lost != 0 || err != nil {
		t.Errorf("of those that came %d are lost: %v", r.Lost, err)
	}
	r.expect(chunks, chunks*roots)
	if err := r.err(); r.Expected != epochs*chunks*roots || r.Lost != epochs*(chunks-came)*roots || err == nil || !strings.HasPrefix(err.Error(), "225 of 750 rows") {
		t.Errorf("%+v: %v", r, err)
	}
	if err := (&report{Trained: 8, Sent: 4, Positions: 5}).err(); err == nil {
		t.Error("rows that the feed has not sent are no error")
	}
}

// roles is a broker, and what runs the roles of a job there, one after the other.
type roles struct {
	url string
	js  jetstream.JetStream
	job []string
}

func startRoles(t *testing.T, job ...string) *roles {
	url := jettest.Start(t, nil).ClientURL()
	nc, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	return &roles{url, js, job}
}

func (r *roles) run(t *testing.T, role string, more ...string) error {
	return run(t.Context(), append(append([]string{"-url", r.url, "-role", role}, r.job...), more...))
}

// train learns in a directory of its own.
func (r *roles) train(t *testing.T, more ...string) (got report, err error) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "out.json")
	err = r.run(t, "train", append(more, "-json", out)...)
	b, e := os.ReadFile(out)
	if e := errors.Join(e, json.Unmarshal(b, &got)); e != nil {
		t.Fatal(err, e)
	}
	return got, err
}

// Each role by itself, one after the other: they wait more than they work.
func TestRoles(t *testing.T) {
	for name, job := range map[string][]string{
		"collection": {"-w", "2", "-k", "2"},
		"graph":      {"-graph", "torus", "-n", "900", "-k", "3", "-repeat", "2"},
	} {
		alone := clitest.JSON[report](t, run, append([]string{"-workers", "0"}, job...)...)
		t.Run(name, func(t *testing.T) { t.Parallel(); testRoles(t, alone, job) })
		t.Run(name+", lost", func(t *testing.T) { t.Parallel(); testRolesLost(t, alone, job) })
	}
	t.Run("reset", func(t *testing.T) { t.Parallel(); testReset(t) })
	t.Run("another job", func(t *testing.T) { t.Parallel(); testOtherJob(t) })
}

func testRoles(t *testing.T, alone report, job []string) {
	r := startRoles(t, job...)
	if err := errors.Join(r.run(t, "feed"), r.run(t, "work")); err != nil {
		t.Fatal(err)
	}
	got, err := r.train(t)
	if err != nil || got.Lost != 0 || got.ModelSHA256 != alone.ModelSHA256 || got.Expected != alone.Trained || got.Sent != got.Positions {
		t.Errorf("%+v: %v, want the model of %+v", got, err, alone)
	}
	if err := r.js.DeleteStream(t.Context(), "sanflow-graphs"); err != nil {
		t.Fatal(err)
	}
	if got, err = r.train(t); err != nil || got.Sent != 0 || got.Expected != 0 {
		t.Errorf("without the feed's stream: %+v: %v", got, err)
	}
}

// A trainer by itself compares what it has learned from with what the feed has sent.
func testRolesLost(t *testing.T, alone report, job []string) {
	r := startRoles(t, job...)
	if err := r.run(t, "feed"); err != nil {
		t.Fatal(err)
	}
	s, err := r.js.Stream(t.Context(), "sanflow-graphs")
	if err == nil {
		err = s.DeleteMsg(t.Context(), 3)
	}
	if err := errors.Join(err, r.run(t, "work")); err != nil {
		t.Fatal(err)
	}
	got, err := r.train(t)
	if err == nil || !strings.Contains(err.Error(), "were never learned from") || got.Lost == 0 || got.Lost != alone.Trained-got.Trained || got.Duplicates != 0 {
		t.Errorf("with a message deleted: %+v: %v", got, err)
	}
}

// A role with other settings is refused, before it makes what would be taken for
// something else.
// After -reset a job with other settings runs under the same name and in the same directory, and
// no stream of the name is left before.
func testReset(t *testing.T) {
	dir := t.TempDir()
	r := startRoles(t, "-k", "2")
	train := func(seed, w string) error {
		for _, role := range []string{"feed", "work", "train"} {
			if err := r.run(t, role, "-seed", seed, "-w", w, "-epochs", "1", "-dir", filepath.Join(dir, role)); err != nil {
				return err
			}
		}
		return nil
	}
	if err := train("1", "2"); err != nil {
		t.Fatal(err)
	}
	// The queue alone is not all that the run keeps.
	if err := r.js.DeleteStream(t.Context(), "sanflow-graphs"); err != nil {
		t.Fatal(err)
	}
	err := train("2", "2")
	for _, want := range []string{"-reset", "sanflow-graphs, sanflow-fields and sanflow-fields-late", "checkpoint"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want an error that names %s", err, want)
		}
	}
	missing := []string{"-url", r.url, "-reset", "-dir", filepath.Join(dir, "missing")}
	if err := run(t.Context(), missing); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("-reset of a missing directory: %v", err)
	}
	held, err := store.Open(nil, filepath.Join(dir, "train"))
	if err != nil {
		t.Fatal(err)
	}
	reset := []string{"-url", r.url, "-reset", "-dir", filepath.Join(dir, "train")}
	if err := run(t.Context(), reset); !errors.Is(err, file.ErrHeld) {
		t.Errorf("-reset beside a trainer: %v", err)
	}
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time nothing is left
		if err := run(t.Context(), reset); err != nil {
			t.Fatal(err)
		}
	}
	for s := range r.js.ListStreams(t.Context()).Info() {
		t.Errorf("the stream %s is left", s.Config.Name)
	}
	if err := train("2", "3"); err != nil {
		t.Error(err)
	}
	if err := run(t.Context(), append(reset, "-role", "train")); err == nil || !strings.Contains(err.Error(), "-reset wants") {
		t.Errorf("-reset and -role: %v", err)
	}
}

func testOtherJob(t *testing.T) {
	r := startRoles(t)
	refused := func(role, flag string, args ...string) {
		t.Helper()
		if err := r.run(t, role, args...); err == nil || !strings.Contains(err.Error(), flag+" is ") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s %q: %v, want an error of %s", role, args, err, flag)
		}
	}
	must := func(role string, args ...string) {
		t.Helper()
		if err := r.run(t, role, args...); err != nil {
			t.Fatal(role, args, err)
		}
	}
	must("feed", "-k", "3")
	must("feed", "-w", "2") // begun anew; how it makes no fields does not matter
	refused("feed", "-seed", "-seed", "2")
	refused("work", "-k", "-w", "2")
	refused("work", "-graph", "-w", "2", "-k", "3", "-graph", "torus")
	must("work", "-w", "2", "-k", "3")
	refused("work", "-w", "-w", "3", "-k", "3")
	refused("train", "-w", "-w", "3")
	refused("train", "-bound", "-bound", "1", "-epochs", "1")
	refused("train", "-data", "-data", "NCI1.zip")
	refused("train", "-graph", "-graph", "torus")
	refused("train", "-seed", "-seed", "2")
	must("train", "-epochs", "1") // what it does not work by it need not be told
}
