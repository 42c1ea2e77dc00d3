// Package tabular is common to the readers of Arrow and Parquet files. It converts the columns of any
// program to the record contract of package record, and checks every value.
//
// The readers do not trust files. They read into slices whose sizes they compare with the available
// bytes and a budget. This package makes records of these slices.
package tabular

import (
	"context"
	"fmt"

	"github.com/apache/arrow/go/v15/arrow"
)

// Number is a type of values in files.
type Number interface {
	int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64 | float32 | float64
}

// Column is the type of a column in a file.
type Column struct {
	Name string
	Meta arrow.Metadata
	// Elem is the type of the values. 0 is a type that records of graphs lack, such as a date; Type names it.
	Elem arrow.Type
	// Type names the type in errors.
	Type string
	// Depth is the number of lists around a value: 0, 1 or 2.
	Depth int
	// Width is the length of each list of a fixed-size list, otherwise -1.
	Width int
}

// Data is the values of a column in some rows.
type Data struct {
	// Values is a slice of a Number, or Text.
	Values any
	// Ends has for each depth of lists one more offset than there are lists. Offsets of depth 1 index the
	// lists of depth 2, and the last offsets index Values.
	Ends [2][]int32
	// Nulls reports which rows have no value, if a reader accepts nulls. Values then has those of the other
	// rows.
	Nulls []bool
}

// Text is strings: string i is Bytes[Ends[i]:Ends[i+1]]. A reader has checked that offsets ascend and stay
// within the bytes, not that strings are UTF-8.
type Text struct {
	Ends  []int32
	Bytes []byte
}

// Batch is some rows of a file, all columns in the order of the file.
type Batch struct {
	Rows int
	Data []Data // empty for columns that are not read
}

// Budget bounds the bytes that a file can make a reader allocate for one record. Take also returns the error
// of an ended context.
type Budget struct {
	Left, Most int64
	ctx        context.Context
}

// Take subtracts n values of size bytes each. A nil Budget permits everything.
func (b *Budget) Take(n, size int64) error {
	switch {
	case b == nil:
		return nil
	case b.ctx != nil && b.ctx.Err() != nil:
		return context.Cause(b.ctx)
	case n < 0 || n > b.Left/max(size, 1):
		return fmt.Errorf("%d × %d bytes, with %d left of MaxBytes %d", n, size, b.Left, b.Most)
	}
	b.Left -= n * size
	return nil
}

// Reset restores the whole budget.
func (b *Budget) Reset(ctx context.Context) { b.Left, b.ctx = b.Most, ctx }

// Ends checks offsets of lists: ascending, from 0 on, up to values.
func Ends(ends []int32, values int) error {
	if len(ends) == 0 {
		return fmt.Errorf("there are no offsets of lists")
	}
	last := int32(0)
	for i, end := range ends {
		if end < last || int(end) > values {
			return fmt.Errorf("list %d: offset %d outside %d to %d", max(i-1, 0), end, last, values)
		}
		last = end
	}
	return nil
}
