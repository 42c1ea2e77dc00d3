package scores_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/internal/leak"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/nn/trees"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/count"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sinks/choose"
	"github.com/sanflow/sanflow/sinks/parquet"
	"github.com/sanflow/sanflow/sinks/scores"
	"github.com/sanflow/sanflow/sources"
	in "github.com/sanflow/sanflow/sources/parquet"
)

func TestMain(m *testing.M) { leak.VerifyTestMain(m) }

// file writes some answers.
func file(t *testing.T, c scores.Columns, to flow.Sink, write func(w *scores.Writer) error) error {
	t.Helper()
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer mem.AssertSize(t, 0)
	w, err := c.Open(to, mem)
	if err != nil {
		return err
	}
	return w.Close(write(w))
}

// TestFormats are the bytes of each kind of answers.
func TestFormats(t *testing.T) {
	names := scores.Columns{IDs: graph.StringIDs, Classes: []string{"a,b", "c"}}
	class := func(w *scores.Writer) error {
		return errors.Join(w.Write(sinks.Prediction{Class: 1, Probs: []float32{0.25, 0.75}}, `Ann "A"`),
			w.Write(sinks.Prediction{Class: 0, Probs: []float32{1, 1e-9}}, "Ö"))
	}
	value := func(w *scores.Writer) error {
		return errors.Join(w.Write(sinks.Prediction{Value: 0.1}, "9223372036854775807"), w.Write(sinks.Prediction{Value: float32(math.Inf(1))}, "-1"))
	}
	link := func(w *scores.Writer) error {
		return w.Write(sinks.Prediction{Class: 1, Probs: []float32{0.25, 0.75}}, "3", "4")
	}
	for _, c := range []struct {
		columns   scores.Columns
		write     func(w *scores.Writer) error
		csv, json string
	}{
		{names, class, "id,class,\"p_a,b\",p_c\n\"Ann \"\"A\"\"\",c,0.25,0.75\nÖ,\"a,b\",1,1e-09\n",
			`{"id":"Ann \"A\"","class":"c","p_a,b":0.25,"p_c":0.75}` + "\n" + `{"id":"Ö","class":"a,b","p_a,b":1,"p_c":1e-09}` + "\n"},
		{scores.Columns{}, value, "id,value\n9223372036854775807,0.1\n-1,+Inf\n", `{"id":9223372036854775807,"value":0.1}` + "\n" + `{"id":-1,"value":null}` + "\n"},
		{scores.Columns{Offset: 1.7e9}, func(w *scores.Writer) error { return w.Write(sinks.Prediction{Value: 0.5}, "1") },
			"id,value\n1,1.7000000005e+09\n", `{"id":1,"value":1.7000000005e+09}` + "\n"},
		{scores.Columns{Links: true, Classes: []string{"no", "yes"}}, link, "source,target,p\n3,4,0.75\n", `{"source":3,"target":4,"p":0.75}` + "\n"},
	} {
		var b bytes.Buffer
		if err := file(t, c.columns, scores.Text{W: &b}, c.write); err != nil || b.String() != c.csv {
			t.Errorf("%v: %q, want %q", err, b.String(), c.csv)
		}
		b.Reset()
		if err := file(t, c.columns, scores.Text{JSON: true, W: &b}, c.write); err != nil || b.String() != c.json {
			t.Errorf("%v: %q, want %q", err, b.String(), c.json)
		}
		path := filepath.Join(t.TempDir(), "scores.parquet")
		if err := file(t, c.columns, parquet.Sink{Path: path}, c.write); err != nil {
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
		err := file(t, c.columns, scores.Text{Path: path}, func(w *scores.Writer) error { return w.Write(c.p, c.ids...) })
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
	if err := file(t, c, scores.Text{W: &want}, func(w *scores.Writer) error {
		return recipe.Onto(flow.From(train)).To(sinks.Predict{Net: net, Each: func(p sinks.Prediction) error {
			return w.Write(p, string(graph.IDs{}.Append(nil, int32(p.Graph))))
		}}).Run(ctx)
	}); err != nil {
		t.Fatal(err)
	}
	if err := recipe.Onto(flow.From(train)).To(scores.Sink{Net: net, Columns: c, To: scores.Text{W: &got}}).Run(ctx); err != nil {
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
			s := scores.Sink{Net: net, Columns: scores.Columns{IDs: graph.StringIDs, Classes: set.Classes}, ID: scores.RootID, To: scores.Text{W: &b}}
			if err := rows(system.Recipe).Via(operators.Batch{Size: 7}).To(s).Run(ctx); err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(b.String(), "\n")
			if len(lines) != 32 || !strings.HasPrefix(lines[1], want+",") {
				t.Errorf("%s: %d lines, the first is %s, want %s", system.Name, len(lines), lines[1], want)
			}
			s.ID = func(p sinks.Prediction) []string { return []string{p.ID.String()} }
			err = rows(system.Recipe).To(s).Run(ctx)
			if refused := err != nil && strings.Contains(err.Error(), "the id is empty"); refused != (kind == graph.NoIDs) {
				t.Errorf("%s: ids of kind %q: %v", system.Name, kind, err)
			}
		}
	}
}
