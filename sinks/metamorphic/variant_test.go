package metamorphic

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync/atomic"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/reugn/go-streams"
	extflow "github.com/reugn/go-streams/flow"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/flowtest"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/sinks"
	sinkparquet "github.com/sanflow/sanflow/sinks/parquet"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/parquet"
)

type operator = flow.Operator

// A variant is one way to run a plan.
type variant struct {
	rows    int // of a record of the source
	workers int
	buffer  int
	keep    bool   // refused rows as letters; else they are skipped
	cuts    []cut  // files in the middle, in order
	streams bool   // wired by go-streams
	fault   *fault // nil: nothing goes wrong
	dir     string // for files
}

// cut ends a pipeline behind so many operators, and begins another from what it
// has written.
type cut struct {
	after  int
	format string
}

var formats = []string{"ipc", "ipc stream", "ipc zstd", "ipc dir", "parquet", "parquet dir", "mapped", "records"}

// plainly is how a pipeline runs by default.
func plainly() variant { return variant{rows: 64, workers: 1, buffer: 1, keep: true} }

func drawVariant(rng *rand.Rand, p plan) variant {
	v := variant{rows: 1 + rng.IntN(9), workers: 1 + rng.IntN(4), buffer: 1 + rng.IntN(3), keep: coin(rng, 2), streams: coin(rng, 4)}
	if v.streams {
		return v
	}
	for i := range len(p.ops) + 1 {
		if coin(rng, 4) {
			v.cuts = append(v.cuts, cut{i, formats[rng.IntN(len(formats))]})
		}
	}
	return v
}

// fault cancels a run, or makes its source or its sink fail, after some rows.
type fault struct {
	where string // cancel, source, sink
	after int
	fired atomic.Bool
}

var errFault = errors.New("a fault of the test")

func (v variant) options(mem memory.Allocator, letters *atomic.Int64) flow.Options {
	o := flow.Options{Workers: v.workers, Buffer: v.buffer, Allocator: mem, Refused: flow.Skip}
	if v.keep {
		o.Refused = flow.Keep
		o.DeadLetters = func(l flow.Letter) error {
			if !errors.Is(l.Err, errRefused) {
				return fmt.Errorf("refused for another reason: %w", l.Err)
			}
			letters.Add(1)
			return nil
		}
	}
	return o
}

// run returns the rows that come out as texts, and the number of letters.
func (v variant) run(p plan, into func([]arrow.Record) error) (letters int, err error) {
	mem := memory.NewCheckedAllocator(record.Poison{})
	var refused atomic.Int64
	opts := v.options(mem, &refused)
	var src flow.Source = sources.Graphs{Items: p.items, Layout: p.layout, Rows: v.rows}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if v.fault != nil && v.fault.where != "sink" {
		src = faulty{src, v.fault, cancel}
	}
	var kept []*sinks.Collect
	defer func() {
		for _, c := range kept {
			c.Release()
		}
		if n := mem.CurrentAlloc(); n != 0 && err == nil {
			err = fmt.Errorf("%d bytes are left", n)
		}
	}()
	from := 0
	for i, c := range v.cuts {
		pipe := via(flow.From(src), p.ops[from:c.after])
		if src, err = v.through(ctx, pipe.With(opts), c.format, filepath.Join(v.dir, fmt.Sprint("cut", i)), &kept); err != nil {
			return int(refused.Load()), err
		}
		from = c.after
	}
	out := new(sinks.Collect)
	kept = append(kept, out)
	var sink flow.Sink = out
	if v.fault != nil && v.fault.where == "sink" {
		sink = faultySink{out, v.fault}
	}
	if v.streams {
		err = wire(ctx, src, p.ops[from:], sink, opts)
	} else {
		err = via(flow.From(src), p.ops[from:]).To(sink).With(opts).Run(ctx)
	}
	return int(refused.Load()), errors.Join(err, into(out.Records()))
}

func via(p flow.Pipeline, ops []operator) flow.Pipeline {
	for _, op := range ops {
		p = p.Via(op)
	}
	return p
}

// ends returns the sink that writes a file, or a directory, of a format, and the
// source that reads it.
func ends(format, path string, rows int) (flow.Sink, flow.Source) {
	switch format {
	case "ipc":
		return sinks.IPC{Path: path}, sources.IPC{Path: path, Rows: rows}
	case "ipc stream":
		return sinks.IPC{Path: path, Stream: true}, sources.IPC{Path: path, Rows: rows}
	case "ipc zstd":
		return sinks.IPC{Path: path, Compression: "zstd"}, sources.IPC{Path: path}
	case "ipc dir":
		return sinks.IPC{Dir: path, PartBytes: 2000}, sources.IPC{Path: path, Rows: rows}
	case "parquet":
		return sinkparquet.Sink{Path: path, RowGroupBytes: 2000}, parquet.Source{Path: path, Rows: rows}
	case "parquet dir":
		return sinkparquet.Sink{Dir: path, RowGroupBytes: 1000, PartBytes: 3000}, parquet.Source{Path: path}
	case "mapped":
		return sinks.IPC{Path: path}, sources.Mapped{Path: path}
	}
	panic("no format " + format)
}

