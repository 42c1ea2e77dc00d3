package sources_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"
	pq "github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/pqarrow"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/internal/leak"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/parquet"
)

// table is a table of a test: int64, float64 or string in each column, nil for none.
type table struct {
	names []string
	rows  [][]any
}

func (t table) csv(comma byte) sources.Table {
	var b strings.Builder
	line := func(values []any) {
		for i, v := range values {
			if i > 0 {
				b.WriteByte(comma)
			}
			switch s, isText := v.(string); {
			case v == nil:
			case isText && strings.ContainsAny(s, "\",\t\n\r"):
				b.WriteString(`"` + strings.ReplaceAll(s, `"`, `""`) + `"`)
			default:
				fmt.Fprint(&b, v)
			}
		}
		b.WriteByte('\n')
	}
	var head []any
	for _, n := range t.names {
		head = append(head, n)
	}
	line(head)
	for _, r := range t.rows {
		line(r)
	}
	return sources.CSV{Path: "table", Comma: comma, Reader: strings.NewReader(b.String())}
}

func (t table) jsonLines() sources.Table {
	var b bytes.Buffer
	for _, r := range t.rows {
		row := map[string]any{}
		for i, v := range r {
			row[t.names[i]] = v
		}
		text, _ := json.Marshal(row)
		b.Write(append(text, '\n'))
	}
	return sources.JSONLines{Path: "table", Reader: &b}
}

// arrow has the rows in records of some rows.
func (t table) arrow(tb testing.TB, mem memory.Allocator, size int) (sources.Table, func()) {
	var fields []arrow.Field
	for c, name := range t.names {
		typ := arrow.DataType(arrow.BinaryTypes.String)
		for _, r := range t.rows {
			switch r[c].(type) {
			case int64:
				typ = arrow.PrimitiveTypes.Int64
			case float64:
				typ = arrow.PrimitiveTypes.Float64
			}
		}
		fields = append(fields, arrow.Field{Name: name, Type: typ, Nullable: true})
	}
	schema := arrow.NewSchema(fields, nil)
	b := array.NewRecordBuilder(mem, schema)
	defer b.Release()
	var recs []arrow.Record
	for i, r := range t.rows {
		for c, v := range r {
			switch v := v.(type) {
			case int64:
				b.Field(c).(*array.Int64Builder).Append(v)
			case float64:
				b.Field(c).(*array.Float64Builder).Append(v)
			case string:
				b.Field(c).(*array.StringBuilder).Append(v)
			default:
				b.Field(c).AppendNull()
			}
		}
		if i%size == size-1 || i == len(t.rows)-1 {
			recs = append(recs, b.NewRecord())
		}
	}
	reader, err := array.NewRecordReader(schema, recs)
	if err != nil {
		tb.Fatal(err)
	}
	return sources.RecordTable{Reader: reader, Title: "table"}, func() {
		reader.Release()
		for _, r := range recs {
			r.Release()
		}
	}
}

