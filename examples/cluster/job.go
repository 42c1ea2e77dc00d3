package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/labeling"
	"github.com/sanflow/sanflow/sinks"
	out "github.com/sanflow/sanflow/sinks/jetstream"
	"github.com/sanflow/sanflow/sources"
	in "github.com/sanflow/sanflow/sources/jetstream"
)

// The job, by role:
//
//	feed    source ─▶ graphs                   one message: 32 graphs, or the roots of a chunk
//	work    graphs ─▶ recipe ─▶ fields
//	train   fields ─▶ batch ─▶ model
//
// and alone all of it in one pipeline.

const (
	batch      = 32
	chunk      = 256 // roots of a large graph that are worked on at once, at most
	perMessage = 32  // graphs of a collection
)

// block is how many rows of the stream of fields belong together in later epochs.
func (c *config) block() int {
	if c.large() {
		return 16
	}
	return 1024
}

// every is the time between two checkpoints, which is also how long the broker keeps what
// was learned.
func (c *config) every() time.Duration {
	if c.bound > 0 {
		return 50 * time.Millisecond
	}
	return 200 * time.Millisecond
}

func (c *config) large() bool { return c.graph.Path != "" }

// source returns where the rows come from that are worked on one by one, and, of
// a large graph, its file.
func (c *config) source(ctx context.Context) (src flow.Source, file string, err error) {
	src, file, err = c.once(ctx)
	if c.repeat > 1 {
		src = repeated{src, c.repeat}
	}
	return src, file, err
}

// once returns it without -repeat.
func (c *config) once(ctx context.Context) (src flow.Source, file string, err error) {
	if c.large() {
		if file, err = c.prepare(ctx); err != nil {
			return nil, "", err
		}
		return sources.Chunks{
			Source: sources.Mapped{Path: file},
			Via:    []flow.Operator{operators.Select{}, operators.Chunk{Size: min(chunk, c.graph.Chunk(c.k))}},
		}, file, nil
	}
	if c.data == "" {
		return sources.Families{Graphs: 960, Seed: c.seed, Rows: perMessage}, "", nil
	}
	path, err := cli.Find(ctx, c.data)
	return sources.TU{Path: path}, "", err
}

// recipe returns what makes fields of these rows.
func (c *config) recipe(ctx context.Context, src flow.Source) (operators.Recipe, error) {
	if c.large() {
		return operators.Recipe{operators.Normalize{K: c.k, Distances: 4, Edges: true}}, nil
	}
	bare, err := withoutChannels(ctx, src)
	if err != nil {
		return nil, err
	}
	var r operators.Recipe
	if bare {
		r = append(r, operators.Channel{By: labeling.NormalizedDegree}, operators.Channel{By: labeling.Clustering})
	}
	return append(r, operators.Select{W: c.w}, operators.Assemble{K: c.k}, operators.Normalize{}), nil
}

func (c *config) connection() in.Connection {
	return in.Connection{URL: c.url, Replicas: c.brokers, Logger: logger()}
}

func (c *config) streams() (graphs, fields string) { return c.name + "-graphs", c.name + "-fields" }

// feed publishes the rows.
func (c *config) feed(ctx context.Context) error {
	src, file, err := c.source(ctx)
	if err != nil {
		return err
	}
	graphs, _ := c.streams()
	t, _, err := c.join(ctx, graphs, 0)
	if err != nil {
		return err
	}
	if c.large() {
		rows, err := c.rows(ctx)
		if err != nil {
			return err
		}
		t[termRows] = strconv.FormatInt(rows, 10)
	}
	text, err := t.text()
	if err != nil {
		return err
	}
	p := flow.From(src)
	if !c.large() {
		p = p.Via(operators.Batch{Size: perMessage})
	}
	s, err := watch(ctx, p.To(out.Sink{Connection: c.connection(), Stream: graphs, Queue: true, Graph: file, Recipe: text}), "feed", nil)
	if sent := s.Stages[len(s.Stages)-1].Notes; err == nil && sent["messages"] == 0 && !isChild() {
		fmt.Fprintf(os.Stderr, "nothing was sent: an earlier run has sent these data to the stream %s; %s\n", graphs, c.startOver())
	}
	return err
}

