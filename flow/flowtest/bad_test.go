package flowtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/internal/leak"
)

// opener is an operator made of a function.
type opener func(in *arrow.Schema) (flow.Stage, error)

func (o opener) Open(in *arrow.Schema) (flow.Stage, error) { return o(in) }

// processor is a stage made of a function.
type processor struct {
	schema  *arrow.Schema
	process func(rec arrow.Record, out *flow.Out) error
}

func (p processor) Schema() *arrow.Schema                         { return p.schema }
func (p processor) Process(rec arrow.Record, out *flow.Out) error { return p.process(rec, out) }

// forker shares its function, and what that closes over, among the workers.
type forker struct{ processor }

func (f forker) Fork() flow.Stage { return f }

// flusher holds rows back.
type flusher struct {
	processor
	flush func(out *flow.Out) error
}

func (f flusher) Flush(out *flow.Out) error { return f.flush(out) }

func stage(f func(rec arrow.Record, out *flow.Out) error) flow.Operator {
	return opener(func(in *arrow.Schema) (flow.Stage, error) { return processor{in, f}, nil })
}

func pass(rec arrow.Record, out *flow.Out) error {
	rec.Retain()
	return out.Emit(rec)
}

// numbered adds a column of the numbers that next returns for each row.
func numbered(in *arrow.Schema, next func(row int) int32) (processor, error) {
	schema, err := record.Extend(in, arrow.Field{Name: "number", Type: arrow.PrimitiveTypes.Int32})
	return processor{schema, func(rec arrow.Record, out *flow.Out) error {
		col := record.NewColumn[int32](out.Allocator())
		for row := range int(rec.NumRows()) {
			col.Append(next(row))
		}
		made, err := record.Project(schema, rec, map[string]arrow.Array{"number": col.Finish()})
		if err != nil {
			return err
		}
		return out.Emit(made)
	}}, err
}

// readsFreed keeps the ids of the last record for Flush, and not the record.
var readsFreed = opener(func(in *arrow.Schema) (flow.Stage, error) {
	var ids []int64
	schema := arrow.NewSchema([]arrow.Field{{Name: "id", Type: arrow.PrimitiveTypes.Int64}}, nil)
	return flusher{processor{schema, func(rec arrow.Record, out *flow.Out) error {
		v, err := record.Values[int64](rec, record.GraphID)
		ids = v
		return err
	}}, func(out *flow.Out) error {
		col := record.NewColumn[int64](out.Allocator())
		col.Append(ids...)
		made := col.Finish()
		defer made.Release()
		return out.Emit(array.NewRecord(schema, []arrow.Array{made}, int64(len(ids))))
	}}, nil
})

// Of a read of released memory the report names the stage.
func TestReaderIsNamed(t *testing.T) {
	if runtime.GOOS != "linux" && runtime.GOOS != "darwin" {
		t.Skip("on this system memory is overwritten only")
	}
	s, err := Case{Op: readsFreed}.prepare(memory.DefaultAllocator)
	if err != nil {
		t.Fatal(err)
	}
	defer s.release()
	err = s.workers()
	for _, want := range []string{"opener: ", "after its release"} {
		if !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("the report is %v, want one that says %q", err, want)
		}
	}
}

