package parquet

import (
	"bytes"
	"encoding/base64"
	"fmt"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/metadata"
	"github.com/apache/arrow/go/v15/parquet/schema"
)

// layout returns the Parquet schema of an Arrow schema, and how each of its
// columns is written.
func layout(s *arrow.Schema) (*schema.GroupNode, []column, error) {
	var fields schema.FieldList
	var columns []column
	for _, f := range s.Fields() {
		node, c, err := node(f)
		if err != nil {
			return nil, nil, fmt.Errorf("column %q: %w", f.Name, err)
		}
		fields, columns = append(fields, node), append(columns, c)
	}
	root, err := schema.NewGroupNode("schema", parquet.Repetitions.Required, fields, -1)
	return root, columns, err
}

// node returns the tree of one column.
func node(f arrow.Field) (schema.Node, column, error) {
	elem, depth := f.Type, 0
	switch t := f.Type.(type) {
	case *arrow.FixedSizeListType:
		elem, depth = t.Elem(), 1
	case *arrow.ListType:
		elem, depth = t.Elem(), 1
		if inner, ok := elem.(*arrow.ListType); ok {
			elem, depth = inner.Elem(), 2
		}
	}
	c, kind, logical := columnOf(elem, depth), parquet.Types.Int32, schema.LogicalType(schema.NoLogicalType{})
	if c == nil {
		return nil, nil, fmt.Errorf("%s, want numbers, lists of them, or lists of lists", f.Type)
	}
	switch elem.ID() {
	case arrow.UINT8:
		logical = schema.NewIntLogicalType(8, false)
	case arrow.INT64:
		kind = parquet.Types.Int64
	case arrow.FLOAT32:
		kind = parquet.Types.Float
	}
	// What is in a list is optional, as in Arrow's types.
	repetition := func(inside int) parquet.Repetition {
		if inside > 0 {
			return parquet.Repetitions.Optional
		}
		return parquet.Repetitions.Required
	}
	var n schema.Node
	n, err := schema.NewPrimitiveNodeLogical(f.Name, repetition(depth), logical, kind, 0, -1)
	for inside := depth - 1; inside >= 0 && err == nil; inside-- {
		n, err = schema.ListOfWithName(f.Name, n, repetition(inside), -1)
	}
	return n, c, err
}

// arrowSchema is the Arrow schema as Arrow's libraries store it in Parquet
// files: a base64 text of the IPC message.
func arrowSchema(s *arrow.Schema) (metadata.KeyValueMetadata, error) {
	var b bytes.Buffer
	w := ipc.NewWriter(&b, ipc.WithSchema(s))
	if err := w.Close(); err != nil {
		return nil, err
	}
	message := bytes.TrimSuffix(b.Bytes(), []byte{0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0}) // the end of the stream
	m := metadata.NewKeyValueMetadata()
	return m, m.Append("ARROW:schema", base64.StdEncoding.EncodeToString(message))
}
