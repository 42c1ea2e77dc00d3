package arrow18

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	arrow15 "github.com/apache/arrow/go/v15/arrow"
	array15 "github.com/apache/arrow/go/v15/arrow/array"
	memory15 "github.com/apache/arrow/go/v15/arrow/memory"
)

// Export returns a record of arrow-go v18 with the buffers of rec. The caller
// owns it, and still owns rec.
func Export(rec arrow15.Record) (arrow.RecordBatch, error) {
	s, err := ExportSchema(rec.Schema())
	if err != nil {
		return nil, err
	}
	return export(rec, s)
}

func export(rec arrow15.Record, s *arrow.Schema) (out arrow.RecordBatch, err error) {
	defer caught(&err)
	cols := make([]arrow.Array, rec.NumCols())
	defer func() {
		for _, c := range cols {
			if c != nil {
				c.Release()
			}
		}
	}()
	for i, c := range rec.Columns() {
		d := exportData(c.Data(), s.Field(i).Type)
		defer d.Release()
		cols[i] = array.MakeFromData(d)
	}
	return array.NewRecordBatch(s, cols, rec.NumRows()), nil
}

func exportData(from arrow15.ArrayData, t arrow.DataType) *array.Data {
	bufs := make([]*memory.Buffer, len(from.Buffers()))
	for i, b := range from.Buffers() {
		if b != nil {
			b.Retain()
			bufs[i] = memory.NewBufferWithAllocator(b.Bytes(), lease{b})
			defer bufs[i].Release()
		}
	}
	if d, ok := t.(*arrow.DictionaryType); ok {
		values := exportData(from.Dictionary(), d.ValueType)
		defer values.Release()
		return array.NewDataWithDictionary(t, from.Len(), bufs, from.NullN(), from.Offset(), values)
	}
	children := make([]arrow.ArrayData, len(from.Children()))
	for i, c := range from.Children() {
		children[i] = exportData(c, storage(t).(arrow.NestedType).Fields()[i].Type)
		defer children[i].Release()
	}
	return array.NewData(t, from.Len(), bufs, children, from.NullN(), from.Offset())
}

// storage returns the storage type of an extension type, and any other type unchanged.
func storage(t arrow.DataType) arrow.DataType {
	if e, ok := t.(arrow.ExtensionType); ok {
		return e.StorageType()
	}
	return t
}

// Import returns a record of Arrow v15 with the buffers of rec. The caller owns
// it, and still owns rec.
func Import(rec arrow.RecordBatch) (arrow15.Record, error) {
	s, err := ImportSchema(rec.Schema())
	if err != nil {
		return nil, err
	}
	return importRecord(rec, s)
}

func importRecord(rec arrow.RecordBatch, s *arrow15.Schema) (out arrow15.Record, err error) {
	defer caught(&err)
	if n := len(s.Fields()); n != int(rec.NumCols()) {
		return nil, fmt.Errorf("arrow18: %d columns, want %d", rec.NumCols(), n)
	}
	cols := make([]arrow15.Array, rec.NumCols())
	defer func() {
		for _, c := range cols {
			if c != nil {
				c.Release()
			}
		}
	}()
	for i, c := range rec.Columns() {
		d := importData(c.Data(), s.Field(i).Type)
		defer d.Release()
		cols[i] = array15.MakeFromData(d)
	}
	return array15.NewRecord(s, cols, rec.NumRows()), nil
}

func importData(from arrow.ArrayData, t arrow15.DataType) *array15.Data {
	bufs := make([]*memory15.Buffer, len(from.Buffers()))
	for i, b := range from.Buffers() {
		if b != nil {
			b.Retain()
			bufs[i] = memory15.NewBufferWithAllocator(b.Bytes(), lease{b})
			defer bufs[i].Release()
		}
	}
	if d, ok := t.(*arrow15.DictionaryType); ok {
		values := importData(from.Dictionary(), d.ValueType)
		defer values.Release()
		return array15.NewDataWithDictionary(t, from.Len(), bufs, from.NullN(), from.Offset(), values)
	}
	if e, ok := t.(arrow15.ExtensionType); ok {
		d := importData(from, e.StorageType())
		defer d.Release()
		return array15.NewData(t, d.Len(), d.Buffers(), d.Children(), d.NullN(), d.Offset())
	}
	children := make([]arrow15.ArrayData, len(from.Children()))
	for i, c := range from.Children() {
		children[i] = importData(c, t.(arrow15.NestedType).Fields()[i].Type)
		defer children[i].Release()
	}
	return array15.NewData(t, from.Len(), bufs, children, from.NullN(), from.Offset())
}

// lease is the allocator of a buffer whose memory belongs to the other library. Free releases the
// memory there. Both libraries have the same interface for allocators.
type lease struct{ of interface{ Release() } }

func (l lease) Free([]byte) { l.of.Release() }

// Allocate and Reallocate serve mutable buffers, of which there are none.
func (l lease) Allocate(n int) []byte { return make([]byte, n) }

func (l lease) Reallocate(n int, b []byte) []byte {
	out := make([]byte, n)
	copy(out, b)
	return out
}
