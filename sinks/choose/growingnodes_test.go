package choose_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/internal/race"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sinks/choose"
	"github.com/sanflow/sanflow/sources"
)

// web is a graph as its tables, which events change.
type web struct {
	rand     *rand.Rand
	directed bool
	bare     bool                // nodes have no columns
	timed    bool                // amount is a time
	edges    []string            // rows: source,target,kind,amount
	nodes    map[string][]string // rows: shape,size,class
	now      int
}

const edgeHead, nodeHead = "source,target,kind,amount", "id,shape,size,class"

func newWeb(seed uint64, n, m int, directed, bare bool) *web {
	w := &web{rand: rand.New(rand.NewPCG(seed, 5)), directed: directed, bare: bare, nodes: map[string][]string{}}
	for v := range n {
		w.nodes[fmt.Sprint("n", v)] = w.node(v % 3)
	}
	for range m {
		w.edges = append(w.edges, w.edge(n))
	}
	return w
}

// node is a row of a node of a class, which its columns and its neighbours tell.
func (w *web) node(class int) []string {
	return []string{[]string{"", "round", "square", "flat"}[w.rand.IntN(4)], fmt.Sprintf("%.2f", float64(class)+w.rand.NormFloat64()), fmt.Sprint("c", class)}
}

func (w *web) edge(n int) string {
	r := w.rand
	u, v := r.IntN(n), r.IntN(n)
	if r.IntN(4) > 0 {
		v -= (v - u) % 3 // one class
	}
	if r.IntN(4) == 0 {
		u %= 5 // hubs
	}
	return fmt.Sprintf("n%d,n%d,%s,%s", u, max(v, 0), []string{"card", "cash", ""}[r.IntN(3)], []string{"", "0.1", "0.7", "1e9", "3"}[r.IntN(5)])
}

func (w *web) ends(row string) (string, string) {
	f := strings.Split(row, ",")
	if !w.directed && f[0] > f[1] {
		return f[1], f[0]
	}
	return f[0], f[1]
}

func (w *web) same(a, b string) bool {
	u, v := w.ends(a)
	x, y := w.ends(b)
	return u == x && v == y
}

func rowOf(head, row string) choose.Row {
	out := choose.Row{}
	for i, name := range strings.Split(head, ",") {
		text := strings.Split(row, ",")[i]
		if out[name] = text; name == "amount" || name == "size" {
			out[name] = json.Number(text)
			if text == "" {
				out[name] = nil
			}
		}
	}
	return out
}

// next makes an event, and changes the tables alike.
func (w *web) next() choose.Event {
	r := w.rand
	w.now++
	switch k := r.IntN(20); {
	case k < 9:
		row := w.edge(220 + w.now/10) // also new ids
		switch f := strings.Split(row, ","); {
		case r.IntN(4) == 0:
			f[2] = []string{"abacus", "zloty", "wire", fmt.Sprint("word", r.IntN(9))}[r.IntN(4)] // unseen words, before and behind the others
			row = strings.Join(f, ",")
		case r.IntN(3) == 0 && len(w.edges) > 0:
			g := strings.Split(w.edges[r.IntN(len(w.edges))], ",")
			f[0], f[1] = g[1], g[0] // a parallel row
			row = strings.Join(f, ",")
		}
		if u, v := w.ends(row); u != v {
			w.edges = append(w.edges, row)
		}
		return choose.Event{Kind: choose.AddEdge, Row: rowOf(edgeHead, row)}
	case k < 14 && len(w.edges) > 0:
		row := w.edges[r.IntN(len(w.edges))]
		at := slices.IndexFunc(w.edges, func(other string) bool { return w.same(row, other) }) // the oldest
		w.edges = slices.Delete(slices.Clone(w.edges), at, at+1)
		f := strings.Split(row, ",")
		return choose.Event{Kind: choose.RemoveEdge, Row: choose.Row{"source": f[0], "target": f[1]}}
	case k < 15 && len(w.edges) > 0:
		row := w.edges[r.IntN(len(w.edges))]
		f := strings.Split(row, ",")
		f[2], f[3] = []string{"cash", "wire"}[r.IntN(2)], "5"
		for i, other := range w.edges {
			if w.same(row, other) {
				g := strings.Split(other, ",")
				w.edges[i] = strings.Join([]string{g[0], g[1], f[2], f[3]}, ",")
			}
		}
		return choose.Event{Kind: choose.SetEdge, Row: rowOf(edgeHead, strings.Join(f, ","))}
	case k < 17:
		id, row := fmt.Sprint("n", r.IntN(230+w.now/5)), w.node(r.IntN(3))
		kind := choose.AddRow
		if _, ok := w.nodes[id]; ok {
			kind = choose.SetNode
		}
		w.nodes[id] = row
		e := choose.Event{Kind: kind, Row: rowOf(nodeHead, id+","+strings.Join(row, ","))}
		if w.bare {
			delete(e.Row, "shape")
			delete(e.Row, "size")
		}
		return e
	case k < 18:
		id := fmt.Sprint("n", r.IntN(230))
		delete(w.nodes, id)
		w.edges = slices.DeleteFunc(slices.Clone(w.edges), func(row string) bool {
			u, v := w.ends(row)
			return u == id || v == id
		})
		return choose.Event{Kind: choose.RemoveNode, ID: id}
	}
	ids := slices.Sorted(maps.Keys(w.nodes))
	return choose.Event{Kind: choose.SetClass, ID: ids[r.IntN(len(ids))], Class: []string{"c0", "c1", ""}[r.IntN(3)]}
}

