package nodelink_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/internal/leak"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/nodelink"
)

// A graph of NetworkX, and one of D3.
const nodeLink = `{"directed": false, "multigraph": false, "graph": {"class": "a"}, "nodes": [{"color": "red", "size": 1.5, "id": 7}, {"color": "bl\u00fce", "size": 2, "id": "x"}], "links": [{"weight": 0.5, "source": 7, "target": "x"}, {"weight": 9, "source": "x", "target": 7}]}

{"nodes":[{"id":"Myriel","color":"red","size":0,"index":0},{"id":"Napoleon","size":-1}],"edges":[{"source":"Napoleon","target":"Myriel","weight":1,"key":0}],"graph":{"class":"b","name":"D3"}}
{"graph":{"class":"a"},"nodes":[],"links":[]}
`

func nodeLinkFile(t *testing.T, text string) string {
	path := filepath.Join(t.TempDir(), "graphs.jsonl")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// readAll returns what the graphs of a source print as.
func readAll(t *testing.T, s nodelink.Source) (all []string, l record.Layout, err error) {
	defer leak.VerifyNone(t)
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer mem.AssertSize(t, 0)
	r, err := s.Open(context.Background(), mem)
	if err != nil {
		return nil, l, err
	}
	defer r.Close()
	for {
		var rec arrow.Record
		if rec, err = r.Next(context.Background()); err == io.EOF {
			return all, l, nil
		}
		if err != nil {
			return all, l, err
		}
		gs, err := record.GraphsOf(rec)
		if err != nil {
			t.Fatal(err)
		}
		l = gs.Layout
		for i := range gs.Len() {
			if err := gs.Check(i); err != nil {
				t.Fatal(err)
			}
			var g graph.Graph
			gs.At(i, &g)
			row := gs.Row(i)
			names := []string{}
			for v := range int32(g.N()) {
				names = append(names, row.NodeID.Name(v))
			}
			all = append(all, fmt.Sprint(names, g.NodeCat, g.NodeAttr, g.Offsets, g.Neighbors, g.EdgeAttr, row.Class, row.NodeClass))
		}
		rec.Release()
	}
}

func TestNodeLink(t *testing.T) {
	path := nodeLinkFile(t, nodeLink)
	got, l, err := readAll(t, nodelink.Source{Path: path, Class: "class", Rows: 2})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"[7 x] [1 0] [1.5 2] [0 1 2] [1 0] [0.5 0.5] 0 []",
		"[Myriel Napoleon] [1 2] [0 -1] [0 1 2] [1 0] [1 1] 1 []",
		"[] [] [] [0] [] [] 0 []",
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%q, want %q", got, want)
	}
	if fmt.Sprint(l.NodeCat, l.NodeAttr, l.EdgeAttr, l.Classes, l.NodeIDs) != "[{color 3 [blüe red] 0}] [{size 0 [] 0}] [{weight 0 [] 0}] [a b]string" {
		t.Errorf("%+v", l)
	}
	// The layout of a model, and a class of nodes.
	got, _, err = readAll(t, nodelink.Source{Path: path, Layout: &l, Class: "class"})
	if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
	got, l, err = readAll(t, nodelink.Source{Path: path, NodeClass: "color", Ignore: []string{"weight"}})
	if err != nil || got[1] != "[Myriel Napoleon] [] [0 -1] [0 1 2] [1 0] [] 0 [1 -1]" || fmt.Sprint(l.NodeClasses) != "[blüe red]" {
		t.Errorf("%q, %v, %v", got, err, l.NodeClasses)
	}
}

func parseNodeLink(text []byte, l record.Layout) (it sources.Item, unseen int, err error) {
	p, err := nodelink.Parse(context.Background(), text, nil)
	if err != nil {
		return it, 0, err
	}
	return p.Graph(l)
}

