package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/file"
	"github.com/sanflow/sanflow/flow/manifest"
	"github.com/sanflow/sanflow/flow/part"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources/parquet"
)

// childEnv is set for a process that ends with its parent.
const childEnv = "SANFLOW_CLUSTER_CHILD"

// cluster runs the broker and the trainer in this process, and workers in processes of their own.
func (c *config) cluster(ctx context.Context) (*report, error) {
	broker, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: filepath.Join(c.dir, "broker"), NoLog: true, NoSigs: true})
	if err != nil {
		return nil, fmt.Errorf("the broker: %w", err)
	}
	broker.Start()
	defer func() { broker.Shutdown(); broker.WaitForShutdown() }()
	if !broker.ReadyForConnections(10 * time.Second) {
		return nil, errors.New("the broker cannot listen")
	}
	c.nats = broker.ClientURL()
	if _, _, err := c.input(ctx); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	ended := make(chan error, c.workers)
	for i := range c.workers {
		go func() {
			err := c.worker(ctx).Run()
			if err != nil {
				err = fmt.Errorf("worker %d: %w", i, err)
				cancel(err)
			}
			ended <- err
		}()
	}
	r, err := c.train(ctx)
	if err != nil {
		cancel(err)
	}
	for range c.workers {
		err = errors.Join(err, <-ended)
	}
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	cancel(nil)
	if err != nil {
		return nil, err
	}
	if v, err := broker.Varz(nil); err == nil {
		r.BrokerBytes = v.InBytes + v.OutBytes
	}
	r.Workers = c.workers
	return r, nil
}

// worker returns the command of a worker process.
func (c *config) worker(ctx context.Context) *exec.Cmd {
	self, err := os.Executable()
	if err != nil {
		self = os.Args[0]
	}
	cmd := exec.CommandContext(ctx, self, c.args("work")...)
	cmd.Env, cmd.Stderr = append(os.Environ(), childEnv+"=1"), os.Stderr
	_, _ = cmd.StdinPipe() // the child ends when the pipe is closed
	return cmd
}

// args are the flags of a process with a role.
func (c *config) args(role string) []string {
	return []string{
		"-role", role, "-nats", c.nats, "-name", c.name, "-dir", c.dir, "-data", c.data, "-k", strconv.Itoa(c.k), "-w", strconv.Itoa(c.w),
		"-parts", strconv.Itoa(c.parts), "-epochs", strconv.Itoa(c.epochs), "-repeat", strconv.Itoa(c.repeat),
		"-seed", strconv.FormatUint(c.seed, 10), "-ackwait", c.ackWait.String(), "-tries", strconv.Itoa(c.tries),
	}
}

// withParent returns a context that ends with the process that started this one.
func withParent(ctx context.Context) context.Context {
	if os.Getenv(childEnv) == "" {
		return ctx
	}
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel(errors.New("the process that started this one is gone"))
	}()
	return ctx
}

// work makes parts until all exist.
func (c *config) work(ctx context.Context) error {
	job, err := c.job(ctx)
	if err != nil {
		return err
	}
	if err := job.Begin(ctx); err != nil {
		return err
	}
	q, err := c.connect(ctx)
	if err != nil {
		return err
	}
	defer q.Close()
	return q.serve(ctx, job)
}

// alone makes all parts and learns from them.
func (c *config) alone(ctx context.Context) (*report, error) {
	begin := time.Now()
	job, err := c.job(ctx)
	if err != nil {
		return nil, err
	}
	bar := cli.NewProgress("parts", int64(len(job.Plan.Parts)))
	err = job.Run(ctx, part.Shard{}, func(i int, _ manifest.File, _ bool) { bar.Set(int64(i) + 1) })
	bar.Done()
	if err != nil {
		return nil, err
	}
	return c.learn(ctx, job, nil, begin)
}

// train queues the numbers of absent parts, and learns from the parts as they are published.
func (c *config) train(ctx context.Context) (*report, error) {
	begin := time.Now()
	job, err := c.job(ctx)
	if err != nil {
		return nil, err
	}
	if err := job.Begin(ctx); err != nil {
		return nil, err
	}
	q, err := c.connect(ctx)
	if err != nil {
		return nil, err
	}
	defer q.Close()
	digest := job.Plan.Digest()
	absent, err := job.Absent(ctx)
	if err != nil {
		return nil, err
	}
	for _, i := range absent {
		if err := q.offer(ctx, i, fmt.Sprintf("%s-%d", digest, i)); err != nil {
			return nil, err
		}
	}
	offered := map[int]time.Time{}
	return c.learn(ctx, job, func(ctx context.Context, i int, why error) error {
		if errors.Is(why, part.ErrDamaged) {
			fmt.Fprintf(os.Stderr, "%v: it is made again\n", why)
			_, err := job.Do(ctx, i)
			if errors.Is(err, file.ErrHeld) {
				return nil // a worker makes the part now
			}
			return err
		}
		// A broker that lost its disk has lost the number too.
		if at, ok := offered[i]; !ok {
			offered[i] = time.Now()
		} else if time.Since(at) > 10*c.ackWait {
			offered[i] = time.Now()
			return q.offer(ctx, i, fmt.Sprintf("%s-%d-%d", digest, i, time.Now().UnixNano()))
		}
		return q.dead(ctx)
	}, begin)
}

