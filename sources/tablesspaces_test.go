package sources_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/sources"
)

// TestTablesOfSpaces compares the nodes of two tables, one of each space of ids, with what the rows say, in any order of tables.
func TestTablesOfSpaces(t *testing.T) {
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 6))
		users, items := 2+r.IntN(6), 2+r.IntN(6)
		want := map[string]string{}
		people, goods, edges := "id,age,city,class\n", "id,price,city\n", "user,item\n"
		for v := range users {
			age, city, class := r.IntN(50), []string{"Rome", "Oslo", ""}[r.IntN(3)], []string{"a", "b", ""}[min(v, r.IntN(3))]
			people += fmt.Sprintf("%d,%d.5,%s,%s\n", v, age, city, class)
			want[fmt.Sprint("user:", v)] = fmt.Sprintf("user: age=%d.5 user: city=%s class=%s", age, city, class)
		}
		for v := range items {
			price := 1700000000 + float64(r.IntN(9))/4
			goods += fmt.Sprintf("%d,%.2f,%s\n", v, price, []string{"", "Bonn"}[v%2])
			want[fmt.Sprint("item:", v)] = fmt.Sprintf("item: city=%s item: price=%v class=", []string{"", "Bonn"}[v%2], price)
		}
		for range 12 {
			edges += fmt.Sprintf("%d,%d\n", r.IntN(users), r.IntN(items))
		}
		tables := []sources.NodeTable{{Space: "user", Table: sources.CSV{Path: "u.csv", Reader: strings.NewReader(people)}, Targets: sources.Targets("class")},
			{Space: "item", Table: sources.CSV{Path: "i.csv", Reader: strings.NewReader(goods)}, Offsets: map[string]float64{"price": 1700000000}}}
		if seed%2 == 0 {
			slices.Reverse(tables)
		}
		s := sources.Tables{Edges: sources.EdgeTable{Table: sources.CSV{Path: "e.csv", Reader: strings.NewReader(edges)}, Source: "user", Target: "item"}, Nodes: tables[0], MoreNodes: tables[1:]}
		set, err := s.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		it, l := set.Items[0], set.Layout
		if it.Graph.N() != len(want) {
			t.Fatalf("%d nodes, want %d", it.Graph.N(), len(want))
		}
		for v := range int32(it.Graph.N()) {
			var parts []string
			space, _, _ := strings.Cut(it.NodeID.Name(v), ":")
			for c, ch := range l.NodeCat {
				word, ok := ch.Word(it.Graph.NodeCat[int(v)*len(l.NodeCat)+c])
				if strings.HasPrefix(ch.Name, space+": ") {
					parts = append(parts, ch.Name+"="+word)
				} else if ok && word != "" {
					t.Errorf("%s has %s %q of the other table", it.NodeID.Name(v), ch.Name, word)
				}
			}
			for c, ch := range l.NodeAttr {
				x := it.Graph.NodeAttr[int(v)*len(l.NodeAttr)+c]
				if strings.HasPrefix(ch.Name, space+": ") {
					parts = append(parts, fmt.Sprint(ch.Name, "=", float64(x)+ch.Offset))
				} else if x == x {
					t.Errorf("%s has %s %v of the other table", it.NodeID.Name(v), ch.Name, x)
				}
			}
			slices.Sort(parts)
			class := ""
			if c := it.NodeClass[v]; c >= 0 {
				class = l.NodeClasses[c]
			}
			if got := strings.Join(parts, " ") + " class=" + class; got != want[it.NodeID.Name(v)] {
				t.Fatalf("seed %d: %s: %q, want %q", seed, it.NodeID.Name(v), got, want[it.NodeID.Name(v)])
			}
		}
	}
}

// TestTablesOfSpacesErrors: the error names the table, and the row in it.
func TestTablesOfSpacesErrors(t *testing.T) {
	for want, c := range map[string][3]string{
		`i.csv:3: row 2: column "id": "item:7" is the id of row 1 too`:                         {"user,item\n1,7\n", "id\n1\n", "id,p\n7,1\n7,2\n"},
		`row 2: column "item": "item:8" is not in the table of nodes, i.csv`:                   {"user,item\n1,7\n1,8\n", "id\n1\n", "id,p\n7,1\n"},
		`row 1: column "user": "user:2" is not in the table of nodes, u.csv`:                   {"user,item\n2,7\n", "id\n1\n", "id,p\n7,1\n"},
		`u.csv: the table has the space "user", and the ids of the edges the spaces "" and ""`: {"user,thing\n1,7\n", "id\n1\n", "id,p\n7,1\n"},
		`i.csv: row 2: column "id": "item: 7" is the id "item:7", written in another way`:      {"user,item\n1,7\n", "id\n1\n", "id,p\n7,1\n 7,2\n"},
		`i.csv:10: row 9: column "part": "foo", want train, valid, val, test, or none`:         {"user,item\n1,7\n", "id\n1\n", "id,p,part\n7,1,\n" + strings.Repeat("%d,1,train\n", 7) + "20,1,foo\n"},
	} {
		if i := 0; strings.Contains(c[2], "%d") {
			for ; strings.Contains(c[2], "%d"); i++ {
				c[2] = strings.Replace(c[2], "%d", fmt.Sprint(10+i), 1)
			}
		}
		target := "item"
		if strings.Contains(c[0], "thing") {
			target = "thing"
		}
		s := sources.Tables{
			Edges:     sources.EdgeTable{Table: sources.CSV{Path: "e.csv", Reader: strings.NewReader(c[0])}, Source: "user", Target: target},
			Nodes:     sources.NodeTable{Space: "user", Table: sources.CSV{Path: "u.csv", Reader: strings.NewReader(c[1])}},
			MoreNodes: []sources.NodeTable{{Space: "item", Table: sources.CSV{Path: "i.csv", Reader: strings.NewReader(c[2])}}},
		}
		if strings.Contains(want, "part") {
			s.MoreNodes[0].Part = "part"
		}
		if _, err := s.Read(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	// A space without a table has the nodes of the edges.
	s := csvTables("user,item\n1,7\n1,8\n", "id,age\n1,3\n2,4\n")
	s.Edges.Source, s.Edges.Target, s.Nodes.Space = "user", "item", "user"
	set, err := s.Read(t.Context())
	if err != nil || set.Items[0].Graph.N() != 4 || set.Layout.NodeAttr[0].Name != "user: age" {
		t.Error(set, err)
	}
	nodes := func(space string) sources.NodeTable {
		return sources.NodeTable{Space: space, Targets: sources.Targets("c"), Table: sources.CSV{Reader: strings.NewReader("id,c\n1,a\n")}}
	}
	for want, s := range map[string]sources.Tables{
		`has the Space "", want`:           {Nodes: nodes("user"), MoreNodes: []sources.NodeTable{nodes("")}},
		`has the Space "user", want`:       {Nodes: nodes("user"), MoreNodes: []sources.NodeTable{nodes("user")}},
		"and Nodes has no Table":           {MoreNodes: []sources.NodeTable{nodes("user")}},
		"two tables of nodes have Targets": {Nodes: nodes("user"), MoreNodes: []sources.NodeTable{nodes("item")}},
	} {
		s.Edges.Table = sources.CSV{Reader: strings.NewReader("user,item\n1,1\n")}
		if _, err := s.Read(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}