// parquet has the rows in row groups of some rows.
func (t table) parquet(tb testing.TB, size int) sources.Table {
	reader, done := t.arrow(tb, memory.DefaultAllocator, size)
	defer done()
	path := filepath.Join(tb.TempDir(), "table.parquet")
	f, err := os.Create(path)
	if err != nil {
		tb.Fatal(err)
	}
	in := reader.(sources.RecordTable).Reader
	w, err := pqarrow.NewFileWriter(in.Schema(), f, pq.NewWriterProperties(), pqarrow.DefaultWriterProps())
	if err != nil {
		tb.Fatal(err)
	}
	for in.Next() {
		if err := w.Write(in.Record()); err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return parquet.Table{Path: path}
}

// forms calls do with the tables in each format.
func forms(t *testing.T, edges, nodes table, do func(form string, edges, nodes sources.Table)) {
	do("csv", edges.csv(','), nodes.csv(','))
	do("tsv", edges.csv('\t'), nodes.csv('\t'))
	do("json lines", edges.jsonLines(), nodes.jsonLines())
	do("parquet", edges.parquet(t, 6), nodes.parquet(t, 100))
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer mem.AssertSize(t, 0)
	e, done := edges.arrow(t, mem, 7)
	defer done()
	n, done := nodes.arrow(t, mem, 5)
	defer done()
	do("arrow", e, n)
}

// tableGraph draws tables of a graph, or of several.
func tableGraph(r *rand.Rand, ints, many bool) (edges, nodes table) {
	name := func(v int) any {
		if ints {
			return int64(v*v*7 - 40)
		}
		return []string{"ada", "Smith, J.", "", "Ö", "a\"b", "x\ny", "z"}[v%7] + "_" + strconv.Itoa(v)
	}
	edges.names = []string{"from", "to", "amount", "kind", "note", "when", "graph"}
	nodes.names = []string{"name", "role", "age", "city", "zip", "graph"}
	n := 3 + r.IntN(12)
	graphs := 1
	if many {
		graphs = 1 + r.IntN(4)
	}
	of := func(g int) any {
		if ints {
			return int64(g*1000 - 1)
		}
		return []string{"blue", "green", "red", "white"}[g]
	}
	maybe := func(v any) any {
		if r.IntN(5) == 0 {
			return nil
		}
		return v
	}
	for g := range graphs {
		for v := range n {
			nodes.rows = append(nodes.rows, []any{name(v), maybe([]string{"x", "y", "10", "9"}[r.IntN(4)]), maybe(float64(r.IntN(100)) / 8), maybe([]string{"Rome", "Köln"}[r.IntN(2)]), int64(r.IntN(5)), of(g)})
		}
		for range r.IntN(30) {
			edges.rows = append(edges.rows, []any{name(r.IntN(n)), name(r.IntN(n)), maybe(r.NormFloat64()), maybe([]string{"card", "cash"}[r.IntN(2)]), maybe("n" + strconv.Itoa(r.IntN(3))), maybe(int64(r.IntN(3))), of(g)})
		}
	}
	// Types are known of rows that tell them.
	nodes.rows = append(nodes.rows, []any{name(n), "x", 0.5, "Rome", int64(1), of(0)})
	edges.rows = append(edges.rows, []any{name(0), name(1), 0.5, "card", "n1", int64(1), of(0)})
	return edges, nodes
}

func tablesOf(edges, nodes sources.Table, many bool) sources.Tables {
	s := sources.Tables{
		Edges: sources.EdgeTable{Table: edges, Source: "from", Target: "to", Type: "kind", Weight: "amount", Time: "when"},
		Nodes: sources.NodeTable{Table: nodes, ID: "name", Targets: sources.Targets("role"), Types: map[string]sources.ColumnType{"zip": sources.String}},
	}
	if many {
		s.Edges.Graph, s.Nodes.Graph = "graph", "graph"
	} else {
		s.Edges.Ignore, s.Nodes.Ignore = []string{"graph"}, []string{"graph"}
	}
	return s
}

// textOf reads a source, and returns its records as text.
func textOf(t *testing.T, s sources.Tables) string {
	t.Helper()
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer mem.AssertSize(t, 0)
	r, err := s.Open(context.Background(), mem)
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
		defer rec.Release()
		gs, err := record.GraphsOf(rec)
		if err != nil {
			t.Fatal(err)
		}
		for row := range gs.Len() {
			if err := gs.Check(row); err != nil {
				t.Fatal(err)
			}
		}
		recs = append(recs, rec)
	}
	return fmt.Sprint(recs)
}

// TestTablesForms: the same rows in any format, in any order of rows and columns, and at
// any number of workers, give the same records.
func TestTablesForms(t *testing.T) {
	defer leak.VerifyNone(t)
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 1))
		ints, many := seed%2 == 0, seed%4 < 2
		edges, nodes := tableGraph(r, ints, many)
		want := ""
		check := func(what string) {
			forms(t, edges, nodes, func(form string, e, n sources.Table) {
				for _, directed := range []bool{false} {
					s := tablesOf(e, n, many)
					s.Directed = directed
					s.Workers = 1 + int(seed%3)
					if got := textOf(t, s); want == "" {
						want = got
					} else if got != want {
						t.Fatalf("seed %d: other records: %s, %s", seed, form, what)
					}
				}
			})
		}
		check("as drawn")
		shuffleTable(r, &edges)
		shuffleTable(r, &nodes)
		check("shuffled")
	}
}

