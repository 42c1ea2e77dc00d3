package arrow18_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	arrow15 "github.com/apache/arrow/go/v15/arrow"
	array15 "github.com/apache/arrow/go/v15/arrow/array"
	memory15 "github.com/apache/arrow/go/v15/arrow/memory"
	"go.uber.org/goleak"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/flowtest"
	"github.com/sanflow/sanflow/flow/record/arrow18"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fields is the sample on its way: every type of column that there is.
func fields(t *testing.T, mem memory15.Allocator) []arrow15.Record {
	t.Helper()
	var out sinks.Collect
	recs := flowtest.Sample(mem)
	err := flow.From(sources.Records{Records: recs}).Via(operators.Select{W: 4}).Via(operators.Assemble{K: 3}).
		Via(operators.Normalize{Edges: true, Mask: true}).To(&out).With(flow.Options{Allocator: mem}).Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return append(recs, out.Records()...)
}

// address of the first buffer with bytes.
func address(col arrow15.Array) *byte {
	for _, b := range col.Data().Buffers() {
		if b != nil && b.Len() > 0 {
			return unsafe.SliceData(b.Bytes())
		}
	}
	return nil
}

// Records go there and back with their values and metadata, in the same memory,
// whichever side is released first.
func TestRoundTrip(t *testing.T) {
	mem := flowtest.Mem(t) // poisons what is released
	for i, rec := range fields(t, mem) {
		if n := rec.NumRows(); n > 2 { // a slice too
			whole := rec
			rec = whole.NewSlice(1, n-1)
			whole.Release()
		}
		want, schema := flowtest.Rows(rec), rec.Schema()
		at := address(rec.Column(0))
		out, err := arrow18.Export(rec)
		if err != nil {
			t.Fatal(err)
		}
		back, err := arrow18.Import(out)
		if err != nil {
			t.Fatal(err)
		}
		if i%2 == 0 {
			rec.Release()
			out.Release()
		}
		if got := flowtest.Rows(back); !slices.Equal(got, want) {
			t.Errorf("record %d is\n%v\nwant\n%v", i, got, want)
		}
		if s := back.Schema(); !s.Equal(schema) || !s.Metadata().Equal(schema.Metadata()) {
			t.Errorf("the schema is %v, want %v", s, schema)
		}
		if got := address(back.Column(0)); got != at || at == nil && rec.NumRows() > 0 {
			t.Error("a buffer was copied")
		}
		back.Release()
		if i%2 == 1 {
			out.Release()
			rec.Release()
		}
	}
}

// Every type that records of v18 may have beside those of graphs.
func TestTypes(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	for _, c := range []struct {
		of   arrow.DataType
		json string
	}{
		{arrow.PrimitiveTypes.Int8, `[1,null,-3]`},
		{arrow.PrimitiveTypes.Uint64, `[1,2,3]`},
		{arrow.FixedWidthTypes.Boolean, `[true,null,false]`},
		{arrow.BinaryTypes.String, `["a",null,"ccc"]`},
		{arrow.BinaryTypes.LargeString, `["a",null,"ccc"]`},
		{arrow.FixedWidthTypes.Date32, `["2026-01-02",null]`},
		{&arrow.Decimal128Type{Precision: 10, Scale: 2}, `["1.50",null]`},
		{arrow.ListOf(arrow.BinaryTypes.String), `[["a"],null,[],["b",null]]`},
		{arrow.LargeListOf(arrow.PrimitiveTypes.Float64), `[[1.5],[],[2,3]]`},
		{arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Float32), `[[1,2],null,[3,4]]`},
		{arrow.StructOf(arrow.Field{Name: "x", Type: arrow.PrimitiveTypes.Int32, Nullable: true}, arrow.Field{Name: "y", Type: arrow.ListOf(arrow.PrimitiveTypes.Int32), Nullable: true}), `[{"x":1,"y":[1]},{"x":null,"y":null}]`},
		{arrow.MapOf(arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int32), `[[{"key":"a","value":1}],[]]`},
		{&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}, `["a","b","a"]`},
		{arrow.Null, `[null,null]`},
	} {
		col, _, err := array.FromJSON(mem, c.of, strings.NewReader(c.json))
		if err != nil {
			t.Fatal(c.of, err)
		}
		schema := arrow.NewSchema([]arrow.Field{{Name: "c", Type: c.of, Nullable: true}}, nil)
		rec := array.NewRecordBatch(schema, []arrow.Array{col}, int64(col.Len()))
		col.Release()
		in, err := arrow18.Import(rec)
		if err != nil {
			t.Error(c.of, err)
			rec.Release()
			continue
		}
		back, err := arrow18.Export(in)
		if err != nil {
			t.Fatal(c.of, err)
		}
		if !array.RecordEqual(back, rec) {
			t.Errorf("%s: %v, want %v", c.of, back, rec)
		}
		a, _ := in.MarshalJSON()
		b, _ := rec.MarshalJSON()
		if string(a) != string(b) {
			t.Errorf("%s: %s, want %s", c.of, a, b)
		}
		rec.Release()
		in.Release()
		back.Release()
	}
	// What v15 does not know is an error, not a panic.
	for _, of := range []arrow.DataType{arrow.BinaryTypes.StringView, arrow.ListViewOf(arrow.PrimitiveTypes.Int8)} {
		b := array.NewBuilder(mem, of)
		b.AppendNull()
		col := b.NewArray()
		b.Release()
		rec := array.NewRecordBatch(arrow.NewSchema([]arrow.Field{{Name: "c", Type: of}}, nil), []arrow.Array{col}, 1)
		col.Release()
		if in, err := arrow18.Import(rec); err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Error(err)
			}
		} else {
			in.Release()
		}
		rec.Release()
	}
}

