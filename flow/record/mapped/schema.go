package mapped

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/apache/arrow/go/v15/arrow"
)

// Limits of a schema, so that a damaged one, whose offsets may lead to the same
// place again and again, ends.
const (
	maxDepth  = 8
	maxFields = 1 << 12 // and entries of metadata
)

// The numbers of Arrow's Type union (Schema.fbs) that are read.
const (
	typeInt           = 2
	typeFloat         = 3
	typeList          = 12
	typeFixedSizeList = 16
)

// schemaReader turns the flatbuffer of a schema into one.
type schemaReader struct {
	*flat
	fields int
}

func (s *schemaReader) schema(t table) (*arrow.Schema, error) {
	if t == 0 {
		return nil, errDamaged
	}
	// Values are not copied, so their bytes have to be in the order of the
	// machine.
	if bigEndian := s.int16Field(t, 0) != 0; bigEndian != (binary.NativeEndian.Uint16([]byte{0, 1}) == 1) {
		return nil, errors.New("its byte order is not that of this machine")
	}
	fields, err := s.list(t, 1, maxDepth)
	if err != nil {
		return nil, err
	}
	m := s.metadata(t, 2)
	return arrow.NewSchema(fields, &m), nil
}

func (s *schemaReader) list(t table, i, depth int) ([]arrow.Field, error) {
	pos, n := s.vector(t, i, 4)
	if s.fields += n; s.fields > maxFields {
		return nil, fmt.Errorf("there are more than %d fields", maxFields)
	}
	fields := make([]arrow.Field, n)
	for j := range fields {
		var err error
		if fields[j], err = s.fieldOf(s.follow(pos+4*j), depth); err != nil {
			return nil, err
		}
	}
	return fields, nil
}

func (s *schemaReader) fieldOf(t table, depth int) (f arrow.Field, err error) {
	f.Name = s.stringField(t, 0)
	f.Nullable = s.byteField(t, 1) != 0
	f.Metadata = s.metadata(t, 6)
	if s.bad || depth == 0 {
		return f, errDamaged
	}
	if s.tableField(t, 4) != 0 {
		return f, fmt.Errorf("column %q is a dictionary, which cannot be mapped", f.Name)
	}
	children, err := s.list(t, 5, depth-1)
	if err != nil {
		return f, err
	}
	of := s.tableField(t, 3)
	kind := s.byteField(t, 2)
	switch {
	case kind == typeInt:
		f.Type = intType(s.int32Field(of, 0), s.byteField(of, 1) != 0)
	case kind == typeFloat:
		f.Type = floatType(s.int16Field(of, 0))
	case kind == typeList && len(children) == 1:
		f.Type = arrow.ListOfField(children[0])
	case kind == typeFixedSizeList && len(children) == 1:
		if width := s.int32Field(of, 0); width > 0 {
			f.Type = arrow.FixedSizeListOfField(int32(width), children[0])
		}
	}
	switch {
	case s.bad:
		return f, errDamaged
	case f.Type == nil:
		return f, fmt.Errorf("column %q has the type %d of Arrow's schema, which cannot be mapped", f.Name, kind)
	}
	return f, nil
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

// floatType has half precision 0, single 1, double 2.
func floatType(precision int) arrow.DataType {
	switch precision {
	case 0:
		return arrow.FixedWidthTypes.Float16
	case 1:
		return arrow.PrimitiveTypes.Float32
	case 2:
		return arrow.PrimitiveTypes.Float64
	}
	return nil
}

func (s *schemaReader) metadata(t table, i int) arrow.Metadata {
	pos, n := s.vector(t, i, 4)
	if s.fields += n; s.fields > maxFields {
		s.bad = true
		return arrow.Metadata{}
	}
	var keys, values []string
	for j := range n {
		kv := s.follow(pos + 4*j)
		keys, values = append(keys, s.stringField(kv, 0)), append(values, s.stringField(kv, 1))
		if s.bad {
			break
		}
	}
	return arrow.NewMetadata(keys, values)
}
