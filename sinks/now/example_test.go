package now_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sinks/choose"
	"github.com/sanflow/sanflow/sinks/now"
	"github.com/sanflow/sanflow/sources"
)

// A payment that comes is known to the next answer, and to that of the next process, which opens the model, the table and the store.
func Example() {
	dir := must(os.MkdirTemp("", "store"))
	defer os.RemoveAll(dir)
	file, csv := filepath.Join(dir, "payments.model"), filepath.Join(dir, "payments.csv")
	must(0, sinks.Save(file, model().Net().(nn.Saver), model().Recipe()))
	must(0, os.WriteFile(csv, []byte(strings.Join(payments(stored), "\n")), 0o600))
	for range 2 {
		p := must(sinks.Load(file))
		table := sources.RowTable{Table: must(sources.OpenTable(ctx(), csv, sources.Options{})), Time: "time", Class: "class", Keys: must(choose.KeysOf(p.Net()))}
		set := must(sources.Rows{Tables: []sources.RowTable{table}}.Read(ctx()))
		h := must(choose.HistoryOf(p, set, nil)) // in the words of the model; later rows know all classes
		rows := must(h.OpenRows(p, choose.RowColumns{Time: "time", Class: "class"}))
		l := must(now.Open(ctx(), rows, now.Options{Dir: dir}))
		if l.Position() == 0 {
			position := must(l.Apply(
				choose.Event{Kind: choose.AddRow, Row: choose.Row{"time": 200, "source": "s4", "target": "mallory"}},
				choose.Event{Kind: choose.SetClass, ID: "401", Class: "yes"},
			))
			fmt.Println("accepted up to", position)
		}
		asked, _, _ := l.Ask(ctx(), l.Position(), nil, []choose.Row{{"time": 203, "source": "mallory"}})
		why := must(rows.Explain(ctx(), asked[0], "yes"))
		fmt.Println("mallory had", why.Earlier[0].Count, "payment, of class", why.Earlier[0].Rows[0].Class)
		_, _, _ = l.Close(), rows.Close(), p.Close()
	}
	// Output:
	// accepted up to 2
	// mallory had 1 payment, of class yes
	// mallory had 1 payment, of class yes
}

// An edge that comes changes the next answer about a node.
func Example_nodes() {
	dir := must(os.MkdirTemp("", "store"))
	defer os.RemoveAll(dir)
	nodes := openTown(town(smallTown, 2), 0) // choose.OpenNodesOf(p, set, columns)
	defer nodes.Close()
	l := must(now.Open(ctx(), nodes, now.Options{Dir: dir}))
	defer l.Close()
	ask := func(after int64) float32 {
		asked, _, err := l.Ask(ctx(), after, []string{"199"}, nil)
		if err != nil {
			return -1
		}
		return must(nodes.Predict(ctx(), asked[0])).Probs[1]
	}
	before := ask(0)
	position := must(l.Apply(
		choose.Event{Kind: choose.AddRow, Row: choose.Row{"id": "eve", "age": 1.5}},
		choose.Event{Kind: choose.AddEdge, Row: choose.Row{"source": "eve", "target": 199, "type": "wire", "weight": 9}},
	))
	fmt.Println("at", position, "the answer is another:", ask(position) != before)
	position = must(l.Apply(choose.Event{Kind: choose.RemoveNode, ID: "eve"}))
	fmt.Println("at", position, "it is as before:", ask(position) == before)
	// Output:
	// at 2 the answer is another: true
	// at 3 it is as before: true
}