// TestBadOperators runs the checks on operators that break one rule each.
func TestBadOperators(t *testing.T) {
	patience = time.Second
	defer func() { patience = 10 * time.Second }()
	runs := int32(0)
	forever := make(chan struct{})
	defer close(forever)
	for _, bad := range []struct {
		name  string
		check string // one of those that must notice; "run" is the first run
		op    flow.Operator
	}{
		{"keeps a buffer", "run", stage(func(rec arrow.Record, out *flow.Out) error {
			rec.Retain()
			return pass(rec, out)
		})},
		{"leaves a goroutine", "run", stage(func(rec arrow.Record, out *flow.Out) error {
			go func() { <-forever }()
			return pass(rec, out)
		})},
		{"reads freed memory", "workers", readsFreed},
		{"counts records in each worker", "workers", opener(func(in *arrow.Schema) (flow.Stage, error) {
			return counting(in)
		})},
		{"depends on the cut", "cuts", opener(func(in *arrow.Schema) (flow.Stage, error) {
			return numbered(in, func(row int) int32 { return int32(row) })
		})},
		{"turns the stream round", "order", opener(func(in *arrow.Schema) (flow.Stage, error) {
			return forker{processor{in, func(rec arrow.Record, out *flow.Out) error {
				for row := rec.NumRows() - 1; row >= 0; row-- {
					if err := out.Emit(rec.NewSlice(row, row+1)); err != nil {
						return err
					}
				}
				return nil
			}}}, nil
		})},
		{"wants rows", "empty", stage(func(rec arrow.Record, out *flow.Out) error {
			if rec.NumRows() == 0 {
				return errors.New("there are no rows")
			}
			return pass(rec, out)
		})},
		{"writes to its input", "input", stage(func(rec arrow.Record, out *flow.Out) error {
			ids, err := record.Values[int64](rec, record.GraphID)
			for i := range ids {
				ids[i] = 5
			}
			return errors.Join(err, pass(rec, out))
		})},
		{"remembers the run before", "reuse", opener(func(in *arrow.Schema) (flow.Stage, error) {
			n := atomic.AddInt32(&runs, 1)
			return numbered(in, func(int) int32 { return n })
		})},
		{"panics over an unknown schema", "open", opener(func(in *arrow.Schema) (flow.Stage, error) {
			_ = in.Field(3)
			return processor{in, pass}, nil
		})},
		{"loses the row after a refused one", "refused", stage(func(rec arrow.Record, out *flow.Out) error {
			for row := int64(0); row < rec.NumRows(); row++ {
				if row == 1 {
					if err := out.Refuse(rec, int(row), errCheck); err != nil {
						return err
					}
					row++
					continue
				}
				if err := out.Emit(rec.NewSlice(row, row+1)); err != nil {
					return err
				}
			}
			return nil
		})},
		{"repeats rows without a word", "watermark", opener(func(in *arrow.Schema) (flow.Stage, error) {
			var held []arrow.Record
			return flusher{processor{in, func(rec arrow.Record, out *flow.Out) error {
				rec.Retain()
				held = append(held, rec)
				return nil
			}}, func(out *flow.Out) error {
				for _, rec := range held {
					rec.Retain()
					if err := out.Emit(rec); err != nil {
						return err
					}
				}
				for i, rec := range held {
					held[i] = nil
					if err := out.Emit(rec); err != nil {
						return err
					}
				}
				return nil
			}}, nil
		})},
		{"does not look at its context", "cancel", stage(func(rec arrow.Record, out *flow.Out) error {
			time.Sleep(time.Millisecond)
			if errors.Is(context.Cause(out.Context()), context.Canceled) {
				<-forever
			}
			return pass(rec, out)
		})},
		{"takes no notice of Emit", "emit", stage(func(rec arrow.Record, out *flow.Out) error {
			_ = pass(rec, out)
			return nil
		})},
		{"takes no notice of Emit in Flush", "emit", opener(func(in *arrow.Schema) (flow.Stage, error) {
			s := &holding{schema: in}
			return s, nil
		})},
		{"holds what it has when it is stopped", "cancel", opener(func(in *arrow.Schema) (flow.Stage, error) {
			var held []arrow.Record // no Close releases them
			return flusher{processor{in, func(rec arrow.Record, out *flow.Out) error {
				rec.Retain()
				held = append(held, rec)
				return nil
			}}, func(out *flow.Out) error {
				for _, rec := range held {
					if err := out.Emit(rec); err != nil {
						return err
					}
				}
				return nil
			}}, nil
		})},
	} {
		t.Run(bad.name, func(t *testing.T) {
			found := failures(Case{Op: bad.op})
			if !slices.Contains(found, bad.check) {
				t.Errorf("the checks that failed are %v, want %q among them", found, bad.check)
			}
		})
	}
}

// TestHangs: what a check has given up on still owns the stream.
func TestHangs(t *testing.T) {
	defer leak.VerifyNone(t, leak.IgnoreCurrent())
	mem := Mem(t)
	in := Sample(mem)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	hang, forever := false, make(chan struct{})
	s, err := Case{Records: in, Op: stage(func(rec arrow.Record, out *flow.Out) error {
		if hang {
			stop()
			<-forever
		}
		return pass(rec, out)
	})}.prepare(mem)
	record.Release(in)
	if err != nil {
		t.Fatal(err)
	}
	patience = 10 * time.Millisecond // and not before: the first run, of prepare, must end in time
	defer func() { patience = 10 * time.Second }()
	hang, s.trial.endless = true, true
	if r, err := s.trial.run(ctx); err == nil {
		t.Errorf("a run that hangs has the result %+v", r)
	}
	s.release()
	if mem.CurrentAlloc() == 0 {
		t.Error("the stream was freed under a run that hangs")
	}
	close(forever)
}

// holding keeps the stream until Flush, where it is deaf to errors.
type holding struct {
	schema *arrow.Schema
	held   []arrow.Record
}

func (h *holding) Schema() *arrow.Schema { return h.schema }

func (h *holding) Process(rec arrow.Record, _ *flow.Out) error {
	rec.Retain()
	h.held = append(h.held, rec)
	return nil
}

