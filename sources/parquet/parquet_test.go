package parquet_test

import (
	"bytes"
	"context"
	"io"
	"path/filepath"
	"slices"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/flowtest"
	"github.com/sanflow/sanflow/internal/race"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/labeling"
	"github.com/sanflow/sanflow/sinks"
	sink "github.com/sanflow/sanflow/sinks/parquet"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/parquet"
)

// stages returns the sample as a source, Assemble and Normalize emit it: every
// type of column that there is.
func stages(t testing.TB) map[string][]arrow.Record {
	t.Helper()
	made := map[string][]arrow.Record{}
	steps := []flow.Operator{
		operators.Select{W: 4, By: labeling.Degree},
		operators.Assemble{K: 3},
		operators.Normalize{Edges: true, Mask: true},
	}
	for i, name := range []string{"graphs", "roots", "hoods", "fields"} {
		var out sinks.Collect
		recs := flowtest.Sample(memory.DefaultAllocator)
		p := flow.From(sources.Records{Records: recs})
		for _, op := range steps[:i] {
			p = p.Via(op)
		}
		if err := p.To(&out).Run(context.Background()); err != nil {
			t.Fatal(err)
		}
		made[name] = out.Records()
	}
	return made
}

// drain reads a source to its end.
func drain(src flow.Source, mem memory.Allocator) (rows []string, schema *arrow.Schema, err error) {
	ctx := context.Background()
	r, err := src.Open(ctx, mem)
	if err != nil {
		return nil, nil, err
	}
	defer r.Close()
	for {
		rec, err := r.Next(ctx)
		if err == io.EOF {
			return rows, r.Schema(), nil
		}
		if err != nil {
			return rows, r.Schema(), err
		}
		rows = append(rows, flowtest.Rows(rec)...)
		rec.Release()
	}
}

func store(t testing.TB, recs []arrow.Record, s flow.Sink) {
	t.Helper()
	if err := flow.From(sources.Records{Records: recs}).To(s).Run(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// What was written comes back: rows, types, metadata.
func TestRoundTrip(t *testing.T) {
	race.Skip(t)
	for name, recs := range stages(t) {
		for _, compression := range []string{"", "zstd", "snappy"} {
			var b bytes.Buffer
			path, dir := filepath.Join(t.TempDir(), "a.parquet"), filepath.Join(t.TempDir(), "a")
			store(t, recs, sink.Sink{W: &b, Compression: compression, RowGroupBytes: 1})
			store(t, recs, sink.Sink{Path: path, Compression: compression})
			store(t, recs, sink.Sink{Dir: dir, PartBytes: 1, RowGroupBytes: 1, Compression: compression})
			for _, src := range []parquet.Source{
				{ReaderAt: bytes.NewReader(b.Bytes()), Size: int64(b.Len())}, {Path: path}, {Path: dir}, {Path: path, Rows: 2},
			} {
				rows, schema, err := drain(src, flowtest.Mem(t))
				if err != nil {
					t.Fatalf("%s %s from %v: %v", name, compression, src, err)
				}
				if want := flowtest.Rows(recs...); !slices.Equal(rows, want) {
					t.Errorf("%s %s from %v: rows %v, want %v", name, compression, src, rows, want)
				}
				if want := recs[0].Schema(); !schema.Equal(want) || !schema.Metadata().Equal(want.Metadata()) {
					t.Errorf("%s %s from %v: schema %v, want %v", name, compression, src, schema, want)
				}
			}
			flowtest.RunSource(t, parquet.Source{Path: dir})
		}
	}
}
