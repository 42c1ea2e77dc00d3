package record_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"pgregory.net/rapid"

	"github.com/sanflow/sanflow/flow/flowtest"
	"github.com/sanflow/sanflow/flow/record"
)

// columnsOf builds a column of every kind and type that records have, with
// values that tell their place, starting from next.
func columnsOf(mem memory.Allocator, t *rapid.T, rows int, next *int) arrow.Record {
	var fields []arrow.Field
	var cols []arrow.Array
	add := func(name string, col arrow.Array) {
		fields = append(fields, arrow.Field{Name: name, Type: col.DataType()})
		cols = append(cols, col)
	}
	lengths := rapid.SliceOfN(rapid.IntRange(0, 3), rows, rows).Draw(t, "lengths")
	addAll[uint8](mem, "uint8", lengths, next, add)
	addAll[int32](mem, "int32", lengths, next, add)
	addAll[int64](mem, "int64", lengths, next, add)
	addAll[float32](mem, "float32", lengths, next, add)
	addAll[uint64](mem, "uint64", lengths, next, add)
	rec := array.NewRecord(arrow.NewSchema(fields, nil), cols, int64(rows))
	for _, c := range cols {
		c.Release()
	}
	return rec
}

func addAll[T record.Value](mem memory.Allocator, name string, lengths []int, next *int, add func(string, arrow.Array)) {
	some := func(n int) []T {
		v := make([]T, n)
		for i := range v {
			*next++
			v[i] = T(*next)
		}
		return v
	}
	flat, lists := record.NewColumn[T](mem), record.NewLists[T](mem)
	nested, fixed := record.NewNested[T](mem), record.NewFixed[T](mem, 3)
	for _, n := range lengths {
		flat.Append(some(1)...)
		lists.Append(some(n))
		for i := range n {
			nested.Append(some(i))
		}
		nested.EndRow()
		copy(fixed.Grow(1), some(3))
	}
	add(name, flat.Finish())
	add("list of "+name, lists.Finish())
	add("list of lists of "+name, nested.Finish())
	add("three "+name, fixed.Finish())
}

// TestTake compares with picking the rows from the texts of all rows.
func TestTake(t *testing.T) {
	mem := flowtest.Mem(t)
	rapid.Check(t, func(t *rapid.T) {
		var recs []arrow.Record
		var rows [][]string
		next := 0
		defer func() {
			for _, rec := range recs {
				rec.Release()
			}
		}()
		for range rapid.IntRange(1, 4).Draw(t, "records") {
			n := rapid.IntRange(0, 5).Draw(t, "rows")
			rec := columnsOf(mem, t, n, &next)
			from := rapid.IntRange(0, n).Draw(t, "from")
			to := rapid.IntRange(from, n).Draw(t, "to")
			recs = append(recs, rec.NewSlice(int64(from), int64(to)))
			rec.Release()
			rows = append(rows, flowtest.Rows(recs[len(recs)-1]))
		}
		var refs []record.Ref
		var want []string
		for range rapid.IntRange(0, 12).Draw(t, "refs") {
			i := rapid.IntRange(0, len(recs)-1).Draw(t, "record")
			if len(rows[i]) == 0 {
				continue
			}
			j := rapid.IntRange(0, len(rows[i])-1).Draw(t, "row")
			refs, want = append(refs, record.Ref{Record: int32(i), Row: int32(j)}), append(want, rows[i][j])
		}
		got, err := record.Take(mem, recs, refs)
		if err != nil {
			t.Fatal(err)
		}
		defer got.Release()
		if fmt.Sprint(flowtest.Rows(got)) != fmt.Sprint(want) || got.NumRows() != int64(len(refs)) {
			t.Fatalf("got\n%s\nwant\n%s", strings.Join(flowtest.Rows(got), "\n"), strings.Join(want, "\n"))
		}
		if !got.Schema().Equal(recs[0].Schema()) {
			t.Fatalf("the schema is %v", got.Schema())
		}
	})
}

