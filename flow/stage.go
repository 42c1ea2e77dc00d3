package flow

import (
	"context"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"
)

// Source describes the origin of records. It is a value: it prints, and can be opened any
// number of times.
type Source interface {
	// Open checks the settings and starts reading. Records are allocated in mem. ctx is the context
	// of the run and ends with it.
	Open(ctx context.Context, mem memory.Allocator) (Reader, error)
}

// Reader is an open source. One goroutine calls it.
type Reader interface {
	// Schema returns the schema of every record.
	Schema() *arrow.Schema
	// Next returns the next record, which the caller owns, or io.EOF itself at
	// the end: an error that wraps it fails the run. Next returns within a second
	// when ctx ends, also while it waits for something to come; nothing else ends
	// it. Package flowtest checks that.
	Next(ctx context.Context) (arrow.Record, error)
	// Close ends reading. It is called once, when there is nothing more to
	// read; of an [Acker], after the last Ack.
	Close() error
}

// Acker is a Reader that learns which of its rows are complete, for instance to acknowledge
// them to a broker or to remember where to resume. Positions must rise from record to record
// and may not fall within a record, so the rows of one position are in one record. A record
// that breaks this ends the run. Ack is called from other goroutines than Next, one call at a
// time, and should not take long. It may call Running.Stats.
type Acker interface {
	// Ack reports that every row with a position up to pos was trained on,
	// written, skipped or dead-lettered; of a [DurableWriter], durably. pos rises
	// from call to call.
	Ack(pos int64)
}

// Noter is a Reader or a Writer that counts its own events, such as reconnects and repeated
// messages. StageStats reports them.
type Noter interface {
	// Notes returns the counts up to now, by name. It is called from any goroutine
	// at any time, also after Close.
	Notes() map[string]int64
}

// Lagger is a Reader that reports its lag.
type Lagger interface {
	// Lag returns the number of messages, or other units of the source, that are available and not
	// yet read, as far as the reader knows. It is called as Notes is.
	Lag() int64
}

// Reporter is a Reader or a Writer that reports more than counts, such as the progress of a model that
// learns.
type Reporter interface {
	// Report returns a value of a type that the package documents. Without a call of Report, a Reporter
	// does no work for it. Report is called from any goroutine at any time, also after Close.
	Report() any
}

// Operator describes a step of a pipeline. It is a value, usually a struct
// literal whose zero fields are documented defaults.
type Operator interface {
	// Open checks the settings against the schema of the records to come and
	// returns the running step.
	Open(in *arrow.Schema) (Stage, error)
}

// Stage is a running operator. One goroutine at a time calls it. A stage may
// also be a [Flusher], a [Forker] or an io.Closer.
type Stage interface {
	// Schema returns the schema of the records that the stage emits.
	Schema() *arrow.Schema
	// Process handles one record, which may have no rows. It borrows rec and retains it if it keeps
	// it, so the record is released even if a stage panics. Slices of rec are borrowed too. After
	// the release their memory belongs to other records: SANFLOW_MEM=poison ends the run at a stage
	// that reads it (record.Poison). After an error, its own or that of Emit, it is not called
	// again. Unless the stage is a Flusher, everything it makes of rec is emitted before Process
	// returns.
	Process(rec arrow.Record, out *Out) error
}

// Flusher is a Stage that holds rows back. It emits as many rows as it receives, except for
// rows that it reports by Out.Repeat, Out.Drop and Out.Refuse.
type Flusher interface {
	// Flush emits the held rows when the stream ends well. After a failure it is not called; Close
	// releases the held rows.
	Flush(out *Out) error
}

// Forker is a Stage whose output depends only on the current record, so that several workers
// can each run a copy. The order of records is kept.
type Forker interface {
	// Fork returns a copy with working memory of its own.
	Fork() Stage
}

// Sink describes the destination of records.
type Sink interface {
	// Open checks the settings against the schema of the records to come.
	Open(in *arrow.Schema) (Writer, error)
}

// Writer is an open sink. One goroutine calls it.
type Writer interface {
	// Write borrows rec. When it returns without an error the rows count as
	// having left the pipeline.
	Write(ctx context.Context, rec arrow.Record) error
	// Close is called once, after the last record. If failed is nil the stream is complete, and
	// Close may publish a result. Otherwise failed is the error that ended the run, and Close
	// undoes unfinished work.
	Close(failed error) error
}

// Each returns a sink of that name that calls write for each record, in order, as Writer.Write.
func Each(name string, write func(ctx context.Context, rec arrow.Record) error) Sink {
	return each{name, write}
}

type each struct {
	name  string
	write func(context.Context, arrow.Record) error
}

func (e each) Name() string { return e.name }

func (e each) Open(*arrow.Schema) (Writer, error) { return e, nil }

func (e each) Write(ctx context.Context, rec arrow.Record) error { return e.write(ctx, rec) }

func (each) Close(error) error { return nil }

