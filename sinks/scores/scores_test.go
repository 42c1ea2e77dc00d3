package scores_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/flowtest"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/internal/leak"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/nn/trees"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/count"
	"github.com/sanflow/sanflow/operators/labeling"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sinks/choose"
	"github.com/sanflow/sanflow/sinks/parquet"
	"github.com/sanflow/sanflow/sinks/scores"
	"github.com/sanflow/sanflow/sources"
	in "github.com/sanflow/sanflow/sources/parquet"
)

func TestMain(m *testing.M) { leak.VerifyTestMain(m) }

// writer writes an answer.
type writer func(p sinks.Prediction, ids ...string) error

// file writes some answers.
func file(t *testing.T, c scores.Columns, to flow.Sink, say func(write writer) error) error {
	t.Helper()
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer mem.AssertSize(t, 0)
	return c.Write(to, mem, func(write func(p sinks.Prediction, ids ...string) error) error { return say(write) })
}

// TestFormats are the bytes of each kind of answers.
func TestFormats(t *testing.T) {
	names := scores.Columns{IDs: graph.StringIDs, Classes: []string{"a,b", "c"}}
	class := func(write writer) error {
		return errors.Join(write(sinks.Prediction{Class: 1, Probs: []float32{0.25, 0.75}}, `Ann "A"`),
			write(sinks.Prediction{Class: 0, Probs: []float32{1, 1e-9}}, "Ö"))
	}
	value := func(write writer) error {
		return errors.Join(write(sinks.Prediction{Value: 0.1}, "9223372036854775807"), write(sinks.Prediction{Value: float32(math.Inf(1))}, "-1"))
	}
	link := func(write writer) error {
		return write(sinks.Prediction{Class: 1, Probs: []float32{0.25, 0.75}}, "3", "4")
	}
	for _, c := range []struct {
		columns   scores.Columns
		say       func(write writer) error
		csv, json string
	}{
		{names, class, "id,class,\"p_a,b\",p_c\n\"Ann \"\"A\"\"\",c,0.25,0.75\nÖ,\"a,b\",1,1e-09\n",
			`{"id":"Ann \"A\"","class":"c","p_a,b":0.25,"p_c":0.75}` + "\n" + `{"id":"Ö","class":"a,b","p_a,b":1,"p_c":1e-09}` + "\n"},
		{scores.Columns{}, value, "id,value\n9223372036854775807,0.1\n-1,+Inf\n", `{"id":9223372036854775807,"value":0.1}` + "\n" + `{"id":-1,"value":null}` + "\n"},
		{scores.Columns{Offset: 1.7e9}, func(write writer) error { return write(sinks.Prediction{Value: 0.5}, "1") },
			"id,value\n1,1.7000000005e+09\n", `{"id":1,"value":1.7000000005e+09}` + "\n"},
		{scores.Columns{Links: true, Classes: []string{"no", "yes"}}, link, "source,target,p\n3,4,0.75\n", `{"source":3,"target":4,"p":0.75}` + "\n"},
	} {
		var b bytes.Buffer
		if err := file(t, c.columns, scores.Text{W: &b}, c.say); err != nil || b.String() != c.csv {
			t.Errorf("%v: %q, want %q", err, b.String(), c.csv)
		}
		b.Reset()
		if err := file(t, c.columns, scores.Text{JSON: true, W: &b}, c.say); err != nil || b.String() != c.json {
			t.Errorf("%v: %q, want %q", err, b.String(), c.json)
		}
		path := filepath.Join(t.TempDir(), "scores.parquet")
		if err := file(t, c.columns, parquet.Sink{Path: path}, c.say); err != nil {
			t.Fatal(err)
		}
		if got := table(t, path); got != c.csv {
			t.Errorf("Parquet has %q, want %q", got, c.csv)
		}
	}
}

