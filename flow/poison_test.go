package flow_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
)

// stale keeps the ids of each record, without a Retain, and reads those of the record
// before. As a source it does so with what it gave.
type stale struct {
	name string
	fork bool
	sum  *int64
}

func (s stale) Name() string { return s.name }

type staleStage struct {
	stale
	schema *arrow.Schema
	before []int64
}

func (s stale) Open(in *arrow.Schema) (flow.Stage, error) {
	st := &staleStage{stale: s, schema: in}
	if s.fork {
		return staleFork{st}, nil
	}
	return st, nil
}

func (s *staleStage) Schema() *arrow.Schema { return s.schema }

func (s *staleStage) look(rec arrow.Record) error {
	for _, id := range s.before {
		*s.sum += id
	}
	var err error
	s.before, err = record.Values[int64](rec, record.GraphID)
	return err
}

func (s *staleStage) Process(rec arrow.Record, out *flow.Out) error {
	if err := s.look(rec); err != nil {
		return err
	}
	rec.Retain()
	return out.Emit(rec)
}

type staleFork struct{ *staleStage }

func (s staleFork) Fork() flow.Stage {
	return staleFork{&staleStage{stale: stale{s.name, s.fork, new(int64)}, schema: s.schema}}
}

type staleSink struct{ stale }

func (s staleSink) Open(in *arrow.Schema) (flow.Writer, error) {
	return staleWriter{&staleStage{stale: s.stale}}, nil
}

type staleWriter struct{ *staleStage }

func (w staleWriter) Write(_ context.Context, rec arrow.Record) error { return w.look(rec) }
func (staleWriter) Close(error) error                                 { return nil }

type staleSource struct {
	numbers
	stale
}

func (s staleSource) Name() string { return s.name }

func (s staleSource) Open(ctx context.Context, mem memory.Allocator) (flow.Reader, error) {
	r, err := s.numbers.Open(ctx, mem)
	return staleReader{r, &staleStage{stale: s.stale}}, err
}

type staleReader struct {
	flow.Reader
	stage *staleStage
}

func (r staleReader) Next(ctx context.Context) (arrow.Record, error) {
	rec, err := r.Reader.Next(ctx)
	if err != nil {
		return nil, err
	}
	return rec, r.stage.look(rec)
}

// A stage that reads a slice of a record after its release is named, with the line, in
// whatever goroutine it runs. Without poison the read stays unnoticed.
func TestPoisonNamesStage(t *testing.T) {
	in := numbers{Records: 1000, Rows: 3}
	bad := stale{name: "bad", sum: new(int64)}
	for _, c := range []struct {
		name string
		p    flow.Pipeline
	}{
		{"operator", flow.From(in).Via(step{Label: "good"}).Via(bad).Via(step{Label: "after"})},
		{"workers", flow.From(in).Via(step{Label: "good", mode: forks}).Via(stale{"bad", true, new(int64)}).With(flow.Options{Workers: 3})},
		{"sink", flow.From(in).To(staleSink{bad})},
		{"source", flow.From(staleSource{in, bad}).Via(step{Label: "after", mode: forks}).With(flow.Options{Workers: 1})},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("SANFLOW_MEM", "")
			if err := c.p.Run(context.Background()); err != nil {
				t.Fatalf("without poison: %v", err)
			}
			t.Setenv("SANFLOW_MEM", "poison")
			err := c.p.Run(context.Background())
			if runtime.GOOS != "linux" && runtime.GOOS != "darwin" {
				t.Skip("on this system memory is overwritten only")
			}
			var e *flow.Error
			if !errors.As(err, &e) || e.Stage != "bad" || !strings.Contains(err.Error(), "after its release") ||
				!strings.Contains(err.Error(), "flow/poison_test.go:") {
				t.Errorf("the error is %v, want one of stage bad with its line", err)
			}
		})
	}
	t.Run("direct", func(t *testing.T) {
		t.Setenv("SANFLOW_MEM", "poison")
		reader, err := in.Open(context.Background(), record.Poison{})
		if err != nil {
			t.Fatal(err)
		}
		d, err := flow.OpenDirect(reader.Schema(), flow.Options{}, bad)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			var rec arrow.Record
			if rec, err = reader.Next(context.Background()); err != nil {
				t.Fatal(err)
			}
			outs, failed := d.Process(context.Background(), rec)
			for _, out := range outs {
				out.Release()
			}
			rec.Release()
			err = failed
		}
		var e *flow.Error
		if (runtime.GOOS == "linux" || runtime.GOOS == "darwin") && (!errors.As(err, &e) || e.Stage != "bad") {
			t.Errorf("the error is %v, want one of stage bad", err)
		}
	})
}

func TestPoisonSetting(t *testing.T) {
	t.Setenv("SANFLOW_MEM", "pioson")
	err := flow.From(numbers{Records: 1, Rows: 1}).Run(context.Background())
	if err == nil || !strings.Contains(err.Error(), "SANFLOW_MEM=pioson") {
		t.Errorf("the error is %v, want one that names the setting", err)
	}
}
