package parquet

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/internal/arrowipc"
	"github.com/sanflow/sanflow/internal/tabular"
)

// Physical, logical and converted types, as numbered in parquet.thrift.
const (
	kindBool   = 0
	kindInt32  = 1
	kindInt64  = 2
	kindFloat  = 4
	kindDouble = 5
	kindBytes  = 6
	kindFixed  = 7

	logicalString    = 1
	logicalList      = 3
	logicalDecimal   = 5
	logicalDate      = 6
	logicalTimestamp = 8
	logicalInteger   = 10
	logicalUUID      = 14

	convertedUTF8  = 0
	convertedList  = 3
	convertedDec   = 5
	convertedDate  = 6
	convertedMilli = 9
	convertedMicro = 10
	convertedUint8 = 11 // 12 to 14 are uint16 to uint64, 15 to 18 int8 to int64
	convertedInt64 = 18
)

// column describes the leaf of a top-level field.
type column struct {
	leaf   int // index among all leaves; -1 = unsupported
	kind   int
	depth  int      // nesting depth of lists
	most   uint8    // definition level of a value
	inside [2]uint8 // definition level of a list element, by depth
	wide   bool     // the type is uint32 or uint64
	nulls  bool     // null rows are allowed; only at depth 0

	// The following are for Table only, since records of graphs have no such columns.
	truth   bool    // boolean
	seconds float64 // unit of a date or timestamp in seconds
	tens    float64 // power of ten that divides the integer of a decimal
	uuid    bool
	length  int    // size of a fixed-length value
	other   string // name of an unsupported type
}

// columns returns the columns of the file, where and how each is stored, and the metadata of the Arrow schema.
func (f *footer) columns() ([]tabular.Column, []column, arrow.Metadata, error) {
	var meta arrow.Metadata
	if len(f.elements) == 0 {
		return nil, nil, meta, errors.New("there is no schema")
	}
	var cols []tabular.Column
	var where []column
	at, leaf := 1, 0
	for range max(0, f.elements[0].children) {
		if at >= len(f.elements) {
			return nil, nil, meta, errors.New("the schema ends early")
		}
		c, w := f.field(at)
		end, leaves, err := f.end(at, 0)
		if err != nil {
			return nil, nil, meta, err
		}
		if w.leaf >= 0 {
			w.leaf = leaf
		}
		at, leaf = end, leaf+leaves
		cols, where = append(cols, c), append(where, w)
	}
	if at != len(f.elements) {
		return nil, nil, meta, fmt.Errorf("the schema has %d elements too many", len(f.elements)-at)
	}
	for i, g := range f.groups {
		if len(g.chunks) != leaf {
			return nil, nil, meta, fmt.Errorf("row group %d has %d columns, want %d", i, len(g.chunks), leaf)
		}
	}
	meta, err := f.restore(cols)
	return cols, where, meta, err
}

// end returns the index of the element after a subtree, and the number of leaves in the subtree.
func (f *footer) end(at, depth int) (end, leaves int, err error) {
	if at >= len(f.elements) || depth > 64 {
		return 0, 0, errors.New("the schema ends early, or is too deep")
	}
	n := f.elements[at].children
	if at++; n == 0 {
		return at, 1, nil
	}
	for range max(n, 0) {
		var more int
		if at, more, err = f.end(at, depth+1); err != nil {
			return 0, 0, err
		}
		leaves += more
	}
	return at, leaves, nil
}

// field converts a top-level field: a leaf, or a LIST, which is a group with one repeated child, in the forms that
// the format allows:
//
//	optional group x (LIST) { repeated group list { optional int32 element } }
//	optional group x (LIST) { repeated int32 element }
func (f *footer) field(at int) (tabular.Column, column) {
	e := f.elements[at]
	c := tabular.Column{Name: e.name, Width: -1, Type: "of a type without numbers"}
	w, def := column{leaf: -1}, uint8(0)
	for {
		switch e.repetition {
		case optional:
			def++
		case repeated:
			return c, w
		}
		if e.children == 0 {
			break
		}
		list := e.logical == logicalList || e.converted == convertedList
		if !list || e.children != 1 || w.depth == 2 || at+1 >= len(f.elements) || f.elements[at+1].repetition != repeated {
			return c, w
		}
		at++
		e = f.elements[at]
		def++
		w.inside[w.depth] = def
		w.depth++
		switch {
		case e.children == 0:
			e.repetition = required // a repeated leaf is the element itself
		case e.children != 1 || at+1 >= len(f.elements):
			return c, w
		default:
			at++
			e = f.elements[at]
		}
	}
	t := e.number()
	if e.kind == kindBytes && (e.logical == logicalString || e.logical == 0 && e.converted == convertedUTF8) {
		t = arrow.STRING
	}
	if t != 0 {
		c.Elem, c.Type, c.Depth = t, strings.ToLower(t.String()), w.depth
		for range w.depth {
			c.Type = "list<" + c.Type + ">"
		}
		w.leaf, w.kind, w.most = 0, e.kind, def
		w.wide = t == arrow.UINT32 || t == arrow.UINT64
		return c, w
	}
	w.truth, w.seconds = e.kind == kindBool, e.seconds()
	w.uuid, w.tens = e.kind == kindFixed && e.logical == logicalUUID && e.length == 16, e.tens()
	if w.depth == 0 && (w.truth || w.seconds > 0 || w.tens > 0 || w.uuid) {
		w.leaf, w.kind, w.most = 0, e.kind, def
		if e.kind == kindFixed {
			w.length = e.length
		}
	} else {
		w.other = e.other()
	}
	return c, w
}