func (h *holding) Flush(out *flow.Out) error {
	for _, rec := range h.held {
		_ = out.Emit(rec)
	}
	h.held = nil
	return nil
}

func (h *holding) Close() error {
	record.Release(h.held)
	return nil
}

// TestRetains: the first run says in words what is wrong.
func TestRetains(t *testing.T) {
	for _, c := range []struct {
		name string
		op   flow.Operator
		want string
	}{
		{"hands on what it is lent", stage(func(rec arrow.Record, out *flow.Out) error { return out.Emit(rec) }), "calls Retain before"},
		{"forks and hands on what it is lent", opener(func(in *arrow.Schema) (flow.Stage, error) {
			return forker{processor{in, func(rec arrow.Record, out *flow.Out) error { return out.Emit(rec) }}}, nil
		}), "calls Retain before"},
		{"keeps what it is lent", opener(func(in *arrow.Schema) (flow.Stage, error) {
			var held []arrow.Record
			return flusher{processor{in, func(rec arrow.Record, _ *flow.Out) error {
				held = append(held, rec)
				return nil
			}}, func(out *flow.Out) error {
				for _, rec := range held {
					if err := out.Emit(rec); err != nil {
						return err
					}
				}
				return nil
			}}, nil
		}), "calls Retain before"},
		{"releases what it is lent", stage(func(rec arrow.Record, _ *flow.Out) error {
			rec.Release()
			return nil
		}), "calls Retain before"},
		{"retains too often", stage(func(rec arrow.Record, out *flow.Out) error {
			rec.Retain()
			return pass(rec, out)
		}), "each Retain needs a Release"},
	} {
		s, err := Case{Op: c.op}.prepare(memory.DefaultAllocator)
		if err == nil {
			s.release()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: the error is %v, want %q", c.name, err, c.want)
		}
	}
}

// counting numbers the rows that one worker has seen.
func counting(in *arrow.Schema) (flow.Stage, error) {
	n := int32(0)
	p, err := numbered(in, func(int) int32 { n++; return n })
	return countingStage{p, in}, err
}

type countingStage struct {
	processor
	in *arrow.Schema
}

func (c countingStage) Fork() flow.Stage {
	s, _ := counting(c.in)
	return s
}

// failures returns the names of the checks that do not pass.
func failures(c Case) (names []string) {
	s, err := c.prepare(memory.DefaultAllocator)
	if err != nil {
		return []string{"run"}
	}
	defer s.release()
	for _, check := range checks {
		if check.run(s) != nil {
			names = append(names, check.name)
		}
	}
	return names
}

func TestGoodOperators(t *testing.T) {
	t.Run("pass", func(t *testing.T) { Run(t, Case{Op: stage(pass)}) })
	t.Run("fork", func(t *testing.T) {
		Run(t, Case{Op: opener(func(in *arrow.Schema) (flow.Stage, error) { return forker{processor{in, pass}}, nil })})
	})
	t.Run("none", func(t *testing.T) {
		Run(t, Case{Op: stage(func(arrow.Record, *flow.Out) error { return nil })})
	})
	t.Run("refuse", func(t *testing.T) {
		Run(t, Case{Op: stage(func(rec arrow.Record, out *flow.Out) error {
			for row := range rec.NumRows() {
				if positions(rec)[row]%3 == 1 {
					if err := out.Refuse(rec, int(row), errCheck); err != nil {
						return err
					}
				} else if err := out.Emit(rec.NewSlice(row, row+1)); err != nil {
					return err
				}
			}
			return nil
		})})
	})
	t.Run("by record", func(t *testing.T) {
		Run(t, Case{ByRecord: true, Op: opener(func(in *arrow.Schema) (flow.Stage, error) {
			return numbered(in, func(row int) int32 { return int32(row) })
		})})
	})
}

func TestCaseErrors(t *testing.T) {
	broken := stage(func(arrow.Record, *flow.Out) error { return errCheck })
	for _, c := range []Case{
		{},
		{Op: stage(pass), Before: []flow.Operator{broken}},
		{Op: stage(pass), Records: []arrow.Record{}},
		{Op: broken},
	} {
		if s, err := c.prepare(memory.DefaultAllocator); err == nil {
			s.release()
			t.Errorf("%+v: there is no error", c)
		}
	}
}

func TestSample(t *testing.T) {
	mem := Mem(t)
	var sizes []int64
	for _, rec := range Sample(mem) {
		gs, err := record.GraphsOf(rec)
		if err != nil {
			t.Fatal(err)
		}
		var g graph.Graph
		for row := range gs.Len() {
			gs.At(row, &g)
			if err := g.Check(); err != nil {
				t.Errorf("graph %d: %v", gs.ID(row), err)
			}
		}
		sizes = append(sizes, rec.NumRows())
		rec.Release()
	}
	if !slices.Equal(sizes, []int64{5, 1, 6}) {
		t.Errorf("records of %v rows", sizes)
	}
}

