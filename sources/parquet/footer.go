package parquet

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/sanflow/sanflow/internal/tabular"
)

// footer is the part of a file's metadata that reading columns takes; numbers
// are those of parquet.thrift.
type footer struct {
	elements []element
	rows     int64
	groups   []group
	notes    map[string]string
}

// element is a node of the schema, which is written depth first.
type element struct {
	name       string
	kind       int // of a leaf
	repetition int // required, optional, repeated
	children   int
	converted  int
	length     int // of values of FIXED_LEN_BYTE_ARRAY
	scale      int // of a decimal: digits behind the point
	logical    int // the field of LogicalType that is set
	bits       int // of an integer
	signed     bool
	unit       int // of a timestamp: the field of TimeUnit that is set
}

const (
	required = iota
	optional
	repeated
)

// group is a row group.
type group struct {
	rows   int64
	chunks []chunk
}

// chunk is a column of a row group.
type chunk struct {
	elsewhere           bool // in another file
	kind, codec         int
	encodings           uint64 // a bit each
	values              int64
	bytes               int64
	data, dictionary    int64 // where its pages begin
	hasDictionary, meta bool
}

var magic = "PAR1"

// readFooter reads the metadata at the end of a file.
func readFooter(r io.ReaderAt, size int64, budget *tabular.Budget) (f *footer, err error) {
	defer caught(&err)
	if size < 12 {
		return nil, fmt.Errorf("%d bytes are no Parquet file", size)
	}
	end := make([]byte, 8)
	if err := readAt(r, end, size-8); err != nil {
		return nil, err
	}
	if string(end[4:]) != magic {
		start := make([]byte, 4)
		if err := readAt(r, start, 0); err == nil && string(start) == magic {
			return nil, errors.New("the end of the Parquet file is missing: it was truncated")
		}
		return nil, errors.New("it is no Parquet file")
	}
	n := int64(binary.LittleEndian.Uint32(end))
	if n > size-12 {
		return nil, fmt.Errorf("metadata of %d bytes, which do not fit a file of %d", n, size)
	}
	// What is made of a byte of metadata takes up to some 200 bytes.
	if err := budget.Take(n, 200); err != nil {
		return nil, fmt.Errorf("the metadata: %w", err)
	}
	b := make([]byte, n)
	if err := readAt(r, b, size-8-n); err != nil {
		return nil, err
	}
	c := &compact{b: b}
	f = c.footer()
	if c.at != len(b) { // a byte of 0 ends a struct early
		return nil, errDamaged
	}
	return f, nil
}

func (c *compact) footer() *footer {
	f := &footer{notes: map[string]string{}}
	c.fields(func(id int, typ byte) bool {
		switch {
		case id == 2 && typ == typeList:
			c.structs(func() { f.elements = append(f.elements, c.schemaElement()) })
		case id == 3 && typ == typeI64:
			f.rows = c.int()
		case id == 4 && typ == typeList:
			c.structs(func() { f.groups = append(f.groups, c.group()) })
		case id == 5 && typ == typeList:
			c.structs(func() {
				var key, value string
				c.fields(func(id int, typ byte) bool {
					switch {
					case id == 1 && typ == typeBinary:
						key = string(c.bytes())
					case id == 2 && typ == typeBinary:
						value = string(c.bytes())
					default:
						return false
					}
					return true
				})
				f.notes[key] = value
			})
		default:
			return false
		}
		return true
	})
	return f
}

func (c *compact) schemaElement() element {
	e := element{kind: -1, converted: -1}
	c.fields(func(id int, typ byte) bool {
		switch {
		case id == 1 && typ == typeI32:
			e.kind = c.small()
		case id == 2 && typ == typeI32:
			e.length = c.small()
		case id == 7 && typ == typeI32:
			e.scale = c.small()
		case id == 3 && typ == typeI32:
			e.repetition = c.small()
		case id == 4 && typ == typeBinary:
			e.name = string(c.bytes())
		case id == 5 && typ == typeI32:
			e.children = c.small()
		case id == 6 && typ == typeI32:
			e.converted = c.small()
		case id == 10 && typ == typeStruct:
			c.logical(&e)
		default:
			return false
		}
		return true
	})
	return e
}

func (c *compact) logical(e *element) {
	c.fields(func(id int, typ byte) bool {
		e.logical = id
		if id == logicalTimestamp && typ == typeStruct {
			c.fields(func(id int, typ byte) bool {
				if id != 2 || typ != typeStruct {
					return false
				}
				c.fields(func(id int, _ byte) bool { e.unit = id; return false })
				return true
			})
			return true
		}
		if id != logicalInteger || typ != typeStruct {
			return false
		}
		c.fields(func(id int, typ byte) bool {
			switch {
			case id == 1 && typ == typeByte:
				e.bits = int(c.byte())
			case id == 2:
				e.signed = typ == typeTrue
				return false
			default:
				return false
			}
			return true
		})
		return true
	})
}

func (c *compact) group() (g group) {
	c.fields(func(id int, typ byte) bool {
		switch {
		case id == 1 && typ == typeList:
			c.structs(func() { g.chunks = append(g.chunks, c.chunk()) })
		case id == 3 && typ == typeI64:
			g.rows = c.int()
		default:
			return false
		}
		return true
	})
	return g
}

func (c *compact) chunk() (k chunk) {
	c.fields(func(id int, typ byte) bool {
		switch {
		case id == 1 && typ == typeBinary:
			k.elsewhere = true
			return false
		case id == 3 && typ == typeStruct:
			k.meta = true
			c.fields(func(id int, typ byte) bool {
				switch {
				case id == 1 && typ == typeI32:
					k.kind = c.small()
				case id == 2 && typ == typeList:
					for n, _ := c.list(); n > 0; n-- {
						k.encodings |= 1 << (uint(c.small()) & 63)
					}
				case id == 4 && typ == typeI32:
					k.codec = c.small()
				case id == 5 && typ == typeI64:
					k.values = c.int()
				case id == 7 && typ == typeI64:
					k.bytes = c.int()
				case id == 9 && typ == typeI64:
					k.data = c.int()
				case id == 11 && typ == typeI64:
					k.dictionary, k.hasDictionary = c.int(), true
				default:
					return false
				}
				return true
			})
			return true
		}
		return false
	})
	return k
}

// small reads a number that has to fit 32 bits.
func (c *compact) small() int {
	x := c.int()
	if x < math.MinInt32 || x > math.MaxInt32 {
		panic(errDamaged)
	}
	return int(x)
}

// arrowSchema is the IPC message that Arrow's libraries store, or nil.
func (f *footer) arrowSchema() ([]byte, error) {
	note, ok := f.notes["ARROW:schema"]
	if !ok {
		return nil, nil
	}
	return base64.StdEncoding.DecodeString(note)
}

// readAt fills b. An end of the input there is a truncation, and not io.EOF.
func readAt(r io.ReaderAt, b []byte, at int64) error {
	_, err := io.ReadFull(io.NewSectionReader(r, at, int64(len(b))), b)
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return err
}
