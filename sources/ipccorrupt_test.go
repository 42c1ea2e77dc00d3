package sources_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/internal/corrupt"
)

// cap1 is what a reader may take for a batch.
const cap1 = 1 << 20

func TestIPCDamaged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.arrow")
	made := stages(t)
	for _, name := range []string{"graphs", "hoods", "fields"} {
		for _, compression := range []string{"", "lz4", "zstd"} {
			t.Run(name+compression, func(t *testing.T) {
				store(t, made[name], sinks.IPC{Path: path, Compression: compression})
				file, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				corrupt.Run(t, file, corrupt.Times(9), 16*cap1, func(b []byte) error {
					if err := os.WriteFile(path, b, 0o600); err != nil {
						t.Fatal(err)
					}
					_, _, err := drain(sources.IPC{Path: path, MaxBytes: cap1}, memory.DefaultAllocator)
					return err
				})
			})
		}
	}
}

func FuzzIPC(f *testing.F) {
	for _, recs := range stages(f) {
		for _, compression := range []string{"", "lz4", "zstd"} {
			var b bytes.Buffer
			store(f, recs, sinks.IPC{W: &b, Stream: true, Compression: compression})
			f.Add(b.Bytes())
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _, _ = drain(sources.IPC{Reader: bytes.NewReader(b), MaxBytes: cap1}, memory.DefaultAllocator)
	})
}
