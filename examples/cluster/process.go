package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// process is a child that is started again when it was killed.
type process struct {
	role, name string
	args, env  []string

	mu      sync.Mutex
	cmd     *exec.Cmd // while it runs
	killed  bool      // by us
	done    bool
	starts  int
	kills   int
	cpu     time.Duration
	last    status
	earlier *earlier // that the first run which says so has found
	rows    int64    // of runs that have ended
	best    int64    // of one run; of a trainer, of all
	errText bytes.Buffer
}

// keep runs a process until it ends by itself, or ctx does.
func (p *process) keep(ctx context.Context) error {
	for {
		err := p.once(ctx)
		p.mu.Lock()
		again := p.killed
		p.killed, p.done = false, err == nil && !again
		text := strings.TrimSpace(p.errText.String())
		p.mu.Unlock()
		switch {
		case ctx.Err() != nil:
			return nil
		case again:
			continue
		case err != nil:
			return fmt.Errorf("%s: %w: %s", p.name, err, text)
		}
		return nil
	}
}

func (p *process) once(ctx context.Context) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self, p.args...)
	cmd.Env = append(os.Environ(), append(p.env, childEnv+"=1")...)
	p.errText.Reset()
	cmd.Stderr = &p.errText
	in, err := cmd.StdinPipe() // its end tells the child that we have gone
	if err != nil {
		return err
	}
	defer in.Close()
	lines, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	p.mu.Lock()
	if err := cmd.Start(); err != nil {
		p.mu.Unlock()
		return err
	}
	p.cmd = cmd
	p.starts++
	p.mu.Unlock()
	stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })
	defer stop()
	p.listen(lines)
	err = cmd.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cmd = nil
	p.cpu += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	p.rows, p.last = p.rows+p.last.Rows, status{}
	return err
}

func (p *process) listen(r io.Reader) {
	for s := bufio.NewScanner(r); s.Scan(); {
		var now status
		switch {
		case json.Unmarshal(s.Bytes(), &now) != nil:
		case now.Msg != "":
			fmt.Fprintf(os.Stderr, "%s: %s: %s\n", p.name, now.Msg, now.Error)
		default:
			p.mu.Lock()
			if p.last, p.best = now, max(p.best, now.Rows, now.Learned); p.earlier == nil {
				p.earlier = now.Earlier
			}
			p.mu.Unlock()
		}
	}
}

// kill kills the process, if it runs.
func (p *process) kill() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil || p.killed || p.done {
		return false
	}
	p.killed = true
	p.kills++
	_ = p.cmd.Process.Kill() // SIGKILL
	return true
}

// progress returns the most rows that it has told of in one run, or, as a trainer, in all, and whether it has ended well.
func (p *process) progress() (rows int64, done bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.best, p.done
}

func (p *process) runs() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cmd != nil && !p.killed && !p.done
}
