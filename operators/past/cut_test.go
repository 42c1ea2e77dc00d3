package past_test

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/operators/past"
)

// event is a row of a table.
type event struct {
	table int
	time  float64  // NaN = unknown
	keys  []string // by column, "" = none; the space of a key is its first letter
	class int32
	num   float32
}

// data is the graph of some events, made from nothing.
type data struct {
	g     *graph.Graph
	rows  past.Rows
	name  []string // of each node: "row NUM" or the key
	event []int    // of each row
}

// spaces is the space of each key column: the first two share one.
var spaces = []byte{'a', 'a', 'p', 't'}

// build sorts the events by time, table and place, and joins each with its keys. order permutes the keys, nil sorts them.
func build(t testing.TB, events []event, order func(keys []string)) *data {
	t.Helper()
	d := &data{event: make([]int, len(events))}
	for i := range events {
		d.event[i] = i
	}
	slices.SortStableFunc(d.event, func(i, j int) int {
		a, b := events[i], events[j]
		switch {
		case a.time != a.time || b.time != b.time:
			return cmp.Or(cmp.Compare(btoi(a.time != a.time), btoi(b.time != b.time)), cmp.Compare(a.table, b.table))
		}
		return cmp.Or(cmp.Compare(a.time, b.time), cmp.Compare(a.table, b.table))
	})
	set := map[string]bool{}
	for _, e := range events {
		for _, k := range e.keys {
			set[k] = k != ""
		}
	}
	delete(set, "")
	keys := slices.Sorted(maps.Keys(set))
	if order != nil {
		order(keys)
	}
	node := map[string]int32{}
	for i, k := range keys {
		node[k] = int32(len(events) + i)
	}
	var edges []graph.Edge
	column := map[graph.Edge]int32{}
	d.rows.N = len(events)
	for r, i := range d.event {
		e := events[i]
		d.name = append(d.name, fmt.Sprint("row ", e.num))
		d.rows.Time, d.rows.Class = append(d.rows.Time, e.time), append(d.rows.Class, e.class)
		if e.time == e.time {
			d.rows.Timed++
		}
		for c, k := range e.keys {
			if k == "" {
				continue
			}
			edge := graph.Edge{U: int32(r), V: node[k]}
			if _, ok := column[edge]; !ok {
				column[edge] = int32(c)
				edges = append(edges, edge)
			}
		}
	}
	d.name = append(d.name, keys...)
	g, err := graph.New(len(d.name), false, edges)
	if err != nil {
		t.Fatal(err)
	}
	g.NodeCats, g.NodeAttrs, g.EdgeCats, g.EdgeAttrs, g.SparseCard = 1, 2, 1, 1, 4
	g.SparseOffsets = []int32{0}
	for v := range g.N() {
		if v < len(events) {
			e := events[d.event[v]]
			g.NodeCat = append(g.NodeCat, int32(e.table))
			g.NodeAttr = append(g.NodeAttr, e.num, -e.num)
			g.NodeSparse = append(g.NodeSparse, int32(int(e.num)%4))
		} else {
			g.NodeCat = append(g.NodeCat, int32(d.name[v][0]))
			g.NodeAttr = append(g.NodeAttr, float32(math.NaN()), float32(len(d.name[v])))
		}
		g.SparseOffsets = append(g.SparseOffsets, int32(len(g.NodeSparse)))
	}
	for u := range int32(g.N()) {
		for _, v := range g.Adj(u) {
			c := column[graph.Edge{U: min(u, v), V: max(u, v)}]
			g.EdgeCat = append(g.EdgeCat, c)
			g.EdgeAttr = append(g.EdgeAttr, float32(c)+d.num(min(u, v), events))
		}
	}
	if err := g.Check(); err != nil {
		t.Fatal(err)
	}
	d.g, d.rows.Graph = g, g
	return d
}