// table reads a Parquet table as CSV.
func table(t *testing.T, path string) string {
	t.Helper()
	r, err := in.Table{Path: path}.OpenTable(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var b strings.Builder
	w := csv.NewWriter(&b)
	var names []string
	var all []int
	for i, c := range r.Columns() {
		names, all = append(names, c.Name), append(all, i)
	}
	r.Choose(all)
	batch, err := r.Next()
	if err != nil {
		t.Fatal(err)
	}
	w.Write(names)
	for i := range batch.Rows {
		var row []string
		for _, v := range batch.Values {
			switch {
			case v.Spans != nil:
				row = append(row, string(v.Text[v.Spans[i].From:v.Spans[i].To]))
			case v.Integers != nil:
				row = append(row, string(graph.IDsOf(v.Integers).Append(nil, int32(i))))
			default:
				bits := 64
				if x := v.Floats[i]; float64(float32(x)) == x {
					bits = 32
				}
				row = append(row, strconv.FormatFloat(v.Floats[i], 'g', -1, bits))
			}
		}
		w.Write(row)
	}
	w.Flush()
	return b.String()
}

// TestErrors: wrong columns and answers are errors, and no file appears.
func TestErrors(t *testing.T) {
	path := filepath.Join(t.TempDir(), "scores.csv")
	for _, c := range []struct {
		columns scores.Columns
		p       sinks.Prediction
		ids     []string
		want    string
	}{
		{scores.Columns{}, sinks.Prediction{}, []string{"x"}, `the id "x" is no integer`},
		{scores.Columns{IDs: graph.StringIDs}, sinks.Prediction{}, []string{""}, `row 1: column "id": the id is empty`},
		{scores.Columns{}, sinks.Prediction{}, []string{""}, `row 1: column "id": the id is empty`},
		{scores.Columns{}, sinks.Prediction{}, []string{"1", "2"}, "2 ids and 0 probabilities, want 1 and 0"},
		{scores.Columns{Links: true}, sinks.Prediction{}, nil, "want two"},
		{scores.Columns{Classes: []string{"a"}}, sinks.Prediction{}, []string{"1"}, "1 ids and 0 probabilities, want 1 and 1"},
	} {
		err := file(t, c.columns, scores.Text{Path: path}, func(write writer) error { return write(c.p, c.ids...) })
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Error("there is a file:", err)
	}
}

// TestSink: the sink says what Predict says.
func TestSink(t *testing.T) {
	ctx := context.Background()
	train := sources.Families{Graphs: 60}
	schema, err := flow.From(train).Schema(ctx)
	if err != nil {
		t.Fatal(err)
	}
	layout, err := record.LayoutOf(schema)
	if err != nil {
		t.Fatal(err)
	}
	recipe := operators.Recipe{operators.Expect{Layout: layout}, operators.Count{Of: count.Standard(), DropGraph: true}}
	net := nn.Best()
	if _, err := (sinks.Fit{Net: net, Epochs: 2}).Run(ctx, recipe.Onto(flow.From(train))); err != nil {
		t.Fatal(err)
	}
	var want, got bytes.Buffer
	c := scores.Columns{Classes: layout.Classes}
	if err := file(t, c, scores.Text{W: &want}, func(write writer) error {
		return recipe.Onto(flow.From(train)).To(sinks.Predict{Net: net, Each: func(p sinks.Prediction) error {
			return write(p, string(graph.IDs{}.Append(nil, int32(p.Graph))))
		}}).Run(ctx)
	}); err != nil {
		t.Fatal(err)
	}
	if err := recipe.Onto(flow.From(train)).Via(scores.Rows{Net: net, Columns: c, Bare: true}).To(scores.Text{W: &got}).Run(ctx); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want.Bytes()) || got.Len() == 0 {
		t.Fatalf("%s\nwant\n%s", &got, &want)
	}
}