// ids are those of the nodes that are there.
func (w *web) ids() []string {
	all := maps.Clone(w.nodes)
	for _, row := range w.edges {
		u, v := w.ends(row)
		all[u], all[v] = nil, nil
	}
	return slices.Sorted(maps.Keys(all))
}

// set reads the tables, for a model if there is one.
func (w *web) set(t testing.TB, like *record.Layout) *sources.NodeSet {
	t.Helper()
	var nodes []string
	for _, id := range w.ids() {
		row := w.nodes[id]
		if row == nil {
			row = []string{"", "", ""}
		}
		if w.bare {
			nodes = append(nodes, id+","+row[2])
		} else {
			nodes = append(nodes, id+","+strings.Join(row, ","))
		}
	}
	head := nodeHead
	if w.bare {
		head = "id,class"
	}
	files := fstest.MapFS{
		"edges.csv": {Data: []byte(edgeHead + "\n" + strings.Join(w.edges, "\n") + "\n")},
		"nodes.csv": {Data: []byte(head + "\n" + strings.Join(nodes, "\n") + "\n")},
	}
	tables := sources.Tables{
		Edges:    sources.EdgeTable{Table: sources.CSV{Path: "edges.csv", FS: files}, Type: "kind", Weight: "amount"},
		Nodes:    sources.NodeTable{Table: sources.CSV{Path: "nodes.csv", FS: files}, Targets: sources.Targets("class")},
		Directed: w.directed, KeepRows: true,
	}
	if w.timed {
		tables.Edges.Time, tables.Edges.Weight = "amount", ""
	}
	if like != nil {
		tables.Edges.Types = map[string]sources.ColumnType{"kind": sources.String, "amount": sources.Float}
		tables.Edges.Offsets = map[string]float64{"amount": like.EdgeAttr[0].Offset}
		tables.Edges.Repeated, _ = sources.ParseRepeated(like.Columns.Repeated)
		if !w.bare {
			tables.Nodes.Types = map[string]sources.ColumnType{"shape": sources.String, "size": sources.Float}
			tables.Nodes.Offsets = map[string]float64{"size": like.NodeAttr[0].Offset}
		}
	}
	read, err := tables.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return must(read.NodeSet())
}

// model learns the classes of the nodes by one system.
func (w *web) model(t testing.TB, system string) *sinks.Predictor {
	t.Helper()
	set := w.set(t, nil)
	if w.bare {
		if err := set.Identify(); err != nil {
			t.Fatal(err)
		}
	}
	train, valid, _, err := choose.Deal(set, 1)
	if err != nil {
		t.Fatal(err)
	}
	systems := must(choose.Pick(choose.Nodes(set, len(train)), []string{system}))
	for i := range systems {
		systems[i].Epochs = min(systems[i].Epochs, 3)
	}
	chosen, err := choose.Choice{
		Systems: systems, Classes: set.Classes, Train: choose.NodeRows(set, train), Valid: choose.NodeRows(set, valid), Seed: 1,
	}.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p := must(sinks.NewPredictor(chosen.Net, chosen.Recipe))
	t.Cleanup(func() { p.Close() })
	return p
}