func (d *data) num(row int32, events []event) float32 { return events[d.event[row]].num }

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// random returns events with equal and missing times, empty keys, and two columns of one space.
func random(rng *rand.Rand, n int) []event {
	events := make([]event, n)
	for i := range events {
		e := event{table: rng.IntN(2), time: float64(rng.IntN(n)), class: rng.Int32N(4) - 1, num: float32(i)}
		if rng.IntN(8) == 0 {
			e.time = math.NaN()
		}
		for _, s := range spaces {
			k := fmt.Sprintf("%c%d", s, rng.IntN(1+rng.IntN(1+n/3)))
			if rng.IntN(10) == 0 {
				k = ""
			}
			e.keys = append(e.keys, k)
		}
		events[i] = e
	}
	return events
}

// earlier reports whether event i comes before event j of the tables.
func earlier(events []event, i, j int) bool {
	a, b := events[i], events[j]
	return a.time < b.time || a.time == b.time && (a.table < b.table || a.table == b.table && i < j)
}

// text writes a past with the names of nodes in place of their numbers.
func text(d *data, g *graph.Graph, nodes []int32) string {
	var names []string
	for _, v := range nodes {
		names = append(names, d.name[v])
	}
	return fmt.Sprint(names, g.Offsets, g.Neighbors, g.NodeCat, g.NodeAttr, g.EdgeCat, g.EdgeAttr, g.SparseOffsets, g.NodeSparse)
}

func cut(t testing.TB, s past.Settings, d *data, row int32) (*graph.Graph, []int32) {
	t.Helper()
	c := past.Cutter{Settings: s}
	g, nodes, err := c.Cut(&d.rows, row)
	if err == nil {
		err = g.Check()
	}
	if err != nil {
		t.Fatal(err)
	}
	return g, nodes
}

// variants are settings that leave out, cut, and delay.
var variants = []past.Settings{
	{}, {Classes: []string{"b", "c", "a"}}, {Hops: 1}, {Hops: 2, Bound: 1}, {Hops: 6, Bound: 3, Nodes: 300}, {Hops: 5, Bound: 2, Nodes: 9},
	{Classes: []string{"x", "y", "z"}, Delay: 3, Nodes: 17}, {Nodes: 1},
}

// TestCutTable compares the past of each row with that in the graph of the tables which end with the row.
func TestCutTable(t *testing.T) {
	for seed := range uint64(8) {
		rng := rand.New(rand.NewPCG(seed, 1))
		events := random(rng, 5+rng.IntN(60))
		whole := build(t, events, nil)
		for r := range int32(len(events)) {
			root := whole.event[r]
			var left []event
			for i, e := range events {
				if i == root || earlier(events, i, root) {
					left = append(left, e)
				}
			}
			short := build(t, left, nil)
			last := int32(len(left) - 1)
			for _, s := range variants {
				g, nodes := cut(t, s, whole, r)
				got := text(whole, g, nodes)
				g, nodes = cut(t, s, short, last)
				if want := text(short, g, nodes); got != want {
					t.Fatalf("seed %d, row %d, %+v:\n%s\nwant\n%s", seed, r, s, got, want)
				}
			}
		}
	}
}

// TestRenumbered gives the keys other numbers, lists rows in another order and moves the times: no past
// changes.
func TestRenumbered(t *testing.T) {
	for seed := range uint64(8) {
		rng := rand.New(rand.NewPCG(seed, 2))
		events := random(rng, 5+rng.IntN(60))
		moved := slices.Clone(events)
		for i := range moved {
			moved[i].time += 1 << 20
		}
		// Rows of equal time keep their order, which decides.
		slices.SortStableFunc(moved, func(a, b event) int { return cmp.Compare(math.Mod(a.time*7, 13), math.Mod(b.time*7, 13)) })
		one := build(t, events, nil)
		two := build(t, moved, func(keys []string) { rng.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] }) })
		for r := range int32(one.rows.Timed) {
			for _, s := range append(variants, past.Settings{Future: true, Classes: []string{"a", "b", "c"}}) {
				g, nodes := cut(t, s, one, r)
				got := text(one, g, nodes)
				g, nodes = cut(t, s, two, r)
				if want := text(two, g, nodes); got != want {
					t.Fatalf("seed %d, row %d, %+v:\n%s\nwant\n%s", seed, r, s, got, want)
				}
			}
		}
	}
}

