package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/examples/internal/clitest"
	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/part"
)

// Processes of a test are this binary: the command, or a broker.
const (
	commandEnv = "SANFLOW_CLUSTER_COMMAND"
	brokerEnv  = "SANFLOW_CLUSTER_BROKER" // port and directory
)

// With flags that are not of package testing the binary is a command: the cluster with -kill.
func TestMain(m *testing.M) {
	switch {
	case os.Getenv(brokerEnv) != "":
		cli.Main("broker", broker)
	case os.Getenv(commandEnv) != "" || os.Getenv(childEnv) != "":
		cli.Main("cluster", run)
	case len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-test."):
		cli.Main("cluster", func(ctx context.Context, args []string) error { return kill(ctx, args) })
	default:
		clitest.Main(m)
	}
}

// broker is a server until it is killed.
func broker(ctx context.Context, _ []string) error {
	port, dir, _ := strings.Cut(os.Getenv(brokerEnv), " ")
	n, err := strconv.Atoi(port)
	if err != nil {
		return err
	}
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: n, JetStream: true, StoreDir: dir, NoLog: true, NoSigs: true})
	if err != nil {
		return err
	}
	s.Start()
	<-ctx.Done()
	s.Shutdown()
	return nil
}

// harness is a cluster whose broker, trainer and workers are processes that are killed.
type harness struct {
	*config
	every time.Duration
	seed  uint64
	port  int

	mu      sync.Mutex
	running map[string]*exec.Cmd
	kills   int
	damaged int
}

// kill is the command with -kill.
func kill(ctx context.Context, args []string) error {
	h := &harness{config: &config{}, running: map[string]*exec.Cmd{}}
	f := h.flags()
	h.killFlag(f)
	if err := cli.Parse(f, args); err != nil {
		return err
	}
	if h.workers == 0 || h.role != "" {
		return errors.New("there are no processes to kill")
	}
	r, err := h.run(ctx)
	if err != nil {
		return err
	}
	fmt.Printf("%d kills, %d parts damaged\n", r.Kills, h.damaged)
	r.print(os.Stdout)
	files, err := cli.CreateAll(h.json)
	if err != nil {
		return err
	}
	defer files.Cleanup()
	return errors.Join(files.JSON(h.json, r), r.err())
}

func (h *harness) killFlag(f *flag.FlagSet) {
	f.DurationVar(&h.every, "kill", 0, "mean time between two kills; it grows while nothing is made or learned; 0 = no kills")
}