// TestTakeKeepsTypes takes rows of columns whose lists are of items of another name, or that
// cannot be null.
func TestTakeKeepsTypes(t *testing.T) {
	mem := flowtest.Mem(t)
	item := arrow.Field{Name: "of", Type: arrow.PrimitiveTypes.Int32}
	flat, nested := record.NewLists[int32](mem), record.NewNested[int32](mem)
	for _, row := range [][]int32{{1, 2}, {3}} {
		flat.Append(row)
		nested.Append(row)
		nested.Append(nil)
		nested.EndRow()
	}
	lists, listsOfLists := flat.Finish(), nested.Finish()
	defer lists.Release()
	defer listsOfLists.Release()
	notNull := arrow.ListOfNonNullable(arrow.PrimitiveTypes.Int32)
	for _, c := range []struct {
		typ  arrow.DataType
		from arrow.Array
		want string
	}{
		{notNull, lists, `[{"x":[3]},{"x":[1,2]}]`},
		{arrow.ListOfField(item), lists, `[{"x":[3]},{"x":[1,2]}]`},
		{arrow.ListOf(notNull), listsOfLists, `[{"x":[[3],[]]},{"x":[[1,2],[]]}]`},
		{arrow.ListOfNonNullable(arrow.ListOfField(item)), listsOfLists, `[{"x":[[3],[]]},{"x":[[1,2],[]]}]`},
	} {
		col := as(c.from, c.typ)
		rec := array.NewRecord(arrow.NewSchema([]arrow.Field{{Name: "x", Type: c.typ}}, nil), []arrow.Array{col}, 2)
		got, err := record.Take(mem, []arrow.Record{rec}, []record.Ref{{Row: 1}, {Row: 0}})
		if err != nil {
			t.Fatalf("%v: %v", c.typ, err)
		}
		if have := got.Column(0).DataType(); !arrow.TypeEqual(have, c.typ, arrow.CheckMetadata()) {
			t.Errorf("%v became %v", c.typ, have)
		}
		if have, err := got.MarshalJSON(); err != nil || strings.Join(strings.Fields(string(have)), "") != c.want {
			t.Errorf("%v: %s, %v, want %s", c.typ, have, err, c.want)
		}
		got.Release()
		rec.Release()
		col.Release()
	}
}

// as is a column of lists as one of another type.
func as(col arrow.Array, t arrow.DataType) arrow.Array {
	d := col.Data()
	items := d.Children()[0]
	if of, nested := t.(*arrow.ListType).Elem().(*arrow.ListType); nested {
		items = array.NewData(of, items.Len(), items.Buffers(), items.Children(), 0, 0)
		defer items.Release()
	}
	data := array.NewData(t, d.Len(), d.Buffers(), []arrow.ArrayData{items}, 0, 0)
	defer data.Release()
	return array.MakeFromData(data)
}

func TestTakeErrors(t *testing.T) {
	mem := flowtest.Mem(t)
	if _, err := record.Take(mem, nil, nil); err == nil {
		t.Error("without records there is no error")
	}
	ints := array.NewInt32Builder(mem)
	defer ints.Release()
	one := func(col arrow.Array) arrow.Record {
		defer col.Release()
		s := arrow.NewSchema([]arrow.Field{{Name: "first", Type: arrow.PrimitiveTypes.Int32}, {Name: "x", Type: col.DataType(), Nullable: true}}, nil)
		ints.Append(1)
		first := ints.NewArray()
		defer first.Release()
		return array.NewRecord(s, []arrow.Array{first, col}, 1)
	}
	text := array.NewStringBuilder(mem)
	defer text.Release()
	text.Append("a")
	texts := one(text.NewArray())
	defer texts.Release()
	ints.AppendNull()
	nulls := one(ints.NewArray())
	defer nulls.Release()
	ints.Append(2)
	good := one(ints.NewArray())
	defer good.Release()
	deep := array.NewListBuilder(mem, record.NestedType[int32]())
	defer deep.Release()
	deep.Append(true)
	deeps := one(deep.NewArray())
	defer deeps.Release()
	for _, c := range []struct {
		recs []arrow.Record
		want string
	}{
		{[]arrow.Record{texts}, `record: take: column "x": rows of utf8 cannot be taken`},
		{[]arrow.Record{nulls}, `record: take: column "x": there are 1 nulls, want none`},
		{[]arrow.Record{good, texts}, `record: take: record 1 has a schema of its own`},
		{[]arrow.Record{deeps}, `record: take: column "x": rows of list<item: list<item: list<item: int32, nullable>, nullable>, nullable> cannot be taken`},
	} {
		if _, err := record.Take(mem, c.recs, []record.Ref{{}}); err == nil || err.Error() != c.want {
			t.Errorf("the error is %v, want %s", err, c.want)
		}
	}
}

// TestTakeOutside asks for rows that are not there, which is a slip of the
// caller.
func TestTakeOutside(t *testing.T) {
	recs := flowtest.Sample(memory.DefaultAllocator)
	fixed := record.NewFixed[int32](memory.DefaultAllocator, 2)
	copy(fixed.Grow(1), []int32{1, 2})
	col := fixed.Finish()
	wide := array.NewRecord(arrow.NewSchema([]arrow.Field{{Name: "x", Type: col.DataType()}}, nil), []arrow.Array{col}, 1)
	for _, c := range []struct {
		recs []arrow.Record
		ref  record.Ref
	}{
		{recs, record.Ref{Record: 0, Row: 5}},
		{recs, record.Ref{Record: 3, Row: 0}},
		{recs, record.Ref{Record: 0, Row: -1}},
		{[]arrow.Record{wide}, record.Ref{Record: 0, Row: 1}},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("Take of %+v does not panic", c.ref)
				}
			}()
			_, _ = record.Take(memory.DefaultAllocator, c.recs, []record.Ref{c.ref})
		}()
	}
}