// TestWalk compares the nodes, the edges and what is known with a search in the events.
func TestWalk(t *testing.T) {
	for seed := range uint64(12) {
		rng := rand.New(rand.NewPCG(seed, 3))
		events := random(rng, 5+rng.IntN(60))
		d := build(t, events, nil)
		s := past.Settings{
			Hops: 1 + rng.IntN(6), Bound: 1 + rng.IntN(4), Nodes: 5000, Future: seed%3 == 2, Delay: float64(seed % 4), Classes: []string{"n", "m", "l"},
		}
		if seed%2 == 1 {
			for range 3 {
				d.rows.Cuts = append(d.rows.Cuts, rng.IntN(1+len(events)))
			}
			slices.Sort(d.rows.Cuts)
		}
		for r := range int32(len(events)) {
			root := d.event[r]
			asker, none := root, false // the row to which classes were known last
			if cuts := d.rows.Cuts; len(cuts) > 0 && int(r) < cuts[2] {
				if none = int(r) < cuts[0]; !none {
					asker = d.event[cuts[btoi(cuts[1] <= int(r))]]
				}
			}
			g, nodes := cut(t, s, d, r)
			names := map[string]bool{}
			for _, v := range nodes {
				names[d.name[v]] = true
			}
			want := map[string]bool{d.name[r]: true}
			rows, ring := map[int]bool{root: true}, []int{root}
			for hop := 0; hop < s.Hops && len(ring) > 0; hop += 2 {
				keys := map[string]bool{}
				for _, i := range ring {
					for _, k := range events[i].keys {
						if k != "" && !want[k] {
							want[k], keys[k] = true, true
						}
					}
				}
				if ring = nil; hop+1 == s.Hops {
					break
				}
				for k := range keys {
					var before, after []int
					for i, e := range events {
						switch has := slices.Contains(e.keys, k); {
						case has && earlier(events, i, root):
							before = append(before, i)
						case has && earlier(events, root, i):
							after = append(after, i)
						}
					}
					order := func(i, j int) int { return 1 - 2*btoi(earlier(events, i, j)) }
					slices.SortFunc(before, order)
					slices.SortFunc(after, order)
					behind := before[max(0, len(before)-s.Bound):]
					if s.Future {
						behind = append(behind, after[:min(len(after), s.Bound)]...)
					}
					for _, i := range behind {
						if !rows[i] {
							rows[i] = true
							want[fmt.Sprint("row ", events[i].num)] = true
							ring = append(ring, i)
						}
					}
				}
			}
			if !maps.Equal(names, want) {
				t.Fatalf("seed %d, row %d, %+v: %v, want %v", seed, r, s, names, want)
			}
			edges := 0
			for i := range rows {
				in := map[string]bool{}
				for _, k := range events[i].keys {
					if k != "" && want[k] {
						in[k] = true
					}
				}
				edges += len(in)
			}
			if g.M() != edges {
				t.Fatalf("seed %d, row %d, %+v: %d edges, want %d", seed, r, s, g.M(), edges)
			}
			for i := range g.N() {
				for e := g.Offsets[i]; e < g.Offsets[i+1]; e++ {
					key, row := nodes[i], nodes[g.Neighbors[e]]
					if int(row) >= len(events) {
						key, row = row, key
					}
					turn, other := int32(3), d.event[row]
					if slices.Contains(d.g.Adj(r), key) && row != r && s.Hops > 1 {
						turn = 0
						if earlier(events, root, other) {
							turn = 1
						} else if !slices.ContainsFunc(d.g.Adj(key), func(x int32) bool { return earlier(events, other, d.event[x]) && earlier(events, d.event[x], root) }) {
							turn = 2
						}
					}
					if got := g.EdgeCat[2*e+1]; got != turn {
						t.Fatalf("seed %d, row %d, %+v: %s at %s has the turn %d, want %d", seed, r, s, d.name[row], d.name[key], got, turn)
					}
				}
			}
			for i, v := range nodes {
				class, before := int32(3), math.NaN()
				if int(v) < len(events) {
					e := events[d.event[v]]
					since := events[root].time - e.time
					known := s.Future || !none && earlier(events, d.event[v], asker) && (s.Delay == 0 || e.time+s.Delay < events[asker].time)
					if before = math.Copysign(math.Log1p(math.Abs(since)), since); i == 0 {
						before, known = 0, false
					}
					if known && e.class >= 0 {
						class = 2 - e.class // n, m, l sorted
					}
				}
				if got := g.NodeCat[2*i+1]; got != class {
					t.Fatalf("seed %d, row %d, %+v: %s has the known class %d, want %d", seed, r, s, d.name[v], got, class)
				}
				if got := g.NodeAttr[3*i+2]; got != float32(before) && (got == got || before == before) {
					t.Fatalf("seed %d, row %d: %s is %v before, want %v", seed, r, d.name[v], got, before)
				}
			}
		}
	}
}

