package past_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/flowtest"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/internal/race"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/count"
	"github.com/sanflow/sanflow/operators/past"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

// paid returns the graph of the first n of rows that have two accounts, a place and an amount each, and what
// pasts read of them. A row is bad if the row before it of its first account has a large amount.
func paid(tb testing.TB, seed uint64, n, accounts int) (*sources.NodeSet, past.Rows) {
	tb.Helper()
	rng := rand.New(rand.NewPCG(seed, 9))
	rows := past.Rows{N: n, Timed: n}
	set := &sources.NodeSet{Classes: []string{"good", "bad"}, Graph: &graph.Graph{NodeCats: 1, NodeAttrs: 1, EdgeCats: 1}}
	g := set.Graph
	rows.Graph = g
	number := map[string]int32{}
	last := map[string]float32{}
	keys := make([][3]string, n)
	time := 0.0
	for i := range n {
		keys[i] = [3]string{fmt.Sprint("account:", rng.IntN(accounts)), fmt.Sprint("account:", rng.IntN(accounts)), fmt.Sprint("place:", rng.IntN(1+accounts/5))}
		for _, k := range keys[i] {
			number[k] = -1
		}
		time += float64(rng.IntN(3))
		rows.Time = append(rows.Time, time)
		class, amount := int32(0), rng.Float32()
		if last[keys[i][0]] > 0.5 {
			class = 1
		}
		last[keys[i][0]] = amount
		set.Class = append(set.Class, class)
		g.NodeCat, g.NodeAttr = append(g.NodeCat, 0), append(g.NodeAttr, amount)
	}
	ids := make([]string, 0, n)
	for i := range n {
		ids = append(ids, fmt.Sprint("P-", i+1))
	}
	for k := range number {
		ids = append(ids, k)
	}
	slices.Sort(ids[n:])
	for i, k := range ids[n:] {
		number[k] = int32(n + i)
		set.Class = append(set.Class, -1)
		g.NodeCat = append(g.NodeCat, int32(1+strings.Index("ap", k[:1])))
		g.NodeAttr = append(g.NodeAttr, float32(len(k)))
	}
	column := map[graph.Edge]int32{}
	var edges []graph.Edge
	for i := range keys {
		for c, k := range keys[i] {
			e := graph.Edge{U: int32(i), V: number[k]}
			if _, ok := column[e]; !ok {
				column[e] = int32(c)
				edges = append(edges, e)
			}
		}
	}
	h, err := graph.New(len(ids), false, edges)
	if err != nil {
		tb.Fatal(err)
	}
	g.Offsets, g.Neighbors = h.Offsets, h.Neighbors
	for u := range int32(g.N()) {
		for _, v := range g.Adj(u) {
			g.EdgeCat = append(g.EdgeCat, column[graph.Edge{U: min(u, v), V: max(u, v)}])
		}
	}
	set.Channels = record.Layout{
		NodeCat:  []record.Channel{{Name: "type", Card: 4, Words: []string{"payment", "user", "venue"}}},
		NodeAttr: []record.Channel{{Name: "amount"}},
		EdgeCat:  []record.Channel{{Name: "key", Card: 4, Words: []string{"from", "to", "where"}}},
	}
	if set.IDs, err = graph.IDsOfStrings(ids); err != nil {
		tb.Fatal(err)
	}
	rows.Class = slices.Clone(set.Class[:n])
	return set, rows
}

// firstRows is the numbers of the first rows.
func firstRows(n int) []int32 {
	all := make([]int32, n)
	for i := range all {
		all[i] = int32(i)
	}
	return all
}

// rowsOfPasts cuts the pasts of rows, runs operators behind them, and returns the rows that come out. l is the layout of the whole graph.
func rowsOfPasts(t *testing.T, workers int, set *sources.NodeSet, l record.Layout, c past.Cutter, rows past.Rows, of []int32, ops ...flow.Operator) []string {
	t.Helper()
	var all sinks.Collect
	defer all.Release()
	p := flow.From(pastsOf(t, set, l, c, rows, of)).With(flow.Options{Workers: workers, Allocator: flowtest.Mem(t)})
	for _, op := range ops {
		p = p.Via(op)
	}
	if err := p.To(&all).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	return flowtest.Rows(all.Records()...)
}

