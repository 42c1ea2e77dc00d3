package record_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow/flowtest"
	"github.com/sanflow/sanflow/flow/record"
)

// recordOf makes a record of columns, which it takes over.
func recordOf(cols map[string]arrow.Array) arrow.Record {
	var fields []arrow.Field
	var all []arrow.Array
	for name, c := range cols {
		fields = append(fields, arrow.Field{Name: name, Type: c.DataType(), Nullable: true})
		all = append(all, c)
	}
	rec := array.NewRecord(arrow.NewSchema(fields, nil), all, int64(all[0].Len()))
	for _, c := range all {
		c.Release()
	}
	return rec
}

// TestSlicedViews reads every kind of column at every offset.
func TestSlicedViews(t *testing.T) {
	mem := flowtest.Mem(t)
	flat, lists := record.NewColumn[float32](mem), record.NewLists[int32](mem)
	nested, fixed := record.NewNested[uint8](mem), record.NewFixed[int64](mem, 2)
	const rows = 5
	for i := range rows {
		flat.Append(float32(i))
		lists.Append(slices.Repeat([]int32{int32(i)}, i))
		for j := range i {
			nested.Append(slices.Repeat([]uint8{uint8(i)}, j))
		}
		nested.EndRow()
		copy(fixed.Grow(1), []int64{int64(i), int64(-i)})
	}
	rec := recordOf(map[string]arrow.Array{
		"flat": flat.Finish(), "lists": lists.Finish(), "nested": nested.Finish(), "fixed": fixed.Finish(),
	})
	defer rec.Release()
	for from := int64(0); from <= rows; from++ {
		for to := from; to <= rows; to++ {
			cut := rec.NewSlice(from, to)
			n := int(to - from)
			f, err1 := record.Values[float32](cut, "flat")
			l, err2 := record.ListsOf[int32](cut, "lists")
			d, err3 := record.NestedOf[uint8](cut, "nested")
			x, width, err4 := record.FixedValues[int64](cut, "fixed")
			for _, err := range []error{err1, err2, err3, err4} {
				if err != nil {
					t.Fatal(err)
				}
			}
			if len(f) != n || l.Len() != n || d.Len() != n || len(x) != 2*n || width != 2 {
				t.Fatalf("rows %d to %d: %d, %d, %d and %d × %d values", from, to, len(f), l.Len(), d.Len(), len(x), width)
			}
			for row := range n {
				i := int(from) + row
				if f[row] != float32(i) || x[2*row] != int64(i) || x[2*row+1] != int64(-i) {
					t.Errorf("rows %d to %d: row %d is %v, %v", from, to, row, f[row], x[2*row:2*row+2])
				}
				if !slices.Equal(l.Row(row), slices.Repeat([]int32{int32(i)}, i)) || d.RowLen(row) != i {
					t.Errorf("rows %d to %d: row %d is %v, %d lists", from, to, row, l.Row(row), d.RowLen(row))
				}
				for j := range i {
					if !slices.Equal(d.At(row, j), slices.Repeat([]uint8{uint8(i)}, j)) {
						t.Errorf("rows %d to %d: row %d has %v", from, to, row, d.At(row, j))
					}
				}
			}
			cut.Release()
		}
	}
}

// read tries every view on a column.
func readAll(rec arrow.Record, name string) (errs [4]error) {
	_, errs[0] = record.Values[int32](rec, name)
	_, errs[1] = record.ListsOf[int32](rec, name)
	_, errs[2] = record.NestedOf[int32](rec, name)
	_, _, errs[3] = record.FixedValues[int32](rec, name)
	return errs
}

// TestWrongColumns reads columns as what they are not.
func TestWrongColumns(t *testing.T) {
	mem := flowtest.Mem(t)
	ints, floats := array.NewInt32Builder(mem), array.NewFloat32Builder(mem)
	defer ints.Release()
	defer floats.Release()
	ints.AppendValues([]int32{1, 2}, nil)
	floats.AppendValues([]float32{1, 2}, nil)
	lists, floatLists := array.NewListBuilder(mem, arrow.PrimitiveTypes.Int32), array.NewListBuilder(mem, arrow.PrimitiveTypes.Float32)
	defer lists.Release()
	defer floatLists.Release()
	nested := array.NewListBuilder(mem, record.ListType[int32]())
	defer nested.Release()
	fixed := array.NewFixedSizeListBuilder(mem, 2, arrow.PrimitiveTypes.Int32)
	defer fixed.Release()
	for range 2 {
		lists.Append(true)
		lists.ValueBuilder().(*array.Int32Builder).Append(1)
		floatLists.Append(true)
		nested.Append(true)
		fixed.Append(true)
		fixed.ValueBuilder().(*array.Int32Builder).AppendValues([]int32{1, 2}, nil)
	}
	rec := recordOf(map[string]arrow.Array{
		"ints": ints.NewArray(), "floats": floats.NewArray(), "lists": lists.NewArray(), "float lists": floatLists.NewArray(),
		"nested": nested.NewArray(), "fixed": fixed.NewArray(),
	})
	defer rec.Release()
	// Arrow's own builders are readable too.
	for i, name := range []string{"ints", "lists", "nested", "fixed", "floats", "float lists", "nothing"} {
		for j, err := range readAll(rec, name) {
			if (err == nil) != (i == j) {
				t.Errorf("column %q as number %d: the error is %v", name, j, err)
			}
			if err != nil && !strings.HasPrefix(err.Error(), "record: ") {
				t.Errorf("the error %q does not name its package", err)
			}
		}
	}
}

