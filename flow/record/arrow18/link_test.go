package arrow18_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	props "github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	memory15 "github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/flowtest"
	"github.com/sanflow/sanflow/flow/record/arrow18"
	"github.com/sanflow/sanflow/sinks"
	sink "github.com/sanflow/sanflow/sinks/parquet"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/parquet"
)

// Our Parquet packages and arrow-go v18's are in one program, and read what the
// other has written. Arrow v15's own does not link beside v18's.
func TestParquet(t *testing.T) {
	recs := flowtest.Sample(memory15.DefaultAllocator)
	want := flowtest.Rows(recs...)
	var ours, theirs bytes.Buffer
	if err := flow.From(sources.Records{Records: recs}).To(sink.Sink{W: &ours}).Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	var w *pqarrow.FileWriter
	err := flow.From(sources.Records{Records: recs}).To(arrow18.Sink{
		Begin: func(s *arrow.Schema) (err error) {
			w, err = pqarrow.NewFileWriter(s, &theirs, props.NewWriterProperties(), pqarrow.NewArrowWriterProperties(pqarrow.WithStoreSchema()))
			return err
		},
		Write: func(_ context.Context, rec arrow.RecordBatch) error { return w.Write(rec) },
		End:   func(error) error { return w.Close() },
	}).Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{"ours": ours.Bytes(), "v18's": theirs.Bytes()} {
		var out sinks.Collect
		if err := flow.From(parquet.Source{ReaderAt: bytes.NewReader(b), Size: int64(len(b))}).To(&out).Run(context.Background()); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := flowtest.Rows(out.Records()...); len(got) != len(want) || got[3] != want[3] {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
		out.Release()
	}
	r, err := pqarrow.ReadTable(context.Background(), bytes.NewReader(ours.Bytes()), nil, pqarrow.ArrowReadProperties{}, memory.DefaultAllocator)
	if err != nil || r.NumRows() != int64(len(want)) {
		t.Fatal(r, err)
	}
	r.Release()
}
