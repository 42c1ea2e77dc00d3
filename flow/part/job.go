// Package part divides a large piece of work into parts: one part of the input becomes one file of
// the output.
//
// A [Plan] lists the parts. [Job.Do] makes one of them: it runs a pipeline over a part of the input
// and publishes one file, named by its number. A part is absent or whole, and a part that is made
// twice has the same bytes. So any program can do the work, on any number of machines, in any
// order, and a retry is harmless:
//
//	job := part.Job{
//		Plan: part.Plan{Recipe: fmt.Sprint(recipe), Input: digest, Parts: part.Cut(rows, 64)},
//		Out:  file.Dir{Path: "fields"},
//		Pipeline: func(in part.Input) flow.Pipeline {
//			return recipe.Onto(flow.From(part.Rows{Source: src, Input: in}))
//		},
//		Sink: func(w io.Writer) flow.Sink { return parquet.Sink{W: w} },
//	}
//	err := job.Run(ctx, part.Shard{}, nil) // all parts; Shard{I: 3, N: 8} is one of eight array jobs
//
// # Files
//
// The output is a [file.Bucket], such as a directory:
//
//	_plan.json          the plan; the first run writes it
//	part-00007.parquet  a part, when it is whole
//	_done-00007.json    its rows, bytes and SHA-256, written after the part
//	manifest.json       all parts (package manifest), written by the run that finds all of them
//
// A part without its _done file is absent: the next run makes it again. A bucket that has a
// manifest is complete, and is read like the output of any sink.
//
// # Promises
//
//   - The bytes of the output do not depend on which process makes which part, on kills, on repeats, or on the
//     order. TestKilled TestTwoRuns
//   - A part that is cut or changed is noticed by its digest, and the next run makes only that
//     part. TestDamage
//   - A plan of another version, recipe or input is refused in one line, and nothing is overwritten.
//     TestOtherPlan
//   - [Source] reads the parts in the order of their numbers, each once it is there, so a model that
//     learns from them has the bytes of one process. TestSource
package part

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/file"
	"github.com/sanflow/sanflow/flow/manifest"
)

// ErrAbsent is the error of a part that is not there yet, ErrDamaged that of a part whose bytes are
// not those of its digest. A run makes both.
var (
	ErrAbsent  = errors.New("the part is absent")
	ErrDamaged = errors.New("the part is damaged")
)

// Job makes the parts of a plan. Run does everything. A program that distributes the numbers of parts
// itself calls Begin once, then Do, and Finish. Do, Check and Finish may be called by many goroutines
// and processes at once.
type Job struct {
	Plan Plan
	// Out holds the parts.
	Out file.Bucket
	// Pipeline returns the pipeline of a part, without its sink. Its rows are a pure function of the
	// plan and the part.
	Pipeline func(in Input) flow.Pipeline
	// Sink writes one file to w, such as parquet.Sink{W: w} and ipc.Sink{W: w}.
	Sink func(w io.Writer) flow.Sink

	once sync.Once
	sum  string
}

// digest returns the digest of the plan. It is computed once, since a plan may have 100 000 parts.
func (j *Job) digest() string {
	j.once.Do(func() { j.sum = j.Plan.Digest() })
	return j.sum
}

// done is the side file of a part: the digest of the plan and a manifest of the part.
type done struct {
	Plan string `json:"plan"`
	manifest.Manifest
}

// Begin checks the plan and writes it, if the bucket has none. A bucket with another plan, or with
// parts and no plan, is refused.
func (j *Job) Begin(ctx context.Context) error {
	if err := j.Plan.setDefaults(); err != nil {
		return fmt.Errorf("part: %s: %w", j.Out, err)
	}
	there, err := readPlan(ctx, j.Out)
	if absent(err) {
		if err = j.writePlan(ctx); err == nil {
			there, err = readPlan(ctx, j.Out) // another run may have written its plan first
		}
	}
	if err != nil {
		return err
	}
	if err := j.Plan.differs(&there); err != nil {
		return fmt.Errorf("part: %s: %w", j.Out, err)
	}
	return nil
}

// writePlan writes the plan into a bucket that has no parts.
func (j *Job) writePlan(ctx context.Context) error {
	for _, prefix := range []string{"part-", manifest.Name} {
		names, err := j.Out.List(ctx, prefix)
		if err != nil && !absent(err) {
			return err
		}
		if len(names) > 0 {
			return fmt.Errorf("part: %s: it holds %s, which is of no plan: name another place, or remove it", j.Out, names[0])
		}
	}
	return putJSON(ctx, j.Out, manifest.Plan, j.Plan)
}

// Do makes part i and publishes it, whether it is there or not. The bytes are those of every other
// run. ErrHeld: another run is making the part in the same directory now.
func (j *Job) Do(ctx context.Context, i int) (manifest.File, error) {
	f := manifest.File{Name: j.Plan.name(i)}
	sum, bytes := sha256.New(), counter(0)
	d := done{Plan: j.digest()}
	err := file.Put(ctx, j.Out, f.Name, func(w io.Writer) error {
		s := &counted{Sink: j.Sink(io.MultiWriter(w, sum, &bytes))}
		if err := j.Pipeline(j.Plan.Parts[i]).To(s).Run(ctx); err != nil {
			return err
		}
		f.Rows, d.Manifest = s.rows, *manifest.New(s.schema)
		return nil
	})
	if err != nil {
		return f, fmt.Errorf("part %d: %w", i, err)
	}
	f.Bytes, f.SHA256 = int64(bytes), hex.EncodeToString(sum.Sum(nil))
	d.Add(f)
	return f, putJSON(ctx, j.Out, j.Plan.done(i), d)
}

