package sources_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/flowtest"
	"github.com/sanflow/sanflow/sinks"
	toparquet "github.com/sanflow/sanflow/sinks/parquet"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/parquet"
)

// Files that this version has written are read by all that follow. A new version
// of a format gets files of its own beside these, written with SANFLOW_GOLDEN=1,
// which leaves those that there are.
func TestGolden(t *testing.T) {
	made := stages(t)
	for _, stage := range []string{"graphs", "fields"} {
		recs := made[stage][:1]
		path := func(name string) string { return filepath.Join("testdata", stage+".v1"+name) }
		kept := path(".rows")
		files := []struct {
			name string
			sink func(*bytes.Buffer) flow.Sink
			src  func(string) []flow.Source
		}{
			{".arrow", func(w *bytes.Buffer) flow.Sink { return sinks.IPC{W: w} },
				func(p string) []flow.Source {
					return []flow.Source{sources.IPC{Path: p}, sources.Mapped{Path: p}}
				}},
			{".zstd.arrow", func(w *bytes.Buffer) flow.Sink { return sinks.IPC{W: w, Compression: "zstd"} },
				func(p string) []flow.Source { return []flow.Source{sources.IPC{Path: p}} }},
			{".lz4.arrows", func(w *bytes.Buffer) flow.Sink { return sinks.IPC{W: w, Stream: true, Compression: "lz4"} },
				func(p string) []flow.Source { return []flow.Source{sources.IPC{Path: p}} }},
			{".parquet", func(w *bytes.Buffer) flow.Sink { return toparquet.Sink{W: w, Compression: "zstd"} },
				func(p string) []flow.Source { return []flow.Source{parquet.Source{Path: p}} }},
		}
		if os.Getenv("SANFLOW_GOLDEN") != "" {
			keep := func(path string, b []byte) {
				if _, err := os.Stat(path); err == nil {
					return
				}
				if err := os.WriteFile(path, b, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			keep(kept, []byte(recs[0].Schema().String()+"\n"+strings.Join(flowtest.Rows(recs...), "\n")))
			for _, f := range files {
				var b bytes.Buffer
				store(t, recs, f.sink(&b))
				keep(path(f.name), b.Bytes())
			}
		}
		text, err := os.ReadFile(kept)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			for _, src := range f.src(path(f.name)) {
				rows, schema, err := drain(src, flowtest.Mem(t))
				if err != nil {
					t.Errorf("%v: %v", src, err)
					continue
				}
				want := strings.Split(string(text), "\n")
				got := strings.Split(schema.String()+"\n"+strings.Join(rows, "\n"), "\n")
				if !slices.Equal(got, want) {
					t.Errorf("%v is\n%v\nwant\n%v", src, got, want)
				}
			}
		}
	}
}
