package sources_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"runtime"
	"testing"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/internal/leak"
	"github.com/sanflow/sanflow/sinks"
	toparquet "github.com/sanflow/sanflow/sinks/parquet"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/parquet"
)

// Small files that claim, or unpack to, a lot are refused within MaxBytes and
// a second.
func TestBombs(t *testing.T) {
	const most = 4 << 20
	zeros := record.NewColumn[int64](memory.DefaultAllocator)
	zeros.Append(make([]int64, 8<<20)...)
	col := zeros.Finish()
	defer col.Release()
	rec := array.NewRecord(arrow.NewSchema([]arrow.Field{{Name: "x", Type: arrow.PrimitiveTypes.Int64}}, nil), []arrow.Array{col}, 8<<20)
	defer rec.Release()
	made := func(s flow.Sink, b *bytes.Buffer) []byte {
		store(t, []arrow.Record{rec}, s)
		return b.Bytes()
	}
	var a, b, c, d bytes.Buffer
	zstd, lz4 := made(sinks.IPC{W: &a, Compression: "zstd"}, &a), made(sinks.IPC{W: &b, Stream: true, Compression: "lz4"}, &b)
	columns := made(toparquet.Sink{W: &c, Compression: "zstd"}, &c)
	// A length of a message, and of a body, far larger than the data.
	store(t, stages(t)["graphs"], sinks.IPC{W: &d, Stream: true})
	claim := bytes.Clone(d.Bytes())
	schema := 8 + int(binary.LittleEndian.Uint32(claim[4:]))
	binary.LittleEndian.PutUint32(claim[schema+4:], 1<<30)

	for name, src := range map[string]flow.Source{
		"zstd":    sources.IPC{Reader: bytes.NewReader(zstd), MaxBytes: most},
		"lz4":     sources.IPC{Reader: bytes.NewReader(lz4), MaxBytes: most},
		"pipe":    sources.IPC{Reader: io.MultiReader(bytes.NewReader(lz4)), MaxBytes: most},
		"claim":   sources.IPC{Reader: bytes.NewReader(claim)},                 // the default MaxBytes is 1 GiB,
		"claimed": sources.IPC{Reader: io.MultiReader(bytes.NewReader(claim))}, // and yet nothing like it is taken
		"parquet": parquet.Source{ReaderAt: bytes.NewReader(columns), Size: int64(len(columns)), MaxBytes: most},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		start := time.Now()
		_, _, err := drain(src, memory.DefaultAllocator)
		took := time.Since(start)
		runtime.ReadMemStats(&after)
		if err == nil {
			t.Errorf("%s: it was read", name)
		}
		if n := after.TotalAlloc - before.TotalAlloc; n > 2*most || took > leak.Patience {
			t.Errorf("%s: %d bytes were allocated in %v, want at most %d: %v", name, n, took, 2*most, err)
		}
	}
}
