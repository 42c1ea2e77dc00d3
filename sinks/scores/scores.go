package scores

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/sinks"
)

// Columns are the columns of a file of answers.
type Columns struct {
	// IDs is the type of the ids: graph.StringIDs, or graph.Int64IDs, the default.
	IDs graph.IDKind
	// Classes are the names of the classes. Without them answers are numbers.
	Classes []string
	// Targets, in place of Classes, are several targets.
	Targets []record.TargetChannel
	// Offset is added to answers that are numbers, in float64, which is then their type.
	Offset float64
	// Links are answers about pairs of nodes, in two classes.
	Links bool
}

// schema is that of the records.
func (c Columns) schema() *arrow.Schema {
	id := arrow.DataType(arrow.PrimitiveTypes.Int64)
	if c.IDs == graph.StringIDs {
		id = arrow.BinaryTypes.String
	}
	number := arrow.PrimitiveTypes.Float32
	var fields []arrow.Field
	add := func(of string, classes []string, offset float64) {
		switch {
		case len(classes) > 0:
			fields = append(fields, arrow.Field{Name: "class" + of, Type: arrow.BinaryTypes.String})
			for _, name := range classes {
				fields = append(fields, arrow.Field{Name: "p" + of + "_" + name, Type: number})
			}
		case offset != 0:
			fields = append(fields, arrow.Field{Name: "value" + of, Type: arrow.PrimitiveTypes.Float64})
		default:
			fields = append(fields, arrow.Field{Name: "value" + of, Type: number})
		}
	}
	switch {
	case c.Links:
		fields = []arrow.Field{{Name: "source", Type: id}, {Name: "target", Type: id}, {Name: "p", Type: number}}
	default:
		if fields = []arrow.Field{{Name: "id", Type: id}}; len(c.Targets) == 0 {
			add("", c.Classes, c.Offset)
		}
		for _, t := range c.Targets {
			add("_"+t.Name, t.Classes, t.Offset)
		}
	}
	return arrow.NewSchema(fields, nil)
}

// answers writes answers, one at a time, to a sink.
type answers struct {
	columns Columns
	to      flow.Writer
	build   *array.RecordBuilder
	rows    int
	written int64 // rows of the records before
	records int64 // that to has
}

// batch is the rows of a record.
const batch = 4096

// open begins a file of answers. The sink gets records of mem.
func (c Columns) open(to flow.Sink, mem memory.Allocator) (*answers, error) {
	switch {
	case to == nil:
		return nil, errors.New("scores: there is no sink to write to")
	case c.Links && len(c.Classes) != 2:
		return nil, fmt.Errorf("scores: links have the classes %q, want two", c.Classes)
	case c.IDs != graph.NoIDs && c.IDs != graph.Int64IDs && c.IDs != graph.StringIDs:
		return nil, fmt.Errorf("scores: ids of the kind %q, want %q or %q", c.IDs, graph.Int64IDs, graph.StringIDs)
	}
	s := c.schema()
	for i, f := range s.Fields() {
		if s.FieldIndices(f.Name)[0] != i {
			return nil, fmt.Errorf("scores: the targets and their classes give two columns the name %.80q", f.Name)
		}
	}
	w, err := to.Open(s)
	if err != nil {
		return nil, fmt.Errorf("scores: %w", err)
	}
	return &answers{columns: c, to: w, build: array.NewRecordBuilder(mem, s)}, nil
}

// write writes one prediction, with the ids of its node, graph or pair: one id, or two for
// a link. Integer ids are decimal. An empty id is an error.
func (w *answers) write(p sinks.Prediction, ids ...string) error {
	want := 1
	if w.columns.Links {
		want = 2
	}
	if len(ids) != want || len(p.Probs) != len(w.columns.Classes) {
		return fmt.Errorf("scores: %d ids and %d probabilities, want %d and %d", len(ids), len(p.Probs), want, len(w.columns.Classes))
	}
	if len(p.Targets) != len(w.columns.Targets) {
		return fmt.Errorf("scores: %d targets, want %d", len(p.Targets), len(w.columns.Targets))
	}
	numbers := make([]int64, len(ids)) // before anything is appended
	for i, id := range ids {
		if id == "" {
			return fmt.Errorf("scores: row %d: column %q: the id is empty", w.written+int64(w.rows)+1, w.build.Schema().Field(i).Name)
		}
		if w.columns.IDs != graph.StringIDs {
			var err error
			if numbers[i], err = strconv.ParseInt(id, 10, 64); err != nil {
				return fmt.Errorf("scores: row %d: column %q: the id %.80q is no integer", w.written+int64(w.rows)+1, w.build.Schema().Field(i).Name, id)
			}
		}
	}
	for i, id := range ids {
		switch b := w.build.Field(i).(type) {
		case *array.StringBuilder:
			b.Append(id)
		case *array.Int64Builder:
			b.Append(numbers[i])
		}
	}
	next := 1
	number := func(x float32) {
		w.build.Field(next).(*array.Float32Builder).Append(x)
		next++
	}
	add := func(p *sinks.Prediction, classes []string, offset float64) {
		switch {
		case len(classes) > 0:
			w.build.Field(next).(*array.StringBuilder).Append(classes[p.Class])
			next++
			for _, x := range p.Probs {
				number(x)
			}
		case offset != 0:
			w.build.Field(next).(*array.Float64Builder).Append(float64(p.Value) + offset)
			next++
		default:
			number(p.Value)
		}
	}
	switch {
	case w.columns.Links:
		next = 2
		number(p.Probs[1])
	case len(w.columns.Targets) == 0:
		add(&p, w.columns.Classes, w.columns.Offset)
	}
	for i, t := range w.columns.Targets {
		add(&p.Targets[i], t.Classes, t.Offset)
	}
	if w.rows++; w.rows < batch {
		return nil
	}
	return w.flush()
}