// TestLatestFirst looks at the order of the rows behind keys: by turns, the latest first.
func TestLatestFirst(t *testing.T) {
	var events []event
	for i := range 10 {
		keys := []string{"a1", "", "p1", ""}
		if i%2 == 0 {
			keys[2] = ""
		}
		events = append(events, event{time: float64(i), keys: keys, num: float32(i), class: -1})
	}
	d := build(t, events, nil)
	_, nodes := cut(t, past.Settings{Bound: 3, Hops: 2}, d, 9)
	// At a1 are 8, 7, 6; at p1 7, 5, 3.
	if want := []int32{9, 10, 11, 8, 7, 5, 6, 3}; !slices.Equal(nodes, want) {
		t.Errorf("the nodes are %v, want %v", nodes, want)
	}
}

// TestNew compares the past of a row that is not in the graph with that of the row in the graph that has it.
func TestNew(t *testing.T) {
	for seed := range uint64(8) {
		rng := rand.New(rand.NewPCG(seed, 4))
		events := random(rng, 5+rng.IntN(60))
		last := len(events) - 1
		events[last].table = 1
		for i := range events { // the new row is the last of its time
			if events[i].time >= events[last].time && i != last {
				events[i].time = events[last].time - float64(rng.IntN(2))
			}
		}
		whole, d := build(t, events, nil), build(t, events[:last], nil)
		r := int32(slices.Index(whole.event, last))
		// The star of the row.
		var edges []graph.Edge
		var number []int32
		adj := whole.g.Adj(r)
		star := &graph.Graph{NodeCats: 1, NodeAttrs: 2, EdgeCats: 1, EdgeAttrs: 1, SparseCard: 4}
		star.SparseOffsets = []int32{0}
		for i, v := range append([]int32{r}, adj...) {
			star.NodeCat = append(star.NodeCat, whole.g.NodeCat[v])
			star.NodeAttr = append(star.NodeAttr, whole.g.NodeAttr[2*v:2*v+2]...)
			star.NodeSparse = append(star.NodeSparse, whole.g.Sparse(v)...)
			star.SparseOffsets = append(star.SparseOffsets, int32(len(star.NodeSparse)))
			at := -1
			if i > 0 {
				edges = append(edges, graph.Edge{V: int32(i)})
				at = slices.Index(d.name, whole.name[v])
			}
			number = append(number, int32(at))
		}
		h, err := graph.New(len(number), false, edges)
		if err != nil {
			t.Fatal(err)
		}
		star.Offsets, star.Neighbors = h.Offsets, h.Neighbors
		row := whole.g.Offsets[r]
		for range 2 { // of the star, its hub first
			for i := range adj {
				star.EdgeCat = append(star.EdgeCat, whole.g.EdgeCat[int(row)+i])
				star.EdgeAttr = append(star.EdgeAttr, whole.g.EdgeAttr[int(row)+i])
			}
		}
		for _, s := range variants {
			g, nodes := cut(t, s, whole, r)
			got := text(whole, g, nodes)
			unknown := 0
			c := past.Cutter{Settings: s}
			g, nodes, err := c.CutNew(&d.rows, past.New{Graph: star, Nodes: number, Time: events[last].time})
			if err != nil {
				t.Fatal(err)
			}
			named := slices.Clone(nodes)
			for i, v := range nodes { // a key of the new row alone has no name in d
				if v < 0 {
					unknown++
					named[i] = int32(len(d.name))
				}
			}
			of := *d
			of.name = append(slices.Clone(d.name), "new")
			if unknown == 1 && len(nodes) > 0 {
				of.name[len(d.name)] = whole.name[r]
				if want := text(&of, g, named); got != want {
					t.Fatalf("seed %d, %+v:\n%s\nwant\n%s", seed, s, want, got)
				}
			} else if g0, _ := cut(t, s, whole, r); fmt.Sprint(g0) != fmt.Sprint(g) {
				t.Fatalf("seed %d, %+v, %d new nodes: another graph", seed, s, unknown)
			}
		}
	}
}