// seconds returns the unit of a date or timestamp leaf, else 0.
func (e element) seconds() float64 {
	switch {
	case e.kind == kindInt32 && (e.logical == logicalDate || e.logical == 0 && e.converted == convertedDate):
		return 24 * 60 * 60
	case e.kind != kindInt64:
	case e.logical == logicalTimestamp:
		return map[int]float64{1: 1e-3, 2: 1e-6, 3: 1e-9}[e.unit]
	case e.logical == 0:
		return map[int]float64{convertedMilli: 1e-3, convertedMicro: 1e-6}[e.converted]
	}
	return 0
}

// tens returns 10^scale of a decimal leaf that converts to float64, else 0.
func (e element) tens() float64 {
	decimal := e.logical == logicalDecimal || e.logical == 0 && e.converted == convertedDec
	whole := e.kind == kindInt32 || e.kind == kindInt64 || e.kind == kindFixed && e.length > 0 && e.length <= 32
	if !decimal || !whole || e.scale < 0 || e.scale > 76 {
		return 0
	}
	return math.Pow10(e.scale)
}

// other names an unsupported leaf type as the format does.
func (e element) other() string {
	if name := map[int]string{4: "ENUM", 5: "DECIMAL", 7: "TIME", 11: "NULL", 12: "JSON", 13: "BSON", 14: "UUID", 15: "FLOAT16"}[e.logical]; name != "" {
		return name
	}
	if name := map[int]string{4: "ENUM", 5: "DECIMAL", 7: "TIME_MILLIS", 8: "TIME_MICROS", 19: "JSON", 20: "BSON", 21: "INTERVAL"}[e.converted]; name != "" && e.logical == 0 {
		return name
	}
	return map[int]string{3: "INT96", kindBytes: "BYTE_ARRAY that is no STRING", 7: "FIXED_LEN_BYTE_ARRAY"}[e.kind]
}

// number returns the Arrow type of a numeric leaf, else 0.
func (e element) number() arrow.Type {
	ints := map[[2]int]arrow.Type{
		{8, 0}: arrow.UINT8, {16, 0}: arrow.UINT16, {32, 0}: arrow.UINT32, {64, 0}: arrow.UINT64,
		{8, 1}: arrow.INT8, {16, 1}: arrow.INT16, {32, 1}: arrow.INT32, {64, 1}: arrow.INT64,
	}
	bits, signed := 32, 1
	switch e.kind {
	case kindFloat:
		return map[bool]arrow.Type{true: arrow.FLOAT32}[e.plain()]
	case kindDouble:
		return map[bool]arrow.Type{true: arrow.FLOAT64}[e.plain()]
	case kindInt64:
		bits = 64
	case kindInt32:
	default:
		return 0
	}
	switch {
	case e.logical == logicalInteger:
		if int(e.bits) > bits {
			return 0
		}
		if bits = int(e.bits); !e.signed {
			signed = 0
		}
	case e.logical != 0:
		return 0
	case e.converted >= convertedUint8 && e.converted <= convertedInt64:
		if e.converted < convertedUint8+4 {
			signed = 0
		}
		if b := 8 << ((e.converted - convertedUint8) % 4); b <= bits {
			bits = b
		} else {
			return 0
		}
	case e.converted >= 0:
		return 0
	}
	return ints[[2]int{bits, signed}]
}

// plain reports whether the leaf has neither a logical nor a converted type.
func (e element) plain() bool { return e.logical == 0 && e.converted < 0 }

// restore copies list widths and metadata from the stored Arrow schema, if there is one.
func (f *footer) restore(cols []tabular.Column) (arrow.Metadata, error) {
	message, err := f.arrowSchema()
	if message == nil && err == nil {
		return arrow.Metadata{}, nil
	}
	var schema *arrowipc.Schema
	if err == nil {
		schema, err = arrowipc.DecodeSchema(message)
	}
	if err != nil {
		return arrow.Metadata{}, fmt.Errorf("the Arrow schema: %w", err)
	}
	from, meta := tabular.Columns(schema), schema.Metadata
	if len(from) != len(cols) {
		return meta, fmt.Errorf("the Arrow schema has %d columns, want %d", len(from), len(cols))
	}
	for i, a := range from {
		c := &cols[i]
		if a.Name != c.Name {
			return meta, fmt.Errorf("column %d is %q, but %q in the Arrow schema", i, c.Name, a.Name)
		}
		if c.Elem == 0 || a.Elem == 0 || a.Depth != c.Depth {
			continue
		}
		c.Meta, c.Width = a.Meta, a.Width
	}
	return meta, nil
}
