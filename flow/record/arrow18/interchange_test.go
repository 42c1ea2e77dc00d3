package arrow18_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	parquet18 "github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	arrow15 "github.com/apache/arrow/go/v15/arrow"
	memory15 "github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/flowtest"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/flow/record/arrow18"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/labeling"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sinks/parquet"
	"github.com/sanflow/sanflow/sources"
	in "github.com/sanflow/sanflow/sources/parquet"
)

// TestPeersRead and TestPeersWrite of package sinks are the same with other programs.

// rowsIn returns the rows of a file as the readers of arrow-go v18 see them.
func rowsIn(t *testing.T, path string) []string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	add := func(rec arrow.RecordBatch) {
		t.Helper()
		imported, err := arrow18.Import(rec)
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, flowtest.Rows(imported)...)
		imported.Release()
	}
	switch filepath.Ext(path) {
	case ".parquet":
		f, err := file.NewParquetReader(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		r, err := pqarrow.NewFileReader(f, pqarrow.ArrowReadProperties{}, memory.DefaultAllocator)
		if err != nil {
			t.Fatal(err)
		}
		table, err := r.ReadTable(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		defer table.Release()
		recs := array.NewTableReader(table, 1<<20)
		defer recs.Release()
		for recs.Next() {
			add(recs.RecordBatch())
		}
	case ".arrow":
		r, err := ipc.NewFileReader(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		for i := range r.NumRecords() {
			rec, err := r.RecordBatch(i)
			if err != nil {
				t.Fatal(err)
			}
			add(rec)
		}
	default:
		r, err := ipc.NewReader(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		defer r.Release()
		for r.Next() {
			add(r.RecordBatch())
		}
		if err := r.Err(); err != nil {
			t.Fatal(err)
		}
	}
	return rows
}

// The readers of arrow-go v18 see the rows that our sinks write.
func TestFilesAreRead(t *testing.T) {
	dir := t.TempDir()
	steps := []flow.Operator{
		operators.Select{W: 4, By: labeling.Degree}, operators.Assemble{K: 3}, operators.Normalize{Edges: true, Mask: true},
	}
	for name, steps := range map[string][]flow.Operator{"graphs": nil, "hoods": steps[:2], "fields": steps} {
		mem := flowtest.Mem(t)
		var out sinks.Collect
		sample := flowtest.Sample(mem)
		p := flow.From(sources.Records{Records: sample})
		for _, op := range steps {
			p = p.Via(op)
		}
		if err := p.To(&out).With(flow.Options{Allocator: mem}).Run(context.Background()); err != nil {
			t.Fatal(err)
		}
		want := flowtest.Rows(out.Records()...)
		for _, c := range []struct {
			file string
			sink func(path string) flow.Sink
		}{
			{"plain.arrow", func(p string) flow.Sink { return sinks.IPC{Path: p} }},
			{"plain.arrows", func(p string) flow.Sink { return sinks.IPC{Path: p, Stream: true} }},
			{"lz4.arrow", func(p string) flow.Sink { return sinks.IPC{Path: p, Compression: "lz4"} }},
			{"zstd.arrow", func(p string) flow.Sink { return sinks.IPC{Path: p, Compression: "zstd"} }},
			{"plain.parquet", func(p string) flow.Sink { return parquet.Sink{Path: p, RowGroupBytes: 1} }},
			{"zstd.parquet", func(p string) flow.Sink { return parquet.Sink{Path: p, Compression: "zstd"} }},
			{"snappy.parquet", func(p string) flow.Sink { return parquet.Sink{Path: p, Compression: "snappy"} }},
		} {
			t.Run(name+" "+c.file, func(t *testing.T) {
				path := filepath.Join(dir, name+"-"+c.file)
				if err := flow.From(sources.Records{Records: out.Records()}).To(c.sink(path)).Run(context.Background()); err != nil {
					t.Fatal(err)
				}
				if got := rowsIn(t, path); len(want) == 0 || !slices.Equal(got, want) {
					t.Errorf("%d rows\n%v\nwant %d\n%v", len(got), got, len(want), want)
				}
			})
		}
		out.Release()
		for _, rec := range sample {
			rec.Release()
		}
	}
}

// cells returns the rows of records, each with its values by column.
func cells(t *testing.T, recs ...arrow15.Record) (rows []map[string]json.RawMessage) {
	t.Helper()
	for _, rec := range recs {
		b, err := rec.MarshalJSON()
		var some []map[string]json.RawMessage
		if err == nil {
			err = json.Unmarshal(b, &some)
		}
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, some...)
	}
	return rows
}

// foreign returns the columns of rows but pos, with wider numbers, with lists that are not of a fixed size and without
// metadata, as a program writes them that knows nothing of graphs.
func foreign(t *testing.T, rows []map[string]json.RawMessage, list func(arrow.DataType) arrow.DataType) arrow.RecordBatch {
	t.Helper()
	var fields []arrow.Field
	var cols []arrow.Array
	for _, name := range slices.Sorted(maps.Keys(rows[0])) {
		if name == record.Pos {
			continue
		}
		var values []json.RawMessage
		for _, row := range rows {
			values = append(values, row[name])
		}
		of := arrow.DataType(arrow.PrimitiveTypes.Int64)
		switch {
		case strings.HasSuffix(name, "_attr"):
			of = arrow.PrimitiveTypes.Float64
		case name == record.NodeIDs:
			of = arrow.BinaryTypes.String
		case name == record.NodesSparse || name == record.NodeSparse:
			of = arrow.ListOf(of)
		}
		if values[0][0] == '[' {
			of = list(of)
		}
		b, err := json.Marshal(values)
		if err != nil {
			t.Fatal(err)
		}
		col, _, err := array.FromJSON(memory.DefaultAllocator, of, bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		fields, cols = append(fields, arrow.Field{Name: name, Type: of, Nullable: true}), append(cols, col)
	}
	return array.NewRecordBatch(arrow.NewSchema(fields, nil), cols, int64(len(rows)))
}

// Graphs in files that arrow-go v18 writes are those of the sample.
func TestFilesOfOthers(t *testing.T) {
	sample := flowtest.Sample(memory15.DefaultAllocator)
	rows := cells(t, sample...)
	type writer interface {
		Write(arrow.RecordBatch) error
		Close() error
	}
	for _, c := range []struct {
		name string
		list func(arrow.DataType) arrow.DataType
		make func(w io.Writer, s *arrow.Schema) (writer, error)
		src  func(b []byte) flow.Source
	}{
		{"file", func(t arrow.DataType) arrow.DataType { return arrow.LargeListOf(t) }, func(w io.Writer, s *arrow.Schema) (writer, error) {
			return ipc.NewFileWriter(w, ipc.WithSchema(s), ipc.WithLZ4())
		}, ipcSource},
		{"stream", func(t arrow.DataType) arrow.DataType { return arrow.LargeListOf(t) }, func(w io.Writer, s *arrow.Schema) (writer, error) {
			return ipc.NewWriter(w, ipc.WithSchema(s)), nil
		}, ipcSource},
		{"parquet", func(t arrow.DataType) arrow.DataType { return arrow.ListOf(t) }, func(w io.Writer, s *arrow.Schema) (writer, error) {
			return pqarrow.NewFileWriter(s, w, parquet18.NewWriterProperties(parquet18.WithCompression(compress.Codecs.Gzip)), pqarrow.DefaultWriterProps())
		}, func(b []byte) flow.Source {
			return in.Source{ReaderAt: bytes.NewReader(b), Size: int64(len(b)), Like: flowtest.Layout.Schema()}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var b bytes.Buffer
			rec := foreign(t, rows, c.list)
			w, err := c.make(&b, rec.Schema())
			if err == nil {
				err = errors.Join(w.Write(rec), w.Close())
			}
			if err != nil {
				t.Fatal(err)
			}
			mem := flowtest.Mem(t)
			var out sinks.Collect
			defer out.Release()
			if err := flow.From(c.src(b.Bytes())).To(&out).With(flow.Options{Allocator: mem}).Run(context.Background()); err != nil {
				t.Fatal(err)
			}
			got := cells(t, out.Records()...)
			if len(got) == 0 || !reflect.DeepEqual(got, rows) {
				t.Errorf("got\n%s\nwant\n%s", got, rows)
			}
		})
	}
}

func ipcSource(b []byte) flow.Source {
	return sources.IPC{Reader: bytes.NewReader(b), Like: flowtest.Layout.Schema()}
}