// Check reads part i and compares it with its digest. O(bytes). The error of a part that a run
// would make wraps ErrAbsent or ErrDamaged.
func (j *Job) Check(ctx context.Context, i int) (manifest.File, error) {
	d, err := j.doneOf(ctx, i)
	if err != nil {
		return manifest.File{}, err
	}
	o, err := j.open(ctx, d)
	if err == nil {
		err = o.Close()
	}
	if err != nil {
		return d.Files[0], fmt.Errorf("part %d: %w", i, err)
	}
	return d.Files[0], nil
}

// doneOf reads the side file of part i.
func (j *Job) doneOf(ctx context.Context, i int) (d done, err error) {
	err = getJSON(ctx, j.Out, j.Plan.done(i), &d)
	switch {
	case absent(err):
		err = ErrAbsent
	case err == nil && (d.Plan != j.digest() || len(d.Files) != 1 || d.Files[0].Name != j.Plan.name(i)):
		err = ErrDamaged
	case err == nil:
		return d, nil
	}
	return d, fmt.Errorf("part %d: %w", i, err)
}

// open opens a part and compares it with its digest.
func (j *Job) open(ctx context.Context, d done) (file.Object, error) {
	f := d.Files[0]
	o, err := j.Out.Get(ctx, f.Name)
	if absent(err) {
		return nil, ErrAbsent
	}
	if err != nil {
		return nil, err
	}
	if err := f.Check(ctx, o); err != nil {
		if ctx.Err() == nil {
			err = fmt.Errorf("%w: %s %w", ErrDamaged, f.Name, err)
		}
		return nil, errors.Join(err, o.Close())
	}
	return o, nil
}

// Verify checks all parts of the plan of a bucket. It returns the plan and the numbers of the parts
// that are absent or damaged. Without a plan the error is fs.ErrNotExist.
func Verify(ctx context.Context, b file.Bucket) (p Plan, missing []int, err error) {
	if p, err = readPlan(ctx, b); err != nil {
		return p, nil, err
	}
	j := Job{Plan: p, Out: b}
	for i := range p.Parts {
		switch _, err := j.Check(ctx, i); {
		case errors.Is(err, ErrAbsent) || errors.Is(err, ErrDamaged):
			missing = append(missing, i)
		case err != nil:
			return p, missing, err
		}
	}
	return p, missing, nil
}

// Shard is the share of one of N runs: the parts whose number has the remainder I. The zero Shard is
// all parts.
type Shard struct{ I, N int }

// Run makes the parts of a shard that are absent or damaged, and writes the manifest if all parts of
// the plan are there then. It waits for parts that another run is making. each, if not nil, is
// called when part i is complete. made reports whether this run made it.
func (j *Job) Run(ctx context.Context, s Shard, each func(i int, f manifest.File, made bool)) error {
	if s.N = cmp.Or(s.N, 1); s.N < 1 || s.I < 0 || s.I >= s.N {
		return fmt.Errorf("part: the shard is %d of %d, want 0 to N-1 of N", s.I, s.N)
	}
	if err := j.Begin(ctx); err != nil {
		return err
	}
	for i := s.I; i < len(j.Plan.Parts); i += s.N {
		var f manifest.File
		made := false
		err := retryHeld(ctx, func() (err error) {
			f, err = j.Check(ctx, i)
			if made = errors.Is(err, ErrAbsent) || errors.Is(err, ErrDamaged); made {
				f, err = j.Do(ctx, i)
			}
			return err
		})
		if err != nil {
			return err
		}
		if each != nil {
			each(i, f, made)
		}
	}
	_, err := j.Finish(ctx)
	if errors.Is(err, ErrAbsent) {
		return nil // other shards make the other parts
	}
	return err
}

// Absent returns the numbers of the parts that are not there. It reads no part, so a damaged part
// counts as there.
func (j *Job) Absent(ctx context.Context) (numbers []int, err error) {
	names, err := j.Out.List(ctx, "_done-")
	if err != nil && !absent(err) {
		return nil, err
	}
	for i := range j.Plan.Parts {
		if _, there := slices.BinarySearch(names, j.Plan.done(i)); !there {
			numbers = append(numbers, i)
		}
	}
	return numbers, nil
}

// Finish writes the manifest, and returns it, if all parts are there; otherwise the error is
// ErrAbsent. It reads no part.
func (j *Job) Finish(ctx context.Context) (*manifest.Manifest, error) {
	var m manifest.Manifest
	for i := range j.Plan.Parts {
		d, err := j.doneOf(ctx, i)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			m = d.Manifest
			continue
		}
		if d.Schema != m.Schema {
			return nil, fmt.Errorf("part: %s: part %d has other columns than part 0", j.Out, i)
		}
		m.Add(d.Files[0])
	}
	return &m, putJSON(ctx, j.Out, manifest.Name, m)
}

// retryHeld calls f until its error is not file.ErrHeld.
func retryHeld(ctx context.Context, f func() error) error {
	for {
		err := f()
		if !errors.Is(err, file.ErrHeld) {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// counted counts the rows that a sink writes.
type counted struct {
	flow.Sink
	schema *arrow.Schema
	rows   int64
}

func (c *counted) Open(in *arrow.Schema) (flow.Writer, error) {
	w, err := c.Sink.Open(in)
	if err != nil {
		return nil, err
	}
	c.schema = in
	return &countedWriter{w, c}, nil
}

func (c *counted) Name() string { return flow.Name(c.Sink) }

type countedWriter struct {
	flow.Writer
	of *counted
}

func (w *countedWriter) Write(ctx context.Context, rec arrow.Record) error {
	w.of.rows += rec.NumRows()
	return w.Writer.Write(ctx, rec)
}

// counter counts the bytes that are written to it.
type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}
