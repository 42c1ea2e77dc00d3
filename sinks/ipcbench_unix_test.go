//go:build unix

package sinks_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sinks/parquet"
	"github.com/sanflow/sanflow/sources"
	in "github.com/sanflow/sanflow/sources/parquet"
)

// astroFields returns the fields of all nodes of astro-ph at k = 10, a row per
// root, with their edges, and the number of their bytes.
func astroFields(b *testing.B) (recs []arrow.Record, size int64) {
	b.Helper()
	dir := os.Getenv("SANFLOW_DATA")
	if dir == "" {
		b.Skip("SANFLOW_DATA is not set")
	}
	out := &sinks.Collect{}
	err := flow.From(sources.EdgeList{Path: filepath.Join(dir, "graphs", "astro-ph.edges.gz")}).
		Via(operators.Select{}).
		Via(operators.Chunk{}).
		Via(operators.Assemble{K: 10}).
		Via(operators.Normalize{Edges: true}).
		Via(operators.PerRoot{}).
		To(out).Run(context.Background())
	if err != nil {
		b.Fatal(err)
	}
	for _, rec := range out.Records() {
		// graph_id and pos, roots and its offset, members, edges
		size += rec.NumRows() * (8 + 8 + 4 + 4 + 10*4 + 100*4)
	}
	return out.Records(), size
}

func benchmarkWrite(b *testing.B, sink flow.Sink) {
	recs, size := astroFields(b)
	b.SetBytes(size)
	b.ReportAllocs()
	ctx := context.Background()
	start := cpuSeconds(b)
	for b.Loop() {
		w, err := sink.Open(recs[0].Schema())
		if err != nil {
			b.Fatal(err)
		}
		for _, rec := range recs {
			if err := w.Write(ctx, rec); err != nil {
				b.Fatal(err)
			}
		}
		if err := w.Close(nil); err != nil {
			b.Fatal(err)
		}
	}
	// A loaded machine takes wall time away from us, but no time of the processor.
	b.ReportMetric(float64(size)*float64(b.N)/1e6/(cpuSeconds(b)-start), "MB/cpu-s")
}

// cpuSeconds is the time that this process has had.
func cpuSeconds(b *testing.B) float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// ram is a file in memory, the same memory every time.
type ram struct{ b []byte }

func (r *ram) Write(p []byte) (int, error) {
	if cap(r.b)-len(r.b) < len(p) {
		r.b = r.b[:0] // large enough for the records of any benchmark here
	}
	r.b = append(r.b, p...)
	return len(p), nil
}

func memoryFile() *ram { return &ram{make([]byte, 0, 64<<20)} }

// MB/s are those of the Arrow records.
func BenchmarkIPCWrite(b *testing.B) {
	b.Run("file", func(b *testing.B) { benchmarkWrite(b, sinks.IPC{W: memoryFile()}) })
	b.Run("stream", func(b *testing.B) { benchmarkWrite(b, sinks.IPC{W: memoryFile(), Stream: true}) })
	b.Run("zstd", func(b *testing.B) { benchmarkWrite(b, sinks.IPC{W: memoryFile(), Compression: "zstd"}) })
	b.Run("directory", func(b *testing.B) { benchmarkWrite(b, sinks.IPC{Dir: filepath.Join(b.TempDir(), "a")}) })
}

func BenchmarkParquetWrite(b *testing.B) {
	b.Run("plain", func(b *testing.B) { benchmarkWrite(b, parquet.Sink{W: memoryFile()}) })
	b.Run("zstd", func(b *testing.B) { benchmarkWrite(b, parquet.Sink{W: memoryFile(), Compression: "zstd"}) })
	b.Run("directory", func(b *testing.B) { benchmarkWrite(b, parquet.Sink{Dir: filepath.Join(b.TempDir(), "a")}) })
}

func benchmarkRead(b *testing.B, sink func(io.Writer) flow.Sink, source func([]byte) flow.Source) {
	recs, size := astroFields(b)
	ctx := context.Background()
	file := memoryFile()
	if err := flow.From(sources.Records{Records: recs}).To(sink(file)).Run(ctx); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(size)
	b.ReportAllocs()
	start := cpuSeconds(b)
	for b.Loop() {
		r, err := source(file.b).Open(ctx, memory.DefaultAllocator)
		if err != nil {
			b.Fatal(err)
		}
		for {
			rec, err := r.Next(ctx)
			if err == io.EOF {
				break
			}
			if err != nil {
				b.Fatal(err)
			}
			rec.Release()
		}
		r.Close()
	}
	b.ReportMetric(float64(size)*float64(b.N)/1e6/(cpuSeconds(b)-start), "MB/cpu-s")
}

func BenchmarkIPCRead(b *testing.B) {
	benchmarkRead(b, func(w io.Writer) flow.Sink { return sinks.IPC{W: w} },
		func(file []byte) flow.Source { return sources.IPC{Reader: bytes.NewReader(file)} })
}

func BenchmarkParquetRead(b *testing.B) {
	for _, compression := range []string{"", "zstd"} {
		b.Run("compression="+compression, func(b *testing.B) {
			benchmarkRead(b, func(w io.Writer) flow.Sink { return parquet.Sink{W: w, Compression: compression} },
				func(file []byte) flow.Source {
					return in.Source{ReaderAt: bytes.NewReader(file), Size: int64(len(file))}
				})
		})
	}
}
