package parquet_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/apache/arrow/go/v15/parquet/file"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/flowtest"
	"github.com/sanflow/sanflow/flow/manifest"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/internal/race"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sinks/parquet"
	"github.com/sanflow/sanflow/sources"
	in "github.com/sanflow/sanflow/sources/parquet"
)

// Fields go out as Parquet, and come back as they were.
func Example() {
	var file bytes.Buffer
	err := flow.From(sources.Families{Graphs: 3}).
		Via(operators.Select{W: 2}).
		Via(operators.Assemble{K: 3}).
		Via(operators.Normalize{}).
		To(parquet.Sink{W: &file}).
		Run(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	var out sinks.Collect
	defer out.Release()
	src := in.Source{ReaderAt: bytes.NewReader(file.Bytes()), Size: int64(file.Len())}
	if err := flow.From(src).To(&out).Run(context.Background()); err != nil {
		log.Fatal(err)
	}
	rec := out.Records()[0]
	members, _ := rec.Schema().FieldsByName("members")
	fmt.Println(rec.NumRows(), "rows,", members[0].Type, members[0].Metadata)
	// Output: 3 rows, fixed_size_list<item: int32, nullable>[6] ["shape": "[2,3]"]
}

// large is a record with rows of 0, 1 and so many values, more than are handed
// over at once, in each type of column.
func large(mem memory.Allocator, n int) arrow.Record {
	flat, lists, nested := record.NewColumn[uint8](mem), record.NewLists[float32](mem), record.NewNested[uint8](mem)
	fixed := record.NewFixed[int64](mem, n/2)
	for i, size := range []int{0, 1, n, 3, 0} {
		flat.Append(uint8(250 + i))
		for j, row := 0, lists.Grow(size); j < size; j++ {
			row[j] = float32(j) / 2
		}
		for j := 0; j < size; j += 1000 {
			nested.Append(bytes.Repeat([]byte{byte(j)}, min(1000, size-j)))
			nested.Append(nil)
		}
		nested.EndRow()
		for j, row := 0, fixed.Extend(1); j < n/2; j++ {
			row[j] = int64(i) << 40
		}
	}
	cols := []arrow.Array{flat.Finish(), lists.Finish(), nested.Finish(), fixed.Finish()}
	var fields []arrow.Field
	for i, c := range cols {
		fields = append(fields, arrow.Field{Name: fmt.Sprint("c", i), Type: c.DataType()})
		defer c.Release()
	}
	return array.NewRecord(arrow.NewSchema(fields, nil), cols, 5)
}

// Rows that are larger than a page, whole and as slices of a record.
func TestLargeRows(t *testing.T) {
	race.Skip(t)
	for _, n := range []int{10, 1 << 17, 1<<18 + 7} {
		rec := large(flowtest.Mem(t), n)
		defer rec.Release()
		part := rec.NewSlice(1, 4)
		defer part.Release()
		for _, rec := range []arrow.Record{rec, part} {
			var b bytes.Buffer
			if err := flow.From(sources.Records{Records: []arrow.Record{rec}}).To(parquet.Sink{W: &b}).Run(context.Background()); err != nil {
				t.Fatal(err)
			}
			r, err := in.Source{ReaderAt: bytes.NewReader(b.Bytes()), Size: int64(b.Len())}.Open(context.Background(), flowtest.Mem(t))
			if err != nil {
				t.Fatal(err)
			}
			got, err := r.Next(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(flowtest.Rows(got), flowtest.Rows(rec)) {
				t.Errorf("n = %d: other rows", n)
			}
			got.Release()
			r.Close()
		}
	}
}

// Row groups and parts are complete at the size asked for, in whole records.
func TestRowGroups(t *testing.T) {
	rec := large(memory.DefaultAllocator, 1000) // some 32 kB
	recs := slices.Repeat([]arrow.Record{rec}, 10)
	for _, c := range []struct{ bytes, groups int }{{1, 10}, {100_000, 3}, {10_000_000, 1}, {0, 1}} {
		var b bytes.Buffer
		if err := flow.From(sources.Records{Records: recs}).To(parquet.Sink{W: &b, RowGroupBytes: int64(c.bytes)}).Run(context.Background()); err != nil {
			t.Fatal(err)
		}
		out := &sinks.Collect{}
		src := in.Source{ReaderAt: bytes.NewReader(b.Bytes()), Size: int64(b.Len())}
		if err := flow.From(src).To(out).Run(context.Background()); err != nil {
			t.Fatal(err)
		}
		if len(out.Records()) != c.groups || out.Rows() != 50 {
			t.Errorf("RowGroupBytes %d: %d row groups of %d rows, want %d of 50", c.bytes, len(out.Records()), out.Rows(), c.groups)
		}
		out.Release()
	}
}

// A column that records of graphs do not have is refused by name.
func TestTypes(t *testing.T) {
	for _, typ := range []arrow.DataType{
		arrow.BinaryTypes.LargeString, arrow.PrimitiveTypes.Int16, arrow.ListOf(arrow.ListOf(arrow.ListOf(arrow.PrimitiveTypes.Int32))),
		arrow.StructOf(arrow.Field{Name: "a", Type: arrow.PrimitiveTypes.Int32}),
	} {
		_, err := parquet.Sink{W: io.Discard}.Open(arrow.NewSchema([]arrow.Field{{Name: "odd", Type: typ}}, nil))
		if err == nil || !strings.Contains(err.Error(), `column "odd": `+typ.String()) {
			t.Errorf("%s: %v, want one that names the column", typ, err)
		}
	}
}

// The shapes of tensors are plain JSON, in a file and in a manifest.
func TestShapes(t *testing.T) {
	dir := t.TempDir()
	err := flow.From(sources.Families{Graphs: 3}).
		Via(operators.Select{W: 2}).
		Via(operators.Assemble{K: 3}).
		Via(operators.Normalize{}).
		To(parquet.Sink{Dir: dir}).
		Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	m, err := manifest.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	f, err := file.OpenParquetFile(filepath.Join(dir, m.Files[0].Name), false)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	text := f.MetaData().KeyValueMetadata().FindValue("shapes")
	if text == nil {
		t.Fatal("there is no key shapes")
	}
	var shapes map[string][]int
	if err := json.Unmarshal([]byte(*text), &shapes); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(shapes, m.Shapes) || !slices.Equal(shapes["members"], []int{2, 3}) {
		t.Errorf("shapes %v in the file and %v in the manifest", shapes, m.Shapes)
	}
}
