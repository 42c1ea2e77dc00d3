package operators

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
)

// PerRoot makes a row of each root: a graph, or a chunk of roots, with tensors of shape (w, k,
// ·) becomes w rows of shape (1, k, ·). Zero fields are left out. The same stages, models and
// sinks then classify nodes as they classify graphs:
//
//	flow.From(sources.Nodes{Path: "Cora.zip"}).
//		Via(operators.Select{}).
//		Via(operators.Chunk{}).
//		Via(operators.Assemble{K: 20}).
//		Via(operators.Normalize{Distances: 3}).
//		Via(operators.PerRoot{Labelled: true}).
//		Via(operators.Replay{Epochs: 5, Rows: 32}).
//		To(sinks.Train{Net: &nn.Pooled{}})
//
// Files often list nodes by class. A Shuffle of a part of them barely mixes them, and a network
// then learns one class after the other and forgets. Replay mixes all rows. To mix a stream
// that is not stored, use Roots with the nodes in random order in place of Select.
//
// It follows Normalize. root_target, the class of the root, becomes the column target. Columns
// of the graph, if Normalize kept them, end here. All rows of a graph have its graph_id and its
// pos. O(values).
type PerRoot struct {
	// Labelled leaves out roots whose class is unknown. It keeps all roots of graphs without
	// classes of nodes, so the recipe of a model also makes the rows of predictions.
	Labelled bool
}

var _ flow.Operator = PerRoot{}

// Open checks that there are fields.
func (p PerRoot) Open(in *arrow.Schema) (flow.Stage, error) {
	s := &rootSplitter{PerRoot: p}
	var shape []int
	if err := record.Meta(in, record.Roots, record.MetaShape, &shape); err != nil {
		return nil, err
	}
	if len(shape) != 1 || !in.HasField(record.Members) {
		return nil, fmt.Errorf("there are no fields to split by root: put Normalize before PerRoot")
	}
	s.w = shape[0]
	classes, hasClasses, err := record.Field(in, record.RootTarget)
	if err != nil {
		return nil, err
	}
	s.Labelled = p.Labelled && hasClasses
	var all, whole, parts []arrow.Field
	for _, f := range record.Without(in, graphColumns...).Fields() {
		if f.Name == record.Target && hasClasses {
			continue // the class of the root replaces the column
		}
		part, ok, err := s.part(f)
		switch {
		case err != nil:
			return nil, err
		case ok:
			parts = append(parts, part)
		default:
			whole = append(whole, part)
		}
		all = append(all, part)
	}
	if hasClasses {
		text, _ := classes.Metadata.GetValue(record.MetaClasses) // every column of classes has the key
		m := arrow.NewMetadata([]string{record.MetaClasses}, []string{text})
		all = append(all, arrow.Field{Name: record.Target, Type: arrow.PrimitiveTypes.Int32, Metadata: m})
	}
	m := in.Metadata()
	s.classes, s.schema = hasClasses, arrow.NewSchema(all, &m)
	s.whole, s.parts = arrow.NewSchema(whole, nil), arrow.NewSchema(parts, nil)
	return s, nil
}

// rootSplitter is a running PerRoot.
type rootSplitter struct {
	PerRoot
	w            int
	classes      bool // nodes have classes
	schema       *arrow.Schema
	whole, parts *arrow.Schema // whole: columns that hold for all roots of a row; parts: columns with a part for each root

	rows, roots []record.Ref // by kept root: its row, and its index among the roots of all rows
	class       []int32      // by kept root: its class; empty without classes
}

func (s *rootSplitter) Schema() *arrow.Schema { return s.schema }

func (s *rootSplitter) Fork() flow.Stage {
	return &rootSplitter{PerRoot: s.PerRoot, w: s.w, classes: s.classes, schema: s.schema, whole: s.whole, parts: s.parts}
}

func (s *rootSplitter) Close() error { return nil }