func TestParseNodeLink(t *testing.T) {
	l := record.Layout{NodeCat: []record.Channel{record.WordsChannel("role", []string{"C", "N"})}, EdgeCat: []record.Channel{record.WordsChannel("type", []string{"card"})}}
	it, unseen, err := parseNodeLink([]byte(`{"nodes":[{"id":9007199254740993,"type":"N"},{"id":-2,"role":"X"},{"id":3}],"edges":[{"source":3,"target":-2,"type":"card"},{"source":-2,"target":9007199254740993}]}`), l)
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(it.NodeID.Ints(), it.Graph.NodeCat, it.Graph.Neighbors, it.Graph.EdgeCat, unseen); got != "[9007199254740993 -2 3] [1 2 2] [1 0 2 1] [1 1 0 0] 1" {
		t.Error(got)
	}
	for _, c := range []struct{ text, want string }{
		{`{"nodes":[{"id":1},{"id":1}]}`, `node 1: id: "1" is that of node 0 too`},
		{`{"nodes":[{"id":1},{"type":"C"}]}`, `node 1: id: there is none`},
		{`{"nodes":[{"id":1.5}]}`, `node 0: id: "1.5", want a string or an integer`},
		{`{"nodes":[{"id":1}],"links":[{"source":1,"target":2}]}`, `link 0: target: there is no node "2"`},
		{`{"nodes":[{"id":1}],"links":[{"source":1}]}`, `link 0: target: there is none`},
		{`{"directed":true}`, `directed is true, want false`},
		{`{"nodes":{}}`, `nodes is a JSON object, want an array`},
		{`not json`, `it is no JSON: invalid character 'o' in literal null (expecting 'u') at byte 2`},
		{`nullx`, `it is a JSON null, want an object`},
		{`{"nodes":nothing}`, `it is no JSON: invalid character 'o' in literal null (expecting 'u') at byte 11`},
		{`7`, `it is a JSON number, want an object`},
		{``, `it is no JSON: it ends early`},
		{`{"nodes":[`, `it is no JSON: it ends early at byte 11`},
		{`{} {}`, `it is no JSON: there is more behind the graph`},
		{`{} x`, `it is no JSON: invalid character 'x' at start of value at byte 4`},
	} {
		if _, _, err := parseNodeLink([]byte(c.text), l); err == nil || err.Error() != "sources: node-link JSON: "+c.want {
			t.Errorf("%s: %v, want %s", c.text, err, c.want)
		}
	}
	_, _, err = readAll(t, nodelink.Source{Path: nodeLinkFile(t, nodeLink+"\n{\"nodes\":[{\"id\":1,\"color\":\"red\"}]}\n"), Class: "class"})
	if err == nil || !strings.HasSuffix(err.Error(), `graphs.jsonl:6: graph: there is no key "class", want a class`) {
		t.Error(err)
	}
}

// FuzzNodeLink: whatever a text has, it is an error or a graph that keeps the rules.
func FuzzNodeLink(f *testing.F) {
	for _, line := range strings.Split(nodeLink, "\n") {
		f.Add([]byte(line), true)
	}
	l := record.Layout{
		NodeCat: []record.Channel{record.WordsChannel("color", []string{"red"})}, NodeAttr: []record.Channel{{Name: "size"}},
		EdgeAttr: []record.Channel{{Name: "weight"}},
	}
	f.Fuzz(func(t *testing.T, text []byte, attributes bool) {
		layout := l
		if !attributes {
			layout = record.Layout{}
		}
		it, _, err := parseNodeLink(text, layout)
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Fatalf("%q is not one line", err)
			}
			return
		}
		if err := it.Graph.Check(); err != nil {
			t.Fatal(err)
		}
		if err := it.NodeID.Check(); err != nil {
			t.Fatal(err)
		}
		layout.NodeIDs = it.NodeID.Kind()
		if err := layout.Holds(it.Graph, &record.Row{NodeID: it.NodeID}); err != nil {
			t.Fatal(err)
		}
	})
}

