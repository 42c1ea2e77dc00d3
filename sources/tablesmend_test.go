package sources_test

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/sanflow/sanflow/internal/race"
	"github.com/sanflow/sanflow/sources"
)

// csvTables are tables of text: of edges, and of nodes if there are some.
func csvTables(edges, nodes string) sources.Tables {
	s := sources.Tables{Edges: sources.EdgeTable{Table: sources.CSV{Path: "e.csv", Reader: strings.NewReader(edges)}}}
	if nodes != "" {
		s.Nodes.Table = sources.CSV{Path: "n.csv", Reader: strings.NewReader(nodes)}
	}
	return s
}

// attributesOf are the names of all channels.
func attributesOf(set *sources.TableSet) (names []string) {
	l := set.Layout
	for _, c := range slices.Concat(l.NodeCat, l.NodeAttr, l.EdgeCat, l.EdgeAttr) {
		names = append(names, c.Name)
	}
	return names
}

// A column that nobody named is no attribute, and a line says so.
func TestTablesUnnamedColumn(t *testing.T) {
	for _, c := range []struct {
		edges, nodes string
		want         int // lines
	}{
		{",source,target\n0,a,b\n1,b,c\n", ",id,x\n0,a,1\n1,b,2\n2,c,3\n", 2},
		{"source,target\na,b\nb,c\n", "\"\",\"id\",\"x\"\n\"1\",\"a\",1\n\"2\",\"b\",2\n\"3\",\"c\",3\n", 1},
		{"source,target,\na,b,\nb,c,\n", "id,x,\na,1,\nb,2,\nc,3,\n", 2},
		{"source,target,,\na,b,5,6\nb,c,7,8\n", "id,x\na,1\nb,2\nc,3\n", 2},
		{"\ufeff  ,source,target\n0,a,b\n1,b,c\n", "Unnamed: 0,id,x\n0,a,1\n1,b,2\n2,c,3\n", 2},
		{"Unnamed: 0.1,source,target\r\n0,a,b\r\n1,b,c\r\n", "__index_level_0__,id,x\n0,a,1\n1,b,2\n2,c,3\n", 2},
	} {
		set, err := csvTables(c.edges, c.nodes).Read(t.Context())
		if err != nil {
			t.Errorf("%q: %v", c.nodes, err)
			continue
		}
		lines := 0
		for _, n := range set.Notes {
			if strings.HasPrefix(n, "ignored column ") {
				lines++
			}
		}
		if got := attributesOf(set); !slices.Equal(got, []string{"x"}) || lines != c.want {
			t.Errorf("%q, %q: attributes %q, notes %q", c.edges, c.nodes, got, set.Notes)
		}
	}
	s := csvTables(",source,target\n0,a,b\n", "")
	if s.Edges.Ignore = []string{""}; attributesMust(t, s) != nil {
		t.Error("a column that is ignored")
	}
	s = csvTables(",source,target\n0,a,b\n", "")
	s.Edges.Attributes = []string{""}
	if _, err := s.Read(t.Context()); err == nil || !strings.Contains(err.Error(), "no name") {
		t.Errorf("an attribute without a name: %v", err)
	}
	s = csvTables("Unnamed: 0,source,target\n3,a,b\n", "")
	if s.Edges.Attributes = []string{"Unnamed: 0"}; len(attributesMust(t, s)) != 1 {
		t.Error("a column that is asked for")
	}
}

func attributesMust(t *testing.T, s sources.Tables) []string {
	t.Helper()
	set, err := s.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return attributesOf(set)
}