func TestSourcesAndSinks(t *testing.T) {
	recs := Sample(memory.DefaultAllocator)
	defer record.Release(recs)
	src := &feed{trial: trial{schema: recs[0].Schema(), in: recs}}
	RunSource(t, src)
	RunSink(t, func() (flow.Sink, func()) {
		sink := &catch{}
		return sink, func() { record.Release(sink.recs) }
	}, nil)
	if _, err := readAll(leakySource{src}, -1); err == nil {
		t.Error("a source that leaks passes")
	}
}

// nexter is a source whose Next is a function.
type nexter func(ctx context.Context) (arrow.Record, error)

func (f nexter) Open(context.Context, memory.Allocator) (flow.Reader, error) { return f, nil }
func (f nexter) Schema() *arrow.Schema                                       { return Sample(memory.DefaultAllocator)[0].Schema() }
func (f nexter) Next(ctx context.Context) (arrow.Record, error)              { return f(ctx) }
func (f nexter) Close() error                                                { return nil }

// TestSourceEnds: only io.EOF itself is the end, and a source that waits ends
// with its context.
func TestSourceEnds(t *testing.T) {
	_, err := readAll(nexter(func(context.Context) (arrow.Record, error) {
		return nil, fmt.Errorf("connection lost: %w", io.EOF)
	}), -1)
	if err == nil {
		t.Error("an error that wraps io.EOF passes for the end")
	}
	RunIdle(t, nexter(func(ctx context.Context) (arrow.Record, error) {
		<-ctx.Done()
		return nil, fmt.Errorf("waiting: %w", ctx.Err())
	}))
	patience = 200 * time.Millisecond // from here on nothing passes
	defer func() { patience = 10 * time.Second }()
	forever := make(chan struct{})
	defer close(forever)
	for name, src := range map[string]nexter{
		"waits for ever":    func(context.Context) (arrow.Record, error) { <-forever; return nil, io.EOF },
		"calls it the end":  func(ctx context.Context) (arrow.Record, error) { <-ctx.Done(); return nil, io.EOF },
		"hides the context": func(ctx context.Context) (arrow.Record, error) { <-ctx.Done(); return nil, errCheck },
	} {
		if idle(src, 10*time.Millisecond) == nil {
			t.Errorf("a source passes that %s", name)
		}
	}
}

// durables is a sink that calls records durable as the function says.
type durables struct {
	catch
	says    func(written int64, closed bool) int64
	written int64
	closed  bool
}

func (d *durables) Open(*arrow.Schema) (flow.Writer, error) { return d, nil }

func (d *durables) Write(context.Context, arrow.Record) error {
	d.written++
	return nil
}

func (d *durables) Close(error) error {
	d.closed = true
	return nil
}

func (d *durables) Durable() int64 { return d.says(d.written, d.closed) }

func TestDurables(t *testing.T) {
	recs := Sample(memory.DefaultAllocator)
	defer record.Release(recs)
	stream := trial{schema: recs[0].Schema(), in: recs}
	for _, c := range []struct {
		name string
		says func(written int64, closed bool) int64
		good bool
	}{
		{"at once", func(n int64, _ bool) int64 { return n }, true},
		{"at the end", func(n int64, closed bool) int64 {
			if closed {
				return n
			}
			return 0
		}, true},
		{"not the last", func(n int64, _ bool) int64 { return n - 1 }, false},
		{"falls", func(n int64, closed bool) int64 {
			if n == 2 {
				return 0
			}
			return n
		}, false},
		{"too many", func(n int64, closed bool) int64 { return n + 1 }, false},
	} {
		err := stream.into(context.Background(), func() (flow.Sink, func()) { return &durables{says: c.says}, nil }, nil)
		if (err == nil) != c.good {
			t.Errorf("%s: the error is %v", c.name, err)
		}
	}
}

// leakySource keeps a claim to what it gives away.
type leakySource struct{ flow.Source }

func (s leakySource) Open(ctx context.Context, mem memory.Allocator) (flow.Reader, error) {
	r, err := s.Source.Open(ctx, mem)
	return leakyReader{r}, err
}

type leakyReader struct{ flow.Reader }

func (r leakyReader) Next(ctx context.Context) (arrow.Record, error) {
	rec, err := r.Reader.Next(ctx)
	if err == nil {
		rec.Retain()
	}
	return rec, err
}
