package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/sanflow/sanflow/examples/internal/cli"
)

// cluster starts a broker, feed, workers and trainer, and returns when the trainer has ended.
func (c *config) cluster(ctx context.Context) (*report, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop, err := c.startBrokers(ctx)
	if err != nil {
		return nil, err
	}
	defer stop()
	var tasks sync.WaitGroup
	defer tasks.Wait()
	defer cancel(nil)
	all, trained := c.roles(), make(chan struct{})
	begin, train := time.Now(), all[0]
	for _, p := range all {
		tasks.Go(func() {
			if err := p.run(ctx); err != nil {
				cancel(err)
			} else if p == train {
				close(trained)
			}
		})
	}
	show(ctx, train, trained)
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	tasks.Wait() // the workers end with the queue, which the trainer has seen the end of
	r, err := c.result(time.Since(begin), train)
	if err != nil {
		return nil, err
	}
	r.add(all...)
	r.add(&process{role: "broker", name: "broker", cpu: cli.CPU()}) // this process
	return r, nil
}

// roles returns the processes of a run: the trainer, the feed, the workers.
func (c *config) roles() (all []*process) {
	child := func(role, name string, more ...string) {
		all = append(all, &process{role: role, name: name, args: append(c.job("-role", role, "-url", c.url, "-dir", c.dir), more...)})
	}
	child("train", "train", "-json", c.trained())
	child("feed", "feed")
	for i := range c.workers {
		child("work", fmt.Sprintf("worker %d", i))
	}
	return all
}

// trained is the file with the report of the trainer.
func (c *config) trained() string { return filepath.Join(c.dir, "train.json") }

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

// show shows the progress of the trainer until it has ended.
func show(ctx context.Context, train *process, trained <-chan struct{}) {
	bar := cli.NewProgress("rows learned from", -1)
	defer bar.Done()
	for {
		select {
		case <-trained:
			return
		case <-ctx.Done():
			return
		case <-time.After(200 * time.Millisecond):
			bar.Set(train.progress())
		}
	}
}

// result reads the report of the trainer.
func (c *config) result(took time.Duration, train *process) (*report, error) {
	b, err := os.ReadFile(c.trained())
	if err != nil {
		return nil, err
	}
	r := &report{config: c}
	if err := json.Unmarshal(b, r); err != nil {
		return nil, err
	}
	r.finish(took)
	if train.earlier != nil {
		r.resumed(*train.earlier)
	}
	return r, nil
}
