package record

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
)

// Digest returns the SHA-256 of records, in hexadecimal: of the names, types and
// metadata of their columns, and of all values, row by row within a column. Slices of
// records have the digest of a copy. Columns must hold numbers or strings, or lists of these.
// O(bytes).
func Digest(recs ...arrow.Record) (string, error) {
	h := sha256.New()
	for _, rec := range recs {
		fmt.Fprintf(h, "%d rows %v\n", rec.NumRows(), rec.Schema().Metadata()) // writing to a hash returns no error
		for i, f := range rec.Schema().Fields() {
			fmt.Fprintf(h, "%q %v %v\n", f.Name, f.Type, f.Metadata)
			if err := digest(h, rec.Column(i)); err != nil {
				return "", fmt.Errorf("record: column %q: %w", f.Name, err)
			}
		}
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// digest adds the values of an array; lists add their lengths first.
func digest(h hash.Hash, a arrow.Array) error {
	if a.NullN() > 0 {
		return fmt.Errorf("there are %d nulls, want none", a.NullN())
	}
	if l, ok := a.(array.ListLike); ok {
		from, to := int64(0), int64(0)
		for row := range a.Len() {
			start, end := l.ValueOffsets(row)
			if row == 0 {
				from = start
			}
			to = end
			binary.Write(h, binary.LittleEndian, end-start)
		}
		values := array.NewSlice(l.ListValues(), from, to)
		defer values.Release()
		return digest(h, values)
	}
	if s, ok := a.(*array.String); ok {
		return digestText(h, s)
	}
	t, ok := a.DataType().(arrow.FixedWidthDataType)
	if !ok || len(a.Data().Buffers()) != 2 || t.BitWidth()%8 != 0 {
		return fmt.Errorf("values are %s, want numbers or strings", a.DataType())
	}
	if b := a.Data().Buffers()[1]; b != nil {
		size := t.BitWidth() / 8
		h.Write(b.Bytes()[a.Data().Offset()*size:][:a.Len()*size])
	}
	return nil
}

// digestText adds strings, each with its length first.
func digestText(h hash.Hash, col *array.String) error {
	ends, text, err := textOf(col)
	if err != nil {
		return err
	}
	if len(ends) == 1 { // the offset of an empty column may be invalid
		return nil
	}
	for i, end := range ends[1:] {
		if end < ends[i] || ends[i] < 0 || int(end) > len(text) {
			return fmt.Errorf("string %d has the offsets %d and %d, of %d bytes", i, ends[i], end, len(text))
		}
		binary.Write(h, binary.LittleEndian, end-ends[i])
	}
	h.Write(text[ends[0]:ends[len(ends)-1]])
	return nil
}