// TestTail compares the past of each row of a graph with a tail, and of a new row, with that in one graph of all.
func TestTail(t *testing.T) {
	for seed := range uint64(8) {
		rng := rand.New(rand.NewPCG(seed, 9))
		events := random(rng, 10+rng.IntN(60))
		for i := range events {
			events[i].table = 0 // of one time, the place decides
		}
		m := 1 + rng.IntN(len(events)-1)
		whole, d := build(t, events, nil), build(t, events[:m], nil)
		tail := &past.Tail{Graph: &graph.Graph{Offsets: []int32{0}, NodeCats: 1, NodeAttrs: 2, EdgeCats: 1, EdgeAttrs: 1, SparseCard: 4, SparseOffsets: []int32{0}}, Behind: map[int32][]int32{}}
		g := tail.Graph
		number := map[string]int32{}
		for v, name := range d.name {
			number[name] = int32(v)
		}
		add := func(name string, at int, x float64, class int32) { // node at of whole
			number[name] = int32(len(d.name))
			d.name = append(d.name, name)
			tail.Time, tail.Class = append(tail.Time, x), append(tail.Class, class)
			g.NodeCat, g.NodeAttr = append(g.NodeCat, whole.g.NodeCat[at]), append(g.NodeAttr, whole.g.NodeAttr[2*at:2*at+2]...)
			g.NodeSparse = append(g.NodeSparse, whole.g.Sparse(int32(at))...)
			g.SparseOffsets = append(g.SparseOffsets, int32(len(g.NodeSparse)))
			g.Offsets = append(g.Offsets, int32(len(g.Neighbors)))
		}
		for i, e := range events[m:] {
			r := int32(slices.Index(whole.event, m+i))
			for _, v := range whole.g.Adj(r) {
				if _, ok := number[whole.name[v]]; !ok {
					add(whole.name[v], int(v), 0, -1)
				}
			}
			add(whole.name[r], int(r), e.time, e.class)
			node := number[whole.name[r]]
			for j, v := range whole.g.Adj(r) {
				key := number[whole.name[v]]
				from := int(whole.g.Offsets[r]) + j
				g.Neighbors = append(g.Neighbors, key)
				g.EdgeCat, g.EdgeAttr = append(g.EdgeCat, whole.g.EdgeCat[from]), append(g.EdgeAttr, whole.g.EdgeAttr[from])
				if e.time != e.time {
					continue
				}
				rows, ok := tail.Behind[key]
				if !ok && int(key) < d.g.N() {
					rows = slices.DeleteFunc(slices.Clone(d.g.Adj(key)), func(r int32) bool { return d.rows.Time[r] != d.rows.Time[r] })
				}
				at := slices.IndexFunc(rows, func(r int32) bool {
					if n := d.g.N(); int(r) >= n {
						return tail.Time[int(r)-n] > e.time
					}
					return d.rows.Time[r] > e.time
				})
				if at < 0 {
					at = len(rows)
				}
				tail.Behind[key] = slices.Insert(rows, at, node)
			}
			g.Offsets[g.N()] = int32(len(g.Neighbors))
		}
		d.rows.Tail = tail
		for _, s := range variants {
			for v, name := range whole.name[:len(events)] {
				a, of := cut(t, s, whole, int32(v))
				want := text(whole, a, of)
				b, nodes := cut(t, s, d, number[name])
				if got := text(d, b, nodes); got != want {
					t.Fatalf("seed %d, %+v, %s:\n%s\nwant\n%s", seed, s, name, got, want)
				}
			}
			star := &graph.Graph{Offsets: []int32{0, 1, 2}, Neighbors: []int32{1, 0}, NodeCats: 1, NodeAttrs: 2, EdgeCats: 1, EdgeAttrs: 1, SparseCard: 4, SparseOffsets: []int32{0, 0, 0}, NodeCat: []int32{0, 'p'}, NodeAttr: make([]float32, 4), EdgeCat: []int32{2, 2}, EdgeAttr: make([]float32, 2)}
			new := func(d *data) string {
				c := past.Cutter{Settings: s}
				key := slices.Index(d.name, "p0")
				g, nodes, err := c.CutNew(&d.rows, past.New{Graph: star, Nodes: []int32{-1, int32(key)}, Time: float64(len(events)) / 2})
				if err != nil {
					t.Fatal(err)
				}
				return text(d, g, nodes[1:])
			}
			if got, want := new(d), new(whole); got != want {
				t.Fatalf("seed %d, %+v, a new row:\n%s\nwant\n%s", seed, s, got, want)
			}
		}
	}
}

