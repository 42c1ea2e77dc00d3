package sources_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/flowtest"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

// ipcFile writes what a source gives, and returns the path.
func ipcFile(tb testing.TB, src flow.Source) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "graphs.arrow")
	if err := flow.From(src).To(sinks.IPC{Path: path}).Run(context.Background()); err != nil {
		tb.Fatal(err)
	}
	return path
}

func TestMappedConformance(t *testing.T) {
	recs := flowtest.Sample(memory.DefaultAllocator)
	for _, rec := range recs {
		defer rec.Release()
	}
	path := ipcFile(t, sources.Records{Records: recs})
	flowtest.RunSource(t, sources.Mapped{Path: path})
	flowtest.RunSource(t, sources.Mapped{Path: path, Check: true})
	var out sinks.Collect
	defer out.Release()
	if err := flow.From(sources.Mapped{Path: path}).To(&out).Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	if got, want := flowtest.Rows(out.Records()...), flowtest.Rows(recs...); !slices.Equal(got, want) {
		t.Errorf("%v\nwant\n%v", got, want)
	}
}

// Fields of a mapped graph in chunks are those of the graph that was read, and
// are valid when the mapping is gone.
func TestMappedChunks(t *testing.T) {
	dir := t.TempDir()
	edges := filepath.Join(dir, "ring.edges")
	var text strings.Builder
	for v := range 200 {
		for _, step := range []int{1, 7} {
			text.WriteString(fmt.Sprintln(v, (v*step+step)%200))
		}
	}
	if err := os.WriteFile(edges, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	list := sources.EdgeList{Path: edges}
	path := ipcFile(t, list)
	fields := func(src flow.Source) []string {
		mem := memory.NewCheckedAllocator(&flowtest.Poison{})
		defer mem.AssertSize(t, 0)
		var out sinks.Collect
		defer out.Release()
		err := flow.From(src).Via(operators.Select{}).Via(operators.Chunk{Size: 30}).
			Via(operators.Assemble{K: 6}).Via(operators.Normalize{}).To(&out).
			With(flow.Options{Mem: mem, Workers: 3}).Run(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		return flowtest.Rows(out.Records()...)
	}
	want := fields(list)
	if got := fields(sources.Mapped{Path: path}); !slices.Equal(got, want) || len(want) != 7 {
		t.Errorf("%d rows differ from %d", len(got), len(want))
	}
	if maps, err := os.ReadFile("/proc/self/maps"); err == nil && strings.Contains(string(maps), path) {
		t.Error("the file is still mapped")
	}
}

func TestMappedErrors(t *testing.T) {
	b := record.NewBuilder(memory.DefaultAllocator, record.Layout{})
	defer b.Release()
	// Node 1 has a neighbour that is not there.
	if err := b.Append(&graph.Graph{Offsets: []int32{0, 1, 2}, Neighbors: []int32{1, 5}}, record.Row{ID: 7}); err != nil {
		t.Fatal(err)
	}
	rec := b.Record()
	defer rec.Release()
	bad := ipcFile(t, sources.Records{Records: []arrow.Record{rec}})
	drain := func(src flow.Source) error { return flow.From(src).Run(context.Background()) }
	if err := drain(sources.Mapped{Path: bad}); err != nil {
		t.Errorf("without Check: %v", err)
	}
	if err := drain(sources.Mapped{Path: bad, Check: true}); err == nil || !strings.Contains(err.Error(), "record 0: graph 7: graph: node 1 has neighbour 5") {
		t.Errorf("with Check: %v", err)
	}
	if err := drain(sources.Mapped{Path: "nowhere.arrow"}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	// A file of something else.
	schema := arrow.NewSchema([]arrow.Field{{Name: "x", Type: arrow.PrimitiveTypes.Int32}}, nil)
	other := filepath.Join(t.TempDir(), "other.arrow")
	f, err := os.Create(other)
	if err != nil {
		t.Fatal(err)
	}
	w, err := ipc.NewFileWriter(f, ipc.WithSchema(schema))
	if err = errors.Join(err, w.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	if err := drain(sources.Mapped{Path: other}); err == nil || !strings.Contains(err.Error(), `other.arrow: record: no column "graph_id"`) {
		t.Errorf("other columns: %v", err)
	}
}

// BenchmarkMapped opens cnr-2000, 325 557 nodes and 2.7 million edges, as a
// mapped file, and reads it as an edge list, in turn within each iteration.
//
//	go test ./sources -run '^$' -bench BenchmarkMapped -benchtime 5x
func BenchmarkMapped(b *testing.B) {
	dir := os.Getenv("SANFLOW_DATA")
	if dir == "" {
		dir = filepath.Join("..", "..", "shared", "data")
	}
	list := sources.EdgeList{Path: filepath.Join(dir, "graphs", "cnr-2000.edges.gz")}
	if _, err := os.Stat(list.Path); err != nil {
		b.Skipf("needs the benchmark data; set SANFLOW_DATA: %v", err)
	}
	path := ipcFile(b, list)
	var open, read time.Duration
	first := func(src flow.Source) (d time.Duration) {
		start := time.Now()
		r, err := src.Open(context.Background(), memory.DefaultAllocator)
		if err != nil {
			b.Fatal(err)
		}
		rec, err := r.Next(context.Background())
		if err != nil {
			b.Fatal(err)
		}
		gs, err := record.GraphsOf(rec)
		if err != nil || gs.Nodes(0) != 325557 {
			b.Fatal(err, gs.Nodes(0))
		}
		d = time.Since(start)
		rec.Release()
		if err := r.Close(); err != nil {
			b.Fatal(err)
		}
		return d
	}
	for b.Loop() {
		open += first(sources.Mapped{Path: path})
		read += first(list)
	}
	b.ReportMetric(float64(open.Microseconds())/float64(b.N), "µs/open")
	b.ReportMetric(float64(read.Milliseconds())/float64(b.N), "ms/read")
	b.ReportMetric(read.Seconds()/open.Seconds(), "read/open")
}
