package parquet

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/sanflow/sanflow/flow/record"
)

// batch is the largest number of levels of a page, unless one row has more, which is then a page of its own.
// A page begins and ends with a row, as version 2 of pages requires.
const batch = 1 << 17

// column writes the values of one column, page by page.
type column interface {
	write(a arrow.Array) error
	end() error     // writes the last page of a row group
	begin(p *pages) // prepares the next file
	chunk() *chunk
}

// columnOf returns the writer of a column of elem in depth nested lists, or nil for a type that records of graphs lack.
func columnOf(elem arrow.DataType, depth int) column {
	switch elem.ID() {
	case arrow.UINT8:
		return newTyped(depth, func(b []byte, v []uint8) []byte {
			for _, x := range v { // int32 is the smallest integer of Parquet
				b = binary.LittleEndian.AppendUint32(b, uint32(x))
			}
			return b
		})
	case arrow.INT32:
		return newTyped(depth, func(b []byte, v []int32) []byte { return append(b, arrow.Int32Traits.CastToBytes(v)...) })
	case arrow.INT64:
		return newTyped(depth, func(b []byte, v []int64) []byte { return append(b, arrow.Int64Traits.CastToBytes(v)...) })
	case arrow.UINT64:
		return newTyped(depth, func(b []byte, v []uint64) []byte { return append(b, arrow.Uint64Traits.CastToBytes(v)...) })
	case arrow.STRING:
		if depth <= 1 {
			return newTexts(depth)
		}
	case arrow.FLOAT32:
		return newTyped(depth, func(b []byte, v []float32) []byte { return append(b, arrow.Float32Traits.CastToBytes(v)...) })
	case arrow.FLOAT64:
		return newTyped(depth, func(b []byte, v []float64) []byte { return append(b, arrow.Float64Traits.CastToBytes(v)...) })
	}
	return nil
}

// typed is a column of T at a depth of 0, 1 or 2 lists.
type typed[T record.Value] struct {
	depth int
	put   func(b []byte, v []T) []byte // appends the bytes of v

	out      *pages
	page     page
	low, top T // bounds of a row group, at depth 0
	bounded  bool
	hasNaN   bool // some value is NaN
	c        chunk
}

func newTyped[T record.Value](depth int, put func(b []byte, v []T) []byte) *typed[T] {
	c := &typed[T]{depth: depth, put: put}
	c.page.rep.width, c.page.def.width = depth, depth+1 // levels up to 1 or 2, and 2 or 4
	return c
}

func (c *typed[T]) begin(p *pages) {
	c.out = p
	c.page.reset()
}

func (c *typed[T]) chunk() *chunk { return &c.c }

func (c *typed[T]) write(a arrow.Array) error {
	// The views of package record handle slices, and need a record.
	rec := array.NewRecord(arrow.NewSchema([]arrow.Field{{Name: "c", Type: a.DataType()}}, nil), []arrow.Array{a}, int64(a.Len()))
	defer rec.Release()
	switch a.(type) {
	case *array.FixedSizeList:
		return c.fixed(rec)
	case *array.List:
		if c.depth == 2 {
			return c.nested(rec)
		}
		return c.lists(rec)
	}
	return c.flat(rec)
}

func (c *typed[T]) flat(rec arrow.Record) error {
	v, err := record.Values[T](rec, "c")
	for err == nil && len(v) > 0 {
		n := min(len(v), batch-c.page.levels)
		c.page.levels += n
		c.page.rows += n
		c.append(v[:n])
		c.bound(v[:n])
		if v = v[n:]; c.page.levels == batch {
			err = c.flush()
		}
	}
	return err
}

// bound extends the bounds of the row group, by which readers skip it.
func (c *typed[T]) bound(v []T) {
	if !c.bounded {
		c.low, c.top, c.bounded = v[0], v[0], true
	}
	for _, x := range v {
		c.low, c.top = min(c.low, x), max(c.top, x)
		c.hasNaN = c.hasNaN || x != x
	}
}

// bounds returns the lowest and the highest value as bytes, or nil.
func (c *typed[T]) bounds() (lowest, highest []byte) {
	if !c.bounded || c.hasNaN {
		return nil, nil
	}
	low, top := c.low+0, c.top+0 // converts -0 to 0
	if low == 0 {
		low = -low // -0, because both zeros can occur
	}
	return c.put(nil, []T{low}), c.put(nil, []T{top})
}

func (c *typed[T]) append(v []T) {
	c.page.values = c.put(c.page.values, v)
	c.page.present += len(v)
}

func (c *typed[T]) fixed(rec arrow.Record) error {
	v, width, err := record.FixedValues[T](rec, "c")
	if err != nil {
		return err
	}
	for rows := int(rec.NumRows()); rows > 0; {
		if err := c.reserve(max(1, width)); err != nil {
			return err
		}
		n := rows
		if width > 0 {
			n = min(rows, max(1, (batch-c.page.levels)/width))
		}
		for range n {
			c.page.row(width)
		}
		c.append(v[:n*width])
		v, rows = v[n*width:], rows-n
	}
	return nil
}

func (c *typed[T]) lists(rec arrow.Record) error {
	v, err := record.ListsOf[T](rec, "c")
	if err != nil {
		return err
	}
	for row := range v.Len() {
		if err := c.reserve(max(1, len(v.Row(row)))); err != nil {
			return err
		}
		c.page.row(len(v.Row(row)))
		c.append(v.Row(row))
	}
	return nil
}

// row adds the levels of a row with a list of n values.
func (p *page) row(n int) {
	p.rows++
	p.list(n, 0, 1)
}

// list adds the levels of a list of n values at a depth. rep is the repetition level of the first.
func (p *page) list(n, rep, depth int) {
	p.rep.add(rep, 1)
	if n == 0 {
		p.def.add(2*depth-2, 1)
		p.levels++
		return
	}
	p.rep.add(depth, n-1)
	p.def.add(2*depth, n)
	p.levels += n
}

func (c *typed[T]) nested(rec arrow.Record) error {
	v, err := record.NestedOf[T](rec, "c")
	if err != nil {
		return err
	}
	for row := range v.Len() {
		levels := 1
		for i := range v.RowLen(row) {
			levels += max(1, len(v.At(row, i)))
		}
		if err := c.reserve(levels); err != nil {
			return err
		}
		c.page.rows++
		if v.RowLen(row) == 0 {
			c.page.list(0, 0, 1)
		}
		for i := range v.RowLen(row) {
			c.page.list(len(v.At(row, i)), min(i, 1), 2)
			c.append(v.At(row, i))
		}
	}
	return nil
}

// reserve writes the page unless a row of n more levels fits. A row is within one page, whose size has 32
// bits.
func (c *typed[T]) reserve(n int) error {
	if size := len(c.put(nil, make([]T, 1))); n > math.MaxInt32/size {
		return fmt.Errorf("a row has %d values of %d bytes, and a page of Parquet at most %d bytes", n, size, math.MaxInt32)
	}
	if c.page.levels+n > batch {
		return c.flush()
	}
	return nil
}

func (c *typed[T]) flush() error {
	if c.page.rows == 0 {
		return nil
	}
	return c.out.write(&c.page, &c.c)
}

func (c *typed[T]) end() error {
	err := c.flush()
	c.c.low, c.c.top = c.bounds()
	c.bounded, c.hasNaN = false, false
	return err
}
