package parquet

import (
	"encoding/binary"
	"errors"
	"math"
	"runtime"
)

// compact reads Thrift's compact protocol, the encoding of Parquet metadata. Methods do not check offsets: an
// access out of range panics, and caught turns the panic into an error.
type compact struct {
	b     []byte
	at    int
	depth int
}

// Type codes of fields and elements in the compact protocol.
const (
	typeTrue   = 1
	typeFalse  = 2
	typeByte   = 3
	typeI16    = 4
	typeI32    = 5
	typeI64    = 6
	typeDouble = 7
	typeBinary = 8
	typeList   = 9
	typeSet    = 10
	typeMap    = 11
	typeStruct = 12
	typeUUID   = 13
)

var errDamaged = errors.New("the metadata is damaged")

func caught(err *error) {
	switch r := recover().(type) {
	case nil:
	case runtime.Error:
		*err = errDamaged
	case error:
		if r != errDamaged {
			panic(r)
		}
		*err = r
	default:
		panic(r)
	}
}

func (c *compact) byte() byte {
	c.at++
	return c.b[c.at-1]
}

func (c *compact) uvarint() uint64 {
	x, n := binary.Uvarint(c.b[c.at:])
	if n <= 0 {
		panic(errDamaged)
	}
	c.at += n
	return x
}

func (c *compact) int() int64 {
	x := c.uvarint()
	return int64(x>>1) ^ -int64(x&1)
}

func (c *compact) bytes() []byte {
	n := c.uvarint()
	if n > uint64(len(c.b)-c.at) {
		panic(errDamaged)
	}
	c.at += int(n)
	return c.b[c.at-int(n) : c.at]
}

// list returns the length and element type of a list. An element takes at least one byte, which bounds the
// length.
func (c *compact) list() (n int, elem byte) {
	head := c.byte()
	size := uint64(head >> 4)
	if size == 15 {
		size = c.uvarint()
	}
	if size > uint64(len(c.b)-c.at) {
		panic(errDamaged)
	}
	return int(size), head & 15
}

// list is the destination of a list field: read reads one element of type elem.
type list struct {
	elem byte
	read func()
}

// fields reads a struct. to has the destinations of fields by id, whose types [compact.value] lists. A field without a
// destination, or of another type, is skipped.
func (c *compact) fields(to map[int]any) {
	c.each(func(id int, typ byte) bool { return c.value(typ, to[id]) })
}

// value reads a field of type typ into to. It returns false if to is not for that type.
func (c *compact) value(typ byte, to any) bool {
	switch to := to.(type) {
	case *bool: // the type is the value
		if typ > typeFalse {
			return false
		}
		*to = typ == typeTrue
	case *byte:
		if typ != typeByte {
			return false
		}
		*to = c.byte()
	case *int:
		if typ != typeI32 {
			return false
		}
		*to = c.small()
	case **int: // stays nil without the field
		x := 0
		if !c.value(typ, &x) {
			return false
		}
		*to = &x
	case *int64:
		if typ != typeI64 {
			return false
		}
		*to = c.int()
	case *[]byte:
		if typ != typeBinary {
			return false
		}
		*to = c.bytes()
	case func(): // to reads the fields of the struct itself
		if typ != typeStruct {
			return false
		}
		to()
	case list:
		if typ != typeList {
			return false
		}
		n, elem := c.list()
		if elem != to.elem {
			panic(errDamaged)
		}
		for range n {
			to.read()
		}
	default:
		return false
	}
	return true
}

// small reads an integer and checks that it fits 32 bits.
func (c *compact) small() int {
	x := c.int()
	if x < math.MinInt32 || x > math.MaxInt32 {
		panic(errDamaged)
	}
	return int(x)
}

// each calls f with the id and type of each field of a struct. If f returns false, the field is skipped.
func (c *compact) each(f func(id int, typ byte) bool) {
	if c.depth++; c.depth > 32 {
		panic(errDamaged)
	}
	for id := 0; ; {
		head := c.byte()
		if head == 0 {
			c.depth--
			return
		}
		if step := int(head >> 4); step != 0 {
			id += step
		} else {
			id = int(int16(c.int()))
		}
		if !f(id, head&15) {
			c.skip(head & 15)
		}
	}
}

func (c *compact) skip(typ byte) {
	switch typ {
	case typeTrue, typeFalse:
	case typeByte:
		c.at++
	case typeI16, typeI32, typeI64:
		c.uvarint()
	case typeDouble:
		c.at += 8
	case typeUUID:
		c.at += 16
	case typeBinary:
		c.bytes()
	case typeList, typeSet:
		if c.depth++; c.depth > 32 {
			panic(errDamaged)
		}
		n, elem := c.list()
		for range n {
			c.element(elem)
		}
		c.depth--
	case typeMap:
		n := c.uvarint()
		if n > uint64(len(c.b)-c.at) {
			panic(errDamaged)
		}
		if n == 0 {
			return
		}
		kinds := c.byte()
		for range n {
			c.element(kinds >> 4)
			c.element(kinds & 15)
		}
	case typeStruct:
		c.fields(nil)
	default:
		panic(errDamaged)
	}
}

// element skips an element of a collection. A bool takes a byte there, unlike in a struct.
func (c *compact) element(typ byte) {
	if typ == typeTrue || typ == typeFalse {
		c.at++
		return
	}
	c.skip(typ)
}
