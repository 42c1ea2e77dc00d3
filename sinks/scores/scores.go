package scores

import (
	"fmt"
	"strconv"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/sinks"
)

// Columns describes the columns of predictions.
type Columns struct {
	// IDs is the type of the ids: graph.StringIDs, or graph.Int64IDs, the default.
	IDs graph.IDKind
	// Classes are the names of the classes. Without Classes the predictions are numbers; see also Rows.
	Classes []string
	// Targets, in place of Classes, are several targets.
	Targets []record.TargetChannel
	// Offset is added to predicted numbers in float64, which is then the type of the column.
	Offset float64
	// Links selects the columns of pairs of nodes, in two classes.
	Links bool
}

// schema checks the columns, and returns the schema of the records. With positions, the last column is pos.
func (c Columns) schema(positions bool) (*arrow.Schema, error) {
	switch {
	case c.Links && len(c.Classes) != 2:
		return nil, fmt.Errorf("scores: links have the classes %q, want two", c.Classes)
	case c.IDs != graph.NoIDs && c.IDs != graph.Int64IDs && c.IDs != graph.StringIDs:
		return nil, fmt.Errorf("scores: ids of the kind %q, want %q or %q", c.IDs, graph.Int64IDs, graph.StringIDs)
	}
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
	if positions {
		fields = append(fields, arrow.Field{Name: record.Pos, Type: arrow.PrimitiveTypes.Int64})
	}
	s := arrow.NewSchema(fields, nil)
	for i, f := range fields {
		if s.FieldIndices(f.Name)[0] != i {
			return nil, fmt.Errorf("scores: the targets and their classes give two columns the name %.80q", f.Name)
		}
	}
	return s, nil
}

// answers makes records of predictions.
type answers struct {
	columns   Columns
	schema    *arrow.Schema
	build     *array.RecordBuilder // builder of the current record
	rows      int64                // rows of all records
	predictor flow.Writer          // the writer of sinks.Predict, which calls write
}

// write appends one prediction with the ids of its node, graph or pair: one id, or two for a link. Integer
// ids are decimal. An empty id is an error. After an error the record is not complete.
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
	for i, id := range ids {
		if id == "" {
			return fmt.Errorf("scores: row %d: column %q: the id is empty", w.rows+1, w.schema.Field(i).Name)
		}
		switch b := w.build.Field(i).(type) {
		case *array.StringBuilder:
			b.Append(id)
		case *array.Int64Builder:
			n, err := strconv.ParseInt(id, 10, 64)
			if err != nil {
				return fmt.Errorf("scores: row %d: column %q: the id %.80q is no integer", w.rows+1, w.schema.Field(i).Name, id)
			}
			b.Append(n)
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
	if next < w.schema.NumFields() {
		w.build.Field(next).(*array.Int64Builder).Append(p.Pos)
	}
	w.rows++
	return nil
}

// Rows is an operator that predicts each row as [sinks.Predict] does, and emits a row of predictions, so that
// a part of a plan (package flow/part) can be a file of predictions. The last column is pos, the position of
// the row or -1.
type Rows struct {
	// Net is the model, or Graph a graph whose nodes are predicted; see sinks.Predict.
	Net   nn.Predictor
	Graph *sinks.OpenGraph
	// Columns are those of the answers. The default of the Classes is the names that the stream has
	// for the classes of Net, or else their numbers.
	Columns
	// ID returns the id of a row: RootID for rows of nodes. The default is the number of
	// the graph.
	ID func(sinks.Prediction) []string
	// Bare leaves out the column pos.
	Bare bool
}

// Name returns the name shown in plans and errors.
func (Rows) Name() string { return "scores" }

// String is for the plan of a pipeline.
func (Rows) String() string { return "Scores" }

// Open checks the model against the schema.
func (r Rows) Open(in *arrow.Schema) (flow.Stage, error) {
	if r.ID == nil {
		r.ID = func(p sinks.Prediction) []string { return []string{strconv.FormatInt(p.Graph, 10)} }
	}
	w := &answers{}
	var err error
	w.predictor, err = sinks.Predict{Net: r.Net, Graph: r.Graph, Each: func(p sinks.Prediction) error { return w.write(p, r.ID(p)...) }}.Open(in)
	if err != nil {
		return nil, err
	}
	if r.Net != nil && len(r.Classes) == 0 {
		for i := range r.Net.Shape().Classes {
			r.Classes = append(r.Classes, strconv.Itoa(i))
		}
		if len(r.Classes) > 0 {
			_ = record.Meta(in, record.Target, record.MetaClasses, &r.Classes) // without names, the classes keep their numbers
		}
	}
	w.columns = r.Columns
	w.schema, err = r.Columns.schema(!r.Bare)
	return w, err
}

// Schema implements flow.Stage.
func (w *answers) Schema() *arrow.Schema { return w.schema }

// Process implements flow.Stage.
func (w *answers) Process(rec arrow.Record, out *flow.Out) error {
	w.build = array.NewRecordBuilder(out.Allocator(), w.schema)
	defer w.build.Release()
	err := w.predictor.(flow.RefusingWriter).WriteSome(out.Context(), rec, func(row int, err error) error { return out.Refuse(rec, row, err) })
	if err != nil {
		return err
	}
	return out.Emit(w.build.NewRecord())
}

// Close implements flow.Stage.
func (w *answers) Close() error { return w.predictor.Close(nil) }

// RootID is a Rows.ID for rows of nodes: the id of the root, or the number of the root where
// nodes have no ids.
func RootID(p sinks.Prediction) []string {
	if p.ID.IsZero() {
		return []string{strconv.Itoa(int(p.Root))}
	}
	return []string{p.ID.String()}
}