func shuffleTable(r *rand.Rand, t *table) {
	r.Shuffle(len(t.rows), func(i, j int) { t.rows[i], t.rows[j] = t.rows[j], t.rows[i] })
	order := r.Perm(len(t.names))
	permute := func(x []any) (y []any) {
		for _, i := range order {
			y = append(y, x[i])
		}
		return y
	}
	for i := range t.rows {
		t.rows[i] = permute(t.rows[i])
	}
	var names []string
	for _, i := range order {
		names = append(names, t.names[i])
	}
	t.names = names
}

// TestTablesPlain compares graphs with what maps make of the rows.
func TestTablesPlain(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 2))
		many, directed := seed%2 == 0, seed%4 < 2
		edges, nodes := tableGraph(r, seed%3 == 0, many)
		s := tablesOf(edges.csv(','), nodes.csv(','), many)
		s.Directed, s.Edges.Repeated = directed, []string{}
		set, err := s.Read(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for i, it := range set.Items {
			g, of := it.Graph, ""
			if many {
				if of = strconv.FormatInt(it.ID, 10); set.Names != nil {
					of = set.Names[i]
				}
			}
			word := func(c record.Channel, x int32) string {
				w, _ := c.Word(x)
				return w
			}
			for v := range int32(g.N()) {
				class := ""
				if it.NodeClass[v] >= 0 {
					class = set.Layout.NodeClasses[it.NodeClass[v]]
				}
				got = append(got, fmt.Sprint("node ", of, " ", it.NodeID.Name(v), class, word(set.Layout.NodeCat[0], g.NodeCat[2*v]), word(set.Layout.NodeCat[1], g.NodeCat[2*v+1]), g.NodeAttr[v]))
				for i := g.Offsets[v]; i < g.Offsets[v+1]; i++ {
					got = append(got, fmt.Sprint("edge ", of, " ", it.NodeID.Name(v), "→", it.NodeID.Name(g.Neighbors[i]), word(set.Layout.EdgeCat[0], g.EdgeCat[2*i]), word(set.Layout.EdgeCat[1], g.EdgeCat[2*i+1]), g.EdgeAttr[2*i:2*i+2]))
				}
			}
		}
		text := func(v any) string {
			if v == nil {
				return ""
			}
			return fmt.Sprint(v)
		}
		number := func(v any) float64 {
			if v == nil {
				return math.NaN()
			}
			x, _ := strconv.ParseFloat(fmt.Sprint(v), 64)
			return x
		}
		last := func(x float32) float64 { // a missing number is the last
			if x != x {
				return math.Inf(1)
			}
			return float64(x)
		}
		of := func(row []any) string {
			if !many {
				return ""
			}
			return text(row[len(row)-1])
		}
		var want []string
		for _, n := range nodes.rows {
			want = append(want, fmt.Sprint("node ", of(n), " ", text(n[0]), text(n[1]), text(n[3]), text(n[4]), float32(number(n[2]))))
		}
		type line struct {
			kind, note   string
			amount, when float32
		}
		least := map[[3]string]line{}
		for _, e := range edges.rows {
			x := line{text(e[3]), text(e[4]), float32(number(e[2])), float32(number(e[5]))}
			for _, ends := range [][3]string{{of(e), text(e[0]), text(e[1])}, {of(e), text(e[1]), text(e[0])}} {
				missing := func(s string) string { return cmp.Or(s, "~") } // the last
				y, ok := least[ends]
				if ends[1] != ends[2] && (!ok || cmp.Or(cmp.Compare(missing(x.kind), missing(y.kind)), cmp.Compare(missing(x.note), missing(y.note)), cmp.Compare(last(x.amount), last(y.amount)), cmp.Compare(last(x.when), last(y.when))) < 0) {
					least[ends] = x
				}
				if directed {
					break
				}
			}
		}
		for ends, x := range least {
			want = append(want, fmt.Sprint("edge ", ends[0], " ", ends[1], "→", ends[2], x.kind, x.note, []float32{x.amount, x.when}))
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Fatalf("seed %d:\n%q\nwant\n%q", seed, got, want)
		}
	}
}

