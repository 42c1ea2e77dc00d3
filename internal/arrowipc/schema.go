package arrowipc

import (
	"errors"
	"fmt"

	"github.com/apache/arrow/go/v15/arrow"
)

// Kinds of types, numbered as in the union Type of Arrow's Schema.fbs.
const (
	kindInt       = 2
	kindFloat     = 3
	kindText      = 5
	kindList      = 12
	kindUnion     = 14
	kindFixedList = 16
	kindLargeList = 21
)

// kinds has the name and the number of buffers of each kind. -1 stands for two buffers and a number of others
// that the batch states.
var kinds = [...]struct {
	name    string
	buffers int
}{
	{}, {"null", 0}, {"int", 2}, {"float", 2}, {"binary", 3}, {"utf8", 3}, {"bool", 2}, {"decimal", 2}, {"date", 2},
	{"time", 2}, {"timestamp", 2}, {"interval", 2}, {"list", 2}, {"struct", 1}, {"union", 1}, {"fixed_size_binary", 2},
	{"fixed_size_list", 1}, {"map", 2}, {"duration", 2}, {"large_binary", 3}, {"large_utf8", 3}, {"large_list", 2},
	{"run_end_encoded", 0}, {"binary_view", -1}, {"utf8_view", -1}, {"list_view", 3}, {"large_list_view", 3},
}

// Schema is the schema of a file or stream.
type Schema struct {
	Columns  []Field
	Metadata arrow.Metadata
}

// Field is a column or a child of a column.
type Field struct {
	// Type is nil if values of the type are not decoded.
	arrow.Field
	// Kind names the type in errors.
	Kind string

	buffers  int
	children []Field // nil for a dictionary, whose values are elsewhere
}

// Arrow returns the schema as Arrow's library has it, or an error that names a column of a type that is not
// decoded.
func (s *Schema) Arrow() (*arrow.Schema, error) {
	var fields []arrow.Field
	for _, c := range s.Columns {
		if c.Type == nil {
			return nil, fmt.Errorf("column %q is %s, which is not read", c.Name, c.Kind)
		}
		fields = append(fields, c.Field)
	}
	return arrow.NewSchema(fields, &s.Metadata), nil
}

// DecodeSchema reads the schema in an encapsulated message, such as the one that Arrow's libraries store in
// Parquet files.
func DecodeSchema(message []byte) (*Schema, error) {
	m, err := open(message)
	if err != nil {
		return nil, err
	}
	if m.kind != headerSchema {
		return nil, fmt.Errorf("a message of kind %d, want a schema", m.kind)
	}
	return m.flat.schema(m.header)
}

func (f *flat) schema(t table) (*Schema, error) {
	if t == 0 {
		return nil, errDamaged
	}
	if f.int16Field(t, 0) != 0 {
		return nil, errors.New("its numbers are big-endian, which are not read")
	}
	s := &Schema{Metadata: f.metadata(t, 2)}
	var err error
	if s.Columns, err = f.fields(t, 1, maxDepth); err == nil && f.bad {
		err = errDamaged
		if f.large() {
			err = fmt.Errorf("a schema of more than %d types and notes, or with many times the same texts", maxNodes)
		}
	}
	return s, err
}

func (f *flat) fields(t table, i, depth int) ([]Field, error) {
	if depth == 0 {
		return nil, fmt.Errorf("types are more than %d deep", maxDepth)
	}
	var fields []Field
	for sub := range f.tables(t, i) {
		field, err := f.fieldOf(sub, depth)
		if err != nil {
			return nil, err
		}
		fields = append(fields, field)
	}
	return fields, nil
}

func (f *flat) fieldOf(t table, depth int) (x Field, err error) {
	x.Name = f.stringField(t, 0)
	f.text += len(x.Name) * (maxDepth - depth) // the Kind of each enclosing type repeats the name
	x.Nullable = f.byteField(t, 1) != 0
	x.Metadata = f.metadata(t, 6)
	kind, of := int(f.byteField(t, 2)), f.tableField(t, 3)
	switch {
	case f.bad:
		return x, nil // schema returns the error
	case kind == 0 || kind >= len(kinds) || of == 0:
		return x, fmt.Errorf("column %q has a type of the unknown kind %d", x.Name, kind)
	}
	x.Kind, x.buffers = kinds[kind].name, kinds[kind].buffers
	if f.tableField(t, 4) != 0 {
		x.Kind, x.buffers = "dictionary<"+x.Kind+">", 2 // those of the indices
		return x, nil
	}
	if x.children, err = f.fields(t, 5, depth-1); err != nil || f.bad {
		return x, err
	}
	switch {
	case kind == kindInt:
		x.Type = intType(f.int32Field(of, 0), f.byteField(of, 1) != 0)
	case kind == kindFloat:
		x.Type = floatTypes[f.int16Field(of, 0)]
	case kind == kindText:
		x.Type = arrow.BinaryTypes.String
	case kind == kindUnion && f.int16Field(of, 0) == 1: // a dense union has two buffers
		x.buffers = 2
	case len(x.children) != 1 || x.children[0].Type == nil:
	case kind == kindList:
		x.Type = arrow.ListOfField(x.children[0].Field)
	case kind == kindLargeList:
		x.Type = arrow.LargeListOfField(x.children[0].Field)
	case kind == kindFixedList:
		if width := f.int32Field(of, 0); width > 0 {
			x.Type = arrow.FixedSizeListOfField(int32(width), x.children[0].Field)
		}
	}
	if x.Type != nil {
		x.Kind = x.Type.String()
	} else if len(x.children) == 1 {
		x.Kind += "<" + x.children[0].Kind + ">"
	}
	return x, nil
}

func intType(bits int, signed bool) arrow.DataType {
	types := map[int][2]arrow.DataType{
		8:  {arrow.PrimitiveTypes.Uint8, arrow.PrimitiveTypes.Int8},
		16: {arrow.PrimitiveTypes.Uint16, arrow.PrimitiveTypes.Int16},
		32: {arrow.PrimitiveTypes.Uint32, arrow.PrimitiveTypes.Int32},
		64: {arrow.PrimitiveTypes.Uint64, arrow.PrimitiveTypes.Int64},
	}
	if signed {
		return types[bits][1]
	}
	return types[bits][0]
}

// floatTypes are indexed by precision.
var floatTypes = map[int]arrow.DataType{
	0: arrow.FixedWidthTypes.Float16, 1: arrow.PrimitiveTypes.Float32, 2: arrow.PrimitiveTypes.Float64,
}

func (f *flat) metadata(t table, i int) arrow.Metadata {
	var keys, values []string
	for kv := range f.tables(t, i) {
		keys, values = append(keys, f.stringField(kv, 0)), append(values, f.stringField(kv, 1))
	}
	return arrow.NewMetadata(keys, values)
}