// A value that is no number in a column of numbers is an error, the same wherever it is.
func TestTablesFewNonNumbers(t *testing.T) {
	race.Skip(t)
	for _, bad := range []string{"NA", "NaN", "nan", "inf", "-inf", "Infinity", "NULL", "null", "None", `\N`, "n/a", "#N/A", "-", "--", "?", ".", "1e400", `"1,234"`, "5%", "$5", "1 234", `"12,5"`, "1_000", "0x1F", "x", "TRUE"} {
		value := strings.Trim(bad, `"`)
		for _, rows := range []int{40, 20_000} {
			for _, at := range []int{1, rows / 2, rows} {
				if rows > 40 && at == 1 && bad != "NA" && bad != "1_000" {
					continue
				}
				var nodes, lines strings.Builder
				nodes.WriteString("id,x\n")
				for i := 1; i <= rows; i++ {
					x, number := bad, fmt.Sprintf("%q", value)
					if i != at {
						x = fmt.Sprint(float64(i) / 4)
						number = x
					}
					fmt.Fprintf(&nodes, "%d,%s\n", i, x)
					fmt.Fprintf(&lines, "{\"id\":%d,\"x\":%s}\n", i, number)
				}
				want := fmt.Sprintf("n.csv:%d: row %d: column \"x\": %q, want a finite decimal number, as other rows have; -types x=string reads words, -ignore x leaves the column out", at+1, at, value)
				if !strings.ContainsAny(value, "0123456789") {
					want += "; -missing " + value + " reads it as missing"
				}
				_, err := csvTables("source,target\n1,2\n", nodes.String()).Read(t.Context())
				if err == nil || err.Error() != "sources: "+want {
					t.Errorf("%s in row %d of %d: %v\nwant %s", bad, at, rows, err, want)
				}
				s := csvTables("source,target\n1,2\n", "")
				s.Nodes.Table = sources.JSONLines{Path: "n.jsonl", Reader: strings.NewReader(lines.String())}
				if _, err = s.Read(t.Context()); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("n.jsonl:%d: row %[1]d: column \"x\": %q, want a finite", at, value)) {
					t.Errorf("JSON lines, %s in row %d of %d: %v", bad, at, rows, err)
				}
			}
		}
	}
	// Words are words, also where some are numbers, and where the column is declared.
	for _, x := range [][]string{{"a", "b", "1", "2"}, {"A1", "7", "B2"}, {"-", "+", "-"}, {"none", "low", "3"}, {"NA", "NA"}, {"2020-01-01", "5"}} {
		nodes := "id,x\n"
		for i, v := range x {
			nodes += fmt.Sprintf("%d,%s\n", i, v)
		}
		set, err := csvTables("source,target\n0,1\n", nodes).Read(t.Context())
		if err != nil || len(set.Layout.NodeCat) != 1 {
			t.Errorf("%q: %v", x, err)
		}
	}
	s := csvTables("source,target\n0,1\n", "id,x\n0,5\n1,NA\n2,6\n")
	if s.Nodes.Types = map[string]sources.ColumnType{"x": sources.String}; len(attributesMust(t, s)) != 1 {
		t.Error("a declared type")
	}
}

// In a column of integers another number is an error behind the first rows too.
func TestTablesLateIntegers(t *testing.T) {
	for _, late := range []string{"1.5", "007", "+7", "1e3", "9223372036854775808", "2.0"} {
		var nodes strings.Builder
		nodes.WriteString("id,x\n")
		for i := range 1 << 14 {
			fmt.Fprintf(&nodes, "%d,%d\n", i, i%9)
		}
		fmt.Fprintf(&nodes, "99999,%s\n", late)
		want := fmt.Sprintf(`sources: n.csv:16386: row 16385: column "x": %q, want an integer, as 7 or -7, as the first rows have; -types x=float reads other numbers`, late)
		if _, err := csvTables("source,target\n1,2\n", nodes.String()).Read(t.Context()); err == nil || err.Error() != want {
			t.Errorf("%s: %v", late, err)
		}
		s := csvTables("source,target\n1,2\n", nodes.String())
		if s.Nodes.Types = map[string]sources.ColumnType{"x": sources.Float}; len(attributesMust(t, s)) != 1 {
			t.Error(late)
		}
	}
}

