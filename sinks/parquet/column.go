package parquet

import (
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
	begin(p *pages) // sets the file that write writes to
	write(a arrow.Array) error
	end() (chunk, error) // writes the last page of a row group
}

// pager collects the rows of a column, and writes them page by page.
type pager struct {
	depth int // number of nested lists around a value, 0 to 2
	out   *pages
	page  page
	c     chunk
}

func newPager(depth int) pager {
	p := pager{depth: depth}
	p.page.rep.width, p.page.def.width = depth, depth+1 // in bits: repetition levels are at most depth, definition levels at most 2·depth
	return p
}

func (p *pager) begin(out *pages) {
	p.out, p.c = out, chunk{}
	p.page.reset()
}

func (p *pager) flush() error {
	if p.page.rows == 0 {
		return nil
	}
	return p.out.write(&p.page, &p.c)
}

func (p *pager) end() (c chunk, err error) {
	err = p.flush()
	c, p.c = p.c, chunk{}
	return c, err
}

// typed is a column of values of type T, or of lists of them.
type typed[T record.Value] struct {
	pager
	put  func(b []byte, v []T) []byte // appends the bytes of v
	size int                          // bytes of a value

	low, top T // least and greatest value of a row group, at depth 0; valid if bounded
	bounded  bool
	hasNaN   bool // some value is NaN
}

func newTyped[T record.Value](depth int, put func(b []byte, v []T) []byte) *typed[T] {
	return &typed[T]{pager: newPager(depth), put: put, size: len(put(nil, make([]T, 1)))}
}

// alone returns a record of one column "c": the views of package record handle slices, and need a record.
func alone(a arrow.Array) arrow.Record {
	return array.NewRecord(arrow.NewSchema([]arrow.Field{{Name: "c", Type: a.DataType()}}, nil), []arrow.Array{a}, int64(a.Len()))
}

func (c *typed[T]) write(a arrow.Array) error {
	rec := alone(a)
	defer rec.Release()
	_, fixed := a.(*array.FixedSizeList)
	switch {
	case fixed:
		v, width, err := record.FixedValues[T](rec, "c")
		for range a.Len() {
			if err != nil {
				return err
			}
			err = c.row([]int32{0, int32(width)}, v)
			v = v[width:]
		}
		return err
	case c.depth == 0:
		return c.flat(rec)
	case c.depth == 1:
		v, err := record.ListsOf[T](rec, "c")
		for row := 0; err == nil && row < v.Len(); row++ {
			err = c.row([]int32{0, int32(len(v.Row(row)))}, v.Row(row))
		}
		return err
	}
	v, err := record.NestedOf[T](rec, "c")
	for row := 0; err == nil && row < v.Len(); row++ {
		err = c.row(v.Row(row))
	}
	return err
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

// row adds a row of the lists v[ends[i]:ends[i+1]], at depth 1 of one list.
func (c *typed[T]) row(ends []int32, v []T) error {
	levels := c.depth - 1
	for i, end := range ends[1:] {
		levels += max(1, int(end-ends[i]))
	}
	if err := c.reserve(levels); err != nil {
		return err
	}
	c.page.rows++
	if len(ends) == 1 {
		c.page.list(0, 0, 1)
	}
	for i, end := range ends[1:] {
		c.page.list(int(end-ends[i]), min(i, 1), c.depth)
	}
	c.append(v[ends[0]:ends[len(ends)-1]])
	return nil
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

// reserve writes the page unless a row of n more levels fits. A row is within one page, whose size has 32
// bits.
func (c *typed[T]) reserve(n int) error {
	if n > math.MaxInt32/c.size {
		return fmt.Errorf("a row has %d values of %d bytes, and a page of Parquet at most %d bytes", n, c.size, math.MaxInt32)
	}
	if c.page.levels+n > batch {
		return c.flush()
	}
	return nil
}

func (c *typed[T]) end() (chunk, error) {
	of, err := c.pager.end()
	of.low, of.top = c.bounds()
	c.bounded, c.hasNaN = false, false
	return of, err
}
