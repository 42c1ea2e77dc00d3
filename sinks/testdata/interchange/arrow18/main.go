// Command arrow18 reads and writes files with a later version of Arrow's
// library for Go, for the test of package sinks.
//
//	arrow18 read FILE          prints the rows as JSON
//	arrow18 write TABLE FILE   writes the columns of a JSON file
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
)

func main() {
	log.SetFlags(0)
	var err error
	switch {
	case len(os.Args) == 3 && os.Args[1] == "read":
		err = read(os.Args[2])
	case len(os.Args) == 4 && os.Args[1] == "write":
		err = write(os.Args[2], os.Args[3])
	default:
		log.Fatal("usage: arrow18 read FILE | write TABLE FILE")
	}
	if err != nil {
		log.Fatal(err)
	}
}

func read(path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var rows []json.RawMessage
	add := func(rec arrow.RecordBatch) error {
		b, err := rec.MarshalJSON()
		if err != nil {
			return err
		}
		var some []json.RawMessage
		if err := json.Unmarshal(b, &some); err != nil {
			return err
		}
		rows = append(rows, some...)
		return nil
	}
	switch {
	case strings.HasSuffix(path, ".parquet"):
		f, err := file.NewParquetReader(bytes.NewReader(data))
		if err != nil {
			return err
		}
		r, err := pqarrow.NewFileReader(f, pqarrow.ArrowReadProperties{}, memory.DefaultAllocator)
		if err != nil {
			return err
		}
		table, err := r.ReadTable(context.Background())
		if err != nil {
			return err
		}
		t := array.NewTableReader(table, 1<<20)
		for t.Next() {
			if err := add(t.RecordBatch()); err != nil {
				return err
			}
		}
	case strings.HasSuffix(path, ".arrow"):
		r, err := ipc.NewFileReader(bytes.NewReader(data))
		if err != nil {
			return err
		}
		for i := range r.NumRecords() {
			rec, err := r.RecordBatch(i)
			if err != nil {
				return err
			}
			if err := add(rec); err != nil {
				return err
			}
		}
	default:
		r, err := ipc.NewReader(bytes.NewReader(data))
		if err != nil {
			return err
		}
		for r.Next() {
			if err := add(r.RecordBatch()); err != nil {
				return err
			}
		}
		if err := r.Err(); err != nil {
			return err
		}
	}
	b, err := json.Marshal(rows)
	fmt.Println(string(b))
	return err
}

func write(from, path string) error {
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	var columns map[string]json.RawMessage
	if err := json.Unmarshal(b, &columns); err != nil {
		return err
	}
	var names []string
	for name := range columns {
		names = append(names, name)
	}
	slices.Sort(names)
	var fields []arrow.Field
	var cols []arrow.Array
	for _, name := range names {
		number := arrow.DataType(arrow.PrimitiveTypes.Int64)
		switch {
		case strings.HasSuffix(name, "_attr"):
			number = arrow.PrimitiveTypes.Float64
		case name == "node_ids":
			number = arrow.BinaryTypes.String
		case name == "node_sparse":
			number = arrow.ListOf(number)
		}
		switch lists := bytes.HasPrefix(columns[name], []byte("[[")); {
		case lists && strings.HasSuffix(path, ".parquet"): // which its Parquet writer knows better
			number = arrow.ListOf(number)
		case lists:
			number = arrow.LargeListOf(number)
		}
		col, _, err := array.FromJSON(memory.DefaultAllocator, number, bytes.NewReader(columns[name]))
		if err != nil {
			return err
		}
		fields, cols = append(fields, arrow.Field{Name: name, Type: number, Nullable: true}), append(cols, col)
	}
	schema := arrow.NewSchema(fields, nil)
	rec := array.NewRecordBatch(schema, cols, int64(cols[0].Len()))
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	var w interface {
		Write(arrow.RecordBatch) error
		Close() error
	}
	switch {
	case strings.HasSuffix(path, ".parquet"):
		properties := parquet.NewWriterProperties(parquet.WithCompression(compress.Codecs.Gzip))
		w, err = pqarrow.NewFileWriter(schema, f, properties, pqarrow.DefaultWriterProps())
	case strings.HasSuffix(path, ".arrow"):
		w, err = ipc.NewFileWriter(f, ipc.WithSchema(schema), ipc.WithLZ4())
	default:
		w = ipc.NewWriter(f, ipc.WithSchema(schema))
	}
	if err != nil {
		return err
	}
	if err := w.Write(rec); err != nil {
		return err
	}
	return w.Close()
}
