package parquet

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/ipc"
)

// valueType describes the storage of values of an Arrow type.
type valueType struct {
	kind    int                    // number of the physical type in parquet.thrift
	column  func(depth int) column // returns the writer of a column in depth nested lists
	logical func(c *compact)       // writes the logical type of a schema node; nil if there is none
	most    int                    // largest number of nested lists
}

// types has the Arrow types that records of graphs have.
var types = map[arrow.Type]valueType{
	arrow.UINT8: {1, func(depth int) column {
		return newTyped(depth, func(b []byte, v []uint8) []byte {
			for _, x := range v { // int32 is the smallest integer of Parquet
				b = binary.LittleEndian.AppendUint32(b, uint32(x))
			}
			return b
		})
	}, unsigned(8, 11), 2},
	arrow.INT32:   {1, numbers[int32], nil, 2},
	arrow.INT64:   {2, numbers[int64], nil, 2},
	arrow.UINT64:  {2, numbers[uint64], unsigned(64, 14), 2},
	arrow.FLOAT32: {4, numbers[float32], nil, 2},
	arrow.FLOAT64: {5, numbers[float64], nil, 2},
	arrow.STRING: {6, func(depth int) column { return &texts{newPager(depth)} }, func(c *compact) {
		c.int32(6, 0) // 0 is the converted type UTF8
		c.group(10, func() { c.group(1, func() {}) })
	}, 1},
}

// numbers returns a column of numbers that a page has as they are in memory.
func numbers[T int32 | int64 | uint64 | float32 | float64](depth int) column {
	return newTyped(depth, func(b []byte, v []T) []byte { return append(b, arrow.GetBytes(v)...) })
}

// unsigned writes the type of unsigned integers of that many bits.
func unsigned(bits byte, converted int) func(c *compact) {
	return func(c *compact) {
		c.int32(6, converted)
		c.group(10, func() {
			c.group(10, func() {
				c.int8(1, bits)
				c.bool(2, false)
			})
		})
	}
}

// leaf is a column of the schema.
type leaf struct {
	valueType
	name  string
	depth int // number of nested lists around a value
}

// leafOf returns the schema of a column.
func leafOf(f arrow.Field) (leaf, error) {
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
	of, ok := types[elem.ID()]
	if !ok || depth > of.most {
		return leaf{}, fmt.Errorf("column %q: %s, want numbers, lists of them, lists of lists, strings, or lists of strings", f.Name, f.Type)
	}
	return leaf{of, f.Name, depth}, nil
}

// path returns the names from the column to its values.
func (l leaf) path() []string {
	path := []string{l.name}
	for range l.depth {
		path = append(path, "list", "element")
	}
	return path
}

// elements writes the schema nodes of a column, depth first:
//
//	required group members (LIST)
//	  repeated group list
//	    optional int32 element
//
// Elements of lists are optional, as in Arrow's types.
func (l leaf) elements(each func(fields func(c *compact))) {
	name := l.name
	for i := range l.depth {
		group, outer := name, i == 0
		each(func(c *compact) {
			c.int32(3, repetition(outer))
			c.text(4, group)
			c.int32(5, 1)
			c.int32(6, 3) // 3 is the converted type LIST
			c.group(10, func() { c.group(3, func() {}) })
		})
		each(func(c *compact) {
			c.int32(3, 2) // 2 is the repetition type repeated
			c.text(4, "list")
			c.int32(5, 1)
		})
		name = "element"
	}
	each(func(c *compact) {
		c.int32(1, l.kind)
		c.int32(3, repetition(l.depth == 0))
		c.text(4, name)
		if l.logical != nil {
			l.logical(c)
		}
	})
}

func repetition(required bool) int {
	if required {
		return 0
	}
	return 1
}

// rowGroup is the metadata of a row group.
type rowGroup struct {
	rows   int64
	chunks []chunk
}

// footer returns the metadata at the end of a file.
func footer(leaves []leaf, groups []rowGroup, codec int, notes [][2]string) []byte {
	c := &compact{}
	elements, rows := 1, int64(0)
	for _, l := range leaves {
		elements += 2*l.depth + 1
	}
	for _, g := range groups {
		rows += g.rows
	}
	c.open()
	c.int32(1, 2)
	c.list(2, elements, thriftStruct)
	each := func(fields func(c *compact)) {
		c.open()
		fields(c)
		c.close()
	}
	each(func(c *compact) {
		c.int32(3, repetition(true))
		c.text(4, "schema")
		c.int32(5, len(leaves))
	})
	for _, l := range leaves {
		l.elements(each)
	}
	c.int64(3, rows)
	c.groups(4, len(groups), func(i int) { groups[i].write(c, i, leaves, codec) })
	c.groups(5, len(notes), func(i int) {
		c.text(1, notes[i][0])
		c.text(2, notes[i][1])
	})
	c.text(6, "sanflow")
	c.groups(7, len(leaves), func(int) { c.group(1, func() {}) }) // the bounds of each column have the order of its type
	c.close()
	return append(binary.LittleEndian.AppendUint32(c.b, uint32(len(c.b))), magic...)
}

const magic = "PAR1"

func (g *rowGroup) write(c *compact, ordinal int, leaves []leaf, codec int) {
	var plain, compressed int64
	c.groups(1, len(leaves), func(i int) {
		l, chunk := leaves[i], g.chunks[i]
		plain += chunk.plain
		compressed += chunk.compressed
		c.int64(2, 0)
		c.group(3, func() { chunk.write(c, l, codec) })
	})
	c.int64(2, plain)
	c.int64(3, g.rows)
	c.int64(5, g.chunks[0].at)
	c.int64(6, compressed)
	if ordinal < 1<<15 {
		c.int16(7, ordinal)
	}
}

func (k *chunk) write(c *compact, l leaf, codec int) {
	c.int32(1, l.kind)
	c.list(2, 2, thriftI32)
	c.zigzag(encodingPlain)
	c.zigzag(encodingRLE)
	path := l.path()
	c.list(3, len(path), thriftBinary)
	for _, name := range path {
		c.string(name)
	}
	c.int32(4, codec)
	c.int64(5, k.levels)
	c.int64(6, k.plain)
	c.int64(7, k.compressed)
	c.int64(9, k.at)
	if k.low != nil {
		c.group(12, func() {
			c.int64(3, 0) // number of nulls
			c.text(5, string(k.top))
			c.text(6, string(k.low))
		})
	}
}

// arrowSchema returns the Arrow schema in the form that Arrow's libraries store in Parquet files: the IPC
// message in base64.
func arrowSchema(s *arrow.Schema) (string, error) {
	var b bytes.Buffer
	w := ipc.NewWriter(&b, ipc.WithSchema(s))
	if err := w.Close(); err != nil {
		return "", err
	}
	message := bytes.TrimSuffix(b.Bytes(), []byte{0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0}) // without the end marker
	return base64.StdEncoding.EncodeToString(message), nil
}