// run runs the processes until the trainer has ended.
func (h *harness) run(ctx context.Context) (r *report, err error) {
	if h.dir == "" {
		if h.dir, err = os.MkdirTemp("", "cluster"); err != nil {
			return nil, err
		}
		defer os.RemoveAll(h.dir)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	h.port = l.Addr().(*net.TCPAddr).Port
	l.Close()
	h.nats = fmt.Sprintf("nats://127.0.0.1:%d", h.port)
	if _, _, err := h.input(ctx); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	var group sync.WaitGroup
	defer group.Wait()
	defer cancel(nil)
	result := filepath.Join(h.dir, "result.json")
	start := func(name string, env []string, args ...string) {
		group.Go(func() {
			for ctx.Err() == nil {
				if h.once(ctx, cancel, name, env, args) && name != "broker" {
					break
				}
			}
			if name == "train" {
				cancel(nil)
			}
		})
	}
	start("broker", []string{fmt.Sprintf("%s=%d %s", brokerEnv, h.port, filepath.Join(h.dir, "broker"))})
	start("train", []string{commandEnv + "=1"}, append(h.args("train"), "-json", result)...)
	for i := range h.workers {
		start(fmt.Sprint("work ", i), []string{commandEnv + "=1"}, h.args("work")...)
	}
	begin := time.Now()
	h.killAll(ctx)
	group.Wait()
	if err := context.Cause(ctx); err != nil && !errors.Is(err, context.Canceled) {
		return nil, err
	}
	text, err := os.ReadFile(result)
	if err != nil {
		return nil, err
	}
	r = &report{}
	if err := json.Unmarshal(text, r); err != nil {
		return nil, err
	}
	r.Workers, r.Kills, r.Seconds = h.workers, h.kills, time.Since(begin).Seconds()
	r.FieldsPerS = float64(r.Fields) / r.Seconds
	return r, nil
}

// once runs a process, and reports whether it ended by itself.
func (h *harness) once(ctx context.Context, cancel context.CancelCauseFunc, name string, env, args []string) bool {
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	var text strings.Builder
	cmd.Env, cmd.Stderr = append(os.Environ(), env...), &text
	h.mu.Lock()
	err := cmd.Start()
	if err == nil {
		h.running[name] = cmd
	}
	h.mu.Unlock()
	if err == nil {
		err = cmd.Wait()
	}
	h.mu.Lock()
	delete(h.running, name)
	h.mu.Unlock()
	if e := new(exec.ExitError); errors.As(err, &e) && !e.Exited() {
		return false // killed
	}
	if err != nil && name != "broker" && ctx.Err() == nil {
		cancel(fmt.Errorf("%s: %w: %s", name, err, strings.TrimSpace(text.String())))
	}
	return true
}

// killAll kills processes, and damages parts, until ctx ends: one process when the first runs, one when the first part is done, and
// then at moments that the seed draws.
func (h *harness) killAll(ctx context.Context) {
	rng, slower, was := rand.New(rand.NewPCG(h.seed, 1)), 1.0, ""
	begun := h.progress()
	for ctx.Err() == nil {
		pause := time.Hour
		if h.every > 0 {
			pause = time.Duration(float64(h.every) * slower * rng.ExpFloat64())
			if h.kills == 0 || h.kills == 1 && h.progress() == begun {
				pause = time.Millisecond // the first kill follows a start, the second a part: a fast machine ends before a mean pause
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		if now := h.progress(); now == was {
			slower = min(1.3*slower, 100)
		} else {
			was, slower = now, 1
		}
		if h.kills == 1 && h.progress() == begun {
			continue
		}
		h.mu.Lock()
		var names []string
		for name := range h.running {
			names = append(names, name)
		}
		if len(names) > 0 && ctx.Err() == nil {
			h.running[names[rng.IntN(len(names))]].Process.Kill()
			h.kills++
		}
		h.mu.Unlock()
		if h.kills%7 == 3 {
			h.damage(rng)
		}
	}
}

// progress is what changes while parts are made or learned from.
func (h *harness) progress() string {
	parts, _ := filepath.Glob(filepath.Join(h.dir, "fields", "_done-*"))
	info, err := os.Stat(filepath.Join(h.dir, "checkpoint"))
	if err != nil {
		return fmt.Sprint(len(parts))
	}
	return fmt.Sprint(len(parts), info.ModTime())
}

// damage cuts a part or changes a bit of it.
func (h *harness) damage(rng *rand.Rand) {
	parts, _ := filepath.Glob(filepath.Join(h.dir, "fields", "part-*"))
	if len(parts) == 0 {
		return
	}
	path := parts[rng.IntN(len(parts))]
	b, err := os.ReadFile(path)
	if err != nil || len(b) == 0 {
		return
	}
	if rng.IntN(2) == 0 {
		b = b[:rng.IntN(len(b))]
	} else {
		b[rng.IntN(len(b))] ^= 1 << rng.IntN(8)
	}
	if os.WriteFile(path, b, 0o644) == nil {
		h.damaged++
	}
}

// small are the flags of a small job.
func small(t *testing.T, more ...string) *config {
	t.Helper()
	c := &config{}
	if err := cli.Parse(c.flags(), append([]string{"-k", "4", "-w", "5", "-parts", "9", "-dir", t.TempDir(), "-ackwait", "500ms"}, more...)); err != nil {
		t.Fatal(err)
	}
	return c
}

// One process, many, and many that are killed make one model, and next to nothing passes through the
// broker.
func TestCluster(t *testing.T) {
	clitest.Silence(t)
	one, err := small(t).alone(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	many, err := small(t, "-workers", "2").cluster(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	h := &harness{config: small(t, "-workers", "2"), every: 100 * time.Millisecond, running: map[string]*exec.Cmd{}}
	killed, err := h.run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []*report{one, many, killed} {
		if r.ModelSHA256 != one.ModelSHA256 || r.Lost != 0 || r.Duplicates != 0 || r.Trained != 960*2 {
			t.Errorf("%+v, want the model %s", r, one.ModelSHA256)
		}
	}
	if killed.Kills == 0 {
		t.Error("nothing was killed")
	}
	if many.BrokerBytes == 0 {
		t.Errorf("%d bytes through the broker", many.BrokerBytes)
	}
}

// A part that fails each time becomes a dead letter, which ends the training.
func TestDeadLetter(t *testing.T) {
	clitest.Silence(t)
	c := small(t, "-tries", "3")
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	defer func() { s.Shutdown(); s.WaitForShutdown() }()
	if !s.ReadyForConnections(10 * time.Second) {
		t.Fatal("the broker cannot listen")
	}
	c.nats = s.ClientURL()
	job, err := c.job(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := job.Begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	q, err := c.connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	broken, pipeline := errors.New("broken"), job.Pipeline
	job.Pipeline = func(in part.Input) flow.Pipeline {
		if in.From == job.Plan.Parts[4].From {
			return flow.From(part.Rows{}) // fails in Open
		}
		return pipeline(in)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = q.serve(ctx, job)
	}()
	_, err = c.train(ctx)
	cancel(broken)
	<-done
	if err == nil || !strings.Contains(err.Error(), "dead letter: part 4 failed 3 times: part 4: rows: part: Rows: no Source") {
		t.Errorf("%v, want a dead letter", err)
	}
	if n, err := q.consumer.Info(t.Context()); err != nil || n.NumAckPending > 1 {
		t.Errorf("%v are not acknowledged, %v", n, err)
	}
}

// Wrong command lines are refused in one line.
func TestFlags(t *testing.T) {
	for want, args := range map[string][]string{
		"belong together": {"-nats", "nats://localhost:1"}, "want work or train": {"-nats", "nats://localhost:1", "-role", "feed", "-dir", t.TempDir()},
		"-workers is -1": {"-workers", "-1"}, "nowhere.zip": {"-workers", "0", "-data", "nowhere.zip"},
	} {
		if err := run(t.Context(), args); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v: %v, want %q", args, err, want)
		}
	}
}