// make makes fields until the queue is done.
func (c *config) make(ctx context.Context) error {
	graphs, fields := c.streams()
	if _, _, err := c.join(ctx, graphs, time.Hour); err != nil {
		return err
	}
	t, _, err := c.join(ctx, fields, 0)
	if err != nil {
		return err
	}
	maps.DeleteFunc(t, func(flag, _ string) bool { // others differ from worker to worker
		return !slices.Contains([]string{"graph", "k", "w", "bound"}, flag)
	})
	text, err := t.text()
	if err != nil {
		return err
	}
	src := in.Source{Connection: c.connection(), Stream: graphs, Durable: "fields", Wait: time.Hour, AckWait: 3 * time.Second, Pending: 8}
	p := flow.From(src)
	if c.large() {
		p = p.Via(in.Attach{Connection: c.connection(), Dir: filepath.Join(c.dir, "graphs")})
	}
	recipe, err := c.recipe(ctx, src)
	if err != nil {
		return err
	}
	_, err = watch(ctx, recipe.Onto(p).To(out.Sink{Connection: c.connection(), Stream: fields, MaxBytes: int64(c.bound) << 20, Recipe: text}), "work", nil)
	return err
}

// train learns from the stream of fields, and compares what it has learned from with what the
// feed has sent.
func (c *config) train(ctx context.Context) (*report, error) {
	graphs, fields := c.streams()
	if _, _, err := c.join(ctx, fields, time.Hour); err != nil {
		return nil, err
	}
	if _, _, err := c.join(ctx, graphs, 0); err != nil {
		return nil, err
	}
	src := in.Source{Connection: c.connection(), Stream: fields, Ordered: true, Wait: time.Hour, Epochs: c.epochs, Seed: c.seed, Block: c.block(), Purge: c.bound > 0}
	r, err := c.learn(ctx, flow.From(src), "train")
	if err != nil {
		return nil, err
	}
	t, sent, err := c.join(ctx, graphs, 0)
	if err != nil {
		return nil, err
	}
	if r.gone = !sent.Ended; !r.gone {
		r.expect(sent.Rows, t.rows())
	}
	return r, nil
}

// alone does everything in one process.
func (c *config) alone(ctx context.Context) (*report, error) {
	begin := time.Now()
	src, _, err := c.source(ctx)
	if err != nil {
		return nil, err
	}
	recipe, err := c.recipe(ctx, src)
	if err != nil {
		return nil, err
	}
	r, err := c.learn(ctx, recipe.Onto(flow.From(src)).Via(operators.Replay{Epochs: c.epochs, Seed: c.seed, Block: c.block(), Rows: batch}), "alone")
	if err != nil {
		return nil, err
	}
	if rows, err := c.rows(ctx); err != nil {
		return nil, err
	} else if rows >= 0 {
		r.expect(0, rows)
	}
	r.finish(time.Since(begin))
	r.resumed(r.before)
	return r, nil
}

// learn ends a pipeline of fields, epoch after epoch, in the model.
func (c *config) learn(ctx context.Context, p flow.Pipeline, role string) (*report, error) {
	begin, tally, net := time.Now(), newAudit(c.large()), &nn.CNN{Seed: c.seed}
	p = p.Via(tally)
	if c.large() {
		p = p.Via(operators.PerRoot{})
	}
	p = p.Via(operators.Batch{Size: batch}).To(sinks.Train{Net: net, OnRow: tally.learned, Checkpoint: sinks.Checkpoint{
		File: c.checkpoint(), Resume: true, Every: c.every(), State: tally.state, Restore: tally.restore,
	}})
	if _, err := watch(ctx, p, role, tally); err != nil {
		return nil, err
	}
	r := &report{Trained: int64(net.Seen()), ModelSHA256: net.Hash(), config: c}
	tally.judge(r, c.epochs)
	r.finish(time.Since(begin))
	if r.before = tally.earlier; c.role == "train" && !isChild() {
		r.resumed(r.before)
	}
	if r.Trained == 0 {
		return nil, errors.New("there was nothing to learn from")
	}
	return r, nil
}