// One id in two spellings of a number is refused, or one node where the columns are integers.
func TestTablesSpellingsOfIDs(t *testing.T) {
	for _, c := range []struct {
		edges, nodes, want string
		n                  int // nodes, where integers are declared; 0: that is an error
	}{
		{"source,target\n1,2.0\n2,3.0\n3,1.0\n4,2.0\n", "", `e.csv: row 3: column "target": "1.0" is the id "1", written in another way`, 4},
		{"source,target\n1.0,2\n2,3\n", "id,x\n1,5\n2,6\n3,7\n", `row 1: column "source": "1.0" is not in the table of nodes, n.csv`, 3},
		{"source,target\n1000,1e3\n", "", `row 1: column "target": "1e3" is the id "1000", written in another way`, 1},
		{"source,target\n1e+05,5\n6,100000.0\n", "", `, written in another way`, 3},
		{"source,target\nann,bob\ncat, bob\n", "", `row 2: column "target": " bob" is the id "bob", written in another way`, 0},
		{"source,target\n1, 2\n2 ,3\n", "", `row 1: column "target": " 2" is the id "2 ", written in another way`, 3},
		{"source,target\n-1.0,5\n6,-1\n", "", `row 1: column "source": "-1.0" is the id "-1", written in another way`, 3},
		{"\ufeffsource,target\r\n\"1\",\"1.0\"\r\n2,3\r\n", "", `row 1: column "target": "1.0" is the id "1", written in another way`, 3},
		{"source,target\n1,2\na,2.0\n", "", `row 2: column "target": "2.0" is the id "2", written in another way`, 0},
	} {
		s := csvTables(c.edges, c.nodes)
		if _, err := s.Read(t.Context()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %s", c.edges, err, c.want)
		}
		s = csvTables(c.edges, c.nodes)
		integers := map[string]sources.ColumnType{"source": sources.Integer, "target": sources.Integer}
		s.Edges.Types, s.Nodes.Types = integers, nil
		if set, err := s.Read(t.Context()); (err != nil) != (c.n == 0) || err == nil && set.Items[0].Graph.N() != c.n {
			t.Errorf("%q as integers: %v", c.edges, err)
		}
	}
	// Ids that stay apart.
	for edges, n := range map[string]int{
		"source,target\n007,7\n":                               2,
		"source,target\n1.0,2.0\n2.0,3.0\n":                    3,
		"source,target\n18446744073709551616,5\n5,6\n":         3,
		"source,target\n1.10,1.1\n":                            2,
		"source,target\n1e30,1e3a\n1000,x\n":                   4,
		"source,target\n9007199254740993.0,9007199254740992\n": 2,
	} {
		set, err := csvTables(edges, "").Read(t.Context())
		if err != nil || set.Items[0].Graph.N() != n {
			t.Errorf("%q: %v", edges, err)
		}
	}
	s := csvTables("source,target\n1,1.0\n", "")
	s.Edges.Types = map[string]sources.ColumnType{"source": sources.String, "target": sources.String}
	if set, err := s.Read(t.Context()); err != nil || set.Items[0].Graph.N() != 2 {
		t.Error(err)
	}
	// Behind the first rows, and in the names of graphs.
	var long strings.Builder
	long.WriteString("source,target\n")
	for i := range 20_000 {
		fmt.Fprintf(&long, "%d,%d\n", i, i+1)
	}
	path := t.TempDir() + "/e.csv"
	if err := os.WriteFile(path, []byte(long.String()+"5.0,6\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	late := sources.Tables{Edges: sources.EdgeTable{Table: sources.CSV{Path: path}}}
	if _, err := late.Read(t.Context()); err == nil || !strings.Contains(err.Error(), `row 20001: column "source": "5.0" is the id "5", written in another way`) {
		t.Error(err)
	}
	many := csvTables("source,target,g\na,b,1\na,b,1.0\n", "")
	many.Edges.Graph = "g"
	if _, err := many.Read(t.Context()); err == nil || !strings.Contains(err.Error(), `row 2: column "g": "1.0" is the id "1", written in another way`) {
		t.Error(err)
	}
}

// A number is one word in all of its spellings, in all formats, but not in a column of strings.
func TestTablesSpellingsOfWords(t *testing.T) {
	rows := "id,c\n1,%s\n2,%s\n3,%s\n"
	for _, c := range [][4]string{{"0", "1", "1", "0 1"}, {"0.0", "1.0", "1.0", "0 1"}, {"0", "1.0", "1", "0 1"}, {"1e3", "1000.0", "0.5", "0.5 1000"}, {"01", "1", "1", "01 1"}, {"1.0", "1.10", "x", "1.0 1.10 x"}} {
		s := csvTables("source,target\n1,2\n2,3\n", fmt.Sprintf(rows, c[0], c[1], c[2]))
		s.Nodes.Targets = sources.Targets("c")
		set, err := s.Read(t.Context())
		if err != nil || strings.Join(set.Layout.NodeClasses, " ") != c[3] {
			t.Errorf("%q: %v", c, err)
		}
	}
	s := csvTables("source,target\n1,2\n2,3\n", "")
	s.Nodes.Table, s.Nodes.Targets = sources.JSONLines{Reader: strings.NewReader("{\"id\":1,\"c\":0.0}\n{\"id\":2,\"c\":1.0}\n{\"id\":3,\"c\":1}\n")}, sources.Targets("c")
	if set, err := s.Read(t.Context()); err != nil || strings.Join(set.Layout.NodeClasses, " ") != "0 1" {
		t.Error(err)
	}
	s = csvTables("source,target\n1,2\n2,3\n", "id,c\n1,a\n2,NA\n3,b\n")
	s.Nodes.Targets = sources.Targets("c")
	if set, err := s.Read(t.Context()); err != nil || len(set.Notes) != 1 || !strings.HasPrefix(set.Notes[0], `guessed: "NA" is a value of column "c" of n.csv`) {
		t.Errorf("%v, %v", set, err)
	}
}

// Of parallel rows the smallest is kept, with their number and their sum, in any order of rows, and a line has both numbers.
func TestTablesRepeatedRows(t *testing.T) {
	rows := []string{"ann,bob,10,card", "ann,bob,900,card", "bob,ann,5000,card", "ann,bob,7,wire", "bob,cat,3,card", "cat,cat,1,wire"}
	for range 20 {
		rand.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
		for _, many := range []string{"", "g"} {
			s := csvTables("source,target,amount,type,g\n"+strings.Join(rows, ",1\n")+",1\n", "")
			if s.Edges.Graph = many; many == "" {
				s.Edges.Ignore = []string{"g"}
			}
			set, err := s.Read(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if g := set.Items[0].Graph; !slices.Equal(g.EdgeAttr, []float32{10, 4, 5917, 10, 4, 5917, 3, 1, 3, 3, 1, 3}) || !slices.Equal(g.EdgeCat, []int32{0, 0, 0, 0}) {
				t.Errorf("%q: %v, %v", rows, g.EdgeAttr, g.EdgeCat)
			}
			if !slices.ContainsFunc(set.Notes, func(n string) bool { return strings.HasPrefix(n, "repeated rows: 3 of 6 ") }) ||
				!slices.ContainsFunc(set.Notes, func(n string) bool { return strings.HasPrefix(n, "left out: 1 of 6 ") }) {
				t.Errorf("%q", set.Notes)
			}
		}
	}
	for edges, want := range map[string]string{
		"source,target\na,b\nb,a\nb,c\nc,b\n":         "",
		"source,target\na,b\nb,a\nb,c\n":              "repeated rows: 1 of 3 ",
		"source,target\na,b\na,b\nb,c\nb,c\n":         "repeated rows: 2 of 4 ",
		"source,target,w\na,b,1\nb,a,2\nb,c,3\nc,b,3": "repeated rows: 2 of 4 ",
	} {
		set, err := csvTables(edges, "").Read(t.Context())
		if err != nil || len(set.Notes) > 1 || !strings.HasPrefix(strings.Join(set.Notes, ""), want) || want == "" && len(set.Notes) > 0 {
			t.Errorf("%q: %q, %v", edges, set.Notes, err)
		}
	}
	// The same rule holds for a Builder, and so for node-link JSON and TU, and for an edge list.
	for _, x := range [][]float32{{3, 1, 2}, {1, 2, 3}, {2, 3, 1}} {
		var b sources.Builder
		list := ""
		for i, w := range x {
			ends := [][2]int32{{0, 1}, {1, 0}, {0, 1}}[i]
			b.Edge(ends[0], ends[1])
			b.EdgeAttr(w)
			list += fmt.Sprintln(ends[0], ends[1], w)
		}
		g, err := b.Graph()
		net, err2 := sources.EdgeList{Reader: strings.NewReader(list), Weights: true}.Read(t.Context())
		if err != nil || err2 != nil || !slices.Equal(g.EdgeAttr, []float32{1, 1}) || !slices.Equal(net.Items[0].Graph.EdgeAttr, g.EdgeAttr) {
			t.Errorf("%v: %v, %v", x, g, net)
		}
	}
}

// The ids of two spaces are different nodes where the header or the comment of a file tells, or a
// field does.
func TestTablesSpaces(t *testing.T) {
	text := func(s string) sources.Table { return sources.Text{Path: "e.edges", Reader: strings.NewReader(s)} }
	csv := func(s string) sources.Table { return sources.CSV{Path: "e.csv", Reader: strings.NewReader(s)} }
	const items = "\n0,0,1\n1,0,2\n1,1,3\n2,2,4\n"
	for name, c := range map[string]struct {
		table          sources.Table
		source, target string
		spaces         sources.IDSpaces
		n              int
		id             string // the last one
		guessed        bool
	}{
		"konect":          {text("% bip unweighted\n% 4 3 3\n1 1\n2 1\n2 2\n3 3\n"), "1", "2", 0, 6, "right:3", true},
		"konect, sym":     {text("% sym unweighted\n1 2\n2 3\n"), "1", "2", 0, 3, "3", false},
		"konect, one":     {text("% bip unweighted\n1 1\n2 1\n2 2\n"), "1", "2", sources.OneSpace, 2, "2", false},
		"a comment":       {text("# x\n% bip\n1 2\n2 3\n"), "1", "2", 0, 3, "3", false},
		"user, item":      {csv("user_id,item_id,timestamp" + items), "user_id", "item_id", 0, 6, "user_id:2", true},
		"userId, movieId": {csv("userId,movieId,rating" + items), "userId", "movieId", 0, 6, "userId:2", true},
		"Book-Crossing":   {csv("User-ID,ISBN,rating" + items), "User-ID", "ISBN", 0, 6, "User-ID:2", true},
		"Amazon":          {csv("reviewerID,asin,rating" + items), "reviewerID", "asin", 0, 6, "reviewerID:2", true},
		"item, user":      {csv("item_id,user_id,x" + items), "item_id", "user_id", 0, 6, "user_id:2", true},
		"user, user":      {csv("user_id,reader_id,x" + items), "user_id", "reader_id", 0, 3, "2", false},
		"from, to":        {csv("from_id,to_id,x" + items), "from_id", "to_id", 0, 3, "2", false},
		"a flag":          {csv("from_id,to_id,x" + items), "from_id", "to_id", sources.TwoSpaces, 6, "to_id:2", false},
		"one space":       {csv("user_id,item_id,x" + items), "user_id", "item_id", sources.OneSpace, 3, "2", false},
		"Neo4j":           {csv(":START_ID(Person),:END_ID(City),:TYPE\n1,1,LIVES_IN\n2,1,LIVES_IN\n3,2,LIVES_IN\n"), "", "", 0, 5, "Person:3", false},
		"Neo4j, one":      {csv(":START_ID(Person),:END_ID(Person),:TYPE\n1,2,KNOWS\n2,3,KNOWS\n"), "", "", 0, 3, "3", false},
		"Neo4j, none":     {csv("since,:START_ID,:END_ID\n5,1,2\n6,2,3\n"), "", "", 0, 3, "3", false},
		"floats":          {csv("user_id,item_id,x\n1,1.0,1\n1.0,1,2\n"), "user_id", "item_id", 0, 2, "user_id:1", true},
	} {
		set, err := sources.Tables{Edges: sources.EdgeTable{Table: c.table, Source: c.source, Target: c.target, Spaces: c.spaces}}.Read(t.Context())
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		it := set.Items[0]
		guessed := slices.ContainsFunc(set.Notes, func(n string) bool { return strings.HasPrefix(n, "guessed: the ids of") })
		if n := it.Graph.N(); n != c.n || it.NodeID.Name(int32(n-1)) != c.id || guessed != c.guessed {
			t.Errorf("%s: %d nodes to %s, notes %q", name, n, it.NodeID.Name(int32(n-1)), set.Notes)
		}
	}
	// Nodes of a space of Neo4j have its name; others are named with it.
	for nodes, none := range map[string]int{":ID(Person),x\n1,5\n2,6\n3,7\n": 2, "id,x\nPerson:1,5\nPerson:2,5\nPerson:3,5\nCity:1,6\nCity:2,6\n": 0} {
		s := csvTables(":START_ID(Person),:END_ID(City)\n1,1\n2,1\n3,2\n", nodes)
		if none > 0 {
			s.Nodes.Space = "Person"
		}
		set, err := s.Read(t.Context())
		if err != nil {
			t.Errorf("%q: %v", nodes, err)
			continue
		}
		missing := 0
		for _, x := range set.Items[0].Graph.NodeAttr {
			if x != x {
				missing++
			}
		}
		if n := set.Items[0].Graph.N(); n != 5 || missing != none {
			t.Errorf("%q: %d nodes, %d without a number, want 5 and %d", nodes, n, missing, none)
		}
	}
	for _, nodes := range []string{":ID(Person),x\n1,5\n2,6\n3,7\n", "id,x\n1,5\n", "id,x\nPerson:1,5\nCity:1,6\nCity:2,6\n"} {
		if _, err := csvTables(":START_ID(Person),:END_ID(City)\n1,1\n2,1\n3,2\n", nodes).Read(t.Context()); err == nil || !strings.Contains(err.Error(), "is not in the table of nodes, n.csv") {
			t.Errorf("%q: %v", nodes, err)
		}
	}
	_, err := sources.EdgeList{Path: "x", Reader: strings.NewReader("% bip unweighted\n1 1\n")}.Read(t.Context())
	if err == nil || !strings.Contains(err.Error(), "x:1: a bipartite network of KONECT") {
		t.Error(err)
	}
}

// A line that begins with # or % is a comment in front of the first row, and a row behind it.
func TestTextCommentsAndIDs(t *testing.T) {
	for text, want := range map[string]string{
		"source,target,time\n#go,#rust,1\ngo,rust,2\n#go,python,3\n%d,#go,5\n": "6 4",
		"# c\n% d\n#\nsource\ttarget\n# e\n#a\tb\nb\t%c\n":                     "3 2",
		"source,target\n\"#a\",b\n#c,\"d,e\"\n":                                "4 2",
		"a b\n#c d\n% e\n":                                                     "2 1 left out: 1 lines of x behind the first row",
		"1 2\n# 5 nodes\n":                                                     "2 1 left out: 1 lines",
		"1 2\n#3 4\n":                                                          "4 2",
		"1,2\n#,3\n":                                                           "2 1 left out: 1 lines",
		"# 3\n1 2\n%3 #4\n":                                                    "4 2",
		"%MatrixMarket matrix coordinate pattern general\n% x\n3 5 4\n1 1\n": "x:1: a Matrix Market file",
		"%%MatrixMarket matrix coordinate real symmetric\n3 3 1\n1 2 5\n":    "x:1: a Matrix Market file",
		"% matrixmarket matrix\n3 3 1\n":                                     "x:1: a Matrix Market file",
	} {
		s := sources.Tables{Edges: sources.EdgeTable{Table: sources.Text{Path: "x", Reader: strings.NewReader(text)}}}
		if first := strings.TrimLeft(text, "#% cd3\n"); first[0] == '1' {
			s.Edges.Source, s.Edges.Target = "1", "2"
		} else if first[0] == 'a' {
			s.Edges.Source, s.Edges.Target = "a", "b"
		}
		if strings.HasPrefix(text, "1") || strings.HasPrefix(text, "# 3") { // strings, read once
			s.Edges.Types = map[string]sources.ColumnType{"1": sources.String}
		}
		got := ""
		if set, err := s.Read(t.Context()); err != nil {
			got = err.Error()
		} else {
			got = fmt.Sprint(set.Items[0].Graph.N(), " ", set.Stats.EdgeRows, " ", strings.Join(set.Notes, " "))
		}
		if !strings.Contains(got, want) {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	for _, first := range []string{"%MatrixMarket matrix", "%%matrixmarket", "%% MatrixMarket matrix"} {
		if _, err := (sources.EdgeList{Path: "x", Reader: strings.NewReader(first + "\n3 5 4\n1 1\n")}).Read(t.Context()); err == nil || !strings.Contains(err.Error(), "x:1: a Matrix Market file") {
			t.Errorf("%s: %v", first, err)
		}
	}
}

// A CSV is separated by what its first row has most of.
func TestCSVSeparator(t *testing.T) {
	for _, c := range []struct {
		path, text string
		columns    []string
	}{
		{"a.csv", "source;target;w\na;b;1\n", []string{"source", "target", "w"}},
		{"a.csv", "source\ttarget\na\tb\n", []string{"source", "target"}},
		{"a.csv", "\ufeffsource|target\r\na|b\r\n", []string{"source", "target"}},
		{"a.csv", "\"source, first\";\"target; second\";x\na;b;c\n", []string{"source, first", "target; second", "x"}},
		{"a.csv", "source,target,\"a;b;c;d\"\na,b,1\n", []string{"source", "target", "a;b;c;d"}},
		{"a.csv", "source,target;second\na,b\n", []string{"source", "target;second"}},
		{"a.tsv", "source\ttarget,x\na\tb\n", []string{"source", "target,x"}},
		{"a.tsv", "source,target\na,b\n", []string{"source", "target"}},
		{"a.csv", "x\n1;2\n", []string{"x"}},
		{"a.tsv", "x\n1;2\n", []string{"x"}},
	} {
		r, err := sources.CSV{Path: c.path, Reader: strings.NewReader(c.text)}.OpenTable(t.Context())
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		var names []string
		for _, column := range r.Columns() {
			names = append(names, column.Name)
		}
		if r.Close(); !slices.Equal(names, c.columns) {
			t.Errorf("%q: %q", c.text, names)
		}
	}
}

// Ids are the same nodes wherever the first one is that has not 31 bits, as source or as target.
func TestTablesWideIDs(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 40 {
		n := []int{5, 300, 40_000}[r.IntN(3)]
		var rows [][2]int64
		for range n {
			rows = append(rows, [2]int64{int64(r.IntN(n)), int64(r.IntN(n))})
		}
		for range r.IntN(3) {
			rows[r.IntN(n)][r.IntN(2)] = []int64{-1, 1 << 31, 1<<62 + 1, math.MaxInt32}[r.IntN(4)]
		}
		var text strings.Builder
		text.WriteString("source,target\n")
		ids, edges := map[int64]bool{}, map[[2]int64]bool{}
		for _, x := range rows {
			fmt.Fprintf(&text, "%d,%d\n", x[0], x[1])
			ids[x[0]], ids[x[1]] = true, true
			if x[0] != x[1] {
				edges[[2]int64{min(x[0], x[1]), max(x[0], x[1])}] = true
			}
		}
		set, err := csvTables(text.String(), "").Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		it, got := set.Items[0], map[[2]int64]bool{}
		for u := range int32(it.Graph.N()) {
			for _, v := range it.Graph.Neighbors[it.Graph.Offsets[u]:it.Graph.Offsets[u+1]] {
				a, b := it.NodeID.Ints()[u], it.NodeID.Ints()[v]
				got[[2]int64{min(a, b), max(a, b)}] = true
			}
		}
		if !slices.Equal(it.NodeID.Ints(), slices.Sorted(maps.Keys(ids))) || !maps.Equal(got, edges) || it.Graph.Check() != nil {
			t.Fatalf("%d rows: %d nodes, %d edges; want %d, %d", n, it.Graph.N(), len(got), len(ids), len(edges))
		}
		set.DropPlainIDs()
		if dense := it.NodeID.Ints()[0] == 0 && it.NodeID.Ints()[it.Graph.N()-1] == int64(it.Graph.N()-1); (set.Items[0].NodeID.Len() == 0) != dense {
			t.Errorf("%d ids", set.Items[0].NodeID.Len())
		}
	}
}

// What a program writes for a number is no word: with blanks around it, with signs, beside values for
// nothing, and where the first rows have nothing.
func TestTablesNumbersAsWords(t *testing.T) {
	for _, form := range []string{" %s", "%s ", "\u2212%s", "1\u00a0%s", "%s %%", "($%s)", "<%s", "\u20ac %s"} {
		var nodes strings.Builder
		for i := range 40 {
			fmt.Fprintf(&nodes, "%d;"+form+"\n", i, fmt.Sprint(100+i))
		}
		if _, err := csvTables("source,target\n0,1\n", "id;x\n"+nodes.String()).Read(t.Context()); err == nil || !strings.Contains(err.Error(), `row 1: column "x": `) || !strings.Contains(err.Error(), "-types x=string") {
			t.Errorf("%q: %v", form, err)
		}
	}
	for _, none := range []string{"NA", "<NA>", "NaT", "(null)", "[NULL]", "n.a.", "#DIV/0!", "#VALUE!", "1.#IND", " NA", "missing"} {
		for _, odd := range []string{none, "<5"} {
			var nodes strings.Builder
			for i := range 40 {
				fmt.Fprintf(&nodes, "%d,%s\n", i, []string{none, fmt.Sprint(100 + i)}[i%2])
			}
			_, err := csvTables("source,target\n0,1\n", "id,x\n"+nodes.String()+"40,"+odd+"\n").Read(t.Context())
			if want := fmt.Sprintf("row 1: column \"x\": %q, want a finite decimal number", none); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s, %s: %v", none, odd, err)
			}
		}
	}
	for _, late := range []string{"4.5", "7", "low"} {
		for _, none := range []string{"", "NA"} {
			var nodes strings.Builder
			for i := range 20_000 {
				fmt.Fprintf(&nodes, "%d,%s\n", i, none)
			}
			_, err := csvTables("source,target\n0,1\n", "id,x\n"+nodes.String()+"20000,"+late+"\n").Read(t.Context())
			if want := fmt.Sprintf("row 20001: column \"x\": %q, and no row before has a value; -types x=float", late); late == "low" && err != nil || late != "low" && (err == nil || !strings.Contains(err.Error(), want)) {
				t.Errorf("%q behind %q: %v", late, none, err)
			}
		}
	}
	s := csvTables("source,target\n0,1\n", "id,class\n0,a\n1,a \n2,b\n")
	s.Nodes.Targets = sources.Targets("class")
	set, err := s.Read(t.Context())
	if err != nil || len(set.Notes) != 1 || set.Notes[0] != `guessed: 1 values of column "class" of n.csv differ from others by blanks alone, as "a " from "a"` {
		t.Errorf("classes with blanks: %v, %v", set, err)
	}
}

// Rows without a value are counted in a line for each column, of words, classes and values to learn.
func TestTablesMissingValues(t *testing.T) {
	const edges = "source,target,kind,note\n1,2,a,x\n2,3,,y\n3,4,,z\n1,4,b,w\n"
	for _, c := range [][2]string{
		{"id,c,city\n1,a,Bern\n2,,\n3,b,\n4,,\n", `missing values: 2 of 4 rows of e.csv have none in column "kind", edge attribute type|` +
			`missing values: 2 of 4 rows of n.csv have none in column "c", class of a node|` +
			`missing values: 3 of 4 rows of n.csv have none in column "city", node attribute city`},
		{"id,c,city\n1,a,Bern\n2,b,Rome\n3,b,Bern\n4,a,Rome\n", `missing values: 2 of 4 rows of e.csv have none in column "kind", edge attribute type`},
	} {
		s := csvTables(edges, c[0])
		s.Edges.Type, s.Nodes.Targets = "kind", sources.Targets("c")
		set, err := s.Read(t.Context())
		if err != nil || strings.Join(set.Notes, "|") != c[1] {
			t.Errorf("%q: %v, want %s", set.Notes, err, c[1])
		}
	}
	s := csvTables("source,target\n1,2\n2,3\n", "id,v\n1,2.5\n2,\n3,1\n")
	s.Nodes.Targets, s.Nodes.Numbers = sources.Targets("v"), true
	if set, err := s.Read(t.Context()); err != nil || strings.Join(set.Notes, "|") != `missing values: 1 of 3 rows of n.csv have none in column "v", value of a node` {
		t.Errorf("%v, %v", set, err)
	}
}

// An id that other programs write where there is none has a line, and so has the name of the column.
func TestTablesDoubtfulIDs(t *testing.T) {
	for edges, want := range map[string]string{
		"source,target\n1,2\nNA,3\n2,NA\n":              `guessed: "NA" is a value of column "source" of e.csv, and not that there is none`,
		"source,target\na,b\nb,<NA>\n":                  `guessed: "<NA>" is a value of column "target" of e.csv, and not that there is none`,
		"source,target\na,b\nnull,a\n":                  `guessed: "null" is a value of column "source" of e.csv, and not that there is none`,
		"source,target\n1,2\nsource,target\n2,3\n":      `guessed: "source" in row 2 of e.csv is an id, and not the name of the column again; guessed: "target" in row 2 of e.csv is an id, and not the name of the column again`,
		"source,target\nann,bob\nnancy,nat-1\nb,c\n":    "",
		"source,target\n1,2\n2,3\ntarget,source\n3,4\n": "",
	} {
		file := fstest.MapFS{"e.csv": {Data: []byte(edges)}}
		set, err := sources.Tables{Edges: sources.EdgeTable{Table: sources.CSV{Path: "e.csv", FS: file}}}.Read(t.Context())
		if err != nil || strings.Join(set.Notes, "; ") != want {
			t.Errorf("%q: %v, %v, want %s", edges, set, err, want)
		}
	}
}

// A CSV file without names of columns loses its first row: a line says so.
func TestTablesNumbersAsNames(t *testing.T) {
	s := csvTables("1,2\n2,3\n3,1\n", "")
	s.Edges.Source, s.Edges.Target = "1", "2"
	set, err := s.Read(t.Context())
	if want := "guessed: the first row of e.csv has the names of columns, which are numbers; it is no row"; err != nil || !slices.Equal(set.Notes, []string{want}) {
		t.Errorf("%v, %v, want %s", set, err, want)
	}
	s = csvTables("", "")
	s.Edges = sources.EdgeTable{Table: sources.CSV{Path: "e.csv", Reader: strings.NewReader("1,2\n2,3\n"), Header: []string{"1", "2"}}, Source: "1", Target: "2"}
	if set, err = s.Read(t.Context()); err != nil || len(set.Notes) > 0 {
		t.Errorf("names that are given: %v, %v", set, err)
	}
}
