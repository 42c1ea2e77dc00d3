package sources_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/sources"
)

// TestTablesRepeated compares what rows with the same ends become with what a map of all rows says, in any order of rows.
func TestTablesRepeated(t *testing.T) {
	type row struct {
		kind         string
		amount, when float32
	}
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 5))
		many, directed := seed%2 == 0, seed%4 < 2
		repeated := [][]string{nil, {"count", "sum"}, {"mean", "max", "min"}, {"first"}, {"last", "count"}, {}, {"sum"}}[r.IntN(7)]
		var text []string
		rows := map[string][]row{}
		kept, lines := int64(0), int64(0)
		for range 2 + r.IntN(40) {
			g, u, v := 0, r.IntN(5), r.IntN(5)
			if many {
				g = r.IntN(3)
			}
			x := row{[]string{"card", "wire"}[r.IntN(2)], float32(r.IntN(9)) / 8, float32(r.IntN(6))}
			lines++
			text = append(text, fmt.Sprintf("%d,n%d,n%d,%s,%v,%v\n", g, u, v, x.kind, x.amount, x.when))
			if u == v {
				continue
			}
			kept++
			rows[fmt.Sprint(g, " n", u, " n", v)] = append(rows[fmt.Sprint(g, " n", u, " n", v)], x)
			if !directed {
				rows[fmt.Sprint(g, " n", v, " n", u)] = append(rows[fmt.Sprint(g, " n", v, " n", u)], x)
			}
		}
		edges := int64(len(rows))
		if !directed {
			edges /= 2
		}
		names := []string{"amount", "time"}
		list := repeated
		if repeated == nil && kept > edges {
			list = []string{"count", "sum"}
		}
		for _, of := range []string{"count", "sum", "mean", "min", "max"} {
			switch {
			case !slices.Contains(list, of):
			case of == "count":
				names = append(names, "count of rows")
			case of == "sum":
				names = append(names, "sum of amount")
			default:
				names = append(names, of+" of time", of+" of amount")
			}
		}
		want := map[string]string{}
		for ends, x := range rows {
			slices.SortFunc(x, func(a, b row) int {
				time := cmp.Compare(a.when, b.when)
				if !slices.Contains(list, "first") && !slices.Contains(list, "last") {
					time = 0
				} else if slices.Contains(list, "last") {
					time = -time
				}
				return cmp.Or(time, cmp.Compare(a.kind, b.kind), cmp.Compare(a.when, b.when), cmp.Compare(a.amount, b.amount))
			})
			number := map[string]float64{"count of rows": float64(len(x)), "amount": float64(x[0].amount), "time": float64(x[0].when), "min of amount": math.Inf(1), "min of time": math.Inf(1)}
			for _, y := range x {
				for name, v := range map[string]float64{"amount": float64(y.amount), "time": float64(y.when)} {
					number["sum of "+name] += v
					number["mean of "+name] = number["sum of "+name] / float64(len(x))
					number["min of "+name] = min(number["min of "+name], v)
					number["max of "+name] = max(number["max of "+name], v)
				}
			}
			want[ends] = "kind=" + x[0].kind
			for _, name := range names {
				want[ends] += fmt.Sprintf(" %s=%v", name, float32(number[name]))
			}
		}
		for range 2 {
			rand.Shuffle(len(text), func(i, j int) { text[i], text[j] = text[j], text[i] })
			s := csvTables("g,source,target,kind,amount,when\n"+strings.Join(text, ""), "")
			s.Directed, s.Edges.Time, s.Edges.Repeated, s.Edges.Offsets = directed, "when", repeated, map[string]float64{}
			if s.Edges.Graph = "g"; !many {
				s.Edges.Graph = ""
				if s.Edges.Ignore = []string{"g"}; repeated == nil && seed%3 == 0 {
					s.Edges.Attributes = []string{"kind", "amount"}
				}
			}
			set, err := s.Read(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if s.Edges.Attributes != nil && list != nil {
				if len(set.Layout.EdgeAttr) != 2 || set.Layout.Columns.Repeated != "" {
					t.Errorf("attributes are chosen, and there are %v too", set.Layout.EdgeAttr)
				}
				continue
			}
			if got := set.Layout.Columns.Repeated; got != strings.Join(list, ",") {
				t.Errorf("seed %d: %q, want %q", seed, got, list)
			}
			got := 0
			for _, it := range set.Items {
				g := it.Graph
				if err := g.Check(); err != nil {
					t.Fatal(err)
				}
				for v := range int32(g.N()) {
					for i, u := range g.Adj(v) {
						e := int(g.Offsets[v]) + i
						word, _ := set.Layout.EdgeCat[0].Word(g.EdgeCat[e*g.EdgeCats])
						line := "kind=" + word
						for _, name := range names {
							c := slices.IndexFunc(set.Layout.EdgeAttr, func(c record.Channel) bool { return c.Name == name })
							if c < 0 || g.EdgeAttrs != len(names) {
								t.Fatalf("seed %d: channels %v, want %q", seed, set.Layout.EdgeAttr, names)
							}
							_, is := set.Layout.OfRepeated(name)
							if statistic := name != "amount" && name != "time"; statistic != is {
								t.Errorf("seed %d: whether %q is of repeated rows is %v", seed, name, !statistic)
							}
							line += fmt.Sprintf(" %s=%v", name, g.EdgeAttr[e*g.EdgeAttrs+c])
						}
						ends := fmt.Sprint(it.ID, " ", it.NodeID.Name(v), " ", it.NodeID.Name(u))
						if got++; line != want[ends] {
							t.Fatalf("seed %d, %v: edge %s: %s, want %s", seed, repeated, ends, line, want[ends])
						}
					}
				}
			}
			if got != len(rows) {
				t.Fatalf("%d entries, want %d", got, len(rows))
			}
		}
	}
}

