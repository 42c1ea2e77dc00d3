// Package tabular is what the readers of Arrow and Parquet files have in common:
// columns as some program has written them, and their way into the record
// contract of package record, checked value by value.
//
// The readers trust nothing in a file. They read into plain slices whose sizes
// were compared with the bytes there are and with a budget; this package makes
// records of them.
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
	// Elem is the type of the values; 0 marks a column of some type that no
	// record of graphs has, such as a date, which Type then names.
	Elem arrow.Type
	// Type is for messages.
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
	// Ends has, per depth of lists, one more offset than there are lists: those
	// of depth 1 into the lists of depth 2, the last ones into Values.
	Ends [2][]int32
	// Nulls says which rows have no value, where a reader was told to let these pass: then
	// Values has those of the other rows.
	Nulls []bool
}

// Text is strings: string i is Bytes[Ends[i]:Ends[i+1]]. A reader has checked that the
// offsets do not fall and do not leave the bytes, not that the strings are UTF-8.
type Text struct {
	Ends  []int32
	Bytes []byte
}

// Batch is some rows of a file, all columns in the order of the file.
type Batch struct {
	Rows int
	Data []Data // empty for columns that are left out
}

// Budget is how many bytes may be taken for a record. It bounds what a file can
// make a reader allocate, whatever it claims. It ends with a context too: it is
// asked often enough for that.
type Budget struct {
	Left, Most int64
	ctx        context.Context
}

// Take accounts for n values of size bytes each. Without a budget there is enough.
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

// Reset makes all of it available again.
func (b *Budget) Reset(ctx context.Context) { b.Left, b.ctx = b.Most, ctx }

// Ends checks offsets of lists: from 0 on, never falling, up to values.
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