// takeLists is a column of twenty lists a row, and one of lists.
func takeLists(mem memory.Allocator, rows int) arrow.Record {
	nested, lists := record.NewNested[int32](mem), record.NewLists[int32](mem)
	for row := range int32(rows) {
		for range 20 {
			nested.Append([]int32{row, row + 1})
		}
		nested.EndRow()
		lists.Append([]int32{row})
	}
	cols := []arrow.Array{nested.Finish(), lists.Finish()}
	rec := array.NewRecord(arrow.NewSchema([]arrow.Field{{Name: "nested", Type: cols[0].DataType()}, {Name: "lists", Type: cols[1].DataType()}}, nil), cols, int64(rows))
	for _, c := range cols {
		c.Release()
	}
	return rec
}

// Take checks the offsets of the taken rows only: a few rows of a large record do not cost
// its size.
func TestTakeLooksAtItsRows(t *testing.T) {
	mem := flowtest.Mem(t)
	for _, bad := range []func(rec arrow.Record) (what []int32, at int){
		func(rec arrow.Record) ([]int32, int) { return rec.Column(0).(*array.List).Offsets(), 5 },
		func(rec arrow.Record) ([]int32, int) {
			return rec.Column(0).(*array.List).ListValues().(*array.List).Offsets(), 5*20 - 7
		},
		func(rec arrow.Record) ([]int32, int) { return rec.Column(1).(*array.List).Offsets(), 5 },
	} {
		for _, value := range []int32{-1, 0, 1 << 30} {
			rec := takeLists(mem, 10)
			offsets, at := bad(rec)
			offsets[at] = value
			for row := range int32(10) {
				got, err := record.Take(mem, []arrow.Record{rec}, []record.Ref{{Row: 9 - row}, {Row: row}})
				if err == nil {
					got.Release()
				}
				if damaged := row == 4 || row == 5; damaged != (err != nil) {
					t.Errorf("rows %d and %d, with %d for an offset of row 5: %v", 9-row, row, value, err)
				}
			}
			rec.Release()
		}
	}
}

func BenchmarkTake(b *testing.B) {
	for _, rows := range []int{64, 65536} {
		b.Run(fmt.Sprintf("rows=%d", rows), func(b *testing.B) {
			rec := takeLists(memory.DefaultAllocator, rows)
			defer rec.Release()
			refs := make([]record.Ref, 32)
			for i := range refs {
				refs[i].Row = int32(i * 7919 % rows)
			}
			for b.Loop() {
				got, err := record.Take(memory.DefaultAllocator, []arrow.Record{rec}, refs)
				if err != nil {
					b.Fatal(err)
				}
				got.Release()
			}
		})
	}
}

// The parts of lists, of a slice too, are their values in order; a row without equal parts is an error.
func TestSplit(t *testing.T) {
	mem := flowtest.Mem(t)
	lists, fixed := record.NewLists[int32](mem), record.NewFixed[int32](mem, 4)
	for row := range int32(3) {
		values := []int32{4 * row, 4*row + 1, 4*row + 2, 4*row + 3}
		lists.Append(values)
		copy(fixed.Extend(1), values)
	}
	fields := []arrow.Field{record.ListField[int32]("lists", []int{2, 2}), record.TensorField[int32]("fixed", []int{2, 2}, nil)}
	cols := []arrow.Array{lists.Finish(), fixed.Finish()}
	defer record.Release(cols)
	whole := array.NewRecord(arrow.NewSchema(fields, nil), cols, 3)
	defer whole.Release()
	rec := whole.NewSlice(1, 3)
	defer rec.Release()
	for name, half := range map[string]arrow.DataType{"lists": record.ListType[int32](), "fixed": arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Int32)} {
		parts, err := record.Split(rec, name, 2, half)
		if err != nil {
			t.Fatal(err)
		}
		one := array.NewRecord(arrow.NewSchema([]arrow.Field{{Name: "x", Type: half}}, nil), []arrow.Array{parts}, 4)
		taken, err := record.Take(mem, []arrow.Record{one}, []record.Ref{{Row: 3}, {Row: 0}})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := flowtest.Rows(taken), []string{"x=[10,11]", "x=[4,5]"}; !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
		taken.Release()
		one.Release()
		parts.Release()
	}
	if _, err := record.Split(rec, "lists", 3, record.ListType[int32]()); err == nil || !strings.Contains(err.Error(), "want 3 equal parts") {
		t.Errorf("three parts of four values: %v", err)
	}
}
