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

// footer is the metadata that is needed to read columns. Field numbers below are those of parquet.thrift.
type footer struct {
	elements []element
	rows     int64
	groups   []group
	notes    map[string]string
}

// element is a node of the schema tree, which is stored in preorder.
type element struct {
	name       string
	kind       int // physical type of a leaf
	repetition int // required, optional or repeated
	children   int
	converted  int
	length     int // size of FIXED_LEN_BYTE_ARRAY values
	scale      int // decimal places of a decimal
	logical    int // field id of the LogicalType
	bits       int // width of an integer
	signed     bool
	unit       int // field id of the TimeUnit of a timestamp
}

const (
	required = iota
	optional
	repeated
)

type group struct {
	rows   int64
	chunks []chunk
}

// chunk is a column chunk: one column of a row group.
type chunk struct {
	elsewhere           bool // the data are in another file
	kind, codec         int
	encodings           uint64 // bit set of encodings
	values              int64
	bytes               int64
	data, dictionary    int64 // offsets of the first pages
	hasDictionary, meta bool
}

var magic = "PAR1"

// readFooter reads the metadata at the end of the file.
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
	// A byte of metadata expands to at most about 200 bytes.
	if err := budget.Take(n, 200); err != nil {
		return nil, fmt.Errorf("the metadata: %w", err)
	}
	b := make([]byte, n)
	if err := readAt(r, b, size-8-n); err != nil {
		return nil, err
	}
	c := &compact{b: b}
	f = c.footer()
	if c.at != len(b) { // a zero byte ended a struct early
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

// small reads an integer and checks that it fits 32 bits.
func (c *compact) small() int {
	x := c.int()
	if x < math.MinInt32 || x > math.MaxInt32 {
		panic(errDamaged)
	}
	return int(x)
}

// arrowSchema returns the Arrow IPC schema message that Arrow libraries store, or nil.
func (f *footer) arrowSchema() ([]byte, error) {
	note, ok := f.notes["ARROW:schema"]
	if !ok {
		return nil, nil
	}
	return base64.StdEncoding.DecodeString(note)
}

// readAt fills b. The end of the file is io.ErrUnexpectedEOF.
func readAt(r io.ReaderAt, b []byte, at int64) error {
	_, err := io.ReadFull(io.NewSectionReader(r, at, int64(len(b))), b)
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return err
}