// Graphs of other classes are left out by Skip, and Names has those of all graphs.
func TestNodeLinkSkip(t *testing.T) {
	text := "{\"id\":7,\"graph\":{\"c\":\"a\"}}\n{\"name\":8,\"graph\":{\"c\":\"\"}}\n{\"graph\":{\"name\":7,\"c\":\"b\"}}\n{\"id\":9}\n"
	src := nodelink.Source{Path: nodeLinkFile(t, text), Class: "c"}
	for _, c := range []struct {
		layout *record.Layout
		want   []string
		rows   int64
	}{
		{nil, []string{"", ""}, 2}, // the classes are a and b
		{&record.Layout{Classes: []string{"a", "z"}}, []string{"", "b", ""}, 1},
		{&record.Layout{Classes: []string{"y", "z"}}, []string{"a", "", "b", ""}, 0},
	} {
		var skipped []string
		src.Layout, src.Skip = c.layout, func(class string) { skipped = append(skipped, class) }
		r, err := src.Open(t.Context(), memory.DefaultAllocator)
		if err != nil {
			t.Fatal(err)
		}
		n := int64(0)
		for {
			rec, err := r.Next(t.Context())
			if err == io.EOF {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			n += rec.NumRows()
			rec.Release()
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(skipped, c.want) || n != c.rows {
			t.Errorf("%q are left out, want %q; %d graphs, want %d", skipped, c.want, n, c.rows)
		}
	}
	names, err := src.Names(t.Context())
	if err != nil || names.Kind() != graph.Int64IDs || names.Len() != 4 || names.Name(0) != "7" || names.Name(2) != "7" || names.Name(3) != "9" {
		t.Errorf("%v, %v", names, err)
	}
}

// What is no node-link JSON, or has keys that it does not have, is refused by the key: edges under
// another key would be a graph without edges.
func TestNodeLinkKeys(t *testing.T) {
	nodes := `"nodes":[{"id":1},{"id":2}]`
	link := `[{"source":1,"target":2}]`
	for text, want := range map[string]string{
		`{` + nodes + `,"relations":` + link + `}`:                                        `unknown key "relations", want nodes, links or edges, directed`,
		`{` + nodes + `,"Edges":` + link + `}`:                                            `unknown key "Edges"`,
		`{` + nodes + `,"EDGES":` + link + `}`:                                            `unknown key "EDGES"`,
		`{` + nodes + `,"Links":` + link + `}`:                                            `unknown key "Links"`,
		`{` + nodes + `,"edge":` + link + `}`:                                             `unknown key "edge"`,
		`{` + nodes + `,"links":[],"edge":` + link + `}`:                                  `unknown key "edge"`,
		`{"Nodes":[{"id":1}],"links":[]}`:                                                 `unknown key "Nodes"`,
		`{"directed":false,` + nodes + `,"graph":[],"adjacency":[[{"id":2}],[{"id":1}]]}`: `unknown key "adjacency", want nodes, links or edges, directed, multigraph, graph, id, name; adjacency JSON is not read`,
		`{"data":[],"elements":{"nodes":[{"data":{"id":"a"}}],"edges":[]}}`:               `unknown key "data", "elements", want nodes, links or edges, directed, multigraph, graph, id, name; Cytoscape JSON is not read`,
		`{"graph":{"nodes":{"a":{},"b":{}},"edges":[{"source":"a","target":"b"}]}}`:       `graph: the key nodes; JSON Graph Format is not read`,
		`{"graphs":[{"nodes":{}}]}`:                                                       `JSON Graph Format is not read`,
		`{` + nodes + `}`:                                                                 `2 nodes, and there is neither links nor edges`,
		`{` + nodes + `,"edges":null}`:                                                    `edges is a JSON null, want an array`,
		`{` + nodes + `,"links":{"1":2}}`:                                                 `links is a JSON object, want an array`,
		`{"nodes":null,"links":[]}`:                                                       `nodes is a JSON null, want an array`,
		`{"nodes":["a","b"],"links":[]}`:                                                  `node 0 is a JSON string, want an object`,
		`{` + nodes + `,"links":[[1,2]]}`:                                                 `link 0 is a JSON array, want an object`,
		`{` + nodes + `,"links":` + link + `,"edges":` + link + `}`:                       `edges and links are both set, want one`,
		`{` + nodes + `,"links":[],"links":` + link + `}`:                                 `duplicate object member name`,
		`{"directed":"yes",` + nodes + `,"links":[]}`:                                     `directed is a JSON string, want true or false`,
		`{"nodes":[{"id":[1,2]},{"id":[1,3]}],"links":[{"source":[1,2],"target":[1,3]}]}`: `node 0: id: "[1,2]" is an array, want a string or an integer`,
		`{"nodes":[{"id":{"a":1}}],"links":[]}`:                                           `node 0: id: "{\"a\":1}" is an object, want a string or an integer`,
		`{` + nodes + `,"links":[{"source":1,"target":{"id":2}}]}`:                        `link 0: target: "{\"id\":2}" is an object, want`,
		`{"nodes":[{"ID":7},{"ID":8}],"links":[{"source":0,"target":1}]}`:                 `node 0: id: there is none; the key "ID" is another`,
		`{` + nodes + `,"links":[{"Source":1,"Target":2}]}`:                               `link 0: source: there is none; the key "Source" is another`,
		`{"nodes":[{"id":1},{"id":null}],"links":[]}`:                                     `node 1: id: there is none`,
		`{"nodes":[{"id":1},` + "\n\n" + `{"id":1.5}],"links":[]}`:                        `jsonl:3: node 1: id: "1.5", want a string or an integer`,
		`{"nodes":[{"id":1},{"id":2}],` + "\n" + `"links":[{"source":1,"target":2},` + "\n" + `{"source":1,"target":3}]}`: `jsonl:3: link 1: target: there is no node "3"`,
		"{\n" + nodes + ",\n\"links\":[\n{\"source\":1 \"target\":2}]}":                                                   `jsonl:4: it is no JSON: invalid character '"'`,
	} {
		_, _, err := readAll(t, nodelink.Source{Path: nodeLinkFile(t, text)})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
		if strings.HasPrefix(want, "jsonl:") {
			want = want[len("jsonl:3: "):]
		}
		if _, _, err = parseNodeLink([]byte(text), record.Layout{}); !strings.Contains(want, "neither") && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("body %s: %v, want %s", text, err, want)
		}
	}
	for _, text := range []string{`{"nodes":[{"id":1}]}`, `{` + nodes + `,"edges":[]}`, `{"links":` + link + `}`, `{"multigraph":true,"graph":[["name","x"]],` + nodes + `,"links":[]}`} {
		if _, _, err := readAll(t, nodelink.Source{Path: nodeLinkFile(t, text)}); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	text := `{` + nodes + `,"links":[],"license":{"name":"MIT"}}`
	if _, _, err := readAll(t, nodelink.Source{Path: nodeLinkFile(t, text), Ignore: []string{"license"}}); err != nil {
		t.Error(err)
	}
}

// One text of a graph, on one line, on many lines, or in an array, is one graph.
func TestNodeLinkForms(t *testing.T) {
	want, layout, err := readAll(t, nodelink.Source{Path: nodeLinkFile(t, nodeLink), Class: "class"})
	if err != nil {
		t.Fatal(err)
	}
	var graphs []string
	for _, line := range strings.Split(nodeLink, "\n") {
		if line != "" {
			graphs = append(graphs, line)
		}
	}
	var pretty []string
	for _, g := range graphs {
		var b bytes.Buffer
		if err := json.Indent(&b, []byte(g), "", "  "); err != nil {
			t.Fatal(err)
		}
		pretty = append(pretty, b.String())
	}
	for name, text := range map[string]string{
		"pretty":       strings.Join(pretty, "\n"),
		"returns":      strings.ReplaceAll(strings.Join(pretty, "\n"), "\n", "\r\n"),
		"array":        "[" + strings.Join(graphs, ",") + "]",
		"pretty array": "\ufeff[\n" + strings.Join(pretty, ",\n") + "\n]\n",
		"one line":     strings.Join(graphs, " "),
	} {
		got, l, err := readAll(t, nodelink.Source{Path: nodeLinkFile(t, text), Class: "class"})
		if err != nil || !slices.Equal(got, want) || !reflect.DeepEqual(l, layout) {
			t.Errorf("%s: %q, %v, want %q", name, got, err, want)
		}
	}
}

// Links that join the same nodes, that join a node to itself, and values that are lists are counted.
// A brute count over pairs agrees.
func TestNodeLinkNotes(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 1))
		directed := seed%2 > 0
		var lines []string
		links, loops, kept := 0, 0, 0
		for range 5 {
			known := map[[2]int]bool{}
			var all []string
			for range rng.IntN(30) {
				u, v, w := rng.IntN(4), rng.IntN(4), rng.IntN(2)
				all = append(all, fmt.Sprintf(`{"source":%d,"target":%d,"w":%d}`, u, v, w))
				pair := [2]int{u, v}
				if !directed {
					pair = [2]int{min(u, v), max(u, v)}
				}
				if links++; u == v {
					loops++
				} else if !known[pair] {
					known[pair] = true
					kept++
				}
			}
			lines = append(lines, fmt.Sprintf(`{"directed":%t,"nodes":[{"id":0,"pos":[1,2]},{"id":1},{"id":2},{"id":3}],"links":[%s]}`, directed, strings.Join(all, ",")))
		}
		want := []string{
			fmt.Sprintf("repeated rows: %d of %d name an edge that another row names, the one with the smallest attributes is kept", links-loops-kept, links),
			fmt.Sprintf("left out: %d of %d links join a node to itself", loops, links),
			`left out: 5 values of the key "pos" of nodes are lists or objects`,
		}
		var got []string
		_, _, err := readAll(t, nodelink.Source{Path: nodeLinkFile(t, strings.Join(lines, "\n")), Note: func(line string) { got = append(got, line) }})
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("seed %d: %q, %v, want %q", seed, got, err, want)
		}
	}
}

