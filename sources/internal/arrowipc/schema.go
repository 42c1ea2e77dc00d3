package arrowipc

import (
	"errors"
	"fmt"
	"strings"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/sources/internal/tabular"
)

// Kinds of types, numbered as in Arrow's Schema.fbs.
const (
	kindNull = 1 + iota
	kindInt
	kindFloat
	kindBinary
	kindUTF8
	kindBool
	kindDecimal
	kindDate
	kindTime
	kindTimestamp
	kindInterval
	kindList
	kindStruct
	kindUnion
	kindFixedBinary
	kindFixedList
	kindMap
	kindDuration
	kindLargeBinary
	kindLargeUTF8
	kindLargeList
	kindRunEnds
	kindBinaryView
	kindUTF8View
	kindListView
	kindLargeListView
	kinds
)

// name and buffers per kind; -1 buffers: two, and as many more as the batch says.
var known = [kinds]struct {
	name    string
	buffers int
}{
	kindNull: {"null", 0}, kindInt: {"int", 2}, kindFloat: {"float", 2}, kindBinary: {"binary", 3}, kindUTF8: {"utf8", 3},
	kindBool: {"bool", 2}, kindDecimal: {"decimal", 2}, kindDate: {"date", 2}, kindTime: {"time", 2},
	kindTimestamp: {"timestamp", 2}, kindInterval: {"interval", 2}, kindList: {"list", 2}, kindStruct: {"struct", 1},
	kindUnion: {"union", 1}, kindFixedBinary: {"fixed_size_binary", 2}, kindFixedList: {"fixed_size_list", 1}, kindMap: {"map", 2},
	kindDuration: {"duration", 2}, kindLargeBinary: {"large_binary", 3}, kindLargeUTF8: {"large_utf8", 3},
	kindLargeList: {"large_list", 2}, kindRunEnds: {"run_end_encoded", 0}, kindBinaryView: {"binary_view", -1},
	kindUTF8View: {"utf8_view", -1}, kindListView: {"list_view", 3}, kindLargeListView: {"large_list_view", 3},
}

// node is a type in the tree of a column.
type node struct {
	kind, buffers int
	elem          arrow.Type // of numbers
	width         int        // of a fixed-size list
	dictionary    bool
	children      []*node
}

// limits bound what a schema can grow to, whose tables and texts may be shared
// by many that refer to them.
type limits struct{ nodes, text int }

const maxNodes, maxText, maxDepth = 1 << 16, 16 << 20, 64

func (l *limits) node() error {
	if l.nodes--; l.nodes < 0 {
		return fmt.Errorf("a schema of more than %d types and texts", maxNodes)
	}
	return nil
}

// read reads a text.
func (l *limits) read(t flat, slot int) (string, error) {
	_, n := t.vector(slot, 1)
	if l.text -= n; l.text < 0 {
		return "", fmt.Errorf("a schema with more than %d bytes of texts", maxText)
	}
	return t.text(slot), l.node()
}

// readSchema reads a schema message.
func (r *Reader) readSchema(s flat) (err error) {
	if s.int16(0) != 0 {
		return errors.New("numbers are big-endian")
	}
	l := &limits{maxNodes, maxText}
	for f := range s.tables(1) {
		n, err := readNode(f, l, maxDepth)
		if err != nil {
			return err
		}
		name, err := l.read(f, 0)
		if err != nil {
			return err
		}
		meta, err := metadata(f, 6, l)
		if err != nil {
			return err
		}
		r.nodes = append(r.nodes, n)
		r.columns = append(r.columns, n.column(name, meta))
	}
	r.meta, err = metadata(s, 2, l)
	return err
}

