package sources_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/internal/leak"
	"github.com/sanflow/sanflow/sources"
)

// drawRows draws payments, logins, and a table of accounts.
func drawRows(r *rand.Rand, ints bool) (payments, logins, accounts table) {
	name := func(v int) any {
		if ints {
			return int64(v*v*7 - 40)
		}
		return []string{"ada", "Smith, J.", "", "Ö", "a\"b", "z"}[v%6] + "_" + fmt.Sprint(v)
	}
	maybe := func(v any) any {
		if r.IntN(5) == 0 {
			return nil
		}
		return v
	}
	payments.names = []string{"source", "target", "shop", "amount", "kind", "when", "fraud", "part"}
	logins.names = []string{"who", "device", "amount", "kind", "when", "fraud"}
	accounts.names = []string{"name", "age", "city"}
	n := 2 + r.IntN(6)
	class := func() any { return maybe([]string{"no", "yes"}[r.IntN(2)]) }
	for v := range n + 2 {
		if v == 0 || r.IntN(3) > 0 {
			accounts.rows = append(accounts.rows, []any{name(v), float64(r.IntN(100)) / 8, maybe([]string{"Rome", "Köln"}[r.IntN(2)])})
		}
	}
	payments.rows = [][]any{{name(0), name(1), "s1", 0.5, "card", int64(3), "no", "train"}, {name(0), name(0), "s1", 0.5, "card", int64(3), "yes", "val"}}
	for range r.IntN(30) {
		payments.rows = append(payments.rows, []any{maybe(name(r.IntN(n))), maybe(name(r.IntN(n))), maybe(fmt.Sprint("s", r.IntN(3))),
			r.NormFloat64(), maybe([]string{"card", "cash"}[r.IntN(2)]), maybe(int64(r.IntN(8))), class(), maybe([]string{"train", "val", "test"}[r.IntN(3)])})
	}
	logins.rows = [][]any{{name(0), "d0", 1.5, "web", int64(2), "no"}}
	for range r.IntN(12) {
		logins.rows = append(logins.rows, []any{maybe(name(r.IntN(n))), maybe(fmt.Sprint("d", r.IntN(3))), float64(r.IntN(9)) + 0.5, maybe("web"), maybe(int64(r.IntN(8))), class()})
	}
	return payments, logins, accounts
}

func rowsOf(payments, logins, accounts sources.Table) sources.Rows {
	return sources.Rows{
		Tables: []sources.RowTable{
			{Table: payments, Name: "payment", Time: "when", Class: "fraud", Part: "part",
				Keys: []sources.Key{{Column: "source", Space: "account"}, {Column: "target", Space: "account"}, {Column: "shop"}}},
			{Table: logins, Name: "login", Time: "when", Class: "fraud", Keys: []sources.Key{{Column: "who", Space: "account"}, {Column: "device"}}},
		},
		Nodes: []sources.KeyTable{{Space: "account", Table: accounts, ID: "name"}},
	}
}

// rowLines has a line for each node, in the order of nodes, that names nodes by ids and not by numbers.
func rowLines(t *testing.T, s *sources.RowSet) (lines []string) {
	t.Helper()
	g := s.Graph
	if err := g.Check(); err != nil {
		t.Fatal(err)
	}
	if err := s.IDs.Check(); err != nil {
		t.Fatal(err)
	}
	for v := range int32(g.N()) {
		line := s.IDs.Name(v)
		for c, ch := range s.Channels.NodeCat {
			if word, ok := ch.Word(g.NodeCat[int(v)*g.NodeCats+c]); ok && word != "" {
				line += fmt.Sprintf(" %s=%s", ch.Name, word)
			}
		}
		for c, ch := range s.Channels.NodeAttr {
			if x := g.NodeAttr[int(v)*g.NodeAttrs+c]; x == x {
				line += fmt.Sprintf(" %s=%v", ch.Name, x)
			}
		}
		if c := s.Class[v]; c >= 0 {
			line += " class " + s.Classes[c]
		}
		line += " " + s.Split[v].String()
		if int(v) < s.Rows {
			line += fmt.Sprintf(" at %v", s.Time[v])
			for j, k := range s.Keys {
				if key := s.RowKeys[int(v)*len(s.Keys)+j]; key >= 0 {
					line += fmt.Sprintf(" key %s=%s", k.Column, s.IDs.Name(key))
				}
			}
		}
		for i, u := range g.Adj(v) {
			word, _ := s.Channels.EdgeCat[0].Word(g.EdgeCat[int(g.Offsets[v])+i])
			if int(v) >= s.Rows {
				line += fmt.Sprintf(" -%s- %s", word, s.IDs.Name(u))
			} else if slices.Index(g.Adj(u), v) < 0 {
				t.Fatalf("row %d has the key %d, and not the other way around", v, u)
			}
		}
		lines = append(lines, line)
	}
	return lines
}