// records returns the sample in v18's memory, and a reader of it.
func records(t *testing.T, mem memory.Allocator) array.RecordReader {
	t.Helper()
	var recs []arrow.RecordBatch
	for _, rec := range flowtest.Sample(memory15.DefaultAllocator) {
		out, err := arrow18.Export(rec)
		if err != nil {
			t.Fatal(err)
		}
		rec.Release()
		// Copied, so that v18's allocator owns the memory.
		cols := make([]arrow.Array, out.NumCols())
		for i, c := range out.Columns() {
			if cols[i], err = array.Concatenate([]arrow.Array{c}, mem); err != nil {
				t.Fatal(err)
			}
			defer cols[i].Release()
		}
		recs = append(recs, array.NewRecordBatch(out.Schema(), cols, out.NumRows()))
		out.Release()
	}
	r, err := array.NewRecordReader(recs[0].Schema(), recs)
	if err != nil {
		t.Fatal(err)
	}
	for _, rec := range recs {
		rec.Release()
	}
	return r
}

// Graphs of v18 run through a pipeline and come out as fields of v18: the same
// as those of the sample, with nothing left in either library.
func TestPipeline(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	mem15 := flowtest.Mem(t)
	steps := func(p flow.Pipeline) flow.Pipeline {
		return p.Via(operators.Select{W: 4}).Via(operators.Assemble{K: 3}).Via(operators.Normalize{}).With(flow.Options{Allocator: mem15})
	}
	var want []string
	sample := flowtest.Sample(memory15.DefaultAllocator)
	var plain sinks.Collect
	if err := steps(flow.From(sources.Records{Records: sample})).To(&plain).Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	want = flowtest.Rows(plain.Records()...)
	plain.Release()

	reader := records(t, mem)
	var got []string
	var begun, ended int
	var kept []arrow.RecordBatch
	err := steps(flow.From(arrow18.Source{Reader: reader})).To(arrow18.Sink{
		Begin: func(s *arrow.Schema) error { begun += s.NumFields(); return nil },
		Write: func(_ context.Context, rec arrow.RecordBatch) error {
			rec.Retain()
			kept = append(kept, rec)
			return nil
		},
		End: func(failed error) error { ended++; return failed },
	}).Run(context.Background())
	reader.Release()
	if err != nil || begun == 0 || ended != 1 {
		t.Fatal(err, begun, ended)
	}
	for _, rec := range kept {
		back, err := arrow18.Import(rec)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, flowtest.Rows(back)...)
		back.Release()
		rec.Release()
	}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	mem.AssertSize(t, 0)

	// As an iterator, to the end and left early.
	for _, most := range []int{1 << 30, 1} {
		reader, n := records(t, mem), 0
		for rec, err := range arrow18.Records(context.Background(), steps(flow.From(arrow18.Source{Reader: reader}))) {
			if err != nil {
				t.Fatal(err)
			}
			n += int(rec.NumRows())
			if n >= most {
				break
			}
		}
		reader.Release()
		if n < min(most, len(want)) {
			t.Errorf("%d rows, want %d", n, len(want))
		}
		mem.AssertSize(t, 0)
	}
}

// failing is a reader that breaks in the middle.
type failing struct {
	array.RecordReader
	left int
	err  error
}

func (f *failing) Next() bool { f.left--; return f.left >= 0 && f.RecordReader.Next() }
func (f *failing) Err() error { return f.err }

func TestErrors(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	run := func(r array.RecordReader, s arrow18.Sink) error {
		defer r.Release()
		return flow.From(arrow18.Source{Reader: r}).To(s).Run(context.Background())
	}
	nothing := arrow18.Sink{Write: func(context.Context, arrow.RecordBatch) error { return nil }}
	lost := fmt.Errorf("connection lost: %w", io.ErrUnexpectedEOF)
	if err := run(&failing{records(t, mem), 1, lost}, nothing); !errors.Is(err, lost) {
		t.Errorf("%v, want %v", err, lost)
	}
	full := errors.New("it is full")
	if err := run(records(t, mem), arrow18.Sink{Write: func(context.Context, arrow.RecordBatch) error { return full }}); !errors.Is(err, full) {
		t.Errorf("%v, want %v", err, full)
	}
	if err := run(records(t, mem), arrow18.Sink{}); err == nil || !strings.Contains(err.Error(), "no Write") {
		t.Error(err)
	}
	if err := flow.From(arrow18.Source{}).Run(context.Background()); err == nil || !strings.Contains(err.Error(), "no Reader") {
		t.Error(err)
	}
	s := arrow.NewSchema([]arrow.Field{{Name: "offsets", Type: arrow.PrimitiveTypes.Int32}}, nil)
	r, err := array.NewRecordReader(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := run(r, nothing); err == nil || !strings.Contains(err.Error(), "offsets") && !strings.Contains(err.Error(), "no column") {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	reader := records(t, mem)
	defer reader.Release()
	var last error
	for _, err := range arrow18.Records(ctx, flow.From(arrow18.Source{Reader: reader})) {
		last = err
	}
	if !errors.Is(last, context.Canceled) {
		t.Errorf("%v, want %v", last, context.Canceled)
	}
}

// The cost does not depend on the number of values.
func BenchmarkExport(b *testing.B) {
	col := array15.NewInt32Builder(memory15.DefaultAllocator)
	col.AppendValues(make([]int32, 1<<20), nil)
	rec := array15.NewRecord(arrow15.NewSchema([]arrow15.Field{{Name: "x", Type: arrow15.PrimitiveTypes.Int32}}, nil), []arrow15.Array{col.NewArray()}, 1<<20)
	for b.Loop() {
		out, err := arrow18.Export(rec)
		if err != nil {
			b.Fatal(err)
		}
		out.Release()
	}
}
