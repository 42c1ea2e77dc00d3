package parquet_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/file"
	"github.com/apache/arrow/go/v15/parquet/schema"

	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/sources"
	in "github.com/sanflow/sanflow/sources/parquet"
)

// A table that DuckDB 1.5.6 has written is the graph of the same lines as text:
//
//	SET threads=1;
//	COPY (SELECT (i*7919)%600*2 AS src, ((i*i)%600*2)::INTEGER AS dst, 'x' AS what FROM range(5000) t(i))
//	TO 'duckdb.edges.parquet' (ROW_GROUP_SIZE 2048)
func TestEdgesOfDuckDB(t *testing.T) {
	var forth, back strings.Builder
	for i := range 5000 {
		u, v := i*7919%600*2, i*i%600*2
		fmt.Fprintln(&forth, u, v)
		fmt.Fprintln(&back, v, u)
	}
	for _, directed := range []bool{false, true} {
		for _, workers := range []int{1, 2, 3} {
			for _, c := range []struct {
				back bool
				text string
			}{{false, forth.String()}, {true, back.String()}} {
				edges := sources.EdgeList{Table: in.Table{Path: "testdata/duckdb.edges.parquet"}, Directed: directed, Workers: workers}
				got, err := edges.Read(t.Context())
				if c.back {
					got, err = named("testdata/duckdb.edges.parquet", "dst", "src", "", directed, workers).Read(t.Context())
				}
				if err != nil {
					t.Fatal(err)
				}
				want, err := sources.EdgeList{Reader: strings.NewReader(c.text), Directed: directed}.Read(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if got.Stats != want.Stats || !slices.Equal(got.Items[0].NodeID.Ints(), want.Items[0].NodeID.Ints()) || !slices.Equal(got.Items[0].Graph.Offsets, want.Items[0].Graph.Offsets) ||
					!slices.Equal(got.Items[0].Graph.Neighbors, want.Items[0].Graph.Neighbors) {
					t.Errorf("directed %t, %d workers: %+v, want %+v, or another graph", directed, workers, got.Stats, want.Stats)
				}
			}
		}
	}
	for path, edges := range map[string]bool{"testdata/duckdb.edges.parquet": true, "testdata/duckdb.parquet": false} {
		src, err := sources.Open(t.Context(), path, sources.Options{})
		if _, is := src.(sources.EdgeList); is != edges || err != nil {
			t.Errorf("%s is opened as %T, %v", path, src, err)
		}
	}
	r, err := sources.EdgeList{Table: in.Table{Path: "testdata/duckdb.edges.parquet"}}.Open(t.Context(), memory.DefaultAllocator)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	rec, err := r.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Release()
	if g, err := record.GraphsOf(rec); err != nil || g.Check(0) != nil {
		t.Errorf("%v, %v", err, g.Check(0))
	}
}

// namedEdges reads columns by their names, as EdgeList reads the first.
type namedEdges struct{ sources.Tables }

func named(path, from, to, weight string, directed bool, workers int) namedEdges {
	return namedEdges{sources.Tables{Directed: directed, Workers: workers, Edges: sources.EdgeTable{
		Table: in.Table{Path: path}, Source: from, Target: to, Weight: weight, Spaces: sources.OneSpace, Attributes: []string{}, Offsets: map[string]float64{}}}}
}

func (n namedEdges) Read(ctx context.Context) (*sources.TableSet, error) {
	set, err := n.Tables.Read(ctx)
	if err != nil {
		return nil, err
	}
	set.DropPlainIDs()
	return set, nil
}

// Weights of a table that DuckDB 1.5.6 has written are those of the same lines as text:
//
//	SET threads=1;
//	COPY (SELECT (i*7919)%600*2 AS src, ((i*i)%600*2)::INTEGER AS dst, (i%1009)/7 AS weight, (i%251)::SMALLINT AS hops, 'x' AS what
//	FROM range(5000) t(i)) TO 'duckdb.weights.parquet' (ROW_GROUP_SIZE 2048)
func TestEdgesWeightsOfDuckDB(t *testing.T) {
	var weight, hops strings.Builder
	for i := range 5000 {
		fmt.Fprintln(&weight, i*7919%600*2, i*i%600*2, float64(i%1009)/7)
		fmt.Fprintln(&hops, i*i%600*2, i*7919%600*2, i%251)
	}
	path := "testdata/duckdb.weights.parquet"
	for _, c := range []struct {
		byName bool
		text   string
	}{{false, weight.String()}, {true, hops.String()}} {
		for _, directed := range []bool{false, true} {
			for _, workers := range []int{1, 2, 3} {
				got, err := sources.EdgeList{Table: in.Table{Path: path}, Weights: true, Directed: directed, Workers: workers}.Read(t.Context())
				if c.byName {
					got, err = named(path, "dst", "src", "hops", directed, workers).Read(t.Context())
				}
				if err != nil {
					t.Fatal(err)
				}
				want, err := sources.EdgeList{Reader: strings.NewReader(c.text), Directed: directed, Weights: true}.Read(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if got.Stats != want.Stats || !slices.Equal(got.Items[0].Graph.Neighbors, want.Items[0].Graph.Neighbors) || got.Stats.Conflicts == 0 ||
					got.Items[0].Graph.EdgeAttrs != 1 || !slices.Equal(got.Items[0].Graph.EdgeAttr, want.Items[0].Graph.EdgeAttr) || got.Items[0].Graph.Check() != nil {
					t.Errorf("by name %t: %+v, want %+v, or another graph", c.byName, got.Stats, want.Stats)
				}
			}
		}
	}
	r, err := sources.EdgeList{Table: in.Table{Path: path}, Weights: true}.Open(t.Context(), memory.DefaultAllocator)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if l, err := record.LayoutOf(r.Schema()); err != nil || len(l.EdgeAttr) != 1 || l.EdgeAttr[0].Name != "weight" {
		t.Errorf("%+v, %v", l.EdgeAttr, err)
	}
	if n, err := (sources.EdgeList{Table: in.Table{Path: path}}).Read(t.Context()); err != nil || n.Items[0].Graph.EdgeAttrs != 0 || n.Stats.Conflicts != 0 {
		t.Errorf("without Weights: %+v, %v", n.Stats, err)
	}
}

// table writes a file of two columns, a row group for each pair of slices.
func table(t *testing.T, groups ...[2][]int64) string {
	t.Helper()
	var fields schema.FieldList
	for _, name := range []string{"a", "b"} {
		n, err := schema.NewPrimitiveNode(name, parquet.Repetitions.Required, parquet.Types.Int64, -1, -1)
		if err != nil {
			t.Fatal(err)
		}
		fields = append(fields, n)
	}
	root, err := schema.NewGroupNode("schema", parquet.Repetitions.Required, fields, -1)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w := file.NewParquetWriter(&b, root)
	for _, g := range groups {
		group := w.AppendRowGroup()
		for _, x := range g {
			c, err := group.NextColumn()
			if err == nil {
				_, err = c.(*file.Int64ColumnChunkWriter).WriteBatch(x, nil, nil)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "t.parquet")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// weighted writes a file of two ends and a weight, an edge each.
func weighted(t *testing.T, weights ...float64) string {
	t.Helper()
	var fields schema.FieldList
	for i, name := range []string{"u", "v", "w"} {
		n, err := schema.NewPrimitiveNode(name, parquet.Repetitions.Required, []parquet.Type{parquet.Types.Int32, parquet.Types.Int32, parquet.Types.Double}[i], -1, -1)
		if err != nil {
			t.Fatal(err)
		}
		fields = append(fields, n)
	}
	root, err := schema.NewGroupNode("schema", parquet.Repetitions.Required, fields, -1)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w := file.NewParquetWriter(&b, root)
	group := w.AppendRowGroup()
	ends := make([]int32, len(weights))
	for i := range ends {
		ends[i] = int32(i)
	}
	for range 3 {
		c, err := group.NextColumn()
		if err == nil {
			switch c := c.(type) {
			case *file.Int32ColumnChunkWriter:
				_, err = c.WriteBatch(ends, nil, nil)
			case *file.Float64ColumnChunkWriter:
				_, err = c.WriteBatch(weights, nil, nil)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "w.parquet")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestEdgesErrors(t *testing.T) {
	good := [2][]int64{{0, 1}, {1, 2}}
	for _, c := range []struct {
		s    sources.EdgeList
		want string
	}{
		{sources.EdgeList{Table: in.Table{Path: table(t)}}, "no edge"},
		{sources.EdgeList{Table: in.Table{Path: table(t, good)}, Memory: 8}, "2 edges take more than 8 bytes of memory; raise Memory if that is right"},
		{sources.EdgeList{Table: in.Table{Path: table(t, good)}, Memory: 100}, "raise Memory"},
		{sources.EdgeList{Table: in.Table{Path: table(t, good)}, Weights: true}, "2 columns, want the two ends of an edge and its weight"},
		{sources.EdgeList{Table: in.Table{Path: "testdata/duckdb.weights.parquet"}, Weights: true, Memory: 50_000}, "raise Memory"},
		{sources.EdgeList{Table: in.Table{Path: "testdata/duckdb.edges.parquet"}, Weights: true}, `row 1: column "what": "x", want a finite decimal number`},
		{sources.EdgeList{Table: in.Table{Path: weighted(t, 0.5, math.Inf(-1))}, Weights: true}, `row 2: column "w": -Inf, want a finite number that fits a float32`},
		{sources.EdgeList{Table: in.Table{Path: weighted(t, 0.5, 1, math.Inf(1))}, Weights: true}, `row 3: column "w": +Inf, want a finite number`},
		{sources.EdgeList{Table: in.Table{Path: weighted(t, 3.5e38)}, Weights: true}, `row 1: column "w": 3.5e+38, want a finite number`},
		{sources.EdgeList{Table: in.Table{Path: "testdata/nowhere.parquet"}}, "no such file"},
		{sources.EdgeList{Table: in.Table{}}, "no Path"},
	} {
		for range 3 { // whichever goroutine is first
			if _, err := c.s.Read(t.Context()); err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%+v: %v, want %s", c.s, err, c.want)
			}
		}
	}
	// Ids are those that an edge list has, and strings.
	n, err := sources.EdgeList{Table: in.Table{Path: table(t, good, [2][]int64{{3, -4}, {1, math.MaxInt32 + 1}})}}.Read(t.Context())
	if err != nil || !slices.Equal(n.Items[0].NodeID.Ints(), []int64{-4, 0, 1, 2, 3, math.MaxInt32 + 1}) {
		t.Errorf("%v, %v", n, err)
	}
	n, err = named("testdata/duckdb.edges.parquet", "src", "what", "", false, 0).Read(t.Context())
	if err != nil || n.Items[0].NodeID.Name(int32(n.Items[0].Graph.N()-1)) != "x" {
		t.Errorf("%v, %v", n, err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := (sources.EdgeList{Table: in.Table{Path: "testdata/duckdb.edges.parquet"}}).Read(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// Row groups are decoded in memory that is used again: what a table takes beside its
// edges and its graph does not grow with their number.
func TestEdgesMemory(t *testing.T) {
	const size = 20_000
	taken := func(groups int) int64 {
		var all [][2][]int64
		for i := range groups {
			g := [2][]int64{make([]int64, size), make([]int64, size)}
			for j := range size {
				g[0][j], g[1][j] = int64(j*7919%3000), int64((i*size+j*j)%3000)
			}
			all = append(all, g)
		}
		s := sources.EdgeList{Table: in.Table{Path: table(t, all...)}, Workers: 1}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		n, err := s.Read(t.Context())
		runtime.ReadMemStats(&after)
		if err != nil || n.Stats.EdgeRows != int64(groups*size) {
			t.Fatal(err)
		}
		return int64(after.TotalAlloc - before.TotalAlloc)
	}
	taken(2)
	// 8 bytes for an edge, 8 for its entries, and what it takes to sort them.
	few, many := taken(20), taken(40)
	if each := float64(many-few) / (20 * size); each > 20 {
		t.Errorf("%.1f bytes an edge, want at most 20", each)
	}
}

// A table that was damaged anywhere is an error or a graph, and not a panic.
func TestEdgesDamaged(t *testing.T) {
	whole, err := os.ReadFile("testdata/duckdb.weights.parquet")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "t.parquet")
	for i := range 300 {
		b := bytes.Clone(whole)
		at := i * 7919 % len(b)
		if i%2 == 0 {
			at = len(b) - 1 - at%1500 // in the footer
		}
		b[at] ^= byte(1 << (i % 8))
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		n, err := sources.EdgeList{Table: in.Table{Path: path}, Weights: i%3 > 0, Memory: 1 << 30}.Read(t.Context())
		if err == nil && n.Items[0].Graph.Check() != nil {
			t.Errorf("byte %d: %v", at, n.Items[0].Graph.Check())
		}
	}
}
