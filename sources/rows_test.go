package sources_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/internal/leak"
	"github.com/sanflow/sanflow/sources"
)

// Times of several tables are all numbers, or all points of time, whatever their formats.
func TestRowsKindOfTime(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "t", Type: arrow.FixedWidthTypes.Timestamp_s}, {Name: "k", Type: arrow.BinaryTypes.String}}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	b.Field(0).(*array.TimestampBuilder).Append(86400)
	b.Field(1).(*array.StringBuilder).Append("a")
	rec := b.NewRecord()
	defer rec.Release()
	for _, c := range []struct {
		csv   string
		dates bool
		want  string
	}{
		{"t,k\n1970-01-03,a\n", true, ""},
		{"t,k\n,a\n", true, ""},
		{"t,k\n172800,a\n", false, `column "t": times are numbers, and those of column "t" of records points of time`},
	} {
		records, err := array.NewRecordReader(schema, []arrow.Record{rec})
		if err != nil {
			t.Fatal(err)
		}
		keys := []sources.Key{{Column: "k"}}
		set, err := sources.Rows{Tables: []sources.RowTable{
			{Name: "r", Table: sources.RecordTable{Reader: records}, Keys: keys, Time: "t"},
			{Name: "c", Table: sources.CSV{Reader: strings.NewReader(c.csv)}, Keys: keys, Time: "t"},
		}}.Read(t.Context())
		if c.want != "" {
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%q: %v, want %s", c.csv, err, c.want)
			}
		} else if err != nil || !set.Dates || set.Time[0] != 86400 {
			t.Errorf("%q: %v", c.csv, err)
		}
		records.Release()
	}
}

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
			for _, k := range []sources.Key{{"device", "device"}, {"shop", "shop"}, {"source", "account"}, {"target", "account"}, {"who", "account"}} { // by their columns
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

// TestRowsShuffled: the order of the rows in the file decides nothing where times differ and rows have ids.
func TestRowsShuffled(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 41))
		payments, logins, accounts := drawRows(r, seed%2 == 0)
		for i, when := range r.Perm(len(payments.rows)) {
			payments.rows[i][5] = int64(when)
			payments.rows[i] = append(payments.rows[i], fmt.Sprint("p", i))
		}
		payments.names = append(payments.names, "number")
		logins.rows = logins.rows[:1]
		var want []string
		for range 3 {
			s := rowsOf(payments.csv(','), logins.csv(','), accounts.csv(','))
			s.Tables[0].ID = "number"
			set, err := s.Read(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			for row, at := range set.Place {
				if id := payments.rows[at.Row][slices.Index(payments.names, "number")]; at.Table == 0 && set.IDs.Name(int32(row)) != fmt.Sprint("payment:", id) {
					t.Fatalf("row %d has the id %s and the place %v, which has the id %v", row, set.IDs.Name(int32(row)), at, id)
				}
			}
			if got := rowLines(t, set); want == nil {
				want = got
			} else if !slices.Equal(got, want) {
				t.Fatalf("seed %d:\n got %q\nwant %q", seed, got, want)
			}
			shuffleTable(r, &payments)
			shuffleTable(r, &accounts)
		}
	}
}

// rowTable is a text as a table with the keys a and b.
func rowTable(text string) sources.Rows {
	return sources.Rows{Tables: []sources.RowTable{{Table: sources.CSV{Path: "p.csv", Reader: strings.NewReader(text)}, Time: "t",
		Keys: []sources.Key{{Column: "a"}, {Column: "b"}}}}}
}