// Of a layout, words that it does not have and words that are missing are counted.
func TestNodeLinkUnseenNotes(t *testing.T) {
	layout := record.Layout{EdgeCat: []record.Channel{record.WordsChannel("kind", []string{"a", "b"})}}
	text := `{"links":[{"source":0,"target":1,"kind":"a"},{"source":1,"target":2,"kind":"c"},{"source":2,"target":3}]}` + "\n" + `{"links":[{"source":0,"target":1},{"source":1,"target":2}]}`
	var got []string
	_, _, err := readAll(t, nodelink.Source{Path: nodeLinkFile(t, text), Layout: &layout, Note: func(line string) { got = append(got, line) }})
	want := []string{"unknown words: 1 values of nodes and links are words that the layout does not have", `missing values: 3 of 5 links have none of the key "kind"`}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
}

// A key of numbers that has a few other values is an error, wherever these are, and one class is one in all
// spellings of a number.
func TestNodeLinkFewNonNumbers(t *testing.T) {
	for _, c := range []struct {
		odd  string
		at   int
		nums int // of 8 values
		want bool
	}{{`"7.5"`, 0, 7, true}, {`"NA"`, 7, 7, true}, {`true`, 3, 7, true}, {`"NaN"`, 0, 2, true}, {`"C"`, 0, 5, false}, {`"x"`, 0, 0, false}} {
		text := ""
		for i := range 8 {
			value := c.odd
			if (i+8-c.at)%8 >= 8-c.nums {
				value = fmt.Sprint(i)
			}
			text += fmt.Sprintf(`{"nodes":[{"id":0,"z":%s}],"links":[]}`+"\n", value)
		}
		_, _, err := readAll(t, nodelink.Source{Path: nodeLinkFile(t, text)})
		if (err != nil) != c.want || c.want && !strings.Contains(err.Error(), fmt.Sprintf("graphs.jsonl:%d: key \"z\": %q, want a number", c.at+1, strings.Trim(c.odd, `"`))) {
			t.Errorf("%+v: %v", c, err)
		}
		if _, _, err = readAll(t, nodelink.Source{Path: nodeLinkFile(t, text), Ignore: []string{"z"}}); err != nil {
			t.Errorf("%+v, ignored: %v", c, err)
		}
	}
	text := ""
	for _, class := range []string{"1", "1.0", "0", "0.0", "1e0"} {
		text += fmt.Sprintf(`{"graph":{"class":%s},"nodes":[{"id":0,"k":%[1]s}],"links":[]}`+"\n", class)
	}
	all, l, err := readAll(t, nodelink.Source{Path: nodeLinkFile(t, text), Class: "class"})
	if err != nil || len(all) != 5 || !slices.Equal(l.Classes, []string{"0", "1"}) {
		t.Errorf("%d graphs, classes %q, %v", len(all), l.Classes, err)
	}
	set, err := nodelink.Source{Path: nodeLinkFile(t, `{"nodes":[{"id":0,"k":1},{"id":1,"k":1.0},{"id":2,"k":0}],"links":[]}`), NodeClass: "k"}.Read(t.Context())
	if err != nil || !slices.Equal(set.Classes, []string{"0", "1"}) || !slices.Equal(set.Class, []int32{1, 1, 0}) {
		t.Errorf("%+v, %v", set, err)
	}
}
