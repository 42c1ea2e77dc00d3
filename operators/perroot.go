package operators

import (
	"fmt"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

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
	var fields []arrow.Field
	for _, f := range record.Without(in, graphColumns...).Fields() {
		if f.Name == record.Target && hasClasses {
			continue // the class of the root replaces the column
		}
		split, err := s.column(in, f)
		if err != nil {
			return nil, err
		}
		fields = append(fields, split)
	}
	if hasClasses {
		m := arrow.NewMetadata([]string{record.MetaClasses}, []string{metaOf(classes, record.MetaClasses)})
		fields = append(fields, arrow.Field{Name: record.Target, Type: arrow.PrimitiveTypes.Int32, Metadata: m})
	}
	m := in.Metadata()
	s.schema = arrow.NewSchema(fields, &m)
	return s, nil
}

func metaOf(f arrow.Field, key string) string {
	text, _ := f.Metadata.GetValue(key) // every column of classes has the key
	return text
}

// rootSplitter is a running PerRoot.
type rootSplitter struct {
	PerRoot
	w      int
	schema *arrow.Schema
	refs   []record.Ref // kept roots: Record is the row of a root, Row its index in the row
}

func (s *rootSplitter) Schema() *arrow.Schema { return s.schema }

func (s *rootSplitter) Fork() flow.Stage {
	return &rootSplitter{PerRoot: s.PerRoot, w: s.w, schema: s.schema}
}

func (s *rootSplitter) Close() error { return nil }

// column returns the field of a column with one root in place of w.
func (s *rootSplitter) column(in *arrow.Schema, f arrow.Field) (arrow.Field, error) {
	switch f.Type.(type) {
	case *arrow.ListType, *arrow.FixedSizeListType:
	default:
		return f, nil
	}
	if f.Name == record.RowColumns { // each root gets the numbers of the row
		return f, nil
	}
	var shape []int
	if err := record.Meta(in, f.Name, record.MetaShape, &shape); err != nil {
		return f, err
	}
	if len(shape) == 0 || shape[0] != s.w {
		return f, fmt.Errorf("column %q has the shape %v, want %d roots first", f.Name, shape, s.w)
	}
	shape[0] = 1
	var channels []record.Channel
	if err := record.Meta(in, f.Name, record.MetaChannels, &channels); err != nil {
		return f, err
	}
	if l, ok := f.Type.(*arrow.ListType); ok {
		if _, nested := l.Elem().(*arrow.ListType); nested {
			if len(channels) != 1 {
				return f, fmt.Errorf("column %q has %d channels, want one", f.Name, len(channels))
			}
			return record.SparseField(f.Name, shape, channels[0]), nil
		}
		if kind, err := record.IDsKind(in, f.Name); err == nil {
			return record.IDsField(f.Name, shape, kind), nil
		}
		if l.Elem().ID() != arrow.INT32 {
			return f, fmt.Errorf("column %q is %s, which cannot be split by root", f.Name, f.Type)
		}
		if text := metaOf(f, record.MetaClasses); text != "" {
			var names []string
			if err := record.Meta(in, f.Name, record.MetaClasses, &names); err != nil {
				return f, err
			}
			return record.ClassesField(f.Name, shape, names), nil
		}
		return record.ListField[int32](f.Name, shape), nil
	}
	switch f.Type.(*arrow.FixedSizeListType).Elem().ID() {
	case arrow.INT32:
		return record.TensorField[int32](f.Name, shape, channels), nil
	case arrow.FLOAT32:
		return record.TensorField[float32](f.Name, shape, channels), nil
	case arrow.UINT8:
		return record.TensorField[uint8](f.Name, shape, channels), nil
	}
	return f, fmt.Errorf("column %q is %s, which cannot be split by root", f.Name, f.Type)
}

func (s *rootSplitter) Process(rec arrow.Record, out *flow.Out) error {
	if err := s.keep(rec); err != nil {
		return err
	}
	var cols []arrow.Array
	defer func() {
		record.Release(cols)
	}()
	for _, f := range s.schema.Fields() {
		col, err := s.split(out.Allocator(), rec, f)
		if err != nil {
			return err
		}
		cols = append(cols, col)
	}
	return out.Emit(array.NewRecord(s.schema, cols, int64(len(s.refs))))
}

// keep sets refs to the roots that become rows: all but zero fields, and with Labelled those of known class.
func (s *rootSplitter) keep(rec arrow.Record) error {
	s.refs = s.refs[:0]
	roots, err := record.ListsOf[int32](rec, record.Roots)
	if err != nil {
		return err
	}
	var class record.ListView[int32]
	if s.Labelled {
		if class, err = record.ListsOf[int32](rec, record.RootTarget); err != nil {
			return err
		}
	}
	for row := range roots.Len() {
		list := roots.Row(row)
		if len(list) > s.w || s.Labelled && len(class.Row(row)) != s.w {
			return fmt.Errorf("row %d has %d roots, want %d", row, len(list), s.w)
		}
		for i, v := range list {
			if v >= 0 && (!s.Labelled || class.Row(row)[i] >= 0) {
				s.refs = append(s.refs, record.Ref{Record: int32(row), Row: int32(i)})
			}
		}
	}
	return nil
}

