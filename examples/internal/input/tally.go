package input

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
)

// Named is a source of graphs that notes how long it took to open.
type Named struct {
	flow.Source
	Seconds float64 // to open it: an edge list is read as a whole then
	Quiet   bool    // the notes of tables are not printed
}

// Name is that of the source, for errors and the plan of a pipeline.
func (s *Named) Name() string { return flow.Name(s.Source) }

// String is for the plan of a pipeline.
func (s *Named) String() string { return fmt.Sprint(s.Source) }

// Open opens the source.
func (s *Named) Open(ctx context.Context, mem memory.Allocator) (flow.Reader, error) {
	start := time.Now()
	r, err := s.Source.Open(ctx, mem)
	if err != nil {
		return nil, cli.Cause(ctx, err)
	}
	if s.Seconds = time.Since(start).Seconds(); !r.Schema().HasField(record.Offsets) {
		return nil, errors.Join(errors.New("the input has fields, and no graphs: export with -graphs writes those"), r.Close())
	}
	if t, ok := r.(interface{ Notes() []string }); ok && !s.Quiet {
		for _, note := range t.Notes() {
			fmt.Fprintln(os.Stderr, note)
		}
	}
	return r, nil
}

// Tally is an operator that lets records pass, and counts their graphs.
type Tally struct {
	Graphs, Nodes, Edges int64
	Start                time.Time // when the first record came
}

// String is for the plan of a pipeline.
func (t *Tally) String() string { return "Tally" }

// Open implements flow.Operator.
func (t *Tally) Open(in *arrow.Schema) (flow.Stage, error) { return &tallier{t, in}, nil }

type tallier struct {
	*Tally
	schema *arrow.Schema
}

func (t *tallier) Schema() *arrow.Schema { return t.schema }

func (t *tallier) Process(rec arrow.Record, out *flow.Out) error {
	if t.Start.IsZero() {
		t.Start = time.Now()
	}
	graphs, err := record.GraphsOf(rec)
	if err != nil {
		return err
	}
	var g graph.Graph
	for row := range graphs.Len() {
		graphs.At(row, &g)
		t.Graphs++
		t.Nodes += int64(g.N())
		t.Edges += int64(g.M())
	}
	rec.Retain()
	return out.Emit(rec)
}

// Notes returns the notes of operators.Normalize, or nil.
func Notes(stages []flow.StageStats) map[string]int64 {
	for _, stage := range stages {
		if _, ok := stage.Notes["fields"]; ok {
			return stage.Notes
		}
	}
	return nil
}
