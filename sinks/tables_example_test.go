package sinks_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sinks/choose"
	"github.com/sanflow/sanflow/sinks/scores"
	"github.com/sanflow/sanflow/sources"
)

// learn chooses a model for the nodes of two tables, keeps it, loads it, tests it, and
// writes its predictions for all nodes.
func learn(ctx context.Context) error {
	tables, err := sources.Tables{
		Edges: sources.EdgeTable{Table: sources.CSV{Path: "payments.csv"}, Source: "from", Target: "to", Type: "type"},
		Nodes: sources.NodeTable{Table: sources.CSV{Path: "people.csv"}, ID: "name", Targets: sources.Targets("role")},
	}.Read(ctx)
	if err != nil {
		return err
	}
	set, err := tables.NodeSet()
	if err != nil {
		return err
	}
	train, valid, test, err := choose.Deal(set, 1) // nodes whose class is known
	if err != nil {
		return err
	}
	chosen, err := choose.Choice{
		Systems: choose.Nodes(set, len(train)), Classes: set.Classes, Seed: 1,
		Train: choose.NodeRows(set, train), Valid: choose.NodeRows(set, valid),
	}.Run(ctx)
	if err != nil {
		return err
	}
	if err := sinks.Save("people.model", chosen.Net, chosen.Recipe); err != nil {
		return err
	}
	p, err := sinks.Load("people.model") // elsewhere, later
	if err != nil {
		return err
	}
	defer p.Close()
	m, err := choose.Test(ctx, p, set.Graph, set.IDs, choose.NodeRows(set, test), "", 0)
	if err != nil {
		return err
	}
	fmt.Printf("%.0f %% of %d nodes right\n", m.Accuracy(), m.Rows)
	rows, open, err := choose.Asked(ctx, p, set.Graph, set.IDs, choose.NodeRows(set, set.All()))
	if err != nil {
		return err
	}
	answers := scores.Rows{Net: p.Net(), Columns: scores.Columns{IDs: set.IDs.Kind(), Classes: p.Classes()}, ID: scores.RootID, Bare: true}
	if open != nil { // the answers need the whole graph
		defer open.Close()
		answers.Net, answers.Graph = nil, open
	}
	return rows.Via(answers).To(scores.Text{Path: "scores.csv"}).Run(ctx)
}

// Nodes of a table are classified: from the tables to a file of predictions with the ids of
// the nodes.
func ExampleSave_tables() {
	work, dir := must(os.Getwd()), must(os.MkdirTemp("", "tables"))
	defer os.RemoveAll(dir)
	defer os.Chdir(work)
	payments, people := new(strings.Builder), new(strings.Builder)
	payments.WriteString("from,to,type\n")
	people.WriteString("name,age,role\n")
	for i := range 120 { // two circles of people, each with its own way to pay
		role, way := [2]string{"shop", "guest"}[i%2], [2]string{"card", "cash"}[i%2]
		if i%5 == 0 {
			role = "" // not known
		}
		fmt.Fprintf(people, "P-%03d,%d,%s\n", i, 20+i%7, role)
		fmt.Fprintf(payments, "P-%03d,P-%03d,%s\n", i, (i+2)%120, way)
	}
	for name, text := range map[string]string{"payments.csv": payments.String(), "people.csv": people.String()} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			log.Fatal(err)
		}
	}
	if err := os.Chdir(dir); err != nil {
		log.Fatal(err)
	}
	if err := learn(context.Background()); err != nil {
		log.Fatal(err)
	}
	rows := strings.Split(string(must(os.ReadFile("scores.csv"))), "\n")
	fmt.Println(rows[0])
	for _, row := range rows[1:4] {
		fmt.Println(strings.Join(strings.SplitN(row, ",", 3)[:2], ","))
	}
	// Output:
	// 100 % of 16 nodes right
	// id,class,p_guest,p_shop
	// P-000,shop
	// P-001,guest
	// P-002,shop
}
