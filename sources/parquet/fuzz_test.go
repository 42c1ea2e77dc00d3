package parquet_test

import (
	"bytes"
	"testing"

	"github.com/apache/arrow/go/v15/arrow/memory"

	sink "github.com/sanflow/sanflow/sinks/parquet"
	"github.com/sanflow/sanflow/sources/parquet"
)

// cap1 is what a reader may take for a row group.
const cap1 = 1 << 20

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