// DurableWriter is a Writer whose rows become safe after Write returns: when a file gets its
// name, or a checkpoint is on disk. Only durable rows are complete and acknowledged.
type DurableWriter interface {
	// Durable returns n if the first n records that Write received are durable. It is called after
	// each Write and Expire, and after Close, on the goroutine that calls these.
	Durable() int64
}

// TimedStage is a Flusher with a time limit: it acts after a deadline even if no record
// arrives.
type TimedStage interface {
	// Deadline returns when Expire is to be called unless Process is called before; the
	// zero time means not at all. It is called after each call of another method.
	Deadline() time.Time
	// Expire is called once the deadline has passed. It may emit.
	Expire(out *Out) error
}

// TimedWriter is a Writer with a time limit, such as a sink that publishes records although no
// further record arrives.
type TimedWriter interface {
	// Deadline returns when Expire is to be called unless Write is called before; the
	// zero time means not at all. It is called after each call of another method.
	Deadline() time.Time
	// Expire is called once the deadline has passed.
	Expire(ctx context.Context) error
}

// RefusingWriter is a Writer that can refuse a row, as a Stage can with Out.Refuse.
type RefusingWriter interface {
	// WriteSome is called instead of Write. For a row that the writer cannot handle it calls refuse
	// with the number of the row in rec and the reason. If refuse returns nil, the writer leaves
	// the row out and continues; otherwise it returns the error.
	WriteSome(ctx context.Context, rec arrow.Record, refuse func(row int, err error) error) error
}

// Out takes the results of a stage. It is valid during the call that receives it.
type Out struct {
	step
	chain  *chain
	place  int           // index of the stage in the chain
	rec    arrow.Record  // current record, or nil
	row    int           // row of rec that the stage set, or -1
	nested time.Duration // time in later stages during the current call
	shared any           // value that the previous stage shared with rec; see Share
}

// Context returns the context of the run. A stage with long work on one record checks it from
// time to time.
func (o *Out) Context() context.Context { return o.chain.run.ctx }

// Allocator returns the allocator for the arrays that the stage makes.
func (o *Out) Allocator() memory.Allocator { return o.chain.run.opts.Allocator }

// Emit passes a record downstream, and owns it from then on. The columns match Stage.Schema. An error means
// that the run has ended; the stage returns it.
func (o *Out) Emit(rec arrow.Record) (err error) {
	c := o.chain
	switch {
	case rec == nil:
		return c.fail(at(o.count.stage, errNoRecord))
	case c.failed != nil:
		err = c.failed
	case c.run.stopped():
		err = errStopped
	default:
		err = at(o.count.stage, checkColumns(rec.Schema(), o.out))
	}
	if err != nil {
		rec.Release()
		return c.fail(err)
	}
	o.count.out(rec)
	start := monotonic()
	defer func() { o.nested += monotonic() - start }()
	switch {
	case o.place+1 < len(c.stages):
		defer rec.Release()
		return c.step(o.place+1, rec)
	case c.through != nil:
		c.through.take(rec)
	default:
		c.job.outs = append(c.job.outs, rec)
	}
	return nil
}

// Err returns the first error of the stage's Emit, Repeat or Refuse so far.
// After one, the stage is done.
func (o *Out) Err() error { return o.chain.failed }

// Row sets the current row of the record, or -1 for none, so that an error of Process, and a
// panic, name the graph.
func (o *Out) Row(row int) { o.row = row }

// Repeat is Emit for a Flusher that will emit the same rows again: their
// positions stay unfinished until it does.
func (o *Out) Repeat(rec arrow.Record) error {
	o.chain.run.track.add(rec)
	return o.Emit(rec)
}

// Drop reports that a Flusher will not emit the rows of rec, which it borrows.
func (o *Out) Drop(rec arrow.Record) { o.chain.run.track.done(rec) }

// Share passes v to the next stage, beside the record that is emitted next, so that the two
// stages need not compute the same twice. It works only if the next stage runs on the same
// goroutine. v is borrowed until Emit returns. A stage must also work without v: a worker
// boundary or a file may be in between.
func (o *Out) Share(v any) {
	if next := o.place + 1; next < len(o.chain.stages) {
		o.chain.stages[next].shared = v
	}
}

// Shared returns the value that the stage before shared with the current record, or nil.
func (o *Out) Shared() any { return o.shared }

// Note adds n to a count in the statistics of the stage; see StageStats. Call it a few times
// per record, not per row.
func (o *Out) Note(event string, n int64) { o.count.note(event, n) }

// Refuse reports that the stage cannot handle one row of rec, because of err. The [Policy] of the
// pipeline applies: if Refuse returns nil the stage leaves the row out and continues, otherwise it
// returns the error.
func (o *Out) Refuse(rec arrow.Record, row int, err error) error {
	letter, err := o.chain.run.letter(o.count, rec, row, err)
	if err != nil {
		return o.chain.fail(err)
	}
	o.chain.job.letters = append(o.chain.job.letters, letter)
	return nil
}