// TestTablesBad: bad tables get one line that names file, row and column.
func TestTablesBad(t *testing.T) {
	const nodes = "id,age\na,1\nb,2\n"
	long := "source,target,n\n" + strings.Repeat("1,2,3\n", 1_000_000)
	var words strings.Builder
	words.WriteString("source,target,w\n")
	for i := range 70_000 {
		fmt.Fprintf(&words, "1,2,word%d\n", i)
	}
	for _, c := range []struct{ name, edges, nodes, want string }{
		{"column", "from,target\n", "", `e.csv: there is no column "source"; there are "from", "target"`},
		{"columns", "source,target,source\n1,2,3\n", "", `e.csv: there are several columns "source"`},
		{"empty", "", "", `e.csv: it is empty, want a row with the names of columns`},
		{"no rows", "source,target\n", "", `e.csv: no edge and no node`},
		{"type", long + "1,x,3\n", "", `e.csv:1000002: row 1000001: column "target": "x", want an integer, as the rows before have, or declare the type of the column to be String`},
		{"number", long + "1,2,x\n", "", `e.csv:1000002: row 1000001: column "n": "x", want a finite decimal number, as other rows have; -types n=string reads words, -ignore n leaves the column out; -missing x reads it as missing`},
		{"missing id", "source,target\n1,2\n,3\n", "", `e.csv:3: row 2: column "source": there is no value, want an id`},
		{"large number", "source,target,n\n1,2,1e300\n", "", `e.csv:2: row 1: column "n": 1e+300, want a finite number that fits a float32`},
		{"duplicate", "source,target\na,b\n", nodes + "a,3\n", `n.csv:4: row 3: column "id": "a" is the id of row 1 too`},
		{"unknown", "source,target\na,b\nb,c\n", nodes, `e.csv:3: row 2: column "target": "c" is not in the table of nodes, n.csv: add a row for it there, or remove this row`},
		{"quote", "source,target\na,b\n\"c,d\ne,f\n", "", `e.csv:3: row 2: column "source": the quote that opens the value is never closed`},
		{"long quote", "source,target\na,\"" + strings.Repeat("x,y\n", 800_000), "", `e.csv:2: row 1: column "target": the quote that opens the value is not closed within 1048576 bytes`},
		{"bare quote", "source,target\na,b\"c\n", "", `e.csv:2: row 1: column "target": a quote within a value, want the value in quotes and the quote doubled`},
		{"after quote", "source,target\n\"a\"b,c\n", "", `e.csv:2: row 1: column "source": text behind the quote that closes the value`},
		{"words", words.String(), "", `e.csv:65538: row 65537: column "w": more than 65536 different words up to here; ignore the column`},
		{"utf8", "source,target\na,b\n\xff,c\n", "", `e.csv:3: row 2: column "source": "\xff" is no UTF-8`},
		{"header", "source,t\xffarget\n", "", `e.csv:1: the name "t\xffarget" of a column is no UTF-8`},
		{"ragged", "source,target\na,b\n\nc\n", "", `e.csv:4: row 2: 1 values, want one for each of 2 columns`},
	} {
		s := sources.Tables{Edges: sources.EdgeTable{Table: sources.CSV{Path: "e.csv", Reader: strings.NewReader(c.edges)}}}
		if c.nodes != "" {
			s.Nodes.Table = sources.CSV{Path: "n.csv", Reader: strings.NewReader(c.nodes)}
		}
		_, err := s.Read(context.Background())
		if err == nil || err.Error() != "sources: "+c.want {
			t.Errorf("%s: %v\nwant sources: %s", c.name, err, c.want)
		}
	}
	for _, c := range []struct{ name, edges, want string }{
		{"key", "{\"source\":1,\"target\":2}\n" + strings.Repeat("{\"source\":1,\"target\":2}\n", 20_000) + "{\"source\":1,\"target\":2,\"n\":3}\n", `e.json:20002: row 20002: the key "n" is in none of the first rows`},
		{"twice", `{"source":1,"target":2,"source":3}`, `e.json:1: row 1: column "source": it is there twice`},
		{"json", "{\"source\":1,\"target\":2}\n{\"source\":1 \"target\":2}", `e.json:2: row 2: it is no JSON: invalid character '"' after object value (expecting ',' or '}') at byte 13`},
		{"behind", `{"source":1,"target":2} x`, `e.json:1: row 2: it is no JSON: invalid character 'x' at start of value at byte 25`},
		{"utf8", "{\"source\":1,\"target\":\"\xff\"}", `e.json:1: row 1: it is no JSON: invalid UTF-8 at byte 23`},
		{"quote", "{\"source\":1,\"target\":\"2}", `e.json:1: row 1: it is no JSON: it ends early at byte 25`},
		{"array", `{"source":[1],"target":2}`, `e.json:1: row 1: column "source": "[1]", want integers, floats or strings`},
		{"float", "{\"source\":1,\"target\":2}\n{\"source\":2.0,\"target\":2}", `e.json:2: row 2: column "source": "2.0", a column of floats, want ids: integers or strings`},
	} {
		_, err := sources.Tables{Edges: sources.EdgeTable{Table: sources.JSONLines{Path: "e.json", Reader: strings.NewReader(c.edges)}}}.Read(context.Background())
		if err == nil || err.Error() != "sources: "+c.want {
			t.Errorf("%s: %v\nwant sources: %s", c.name, err, c.want)
		}
	}
}