// TestNulls puts a null into rows and into items: both are refused.
func TestNulls(t *testing.T) {
	mem := flowtest.Mem(t)
	ints := array.NewInt32Builder(mem)
	defer ints.Release()
	ints.AppendNull()
	lists := array.NewListBuilder(mem, arrow.PrimitiveTypes.Int32)
	defer lists.Release()
	items := lists.ValueBuilder().(*array.Int32Builder)
	nested := array.NewListBuilder(mem, record.ListType[int32]())
	defer nested.Release()
	inner := nested.ValueBuilder().(*array.ListBuilder)
	fixed := array.NewFixedSizeListBuilder(mem, 1, arrow.PrimitiveTypes.Int32)
	defer fixed.Release()
	cells := fixed.ValueBuilder().(*array.Int32Builder)

	var recs []arrow.Record
	add := func(a arrow.Array) { recs = append(recs, recordOf(map[string]arrow.Array{"x": a})) }
	add(ints.NewArray())
	lists.AppendNull()
	add(lists.NewArray())
	lists.Append(true)
	items.AppendNull()
	add(lists.NewArray())
	nested.AppendNull()
	add(nested.NewArray())
	nested.Append(true)
	inner.AppendNull()
	add(nested.NewArray())
	nested.Append(true)
	inner.Append(true)
	inner.ValueBuilder().(*array.Int32Builder).AppendNull()
	add(nested.NewArray())
	fixed.AppendNull()
	add(fixed.NewArray())
	fixed.Append(true)
	cells.AppendNull()
	add(fixed.NewArray())
	for i, rec := range recs {
		for _, err := range readAll(rec, "x") {
			if err == nil {
				t.Errorf("record %d: a null is read", i)
			}
		}
		if _, err := record.Take(mem, []arrow.Record{rec}, []record.Ref{{}}); err == nil {
			t.Errorf("record %d: a null is taken", i)
		}
		rec.Release()
	}
}

func TestDuplicateColumns(t *testing.T) {
	b := array.NewInt32Builder(memory.DefaultAllocator)
	b.Append(1)
	a := b.NewArray()
	f := arrow.Field{Name: "x", Type: a.DataType()}
	rec := array.NewRecord(arrow.NewSchema([]arrow.Field{f, f}, nil), []arrow.Array{a, a}, 1)
	for _, err := range readAll(rec, "x") {
		if err == nil || err.Error() != `record: 2 columns "x", want one` {
			t.Errorf("the error is %v", err)
		}
	}
	if _, _, err := record.Field(rec.Schema(), "x"); err == nil {
		t.Error("Field finds one of two")
	}
	if err := record.Meta(rec.Schema(), "x", "shape", new([]int)); err == nil {
		t.Error("Meta reads one of two")
	}
}

// TestBrokenLists has offsets that no writer should have written: the lists
// would reach outside their values.
func TestBrokenLists(t *testing.T) {
	values := func() arrow.ArrayData {
		return array.NewData(arrow.PrimitiveTypes.Int32, 4, []*memory.Buffer{nil, memory.NewBufferBytes(arrow.Int32Traits.CastToBytes([]int32{1, 2, 3, 4}))}, nil, 0, 0)
	}
	for _, c := range []struct {
		rows    int
		offsets []int32
		ok      bool
	}{
		{2, []int32{0, 2, 4}, true},
		{2, []int32{1, 1, 3}, true},
		{2, []int32{0, 2, 5}, false},
		{2, []int32{0, 3, 2}, false},
		{2, []int32{-1, 2, 4}, false},
		{0, []int32{}, true},
	} {
		data := array.NewData(record.ListType[int32](), c.rows, []*memory.Buffer{nil, memory.NewBufferBytes(arrow.Int32Traits.CastToBytes(c.offsets))}, []arrow.ArrayData{values()}, 0, 0)
		rec := recordOf(map[string]arrow.Array{"x": array.MakeFromData(data)})
		v, err := record.ListsOf[int32](rec, "x")
		if (err == nil) != c.ok || c.ok && v.Len() != c.rows {
			t.Errorf("offsets %v: the error is %v", c.offsets, err)
		}
		if c.ok {
			for row := range v.Len() {
				_ = v.Row(row)
			}
		}
	}
	// A fixed-size list with fewer values than rows.
	short := array.NewData(arrow.FixedSizeListOf(3, arrow.PrimitiveTypes.Int32), 2, []*memory.Buffer{nil}, []arrow.ArrayData{values()}, 0, 0)
	rec := recordOf(map[string]arrow.Array{"x": array.MakeFromData(short)})
	if _, _, err := record.FixedValues[int32](rec, "x"); err == nil || err.Error() != `record: column "x": there are 4 values, want 2 rows × 3` {
		t.Errorf("the error is %v", err)
	}
}
