package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/sinks"
)

// childEnv is set for processes that this command starts.
const childEnv = "SANFLOW_CLUSTER_CHILD"

func isChild() bool { return os.Getenv(childEnv) != "" }

// asked is set in a process by a byte from its parent, which wants a report for its page.
var asked atomic.Bool

// withParent returns a context that ends with the parent, whose end closes the
// standard input.
func withParent(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, stop := context.WithCancel(ctx)
	go func() {
		for b := make([]byte, 1); ; asked.Store(true) {
			if _, err := os.Stdin.Read(b); err != nil {
				stop()
				return
			}
		}
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

	Stats *flow.Stats     `json:"stats,omitempty"` // for the page of the parent; no row is refused here
	Model *sinks.Learning `json:"model,omitempty"` // that the last stage reports, where the parent has asked
}

// line is the status as JSON. It lacks a model whose numbers JSON does not have.
func (s status) line() string {
	b, err := json.Marshal(s)
	if err != nil {
		s.Model = nil
		b, _ = json.Marshal(s) // plain numbers
	}
	return string(b)
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
	tell := func(s flow.Stats, full bool) {
		if len(s.Stages) == 0 {
			return
		}
		first, last := s.Stages[0], s.Stages[len(s.Stages)-1]
		bar.Set(last.RowsIn)
		if !isChild() {
			return
		}
		now := status{Rows: last.RowsIn, Again: first.Notes["redelivered"], Learned: tally.rows()}
		wanted := asked.Swap(false)
		if full || wanted {
			now.Stats = &s
		}
		if wanted {
			all := running.Report()
			if l, ok := all[len(all)-1].(sinks.Learning); ok && len(l.Classes) <= 1000 {
				now.Model = &l
			}
		}
		fmt.Println(now.line())
	}
	cli.Watch(running, func(s flow.Stats) {
		told++
		tell(s, told%5 == 0)
	})
	err := running.Wait()
	s := running.Stats()
	tell(s, true)
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
	ask     chan struct{}   // of that run: the page wants a report
	model   *sinks.Learning // the report
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
	ask := make(chan struct{}, 1)
	p.mu.Lock()
	p.stats, p.model, p.ask = flow.Stats{Done: -1, Read: -1}, nil, ask
	p.mu.Unlock()
	go func() {
		for range ask {
			_, _ = in.Write([]byte{1}) // a process that has gone hears nothing
		}
	}()
	ended := flow.Announce(ctx, p)
	p.listen(lines)
	err = cmd.Wait()
	ended(err)
	p.mu.Lock()
	p.ask = nil
	p.mu.Unlock()
	close(ask)
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
				p.stats = *now.Stats
			}
			p.model = cmp.Or(now.Model, p.model)
			if p.last, p.best = now, max(p.best, now.Rows, now.Learned); p.earlier == nil {
				p.earlier = now.Earlier
			}
			p.mu.Unlock()
		}
	}
}

// String, Stats and Report supply the page of the process.
func (p *process) String() string { return p.name }

func (p *process) Stats() flow.Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stats
}

func (p *process) Report() []any {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case p.ask <- struct{}{}:
	default: // it was asked already, or has ended
	}
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
