package record

import (
	"encoding/json"
	"fmt"

	"github.com/apache/arrow/go/v15/arrow"
)

// Names of the columns; the package comment says what each holds.
const (
	GraphID    = "graph_id"
	Pos        = "pos"
	Offsets    = "offsets"
	Neighbors  = "neighbors"
	NodeCat    = "node_cat"
	NodeAttr   = "node_attr"
	EdgeCat    = "edge_cat"
	EdgeAttr   = "edge_attr"
	Target     = "target"
	NodeTarget = "node_target"
	NodeSparse = "node_sparse"
	Roots      = "roots"
	Hood       = "hood"
	Dist       = "dist"
	Members    = "members"
	Mask       = "mask"
	NodesCat   = "nodes_cat"
	Nodes      = "nodes"
	EdgesCat   = "edges_cat"
	Edges      = "edges"

	NodesSparse = "nodes_sparse"
	RootTarget  = "root_target"
)

// Keys of the field metadata. Values other than "true" and "false" are JSON.
const (
	MetaDirected = "directed" // of neighbors: "true" or "false"
	MetaChannels = "channels" // of attribute columns: [{"name":…,"card":…}, …]
	MetaClasses  = "classes"  // of target and node_target: the names of classes 0, 1, …
	MetaShape    = "shape"    // of tensor columns: the shape of one row, as [w,k,d]
)

// Channel is one attribute of nodes or edges.
type Channel struct {
	Name string `json:"name"`
	// Card is the number of values of a discrete attribute, which are the
	// indices 0 … Card-1; 0 marks a continuous attribute.
	Card int `json:"card,omitempty"`
}

// Layout says which columns a record of graphs has, and what they mean.
type Layout struct {
	Directed          bool
	NodeCat, NodeAttr []Channel
	EdgeCat, EdgeAttr []Channel
	Classes           []string // names of the classes of target, which is then int32
	Real              bool     // target is float32; not both
	NodeClasses       []string // names of the classes of node_target
	NodeSparse        Channel  // of node_sparse; Card 0: there is none
}

// Schema returns the schema of records of that layout.
func (l Layout) Schema() *arrow.Schema {
	fields := []arrow.Field{
		{Name: GraphID, Type: arrow.PrimitiveTypes.Int64},
		{Name: Pos, Type: arrow.PrimitiveTypes.Int64},
		{Name: Offsets, Type: ListType[int32]()},
		{Name: Neighbors, Type: ListType[int32](), Metadata: meta(MetaDirected, fmt.Sprint(l.Directed))},
	}
	channels := func(name string, t arrow.DataType, c []Channel) {
		if len(c) > 0 {
			fields = append(fields, arrow.Field{Name: name, Type: t, Metadata: meta(MetaChannels, c)})
		}
	}
	channels(NodeCat, ListType[int32](), l.NodeCat)
	channels(NodeAttr, ListType[float32](), l.NodeAttr)
	if l.NodeSparse.Card > 0 {
		channels(NodeSparse, NestedType[int32](), []Channel{l.NodeSparse})
	}
	channels(EdgeCat, ListType[int32](), l.EdgeCat)
	channels(EdgeAttr, ListType[float32](), l.EdgeAttr)
	switch {
	case l.Real:
		fields = append(fields, arrow.Field{Name: Target, Type: arrow.PrimitiveTypes.Float32})
	case len(l.Classes) > 0:
		fields = append(fields, arrow.Field{Name: Target, Type: arrow.PrimitiveTypes.Int32, Metadata: meta(MetaClasses, l.Classes)})
	}
	if len(l.NodeClasses) > 0 {
		fields = append(fields, arrow.Field{Name: NodeTarget, Type: ListType[int32](), Metadata: meta(MetaClasses, l.NodeClasses)})
	}
	return arrow.NewSchema(fields, nil)
}

// LayoutOf reads the layout back from a schema with the columns of a source.
func LayoutOf(s *arrow.Schema) (Layout, error) {
	var l Layout
	want := []struct {
		name string
		t    arrow.DataType
		must bool
	}{
		{GraphID, arrow.PrimitiveTypes.Int64, true},
		{Pos, arrow.PrimitiveTypes.Int64, true},
		{Offsets, ListType[int32](), true},
		{Neighbors, ListType[int32](), true},
		{NodeCat, ListType[int32](), false},
		{NodeAttr, ListType[float32](), false},
		{EdgeCat, ListType[int32](), false},
		{EdgeAttr, ListType[float32](), false},
		{NodeTarget, ListType[int32](), false},
		{NodeSparse, NestedType[int32](), false},
	}
	for _, w := range want {
		f, ok, err := Field(s, w.name)
		switch {
		case err != nil:
			return l, err
		case !ok && w.must:
			return l, fmt.Errorf("record: no column %q; there are %v", w.name, fieldNames(s))
		case ok && !sameList(f.Type, w.t):
			return l, fmt.Errorf("record: column %q is %s, want %s", w.name, f.Type, w.t)
		}
	}
	var err error
	read := func(name, key string, into any) {
		if err == nil {
			err = Meta(s, name, key, into)
		}
	}
	read(Neighbors, MetaDirected, &l.Directed)
	read(NodeCat, MetaChannels, &l.NodeCat)
	read(NodeAttr, MetaChannels, &l.NodeAttr)
	read(EdgeCat, MetaChannels, &l.EdgeCat)
	read(EdgeAttr, MetaChannels, &l.EdgeAttr)
	read(Target, MetaClasses, &l.Classes)
	read(NodeTarget, MetaClasses, &l.NodeClasses)
	if f, ok, _ := Field(s, Target); ok {
		l.Real = f.Type.ID() == arrow.FLOAT32
	}
	if err == nil && s.HasField(NodeSparse) {
		l.NodeSparse, err = SparseChannel(s, NodeSparse)
	}
	return l, err
}