// pastsOf is the pasts of rows of a set, with the ids of their nodes if l has ids.
func pastsOf(t *testing.T, set *sources.NodeSet, l record.Layout, c past.Cutter, rows past.Rows, of []int32) sources.Graphs {
	t.Helper()
	s := sources.Graphs{Layout: c.Layout(l)}
	for _, row := range of {
		g, nodes, err := c.Cut(&rows, row)
		if err != nil {
			t.Fatal(err)
		}
		one := sources.Item{Class: max(set.Class[row], 0)}    // a graph has a class, also where that of the row is unknown
		if one.Graph, err = g.Without(nil, nil); err != nil { // a copy
			t.Fatal(err)
		}
		if l.NodeIDs != graph.NoIDs {
			one.NodeID = namesOf(t, set, nodes)
		}
		s.Items = append(s.Items, one)
	}
	return s
}

// namesOf are the ids of nodes.
func namesOf(t *testing.T, set *sources.NodeSet, nodes []int32) graph.IDs {
	t.Helper()
	var names []string
	for _, v := range nodes {
		names = append(names, set.IDs.Name(v))
	}
	ids, err := graph.IDsOfStrings(names)
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

// asked makes the row of a past its root.
var asked = operators.Roots{Nodes: []int32{0}}

// TestPastPrefix takes the first rows of a table with and without those behind them, through fields and words: the
// rows that come out are the same, at any number of workers.
func TestPastPrefix(t *testing.T) {
	const n, first = 400, 150
	whole, all := paid(t, 1, n, 40)
	short, some := paid(t, 1, first, 40)
	for _, s := range []past.Settings{{}, {Classes: whole.Classes, Delay: 2, Hops: 4, Nodes: 100}} {
		for name, ops := range map[string][]flow.Operator{
			"fields": {asked, operators.Assemble{K: 10}, operators.Normalize{Distances: 4, Edges: true}},
			"words":  {asked, operators.Count{Of: []count.Counter{count.Around{Bins: count.Bins{Nodes: []count.Cuts{{0.25, 0.5}, {1, 20, 40}}}}, count.WL{Height: 2}}, DropGraph: true}},
			"graphs": nil,
		} {
			of := func(set *sources.NodeSet, rows past.Rows, workers int) []string {
				return rowsOfPasts(t, workers, set, set.Layout(), past.Cutter{Settings: s}, rows, firstRows(first), ops...)
			}
			want := of(short, some, 1)
			if len(want) != first {
				t.Fatalf("%s: %d rows, want %d", name, len(want), first)
			}
			for _, workers := range []int{1, 3} {
				if got := of(whole, all, workers); !slices.Equal(got, want) {
					t.Errorf("%s, %+v, %d workers: later rows have an influence", name, s, workers)
				}
			}
		}
	}
}

// rowsOfText reads tables of payments and of logins.
func rowsOfText(t *testing.T, payments, logins []string) *sources.RowSet {
	t.Helper()
	files := fstest.MapFS{
		"payments.csv": {Data: []byte("id,source,target,shop,amount,kind,when,fraud\n" + strings.Join(payments, ""))},
		"logins.csv":   {Data: []byte("id,who,device,when,fraud\n" + strings.Join(logins, ""))},
		"accounts.csv": {Data: []byte("id,age\na0,30.5\na1,41.25\na3,7.5\n")},
	}
	csv := func(name string) sources.Table { return sources.CSV{FS: files, Path: name} }
	set, err := sources.Rows{
		Tables: []sources.RowTable{
			{Table: csv("payments.csv"), Name: "payment", ID: "id", Time: "when", Class: "fraud",
				Keys: []sources.Key{{Column: "source", Space: "account"}, {Column: "target", Space: "account"}, {Column: "shop"}}},
			{Table: csv("logins.csv"), Name: "login", ID: "id", Time: "when", Class: "fraud", Keys: []sources.Key{{Column: "who", Space: "account"}, {Column: "device"}}},
		},
		Nodes: []sources.KeyTable{{Space: "account", Table: csv("accounts.csv")}},
	}.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// rowsOf is what pasts read of the rows of a set.
func rowsOf(set *sources.RowSet) past.Rows {
	return past.Rows{Graph: set.Graph, N: set.Rows, Timed: set.Known(), Time: set.Time, Class: set.Class[:set.Rows]}
}

// TestPastOfTables cuts the tables themselves: the first rows in time, of tables that are read anew without the
// rows behind them, have the pasts, fields and words that they have in the whole tables, in which rows are listed in
// another order. Values of a table that ends earlier have other indices, which Expect maps by their words.
func TestPastOfTables(t *testing.T) {
	race.Skip(t)
	rng := rand.New(rand.NewPCG(5, 6))
	n := 2000
	if os.Getenv("SANFLOW_LONG") != "" {
		n = 6000
	}
	first := n * 5 / 6
	type line struct {
		when  int
		login bool
		text  string
	}
	var lines []line
	for i := range n {
		l := line{when: i / 2, login: rng.IntN(4) == 0}
		when := fmt.Sprint(l.when)
		if rng.IntN(20) == 0 {
			l.when, when = math.MaxInt, ""
		}
		class := []string{"no", "yes", ""}[rng.IntN(3)]
		account := func() string { return fmt.Sprint("a", rng.IntN(1+rng.IntN(n/20))) }
		if l.login {
			l.text = fmt.Sprintf("L%d,%s,d%d,%s,%s\n", i, account(), rng.IntN(1+i), when, class)
		} else {
			l.text = fmt.Sprintf("P%d,%s,%s,s%d,%d.5,k%d,%s,%s\n", i, account(), account(), rng.IntN(n/50), rng.IntN(100), i%(1+i/3), when, class)
		}
		lines = append(lines, l)
	}
	tables := func(lines []line) *sources.RowSet {
		var texts [2][]string
		for _, l := range lines {
			at := 0
			if l.login {
				at = 1
			}
			texts[at] = append(texts[at], l.text)
		}
		return rowsOfText(t, texts[0], texts[1])
	}
	// In other orders of arrival; equal times keep theirs.
	moved := slices.Clone(lines)
	slices.SortStableFunc(moved, func(a, b line) int { return a.when%17 - b.when%17 })
	whole := tables(moved)
	some := slices.DeleteFunc(slices.Clone(lines), func(l line) bool { return l.when >= first/2 })
	short := tables(some)
	if short.Rows != len(some) || short.Known() != len(some) || whole.Known() == n {
		t.Fatalf("%d rows of %d, %d of known time", short.Rows, len(some), whole.Known())
	}
	for name, ops := range map[string][]flow.Operator{
		"fields": {asked, operators.Normalize{K: 10, Distances: 4, Edges: true}},
		"words":  {asked, operators.Count{Of: []count.Counter{count.Around{}, count.WL{Height: 2}}, DropGraph: true}},
		"graphs": nil,
	} {
		of := func(set *sources.RowSet, workers int) []string {
			c := past.Cutter{Settings: past.Settings{Delay: 3, Bound: 4, Classes: set.Classes}}
			expect := operators.Expect{Layout: past.Settings{Classes: whole.Classes}.Layout(whole.Layout())}
			return rowsOfPasts(t, workers, &set.NodeSet, set.Layout(), c, rowsOf(set), firstRows(short.Rows), append([]flow.Operator{expect}, ops...)...)
		}
		got, want := of(whole, 3), of(short, 1)
		if len(want) != short.Rows || len(got) != len(want) {
			t.Fatalf("%s: %d and %d rows, want %d", name, len(got), len(want), short.Rows)
		}
		for i := range want {
			if got[i] != want[i] {
				t.Fatalf("%s: row %s of the whole tables:\n%.2000s\nwant\n%.2000s", name, short.IDs.Name(int32(i)), got[i], want[i])
			}
		}
	}
}

// chained returns rows of one key each: a row is bad if the row before it of its key is dear.
func chained(t *testing.T, n int) *sources.RowSet {
	t.Helper()
	rng := rand.New(rand.NewPCG(7, 8))
	var text strings.Builder
	text.WriteString("id,account,kind,when,class\n")
	dear := map[int]bool{}
	for i := range n {
		account, class, kind := rng.IntN(n/10), "good", "cheap"
		if dear[account] {
			class = "bad"
		}
		if dear[account] = rng.IntN(2) == 0; dear[account] {
			kind = "dear"
		}
		fmt.Fprintf(&text, "P%d,A%d,%s,%d,%s\n", i, account, kind, i, class)
	}
	set, err := sources.Rows{Tables: []sources.RowTable{{
		Table: sources.CSV{FS: fstest.MapFS{"t.csv": {Data: []byte(text.String())}}, Path: "t.csv"},
		ID:    "id", Time: "when", Class: "class", Keys: []sources.Key{{Column: "account"}},
	}}}.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// TestPastExplained learns from pasts, and asks about one row at a time: the answers are those of the stream, and
// the reason for a bad row is the earlier row of its account, by its id.
func TestPastExplained(t *testing.T) {
	const n, train = 800, 600
	set := chained(t, n)
	for name, of := range map[string]struct {
		net   nn.Model
		bound int
		ops   []flow.Operator
	}{
		"words":  {nn.Best(), 0, []flow.Operator{asked, operators.Count{Of: []count.Counter{count.Around{Hops: 2, Ways: true}}, DropGraph: true}}},
		"fields": {&nn.CNN{Seed: 1}, 1, []flow.Operator{asked, operators.Normalize{K: 3}}},
	} {
		t.Run(name, func(t *testing.T) {
			known := past.Rows{Graph: set.Graph, N: n, Timed: n, Time: set.Time}
			cutter := past.Cutter{Settings: past.Settings{Bound: of.bound, Hops: 2}}
			pasts := func(rows []int32) flow.Pipeline {
				return flow.From(pastsOf(t, &set.NodeSet, set.Rooted(nil).Layout, cutter, known, rows)).Via(numbersLeftOut{})
			}
			model, err := sinks.Learn(t.Context(), pasts(firstRows(train)), of.net, of.ops...)
			if err != nil {
				t.Fatal(err)
			}
			defer model.Close()
			var streamed []sinks.Prediction
			rows := firstRows(n)[train:]
			recipe := model.Recipe()
			err = recipe.Onto(pasts(rows)).To(sinks.Predict{Net: model.Net(), Each: func(p sinks.Prediction) error {
				p.Probs = slices.Clone(p.Probs)
				streamed = append(streamed, p)
				return nil
			}}).Run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			right, named, bad := 0, 0, 0
			for i, r := range rows {
				g, nodes, err := cutter.Cut(&known, r)
				if err != nil {
					t.Fatal(err)
				}
				g.NodeAttr, g.NodeAttrs = nil, 0
				answer, err := model.Predict(t.Context(), g)
				if err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(answer.Probs, streamed[i].Probs) {
					t.Fatalf("row %d: %v, in the stream %v", r, answer.Probs, streamed[i].Probs)
				}
				if set.Classes[set.Class[r]] == answer.Class {
					right++
				}
				if answer.Class != "bad" || i%10 > 0 {
					continue
				}
				e, err := model.ExplainRoots(t.Context(), g, sinks.ExplainOptions{IDs: namesOf(t, &set.NodeSet, nodes)}, 0)
				if err != nil {
					t.Fatal(err)
				}
				best := slices.MaxFunc(e.Nodes, func(a, b sinks.NodeWeight) int { return cmp.Compare(a.Weight, b.Weight) })
				if of.bound == 0 && !slices.ContainsFunc(e.Words[:min(3, len(e.Words))], func(w sinks.WordWeight) bool { return w.Text == "at distance 2 by account latest: kind=dear" }) {
					t.Errorf("row %d: the reasons are %+v", r, e.Words[:3])
				}
				account := set.Graph.Adj(r)
				behind := set.Graph.Adj(account[0])
				at, _ := slices.BinarySearch(behind, r)
				if bad++; at > 0 && best.Name.String() == set.IDs.Name(behind[at-1]) {
					named++
				}
			}
			if right < len(rows)*95/100 || bad < 5 || named < bad*9/10 {
				t.Errorf("%d of %d rows right; %d of %d reasons name the row before", right, len(rows), named, bad)
			}
		})
	}
}

// numbersLeftOut ends the continuous attributes, with their missing values.
type numbersLeftOut struct{}

func (numbersLeftOut) Open(in *arrow.Schema) (flow.Stage, error) {
	return numbersLeftOutStage{record.Without(in, record.NodeAttr)}, nil
}

type numbersLeftOutStage struct{ schema *arrow.Schema }

func (s numbersLeftOutStage) Schema() *arrow.Schema { return s.schema }

func (s numbersLeftOutStage) Process(rec arrow.Record, out *flow.Out) error {
	made, err := record.Project(s.schema, rec, nil)
	if err != nil {
		return err
	}
	return out.Emit(made)
}