// TestTablesLateText: where a later id is no integer, all are strings, as if it came first.
func TestTablesLateText(t *testing.T) {
	path := filepath.Join(t.TempDir(), "e.csv")
	if err := os.WriteFile(path, []byte("source,target\n"+strings.Repeat("1,2\n", 100_000)+"2,x\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	late, err := sources.Tables{Edges: sources.EdgeTable{Table: sources.CSV{Path: path}}}.Read(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	ids := late.Items[0].NodeID
	if ids.Kind() != graph.StringIDs || ids.Len() != 3 || ids.Name(2) != "x" || late.Stats.EdgeRows != 100_001 {
		t.Errorf("%v, %d ids, %+v", ids.Kind(), ids.Len(), late.Stats)
	}
	declared := sources.EdgeTable{Table: sources.CSV{Path: path}, Types: map[string]sources.ColumnType{"target": sources.Integer}}
	if _, err := (sources.Tables{Edges: declared}).Read(context.Background()); err == nil || !strings.Contains(err.Error(), `row 100001: column "target": "x", want an integer, as is declared`) {
		t.Error(err)
	}
	edges, names := "1,2,3\n", "graph,source,target\n"
	if err := os.WriteFile(path, []byte(names+strings.Repeat(edges, 100_000)+"m,2,3\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	late, err = sources.Tables{Edges: sources.EdgeTable{Table: sources.CSV{Path: path}, Graph: "graph"}}.Read(context.Background())
	if err != nil || fmt.Sprint(late.Names) != "[1 m]" || late.Layout.NodeIDs != graph.Int64IDs {
		t.Errorf("%v, %v", late, err)
	}
}

// TestTablesValue: numbers to learn of nodes may be missing, and a set of nodes has them.
func TestTablesValue(t *testing.T) {
	csv := func(text string) sources.Table { return sources.CSV{Path: "t.csv", Reader: strings.NewReader(text)} }
	read := func(nodes, part string) (*sources.TableSet, error) {
		return sources.Tables{
			Edges: sources.EdgeTable{Table: csv("source,target\na,b\nb,c\n")},
			Nodes: sources.NodeTable{Table: csv(nodes), Targets: sources.Targets("y"), Numbers: true, Part: part},
		}.Read(context.Background())
	}
	tables, err := read("id,y\nc,1.5\na,\nb,-2\n", "")
	if err != nil {
		t.Fatal(err)
	}
	set, err := tables.NodeSet()
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(set.Targets, set.Class, set.Graph.NodeAttrs, set.IDs.Name(2)); got != "[NaN -2 1.5] [-1 -1 -1] 0c" {
		t.Error(got)
	}
	for nodes, want := range map[string]string{
		"id,y\na,1\nb,x\nc,2\n":                    `t.csv:3: row 2: column "y": "x", want a finite decimal number; -missing x reads it as missing`,
		"id,y,part\na,1,train\nb,2,foo\nc,3,foo\n": `t.csv:3: row 2: column "part": "foo", want train, valid, val, test, or none`,
	} {
		part := ""
		if strings.Contains(nodes, "part") {
			part = "part"
		}
		if _, err := read(nodes, part); err == nil || err.Error() != "sources: "+want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if _, err := new(sources.TableSet).NodeSet(); err == nil {
		t.Error("no graph is a set of nodes")
	}
}

// TestTablesOptions are the settings that the forms do not have.
func TestTablesOptions(t *testing.T) {
	csv := func(text string) sources.Table { return sources.CSV{Path: "t.csv", Reader: strings.NewReader(text)} }
	set, err := sources.Tables{
		Edges: sources.EdgeTable{Table: csv("source,target\n007,8\n8,x\n"), Attributes: []string{}},
		Nodes: sources.NodeTable{Table: csv("id,part,age,job\n007,train,1.5,a\n9,,2,b\nx,,,\n8,,,\n"), Part: "part", Targets: sources.Targets("job")},
	}.Read(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	it := set.Items[0]
	var names []string
	for v := range int32(it.Graph.N()) {
		names = append(names, it.NodeID.Name(v))
	}
	if got := fmt.Sprint(names, it.NodeClass, it.Graph.NodeAttr, set.Parts, it.Graph.Neighbors); got != "[007 8 9 x] [0 -1 1 -1] [1.5 NaN 2 NaN] [train none none none] [1 0 3 1]" {
		t.Fatal(got)
	}
	set, err = sources.Tables{
		Edges:  sources.EdgeTable{Table: csv("g,source,target\nq,1,2\np,5,-7\n"), Graph: "g"},
		Graphs: sources.GraphTable{Table: csv("graph,y\nr,0\np,3\nq,2.5\np,3\n"), Targets: sources.Targets("y"), Numbers: true},
	}.Read(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	var values []float32
	for _, it := range set.Items {
		values = append(values, it.Value)
	}
	if got := fmt.Sprint(set.Names, values, set.Items[0].NodeID.Ints(), set.Items[2].Graph.N()); got != "[p q r] [3 2.5 0] [-7 5] 0" {
		t.Fatal(got)
	}
	for _, c := range set.Columns {
		if strings.Contains(c, `column "y"`) && c != `t.csv: column "y": float, value of a graph` && c != `t.csv: column "y": integer, value of a graph` {
			t.Error(c)
		}
	}
}

// FuzzTables: whatever text a table has, it is an error or graphs that keep the rules.
func FuzzTables(f *testing.F) {
	f.Add("source,target,type,w\na,b,x,1\nb,\"c\",y,2\n", "id,class,g\na,x,1\nb,,1\nc,y,1\n", byte(0))
	f.Add("{\"source\":1,\"target\":2,\"w\":0.5}\n", "{\"id\":1,\"class\":\"x\"}\n{\"id\":2}\n", byte(7))
	f.Add("source,target,g\n1,2,3\n-1,2,4\n", "id,g\n1,3\n2,3\n-1,4\n2,4\n", byte(8))
	f.Fuzz(func(t *testing.T, edges, nodes string, how byte) {
		form := func(text string) sources.Table {
			if how&1 != 0 {
				return sources.JSONLines{Path: "t", Reader: strings.NewReader(text)}
			}
			return sources.CSV{Path: "t", Reader: strings.NewReader(text)}
		}
		s := sources.Tables{Edges: sources.EdgeTable{Table: form(edges)}, Directed: how&2 != 0, Memory: 64 << 20}
		if how&8 != 0 {
			s.Edges.Graph = "g"
		}
		if how&16 == 0 {
			s.Nodes.Table = form(nodes)
			if how&8 != 0 {
				s.Nodes.Graph = "g"
			}
		}
		set, err := s.Read(context.Background())
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Fatalf("%q is not one line", err)
			}
			return
		}
		for _, it := range set.Items {
			if err := it.Graph.Check(); err != nil {
				t.Fatal(err)
			}
			if err := it.NodeID.Check(); err != nil {
				t.Fatal(err)
			}
			if err := set.Layout.Holds(it.Graph, &record.Row{ID: it.ID, Class: it.Class, NodeClass: it.NodeClass, NodeID: it.NodeID}); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// Numbers far from 0 keep their differences: as the same numbers without the offset, in any
// order of rows.
func TestTablesKeepDifferences(t *testing.T) {
	const far = 1.7e9
	read := func(by float64, rows []int, s sources.Tables) (*sources.TableSet, error) {
		dir, edges, nodes := t.TempDir(), "source,target,when,by\n", "id,seen,income\n"
		for _, v := range rows {
			edges += fmt.Sprintf("%d,%d,%.3f,%d\n", v, (v+1)%9, by+float64(v)/8, int64(by)+int64(v))
			nodes += fmt.Sprintf("%d,%d,", v, int64(by)+int64(v))
			if v != 4 {
				nodes += fmt.Sprintf("%.3f", by+5*float64(v))
			}
			nodes += "\n"
		}
		table := func(name, text string) sources.Table {
			path := filepath.Join(dir, name)
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			return sources.CSV{Path: path}
		}
		s.Edges.Table, s.Edges.Time, s.Edges.Weight = table("e.csv", edges), "when", "by"
		s.Nodes.Table, s.Nodes.Targets, s.Nodes.Numbers = table("n.csv", nodes), sources.Targets("income"), true
		return s.Read(context.Background())
	}
	rows := []int{0, 1, 2, 3, 4, 5, 6, 7, 8}
	near, err := read(0, rows, sources.Tables{})
	if err != nil {
		t.Fatal(err)
	}
	show := func(s *sources.TableSet) string {
		g := s.Items[0].Graph
		return fmt.Sprint(g.NodeAttr, g.EdgeAttr, s.Values)
	}
	for range 3 {
		set, err := read(far, rows, sources.Tables{})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := show(set), show(near); got != want {
			t.Errorf("%v: %s, want %s", rows, got, want)
		}
		if l := set.Layout; set.Offset != far || l.NodeAttr[0].Offset != far || l.EdgeAttr[0].Offset != far || l.EdgeAttr[1].Offset != far {
			t.Errorf("offsets %v, %+v", set.Offset, l)
		}
		if text := fmt.Sprint(set.Columns); strings.Count(text, ", offset 1700000000") != 4 {
			t.Error(text)
		}
		rand.New(rand.NewPCG(1, 1)).Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	}
	// Offsets that are set hold for other numbers.
	offsets := map[string]float64{"seen": far - 1, "income": far - 1}
	set, err := read(far, rows, sources.Tables{Edges: sources.EdgeTable{Offsets: map[string]float64{}}, Nodes: sources.NodeTable{Offsets: offsets}})
	if err != nil || set.Items[0].Graph.NodeAttr[1] != 2 || set.Values[1] != 6 || set.Items[0].Graph.EdgeAttr[0] != far {
		t.Errorf("%v, %v", set, err)
	}
	// A table that cannot be read twice.
	_, err = sources.Tables{Edges: sources.EdgeTable{Table: sources.CSV{Path: "e.csv", Reader: strings.NewReader("source,target,t\n1,2,1700000001\n2,3,1700000003\n")}}}.Read(context.Background())
	if err == nil || !strings.Contains(err.Error(), `e.csv: column "t": numbers from 1.700000001e+09 to 1.700000003e+09`) {
		t.Error(err)
	}
}
