package sinks_test

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/flowtest"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/internal/leak"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sinks/parquet"
	"github.com/sanflow/sanflow/sinks/scores"
	"github.com/sanflow/sanflow/sources"
	in "github.com/sanflow/sanflow/sources/parquet"
)

// said is an answer: that of a model for a person, or what DuckDB reads of it.
type said struct {
	ID    string  `json:"id"`
	Class string  `json:"class"`
	Fraud float32 `json:"p_fraud"`
}

// outcome returns the text of the fields of all nodes, a model that learned from them, and
// its answers, which are also written as Parquet.
func outcome(t *testing.T, src sources.Tables, path string) (fields string, model []byte, answers []said) {
	t.Helper()
	mem := flowtest.Mem(t)
	set, err := src.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	classes := set.Layout.NodeClasses
	var out sinks.Collect
	err = flow.From(src).Via(operators.Select{}).Via(operators.Chunk{Size: 64}).Via(operators.Assemble{K: 4}).
		Via(operators.Normalize{Edges: true}).Via(operators.PerRoot{}).To(&out).With(flow.Options{Allocator: mem}).Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer out.Release()
	fields = fmt.Sprint(out.Records())
	rows := flow.From(sources.Records{Records: out.Records()}).Via(operators.Batch{Size: 32}).With(flow.Options{Allocator: mem})
	net := &nn.PSLR{}
	var b bytes.Buffer
	err = errors.Join(rows.To(sinks.Train{Net: net}).Run(t.Context()), net.Save(&b), rows.Via(scores.Rows{
		Net: net, Columns: scores.Columns{IDs: graph.StringIDs, Classes: classes},
		ID: func(p sinks.Prediction) []string {
			answers = append(answers, said{p.ID.String(), classes[p.Class], p.Probs[0]})
			return []string{p.ID.String()}
		},
		Bare: true,
	}).To(parquet.Sink{Path: path}).Run(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	return fields, b.Bytes(), answers
}

// TestPeersDatabase: what a file of DuckDB has gives the fields and the model of the same
// rows in CSV, and the database joins the answers with its tables.
func TestPeersDatabase(t *testing.T) {
	peers(t)
	defer leak.VerifyNone(t)
	dir := t.TempDir()
	r := rand.New(rand.NewPCG(1, 2))
	const n = 200
	people, payments := [][]string{{"name", "role", "job", "age"}}, [][]string{{"payer", "payee", "kind", "amount"}}
	name := func(v int) string {
		return []string{"ada", "Smith, J.", "Ö", `a"b`, "x y"}[v%5] + "_" + strconv.Itoa(v)
	}
	for v := range n {
		people = append(people, []string{name(v), []string{"fraud", "honest"}[min(v%4, 1)], []string{"baker", "clerk", ""}[r.IntN(3)], strconv.Itoa(20 + r.IntN(50))})
	}
	for range 5 * n {
		v := r.IntN(n)
		payments = append(payments, []string{name(v), name((v + 1 + r.IntN(n-1)) % n), []string{"card", "cash", "wire"}[r.IntN(3)], strconv.FormatFloat(r.ExpFloat64()*40, 'g', -1, 64)})
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	for name, rows := range map[string][][]string{"people": people, "payments": payments} {
		var b bytes.Buffer
		if err := errors.Join(csv.NewWriter(&b).WriteAll(rows), os.WriteFile(at(name+".csv"), b.Bytes(), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	tables := func(payments, people sources.Table) sources.Tables {
		return sources.Tables{
			Edges: sources.EdgeTable{Table: payments, Source: "payer", Target: "payee", Type: "kind", Weight: "amount"},
			Nodes: sources.NodeTable{Table: people, ID: "name", Targets: sources.Targets("role")},
		}
	}
	fields, model, answers := outcome(t, tables(sources.CSV{Path: at("payments.csv")}, sources.CSV{Path: at("people.csv")}), at("csv.parquet"))

	// One process makes the database, the next opens its file.
	file := at("people.duckdb")
	peer(t, "duckdb", "database", file,
		"CREATE TABLE people (name VARCHAR, role VARCHAR, job VARCHAR, age BIGINT)",
		"CREATE TABLE payments (payer VARCHAR, payee VARCHAR, kind VARCHAR, amount DOUBLE)",
		fmt.Sprintf("COPY people FROM '%s' (HEADER)", at("people.csv")),
		fmt.Sprintf("COPY payments FROM '%s' (HEADER)", at("payments.csv")))
	peer(t, "duckdb", "database", file,
		fmt.Sprintf("COPY (SELECT * FROM people) TO '%s' (FORMAT parquet)", at("people.parquet")),
		fmt.Sprintf("COPY (SELECT amount, payee, payer, kind FROM payments ORDER BY amount) TO '%s' (FORMAT parquet, COMPRESSION zstd)", at("payments.parquet")))
	gotFields, gotModel, again := outcome(t, tables(in.Table{Path: at("payments.parquet")}, in.Table{Path: at("people.parquet")}), at("scores.parquet"))
	if gotFields != fields {
		t.Error("the fields are not those of CSV")
	}
	if !bytes.Equal(gotModel, model) {
		t.Error("the model is not that of CSV")
	}
	if !slices.Equal(again, answers) || len(answers) != n {
		t.Errorf("%d other answers than the %d of CSV", len(again), len(answers))
	}

	var joined []said
	text := peer(t, "duckdb", "database", file, fmt.Sprintf(
		"SELECT s.id, s.class, s.p_fraud FROM people JOIN '%s' s ON s.id = people.name", at("scores.parquet")))
	if err := json.Unmarshal(text, &joined); err != nil {
		t.Fatal(err)
	}
	for _, list := range [][]said{joined, answers} {
		slices.SortFunc(list, func(a, b said) int { return cmp.Compare(a.ID, b.ID) })
	}
	if !slices.Equal(joined, answers) {
		t.Errorf("DuckDB reads %v, want %v", joined[:min(3, len(joined))], answers[:3])
	}
}
