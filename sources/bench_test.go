package sources

import (
	"path/filepath"
	"testing"

	"github.com/sanflow/sanflow/sources/internal/readtest"
)

// BenchmarkEdgeList reads a whole graph. MB/s are of unpacked text.
func BenchmarkEdgeList(b *testing.B) {
	for _, c := range []struct {
		name string
		size int64
	}{{"email-Enron", 2_020_000}, {"cnr-2000", 37_000_000}} {
		b.Run(c.name, func(b *testing.B) {
			path := filepath.Join(readtest.Data(b), "graphs", c.name+".edges.gz")
			b.SetBytes(c.size)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := (EdgeList{Path: path}).Read(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