// split returns a column of the kept roots.
func (s *rootSplitter) split(mem memory.Allocator, rec arrow.Record, f arrow.Field) (arrow.Array, error) {
	switch t := f.Type.(type) {
	case *arrow.FixedSizeListType:
		switch t.Elem().ID() {
		case arrow.INT32:
			return splitFixed[int32](mem, rec, f.Name, int(t.Len()), s)
		case arrow.FLOAT32:
			return splitFixed[float32](mem, rec, f.Name, int(t.Len()), s)
		}
		return splitFixed[uint8](mem, rec, f.Name, int(t.Len()), s)
	case *arrow.ListType:
		if _, nested := t.Elem().(*arrow.ListType); nested {
			return s.splitSets(mem, rec, f)
		}
		if t.Elem().ID() != arrow.INT32 {
			return s.splitIDs(mem, rec, f.Name)
		}
		return s.splitLists(mem, rec, f.Name)
	}
	switch {
	case f.Name == record.Target && rec.Schema().HasField(record.RootTarget):
		class, err := record.ListsOf[int32](rec, record.RootTarget)
		if err != nil {
			return nil, err
		}
		b := record.NewColumn[int32](mem)
		for _, r := range s.refs {
			b.Append(class.Row(int(r.Record))[r.Row])
		}
		return b.Finish(), nil
	case f.Type.ID() == arrow.INT64:
		return repeat[int64](mem, rec, f.Name, s.refs)
	case f.Type.ID() == arrow.FLOAT32:
		return repeat[float32](mem, rec, f.Name, s.refs)
	}
	return repeat[int32](mem, rec, f.Name, s.refs)
}

func repeat[T record.Value](mem memory.Allocator, rec arrow.Record, name string, refs []record.Ref) (arrow.Array, error) {
	v, err := record.Values[T](rec, name)
	if err != nil {
		return nil, err
	}
	b := record.NewColumn[T](mem)
	for _, r := range refs {
		b.Append(v[r.Record])
	}
	return b.Finish(), nil
}

func splitFixed[T record.Value](mem memory.Allocator, rec arrow.Record, name string, width int, s *rootSplitter) (arrow.Array, error) {
	v, all, err := record.FixedValues[T](rec, name)
	if err != nil {
		return nil, err
	}
	b := record.NewFixed[T](mem, width)
	dst := b.Extend(len(s.refs))
	for i, r := range s.refs {
		copy(dst[i*width:(i+1)*width], v[int(r.Record)*all+int(r.Row)*width%max(1, all):])
	}
	return b.Finish(len(s.refs)), nil
}

// splitLists splits a list with one value per root.
func (s *rootSplitter) splitLists(mem memory.Allocator, rec arrow.Record, name string) (arrow.Array, error) {
	v, err := record.ListsOf[int32](rec, name)
	if err != nil {
		return nil, err
	}
	b := record.NewLists[int32](mem)
	for _, r := range s.refs {
		row := v.Row(int(r.Record))
		if int(r.Row) >= len(row) {
			b.Release()
			return nil, fmt.Errorf("column %q has %d values for %d roots", name, len(row), s.w)
		}
		b.Append(row[r.Row : r.Row+1])
	}
	return b.Finish(), nil
}

// splitIDs splits a list of the ids of the roots, or of the members.
func (s *rootSplitter) splitIDs(mem memory.Allocator, rec arrow.Record, name string) (arrow.Array, error) {
	kind, err := record.IDsKind(rec.Schema(), name)
	if err != nil {
		return nil, err
	}
	v, err := record.IDsOfColumn(rec, name)
	if err != nil {
		return nil, err
	}
	b := record.NewIDs(mem, kind)
	var some []int32
	for _, r := range s.refs {
		ids := v.Row(int(r.Record))
		k := int32(ids.Len() / s.w)
		if ids.Len()%s.w != 0 {
			b.Release()
			return nil, fmt.Errorf("column %q has %d ids for %d roots", name, ids.Len(), s.w)
		}
		some = some[:0]
		for i := range k {
			some = append(some, r.Row*k+i)
		}
		b.AppendOf(ids, some)
	}
	return b.Finish(), nil
}

// splitSets splits a list of the sets of w·k nodes.
func (s *rootSplitter) splitSets(mem memory.Allocator, rec arrow.Record, f arrow.Field) (arrow.Array, error) {
	v, err := record.NestedOf[int32](rec, f.Name)
	if err != nil {
		return nil, err
	}
	b := record.NewNested[int32](mem)
	for _, r := range s.refs {
		n := v.RowLen(int(r.Record))
		if n%s.w != 0 {
			b.Release()
			return nil, fmt.Errorf("column %q has %d lists for %d roots", f.Name, n, s.w)
		}
		k := n / s.w
		for i := range k {
			b.Append(v.At(int(r.Record), int(r.Row)*k+i))
		}
		b.EndRow()
	}
	return b.Finish(), nil
}
