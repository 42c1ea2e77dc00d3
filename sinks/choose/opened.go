package choose

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/sinks"
)

// Question is a row or a node to predict, with all data that the model reads about it at one position.
type Question struct {
	row     []float32    // numbers of the row
	graph   *graph.Graph // graph of the row alone, of its past, or around a node
	ids     graph.IDs    // ids of the nodes of graph, for an OpenNodes
	root    int32        // node of graph to predict; 0 for a row
	id      string       // id of the row or the node
	nodes   []int32      // number of each node of graph except the row; -1 = a new key
	values  []string     // keys of the row, by key column
	earlier []earlierOf  // earlier rows, by key column
	unknown int          // number of words of the row that the model does not have
	ignored []string     // columns with values that are not read
}

// Ignored returns the columns of a row of no table that have values and are not read.
func (q *Question) Ignored() []string { return q.ignored }

// Unknown returns the number of words of a row of no table that the model does not have.
func (q *Question) Unknown() int { return q.unknown }

// Reasons are the reasons of the answer about a row.
type Reasons struct {
	*sinks.Explanation
	// Earlier are the latest rows before the row, by key.
	Earlier []EarlierRows `json:"earlier"`

	Graph *graph.Graph `json:"-"` // of the row, with the node numbers of Explanation
	IDs   graph.IDs    `json:"-"` // of its nodes
}

// opened is what an OpenHistory and an OpenNodes have in common: a model, the form of a question, and the names of nodes.
type opened struct {
	p      *sinks.Predictor
	rows   *sinks.OpenRows
	asked  record.Layout // layout of the graph of a question
	schema *arrow.Schema // schema of a question: its graph, its root and, if the model reads them, the numbers of a row
	ids    graph.IDs     // ids of the nodes of the tables
	index  *graph.IDIndex
	named  map[string]int32 // numbers of nodes that no table has, by id
	names  []string         // ids of the nodes of named, by number; "" = free

	form     Form
	mu       sync.RWMutex
	position int64 // position of the last applied event
}

// open opens a model for questions whose graphs have the layout asked. numbers are the names of the numbers of a row, nil if the model reads none, and
// behind is the recipe behind the graphs.
func (o *opened) open(p *sinks.Predictor, ids graph.IDs, asked record.Layout, numbers []string, behind operators.Recipe) (err error) {
	o.p, o.ids, o.asked, o.named = p, ids, asked, map[string]int32{}
	fields := []arrow.Field{record.ListField[int32](record.Roots, []int{1})}
	if numbers != nil {
		fields = append(fields, record.ColumnsField(numbers))
	}
	if o.schema, err = record.Extend(asked.Schema(), fields...); err != nil {
		return err
	}
	if o.index, err = ids.Index(); err != nil {
		return err
	}
	o.rows, err = p.OpenRows(o.schema, behind)
	return err
}

// Form implements Changing.
func (o *opened) Form() Form { return o.form }

// Close frees what was opened, but for the model.
func (o *opened) Close() error { return o.rows.Close() }

// nameOf returns the id of a node of the tables or of the events.
func (o *opened) nameOf(v int32) string {
	if i := int(v) - o.ids.Len(); i >= 0 {
		return o.names[i]
	}
	return o.ids.Name(v)
}

// Predict returns the answer to a question. About a row that is in no table it is that of a table that ends before the row.
func (o *opened) Predict(ctx context.Context, q *Question) (sinks.Answer, error) {
	rec, err := o.record(q)
	if err != nil {
		return sinks.Answer{}, err
	}
	defer rec.Release()
	return o.rows.Predict(ctx, rec)
}

// explain returns the reasons of the answer to a question. ids are those of the nodes of its graph.
func (o *opened) explain(ctx context.Context, q *Question, class string, ids graph.IDs) (*sinks.Explanation, error) {
	rec, err := o.record(q)
	if err != nil {
		return nil, err
	}
	defer rec.Release()
	return o.rows.Explain(ctx, rec, sinks.ExplainOptions{Class: class, IDs: ids})
}

// record returns a question as the recipe reads it. The caller releases it.
func (o *opened) record(q *Question) (arrow.Record, error) {
	b := record.NewBuilder(memory.DefaultAllocator, o.asked)
	defer b.Release()
	if err := b.Append(q.graph, record.Row{}); err != nil {
		return nil, err
	}
	rec := b.Record()
	defer rec.Release()
	roots := record.NewLists[int32](memory.DefaultAllocator)
	roots.Append([]int32{q.root})
	columns := map[string]arrow.Array{record.Roots: roots.Finish()}
	if o.schema.HasField(record.RowColumns) {
		numbers := record.NewFixed[float32](memory.DefaultAllocator, len(q.row))
		copy(numbers.Extend(1), q.row)
		columns[record.RowColumns] = numbers.Finish()
	}
	return record.Project(o.schema, rec, columns)
}

// classNamed returns the number of a class, -1 for an empty name.
func classNamed(classes []string, name string) (int32, error) {
	c := int32(slices.Index(classes, name))
	if name != "" && c < 0 {
		return 0, fmt.Errorf("the class is %.80q, want one of the model, or none", name)
	}
	return c, nil
}

// Lesson is a question whose class has come.
type Lesson struct {
	Question *Question
	Class    int32
}

// Tells reports whether a change sets a class.
func (c *Change) Tells() bool { return c.class >= 0 }

// LessonOf returns what a change teaches, once Apply has made it and none behind it; nil where it teaches nothing: it tells no class, that which a row had, or
// that of a node that is not there. A question has all that is known of the rows before a row, and nothing of its class. It has nothing of the classes of nodes
// that events tell, so each teaches.
func LessonOf(rows Changing, c *Change) (*Lesson, error) {
	if !c.Tells() || c.class == c.before {
		return nil, nil
	}
	asked, _, err := rows.Ask([]string{c.Event.ID}, nil)
	if err != nil {
		return nil, err
	}
	return &Lesson{asked[0], c.class}, nil
}

// Learner returns a copy of the model that learns, which the caller closes; see sinks.OpenRows.Learner.
func (o *opened) Learner(rate float64) (*sinks.RowLearner, error) { return o.rows.Learner(rate) }

// Learn lets a learner learn from a lesson; see sinks.RowLearner.Learn.
func (o *opened) Learn(ctx context.Context, l *sinks.RowLearner, lesson *Lesson) (said, loaded []float32, err error) {
	rec, err := o.record(lesson.Question)
	if err != nil {
		return nil, nil, err
	}
	defer rec.Release()
	return l.Learn(ctx, rec, lesson.Class)
}

// Positive is the class that AUC and AP are about, -1 if there are other than two.
func (o *opened) Positive() int {
	classes := o.p.Classes()
	if len(classes) != 2 {
		return -1
	}
	if classes[0] == nn.MetadataOf(o.p.Net())[positiveNote] {
		return 0
	}
	return 1
}