// learn learns from the parts in the order of their numbers.
func (c *config) learn(ctx context.Context, job *part.Job, missing func(context.Context, int, error) error, begin time.Time) (*report, error) {
	net, seen := &nn.CNN{Seed: c.seed}, counts{}
	rows, times := job.Plan.Parts[len(job.Plan.Parts)-1].To, c.epochs*c.repeat
	src := part.Source{
		Plan: job.Plan, From: job.Out, Epochs: c.epochs, Seed: c.seed, Missing: missing,
		Read: func(o file.Object) flow.Source { return parquet.Source{ReaderAt: o, Size: o.Size()} },
	}
	_, err := cli.Run(ctx, flow.From(src).Via(operators.Batch{Size: 32}).To(sinks.Train{
		Net: net, OnRow: seen.add,
		Checkpoint: sinks.Checkpoint{File: filepath.Join(c.dir, "checkpoint"), Resume: true, Every: 200 * time.Millisecond, State: seen.state, Restore: seen.restore},
	}), "learning", rows*int64(times), cli.Last)
	if err != nil {
		return nil, err
	}
	r := &report{Trained: int64(net.Seen()), ModelSHA256: net.Hash(), Parts: len(job.Plan.Parts)}
	r.Lost, r.Duplicates = seen.judge(rows, times)
	m, err := job.Finish(ctx)
	if err != nil {
		return nil, err
	}
	r.PartBytes, r.Fields = m.Bytes, m.Rows*int64(c.w)
	r.Seconds = time.Since(begin).Seconds()
	r.FieldsPerS = float64(r.Fields) / r.Seconds
	return r, nil
}

// counts is the number of times that each position was learned from. The checkpoint stores it.
type counts struct{ of []int32 }

func (c *counts) add(row sinks.Prediction) error {
	for int64(len(c.of)) <= row.Pos {
		c.of = append(c.of, 0)
	}
	c.of[row.Pos]++
	return nil
}

func (c *counts) state() (string, error) {
	b, err := json.Marshal(c.of)
	return string(b), err
}

func (c *counts) restore(text string) error { return json.Unmarshal([]byte(text), &c.of) }

// judge returns the number of missing and of repeated trainings of rows. Each row is learned from times
// times.
func (c *counts) judge(rows int64, times int) (lost, twice int64) {
	of := slices.Concat(c.of, make([]int32, max(0, rows-int64(len(c.of)))))
	for i, n := range of {
		want := int64(0)
		if int64(i) < rows {
			want = int64(times)
		}
		lost, twice = lost+max(want-int64(n), 0), twice+max(int64(n)-want, 0)
	}
	return lost, twice
}

// report is the JSON object of -json.
type report struct {
	Workers     int     `json:"workers"`
	Parts       int     `json:"parts"`
	Fields      int64   `json:"fields"` // with the zero fields of small graphs
	FieldsPerS  float64 `json:"fields_per_s"`
	Seconds     float64 `json:"seconds"`
	Duplicates  int64   `json:"duplicates"` // of Trained, repetitions of a row in an epoch
	Lost        int64   `json:"lost"`       // missing in Trained
	Trained     int64   `json:"trained"`    // rows, counted in each epoch
	Kills       int     `json:"kills"`      // by the test
	PartBytes   int64   `json:"part_bytes"`
	BrokerBytes int64   `json:"broker_bytes"` // to and from a broker in this process
	ModelSHA256 string  `json:"model_sha256"`
}

func (r *report) err() error {
	if r.Lost > 0 || r.Duplicates > 0 {
		return fmt.Errorf("%d rows were never learned from, %d twice: the model is not that of one process", r.Lost, r.Duplicates)
	}
	return nil
}

func (r *report) print(w io.Writer) {
	var b strings.Builder
	fmt.Fprintf(&b, "%d fields in %.1f s, %.0f a second; %d parts of %.1f MB", r.Fields, r.Seconds, r.FieldsPerS, r.Parts, float64(r.PartBytes)/1e6)
	if r.BrokerBytes > 0 {
		fmt.Fprintf(&b, ", %d kB through the broker", r.BrokerBytes/1000)
	}
	fmt.Fprintf(&b, "\n%d rows learned from, %d lost, %d twice\nmodel %s\n", r.Trained, r.Lost, r.Duplicates, r.ModelSHA256)
	_, _ = io.WriteString(w, b.String())
}
