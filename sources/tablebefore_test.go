package sources_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/sources"
)

// TestEdgesBefore cuts tables of edges at a time: the graph is that of the table without the rows from that time on and without
// those of unknown time, also where rows have the same ends, in two formats.
func TestEdgesBefore(t *testing.T) {
	tables := map[string]func(rows [][4]string) sources.Table{
		"csv": func(rows [][4]string) sources.Table {
			var text strings.Builder
			text.WriteString("source,target,when,kind\n")
			for _, r := range rows {
				text.WriteString(strings.Join(r[:], ",") + "\n")
			}
			return sources.CSV{Reader: strings.NewReader(text.String())}
		},
		"jsonl": func(rows [][4]string) sources.Table {
			var text strings.Builder
			for _, r := range rows {
				when := ""
				if r[2] != "" && r[2] != "NA" {
					when = fmt.Sprintf(`"when":%s,`, r[2])
				}
				fmt.Fprintf(&text, "{\"source\":%s,\"target\":%s,%s\"kind\":%q}\n", r[0], r[1], when, r[3])
			}
			return sources.JSONLines{Reader: strings.NewReader(text.String())}
		},
	}
	for name, table := range tables {
		for seed := range uint64(4) {
			r := rand.New(rand.NewPCG(seed, 10))
			begin := []int{0, 1_700_000_000}[seed%2]
			cut := begin + 10 + r.IntN(40)
			whole := [][4]string{{"0", "1", fmt.Sprint(begin), "a"}, {"2", "3", fmt.Sprint(begin), "b"}}
			short := whole[:2:2]
			for range 20_000*int(seed%2) + 300 { // several batches
				when := begin + r.IntN(50)
				row := [4]string{fmt.Sprint(r.IntN(40)), fmt.Sprint(r.IntN(40)), fmt.Sprint(when), []string{"a", "b"}[r.IntN(2)]}
				if unknown := r.IntN(10); unknown < 2 {
					row[2] = []string{"", "NA"}[unknown]
				} else if when < cut {
					short = append(short, row)
				}
				whole = append(whole, row)
			}
			read := func(table sources.Table, before string) *sources.TableSet {
				set, err := sources.Tables{
					Edges:   sources.EdgeTable{Table: table, Time: "when", Before: before, Type: "kind", Offsets: map[string]float64{"when": float64(begin)}},
					Missing: []string{"NA"},
				}.Read(t.Context())
				if err != nil {
					t.Fatalf("%s, seed %d: %v", name, seed, err)
				}
				return set
			}
			got := read(table(whole), fmt.Sprint(cut))
			want := read(table(short), "")
			if !reflect.DeepEqual(got.Items, want.Items) || !reflect.DeepEqual(got.Layout, want.Layout) {
				t.Fatalf("%s, seed %d: the graph is not that of the rows before %d", name, seed, cut)
			}
			line := fmt.Sprintf("left out: %d of %d rows of ", len(whole)-len(short), len(whole))
			if !strings.Contains(strings.Join(got.Notes, "\n"), line) {
				t.Errorf("%s, seed %d: notes are %q, want one with %q", name, seed, got.Notes, line)
			}
		}
	}
}

// TestEdgesBeforeErrors has settings and times that are refused.
func TestEdgesBeforeErrors(t *testing.T) {
	for _, c := range []struct{ time, before, text, want string }{
		{"", "5", "source,target,when\n0,1,2\n", "Before is"},
		{"when", "soon", "source,target,when\n0,1,2\n", "Before is"},
		{"when", "5", "source,target,when\n0,1,2\n0,1,7\n1,2,soon\n", "column \"when\""},
	} {
		_, err := sources.Tables{Edges: sources.EdgeTable{Table: sources.CSV{Reader: strings.NewReader(c.text)}, Time: c.time, Before: c.before}}.Read(t.Context())
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q before %q: %v, want %q", c.time, c.before, err, c.want)
		}
	}
}
