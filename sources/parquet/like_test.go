package parquet_test

import (
	"bytes"
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/flowtest"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/labeling"
	"github.com/sanflow/sanflow/sinks"
	sink "github.com/sanflow/sanflow/sinks/parquet"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/parquet"
)

// families are fields that can be trained on.
func families() flow.Pipeline {
	return flow.From(sources.Families{Graphs: 6, Seed: 3}).Via(operators.Channel{By: labeling.NormalizedDegree}).Via(operators.Select{W: 3}).
		Via(operators.Assemble{K: 3}).Via(operators.Normalize{K: 3, Mask: true})
}

// fields are written to the file that SANFLOW_FIELDS names; testdata/duckdb.parquet
// is what DuckDB 1.5 made of it, as lists, without metadata:
//
//	COPY (SELECT * FROM read_parquet('fields.parquet') ORDER BY graph_id DESC) TO 'duckdb.parquet'
func TestLike(t *testing.T) {
	if path := os.Getenv("SANFLOW_FIELDS"); path != "" {
		if err := families().To(sink.Sink{Path: path}).Run(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	var out sinks.Collect
	if err := families().To(&out).Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	defer out.Release()
	like := out.Records()[0].Schema()
	want := flowtest.Rows(out.Records()...)
	slices.Reverse(want)
	src := parquet.Source{Path: "testdata/duckdb.parquet"}
	_, plain, err := drain(src, flowtest.Mem(t))
	if err != nil {
		t.Fatal(err)
	}
	if f, _ := plain.FieldsByName(record.Members); f[0].Type.ID() != arrow.LIST {
		t.Fatalf("the file has %v already, which shows nothing", f[0])
	}
	if err := flow.From(src).Via(operators.Batch{Size: 6}).To(sinks.Train{Net: &nn.CNN{}}).Run(context.Background()); err == nil {
		t.Fatal("what has no shapes was trained on")
	}
	src.Like = like
	rows, schema, err := drain(src, flowtest.Mem(t))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(rows, want) {
		t.Errorf("rows %v, want %v", rows, want)
	}
	if !schema.Equal(like) {
		t.Errorf("schema %v, want %v", schema, like)
	}
	net := &nn.CNN{}
	if err := flow.From(src).Via(operators.Batch{Size: 6}).To(sinks.Train{Net: net}).Run(context.Background()); err != nil || net.Seen() != 6 {
		t.Errorf("trained on %d graphs, %v", net.Seen(), err)
	}
	flowtest.RunSource(t, src)

	other := func(name string, t arrow.DataType) *arrow.Schema {
		return arrow.NewSchema([]arrow.Field{{Name: name, Type: t}}, nil)
	}
	for _, c := range []struct {
		src  parquet.Source
		want string
	}{
		{parquet.Source{Like: other(record.Members, arrow.FixedSizeListOf(8, arrow.PrimitiveTypes.Int32))}, "row 0 has 9 values, want 8"},
		{parquet.Source{Like: other(record.Members, arrow.PrimitiveTypes.Int32)}, `column "members" is list<int32>, want int32, as Like has it`},
		{parquet.Source{Like: other(record.Target, arrow.ListOf(arrow.PrimitiveTypes.Int32))}, `column "target" is int32, want list`},
	} {
		c.src.Path = src.Path
		if _, _, err := drain(c.src, flowtest.Mem(t)); err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v, want one with %q", err, c.want)
		}
	}
}

// What Shuffle and Replay wrote is read, though its positions fall.
func TestFallingPositions(t *testing.T) {
	for _, step := range []flow.Operator{operators.Shuffle{Seed: 1}, operators.Replay{Epochs: 2}} {
		var out sinks.Collect
		var file, stream bytes.Buffer
		for _, s := range []flow.Sink{&out, sink.Sink{W: &file}, sinks.IPC{W: &stream, Stream: true}} {
			if err := flow.From(sources.Families{Graphs: 20}).Via(step).To(s).Run(context.Background()); err != nil {
				t.Fatal(err)
			}
		}
		want := flowtest.Rows(out.Records()...)
		out.Release()
		for _, src := range []flow.Source{
			parquet.Source{ReaderAt: bytes.NewReader(file.Bytes()), Size: int64(file.Len())}, sources.IPC{Reader: &stream},
		} {
			if rows, _, err := drain(src, memory.DefaultAllocator); err != nil || !slices.Equal(rows, want) {
				t.Errorf("%v of %v: %d rows, want %d; %v", src, step, len(rows), len(want), err)
			}
		}
	}
}