// open opens the tables as they are.
func (w *web) open(t testing.TB, p *sinks.Predictor, change func(*choose.GraphColumns)) *choose.OpenNodes {
	t.Helper()
	l := p.Layout()
	c := choose.GraphColumns{Columns: record.Columns{Source: "source", Target: "target", ID: "id", Type: "kind", Weight: "amount"}, Class: "class"}
	if change != nil {
		change(&c)
	}
	o, err := choose.OpenNodesOf(p, w.set(t, &l), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { o.Close() })
	return o
}

// saidOf is what a model says of nodes, and why of some.
func saidOf(t testing.TB, o *choose.OpenNodes, ids []string) (all []string) {
	t.Helper()
	asked, _, err := o.Ask(ids, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, q := range asked {
		a, err := o.Predict(context.Background(), q)
		if err != nil {
			t.Fatal(err)
		}
		if i%20 > 0 {
			all = append(all, fmt.Sprint(a.Class, a.Probs))
			continue
		}
		why, err := o.Explain(context.Background(), q, "")
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, fmt.Sprint(a.Class, a.Probs)+string(must(json.Marshal(why))))
	}
	return all
}

// The answers about a graph that events have changed are those of a start with tables of what is left, to the byte, and those of the whole graph.
func TestGrowingNodes(t *testing.T) {
	race.Skip(t)
	for _, c := range []struct {
		system         string
		directed, bare bool
		seed           uint64
	}{
		{"words", false, false, 1}, {"trees", true, false, 2}, {"linear", false, true, 3}, {"words", true, true, 4}, {"stacked-trees", false, false, 5}, {"neighbours", false, false, 6},
	} {
		t.Run(fmt.Sprint(c.system, c.directed, c.bare), func(t *testing.T) {
			t.Parallel()
			w := newWeb(c.seed, 220, 600, c.directed, c.bare)
			p := w.model(t, c.system)
			if err := choose.CheckLive(p); err != nil {
				t.Fatal(err)
			}
			o := w.open(t, p, nil)
			position, rounds := int64(0), 6
			if long {
				rounds = 10
			}
			for round := range rounds {
				b := o.Begin()
				for range 60 {
					if err := b.Add(w.next()); err != nil {
						t.Fatal(err)
					}
				}
				position += int64(len(b.Changes))
				o.Apply(position, b.Changes...)
				ids := w.ids()
				w.rand.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
				ids = ids[:min(len(ids), 120)]
				start := w.open(t, p, nil)
				got, want := saidOf(t, o, ids), saidOf(t, start, ids)
				for i := range got {
					if got[i] != want[i] {
						t.Fatalf("position %d, node %s:\n%s\nwant\n%s", position, ids[i], got[i], want[i])
					}
				}
				if round%5 == 4 {
					whole(t, w, p, start, ids)
				}
				if round == 0 {
					if _, _, err := o.Ask([]string{"nobody"}, nil); err == nil {
						t.Error("there is no node nobody")
					}
				}
			}
		})
	}
}

// whole compares answers with those for the whole graph.
func whole(t testing.TB, w *web, p *sinks.Predictor, o *choose.OpenNodes, ids []string) {
	t.Helper()
	l := p.Layout()
	set := w.set(t, &l)
	g, _, err := choose.Adapt(set.Graph, set.Channels, l)
	if err != nil {
		t.Fatal(err)
	}
	if g, _, err = p.Known().Identify(g, set.IDs); err != nil {
		t.Fatal(err)
	}
	open, err := p.OpenIDs(t.Context(), g, set.IDs)
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	asked, _, err := o.Ask(ids, nil)
	if err != nil {
		t.Fatal(err)
	}
	index := must(set.IDs.Index())
	for i, id := range ids {
		v, _ := index.Name(id)
		want := must(open.Predict(t.Context(), v))[0]
		if got := must(o.Predict(t.Context(), asked[i])); !slices.Equal(got.Probs, want.Probs) {
			t.Fatalf("node %s: %v, want %v as of the whole graph", id, got.Probs, want.Probs)
		}
	}
}