// TestRootID: the rows of nodes have the ids of a table, with every kind of recipe, and the
// numbers of nodes where there are no ids.
func TestRootID(t *testing.T) {
	ctx := context.Background()
	var edges strings.Builder
	for i := range 30 {
		edges.WriteString("P-" + strconv.Itoa(100+i) + ",P-" + strconv.Itoa(100+(i+1)%30) + "\n")
	}
	tables, err := sources.Tables{Edges: sources.EdgeTable{Table: sources.CSV{Path: "e.csv", Reader: strings.NewReader("source,target\n" + edges.String())}}}.Read(ctx)
	if err != nil {
		t.Fatal(err)
	}
	set, err := tables.NodeSet()
	if err != nil {
		t.Fatal(err)
	}
	if err := set.Identify(); err != nil {
		t.Fatal(err)
	}
	set.Classes = []string{"a", "b"}
	for v := range set.Class {
		set.Class[v] = int32(v % 2)
	}
	for _, kind := range []graph.IDKind{graph.StringIDs, graph.NoIDs} {
		want := "P-100"
		if kind == graph.NoIDs {
			set.IDs, want = graph.IDs{}, "0"
		}
		for _, system := range choose.Nodes(set, 30) {
			if system.New == nil || strings.HasPrefix(system.Name, "stacked") { // the ensemble, whose models are those of others, and what reads others' answers
				continue
			}
			rows := choose.NodeRows(set, set.All())
			net := system.New(1, 1)
			var err error
			if m, ok := net.(*trees.Model); ok {
				_, err = sinks.FitTrees(ctx, m, rows(system.Recipe), nil)
			} else {
				_, err = sinks.Fit{Net: net.(nn.Model), Epochs: 1}.Run(ctx, rows(system.Recipe))
			}
			if err != nil {
				t.Fatal(err)
			}
			var b bytes.Buffer
			s := scores.Rows{Net: net, Columns: scores.Columns{IDs: graph.StringIDs, Classes: set.Classes}, ID: scores.RootID, Bare: true}
			if err := rows(system.Recipe).Via(operators.Batch{Size: 7}).Via(s).To(scores.Text{W: &b}).Run(ctx); err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(b.String(), "\n")
			if len(lines) != 32 || !strings.HasPrefix(lines[1], want+",") {
				t.Errorf("%s: %d lines, the first is %s, want %s", system.Name, len(lines), lines[1], want)
			}
			s.ID = func(p sinks.Prediction) []string { return []string{p.ID.String()} }
			err = rows(system.Recipe).Via(s).To(scores.Text{W: &b}).Run(ctx)
			if refused := err != nil && strings.Contains(err.Error(), "the id is empty"); refused != (kind == graph.NoIDs) {
				t.Errorf("%s: ids of kind %q: %v", system.Name, kind, err)
			}
		}
	}
}

