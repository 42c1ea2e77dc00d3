package parquet

import "encoding/binary"

// compact writes Thrift's compact protocol, the encoding of Parquet's metadata. The fields of a struct are in
// ascending order. Each begins with its type and the difference of its number to that of the previous field.
type compact struct {
	b    []byte
	last []int // number of the last field of each open struct
}

// Types of the compact protocol.
const (
	thriftTrue   = 1
	thriftFalse  = 2
	thriftByte   = 3
	thriftI16    = 4
	thriftI32    = 5
	thriftI64    = 6
	thriftBinary = 8
	thriftList   = 9
	thriftStruct = 12
)

func (c *compact) field(id int, typ byte) {
	last := &c.last[len(c.last)-1]
	c.b = append(c.b, byte(id-*last)<<4|typ) // differences are below 16 here
	*last = id
}

// open begins a struct that is an element of a list, or the outermost one.
func (c *compact) open() { c.last = append(c.last, 0) }

// close ends a struct.
func (c *compact) close() {
	c.b = append(c.b, 0)
	c.last = c.last[:len(c.last)-1]
}

// group writes a struct field.
func (c *compact) group(id int, fields func()) {
	c.field(id, thriftStruct)
	c.open()
	fields()
	c.close()
}

// groups writes a list of n structs.
func (c *compact) groups(id, n int, fields func(i int)) {
	c.list(id, n, thriftStruct)
	for i := range n {
		c.open()
		fields(i)
		c.close()
	}
}

// list begins a list of n elements.
func (c *compact) list(id, n int, elem byte) {
	c.field(id, thriftList)
	if n < 15 {
		c.b = append(c.b, byte(n)<<4|elem)
		return
	}
	c.b = binary.AppendUvarint(append(c.b, 0xf0|elem), uint64(n))
}

func (c *compact) int32(id int, v int) {
	c.field(id, thriftI32)
	c.zigzag(int64(v))
}

func (c *compact) int64(id int, v int64) {
	c.field(id, thriftI64)
	c.zigzag(v)
}

func (c *compact) int16(id int, v int) {
	c.field(id, thriftI16)
	c.zigzag(int64(v))
}

func (c *compact) int8(id int, v byte) {
	c.field(id, thriftByte)
	c.b = append(c.b, v)
}

func (c *compact) bool(id int, v bool) {
	if v {
		c.field(id, thriftTrue)
	} else {
		c.field(id, thriftFalse)
	}
}

func (c *compact) text(id int, s string) {
	c.field(id, thriftBinary)
	c.string(s)
}

// zigzag and string also write elements of lists.
func (c *compact) zigzag(v int64) { c.b = binary.AppendVarint(c.b, v) }

func (c *compact) string(s string) {
	c.b = append(binary.AppendUvarint(c.b, uint64(len(s))), s...)
}
