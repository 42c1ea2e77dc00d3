package flightsql_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/flight"
	client "github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql/example"
	"github.com/apache/arrow-go/v18/arrow/memory"
	props "github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/flowtest"
	"github.com/sanflow/sanflow/flow/record/arrow18"
	"github.com/sanflow/sanflow/internal/leak"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/parquet"
)

// people and payments are the rows of the tables, as text. Ids are strings.
func rows() (people, payments [][]string) {
	r := rand.New(rand.NewPCG(1, 2))
	name := func(v int) string {
		return []string{"ada", "Smith, J.", "Ö", `a"b`, "x y"}[v%5] + "_" + strconv.Itoa(v)
	}
	const n = 200
	for v := range n {
		people = append(people, []string{name(v), []string{"fraud", "honest"}[min(v%4, 1)], []string{"baker", "clerk", ""}[r.IntN(3)], strconv.Itoa(20 + r.IntN(50))})
	}
	for range 5 * n {
		v := r.IntN(n)
		payments = append(payments, []string{name(v), name((v + 1 + r.IntN(n-1)) % n), []string{"card", "cash", "wire"}[r.IntN(3)], strconv.FormatFloat(r.ExpFloat64()*40, 'g', -1, 64)})
	}
	return people, payments
}

var peopleColumns, paymentColumns = []string{"name", "role", "job", "age"}, []string{"payer", "payee", "kind", "amount"}

