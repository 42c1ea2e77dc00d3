package sinks_test

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sinks/parquet"
	"github.com/sanflow/sanflow/sources"
)

// astroFields returns the fields of all nodes of astro-ph at k = 10, a row per
// root, with their edges, and the number of their bytes.
func astroFields(b *testing.B) (recs []arrow.Record, bytes int64) {
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
		bytes += rec.NumRows() * (8 + 8 + 4 + 4 + 10*4 + 100*4)
	}
	return out.Records(), bytes
}

func benchmarkWrite(b *testing.B, sink flow.Sink) {
	recs, bytes := astroFields(b)
	b.SetBytes(bytes)
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
	b.ReportMetric(float64(bytes)*float64(b.N)/1e6/(cpuSeconds(b)-start), "MB/cpu-s")
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
