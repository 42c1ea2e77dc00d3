package sources_test

import (
	"bytes"
	"testing"

	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/internal/corrupt"
)

// cap1 is what a reader may take for a batch.
const cap1 = 1 << 20

func TestIPCDamaged(t *testing.T) {
	made := stages(t)
	for _, name := range []string{"graphs", "hoods", "fields"} {
		for _, compression := range []string{"", "lz4", "zstd"} {
			t.Run(name+compression, func(t *testing.T) {
				var file bytes.Buffer
				store(t, made[name], sinks.IPC{W: &file, Compression: compression})
				corrupt.Run(t, file.Bytes(), corrupt.Times(9), 16*cap1, func(b []byte) error {
					_, _, err := drain(sources.IPC{Reader: bytes.NewReader(b), MaxBytes: cap1}, memory.DefaultAllocator)
					return err
				})
			})
		}
	}
}

func FuzzIPC(f *testing.F) {
	for _, recs := range stages(f) {
		for _, compression := range []string{"", "lz4", "zstd"} {
			var file, stream bytes.Buffer
			store(f, recs, sinks.IPC{W: &file, Compression: compression})
			store(f, recs, sinks.IPC{W: &stream, Stream: true, Compression: compression})
			f.Add(file.Bytes())
			f.Add(stream.Bytes())
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _, _ = drain(sources.IPC{Reader: bytes.NewReader(b), MaxBytes: cap1}, memory.DefaultAllocator)
	})
}