// fill makes the two tables.
func fill(db *sql.DB) error {
	tx, err := db.Begin()
	if err != nil {
		return err
	}
	defer tx.Rollback() // nothing, once committed
	_, err = tx.Exec(`CREATE TABLE people (name TEXT, role TEXT, job TEXT, age INTEGER);
		CREATE TABLE payments (payer TEXT, payee TEXT, kind TEXT, amount DOUBLE)`)
	if err != nil {
		return err
	}
	people, payments := rows()
	for _, p := range people {
		if _, err := tx.Exec("INSERT INTO people VALUES (?, ?, nullif(?, ''), ?)", p[0], p[1], p[2], p[3]); err != nil {
			return err
		}
	}
	for _, p := range payments {
		amount, err := strconv.ParseFloat(p[3], 64)
		if err != nil {
			return err
		}
		if _, err := tx.Exec("INSERT INTO payments VALUES (?, ?, ?, ?)", p[0], p[1], p[2], amount); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// serve starts a Flight SQL server for a database in dir, and returns its address. The
// caller stops it.
func serve(dir string, mem memory.Allocator) (address string, stop func() error, err error) {
	db, err := sql.Open("sqlite", filepath.Join(dir, "people.sqlite"))
	if err != nil {
		return "", nil, err
	}
	if err := fill(db); err != nil {
		return "", nil, errors.Join(err, db.Close())
	}
	service, err := example.NewSQLiteFlightSQLServer(db)
	if err != nil {
		return "", nil, errors.Join(err, db.Close())
	}
	service.Alloc = mem
	server := flight.NewServerWithMiddleware(nil)
	server.RegisterFlightService(client.NewFlightServer(service))
	if err := server.Init("localhost:0"); err != nil {
		return "", nil, errors.Join(err, db.Close())
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve() }()
	return server.Addr().String(), func() error {
		server.Shutdown()
		return errors.Join(<-ended, db.Close())
	}, nil
}

// connected returns a client of a server. Both end with the test, without goroutines or
// memory of the client.
func connected(t *testing.T, mem, served memory.Allocator) *client.Client {
	t.Helper()
	address, stop, err := serve(t.TempDir(), served)
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.NewClient(address, nil, nil, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	c.Alloc = mem
	t.Cleanup(func() {
		if err := errors.Join(c.Close(), stop()); err != nil {
			t.Error(err)
		}
		leak.VerifyNone(t)
	})
	return c
}

// checked is an allocator that has nothing left at the end of the test.
func checked(t *testing.T) memory.Allocator {
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	t.Cleanup(func() { mem.AssertSize(t, 0) })
	return mem
}

// query asks a Flight SQL server, and returns the rows of the answer as a table.
func query(ctx context.Context, c *client.Client, text string) (sources.RecordTable, error) {
	info, err := c.Execute(ctx, text)
	if err != nil {
		return sources.RecordTable{}, err
	}
	answer, err := c.DoGet(ctx, info.Endpoint[0].Ticket)
	if err != nil {
		return sources.RecordTable{}, err
	}
	defer answer.Release()
	reader, err := arrow18.Rows(answer)
	return sources.RecordTable{Reader: reader, Title: text}, err
}

func tables(payments, people sources.Table) sources.Tables {
	return sources.Tables{
		Edges: sources.EdgeTable{Table: payments, Source: "payer", Target: "payee", Type: "kind", Weight: "amount"},
		Nodes: sources.NodeTable{Table: people, ID: "name", Targets: sources.Targets("role")},
	}
}

// outcome returns the text of the fields of all nodes, and the bytes of a model that
// learned from them.
func outcome(t *testing.T, src sources.Tables) (fields string, model []byte) {
	t.Helper()
	mem := flowtest.Mem(t)
	var out sinks.Collect
	p := flow.From(src).Via(operators.Select{}).Via(operators.Chunk{Size: 64}).Via(operators.Assemble{K: 4}).
		Via(operators.Normalize{Edges: true}).Via(operators.PerRoot{})
	if err := p.To(&out).With(flow.Options{Allocator: mem}).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer out.Release()
	fields = fmt.Sprint(out.Records())
	net := &nn.PSLR{}
	if err := flow.From(sources.Records{Records: out.Records()}).Via(operators.Batch{Size: 32}).To(sinks.Train{Net: net}).
		With(flow.Options{Allocator: mem}).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := net.Save(&b); err != nil {
		t.Fatal(err)
	}
	return fields, b.Bytes()
}

func csvTable(t *testing.T, name string, columns []string, rows [][]string) sources.Table {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	if err := errors.Join(w.Write(columns), w.WriteAll(rows)); err != nil {
		t.Fatal(err)
	}
	return sources.CSV{Path: name + ".csv", Reader: &b}
}

func jsonTable(t *testing.T, name string, columns []string, rows [][]string) sources.Table {
	var b bytes.Buffer
	for _, row := range rows {
		object := map[string]any{}
		for c, value := range row {
			object[columns[c]] = value
			if columns[c] == "age" || columns[c] == "amount" {
				object[columns[c]] = json.Number(value)
			} else if value == "" {
				object[columns[c]] = nil
			}
		}
		if err := json.NewEncoder(&b).Encode(object); err != nil {
			t.Fatal(err)
		}
	}
	return sources.JSONLines{Path: name + ".jsonl", Reader: &b}
}

// TestSameRows: the answers of the server, and the same rows in files, give the same
// fields and the same model.
func TestSameRows(t *testing.T) {
	mem := checked(t)
	c := connected(t, mem, mem)
	people, payments := rows()
	wantFields, wantModel := outcome(t, tables(csvTable(t, "payments", paymentColumns, payments), csvTable(t, "people", peopleColumns, people)))
	check := func(name string, payments, people sources.Table) {
		t.Helper()
		fields, model := outcome(t, tables(payments, people))
		if fields != wantFields {
			t.Errorf("%s: the fields are not those of CSV", name)
		}
		if !bytes.Equal(model, wantModel) {
			t.Errorf("%s: the model is not that of CSV", name)
		}
	}
	check("JSON lines", jsonTable(t, "payments", paymentColumns, payments), jsonTable(t, "people", peopleColumns, people))

	ask := func(text string) sources.RecordTable {
		t.Helper()
		table, err := query(t.Context(), c, text)
		if err != nil {
			t.Fatal(err)
		}
		return table
	}
	for _, order := range []string{"", " ORDER BY amount"} {
		e, n := ask("SELECT * FROM payments"+order), ask("SELECT age, name, role, job FROM people")
		check("Flight SQL"+order, e, n)
		e.Reader.Release()
		n.Reader.Release()
	}
	e, n := ask("SELECT * FROM payments WHERE amount < 60"), ask("SELECT * FROM people")
	if fields, model := outcome(t, tables(e, n)); fields == wantFields || bytes.Equal(model, wantModel) {
		t.Error("fewer payments give the same fields, or the same model")
	}
	e.Reader.Release()
	n.Reader.Release()

	// What the server answers, as Parquet of arrow-go.
	file := func(name string) sources.Table {
		table := filepath.Join(t.TempDir(), name+".parquet")
		export(t, c, "SELECT * FROM "+name, table)
		return parquet.Table{Path: table}
	}
	check("Parquet", file("payments"), file("people"))
}

// export writes the answer of a query as Parquet.
func export(t *testing.T, c *client.Client, query, path string) {
	t.Helper()
	info, err := c.Execute(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := c.DoGet(t.Context(), info.Endpoint[0].Ticket)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Release()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w, err := pqarrow.NewFileWriter(answer.Schema(), f, props.NewWriterProperties(), pqarrow.DefaultWriterProps())
	if err != nil {
		t.Fatal(err)
	}
	for answer.Next() {
		if err := w.Write(answer.RecordBatch()); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(answer.Err(), w.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestErrors: what is wrong with an answer is an error that names the query, and leaves
// nothing behind.
func TestErrors(t *testing.T) {
	// The server may leave a batch behind where a client stops reading.
	c := connected(t, checked(t), memory.DefaultAllocator)
	for _, bad := range []struct{ edges, nodes, want string }{
		{"SELECT payer, kind FROM payments", "SELECT * FROM people", "SELECT payer, kind FROM payments: there is no column \"payee\""},
		{"SELECT * FROM payments", "SELECT name FROM people WHERE age < 30", "SELECT name FROM people WHERE age < 30: there is no column \"role\""},
	} {
		e, err := query(t.Context(), c, bad.edges)
		if err != nil {
			t.Fatal(err)
		}
		n, err := query(t.Context(), c, bad.nodes)
		if err != nil {
			t.Fatal(err)
		}
		_, err = tables(e, n).Read(t.Context())
		if err == nil || !strings.Contains(err.Error(), bad.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v, want %s", err, bad.want)
		}
		e.Reader.Release()
		n.Reader.Release()
	}
	if _, err := query(t.Context(), c, "SELECT * FROM nowhere"); err == nil || !strings.Contains(err.Error(), "nowhere") {
		t.Error(err)
	}
	// The answer ends in the middle, with the context of its query.
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	e, err := query(ctx, c, "SELECT a.payer, a.payee FROM payments a, payments b")
	if err != nil {
		t.Fatal(err)
	}
	defer e.Reader.Release()
	if !e.Reader.Next() {
		t.Fatal(e.Reader.Err())
	}
	cancel()
	_, err = sources.Tables{Edges: sources.EdgeTable{Table: e, Source: "payer", Target: "payee"}}.Read(context.Background())
	if err == nil || !strings.Contains(err.Error(), "SELECT a.payer") {
		t.Error(err)
	}
}