// TestRows: the rows say what Predict tells of the same fields, of graphs and of single roots, with the
// names of the classes, or their numbers where the stream has no names.
func TestRows(t *testing.T) {
	for _, per := range []bool{false, true} {
		mem := flowtest.Mem(t)
		fields := flow.From(sources.Families{Graphs: 60}).
			Via(operators.Channel{By: labeling.NormalizedDegree}).
			Via(operators.Select{W: 4}).
			Via(operators.Assemble{K: 4}).
			Via(operators.Normalize{})
		if per {
			fields = fields.Via(operators.PerRoot{})
		}
		fields = fields.Via(operators.Batch{Size: 7}).With(flow.Options{Allocator: mem})
		net := &nn.CNN{}
		if err := fields.To(sinks.Train{Net: net}).Run(context.Background()); err != nil {
			t.Fatal(err)
		}
		id := func(p sinks.Prediction) []string { return []string{fmt.Sprintf("%d/%d", p.Graph, p.Root)} }
		var want []string
		err := fields.To(sinks.Predict{Net: net, Each: func(p sinks.Prediction) error {
			want = append(want, fmt.Sprint(id(p), sources.FamilyNames[p.Class], p.Probs, p.Pos))
			return nil
		}}).Run(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		schema, err := fields.Schema(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		nameless, err := scores.Rows{Net: net}.Open(record.Without(schema, record.Target))
		if err != nil || !nameless.Schema().HasField("p_0") || !nameless.Schema().HasField("p_5") {
			t.Errorf("%v, %v", nameless, err)
		}
		var got sinks.Collect
		if err := fields.Via(scores.Rows{Net: net, Columns: scores.Columns{IDs: graph.StringIDs}, ID: id}).To(&got).Run(context.Background()); err != nil {
			t.Fatal(err)
		}
		defer got.Release()
		row := 0
		for _, rec := range got.Records() {
			pos, _ := record.Values[int64](rec, record.Pos)
			ids, classes := rec.Column(0).(*array.String), rec.Column(1).(*array.String)
			if names := rec.Schema().Fields()[2:8]; names[0].Name != "p_"+sources.FamilyNames[0] || len(pos) != ids.Len() {
				t.Fatal(rec.Schema())
			}
			for i := range ids.Len() {
				var probs []float32
				for c := range sources.FamilyNames {
					probs = append(probs, rec.Column(2+c).(*array.Float32).Value(i))
				}
				if have := fmt.Sprint([]string{ids.Value(i)}, classes.Value(i), probs, pos[i]); have != want[row] {
					t.Fatalf("row %d: %s, want %s", row, have, want[row])
				}
				row++
			}
		}
		if row != len(want) || row < 60 {
			t.Errorf("%d rows, want %d", row, len(want))
		}
	}
}

// TestRefused: a row without an answer is a letter, of the sink and of the operator, also if it is all of a
// record; the other rows are written, and all of the source is complete.
func TestRefused(t *testing.T) {
	stream := func(bad bool) (s sources.Records) {
		b := record.NewBuilder(memory.DefaultAllocator, record.Layout{NodeAttr: []record.Channel{{Name: "x"}}, Classes: []string{"a", "b"}})
		for id := range int64(20) {
			g, err := graph.New(2, false, []graph.Edge{{U: 0, V: 1}})
			if err != nil {
				t.Fatal(err)
			}
			g.NodeAttrs, g.NodeAttr = 1, []float32{float32(id%2) - 0.5, 0.1}
			if bad && id%5 == 3 {
				g.NodeAttr[1] = float32(math.NaN())
			}
			if err := b.Append(g, record.Row{ID: id, Pos: id, Class: int32(id % 2)}); err != nil {
				t.Fatal(err)
			}
			rec := b.Record()
			t.Cleanup(rec.Release)
			s.Records = append(s.Records, rec)
		}
		return s
	}
	recipe := operators.Recipe{operators.Select{W: 2}, operators.Assemble{K: 2}, operators.Normalize{}}
	net := &nn.PSLR{}
	if err := recipe.Onto(flow.From(stream(false))).Via(operators.Batch{Size: 20}).To(sinks.Train{Net: net}).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	c := scores.Columns{Classes: []string{"a", "b"}}
	for _, size := range []int{1, 4, 20} {
		fields := recipe.Onto(flow.From(stream(true))).Via(operators.Batch{Size: size})
		var text, parts bytes.Buffer
		var of sinks.Collect
		for _, p := range []flow.Pipeline{
			fields.Via(scores.Rows{Net: net, Columns: c, Bare: true}).To(scores.Text{W: &text}),
			fields.Via(scores.Rows{Net: net, Columns: c, Bare: true}).To(parquet.Sink{W: &parts}),
			fields.Via(scores.Rows{Net: net}).To(&of),
		} {
			var letters []int64
			err := p.With(flow.Options{Allocator: flowtest.Mem(t), Refused: flow.Keep, DeadLetters: func(l flow.Letter) error {
				letters = append(letters, l.Graph)
				return nil
			}}).Run(t.Context())
			if want := "[3 8 13 18]"; err != nil || fmt.Sprint(letters) != want {
				t.Errorf("records of %d: the letters %v, want %s; %v", size, letters, want, err)
			}
		}
		if n := strings.Count(text.String(), "\n"); n != 17 || of.Rows() != 16 || parts.Len() == 0 {
			t.Errorf("records of %d: %d lines, %d rows", size, n, of.Rows())
		}
		of.Release()
	}
}
