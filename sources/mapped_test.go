package sources_test

import (
	"bytes"
	"compress/gzip"
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
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/flowtest"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/sinks"
	toparquet "github.com/sanflow/sanflow/sinks/parquet"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/parquet"
	"github.com/sanflow/sanflow/sources/tu"
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
	var out sinks.Collect
	defer out.Release()
	if err := flow.From(sources.Mapped{Path: path}).To(&out).Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	if got, want := flowtest.Rows(out.Records()...), flowtest.Rows(recs...); !slices.Equal(got, want) {
		t.Errorf("%v\nwant\n%v", got, want)
	}
}

// One large graph gives the same fields in chunks whatever file it comes from,
// and a mapped file is let go.
func TestChunksOfAnyFile(t *testing.T) {
	const n = 200
	dir := t.TempDir()
	var edges, arcs bytes.Buffer
	for v := range n {
		for _, step := range []int{1, 7} {
			u := (v*step + step) % n
			fmt.Fprintln(&edges, v, u)
			if u != v {
				fmt.Fprintf(&arcs, "%d, %d\n%d, %d\n", v+1, u+1, u+1, v+1)
			}
		}
	}
	file := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, err := z.Write(edges.Bytes())
	if err = errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	plain := sources.EdgeList{Path: file("ring.edges", edges.Bytes())}
	if err := os.Mkdir(filepath.Join(dir, "RING"), 0o700); err != nil {
		t.Fatal(err)
	}
	file("RING/RING_A.txt", arcs.Bytes())
	file("RING/RING_graph_indicator.txt", []byte(strings.Repeat("1\n", n)))
	file("RING/RING_graph_labels.txt", []byte("1\n"))
	ipc, columns := ipcFile(t, plain), filepath.Join(dir, "ring.parquet")
	if err := flow.From(plain).To(toparquet.Sink{Path: columns}).Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	fields := func(src flow.Source) []string {
		mem := memory.NewCheckedAllocator(record.Poison{})
		defer mem.AssertSize(t, 0)
		var out sinks.Collect
		defer out.Release()
		err := flow.From(src).Via(operators.Select{}).Via(operators.Chunk{Size: 30}).
			Via(operators.Assemble{K: 6}).Via(operators.Normalize{}).Via(operators.PerRoot{}).To(&out).
			With(flow.Options{Allocator: mem, Workers: 3}).Run(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		rows := flowtest.Rows(out.Records()...)
		for i := range rows { // a TU collection has classes of graphs
			rows[i] = rows[i][strings.Index(rows[i], " roots="):]
		}
		return rows
	}
	want := fields(plain)
	if len(want) != n {
		t.Fatalf("%d rows, want %d", len(want), n)
	}
	for _, src := range []flow.Source{
		sources.EdgeList{Path: file("ring.edges.gz", packed.Bytes())},
		tu.Source{Path: filepath.Join(dir, "RING")},
		sources.IPC{Path: ipc},
		sources.Mapped{Path: ipc},
		parquet.Source{Path: columns},
	} {
		if got := fields(src); !slices.Equal(got, want) {
			t.Errorf("%v: the rows differ: %v", src, got[:min(2, len(got))])
		}
	}
	if maps, err := os.ReadFile("/proc/self/maps"); err == nil && strings.Contains(string(maps), ipc) {
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
		t.Errorf("mapped: %v", err)
	}
	if err := drain(sources.IPC{Path: bad}); err == nil || !strings.Contains(err.Error(), "graph 7: graph: node 1 has neighbour 5") {
		t.Errorf("read: %v", err)
	}
	if err := drain(sources.Mapped{Path: "nowhere.arrow"}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	// Columns of graphs that are not those of graphs.
	less, err := record.Project(record.Without(rec.Schema(), record.Neighbors), rec, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer less.Release()
	other := ipcFile(t, sources.Records{Records: []arrow.Record{less}})
	if err := drain(sources.Mapped{Path: other}); err == nil || !strings.Contains(err.Error(), `graphs.arrow: record: no column "neighbors"`) {
		t.Errorf("no neighbors: %v", err)
	}
}

// Fields come back too.
func TestMappedFields(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fields.arrow")
	p := flow.From(sources.Families{Graphs: 20}).Via(operators.Select{W: 3}).Via(operators.Assemble{K: 4}).Via(operators.Normalize{})
	var want, got sinks.Collect
	defer want.Release()
	defer got.Release()
	for _, sink := range []flow.Sink{&want, sinks.IPC{Path: path}} {
		if err := p.To(sink).Run(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	if err := flow.From(sources.Mapped{Path: path}).To(&got).Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	if a, b := flowtest.Rows(got.Records()...), flowtest.Rows(want.Records()...); !slices.Equal(a, b) || len(a) != 20 {
		t.Errorf("%v\nwant\n%v", a, b)
	}
}

// BenchmarkMapped opens cnr-2000, 325 557 nodes and 2.7 million edges, as a
// mapped file, and reads it as an edge list, in turn within each iteration.
//
//	go test ./sources -run '^$' -bench BenchmarkMapped -benchtime 5x
func BenchmarkMapped(b *testing.B) {
	dir := os.Getenv("SANFLOW_DATA")
	list := sources.EdgeList{Path: filepath.Join(dir, "graphs", "cnr-2000.edges.gz")}
	if _, err := os.Stat(list.Path); err != nil {
		b.Skipf("needs the data sets: set SANFLOW_DATA to their folder: %v", err)
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

// An export of which a byte is another is refused, read by its folder or by the name of its file: the file is compared
// with the manifest beside it, whatever the byte stands for. A whole one is read each time.
func TestDamagedExport(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	if err := flow.From(sources.Families{Graphs: 40}).To(sinks.IPC{Dir: dir}).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	part := filepath.Join(dir, "part-00000.arrow")
	whole, err := os.ReadFile(part)
	if err != nil {
		t.Fatal(err)
	}
	read := func(name string) error {
		src, err := sources.Open(t.Context(), name, sources.Options{})
		if err != nil {
			return err
		}
		return errors.Join(flow.From(src).Run(t.Context()), flow.From(src).Run(t.Context()))
	}
	for _, name := range []string{dir, part} {
		if err := read(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for at := 9; at < len(whole); at += len(whole)/50 + 1 {
			bad := slices.Clone(whole)
			bad[at] ^= 4
			if err := os.WriteFile(part, bad, 0o644); err != nil {
				t.Fatal(err)
			}
			if err := read(name); err == nil || !strings.Contains(err.Error(), "part-00000.arrow") {
				t.Errorf("%s: byte %d of %d: %v", filepath.Base(name), at, len(whole), err)
			}
		}
		if err := os.WriteFile(part, whole, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