// through runs a pipeline into a file, and returns the source that reads it.
func (v variant) through(ctx context.Context, p flow.Pipeline, format, path string, kept *[]*sinks.Collect) (flow.Source, error) {
	if format == "records" {
		c := new(sinks.Collect)
		*kept = append(*kept, c)
		if err := p.To(c).Run(ctx); err != nil || len(c.Records()) > 0 {
			return sources.Records{Records: c.Records()}, err
		}
		format = "ipc" // since nothing tells the schema
	}
	sink, src := ends(format, path, v.rows)
	return src, p.To(sink).Run(ctx)
}

// wire runs the stages by go-streams alone.
func wire(ctx context.Context, src flow.Source, ops []operator, sink flow.Sink, opts flow.Options) error {
	type ended interface{ Err() error }
	in := flow.AsSource(ctx, src, opts)
	out := flow.AsSink(ctx, sink, opts)
	stages := []ended{in}
	var stream streams.Flow
	for i, op := range ops {
		f := flow.AsFlow(ctx, op, opts)
		stages = append(stages, f)
		if i == 0 {
			stream = in.Via(f)
		} else {
			stream = stream.Via(f)
		}
	}
	if stream == nil {
		in.Via(extflow.NewPassThrough()).To(out)
	} else {
		stream.To(out)
	}
	for _, s := range append(stages, out) {
		if err := s.Err(); err != nil {
			return err
		}
	}
	return nil
}

// faulty is a source that fails, or whose run is cancelled, after some rows.
type faulty struct {
	flow.Source
	fault  *fault
	cancel context.CancelFunc
}

func (f faulty) Open(ctx context.Context, mem memory.Allocator) (flow.Reader, error) {
	r, err := f.Source.Open(ctx, mem)
	return &faultyReader{r, f, 0}, err
}

type faultyReader struct {
	flow.Reader
	faulty
	rows int
}

func (r *faultyReader) Next(ctx context.Context) (arrow.Record, error) {
	if r.rows >= r.fault.after {
		r.fault.fired.Store(true)
		if r.fault.where == "source" {
			return nil, errFault
		}
		r.cancel()
	}
	rec, err := r.Reader.Next(ctx)
	if err == nil {
		r.rows += int(rec.NumRows())
	}
	return rec, err
}

func (r *faultyReader) Schema() *arrow.Schema { return r.Reader.Schema() }

func (r *faultyReader) Close() error { return r.Reader.Close() }

type faultySink struct {
	flow.Sink
	fault *fault
}

func (s faultySink) Open(in *arrow.Schema) (flow.Writer, error) {
	w, err := s.Sink.Open(in)
	return &faultyWriter{w, s.fault, 0}, err
}

type faultyWriter struct {
	flow.Writer
	fault *fault
	rows  int
}

func (w *faultyWriter) Write(ctx context.Context, rec arrow.Record) error {
	if w.rows += int(rec.NumRows()); w.rows > w.fault.after {
		w.fault.fired.Store(true)
		return errFault
	}
	return w.Writer.Write(ctx, rec)
}

// train ends the plan in a small network and returns its file.
func (v variant) train(p plan) ([]byte, error) {
	mem := memory.NewCheckedAllocator(record.Poison{})
	var refused atomic.Int64
	net := &nn.PSLR{Workers: v.workers}
	src := sources.Graphs{Items: p.items, Layout: p.layout, Rows: v.rows}
	err := via(flow.From(src), p.ops).Via(operators.Batch{Size: 3}).To(sinks.Train{Net: net}).
		With(v.options(mem, &refused)).Run(context.Background())
	if n := mem.CurrentAlloc(); n != 0 && err == nil {
		err = fmt.Errorf("%d bytes are left after the training", n)
	}
	if err != nil || net.Seen() == 0 {
		return nil, err
	}
	var b bytes.Buffer
	err = net.Save(&b)
	return b.Bytes(), err
}

// trainable tells whether every row that comes out can be learned from.
func (p plan) trainable() bool {
	norm, ok := find[operators.Normalize](p.ops)
	if !ok || !p.layout.Real && len(p.layout.Classes) == 0 {
		return false
	}
	if _, perRoot := find[operators.PerRoot](p.ops); perRoot {
		return false
	}
	_, channel := find[operators.Channel](p.ops)
	return channel || norm.Distances > 0 || len(p.layout.NodeCat)+len(p.layout.NodeAttr)+p.layout.NodeSparse.Card > 0
}

// rowTexts are all columns of all rows.
func rowTexts(recs []arrow.Record) []string {
	var with []arrow.Record
	for _, r := range recs {
		if r.NumRows() > 0 {
			with = append(with, r)
		}
	}
	return flowtest.Rows(with...)
}