// part returns the field of a column with one root in place of w. ok is false for a column that a row has for all its roots.
func (s *rootSplitter) part(f arrow.Field) (part arrow.Field, ok bool, err error) {
	list, isList := f.Type.(arrow.ListLikeType)
	if !isList || f.Name == record.RowColumns {
		return f, false, nil
	}
	var shape []int
	if err := record.Meta(arrow.NewSchema([]arrow.Field{f}, nil), f.Name, record.MetaShape, &shape); err != nil {
		return f, false, err
	}
	if len(shape) == 0 || shape[0] != s.w || s.w < 1 {
		return f, false, fmt.Errorf("column %q has the shape %v, want %d roots first, at least one", f.Name, shape, s.w)
	}
	shape[0] = 1
	text, err := json.Marshal(shape)
	if err != nil {
		return f, false, err
	}
	values := slices.Clone(f.Metadata.Values())
	values[f.Metadata.FindKey(record.MetaShape)] = string(text)
	f.Metadata = arrow.NewMetadata(f.Metadata.Keys(), values)
	if t, ok := f.Type.(*arrow.FixedSizeListType); ok {
		if int(t.Len())%s.w != 0 {
			return f, false, fmt.Errorf("column %q has %d values a row for %d roots", f.Name, t.Len(), s.w)
		}
		f.Type = arrow.FixedSizeListOf(t.Len()/int32(s.w), list.Elem())
	}
	return f, true, nil
}

func (s *rootSplitter) Process(rec arrow.Record, out *flow.Out) error {
	if err := s.keep(rec); err != nil {
		return err
	}
	whole, err := record.Project(s.whole, rec, nil)
	if err != nil {
		return err
	}
	defer whole.Release()
	parts, err := s.split(rec)
	if err != nil {
		return err
	}
	defer parts.Release()
	rows, err := record.Take(out.Allocator(), []arrow.Record{whole}, s.rows)
	if err != nil {
		return err
	}
	defer rows.Release()
	roots, err := record.Take(out.Allocator(), []arrow.Record{parts}, s.roots)
	if err != nil {
		return err
	}
	defer roots.Release()
	made := map[string]arrow.Array{}
	for i, f := range s.whole.Fields() {
		rows.Column(i).Retain()
		made[f.Name] = rows.Column(i)
	}
	if s.classes {
		class := record.NewColumn[int32](out.Allocator())
		class.Append(s.class...)
		made[record.Target] = class.Finish()
	}
	all, err := record.Project(s.schema, roots, made)
	if err != nil {
		return err
	}
	return out.Emit(all)
}

// keep finds the roots that become rows: all but zero fields, and with Labelled those of known class.
func (s *rootSplitter) keep(rec arrow.Record) error {
	s.rows, s.roots, s.class = s.rows[:0], s.roots[:0], s.class[:0]
	roots, err := record.ListsOf[int32](rec, record.Roots)
	if err != nil {
		return err
	}
	var class record.ListView[int32]
	if s.classes {
		if class, err = record.ListsOf[int32](rec, record.RootTarget); err != nil {
			return err
		}
	}
	for row := range roots.Len() {
		list := roots.Row(row)
		if len(list) != s.w || s.classes && len(class.Row(row)) != s.w {
			return fmt.Errorf("row %d has %d roots, want %d", row, len(list), s.w)
		}
		for i, v := range list {
			if v < 0 || s.Labelled && class.Row(row)[i] < 0 {
				continue
			}
			s.rows = append(s.rows, record.Ref{Row: int32(row)})
			s.roots = append(s.roots, record.Ref{Row: int32(row*s.w + i)})
			if s.classes {
				s.class = append(s.class, class.Row(row)[i])
			}
		}
	}
	return nil
}

// split returns the columns of the parts, with a row for each root of each row.
func (s *rootSplitter) split(rec arrow.Record) (arrow.Record, error) {
	var cols []arrow.Array
	defer func() { record.Release(cols) }()
	for _, f := range s.parts.Fields() {
		col, err := record.Split(rec, f.Name, s.w, f.Type)
		if err != nil {
			return nil, err
		}
		cols = append(cols, col)
	}
	return array.NewRecord(s.parts, cols, rec.NumRows()*int64(s.w)), nil
}