// Beside hubs of all sizes around the bounds, the part of the graph that is cut for a question has the answer of the whole graph.
func TestNodesBesideHubs(t *testing.T) {
	race.Skip(t)
	for _, c := range []struct {
		system         string
		directed, bare bool
	}{{"words", false, false}, {"words", true, true}, {"trees", false, false}, {"trees", true, false}, {"linear", false, true}, {"stacked-trees", false, false}} {
		t.Run(fmt.Sprint(c.system, c.directed, c.bare), func(t *testing.T) {
			t.Parallel()
			w := newWeb(9, 60, 150, c.directed, c.bare)
			p := w.model(t, c.system)
			const n = 2600
			for v := 60; v < n; v++ {
				w.nodes[fmt.Sprint("n", v)] = w.node(v % 3)
			}
			r := w.rand
			row := func(u, v int) {
				if u != v {
					w.edges = append(w.edges, fmt.Sprintf("n%d,n%d,%s,%d", u, v, []string{"card", "cash"}[r.IntN(2)], r.IntN(5)))
				}
			}
			for hub, degree := range []int{1022, 1023, 1024, 1025, 1500, 2400} {
				for _, v := range r.Perm(n)[:degree] {
					row(100+hub, v)
				}
			}
			for v := range n / 4 {
				row(v, r.IntN(n))
			}
			// A tree whose nodes up to distance 2 are 1023 to 1026: the bound of a ring.
			for extra := range 4 {
				id := n
				leaf := func(u int) int {
					w.nodes[fmt.Sprint("n", id)] = w.node(0)
					row(u, id)
					id++
					return id - 1
				}
				id += 2000 * extra
				root := leaf(id + 1999)
				for branch := range 31 {
					b := leaf(root)
					for range 32 {
						leaf(b)
					}
					if branch == 0 {
						for range extra - 1 {
							leaf(b)
						}
					}
				}
			}
			ids := []string{"n100", "n101", "n102", "n103", "n104", "n105"}
			for range 60 {
				ids = append(ids, fmt.Sprint("n", r.IntN(n)))
			}
			for extra := range 4 {
				ids = append(ids, fmt.Sprint("n", n+2000*extra), fmt.Sprint("n", n+2000*extra+1), fmt.Sprint("n", n+2000*extra+1999), fmt.Sprint("n", n+2000*extra+5))
			}
			there := w.ids()
			ids = slices.DeleteFunc(ids, func(id string) bool { return !slices.Contains(there, id) })
			whole(t, w, p, w.open(t, p, nil), ids)
		})
	}
}