// DecodeSchema reads the schema in an encapsulated message, such as the one that
// Arrow's libraries store in Parquet files.
func DecodeSchema(b []byte) (cols []tabular.Column, meta arrow.Metadata, err error) {
	defer caught(&err)
	if len(b) > 8 && b[0] == 0xff {
		b = b[8:] // the length, which the value has too
	} else {
		b = b[4:]
	}
	m := root(b)
	header, ok := m.table(2)
	if m.int8(1) != headerSchema || !ok {
		return nil, meta, errors.New("it is no schema")
	}
	var r Reader
	err = r.readSchema(header)
	return r.columns, r.meta, err
}

func readNode(f flat, l *limits, depth int) (*node, error) {
	if depth == 0 {
		return nil, fmt.Errorf("types more than %d deep", maxDepth)
	}
	if err := l.node(); err != nil {
		return nil, err
	}
	n := &node{kind: int(uint8(f.int8(2))), width: -1}
	if n.kind >= kinds || known[n.kind].name == "" {
		return nil, fmt.Errorf("a column has a type of the unknown kind %d", n.kind)
	}
	n.buffers = known[n.kind].buffers
	t, ok := f.table(3)
	if !ok {
		return nil, errors.New("a column has no type")
	}
	switch n.kind {
	case kindInt:
		n.elem = map[[2]int32]arrow.Type{
			{8, 1}: arrow.INT8, {16, 1}: arrow.INT16, {32, 1}: arrow.INT32, {64, 1}: arrow.INT64,
			{8, 0}: arrow.UINT8, {16, 0}: arrow.UINT16, {32, 0}: arrow.UINT32, {64, 0}: arrow.UINT64,
		}[[2]int32{t.int32(0), int32(t.int8(1))}]
	case kindFloat:
		n.elem = map[int16]arrow.Type{1: arrow.FLOAT32, 2: arrow.FLOAT64}[t.int16(0)]
	case kindFixedList:
		n.width = int(t.int32(0))
	case kindUnion:
		if t.int16(0) == 1 { // dense
			n.buffers = 2
		}
	}
	if _, n.dictionary = f.table(4); n.dictionary {
		n.buffers = 2 // those of the indices
		return n, nil
	}
	for c := range f.tables(5) {
		child, err := readNode(c, l, depth-1)
		if err != nil {
			return nil, err
		}
		n.children = append(n.children, child)
	}
	return n, nil
}

// column describes a top-level node.
func (n *node) column(name string, meta arrow.Metadata) tabular.Column {
	c := tabular.Column{Name: name, Meta: meta, Width: -1, Type: n.String()}
	leaf := n
	for isList(leaf) {
		c.Depth++
		leaf = leaf.children[0]
	}
	fixedInside := c.Depth == 2 && (n.kind == kindFixedList || n.children[0].kind == kindFixedList)
	if n.kind == kindFixedList && n.width < 1 {
		c.Type = fmt.Sprintf("%s[%d]", c.Type, n.width)
		return c
	}
	if !leaf.dictionary && c.Depth <= 2 && !fixedInside {
		c.Elem, c.Width = leaf.elem, n.width
	}
	return c
}

func isList(n *node) bool {
	switch n.kind {
	case kindList, kindLargeList, kindFixedList:
		return !n.dictionary && len(n.children) == 1
	}
	return false
}

func (n *node) String() string {
	s := known[n.kind].name
	switch {
	case n.dictionary:
		return "dictionary<" + s + ">"
	case isList(n):
		return s + "<" + n.children[0].String() + ">"
	case n.elem != 0:
		return strings.ToLower(n.elem.String())
	}
	return s
}

func metadata(t flat, slot int, l *limits) (arrow.Metadata, error) {
	var keys, values []string
	for kv := range t.tables(slot) {
		key, err := l.read(kv, 0)
		if err != nil {
			return arrow.Metadata{}, err
		}
		value, err := l.read(kv, 1)
		if err != nil {
			return arrow.Metadata{}, err
		}
		keys, values = append(keys, key), append(values, value)
	}
	return arrow.NewMetadata(keys, values), nil
}
