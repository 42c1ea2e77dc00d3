package events_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/flow/event"
	"github.com/sanflow/sanflow/flow/graph/dynamic"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/events"
)

// The graph of a table whose rows name edges repeatedly is that of its rows as events, also when older occurrences of
// the same edges came before and were removed.
func TestTableIsItsEvents(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 2))
	for round := range 40 {
		directed, n := round%2 == 0, 3+rng.IntN(9)
		var rows [][2]int
		for v := range n - 1 { // numbers by first appearance are those by rank
			rows = append(rows, [2]int{v, v + 1})
		}
		for range 5 * n {
			rows = append(rows, [2]int{rng.IntN(n), rng.IntN(n)})
		}
		var table, stream, removals strings.Builder
		table.WriteString("source,target,time,kind,a,b\n")
		stream.WriteString("source,target,time,kind,a,b\n")
		for i, x := range rows {
			if i >= n-1 && i%3 > 0 {
				continue
			}
			fmt.Fprintf(&stream, "%d,%d,%d,add_edge,%d,-1\n", x[0], x[1], i, rng.IntN(9)-9)
			if !directed {
				x[0], x[1] = x[1], x[0]
			}
			fmt.Fprintf(&removals, "%d,%d,%d,remove_edge,,\n", x[0], x[1], i+2*len(rows))
		}
		for i, x := range rows {
			row := fmt.Sprintf("%d,%d,%d,add_edge,%d,%d\n", x[0], x[1], i+len(rows), rng.IntN(3), rng.IntN(5))
			table.WriteString(row)
			stream.WriteString(row)
		}
		stream.WriteString(removals.String())
		set, err := sources.Tables{Directed: directed, Edges: sources.EdgeTable{
			Table: sources.CSV{Path: "t.csv", Reader: strings.NewReader(table.String())}, Attributes: []string{"a", "b"}, Offsets: map[string]float64{}, Spaces: sources.OneSpace,
		}}.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		st, err := events.Source{
			Table: sources.CSV{Path: "e.csv", Reader: strings.NewReader(stream.String())}, Order: events.Sort,
			Columns: events.Columns{Kind: "kind", Attributes: []string{"a", "b"}, Spaces: sources.OneSpace},
		}.Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		g, err := dynamic.New(dynamic.Settings{Directed: directed, EdgeAttrs: 2})
		if err != nil {
			t.Fatal(err)
		}
		for e, err := range st.All() {
			if err != nil {
				t.Fatal(err)
			}
			if e.Kind == event.RemoveEdge && e.Source == e.Target {
				continue // a loop is no edge
			}
			if err := g.Apply(&e, nil, nil); err != nil {
				t.Fatal(err)
			}
		}
		if err := st.Close(); err != nil {
			t.Fatal(err)
		}
		want, got := set.Items[0].Graph, g.Graph()
		if !reflect.DeepEqual(got.Offsets, want.Offsets) || !reflect.DeepEqual(got.Neighbors, want.Neighbors) || !reflect.DeepEqual(got.EdgeAttr, want.EdgeAttr) {
			t.Fatalf("round %d: %+v, want %+v", round, got, want)
		}
	}
}
