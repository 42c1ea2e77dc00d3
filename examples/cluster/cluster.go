package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/sanflow/sanflow/examples/internal/cli"
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
	best    int64    // of one run
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
		if json.Unmarshal(s.Bytes(), &now) == nil {
			p.mu.Lock()
			if p.last, p.best = now, max(p.best, now.Rows); p.earlier == nil {
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

func (p *process) runs() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cmd != nil && !p.killed && !p.done
}

// cluster starts brokers, feed, workers and trainer, and returns when the trainer
// has ended.
func (c *config) cluster(ctx context.Context) (*report, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	brokers, url, err := c.servers()
	if err != nil {
		return nil, err
	}
	c.url = url
	var tasks sync.WaitGroup
	defer tasks.Wait()
	defer cancel(nil)
	start := func(p *process, ended func()) {
		tasks.Go(func() {
			if err := p.keep(ctx); err != nil {
				cancel(err)
				return
			}
			ended()
		})
	}
	for _, b := range brokers {
		start(b, func() {})
	}
	nc, err := connect(ctx, url)
	if err != nil {
		return nil, errors.Join(context.Cause(ctx), err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, err
	}
	if err := ready(ctx, js, len(brokers)); err != nil {
		return nil, err
	}
	if c.large() {
		if _, err := c.prepare(ctx); err != nil { // it is the same for everybody
			return nil, err
		}
	}
	beside, err := c.beside(ctx)
	if err != nil {
		return nil, err
	}
	begin := time.Now()
	_, fresh := os.Stat(c.checkpoint())
	result := filepath.Join(c.dir, "train.json")
	feed, train := c.child("feed", 0), c.child("train", 0, "-json", result)
	all := []*process{feed, train}
	for i := range c.workers {
		all = append(all, c.child("work", i))
	}
	trained := make(chan struct{})
	for _, p := range all {
		start(p, func() {
			if p == train {
				close(trained)
			}
		})
	}
	k := &killer{config: c, js: js, brokers: brokers, all: all}
	if c.kill > 0 {
		tasks.Go(func() { k.run(ctx, trained) })
	}
	c.show(ctx, train, feed, trained)
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	r, err := c.collect(ctx, result, feed, js)
	if err != nil {
		return nil, err
	}
	r.finish(time.Since(begin))
	cancel(nil)
	tasks.Wait()
	r.add(brokers, all)
	r.compare(beside)
	if fresh == nil && train.earlier != nil {
		r.resumed(*train.earlier)
	}
	return r, nil
}

// show shows how far the trainer is.
func (c *config) show(ctx context.Context, train, feed *process, trained <-chan struct{}) {
	bar := cli.NewProgress("rows learned from", -1)
	defer bar.Done()
	for {
		select {
		case <-trained:
			return
		case <-ctx.Done():
			return
		case <-time.After(200 * time.Millisecond):
			train.mu.Lock()
			bar.Set(train.best) // a trainer that was killed passes over what it had learned from
			train.mu.Unlock()
		}
	}
}

// beside runs, where that is wished for, the same job in one process, and its fields
// alone.
func (c *config) beside(ctx context.Context) ([]*process, error) {
	if !c.compare {
		return nil, nil
	}
	alone := &process{role: roleAlone, name: "one process", args: c.job("-workers", "0", "-dir", filepath.Join(c.dir, roleAlone))}
	fields := &process{role: roleFields, name: "fields alone", args: c.job("-role", roleFields, "-dir", c.dir)}
	for _, p := range []*process{alone, fields} {
		if err := p.keep(ctx); err != nil {
			return nil, err
		}
	}
	return []*process{alone, fields}, context.Cause(ctx)
}

// child returns a process with a role, and the settings of this one.
func (c *config) child(role string, i int, more ...string) *process {
	name := role
	if role == "work" {
		name = fmt.Sprintf("worker %d", i)
	}
	return &process{role: role, name: name, args: append(c.job("-role", role, "-url", c.url, "-dir", c.dir), more...)}
}

// job returns the flags of the job, and others.
func (c *config) job(more ...string) []string {
	args := []string{
		"-name", c.name, "-brokers", strconv.Itoa(c.brokers), "-epochs", strconv.Itoa(c.epochs),
		"-seed", strconv.FormatUint(c.seed, 10), "-k", strconv.Itoa(c.k), "-w", strconv.Itoa(c.w), "-n", strconv.Itoa(c.graph.N),
		"-repeat", strconv.Itoa(c.repeat), "-bound", strconv.Itoa(c.bound),
	}
	if c.data != "" {
		args = append(args, "-data", c.data)
	}
	if c.large() {
		args = append(args, "-graph", c.graph.Path)
	}
	return append(args, more...)
}

// servers returns the processes of the broker, and its URL.
func (c *config) servers() (all []*process, url string, err error) {
	ports, err := freePorts(2 * c.brokers)
	if err != nil {
		return nil, "", err
	}
	var urls, routes []string
	for i := range c.brokers {
		urls = append(urls, fmt.Sprintf("nats://127.0.0.1:%d", ports[2*i]))
		routes = append(routes, fmt.Sprintf("nats://127.0.0.1:%d", ports[2*i+1]))
	}
	for i := range c.brokers {
		b := brokerSettings{Name: fmt.Sprintf("broker-%d", i), Dir: filepath.Join(c.dir, fmt.Sprintf("broker-%d", i)), Port: ports[2*i]}
		if c.brokers > 1 {
			b.Cluster, b.Routes = ports[2*i+1], routes
		}
		text, err := json.Marshal(b)
		if err != nil {
			return nil, "", err
		}
		all = append(all, &process{role: roleBroker, name: b.Name, args: []string{"-role", roleBroker, "-url", urls[i], "-dir", b.Dir}, env: []string{brokerEnv + "=" + string(text)}})
	}
	return all, strings.Join(urls, ","), nil
}

func freePorts(n int) (ports []int, err error) {
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}

// connect waits for the broker.
func connect(ctx context.Context, url string) (*nats.Conn, error) {
	for begin := time.Now(); ; {
		nc, err := nats.Connect(url, nats.MaxReconnects(-1), nats.ReconnectWait(100*time.Millisecond))
		if err == nil {
			return nc, nil
		}
		if time.Since(begin) > time.Minute || !wait(ctx, 50*time.Millisecond) {
			return nil, err
		}
	}
}

// ready waits until the broker can make streams on all of its servers.
func ready(ctx context.Context, js jetstream.JetStream, servers int) error {
	var err error
	for begin := time.Now(); time.Since(begin) < time.Minute; {
		try, stop := context.WithTimeout(ctx, 2*time.Second)
		_, err = js.CreateOrUpdateStream(try, jetstream.StreamConfig{Name: "ready", Replicas: servers, Storage: jetstream.MemoryStorage})
		if err == nil {
			err = js.DeleteStream(try, "ready")
		}
		stop()
		if err == nil {
			return nil
		}
		if !wait(ctx, 100*time.Millisecond) {
			return context.Cause(ctx)
		}
	}
	return fmt.Errorf("the broker does not come up: %w", err)
}

func wait(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// collect reads what the trainer says, and compares it with the feed.
func (c *config) collect(ctx context.Context, result string, feed *process, js jetstream.JetStream) (*report, error) {
	b, err := os.ReadFile(result)
	if err != nil {
		return nil, err
	}
	r := &report{config: c}
	if err := json.Unmarshal(b, r); err != nil {
		return nil, err
	}
	graphs, _ := c.streams()
	for begin := time.Now(); time.Since(begin) < time.Minute && ctx.Err() == nil; {
		err = func() error { // a broker that was killed just now may be on its way back
			ask, stop := context.WithTimeout(ctx, 2*time.Second)
			defer stop()
			sent, err := endOf(ask, js, graphs)
			if err != nil {
				return err
			}
			cons, err := js.Consumer(ask, graphs, "fields")
			if err != nil {
				return err
			}
			r.Lost += max(0, sent.Rows-r.Positions)
			r.Redelivered = max(0, int64(cons.CachedInfo().Delivered.Consumer)-sent.Messages)
			return nil
		}()
		if err == nil {
			return r, nil
		}
		wait(ctx, 200*time.Millisecond)
	}
	return nil, errors.Join(context.Cause(ctx), fmt.Errorf("the count of what was sent: %w", err))
}

// end is the mark of the end of a stream.
type end struct{ Messages, Rows int64 }

func endOf(ctx context.Context, js jetstream.JetStream, name string) (e end, err error) {
	s, err := js.Stream(ctx, name)
	if err != nil {
		return e, err
	}
	m, err := s.GetLastMsgForSubject(ctx, name+".end")
	if err != nil {
		return e, err
	}
	return e, json.Unmarshal([]byte(m.Header.Get("Sanflow-Sum")), &e)
}

// add adds what became of the processes.
func (r *report) add(brokers, all []*process) {
	r.CPU = map[string]float64{}
	for _, p := range append(append([]*process{}, all...), brokers...) {
		r.CPU[p.role] += p.cpu.Seconds()
		r.Kills += p.kills
		r.roles = append(r.roles, roleLine{p.name, p.starts, p.kills, p.cpu, p.rows})
	}
}
