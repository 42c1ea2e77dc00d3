package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/sinks"
)

// childEnv is set for processes that this command starts.
const childEnv = "SANFLOW_CLUSTER_CHILD"

func isChild() bool { return os.Getenv(childEnv) != "" }

// liveEnv is set for processes whose runs the parent shows on a page.
const liveEnv = "SANFLOW_CLUSTER_LIVE"

// withParent returns a context that ends with the parent, whose end closes the
// standard input.
func withParent(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, stop := context.WithCancel(ctx)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	return ctx, stop
}

// status is a line that a child writes to its parent.
type status struct {
	Rows    int64    `json:"rows"`
	Again   int64    `json:"again,omitempty"`   // messages of a worker that were delivered before
	Learned int64    `json:"learned,omitempty"` // rows that the model of a trainer has learned from, in this run and before
	Earlier *earlier `json:"earlier,omitempty"` // what a trainer that resumes has found, once
	Msg     string   `json:"msg,omitempty"`     // of a line of its log
	Error   string   `json:"error,omitempty"`

	Stats *flow.Stats     `json:"stats,omitempty"` // for the page of the parent, without letters
	Model *sinks.Learning `json:"model,omitempty"` // that the last stage reports
}

// shown adds what the page of the parent shows.
func (s *status) shown(running *flow.Running, stats flow.Stats) {
	for i := range stats.Stages {
		stats.Stages[i].Letters = nil
	}
	s.Stats = &stats
	all := running.Report()
	if l, ok := all[len(all)-1].(sinks.Learning); ok && len(l.Classes) <= 1000 && !math.IsNaN(l.Sample.Loss) {
		s.Model = &l
	}
}

// logger logs what the broker does not do: a child to its parent, a line of JSON each.
func logger() *slog.Logger {
	warnings := &slog.HandlerOptions{Level: slog.LevelWarn}
	if isChild() {
		return slog.New(slog.NewJSONHandler(os.Stdout, warnings))
	}
	return slog.New(slog.NewTextHandler(os.Stderr, warnings))
}

// watch runs a pipeline, and shows its progress, or tells the parent. tally is that of a
// trainer, or nil.
func watch(ctx context.Context, p flow.Pipeline, role string, tally *audit) (flow.Stats, error) {
	running := p.Start(ctx)
	bar, told := cli.NewProgress(role+": rows", -1), 0
	tell := func(s flow.Stats) {
		if len(s.Stages) == 0 {
			return
		}
		first, last := s.Stages[0], s.Stages[len(s.Stages)-1]
		bar.Set(last.RowsIn)
		if isChild() {
			now := status{Rows: last.RowsIn, Again: first.Notes["redelivered"], Learned: tally.rows()}
			if told++; told%5 == 0 && os.Getenv(liveEnv) != "" {
				now.shown(running, s)
			}
			b, _ := json.Marshal(now) // plain numbers
			fmt.Println(string(b))
		}
	}
	cli.Watch(running, tell)
	err := running.Wait()
	s := running.Stats()
	tell(s)
	bar.Done()
	return s, err
}

// process is a role that runs in a process of its own.
type process struct {
	role, name string
	args, env  []string

	mu      sync.Mutex
	last    status // of the run that is under way
	stats   flow.Stats
	model   *sinks.Learning // since the page has asked
	cpu     time.Duration
	rows    int64 // of runs that have ended, as again
	again   int64
	best    int64    // the most rows that one run has told of; of a trainer, all
	earlier *earlier // that the first run which says so has found
}

// run runs the process once, until it ends or ctx does. The error has what it wrote to its
// standard error.
func (p *process) run(ctx context.Context) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	var text bytes.Buffer
	cmd := exec.CommandContext(ctx, self, p.args...)
	cmd.Env, cmd.Stderr = append(os.Environ(), append(p.env, childEnv+"=1")...), &text
	in, err := cmd.StdinPipe() // its end tells the child that this process has gone
	if err != nil {
		return err
	}
	defer in.Close()
	lines, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := flow.Announce(ctx, p)
	p.listen(lines)
	err = cmd.Wait()
	ended(err)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cpu += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	p.rows, p.again, p.last = p.rows+p.last.Rows, p.again+p.last.Again, status{}
	if err != nil {
		err = fmt.Errorf("%s: %w: %s", p.name, err, strings.TrimSpace(text.String()))
	}
	return err
}

func (p *process) listen(r io.Reader) {
	s := bufio.NewScanner(r)
	s.Buffer(nil, 1<<22)
	for s.Scan() {
		var now status
		switch {
		case json.Unmarshal(s.Bytes(), &now) != nil:
		case now.Msg != "":
			fmt.Fprintf(os.Stderr, "%s: %s: %s\n", p.name, now.Msg, now.Error)
		default:
			p.mu.Lock()
			if now.Stats != nil {
				p.stats, p.model = *now.Stats, now.Model
			}
			if p.last, p.best = now, max(p.best, now.Rows, now.Learned); p.earlier == nil {
				p.earlier = now.Earlier
			}
			p.mu.Unlock()
		}
	}
}

// String, Stats and Report are what the page shows of the process.
func (p *process) String() string { return p.name }

func (p *process) Stats() flow.Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stats
}

func (p *process) Report() []any {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := make([]any, len(p.stats.Stages))
	if p.model != nil && len(all) > 0 {
		all[len(all)-1], p.model = *p.model, nil
	}
	return all
}

// progress returns the most rows that one run has told of, or, of a trainer, all.
func (p *process) progress() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.best
}
