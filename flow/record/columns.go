package record

import (
	"fmt"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
)

// Extend returns the schema s with fields added at the end. A name that is
// there already is an error.
func Extend(s *arrow.Schema, fields ...arrow.Field) (*arrow.Schema, error) {
	return Replace(s, nil, fields...)
}

// Replace returns the schema s without the columns named in drop and with fields
// added at the end. A name that is there already, and stays, is an error.
func Replace(s *arrow.Schema, drop []string, fields ...arrow.Field) (*arrow.Schema, error) {
	all := make([]arrow.Field, 0, s.NumFields()+len(fields))
	for i := range s.NumFields() {
		if f := s.Field(i); !slices.Contains(drop, f.Name) {
			all = append(all, f)
		}
	}
	for _, f := range fields {
		for i := range all {
			if all[i].Name == f.Name {
				return nil, fmt.Errorf("record: there is a column %q already", f.Name)
			}
		}
		all = append(all, f)
	}
	m := s.Metadata()
	return arrow.NewSchema(all, &m), nil
}

// Without returns the schema s without the named columns.
func Without(s *arrow.Schema, names ...string) *arrow.Schema {
	left, _ := Replace(s, names) // only an added field can be an error
	return left
}

// newRecord returns a record of the columns, which it takes over.
func newRecord(s *arrow.Schema, cols []arrow.Array, rows int) arrow.Record {
	defer func() {
		for _, c := range cols {
			c.Release()
		}
	}()
	return array.NewRecord(s, cols, int64(rows))
}

// Project returns a record of schema s, which the caller owns: columns of that
// name come from rec, shared and not copied, unless cols has one of that name.
// Project takes over the arrays in cols, also when it fails.
func Project(s *arrow.Schema, rec arrow.Record, cols map[string]arrow.Array) (arrow.Record, error) {
	defer func() {
		for _, c := range cols {
			c.Release()
		}
	}()
	out := make([]arrow.Array, s.NumFields())
	release := func() {
		for _, c := range out {
			if c != nil {
				c.Release()
			}
		}
	}
	for i := range out {
		f := s.Field(i)
		c, ok := cols[f.Name]
		if !ok {
			at := rec.Schema().FieldIndices(f.Name)
			if len(at) != 1 {
				release()
				return nil, fmt.Errorf("record: %d columns %q, want one", len(at), f.Name)
			}
			c = rec.Column(at[0])
		}
		if c.Len() != int(rec.NumRows()) || c.DataType() != f.Type && !arrow.TypeEqual(c.DataType(), f.Type) {
			release()
			return nil, fmt.Errorf("record: column %q is %d × %s, want %d × %s", f.Name, c.Len(), c.DataType(), rec.NumRows(), f.Type)
		}
		c.Retain()
		out[i] = c
	}
	return newRecord(s, out, int(rec.NumRows())), nil
}