func (w *answers) flush() error {
	if w.rows == 0 {
		return nil
	}
	rec := w.build.NewRecord()
	defer rec.Release()
	w.rows, w.written, w.records = 0, w.written+int64(w.rows), w.records+1
	return w.to.Write(context.Background(), rec)
}

// close ends the file. If failed is not nil the file does not appear.
func (w *answers) close(failed error) error {
	if failed == nil {
		failed = w.flush()
	}
	w.build.Release()
	err := w.to.Close(failed)
	if failed != nil {
		return failed
	}
	return err
}

// Sink predicts every row of the stream, as [sinks.Predict] does, and writes the predictions, those of
// a record at once. A row is complete when To has its prediction durably: a file when it has its name.
type Sink struct {
	// Net is the model, or Graph a graph whose nodes are asked about; see sinks.Predict.
	Net   nn.Predictor
	Graph *sinks.OpenGraph
	Columns
	// ID returns the id of a row: RootID for rows of nodes. The default is the number of
	// the graph.
	ID func(sinks.Prediction) []string
	// To takes the records of answers.
	To flow.Sink
}

// RootID is a Sink.ID for rows of nodes: the id of the root, or the number of the root where
// nodes have no ids.
func RootID(p sinks.Prediction) []string {
	if p.ID.IsZero() {
		return []string{strconv.Itoa(int(p.Root))}
	}
	return []string{p.ID.String()}
}

var _ flow.Sink = Sink{}

// Name returns the name shown in plans and errors.
func (Sink) Name() string { return "scores" }

// String returns the destination, for the plan of a pipeline.
func (s Sink) String() string { return fmt.Sprintf("Scores(%v)", s.To) }

// Open checks the model against the schema, and begins the file.
func (s Sink) Open(in *arrow.Schema) (flow.Writer, error) {
	id := s.ID
	if id == nil {
		id = func(p sinks.Prediction) []string { return []string{strconv.FormatInt(p.Graph, 10)} }
	}
	w := &sinkWriter{}
	asked, err := sinks.Predict{Net: s.Net, Graph: s.Graph, Each: func(p sinks.Prediction) error { return w.out.write(p, id(p)...) }}.Open(in)
	if err != nil {
		return nil, err
	}
	if w.out, err = s.Columns.open(s.To, memory.DefaultAllocator); err != nil {
		return nil, err
	}
	w.Writer = asked
	return w, nil
}

type sinkWriter struct {
	flow.Writer
	out     *answers
	ends    []int64 // of each record that is not durable: the records that out.to had after it
	durable int64
}

var (
	_ flow.DurableWriter  = (*sinkWriter)(nil)
	_ flow.RefusingWriter = (*sinkWriter)(nil)
	_ flow.TimedWriter    = (*sinkWriter)(nil)
)

// WriteSome lets the pipeline go on without rows that have no answer.
func (w *sinkWriter) WriteSome(ctx context.Context, rec arrow.Record, refuse func(row int, err error) error) error {
	if err := w.Writer.(flow.RefusingWriter).WriteSome(ctx, rec, refuse); err != nil {
		return err
	}
	if err := w.out.flush(); err != nil {
		return err
	}
	w.ends = append(w.ends, w.out.records)
	return nil
}

// Durable counts the records all of whose predictions are durable.
func (w *sinkWriter) Durable() int64 {
	safe := w.out.records
	if to, ok := w.out.to.(flow.DurableWriter); ok {
		safe = to.Durable()
	}
	for len(w.ends) > 0 && w.ends[0] <= safe {
		w.ends, w.durable = w.ends[1:], w.durable+1
	}
	return w.durable
}

// Deadline is that of To.
func (w *sinkWriter) Deadline() (d time.Time) {
	if to, ok := w.out.to.(flow.TimedWriter); ok {
		d = to.Deadline()
	}
	return d
}

// Expire is that of To.
func (w *sinkWriter) Expire(ctx context.Context) error {
	return w.out.to.(flow.TimedWriter).Expire(ctx)
}

func (w *sinkWriter) Close(failed error) error {
	return errors.Join(w.Writer.Close(failed), w.out.close(failed))
}
