package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/flow/record/mapped"
)

// cluster starts brokers, feed, workers and trainer, and returns when the trainer
// has ended.
func (c *config) cluster(ctx context.Context) (*report, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	t := &tasks{ctx: ctx, cancel: cancel}
	defer t.Wait()
	defer cancel(nil)
	b, err := c.startBrokers(t)
	if err != nil {
		return nil, err
	}
	defer b.nc.Close()
	rows, err := c.rows(ctx) // a large graph is prepared, which is the same for everybody
	if err != nil {
		return nil, err
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
		t.start(p, func() {
			if p == train {
				close(trained)
			}
		})
	}
	k := &killer{config: c, js: b.js, brokers: b.all, all: all}
	if c.kill > 0 {
		t.Go(func() { k.run(ctx, trained) })
	}
	c.show(ctx, train, feed, rows, trained)
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	r, err := c.collect(ctx, result, b.js, rows)
	if err != nil {
		return nil, err
	}
	r.finish(time.Since(begin))
	cancel(nil)
	t.Wait()
	r.add(b.all, all)
	r.compare(beside)
	if fresh == nil && train.earlier != nil {
		r.resumed(*train.earlier)
	}
	return r, nil
}

// tasks are the processes that run, and what else does.
type tasks struct {
	sync.WaitGroup
	ctx    context.Context
	cancel context.CancelCauseFunc
}

// start keeps a process. What ends it ends everything, unless that is its own end.
func (t *tasks) start(p *process, ended func()) {
	t.Go(func() {
		if err := p.keep(t.ctx); err != nil {
			t.cancel(err)
			return
		}
		ended()
	})
}

// rows returns how many rows there are to learn from in an epoch, or -1 where only the
// feed will tell.
func (c *config) rows(ctx context.Context) (int64, error) {
	if !c.large() {
		return -1, nil
	}
	path, err := c.prepare(ctx)
	if err != nil {
		return -1, err
	}
	f, err := mapped.Open(path)
	if err != nil {
		return -1, err
	}
	defer f.Close()
	nodes := 0
	for i := range f.Len() {
		rec, err := f.Record(i)
		if err != nil {
			return -1, err
		}
		gs, err := record.GraphsOf(rec)
		if err != nil {
			rec.Release()
			return -1, err
		}
		for row := range gs.Len() {
			nodes += gs.Nodes(row)
		}
		rec.Release()
	}
	return int64(nodes) * int64(c.repeat), nil
}

// show shows how far the trainer is.
func (c *config) show(ctx context.Context, train, feed *process, rows int64, trained <-chan struct{}) {
	bar := cli.NewProgress("rows learned from", -1)
	defer bar.Done()
	for {
		select {
		case <-trained:
			return
		case <-ctx.Done():
			return
		case <-time.After(200 * time.Millisecond):
			if n, done := feed.progress(); rows < 0 && done {
				rows = n
			}
			if rows > 0 {
				bar.Total(rows * int64(c.epochs))
			}
			n, _ := train.progress()
			bar.Set(n)
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

// collect reads what the trainer says, and compares it with the feed.
func (c *config) collect(ctx context.Context, result string, js jetstream.JetStream, rows int64) (*report, error) {
	b, err := os.ReadFile(result)
	if err != nil {
		return nil, err
	}
	r := &report{config: c}
	if err := json.Unmarshal(b, r); err != nil {
		return nil, err
	}
	graphs, _ := c.streams()
	sent, err := awaitEnd(ctx, js, graphs)
	if err != nil {
		return nil, err
	}
	r.expect(sent.Rows, rows)
	err = persist(ctx, func(ctx context.Context) error {
		cons, err := js.Consumer(ctx, graphs, "fields")
		if err == nil {
			r.Redelivered = max(0, int64(cons.CachedInfo().Delivered.Consumer)-sent.Messages)
		}
		return err
	})
	return r, err
}

// persist asks the broker until it answers: one that was killed just now may be on its
// way back.
func persist(ctx context.Context, ask func(context.Context) error) error {
	var err error
	for begin := time.Now(); time.Since(begin) < time.Minute && ctx.Err() == nil; {
		try, stop := context.WithTimeout(ctx, 2*time.Second)
		err = ask(try)
		stop()
		if err == nil {
			return nil
		}
		wait(ctx, 200*time.Millisecond)
	}
	return errors.Join(context.Cause(ctx), err)
}

// awaitEnd returns what a stream has had, for which a moment's silence of the broker is
// waited for. That there is no such stream is told sooner.
func awaitEnd(ctx context.Context, js jetstream.JetStream, name string) (e end, err error) {
	missing := 0
	err = persist(ctx, func(ctx context.Context) (err error) {
		e, err = endOf(ctx, js, name)
		if missing++; !errors.Is(err, jetstream.ErrStreamNotFound) {
			missing = 0
		} else if missing > 5 { // a server that has just started may not know yet
			return nil
		}
		return err
	})
	switch {
	case ctx.Err() != nil:
		return e, context.Cause(ctx)
	case missing > 0:
		err = jetstream.ErrStreamNotFound
	}
	if err != nil {
		err = fmt.Errorf("the count of what was sent: stream %s: %w", name, err)
	}
	return e, err
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
