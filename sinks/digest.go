package sinks

import (
	"crypto/sha256"
	"fmt"
	"hash"
	"hash/crc32"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow/record"
)

// learned are the columns that a model learns from.
var learned = []string{
	record.Target, record.NodesCat, record.Nodes, record.NodesSparse, record.EdgesCat, record.Edges,
}

// columnsOf returns the types and metadata of the learned columns.
func columnsOf(s *arrow.Schema) map[string]string {
	columns := map[string]string{}
	for _, f := range s.Fields() {
		switch {
		case f.Name == record.Target:
			columns[f.Name] = fmt.Sprintf("%v %v", f.Type, f.Metadata)
		case slices.Contains(learned, f.Name):
			columns[f.Name] = fmt.Sprint(f.Metadata)
		}
	}
	return columns
}

// castagnoli is the checksum of columns. It distinguishes streams of different settings, and is no
// protection against forgery.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// addDigest adds the rows of a record to the digest of the stream.
func addDigest(digest *[sha256.Size]byte, rec arrow.Record) error {
	h := sha256.New()
	h.Write(digest[:])
	for _, name := range append([]string{record.GraphID}, learned...) {
		if !rec.Schema().HasField(name) {
			continue
		}
		sum := crc32.New(castagnoli)
		if err := hashColumn(sum, rec, name); err != nil {
			return err
		}
		fmt.Fprintf(h, "%s %08x\n", name, sum.Sum32()) // a hash returns no error
	}
	h.Sum(digest[:0])
	return nil
}

// hashColumn writes the bytes of the values of a column to h.
func hashColumn(h hash.Hash, rec arrow.Record, name string) (err error) {
	var ids []int64
	var ints []int32
	var floats []float32
	field, _, _ := record.Field(rec.Schema(), name)
	switch name {
	case record.GraphID:
		ids, err = record.Values[int64](rec, name)
	case record.Target:
		if field.Type.ID() == arrow.FLOAT32 {
			floats, err = record.Values[float32](rec, name)
		} else {
			ints, err = record.Values[int32](rec, name)
		}
	case record.NodesCat, record.EdgesCat:
		ints, _, err = record.FixedValues[int32](rec, name)
	case record.Nodes, record.Edges:
		floats, _, err = record.FixedValues[float32](rec, name)
	case record.NodesSparse:
		lists, err := record.NestedOf[int32](rec, name)
		if err != nil {
			return err
		}
		ends, values := lists.All()
		from := ends[0] // above 0 in a slice of a record
		for _, end := range ends {
			ints = append(ints, end-from)
		}
		ints = append(ints, values[from:ends[len(ends)-1]]...)
	}
	h.Write(arrow.Int64Traits.CastToBytes(ids))
	h.Write(arrow.Int32Traits.CastToBytes(ints))
	h.Write(arrow.Float32Traits.CastToBytes(floats))
	return err
}
