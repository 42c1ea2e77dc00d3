package sources_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow/flowtest"
	"github.com/sanflow/sanflow/flow/manifest"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

// foreign writes columns in JSON as a program would that knows Arrow, and
// nothing of package record.
func foreign(t *testing.T, fields []arrow.Field, columns ...string) []byte {
	t.Helper()
	var cols []arrow.Array
	for i, f := range fields {
		col, _, err := array.FromJSON(memory.DefaultAllocator, f.Type, strings.NewReader(columns[i]))
		if err != nil {
			t.Fatal(err)
		}
		cols = append(cols, col)
	}
	schema := arrow.NewSchema(fields, nil)
	var b bytes.Buffer
	w := ipc.NewWriter(&b, ipc.WithSchema(schema))
	if err := w.Write(array.NewRecord(schema, cols, int64(cols[0].Len()))); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func list(t arrow.DataType) arrow.DataType { return arrow.ListOf(t) }

var (
	i32 = arrow.PrimitiveTypes.Int32
	i64 = arrow.PrimitiveTypes.Int64
	f32 = arrow.PrimitiveTypes.Float32
)

func field(name string, t arrow.DataType, meta ...string) arrow.Field {
	f := arrow.Field{Name: name, Type: t, Nullable: true}
	if len(meta) == 2 {
		f.Metadata = arrow.NewMetadata(meta[:1], meta[1:])
	}
	return f
}

// What breaks a rule of graphs or of records is one clear error.
func TestIPCRules(t *testing.T) {
	graphs := func(offsets, neighbors string) []byte {
		return foreign(t, []arrow.Field{field("offsets", list(i64)), field("neighbors", list(i32))}, offsets, neighbors)
	}
	for _, c := range []struct {
		want string // "" for none
		file []byte
	}{
		{"", graphs("[[0,1,2]]", "[[1,0]]")},
		{"", graphs("[[0],[0,0]]", "[[],[]]")},
		{"offsets do not span", graphs("[[0,1,3]]", "[[1,0]]")},
		{"offsets do not span", graphs("[[1,1,2]]", "[[1,0]]")},
		{"offsets do not span", graphs("[[]]", "[[]]")},
		{"graph 0: graph: offsets fall from 3 to -1 at node 1", graphs("[[0,3,-1,2]]", "[[1,0]]")},
		{"graph 1: graph: offsets fall from 2 to 1", graphs("[[0],[0,2,1,2]]", "[[],[1,0]]")},
		{"node 0 has neighbour 2, want 0 to 1", graphs("[[0,1,2]]", "[[2,0]]")},
		{"node 0 has neighbour -1, want 0 to 1", graphs("[[0,1,2]]", "[[-1,0]]")},
		{"node 0 is its own neighbour", graphs("[[0,1,2]]", "[[0,0]]")},
		{"not strictly ascending", graphs("[[0,2,3,4]]", "[[2,1,0,0]]")},
		{"edge 0-1 lacks its other direction", graphs("[[0,1,1]]", "[[1]]")},
		{`column "offsets": value 1 is 4294967296`, graphs("[[0,4294967296]]", "[[]]")},
		{`column "offsets": there are 1 nulls, want none`, graphs("[null]", "[[]]")},
		{`column "neighbors": there are 1 nulls, want none`, graphs("[[0,1,2]]", "[[null,0]]")},
		{`column "neighbors" is int32, want list`, foreign(t, []arrow.Field{field("offsets", list(i32)), field("neighbors", i32)}, "[[0]]", "[1]")},
		{`column "name" is utf8`, foreign(t, []arrow.Field{field("name", arrow.BinaryTypes.String)}, `["a"]`)},
		{`two columns "a"`, foreign(t, []arrow.Field{field("a", i32), field("a", i32)}, "[1]", "[1]")},
		{`column "node_cat" has no metadata`, foreign(t, []arrow.Field{field("offsets", list(i32)), field("neighbors", list(i32)), field("node_cat", list(i32))},
			"[[0,0]]", "[[]]", "[[0]]")},
		{`column "node_cat": value 0 is 2, want 0 to 1`, foreign(t, []arrow.Field{field("offsets", list(i32)), field("neighbors", list(i32)),
			field("node_cat", list(i32), "channels", `[{"name":"x","card":2}]`)}, "[[0,0]]", "[[]]", "[[2]]")},
		{"node_cat has 2 values, want 1 × 1", foreign(t, []arrow.Field{field("offsets", list(i32)), field("neighbors", list(i32)),
			field("node_cat", list(i32), "channels", `[{"name":"x","card":2}]`)}, "[[0,0]]", "[[]]", "[[1,1]]")},
		{`metadata "channels" of column "node_cat"`, foreign(t, []arrow.Field{field("offsets", list(i32)), field("neighbors", list(i32)),
			field("node_cat", list(i32), "channels", `{`)}, "[[0,0]]", "[[]]", "[[1]]")},
		{`column "target": value 0 is 2, want -1 to 1`, foreign(t, []arrow.Field{field("target", i32, "classes", `["a","b"]`)}, "[2]")},
		{"root 1 is 1, want -1 to 0", foreign(t, []arrow.Field{field("offsets", list(i32)), field("neighbors", list(i32)), field("roots", list(i32))},
			"[[0,0]]", "[[]]", "[[0,1]]")},
		{"row 1: pos is -1, want at least 0", foreign(t, []arrow.Field{field("pos", i64)}, "[1,-1]")},
		{`column "nodes" has 6 values a row, but the shape [1 5], of 5`, foreign(t, []arrow.Field{field("nodes", arrow.FixedSizeListOf(6, f32), "shape", "[1,5]")}, "[[1,2,3,4,5,6]]")},
		{`column "roots": row 1 has 3 values, want 2`, foreign(t, []arrow.Field{field("roots", list(i32), "shape", "[2]")}, "[[1,2],[1,2,3]]")},
		{`column "nodes": value 0 is +Inf`, infinite(t)},
		{"are no Arrow IPC", nil},
		{"are no Arrow IPC", []byte("ARROW")},
		{"no message where one should be", []byte("some text that is no Arrow")},
	} {
		_, _, err := drain(sources.IPC{Reader: bytes.NewReader(c.file)}, flowtest.Mem(t))
		switch {
		case c.want == "" && err != nil:
			t.Error(err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n")):
			t.Errorf("%v, want one with %q", err, c.want)
		}
	}
}

// infinite is a column that JSON cannot say.
func infinite(t *testing.T) []byte {
	b := array.NewFloat32Builder(memory.DefaultAllocator)
	b.Append(float32(math.Inf(1)))
	schema := arrow.NewSchema([]arrow.Field{field("nodes", f32)}, nil)
	var out bytes.Buffer
	w := ipc.NewWriter(&out, ipc.WithSchema(schema))
	if err := w.Write(array.NewRecord(schema, []arrow.Array{b.NewArray()}, 1)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// A file is an error wherever it is cut off; a stream is one that ended, where it
// is cut between two messages.
func TestIPCTruncated(t *testing.T) {
	recs := stages(t)["fields"]
	for _, stream := range []bool{false, true} {
		var b bytes.Buffer
		store(t, recs, sinks.IPC{W: &b, Stream: stream})
		whole, _, err := drain(sources.IPC{Reader: bytes.NewReader(b.Bytes())}, memory.DefaultAllocator)
		if err != nil {
			t.Fatal(err)
		}
		for n := 0; n < b.Len(); n += 1 + n/50 {
			rows, _, err := drain(sources.IPC{Reader: bytes.NewReader(b.Bytes()[:n])}, memory.DefaultAllocator)
			if err == nil && (!stream || len(rows) == len(whole) && n < b.Len()-8) {
				t.Errorf("stream %t, %d of %d bytes: %d rows and no error", stream, n, b.Len(), len(rows))
			}
		}
	}
}

// Numbers of other widths, large lists, and no numbers of graphs.
func TestIPCForeign(t *testing.T) {
	file := foreign(t, []arrow.Field{
		field("offsets", arrow.LargeListOf(arrow.PrimitiveTypes.Uint64)), field("neighbors", list(arrow.PrimitiveTypes.Int8)),
		field("node_attr", list(arrow.PrimitiveTypes.Float64)), field("name", arrow.BinaryTypes.String), field("target", arrow.PrimitiveTypes.Float64),
	}, "[[0,1,2],[0]]", "[[1,0],[]]", "[[0.5,1],[]]", `["a","b"]`, "[1.5,-2]")
	layout := &record.Layout{NodeAttr: []record.Channel{{Name: "x"}}, Real: true}
	rows, schema, err := drain(sources.IPC{
		Reader: bytes.NewReader(file), Like: layout.Schema(), Columns: []string{"offsets", "neighbors", "node_attr", "target"},
	}, flowtest.Mem(t))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"graph_id=0 pos=0 offsets=[0,1,2] neighbors=[1,0] node_attr=[0.5,1] target=1.5",
		"graph_id=1 pos=1 offsets=[0] neighbors=[] node_attr=[] target=-2",
	}
	if strings.Join(rows, "\n") != strings.Join(want, "\n") {
		t.Errorf("rows %q, want %q", rows, want)
	}
	if !schema.Equal(layout.Schema()) {
		t.Errorf("schema %v, want %v", schema, layout.Schema())
	}
	for _, c := range []struct {
		src  sources.IPC
		want string
	}{
		{sources.IPC{Columns: []string{"nodes"}}, `no column "nodes"; there are offsets, neighbors, node_attr, name, target`},
		{sources.IPC{Columns: []string{"offsets", "neighbors", "node_attr"}}, `column "node_attr" has no metadata that describes its values: describe it in Like`},
		{sources.IPC{MaxBytes: 100}, "MaxBytes 100"},
	} {
		c.src.Reader = bytes.NewReader(file)
		if _, _, err := drain(c.src, memory.DefaultAllocator); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want one with %q", err, c.want)
		}
	}
}

// A file that is not the one that the manifest names is refused before it is
// parsed.
func TestManifest(t *testing.T) {
	recs := flowtest.Sample(memory.DefaultAllocator)
	write := func() (dir, part string) {
		dir = filepath.Join(t.TempDir(), "a")
		store(t, recs, sinks.IPC{Dir: dir, PartBytes: 1})
		return dir, filepath.Join(dir, "part-00001.arrow")
	}
	other := foreign(t, []arrow.Field{field("a", i32)}, "[1]")
	for _, c := range []struct {
		want string
		harm func(dir, part string) error
	}{
		{"part-00001.arrow has the checksum", func(_, part string) error {
			b, err := os.ReadFile(part)
			if err != nil {
				return err
			}
			b[len(b)/2]++
			return os.WriteFile(part, b, 0o600)
		}},
		{"bytes, want", func(_, part string) error { return os.Truncate(part, 100) }},
		{"part-00001.arrow: no such file", func(_, part string) error { return os.Remove(part) }},
		{"manifest.json: unexpected end of JSON", func(dir, _ string) error { return os.WriteFile(filepath.Join(dir, manifest.Name), []byte("{"), 0o600) }},
		{"version is 2, want 1", func(dir, _ string) error {
			return os.WriteFile(filepath.Join(dir, manifest.Name), []byte(`{"version":2}`), 0o600)
		}},
		{"no name of a file", func(dir, _ string) error {
			return os.WriteFile(filepath.Join(dir, manifest.Name), []byte(`{"version":1,"files":[{"name":"../a"}]}`), 0o600)
		}},
	} {
		dir, part := write()
		if err := c.harm(dir, part); err != nil {
			t.Fatal(err)
		}
		_, _, err := drain(sources.IPC{Path: dir}, flowtest.Mem(t))
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v, want one with %q", err, c.want)
		}
	}
	// A part by itself is looked up in the manifest beside it.
	_, part := write()
	if _, _, err := drain(sources.IPC{Path: part}, flowtest.Mem(t)); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(part, other, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := drain(sources.IPC{Path: part}, flowtest.Mem(t)); err == nil {
		t.Error("another file was read as the part that the manifest names")
	}
	dir, part := write()
	if err := os.Remove(filepath.Join(dir, manifest.Name)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(part, other, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := drain(sources.IPC{Path: dir}, flowtest.Mem(t)); err == nil || !strings.Contains(err.Error(), "its columns are not those of") {
		t.Errorf("%v, want one about its columns", err)
	}
	if _, _, err := drain(sources.IPC{Path: t.TempDir()}, flowtest.Mem(t)); err == nil || !strings.Contains(err.Error(), "there is no file *.arrow") {
		t.Errorf("%v", err)
	}
	if _, _, err := drain(sources.IPC{Path: "nowhere"}, flowtest.Mem(t)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v, want %v", err, fs.ErrNotExist)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := (sources.IPC{Path: part}).Open(ctx, memory.DefaultAllocator); err != nil {
		t.Error(err)
	}
	dir, _ = write()
	if _, err := (sources.IPC{Path: dir}).Open(ctx, memory.DefaultAllocator); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want %v", err, context.Canceled)
	}
}