// plainRows makes by maps what rowLines has of the rows of tables.
func plainRows(payments, logins, accounts table) (lines []string) {
	type row struct {
		table, at int
		time      float64
		line      string
		key       map[string][]string // columns, by key
	}
	var all []row
	keys := map[string]string{} // line of attributes by id
	for i, t := range []table{payments, logins} {
		for at, values := range t.rows {
			of := map[string]any{}
			for c, name := range t.names {
				of[name] = values[c]
			}
			x := row{table: i, at: at, time: math.NaN(), key: map[string][]string{}}
			if of["when"] != nil {
				x.time = float64(of["when"].(int64))
			}
			x.line = fmt.Sprintf("%s:%d %s=%s", []string{"payment", "login"}[i], at+1, sources.RowNodeType, []string{"payment", "login"}[i])
			if of["kind"] != nil {
				x.line += fmt.Sprintf(" kind=%v", of["kind"])
			}
			x.line += fmt.Sprintf(" amount=%v", float32(of["amount"].(float64)))
			if of["fraud"] != nil {
				x.line += fmt.Sprintf(" class %v", of["fraud"])
			}
			x.line += " " + fmt.Sprint(cmp.Or(of["part"], any("none")))
			x.line += fmt.Sprintf(" at %v", x.time)
			for _, k := range []sources.Key{{"source", "account"}, {"target", "account"}, {"shop", "shop"}, {"who", "account"}, {"device", "device"}} {
				if v := of[k.Column]; v != nil {
					id := fmt.Sprintf("%s:%v", k.Space, v)
					x.line += fmt.Sprintf(" key %s=%s", k.Column, id)
					x.key[id] = append(x.key[id], k.Column)
					keys[id] = fmt.Sprintf("%s %s=%s none", id, sources.RowNodeType, k.Space)
				}
			}
			all = append(all, x)
		}
	}
	for _, values := range accounts.rows {
		id := fmt.Sprintf("account:%v", values[0])
		line := fmt.Sprintf("%s %s=account", id, sources.RowNodeType)
		if values[2] != nil {
			line += fmt.Sprintf(" account: city=%v", values[2])
		}
		keys[id] = line + fmt.Sprintf(" account: age=%v none", float32(values[1].(float64)))
	}
	slices.SortStableFunc(all, func(x, y row) int {
		if math.IsNaN(x.time) || math.IsNaN(y.time) {
			return cmp.Compare(b2i(math.IsNaN(x.time)), b2i(math.IsNaN(y.time)))
		}
		return cmp.Compare(x.time, y.time)
	})
	for _, x := range all {
		lines = append(lines, x.line)
	}
	order := slices.SortedFunc(maps.Keys(keys), func(a, b string) int {
		sa, ia, _ := strings.Cut(a, ":")
		sb, ib, _ := strings.Cut(b, ":")
		var na, nb int
		fmt.Sscan(ia, &na)
		fmt.Sscan(ib, &nb)
		return cmp.Or(cmp.Compare(sa, sb), cmp.Compare(na, nb), cmp.Compare(ia, ib))
	})
	for _, id := range order {
		line := keys[id]
		for _, x := range all {
			if columns := x.key[id]; columns != nil {
				line += fmt.Sprintf(" -%s- %s:%d", strings.Join(columns, ","), []string{"payment", "login"}[x.table], x.at+1)
			}
		}
		lines = append(lines, line)
	}
	return lines
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// TestRowsPlain compares the graph of tables in each format with what maps make of their rows.
func TestRowsPlain(t *testing.T) {
	defer leak.VerifyNone(t)
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 40))
		payments, logins, accounts := drawRows(r, seed%2 == 0)
		want := plainRows(payments, logins, accounts)
		forms(t, payments, accounts, func(form string, p, a sources.Table) {
			set, err := rowsOf(p, logins.csv(','), a).Read(context.Background())
			if err != nil {
				t.Fatal(form, err)
			}
			if set.Rows != len(payments.rows)+len(logins.rows) {
				t.Fatalf("%s: %d rows, want %d and %d", form, set.Rows, len(payments.rows), len(logins.rows))
			}
			got := rowLines(t, set)
			for i := range max(len(got), len(want)) {
				if i >= len(got) || i >= len(want) || got[i] != want[i] {
					t.Fatalf("seed %d, %s: node %d:\n got %q\nwant %q", seed, form, i, got[min(i, len(got)):], want[min(i, len(want)):])
				}
			}
			for v := int32(set.Rows); int(v) < set.Graph.N(); v++ {
				if !slices.IsSorted(set.Graph.Adj(v)) {
					t.Fatalf("the rows of key %s are not in the order of time", set.IDs.Name(v))
				}
			}
		})
	}
}