// TestTablesRepeatedErrors: what cannot be done with repeated rows is an error that names the row or the flag.
func TestTablesRepeatedErrors(t *testing.T) {
	const edges = "source,target,amount\na,b,1\nb,c,1\nb,a,2\nb,c,1\n"
	for want, list := range map[string][]string{
		`row 3: column "target": the row names the edge of row 1 again, and so do 2 of 4 rows`: {"error"},
		`"median", want count`:             {"median"},
		"count is there twice":             {"count", "count"},
		"error is not used together":       {"error", "sum"},
		"first and last are both set":      {"first", "last"},
		"has first, and the edges have no": {"first"},
	} {
		s := csvTables(edges, "")
		if s.Edges.Repeated = list; want[0] == 'r' {
			for _, many := range []bool{false, true} {
				s := csvTables("source,target,amount,g\na,b,1,7\nb,c,1,7\nb,a,2,7\nb,c,1,7\n", "")
				if s.Edges.Repeated = list; many {
					s.Edges.Graph = "g"
				}
				if _, err := s.Read(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("error %v, want %s", err, want)
				}
			}
			continue
		}
		if _, err := s.Read(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	s := csvTables("source,target,amount,sum of amount\na,b,1,2\nb,a,2,2\n", "")
	if _, err := s.Read(t.Context()); err == nil || !strings.Contains(err.Error(), "the name of a channel of repeated rows; ignore the column, or -repeated none") {
		t.Error(err)
	}
	// Rows that list each edge in both directions are no repeated ones.
	for _, list := range [][]string{{"error"}, nil} {
		s := csvTables("source,target,amount\na,b,1\nb,a,1\n", "")
		s.Edges.Repeated = list
		if set, err := s.Read(t.Context()); err != nil || len(set.Layout.EdgeAttr) != 1 || len(set.Notes) > 0 {
			t.Error(set, err)
		}
	}
	for text, want := range map[string]int{"none": 0, "count": 1, "count,last": 2} {
		if list, err := sources.ParseRepeated(text); err != nil || list == nil || len(list) != want {
			t.Error(text, list, err)
		}
	}
	if list, err := sources.ParseRepeated(""); err != nil || list != nil {
		t.Error(list, err)
	}
	if _, err := sources.ParseRepeated("count,"); err == nil {
		t.Error("count, is read")
	}
}

// TestTablesRepeatedFar: numbers with an offset have statistics with the offset, and sums without; missing numbers are left out.
func TestTablesRepeatedFar(t *testing.T) {
	path := filepath.Join(t.TempDir(), "e.csv")
	if err := os.WriteFile(path, []byte("source,target,x\na,b,1700000003.5\nb,a,1700000000.25\na,b,\nb,c,\nc,b,\nc,d,1700000001\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := csvTables("", "")
	s.Edges.Table = sources.CSV{Path: path}
	s.Edges.Repeated = []string{"count", "sum", "mean", "min", "max"}
	set, err := s.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	nan := math.NaN()
	for i, want := range [][]float64{{1700000000.25, 3, 3400000003.75, 1700000001.875, 1700000000.25, 1700000003.5}, {nan, 2, nan, nan, nan, nan}, {1700000001, 1, 1700000001, 1700000001, 1700000001, 1700000001}} {
		e := set.Items[0].Graph.Entry(int32(i), int32(i)+1)
		for c, ch := range set.Layout.EdgeAttr {
			x := float64(set.Items[0].Graph.EdgeAttr[e*len(set.Layout.EdgeAttr)+c]) + ch.Offset
			if ch.Name == "sum of x" && ch.Offset == 0 {
				want[c] = float64(float32(want[c]))
			}
			if x != want[c] && (x == x || want[c] == want[c]) {
				t.Errorf("edge %d: %s is %v, want %v", i, ch.Name, x, want[c])
			}
		}
	}
}
