package sinks

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/count"
)

// Word is a word of the rows that a model reads.
type Word struct {
	ID   uint64 // of operators.WordIDs
	Text string // independent of the place of the word; its id in hexadecimal if its counter is no count.Finder
	// Strength is the standard deviation, over the rows, of what the word adds to the answers, in the unit of WordWeight, over all
	// classes, and all models of an nn.Ensemble or nn.Targets.
	Strength float64

	first int64 // first row with the word
}

// MostWords is the default number of words in a table.
const MostWords = 1000

// Words returns the words of rows, the strongest first, and how many words of the rows are left out. The model consists of nn.Additive
// ones; others have no words. At most so many words are returned that have a strength; 0 = MostWords. A negative number returns all words,
// those that the model does not read too. Words of operators.Intervals are none of them: they are numbers of the row.
//
// rows is as choose.Rows, and is run twice. ids are those of the nodes of the graph that all rows share, or none. The memory grows with the number of different words.
func (p *Predictor) Words(ctx context.Context, rows func(operators.Recipe) flow.Pipeline, ids graph.IDs, most int) (words []Word, left int, err error) {
	first := slices.IndexFunc(p.recipe, func(op flow.Operator) bool { _, ok := op.(operators.Count); return ok })
	if first < 0 || len(additives(p.net)) == 0 {
		return nil, 0, nil
	}
	r := &ranking{tallies: map[uint64]*tally{}}
	learn, ofIntervals := p.contributions(r.add), map[uint64]bool{}
	intervals, read := operators.Find[operators.Intervals](p.recipe)
	rank := func(_ context.Context, rec arrow.Record) error {
		if read && rec.NumRows() > 0 {
			numbers, n, err := record.FixedValues[float32](rec, record.RowColumns)
			if err != nil {
				return err
			}
			for row := range slices.Chunk(numbers, max(n, 1)) {
				intervals.Words(row, func(_ int, word uint64) { ofIntervals[word] = true })
			}
		}
		return learn(rec)
	}
	if err := rows(p.recipe).To(flow.Each("words", rank)).Run(ctx); err != nil {
		return nil, 0, fmt.Errorf("sinks: words: %w", err)
	}
	for id := range ofIntervals {
		delete(r.tallies, id)
	}
	left = len(r.tallies)
	if words = r.words(most < 0); most >= 0 {
		words = words[:min(len(words), cmp.Or(most, MostWords))]
	}
	wanted := map[int64]map[uint64]*Word{} // words to name, by the first row that has them
	for i := range words {
		w := &words[i]
		if w.Text = fmt.Sprintf("%#016x", w.ID); wanted[w.first] == nil {
			wanted[w.first] = map[uint64]*Word{}
		}
		wanted[w.first][w.ID] = w
	}
	row := int64(0)
	name := func(ctx context.Context, rec arrow.Record) error {
		for i := range rec.NumRows() {
			words := wanted[row]
			if row++; words == nil {
				continue
			}
			one := rec.NewSlice(i, i+1)
			view, err := eachWord(ctx, one, p.recipe[first:], ids, func(_ *countView, o count.Occurrence) {
				if w := words[o.ID]; w != nil {
					w.Text = o.Text()
					delete(words, o.ID)
				}
			})
			if one.Release(); view != nil {
				view.release()
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	if err := rows(p.recipe[:first]).To(flow.Each("words", name)).Run(ctx); err != nil {
		return nil, 0, fmt.Errorf("sinks: words: %w", err)
	}
	return words, left - len(words), nil
}

// Features is an operator that turns the rows that a model reads into a table, for tools that learn from tables:
//
//	id              of the row, or source and target of a pair
//	NAME            each number of the row (record.RowColumns), NaN where it is missing; with a Channel.Offset it is added, in float64
//	TEXT            how often the row has the word, for each of Words
//	nodes, edges …  the tensors that a network reads, as they are; see package record
//
// A name that is taken is followed by a space and the id of the word, or the number of the column. With all words of a model of
// counts, and its numbers, the table has all that the model reads:
//
//	words, left, err := p.Words(ctx, rows, ids, 0)
//	err = rows(p.Recipe()).Via(sinks.Features{Words: words}).To(parquet.Sink{Path: "features.parquet"}).Run(ctx)
type Features struct {
	Words []Word
	// IDs is the type of the ids: graph.StringIDs, or graph.Int64IDs, the default.
	IDs graph.IDKind
	// ID returns the id of a row, or with Pairs two, such as scores.RootID. It is called for each row, in order. The default is the number
	// of the graph.
	ID    func(Prediction) []string
	Pairs bool
}

// tensors are the columns that a network reads.
var tensors = []string{record.Nodes, record.NodesCat, record.NodesSparse, record.Edges, record.EdgesCat}

// Open checks the columns.
func (f Features) Open(in *arrow.Schema) (flow.Stage, error) {
	s := &features{Features: f, at: map[uint64]int{}}
	var err error
	if s.shape, err = Shape(in); err != nil {
		return nil, err
	}
	s.shape.Classes, s.shape.Targets = 0, nil
	if s.ID == nil {
		s.ID = func(p Prediction) []string { return []string{fmt.Sprint(p.Graph)} }
	}
	taken, fields := map[string]bool{}, []arrow.Field(nil)
	add := func(name, otherwise string, t arrow.DataType) {
		if taken[name] {
			name += " " + otherwise
		}
		taken[name] = true
		fields = append(fields, arrow.Field{Name: name, Type: t})
	}
	id := arrow.DataType(arrow.PrimitiveTypes.Int64)
	if f.IDs == graph.StringIDs {
		id = arrow.BinaryTypes.String
	}
	s.ids = []string{"id"}
	if f.Pairs {
		s.ids = []string{"source", "target"}
	}
	for _, name := range s.ids {
		add(name, "", id)
	}
	s.numbers = record.Channels(in)[record.RowColumns]
	for i, c := range s.numbers {
		t := arrow.PrimitiveTypes.Float32
		if c.Offset != 0 {
			t = arrow.PrimitiveTypes.Float64
		}
		add(c.Name, fmt.Sprint(i), t)
	}
	for i, w := range f.Words {
		s.at[w.ID] = i
		add(w.Text, fmt.Sprintf("%#016x", w.ID), arrow.PrimitiveTypes.Float32)
	}
	s.built = arrow.NewSchema(fields, nil)
	for _, name := range tensors {
		for _, at := range in.FieldIndices(name) {
			s.tensors, fields = append(s.tensors, at), append(fields, in.Field(at))
		}
	}
	s.schema = arrow.NewSchema(fields, nil)
	return s, nil
}

// features is the stage that Features opens for one input schema.
type features struct {
	Features
	shape         nn.Shape
	schema, built *arrow.Schema // schema of the output, and built, that of the columns that are not tensors
	ids           []string      // names of the columns of ids
	numbers       []record.Channel
	tensors       []int          // indices of the tensors among the columns of the input
	at            map[uint64]int // index of each word in Words
}

func (s *features) Schema() *arrow.Schema { return s.schema }

func (*features) Close() error { return nil }

func (s *features) Process(rec arrow.Record, out *flow.Out) error {
	b := array.NewRecordBuilder(out.Allocator(), s.built)
	defer b.Release()
	rows := int(rec.NumRows())
	err := each(rec, s.shape, make([]float32, rows), func(p Prediction) error { return s.name(b, s.ID(p)) })
	if err != nil {
		return err
	}
	if len(s.numbers) > 0 {
		x, n, err := record.FixedValues[float32](rec, record.RowColumns)
		if err != nil {
			return err
		}
		for i, x := range x {
			switch to, offset := b.Field(len(s.ids)+i%n), s.numbers[i%n].Offset; to := to.(type) {
			case *array.Float32Builder:
				to.Append(x)
			case *array.Float64Builder:
				to.Append(float64(x) + offset)
			}
		}
	}
	if len(s.Words) > 0 {
		counts, err := CountsOf(rec)
		if err != nil {
			return err
		}
		row := make([]float32, len(s.Words))
		for i := range rows {
			clear(row)
			ids, values := counts.Row(i)
			for j, id := range ids {
				if at, ok := s.at[id]; ok {
					row[at] = float32(values[j])
				}
			}
			for at, x := range row {
				b.Field(len(s.ids) + len(s.numbers) + at).(*array.Float32Builder).Append(x)
			}
		}
	}
	made := b.NewRecord()
	defer made.Release()
	columns := slices.Clone(made.Columns())
	for _, at := range s.tensors {
		columns = append(columns, rec.Column(at))
	}
	return out.Emit(array.NewRecord(s.schema, columns, int64(rows)))
}

// name appends the ids of a row.
func (s *features) name(b *array.RecordBuilder, ids []string) error {
	if len(ids) != len(s.ids) {
		return fmt.Errorf("%d ids of a row, want %d", len(ids), len(s.ids))
	}
	for i, id := range ids {
		switch to := b.Field(i).(type) {
		case *array.StringBuilder:
			to.Append(id)
		case *array.Int64Builder:
			n, err := strconv.ParseInt(id, 10, 64)
			if err != nil {
				return fmt.Errorf("the id %.80q is no integer", id)
			}
			to.Append(n)
		}
	}
	return nil
}