// SparseChannel returns the name and the cardinality of a sparse attribute,
// column node_sparse of a graph or nodes_sparse of fields.
func SparseChannel(s *arrow.Schema, name string) (Channel, error) {
	var c []Channel
	if err := Meta(s, name, MetaChannels, &c); err != nil {
		return Channel{}, err
	}
	if len(c) != 1 || c[0].Card < 1 {
		return Channel{}, fmt.Errorf("record: column %q has the channels %v in its metadata, want one with a cardinality", name, c)
	}
	return c[0], nil
}

// sameList compares types but for the name and nullability of list items, in
// which writers differ.
func sameList(a, b arrow.DataType) bool {
	la, ok := a.(*arrow.ListType)
	lb, ok2 := b.(*arrow.ListType)
	if ok && ok2 {
		return sameList(la.Elem(), lb.Elem())
	}
	return arrow.TypeEqual(a, b)
}

// Field returns the only field of that name, and whether there is one.
func Field(s *arrow.Schema, name string) (arrow.Field, bool, error) {
	f, ok := s.FieldsByName(name)
	if len(f) > 1 {
		return arrow.Field{}, false, fmt.Errorf("record: %d columns %q, want one", len(f), name)
	}
	if !ok {
		return arrow.Field{}, false, nil
	}
	return f[0], true, nil
}

// Meta reads one JSON value of a field's metadata into what into points to,
// and leaves that alone where the field or the key is missing.
func Meta(s *arrow.Schema, name, key string, into any) error {
	f, ok, err := Field(s, name)
	if err != nil || !ok {
		return err
	}
	text, ok := f.Metadata.GetValue(key)
	if !ok {
		return nil
	}
	if err := json.Unmarshal([]byte(text), into); err != nil {
		return fmt.Errorf("record: metadata %q of column %q: %w", key, name, err)
	}
	return nil
}

// TensorField returns the field of a tensor column, whose rows have the given
// shape, row-major.
func TensorField[T Value](name string, shape []int, channels []Channel) arrow.Field {
	width := 1
	for _, d := range shape {
		width *= d
	}
	m := meta(MetaShape, shape)
	if channels != nil {
		keys, vals := m.Keys(), m.Values()
		c := meta(MetaChannels, channels)
		m = arrow.NewMetadata(append(keys, c.Keys()...), append(vals, c.Values()...))
	}
	return arrow.Field{Name: name, Type: FixedType[T](width), Metadata: m}
}

// meta returns metadata of one key. Values are plain data, which JSON takes.
func meta(key string, value any) arrow.Metadata {
	text, ok := value.(string)
	if !ok {
		b, err := json.Marshal(value)
		if err != nil {
			panic("record: " + err.Error())
		}
		text = string(b)
	}
	return arrow.NewMetadata([]string{key}, []string{text})
}

// SparseField returns the field of a column of lists of indices: shape is that
// of the lists of a row, nil where rows differ.
func SparseField(name string, shape []int, c Channel) arrow.Field {
	m := meta(MetaChannels, []Channel{c})
	if shape != nil {
		s := meta(MetaShape, shape)
		m = arrow.NewMetadata(append(m.Keys(), s.Keys()...), append(m.Values(), s.Values()...))
	}
	return arrow.Field{Name: name, Type: NestedType[int32](), Metadata: m}
}

// ListField returns the field of a list column whose rows have the given
// shape, row-major.
func ListField[T Value](name string, shape []int) arrow.Field {
	return arrow.Field{Name: name, Type: ListType[T](), Metadata: meta(MetaShape, shape)}
}

// ClassesField returns the field of a list column of classes whose rows have the
// given shape, row-major.
func ClassesField(name string, shape []int, classes []string) arrow.Field {
	f := ListField[int32](name, shape)
	c := meta(MetaClasses, classes)
	f.Metadata = arrow.NewMetadata(append(f.Metadata.Keys(), c.Keys()...), append(f.Metadata.Values(), c.Values()...))
	return f
}

// ChannelsField returns the field of a list column of attributes.
func ChannelsField[T Value](name string, channels []Channel) arrow.Field {
	return arrow.Field{Name: name, Type: ListType[T](), Metadata: meta(MetaChannels, channels)}
}
