package part

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/file"
)

// Source streams the rows of the parts of a plan in the order of their numbers, each part once it is
// whole, while other programs make the parts. Each part is compared with its digest before it is
// read. The schema is that of the first part that is read, so Open waits for it.
//
// The reader is a [flow.Seeker]: a training stores the next part in its checkpoint and resumes
// there, and reads no part before it.
type Source struct {
	Plan Plan
	From file.Bucket
	// Read returns the source of one part, such as parquet.Source{ReaderAt: o, Size: o.Size()}.
	Read func(o file.Object) flow.Source
	// Missing, if set, is called when part i is absent or damaged, again after every second of
	// waiting. It may have the part made. An error ends the run. Without Missing the source waits for
	// absent parts, and a damaged part is an error.
	Missing func(ctx context.Context, i int, why error) error
	// Epochs is how often all parts are read. The default is 1. From the second time on the parts
	// come in an order drawn from Seed.
	Epochs int
	Seed   uint64
	// Poll is the time between two checks for an absent part. The default is 100 ms.
	Poll time.Duration
}

// String names the bucket, for the plan of a pipeline.
func (s Source) String() string { return fmt.Sprintf("Parts(%s)", s.From) }

// Open waits for the first part.
func (s Source) Open(ctx context.Context, mem memory.Allocator) (flow.Reader, error) {
	if s.From == nil || s.Read == nil {
		return nil, errors.New("part: Source: From or Read is not set")
	}
	if err := s.Plan.setDefaults(); err != nil {
		return nil, fmt.Errorf("part: Source: %s: %w", s.From, err)
	}
	s.Epochs, s.Poll = cmp.Or(s.Epochs, 1), cmp.Or(s.Poll, 100*time.Millisecond)
	r := &reader{Source: s, job: Job{Plan: s.Plan, Out: s.From}, ctx: ctx, mem: mem}
	if err := r.open(ctx); err != nil {
		return nil, err
	}
	r.schema = r.part.Schema()
	return r, nil
}

// place is a place in the stream: Row rows into part Part of the order of epoch Epoch.
type place struct {
	Plan  string `json:"plan"`
	Epoch int    `json:"epoch"`
	Part  int    `json:"part"`
	Row   int64  `json:"row"`
}

type reader struct {
	Source
	job    Job
	ctx    context.Context
	mem    memory.Allocator
	schema *arrow.Schema

	at     place       // place of the open or next part
	order  []int       // permutation of the parts in epoch drawn
	drawn  int         // epoch of order; 0: none
	object file.Object // open part, or nil
	part   flow.Reader
	skip   int64 // rows of the part to drop

	mu    sync.Mutex
	first place   // place at which this run began
	began []began // parts opened by this run, from that of the last Place on
	rows  int64   // number of rows that this run has returned
}

// began is a part that this run has opened. before is the number of rows before it.
type began struct {
	at     place
	before int64
}

var _ flow.Seeker = (*reader)(nil)

func (r *reader) Schema() *arrow.Schema { return r.schema }

// number returns the index in the plan of the part at r.at. Each epoch after the first has a random order.
func (r *reader) number() int {
	if r.at.Epoch == 0 {
		return r.at.Part
	}
	if r.drawn != r.at.Epoch {
		r.order, r.drawn = rand.New(rand.NewPCG(r.Seed, uint64(r.at.Epoch))).Perm(len(r.Plan.Parts)), r.at.Epoch
	}
	return r.order[r.at.Part]
}

// open waits for the part at r.at and opens it.
func (r *reader) open(ctx context.Context) error {
	i := r.number()
	for told := (time.Time{}); ; {
		d, err := r.job.doneOf(ctx, i)
		if err == nil {
			err = r.openPart(ctx, d)
		}
		absent, damaged := errors.Is(err, ErrAbsent), errors.Is(err, ErrDamaged)
		if !absent && (!damaged || r.Missing == nil) {
			return err
		}
		if r.Missing != nil && time.Since(told) >= time.Second {
			if err := r.Missing(ctx, i, err); err != nil {
				return fmt.Errorf("part: Source: part %d: %w", i, err)
			}
			told = time.Now()
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(r.Poll):
		}
	}
}

func (r *reader) openPart(ctx context.Context, d done) error {
	o, err := r.job.open(ctx, d)
	if err != nil {
		return fmt.Errorf("part: Source: %s: %w", r.From, err)
	}
	r.part, err = r.Read(o).Open(r.ctx, r.mem)
	if err == nil && r.schema != nil && !r.schema.Equal(r.part.Schema()) {
		err = errors.Join(errors.New("it has other columns than the parts before it"), r.part.Close())
		r.part = nil
	}
	if err != nil {
		return errors.Join(fmt.Errorf("part: Source: %s: %s: %w", r.From, d.Files[0].Name, err), o.Close())
	}
	r.object = o
	r.mu.Lock()
	r.began = append(r.began, began{r.at, r.rows})
	r.mu.Unlock()
	return nil
}

func (r *reader) closePart() error {
	if r.object == nil {
		return nil
	}
	err := errors.Join(r.part.Close(), r.object.Close())
	r.part, r.object = nil, nil
	return err
}

func (r *reader) Next(ctx context.Context) (arrow.Record, error) {
	for r.at.Epoch < r.Epochs {
		if r.object == nil {
			if err := r.open(ctx); err != nil {
				return nil, err
			}
		}
		rec, err := r.part.Next(ctx)
		if err == io.EOF {
			if err := r.closePart(); err != nil {
				return nil, err
			}
			if r.at.Part++; r.at.Part == len(r.Plan.Parts) {
				r.at.Epoch, r.at.Part = r.at.Epoch+1, 0
			}
			r.at.Row = 0
			continue
		}
		if err != nil {
			return nil, err
		}
		if n := min(r.skip, rec.NumRows()); n > 0 {
			r.skip -= n
			whole := rec
			rec = whole.NewSlice(n, whole.NumRows())
			whole.Release()
		}
		if rec.NumRows() == 0 {
			rec.Release()
			continue
		}
		r.mu.Lock()
		r.rows += rec.NumRows()
		r.mu.Unlock()
		return rec, nil
	}
	return nil, io.EOF
}

// Begin moves the reader to a place of the same plan.
func (r *reader) Begin(text string) error {
	var at place
	if json.Unmarshal([]byte(text), &at) != nil || at.Epoch < 0 || at.Part < 0 || at.Part >= len(r.Plan.Parts) || at.Row < 0 {
		return errors.New("part: Source: the place cannot be read")
	}
	if at.Plan != r.job.digest() {
		return fmt.Errorf("part: Source: %s: the place is of another plan", r.From)
	}
	if err := r.closePart(); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.at, r.first, r.skip, r.began = at, at, at.Row, nil
	return nil
}

// Place returns the place after the first rows rows of this run.
func (r *reader) Place(rows int64) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.began) > 1 && r.began[1].before <= rows {
		r.began = r.began[1:]
	}
	at := r.first
	if len(r.began) > 0 {
		at = r.began[0].at
		at.Row += rows - r.began[0].before
	}
	at.Plan = r.job.digest()
	b, err := json.Marshal(at)
	return string(b), err
}

// Keep does nothing: parts are not deleted.
func (r *reader) Keep(string) {}

func (r *reader) Close() error { return r.closePart() }
