package main

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sanflow/sanflow/examples/internal/clitest"
	"github.com/sanflow/sanflow/internal/race"
)

// asCommand makes the test binary the command.
const asCommand = "TEMPORAL_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
		return
	}
	clitest.Main(m)
}

// outcome is what a run leaves: the report without times and memory, the curve, and the
// last checkpoint, which has the graph, the fields and the model.
type outcome struct{ report, curve, checkpoint []byte }

func read(t *testing.T, dir string) (o outcome) {
	t.Helper()
	for name, to := range map[string]*[]byte{"out.json": &o.report, "curve.svg": &o.curve, "run": &o.checkpoint} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		*to = text
	}
	var r map[string]any
	if err := json.Unmarshal(o.report, &r); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"events_per_s", "latency_ms", "seconds", "peak_rss_mb"} {
		delete(r, name)
	}
	var err error
	if o.report, err = json.Marshal(r); err != nil {
		t.Fatal(err)
	}
	return o
}

// Killed at random moments and resumed, a run ends with the same report, the same curve and
// the same checkpoint, to the last byte, as one that was not.
func TestKillAndResume(t *testing.T) {
	kills := 3
	if os.Getenv("SANFLOW_LONG") != "" {
		kills = 50
	} else if race.Enabled {
		t.Skip("one goroutine in another process; TestCheckpoint of sinks/prequential fails and resumes the same")
	}
	file := rows(t)
	for seed, c := range []struct{ name, args string }{
		{"links", "-n 1500 -candidates 40"},
		{"links of a window", "-n 1500 -candidates 40 -window 300 -every 3"},
		{"links of strings, by -protocol tgb", "-edges " + file + " -columns source=id1,target=id2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			command := func(dir string) (*exec.Cmd, *bytes.Buffer) {
				in := func(name string) string { return filepath.Join(dir, name) }
				cmd := exec.Command(os.Args[0], append(strings.Fields(c.args),
					"-checkpoint", in("run"), "-checkpoint-every", "20", "-resume", "-json", in("out.json"), "-out", in("curve.svg"))...)
				cmd.Env = append(os.Environ(), asCommand+"=1")
				var stderr bytes.Buffer
				cmd.Stderr = &stderr
				return cmd, &stderr
			}
			whole, dir := t.TempDir(), t.TempDir()
			start := time.Now()
			if cmd, stderr := command(whole); cmd.Run() != nil {
				t.Fatal(stderr)
			}
			took := time.Since(start)
			want := read(t, whole)
			rng := rand.New(rand.NewPCG(uint64(seed), 27))
			killed, late, ends := 0, 0, 0 // kills, those behind a checkpoint, runs that came to their end
			for killed < kills || ends == 0 {
				cmd, stderr := command(dir)
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				if killed < kills {
					time.AfterFunc(time.Duration(rng.Int64N(int64(took))), func() { _ = cmd.Process.Kill() }) // SIGKILL
				}
				err := cmd.Wait()
				_, there := os.Stat(filepath.Join(dir, "run"))
				switch {
				case err == nil:
					ends++
					got := read(t, dir)
					if !bytes.Equal(got.report, want.report) {
						t.Fatalf("after %d kills: %s, want %s", killed, got.report, want.report)
					}
					if !bytes.Equal(got.curve, want.curve) || !bytes.Equal(got.checkpoint, want.checkpoint) {
						t.Fatalf("after %d kills the curve is the same: %t, the checkpoint: %t", killed, bytes.Equal(got.curve, want.curve), bytes.Equal(got.checkpoint, want.checkpoint))
					}
					if err := os.Remove(filepath.Join(dir, "run")); err != nil { // from the beginning
						t.Fatal(err)
					}
				case cmd.ProcessState.Exited():
					t.Fatalf("after %d kills: %v: %s", killed, err, stderr)
				default:
					if killed++; there == nil {
						late++
					}
				}
			}
			t.Logf("%d kills, %d behind a checkpoint; %d runs came to their end", killed, late, ends)
		})
	}
}
