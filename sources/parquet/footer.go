package parquet

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

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
	length     int   // size of FIXED_LEN_BYTE_ARRAY values
	scale      int   // decimal places of a decimal
	logical    int   // field id of the LogicalType
	bits       uint8 // width of an integer
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
	elsewhere        bool // the data are in another file
	meta             bool // the metadata of the column are there
	kind, codec      int
	encodings        uint64 // bit set of encodings
	values           int64
	bytes            int64
	data, dictionary int64 // offsets of the first pages; dictionary is 0 without a dictionary
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
	c.fields(map[int]any{
		2: list{typeStruct, func() { f.elements = append(f.elements, c.schemaElement()) }},
		3: &f.rows,
		4: list{typeStruct, func() { f.groups = append(f.groups, c.group()) }},
		5: list{typeStruct, func() {
			var key, value []byte
			c.fields(map[int]any{1: &key, 2: &value})
			f.notes[string(key)] = string(value)
		}},
	})
	return f
}

func (c *compact) schemaElement() element {
	e, name := element{kind: -1, converted: -1}, []byte(nil)
	c.fields(map[int]any{
		1: &e.kind, 2: &e.length, 3: &e.repetition, 4: &name, 5: &e.children, 6: &e.converted, 7: &e.scale,
		10: func() { c.logical(&e) },
	})
	e.name = string(name)
	return e
}

// logical reads a LogicalType, a union: its only field is a struct, and the id of the field is the type.
func (c *compact) logical(e *element) {
	c.each(func(id int, typ byte) bool {
		e.logical = id
		switch {
		case typ == typeStruct && id == logicalTimestamp:
			c.fields(map[int]any{2: func() {
				c.each(func(unit int, _ byte) bool { e.unit = unit; return false })
			}})
		case typ == typeStruct && id == logicalInteger:
			c.fields(map[int]any{1: &e.bits, 2: &e.signed})
		default:
			return false
		}
		return true
	})
}

func (c *compact) group() (g group) {
	c.fields(map[int]any{1: list{typeStruct, func() { g.chunks = append(g.chunks, c.chunk()) }}, 3: &g.rows})
	return g
}

func (c *compact) chunk() (k chunk) {
	var file []byte
	c.fields(map[int]any{1: &file, 3: func() {
		k.meta = true
		c.fields(map[int]any{
			1: &k.kind, 2: list{typeI32, func() { k.encodings |= 1 << (uint(c.small()) & 63) }}, 4: &k.codec,
			5: &k.values, 7: &k.bytes, 9: &k.data, 11: &k.dictionary,
		})
	}})
	k.elsewhere = file != nil
	return k
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
