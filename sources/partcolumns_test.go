package sources_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/nodelink"
)

// TestPartColumns: a column of tables, or a key of JSON, whose values name parts is no attribute unless a setting names it,
// and a line says so. One with another value is.
func TestPartColumns(t *testing.T) {
	csv := func(text string) sources.Table { return sources.CSV{Path: "t.csv", Reader: strings.NewReader(text)} }
	for _, c := range []struct {
		values string
		part   bool
	}{{"train,test,valid,val", true}, {"train,,none,", true}, {"none,,none,", false}, {"train,test,valid,x", false}, {"x,train,test,", false}, {",,,", false}, {"Train,test,,", false}} {
		v := strings.Split(c.values, ",")
		fill := strings.NewReplacer("P0", v[0], "P1", v[1], "P2", v[2], "P3", v[3])
		names := func(channels ...[]record.Channel) (all []string) {
			for _, c := range slices.Concat(channels...) {
				all = append(all, c.Name)
			}
			return all
		}
		check := func(what string, names, notes []string, line string) {
			t.Helper()
			told := slices.ContainsFunc(notes, func(note string) bool { return strings.HasPrefix(note, line) })
			if slices.Contains(names, "p") == c.part || told != c.part {
				t.Errorf("%s, %q: channels %q, lines %q", what, c.values, names, notes)
			}
		}
		const line = `ignored column "p" of t.csv: its values name parts, such as train and test; -part p divides by them`
		nodes := fill.Replace("id,p,x\na,P0,1\nb,P1,2\nc,P2,3\nd,P3,4\n")
		s := sources.Tables{Edges: sources.EdgeTable{Table: csv("source,target\na,b\nc,d\n")}, Nodes: sources.NodeTable{Table: csv(nodes)}}
		set, err := s.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		check("nodes", names(set.Layout.NodeCat), set.Notes, line)
		s.Edges.Table, s.Nodes.Table, s.Nodes.Attributes = csv("source,target\na,b\nc,d\n"), csv(nodes), []string{"p"}
		if set, err = s.Read(t.Context()); err != nil || len(set.Layout.NodeCat) != 1 {
			t.Errorf("an attribute that is asked for: %v, %v", set.Layout, err)
		}
		set, err = sources.Tables{Edges: sources.EdgeTable{Table: csv(fill.Replace("source,target,p\na,b,P0\nb,c,P1\nc,d,P2\nd,e,P3\n"))}}.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		check("edges", names(set.Layout.EdgeCat), set.Notes, line)
		rows, err := sources.Rows{Tables: []sources.RowTable{{Table: csv(fill.Replace("k,p,q\na,P0,y\nb,P1,z\na,P2,y\nb,P3,y\n")), Keys: []sources.Key{{Column: "k"}}}}}.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		check("rows", names(rows.Channels.NodeCat), rows.Notes, line)
		if rows.Words != len(rows.Channels.NodeCat)-1 || rows.Graph.NodeCats != len(rows.Channels.NodeCat) {
			t.Errorf("%q: %d words of rows, want those of %q", c.values, rows.Words, names(rows.Channels.NodeCat))
		}
		if c.values == ",,," {
			continue // a key without a value is none
		}
		path := put(t, t.TempDir(), "g.jsonl", fill.Replace(`{"nodes":[{"id":0,"p":"P0"},{"id":1,"p":"P1"},{"id":2,"p":"P2"},{"id":3,"p":"P3"}],"links":[]}`))
		var told []string
		one, err := nodelink.Source{Path: path, Note: func(line string) { told = append(told, line) }}.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		check("JSON", names(one.Channels.NodeCat), told, `ignored key "p": its values name parts`)
	}
}

// TestClassesOfNumbers: many numbers with fractions that are read as classes are told of, and a key of the class that there is not
// names those that there are.
func TestClassesOfNumbers(t *testing.T) {
	for _, n := range []int{20, 21, 300} {
		nodes := "id,income\n"
		for i := range n {
			nodes += fmt.Sprintf("%d,%g\n", i, float64(i)+0.5)
		}
		s := csvTables("source,target\n0,1\n", nodes)
		s.Nodes.Targets = sources.Targets("income")
		set, err := s.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf(`guessed: the %d numbers of column "income" of n.csv are classes; -value income learns them as numbers`, n)
		if told := slices.Contains(set.Notes, want); told != (n > 20) {
			t.Errorf("%d classes: %q", n, set.Notes)
		}
	}
	path := put(t, t.TempDir(), "g.jsonl", `{"graph":{"kind":"x","label":"y"},"nodes":[{"id":0,"role":"a"}],"links":[]}`)
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer mem.AssertSize(t, 0)
	_, err := nodelink.Source{Path: path, Class: "shape", Skip: func(string) {}}.Open(t.Context(), mem)
	if err == nil || !strings.HasSuffix(err.Error(), `no graph has the key "shape", want a class; there are the keys ["kind" "label"]`) {
		t.Error(err)
	}
	_, err = nodelink.Source{Path: path, NodeClass: "shape"}.Read(t.Context())
	if err == nil || !strings.HasSuffix(err.Error(), `no node has the key "shape", want a class; there are the keys ["id" "role"]`) {
		t.Error(err)
	}
}
