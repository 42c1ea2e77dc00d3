package sinks_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/flowtest"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/labeling"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sinks/parquet"
	"github.com/sanflow/sanflow/sources"
	in "github.com/sanflow/sanflow/sources/parquet"
)

// Other programs read what we write, and we read what they write. The tests of flow/record/arrow18 do so with
// arrow-go v18. SANFLOW_PEERS is a directory with what testdata/interchange needs, made like this:
//
//	cp sinks/testdata/interchange/*.* "$SANFLOW_PEERS" && (cd "$SANFLOW_PEERS" && npm install)
func peers(t *testing.T) string {
	dir := os.Getenv("SANFLOW_PEERS")
	if dir == "" {
		t.Skip("SANFLOW_PEERS, a directory with other readers of Arrow and Parquet, is not set")
	}
	return dir
}

// peer runs one of the other programs and returns what it prints.
func peer(t *testing.T, tool, verb string, args ...string) []byte {
	t.Helper()
	dir := peers(t)
	cmd := exec.Command("node", append([]string{filepath.Join(dir, verb+".mjs"), tool}, args...)...)
	if _, err := exec.LookPath(cmd.Path); err != nil {
		t.Skip(err)
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if bytes.Contains(stderr.Bytes(), []byte("Cannot find ")) { // a module or package, or the binary of this platform
		t.Skipf("%s cannot be loaded: %s", tool, stderr.Bytes())
	}
	if err != nil {
		t.Fatalf("%v: %v: %s", cmd.Args, err, stderr.Bytes())
	}
	return out
}

// table reads rows in JSON, with numbers as precise as a float32.
func table(t *testing.T, b []byte) (rows []any) {
	t.Helper()
	if err := json.Unmarshal(b, &rows); err != nil {
		t.Fatalf("%v in %.200s", err, b)
	}
	var round func(any) any
	round = func(x any) any {
		switch x := x.(type) {
		case float64:
			return float32(x)
		case []any:
			for i := range x {
				x[i] = round(x[i])
			}
		case map[string]any:
			for k := range x {
				x[k] = round(x[k])
			}
		}
		return x
	}
	for i := range rows {
		rows[i] = round(rows[i])
	}
	return rows
}

func jsonOf(t *testing.T, recs []arrow.Record) []byte {
	t.Helper()
	var rows []json.RawMessage
	for _, rec := range recs {
		b, err := rec.MarshalJSON()
		var some []json.RawMessage
		if err == nil {
			err = json.Unmarshal(b, &some)
		}
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, some...)
	}
	b, err := json.Marshal(rows)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestPeersRead(t *testing.T) {
	peers(t)
	dir := t.TempDir()
	steps := []flow.Operator{
		operators.Select{W: 4, By: labeling.Degree}, operators.Assemble{K: 3}, operators.Normalize{Edges: true, Mask: true},
	}
	for name, steps := range map[string][]flow.Operator{"graphs": nil, "hoods": steps[:2], "fields": steps} {
		var out sinks.Collect
		p := flow.From(sources.Records{Records: flowtest.Sample(memory.DefaultAllocator)})
		for _, op := range steps {
			p = p.Via(op)
		}
		if err := p.To(&out).Run(context.Background()); err != nil {
			t.Fatal(err)
		}
		want := table(t, jsonOf(t, out.Records()))
		for _, c := range []struct {
			file  string
			sink  func(path string) flow.Sink
			tools []string
		}{
			{"plain.arrow", func(p string) flow.Sink { return sinks.IPC{Path: p} }, []string{"arrow", "polars"}},
			{"plain.arrows", func(p string) flow.Sink { return sinks.IPC{Path: p, Stream: true} }, []string{"arrow"}},
			{"lz4.arrow", func(p string) flow.Sink { return sinks.IPC{Path: p, Compression: "lz4"} }, []string{"polars"}},
			{"zstd.arrow", func(p string) flow.Sink { return sinks.IPC{Path: p, Compression: "zstd"} }, []string{"polars"}},
			{"plain.parquet", func(p string) flow.Sink { return parquet.Sink{Path: p, RowGroupBytes: 1} }, []string{"duckdb", "polars"}},
			{"zstd.parquet", func(p string) flow.Sink { return parquet.Sink{Path: p, Compression: "zstd"} }, []string{"duckdb", "polars"}},
			{"snappy.parquet", func(p string) flow.Sink { return parquet.Sink{Path: p, Compression: "snappy"} }, []string{"duckdb", "polars"}},
		} {
			path := filepath.Join(dir, name+"-"+c.file)
			if err := flow.From(sources.Records{Records: out.Records()}).To(c.sink(path)).Run(context.Background()); err != nil {
				t.Fatal(err)
			}
			for _, tool := range c.tools {
				t.Run(tool+" "+filepath.Base(path), func(t *testing.T) {
					got := table(t, peer(t, tool, "read", path))
					if len(got) != len(want) {
						t.Fatalf("%d rows, want %d", len(got), len(want))
					}
					for i := range want {
						if !reflect.DeepEqual(got[i], want[i]) {
							t.Fatalf("row %d is\n%v\nwant\n%v", i, got[i], want[i])
						}
					}
				})
			}
		}
		out.Release()
	}
}

// Graphs that others have written, with wider numbers, without pos and without
// metadata, are those of the sample.
func TestPeersWrite(t *testing.T) {
	dir := t.TempDir()
	peers(t)
	recs := flowtest.Sample(memory.DefaultAllocator)
	columns := map[string][]any{}
	for _, row := range table(t, jsonOf(t, recs)) {
		for name, x := range row.(map[string]any) {
			if name != record.Pos {
				columns[name] = append(columns[name], x)
			}
		}
	}
	b, err := json.Marshal(columns)
	if err != nil {
		t.Fatal(err)
	}
	from := filepath.Join(dir, "table.json")
	if err := os.WriteFile(from, b, 0o600); err != nil {
		t.Fatal(err)
	}
	want := table(t, jsonOf(t, recs))
	for _, c := range []struct{ tool, file string }{
		{"arrow", "a.arrow"}, {"arrow", "a.arrows"},
		{"polars", "p.arrow"}, {"polars", "p.parquet"},
		{"duckdb", "d.parquet"},
	} {
		t.Run(c.tool+" "+c.file, func(t *testing.T) {
			path := filepath.Join(dir, c.file)
			peer(t, c.tool, "write", from, path)
			var src flow.Source = sources.IPC{Path: path, Like: flowtest.Layout.Schema()}
			if filepath.Ext(path) == ".parquet" {
				src = in.Source{Path: path, Like: flowtest.Layout.Schema()}
			}
			r, err := src.Open(context.Background(), memory.DefaultAllocator)
			if c.file == "p.arrow" { // Polars writes views of strings, which Arrow v15 does not read
				if err == nil || !strings.Contains(err.Error(), `column "node_ids" is large_list<utf8_view>`) {
					t.Errorf("%v, want that node_ids is of views", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			var recs []arrow.Record
			for {
				rec, err := r.Next(context.Background())
				if err == io.EOF {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				recs = append(recs, rec)
			}
			got := table(t, jsonOf(t, recs))
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("got\n%v\nwant\n%v", got, want)
			}
		})
	}
}
