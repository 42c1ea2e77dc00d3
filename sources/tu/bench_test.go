package tu

import (
	"io"
	"path/filepath"
	"testing"

	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/sanflow/sanflow/sources/internal/reading"
	"github.com/sanflow/sanflow/sources/internal/readtest"
)

// BenchmarkTU reads whole collections: Open, which scans every file, and the
// stream after it. MB/s are of unpacked text,
// which is read twice but counted once.
func BenchmarkTU(b *testing.B) {
	for _, c := range []struct {
		name string
		size int64 // of all files, unpacked
	}{
		{"MUTAG", 110537}, {"NCI1", 4075317}, {"PROTEINS_full", 16168285}, {"DD", 26329577}, {"REDDIT-BINARY", 33089534}, {"COLLAB", 364266104},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(c.size)
			readTU(b, Source{Path: filepath.Join(readtest.Data(b), "tu", c.name+".zip")})
		})
	}
}

func readTU(b *testing.B, tu Source) {
	b.ReportAllocs()
	graphs := int64(0)
	for b.Loop() {
		r, err := tu.Open(b.Context(), memory.NewGoAllocator())
		if err != nil {
			b.Fatal(err)
		}
		for {
			rec, err := r.Next(b.Context())
			if err == io.EOF {
				break
			}
			if err != nil {
				b.Fatal(err)
			}
			graphs += rec.NumRows()
			rec.Release()
		}
		r.Close()
	}
	b.ReportMetric(float64(graphs)/b.Elapsed().Seconds(), "graphs/s")
}

// BenchmarkEdgeLines is the parser alone, on text in memory: the bound of what
// one pass can reach.
func BenchmarkEdgeLines(b *testing.B) {
	var text []byte
	for range 100_000 {
		text = append(text, "372471, 372472\n"...)
	}
	x := &index{graphOf: make([]int32, 400_000), start: []int32{0, 400_000}}
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		f := &reading.Folder{Fsys: readtest.MapFS(map[string]string{"T_A.txt": string(text)}), Prefix: "T_", Limit: 1 << 30, Alive: func() error { return nil }}
		if e, err := readLines(f, x); err != nil || e.ends.Len() != 100_000 {
			b.Fatal(e.ends.Len(), err)
		}
	}
}