// A window of the last rows, or of a time, has the answers of a cold start with the rows in it, also after a start with what a store has left.
func TestWindowOfNodes(t *testing.T) {
	w := newWeb(3, 60, 0, false, true)
	w.timed = true
	at := 0
	add := func(late int) string {
		at++
		u := w.rand.IntN(40)
		return fmt.Sprintf("n%d,n%d,%s,%d", u, 40+w.rand.IntN(20), []string{"card", "cash"}[w.rand.IntN(2)], at/2-late)
	}
	for range 150 {
		w.edges = append(w.edges, add(w.rand.IntN(5)))
	}
	p := w.model(t, "words")
	first := slices.Clone(w.edges)
	weight := func(row string) (x int) {
		fmt.Sscan(row[strings.LastIndexByte(row, ',')+1:], &x)
		return x
	}
	for _, c := range []struct{ last, within int }{{last: 60}, {within: 25}} {
		window := func(g *choose.GraphColumns) {
			g.Time, g.Weight, g.Last, g.Within = "amount", "", c.last, int64(c.within)
		}
		w.edges = first
		o := w.open(t, p, window)
		type row struct {
			text string
			age  int
		}
		var all []row
		added, latest := 0, -1<<30
		trim := func() {
			all = slices.DeleteFunc(all, func(r row) bool {
				return c.last > 0 && r.age < added-c.last || c.within > 0 && weight(r.text) <= latest-c.within
			})
		}
		keep := func(text string) {
			latest = max(latest, weight(text))
			all = append(all, row{text, added})
			added++
			trim()
		}
		for _, text := range first {
			keep(text)
		}
		var store []choose.Event
		clock, lates, jumps := int64(0), 0, 0
		for position := int64(1); position <= 240; position++ {
			var e choose.Event
			late, jump := false, 0
			switch k := w.rand.IntN(10); {
			case k < 6 || len(all) == 0:
				text := add(w.rand.IntN(4) * w.rand.IntN(12))
				if position%60 == 31 {
					at += 2 * 30 // a jump
					text = add(0)
				}
				e = choose.Event{Kind: choose.AddEdge, Row: rowOf(edgeHead, text)}
				if late = c.within > 0 && weight(text) <= latest-c.within; c.within > 0 && weight(text)-latest > c.within {
					jump = weight(text) - latest
				}
				if late {
					lates++
				}
				if jump > 0 {
					jumps++
				}
				keep(text)
			default:
				f := strings.Split(all[w.rand.IntN(len(all))].text, ",")
				e = choose.Event{Kind: choose.RemoveEdge, Row: choose.Row{"source": f[0], "target": f[1]}}
				oldest := -1
				for i, r := range all {
					if w.same(r.text, strings.Join(f, ",")) && (oldest < 0 || c.within > 0 && weight(r.text) < weight(all[oldest].text)) {
						oldest = i
					}
				}
				all = slices.Delete(all, oldest, oldest+1)
			}
			b := o.Begin()
			if err := b.Add(e); err != nil {
				t.Fatal(err)
			}
			if got := b.Changes[0]; got.Late != late || got.Jump != int64(jump) {
				t.Errorf("%+v, position %d: late %v, jump %d, want %v, %d", c, position, got.Late, got.Jump, late, jump)
			}
			o.Apply(position, b.Changes...)
			clock = b.Clock
			e = b.Changes[0].Event
			e.Position = position
			store = append(store, e)
			for _, s := range o.Swept() {
				store = slices.DeleteFunc(store, func(e choose.Event) bool { return e.Position == s.Position })
			}
			if position%40 > 0 {
				continue
			}
			ids := []string{"n1", "n2", "n3", "n41", "n50", "n59"}
			got := saidOf(t, o, ids)
			w.edges = first
			again := w.open(t, p, window)
			for _, e := range store {
				b := again.Begin()
				if err := b.Add(e); err != nil {
					t.Fatal(err)
				}
				again.Apply(0, b.Changes...)
			}
			again.Advance(clock)
			if told := saidOf(t, again, ids); !slices.Equal(told, got) {
				t.Errorf("%+v, position %d: what a store has left gives\n%v\nwant\n%v", c, position, told, got)
			}
			w.edges = nil
			for _, r := range all {
				w.edges = append(w.edges, r.text)
			}
			if told := saidOf(t, w.open(t, p, func(g *choose.GraphColumns) { g.Time, g.Weight = "amount", "" }), ids); !slices.Equal(told, got) {
				t.Errorf("%+v, position %d: a cold start gives\n%v\nwant\n%v", c, position, told, got)
			}
			if len(store) > 230 {
				t.Errorf("the store has %d events", len(store))
			}
		}
		if is := c.within > 0; is != (lates > 0) || is != (jumps > 0) {
			t.Errorf("%+v: %d late edges, %d jumps", c, lates, jumps)
		}
	}
}

// Rows that one edge has many times are united where a question reads the edge, not once a row: 20 000 of them in batches of 32 have the answers of a start.
func TestParallelRowsOfNodes(t *testing.T) {
	w := newWeb(9, 40, 120, false, false)
	p := w.model(t, "words")
	o := w.open(t, p, nil)
	position := int64(0)
	for position < 20_000 {
		b := o.Begin()
		for range 32 {
			row := fmt.Sprintf("n1,n2,%s,0.%d", []string{"card", "cash"}[w.rand.IntN(2)], 1+w.rand.IntN(9))
			w.edges = append(w.edges, row)
			if err := b.Add(choose.Event{Kind: choose.AddEdge, Row: rowOf(edgeHead, row)}); err != nil {
				t.Fatal(err)
			}
		}
		position += int64(len(b.Changes))
		o.Apply(position, b.Changes...)
	}
	ids := []string{"n1", "n2", "n30"}
	if got, want := saidOf(t, o, ids), saidOf(t, w.open(t, p, nil), ids); !slices.Equal(got, want) {
		t.Errorf("%v\nwant\n%v", got, want)
	}
}