// TestRowsTimes: points of time are the seconds since 1970, and the rows are in their order.
func TestRowsTimes(t *testing.T) {
	for text, want := range map[string][]float64{
		"5\n-2.5\n\n1e3":         {-2.5, 5, 1000, math.NaN()},
		"1970-01-02\n1970-01-01": {0, 86400},
		"1970-01-01T00:00:01.5Z\n1970-01-01T01:00:00+01:00": {0, 1.5},
		"1970-01-01 00:01\n\n1970-01-01 00:00:30":           {30, 60, math.NaN()},
		"1700000000.125\n1700000000.25\n1700000000.0625":    {1700000000.0625, 1700000000.125, 1700000000.25},
	} {
		set, err := rowTable("a,b,t\nx,y," + strings.ReplaceAll(text, "\n", "\nx,y,") + "\n").Read(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(set.Time) != fmt.Sprint(want) {
			t.Errorf("%q: times %v, want %v", text, set.Time, want)
		}
	}
}

// TestRowsSplitTime: the parts are those of the order of time, and rows without a time are in none.
func TestRowsSplitTime(t *testing.T) {
	set, err := rowTable("a,b,t\nx,y,9\nx,y,1\nx,,3\nx,y,\nx,y,5\nx,y,7\n").Read(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	train, val, ok, err := sources.ParseTimeSplit("time:0.6,0.2")
	if err != nil || !ok {
		t.Fatal(train, val, ok, err)
	}
	if until, err := set.SplitTime(train, val); err != nil || until != [2]float64{5, 7} {
		t.Fatal(until, err)
	}
	if got := fmt.Sprint(set.Split); got != "[train train train val test none none none]" {
		t.Error(got)
	}
	notes := []string{
		`missing values: 1 of 6 rows of p.csv have none in column "b", key of a row, b`,
		`missing values: 1 of 6 rows of p.csv have none in column "t", time of a row`,
		"left out: 1 of 6 rows have no time, and are in no part",
	}
	if !slices.Equal(set.Notes, notes) {
		t.Errorf("notes %q, want %q", set.Notes, notes)
	}
	same, err := rowTable("a,b,t\nx,y,1\nx,y,2\nx,y,2\nx,y,3\nx,y,4\n").Read(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := same.SplitTime(0.4, 0.4); err != nil || fmt.Sprint(same.Split[:5]) != "[train train train val test]" {
		t.Error("a part ends among rows of one time", same.Split, err)
	}
	for _, parts := range [][2]float64{{0.01, 0.5}, {0.5, 0.01}, {0.5, 0.49}, {0, 0.5}, {0.5, 0.5}} {
		if until, err := same.SplitTime(parts[0], parts[1]); err == nil {
			t.Error(parts, until)
		}
	}
	for _, times := range []string{"x,y,1\nx,y,1\nx,y,2\nx,y,2\nx,y,2\n", "x,y,1\nx,y,1\nx,y,1\nx,y,1\nx,y,1\n", "x,y,1\nx,y,1\nx,y,1\nx,y,1\nx,y,2\n"} {
		few, err := rowTable("a,b,t\n" + times).Read(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if until, err := few.SplitTime(0.4, 0.4); err == nil || !strings.Contains(err.Error(), "equal times leave no rows") {
			t.Errorf("times %q: %v, %v", times, until, err)
		}
	}
	for _, text := range []string{"time:", "time:0.6", "time:1,0", "time:0.6,0.5", "time:a,b", "time:0,0.5", "time:0.5,-0.1", "time:NaN,0"} {
		if _, _, ok, err := sources.ParseTimeSplit(text); !ok || err == nil {
			t.Errorf("%s is read", text)
		}
	}
	if _, _, ok, err := sources.ParseTimeSplit("part"); ok || err != nil {
		t.Error("a column is read as parts of the time", err)
	}
}

// TestRowsAgain: ids that follow integers as text, and numbers with an offset, are read again; two tables with a
// column of one name have one offset.
func TestRowsAgain(t *testing.T) {
	dir := t.TempDir()
	var p, q strings.Builder
	p.WriteString("a,b,t,x,v\n")
	q.WriteString("c,t,x\n")
	for i := range 20000 {
		fmt.Fprintf(&p, "%d,k,%d,%d,%d.5\n", i%10, i, 1700000000+i%3, i)
	}
	p.WriteString("ann,k,0,1700000002,\n")
	fmt.Fprintf(&q, "ann,3,1700000001\n7,3,\n")
	for name, text := range map[string]string{"p.csv": p.String(), "q.csv": q.String()} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := sources.Rows{Tables: []sources.RowTable{
		{Table: sources.CSV{Path: filepath.Join(dir, "p.csv")}, Name: "p", Time: "t", Value: "v", Keys: []sources.Key{{Column: "a"}, {Column: "b"}}},
		{Table: sources.CSV{Path: filepath.Join(dir, "q.csv")}, Name: "q", Time: "t", Keys: []sources.Key{{Column: "c", Space: "a"}}},
	}}
	set, err := s.Read(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if set.Rows != 20003 || set.Graph.N() != 20003+12 {
		t.Errorf("%d rows and %d nodes", set.Rows, set.Graph.N())
	}
	ch := set.Channels.NodeAttr[0]
	if ch.Name != "x" || ch.Offset != 1700000000 {
		t.Errorf("channel %v, want the offset 1700000000", ch)
	}
	rows := map[string]int{"p.csv": 0, "q.csv": 0}
	for r, at := range set.Place {
		x, v := set.Graph.NodeAttr[r], set.Targets[r]
		switch {
		case at.Table == 0 && at.Row < 20000:
			if x != float32(at.Row%3) || v != float32(at.Row)+0.5 {
				t.Fatalf("row %v has the number %v and the value %v", at, x, v)
			}
		case at == sources.RowPlace{Table: 1, Row: 0}:
			if x != 1 || v == v {
				t.Fatalf("row %v has the number %v and the value %v", at, x, v)
			}
		case at == sources.RowPlace{Table: 1, Row: 1}:
			if x == x {
				t.Fatalf("row %v has the number %v, want none", at, x)
			}
		}
		rows[[]string{"p.csv", "q.csv"}[at.Table]]++
	}
	if rows["p.csv"] != 20001 || rows["q.csv"] != 2 {
		t.Error(rows)
	}
}

// TestRowsErrors: settings and files that are wrong give errors that name the table, the row and the column.
func TestRowsErrors(t *testing.T) {
	const good = "a,b,t,x\nu,v,1,2.5\nu,w,2,3\n"
	set := func(do func(s *sources.Rows)) sources.Rows {
		s := rowTable(good)
		do(&s)
		return s
	}
	nodes := func(space, text string) sources.Rows {
		return set(func(s *sources.Rows) {
			s.Nodes = []sources.KeyTable{{Space: space, Table: sources.CSV{Path: "n.csv", Reader: strings.NewReader(text)}}}
		})
	}
	for want, s := range map[string]sources.Rows{
		"Rows: there are no Tables":                               {},
		"table row has no Keys":                                   set(func(s *sources.Rows) { s.Tables[0].Keys = nil }),
		"two tables have the name":                                set(func(s *sources.Rows) { s.Tables = append(s.Tables, s.Tables[0]) }),
		`has the column "a", want a`:                              set(func(s *sources.Rows) { s.Tables[0].Keys[1].Column = "a" }),
		"a table and of a space":                                  set(func(s *sources.Rows) { s.Tables[0].Name = "a" }),
		"Memory is -1":                                            set(func(s *sources.Rows) { s.Memory = -1 }),
		"raise Memory":                                            set(func(s *sources.Rows) { s.Memory = 1000 }),
		`p.csv: there is no column "q"`:                           set(func(s *sources.Rows) { s.Tables[0].Keys[1].Column = "q" }),
		`p.csv: there is no column "z"`:                           set(func(s *sources.Rows) { s.Tables[0].Class = "z" }),
		"Class a and Value b":                                     set(func(s *sources.Rows) { s.Tables[0].Class, s.Tables[0].Value = "a", "b" }),
		`no key has that space`:                                   nodes("c", "id\nu\n"),
		`n.csv:3: row 2: column "id": "u" is the id of row 1 too`: nodes("a", "id,y\nu,1\nu,2\n"),
		`row 2: column "t": "b", want a finite`:                   rowTable("a,b,t\nu,v,1\nu,w,b\n"),
		`row 2: column "t": "3", want a time`:                     rowTable("a,b,t\nu,v,2020-01-01\nu,w,3\n"),
		`row 5: column "x": "y"`:                                  rowTable("a,b,t,x\nu,v,1,1\nu,v,1,2\nu,v,1,3\nu,v,1,4\nu,v,1,y\n"),
		"there is no row":                                         rowTable("a,b,t\n"),
		`"1.0" is the id "1", written in another way`:             rowTable("a,b,t\n1,v,1\n1.0,v,2\nu,v,2\n"),
		`the name of another channel`:                             rowTable("a,b,t," + sources.RowNodeType + "\nu,v,1,x\n"),
	} {
		if _, err := s.Read(context.Background()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	for want, text := range map[string]string{
		`row 3: column "x": "p" is the id of row 1 too`: "a,b,t,x\nu,v,1,p\nu,v,2,q\nu,v,3,p\n",
		`row 2: column "x": there is no value`:          "a,b,t,x\nu,v,1,p\nu,v,2,\n",
		`have the same id "a:u"`:                        "a,b,t,x\nu,v,1,a:u\n",
	} {
		s := rowTable(text)
		s.Tables[0].ID = "x"
		if _, err := s.Read(context.Background()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	ctx, stop := context.WithCancelCause(context.Background())
	stop(io.ErrClosedPipe)
	if _, err := rowTable(good).Read(ctx); !errors.Is(err, io.ErrClosedPipe) {
		t.Error(err)
	}
}
