package parquet_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/apache/arrow/go/v15/arrow/memory"

	sink "github.com/sanflow/sanflow/sinks/parquet"
	"github.com/sanflow/sanflow/sources/internal/corrupt"
	"github.com/sanflow/sanflow/sources/parquet"
)

// cap1 is what a reader may take for a row group.
const cap1 = 1 << 20

func TestDamaged(t *testing.T) {
	made := stages(t)
	for _, name := range []string{"graphs", "hoods", "fields"} {
		for _, compression := range []string{"", "zstd", "snappy"} {
			t.Run(name+compression, func(t *testing.T) {
				var b bytes.Buffer
				store(t, made[name], sink.Sink{W: &b, Compression: compression})
				corrupt.Run(t, b.Bytes(), corrupt.Times(9), 16*cap1, func(b []byte) error {
					_, _, err := drain(source(b), memory.DefaultAllocator)
					return err
				})
			})
		}
	}
}

// A damaged file is refused, or has the rows that it had.
func TestContent(t *testing.T) {
	made := stages(t)
	for _, name := range []string{"graphs", "fields"} {
		for _, compression := range []string{"", "snappy"} {
			t.Run(name+compression, func(t *testing.T) {
				var b bytes.Buffer
				store(t, made[name], sink.Sink{W: &b, Compression: compression, RowGroupBytes: 1})
				pages, err := parquet.Pages(b.Bytes())
				if err != nil {
					t.Fatal(err)
				}
				var spans []corrupt.Span
				for _, p := range pages {
					spans = append(spans, corrupt.Span{At: p[0], End: p[1], Class: corrupt.Value})
				}
				// The notes, with the Arrow schema.
				at, tail := bytes.Index(b.Bytes(), []byte("ARROW:schema")), 0
				for i := at; i < b.Len() && b.Bytes()[i] >= ' ' || i < at+20; i++ {
					tail = i + 1
				}
				spans = append(spans, corrupt.Span{At: at, End: tail, Class: corrupt.Once})
				corrupt.Same(t, b.Bytes(), 4, spans, 64*cap1, true, func(b []byte) (corrupt.Content, error) {
					src := source(b)
					src.MaxBytes = 4 * cap1
					rows, schema, err := drain(src, memory.DefaultAllocator)
					return corrupt.Content{Schema: fmt.Sprint(schema), Rows: rows}, err
				})
			})
		}
	}
}

func source(b []byte) parquet.Source {
	return parquet.Source{ReaderAt: bytes.NewReader(b), Size: int64(len(b)), MaxBytes: cap1}
}

func FuzzParquet(f *testing.F) {
	for _, recs := range stages(f) {
		for _, compression := range []string{"", "zstd", "snappy"} {
			var b bytes.Buffer
			store(f, recs, sink.Sink{W: &b, Compression: compression})
			f.Add(b.Bytes())
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _, _ = drain(source(b), memory.DefaultAllocator)
	})
}