// TestErrors gives a Cutter what contradicts itself.
func TestErrors(t *testing.T) {
	d := build(t, random(rand.New(rand.NewPCG(1, 5)), 20), nil)
	wrong := d.rows
	wrong.N = d.g.N() + 1
	cuts := d.rows
	cuts.Cuts = []int{3, 21}
	short := d.rows
	short.Time = short.Time[:1]
	directed := *d.g
	directed.Directed = true
	wrongWay := d.rows
	wrongWay.Graph = &directed
	star := graph.Graph{Offsets: []int32{0, 0}, NodeCat: []int32{0}, NodeCats: 1}
	for name, err := range map[string]error{
		"rows":     second(new(past.Cutter).Cut(&wrong, 0)),
		"cuts":     second(new(past.Cutter).Cut(&cuts, 0)),
		"times":    second(new(past.Cutter).Cut(&short, 0)),
		"directed": second(new(past.Cutter).Cut(&wrongWay, 0)),
		"key":      second(new(past.Cutter).Cut(&d.rows, int32(d.rows.N))),
		"bound":    second((&past.Cutter{Settings: past.Settings{Bound: -1}}).Cut(&d.rows, 0)),
		"delay":    second((&past.Cutter{Settings: past.Settings{Delay: math.NaN()}}).Cut(&d.rows, 0)),
		"star":     second(new(past.Cutter).CutNew(&d.rows, past.New{Graph: &star, Nodes: []int32{-1}})),
		"no star":  second(new(past.Cutter).CutNew(&d.rows, past.New{Graph: d.g, Nodes: make([]int32, d.g.N())})),
		"nothing":  second(new(past.Cutter).CutNew(&d.rows, past.New{})),
	} {
		if err == nil {
			t.Errorf("%s: there is no error", name)
		}
	}
}

func second(_ *graph.Graph, _ []int32, err error) error { return err }
