package nodelink

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/internal/rows"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/internal/reading"
)

// Text is one graph in node-link JSON, split into its values: the body of a request, say.
// [Parse] makes one.
type Text struct {
	class, nodeClass string // keys of the class of the graph and of the classes of nodes
	more, ignore     []string
	missing          reading.Missing

	nodes, links objects
	graph        []jsonMember
	listed       bool                  // the key nodes is present
	linked       string                // the key of the links: links or edges, or ""
	directed     *bool                 // nil without the key directed
	others       map[string]jsonMember // values of the keys id and name, and of those in more
	names        []string              // distinct keys
	places       map[string]int32      // index of a key in names
	text         []byte                // unescaped values
	unseen       int64                 // words outside the layout, over all graphs
	csr          rows.Csr              // its counts cover all graphs
	once         bool                  // a link has no channel of repeated rows, and counts as one row
	absent       map[nestedKey]int64   // nodes and links without a value, over all graphs
	nested       map[nestedKey]int64   // values that are objects or arrays, over all graphs
	line         int                   // line of the current graph or row, for errors
	alive        func() error          // returns the error of an ended context
}

// next reads the next graph. It returns io.EOF after the last.
func (p *Text) next(in *reading.JsonText) error {
	err := in.Begin()
	if err == nil {
		err = in.Enter("it", '{')
	}
	if err == nil {
		err = p.read(in)
	}
	return err
}

// errorf adds the line of the current graph or row to an error. The error of an ended context stays
// unchanged.
func (p *Text) errorf(in *reading.JsonText, err error) error {
	if p.alive() != nil {
		return err
	}
	return &reading.FileError{File: in.L.File, Line: p.line, Err: err}
}

// objects holds the nodes or the links of a graph.
type objects struct {
	members []jsonMember
	ends    []int32 // end of each row in members
	lines   []int32 // line of each row
}

// jsonMember is a member of an object whose value is not missing. A string is stored unescaped, any other
// value as its source.
type jsonMember struct {
	key      int32 // index in Text.names
	kind     jsontext.Kind
	from, to int32 // range in Text.text
}

func (r *objects) len() int { return len(r.ends) }

func (r *objects) row(i int) []jsonMember {
	from := int32(0)
	if i > 0 {
		from = r.ends[i-1]
	}
	return r.members[from:r.ends[i]]
}

func (p *Text) textOf(m *jsonMember) []byte { return p.text[m.from:m.to] }

// find returns the member with a key, or nil.
func (p *Text) find(row []jsonMember, key string) *jsonMember {
	for i := range row {
		if p.names[row[i].key] == key {
			return &row[i]
		}
	}
	return nil
}

// scalar returns the member with a key if its value is neither an object nor an array, else nil.
func (p *Text) scalar(row []jsonMember, key string) *jsonMember {
	if m := p.find(row, key); m != nil && m.kind != '{' && m.kind != '[' {
		return m
	}
	return nil
}

// Parse splits the JSON of one graph as [Source] reads it, but that links may be left out.
// missing is Source.Missing. The keys more, which have arrays, are allowed at the top; [Text.Value] returns them. It
// ends with ctx, and does not borrow from text.
func Parse(ctx context.Context, text []byte, missing []string, more ...string) (*Text, error) {
	text = bytes.TrimPrefix(text, []byte(reading.Mark))
	p := &Text{more: more, missing: reading.MissingOf(missing), alive: reading.Ending(ctx)}
	in := reading.NewJSON(&reading.Lines{Buf: text, End: len(text), Last: io.EOF}, maxGraph)
	in.Begun = true // Begin would accept an array of graphs
	err := p.next(in)
	if err == nil {
		err = in.End("the graph")
	} else if err == io.EOF {
		err = fmt.Errorf("%w: it ends early", reading.ErrJSON)
	}
	if file := (*reading.FileError)(nil); errors.As(err, &file) && file.File == "" {
		err = file.Err
	}
	if err != io.EOF {
		return nil, fmt.Errorf("sources: node-link JSON: %w", err)
	}
	return p, nil
}

// HasGraph reports whether there is a key nodes, links or edges.
func (p *Text) HasGraph() bool { return p.listed || p.linked != "" }

// Value is the JSON of the key id, name or one of more. It is nil without that key, or for null.
func (p *Text) Value(key string) []byte {
	m, ok := p.others[key]
	if !ok {
		return nil
	}
	return p.textOf(&m)
}

// Name is the JSON of the key id, name, or name of the object graph, the first that there is, or nil.
func (p *Text) Name() []byte {
	for _, value := range p.namesOf() {
		return value
	}
	return nil
}

// namesOf returns the JSON values of id, name and graph.name. Absent ones are left out.
func (p *Text) namesOf() (all []jsontext.Value) {
	for _, key := range []string{"id", "name"} {
		if text := p.Value(key); text != nil {
			all = append(all, text)
		}
	}
	if m := p.find(p.graph, "name"); m != nil {
		text := p.textOf(m)
		if m.kind == '"' {
			text, _ = jsontext.AppendQuote(nil, text) // the decoder has validated text
		}
		all = append(all, text)
	}
	return all
}

// Graph makes the graph, with the attributes of a layout, and counts the words that this does not
// have. The ids of the nodes are integers if all are, else strings, or of the kind that the layout
// has. Targets are left out.
func (p *Text) Graph(l record.Layout) (it sources.Item, unseen int, err error) {
	l.Classes, l.Real, l.NodeClasses = nil, false, nil
	before := p.unseen
	if it, err = p.item(&l); err != nil {
		err = fmt.Errorf("sources: node-link JSON: %w", err)
	}
	return it, int(p.unseen - before), err
}

// Unread returns the first key of nodes, or else of links, that is an attribute and none of some
// channels, with what has it: node 0. The key is "" if there is none.
func (p *Text) Unread(nodes, links []record.Channel) (what, key string) {
	for _, of := range []struct {
		what  string
		rows  *objects
		known []record.Channel
	}{{"node", &p.nodes, nodes}, {"link", &p.links, links}} {
		unknown := map[int32]bool{}
		for at, name := range p.names {
			unknown[int32(at)] = !slices.Contains(roles, name) && !slices.ContainsFunc(of.known, func(c record.Channel) bool { return c.Name == name })
		}
		for i := range of.rows.len() {
			for _, m := range of.rows.row(i) {
				if unknown[m.key] && m.kind != '{' && m.kind != '[' {
					return fmt.Sprintf("%s %d", of.what, i), p.names[m.key]
				}
			}
		}
	}
	return "", ""
}

// HasLink reports whether a link has a value of a key.
func (p *Text) HasLink(key string) bool {
	at, known := p.places[key]
	return known && slices.ContainsFunc(p.links.members, func(m jsonMember) bool { return m.key == at })
}

// roles are keys with a meaning of their own, so they are no attributes.
var roles = []string{"id", "source", "target", "key", "index"}

// hints name the conversion from similar formats, by a key that they have.
var hints = map[string]string{
	"elements":  "; Cytoscape JSON is not read: write it with networkx.node_link_data(networkx.cytoscape_graph(…))",
	"adjacency": "; adjacency JSON is not read: write it with networkx.node_link_data(networkx.adjacency_graph(…))",
	"graphs":    "; JSON Graph Format is not read: nodes and edges stand at the top, and nodes are a list",
}

// read reads the members of the graph object, whose { is consumed.
func (p *Text) read(in *reading.JsonText) error {
	p.nodes.clear()
	p.links.clear()
	p.graph, p.text, p.directed, p.listed, p.linked, p.others = nil, p.text[:0], nil, false, "", map[string]jsonMember{}
	if p.places == nil {
		p.places, p.nested, p.absent = map[string]int32{}, map[nestedKey]int64{}, map[nestedKey]int64{}
	}
	p.line = in.Line()
	var unknown []string
	hint := ""
	for {
		more, err := in.More()
		if err != nil {
			return err
		}
		if !more {
			break
		}
		quoted, _, err := in.Value()
		if err != nil {
			return err
		}
		key := string(reading.NameOf(quoted))
		kind := in.Dec.PeekKind()
		switch {
		case key == "nodes":
			p.listed = true
			err = p.rows(in, &p.nodes, key, "node")
		case key == "links" || key == "edges":
			if p.linked != "" {
				return in.Errorf("edges and links are both set, want one")
			}
			p.linked = key
			err = p.rows(in, &p.links, key, "link")
		case key == "graph" && kind == '{':
			p.graph, _, err = p.row(in, key, nil)
			if m := p.find(p.graph, "nodes"); m != nil && p.scalar(p.graph, "nodes") == nil {
				return in.Errorf("graph: the key nodes%s", hints["graphs"])
			}
		case slices.Contains(p.more, key) && kind != '[' && kind != 'n' && kind > 0:
			return in.Errorf("%s is a JSON %s, want an array", key, reading.NameOfKind(kind))
		case key == "id" || key == "name" || slices.Contains(p.more, key):
			var value jsontext.Value
			if value, _, err = in.Value(); err == nil && value.Kind() != 'n' {
				p.others[key] = p.keep(0, value.Kind(), value)
			}
		case key == "directed":
			if kind != 't' && kind != 'f' && kind > 0 {
				return in.Errorf("directed is a JSON %s, want true or false", reading.NameOfKind(kind))
			}
			directed := kind == 't'
			p.directed = &directed
			_, _, err = in.Value()
		default:
			if key != "graph" && key != "multigraph" && !slices.Contains(p.ignore, key) {
				unknown, hint = append(unknown, reading.Quote([]byte(key))), cmp.Or(hint, hints[key])
			}
			_, _, err = in.Value()
		}
		if err != nil {
			return err
		}
	}
	if len(unknown) > 0 {
		known := append([]string{"nodes", "links or edges", "directed", "multigraph", "graph", "id", "name"}, p.more...)
		return &reading.FileError{File: in.L.File, Line: p.line, Err: fmt.Errorf("unknown key %s, want %s%s", strings.Join(unknown[:min(3, len(unknown))], ", "), strings.Join(known, ", "), hint)}
	}
	return nil
}

func (p *Text) keep(key int32, kind jsontext.Kind, text []byte) jsonMember {
	from := len(p.text)
	p.text = append(p.text, text...)
	return jsonMember{key, kind, int32(from), int32(len(p.text))}
}

func (r *objects) clear() { r.members, r.ends, r.lines = r.members[:0], r.ends[:0], r.lines[:0] }

// rows appends the objects in the array of a key to to. what names an object in errors: node or link.
func (p *Text) rows(in *reading.JsonText, to *objects, key, what string) error {
	if err := in.Enter(key, '['); err != nil {
		return err
	}
	for {
		more, err := in.More()
		if err != nil || !more {
			return err
		}
		if len(to.ends)%1024 == 0 {
			if err := p.alive(); err != nil {
				return err
			}
		}
		before, line := len(to.members), 0
		if to.members, line, err = p.row(in, fmt.Sprint(what, " ", len(to.ends)), to.members); err != nil {
			return err
		}
		for _, m := range to.members[before:] {
			if m.kind == '{' || m.kind == '[' {
				p.nested[nestedKey{what, p.names[m.key]}]++
			}
		}
		to.lines = append(to.lines, int32(line))
		to.ends = append(to.ends, int32(len(to.members)))
	}
}

// nestedKey is a key of nodes (what is "node") or links ("link").
type nestedKey struct{ what, key string }

// row appends the members of an object. It returns the line of the object.
func (p *Text) row(in *reading.JsonText, what string, members []jsonMember) (_ []jsonMember, line int, err error) {
	if err := in.Want(what, '{'); err != nil {
		return members, 0, err
	}
	object, line, err := in.Value()
	if err != nil {
		return members, 0, err
	}
	err = reading.MembersOf(object, func(key, value jsontext.Value) error {
		name := reading.NameOf(key)
		at, ok := p.places[string(name)]
		if !ok {
			at = int32(len(p.names))
			p.names = append(p.names, string(name))
			p.places[string(name)] = at
		}
		if len(p.text)+len(value) > maxGraph {
			return &reading.FileError{File: in.L.File, Line: line, Err: fmt.Errorf("a graph with more than %d bytes of values", maxGraph)}
		}
		if kind, from := value.Kind(), len(p.text); kind != 'n' {
			p.text = reading.AppendText(p.text, value)
			if (kind == '"' || kind == '0') && p.missing.Has(p.text[from:]) {
				p.text = p.text[:from]
				return nil
			}
			members = append(members, jsonMember{at, kind, int32(from), int32(len(p.text))})
		}
		return nil
	})
	return members, line, err
}

// classOf returns the class of the graph, or "".
func (p *Text) classOf() string {
	if m := p.scalar(p.graph, p.class); m != nil {
		return string(p.textOf(m))
	}
	return ""
}

// ids numbers nodes by their ids.
type ids struct {
	reading.GraphNames
	index map[string]int32
}

// add returns the number of an id. An unknown id gets the next number.
func (n *ids) add(kind jsontext.Kind, text []byte) (int32, error) {
	v, known := n.index[string(text)]
	_, integer := reading.Canonical(text)
	switch word := kind == '"' || kind == 't' || kind == 'f'; {
	case known && (word || integer):
		n.Strings = n.Strings || word
		return v, nil
	case word:
		n.Strings = true
	case kind == '{' || kind == '[':
		return 0, fmt.Errorf("%s is an %s, want a string or an integer", reading.Quote(text), reading.NameOfKind(kind))
	case !integer:
		return 0, fmt.Errorf("%s, want a string or an integer", reading.Quote(text))
	}
	v = int32(len(n.Ends))
	n.index[string(text)] = v
	return v, n.GraphNames.Add(text)
}

// end returns the number of the node that the key of a row names.
func (p *Text) end(ids *ids, row []jsonMember, key string) (v int32, text []byte, err error) {
	m := p.find(row, key)
	if m == nil {
		return 0, nil, fmt.Errorf("%s: there is none%s", key, p.other(row, key))
	}
	text = p.textOf(m)
	if v, err = ids.add(m.kind, text); err != nil {
		err = fmt.Errorf("%s: %w", key, err)
	}
	return v, text, err
}

// other returns a hint if a key of the row differs from key in case only.
func (p *Text) other(row []jsonMember, key string) string {
	for _, m := range row {
		if name := p.names[m.key]; name != key && strings.EqualFold(name, key) {
			return fmt.Sprintf("; the key %s is another", reading.Quote([]byte(name)))
		}
	}
	return ""
}

// item builds the graph. It counts the words outside the layout.
func (p *Text) item(l *record.Layout) (it sources.Item, err error) {
	p.csr.Alive, p.once = p.alive, false
	g := &graph.Graph{NodeCats: len(l.NodeCat), NodeAttrs: len(l.NodeAttr)}
	links := rows.Arcs{Cats: len(l.EdgeCat), Attrs: len(l.EdgeAttr)}
	fail := func(rows *objects, i int, err error) (sources.Item, error) {
		what := "node"
		if rows == &p.links {
			what = "link"
		}
		p.line = int(rows.lines[i])
		return it, fmt.Errorf("%s %d: %w", what, i, err)
	}
	if p.directed != nil && *p.directed != l.Directed {
		return it, fmt.Errorf("directed is %t, want %t", *p.directed, l.Directed)
	}
	ids := ids{index: map[string]int32{}}
	numbered := true
	for i := range p.nodes.len() {
		numbered = numbered && p.find(p.nodes.row(i), "id") == nil
	}
	for i := range p.nodes.len() {
		row := p.nodes.row(i)
		if i%1024 == 0 {
			if err := p.alive(); err != nil {
				return it, err
			}
		}
		if other := p.other(row, "id"); numbered && other != "" {
			err = fmt.Errorf("id: there is none%s", other)
		} else if numbered {
			_, err = ids.add('0', strconv.AppendInt(nil, int64(i), 10))
		} else {
			var v int32
			var text []byte
			if v, text, err = p.end(&ids, row, "id"); err == nil && int(v) != i {
				err = fmt.Errorf("id: %s is that of node %d too", reading.Quote(text), v)
			}
		}
		if err != nil {
			return fail(&p.nodes, i, err)
		}
		cats, attrs, err := p.attributes("node", row, l.NodeCat, l.NodeAttr, nil)
		if err != nil {
			return fail(&p.nodes, i, err)
		}
		g.NodeCat, g.NodeAttr = append(g.NodeCat, cats...), append(g.NodeAttr, attrs...)
		if len(l.NodeClasses) > 0 {
			class := int32(-1)
			if m := p.scalar(row, p.nodeClass); m != nil {
				class = sources.ClassIndex(l.NodeClasses, string(p.textOf(m)))
			}
			it.NodeClass = append(it.NodeClass, class)
		}
	}
	closed := p.listed || len(l.NodeCat)+len(l.NodeAttr) > 0
	for i := range p.links.len() {
		row := p.links.row(i)
		if i%1024 == 0 {
			if err := p.alive(); err != nil {
				return it, err
			}
		}
		var ends [2]int32
		for side, key := range [2]string{"source", "target"} {
			v, text, err := p.end(&ids, row, key)
			if err == nil && closed && int(v) >= p.nodes.len() {
				err = fmt.Errorf("%s: there is no node %s", key, reading.Quote(text))
			}
			if err != nil {
				return fail(&p.links, i, err)
			}
			ends[side] = v
		}
		cats, attrs, err := p.attributes("link", row, l.EdgeCat, l.EdgeAttr, l.OfRepeated)
		if err != nil {
			return fail(&p.links, i, err)
		}
		links.Ends = append(links.Ends, graph.Edge{U: ends[0], V: ends[1]})
		links.Cat, links.Attr = append(links.Cat, cats...), append(links.Attr, attrs...)
	}
	for ; !closed && len(it.NodeClass) < len(ids.Ends) && len(l.NodeClasses) > 0; it.NodeClass = append(it.NodeClass, -1) {
	}
	it.Graph = g
	if err := reading.Build(&p.csr, len(ids.Ends), l.Directed, &links, g); err != nil {
		return it, err
	}
	different := slices.DeleteFunc(links.Ends, func(x graph.Edge) bool { return x.U == x.V })
	if n := len(different) - g.M(); p.once && n > 0 {
		return it, fmt.Errorf("%d links name an edge that another link names: give each edge one link, with the keys %q and the like of all rows", n, record.CountOfRows)
	}
	if err := p.sparse(g, l.NodeSparse); err != nil {
		return it, err
	}
	if len(l.Classes) > 0 {
		m := p.scalar(p.graph, p.class)
		if m == nil {
			return it, fmt.Errorf("graph: there is no key %s, want a class", reading.Quote([]byte(p.class)))
		}
		if it.Class = sources.ClassIndex(l.Classes, string(p.textOf(m))); it.Class < 0 {
			return it, fmt.Errorf("graph: the class %s is none of %d known ones", reading.Quote(p.textOf(m)), len(l.Classes))
		}
	}
	it.NodeID, err = ids.of(l.NodeIDs)
	return it, err
}

// sparse reads the sparse attribute of nodes, a list of indices.
func (p *Text) sparse(g *graph.Graph, c record.Channel) error {
	if c.Card == 0 {
		return nil
	}
	g.SparseCard, g.SparseOffsets = c.Card, []int32{0}
	for v := range g.N() {
		if v < p.nodes.len() {
			if m := p.find(p.nodes.row(v), c.Name); m != nil {
				var list []int32
				if err := json.Unmarshal(p.textOf(m), &list); err != nil {
					return fmt.Errorf("node %d: %s: want a list of indices: %w", v, c.Name, err)
				}
				g.NodeSparse = append(g.NodeSparse, list...)
			}
		}
		g.SparseOffsets = append(g.SparseOffsets, int32(len(g.NodeSparse)))
	}
	return nil // sinks.Predictor checks the order and the range of the indices
}

// of returns the ids of all nodes, converted to kind.
func (n *ids) of(kind graph.IDKind) (graph.IDs, error) {
	n.Strings = n.Strings && kind == graph.NoIDs || kind == graph.StringIDs
	from := int32(0)
	for v, end := range n.Ends {
		if _, ok := reading.Canonical(n.Text[from:end]); !ok && !n.Strings {
			return graph.IDs{}, fmt.Errorf("node %d: id: %s, want an integer", v, reading.Quote(n.Text[from:end]))
		}
		from = end
	}
	return n.IDs(), nil
}

// attributes reads the values of channels. The key type stands in for the first discrete channel. A link
// without a channel of repeated rows counts as one row; repeated describes these channels.
func (p *Text) attributes(what string, row []jsonMember, cat, attr []record.Channel, repeated func(channel string) (of string, is bool)) (cats []int32, attrs []float32, err error) {
	for i, c := range cat {
		m := p.scalar(row, c.Name)
		if m == nil && i == 0 {
			m = p.scalar(row, "type")
		}
		at := c.Unseen()
		switch {
		case at < 0: // the channel has indices, no words
			x := int64(-1)
			if m != nil {
				x, _ = reading.Canonical(p.textOf(m))
			}
			if m == nil || m.kind != '0' || x < 0 || x >= int64(c.Card) {
				return nil, nil, fmt.Errorf("%s: want an index from 0 to %d", c.Name, c.Card-1)
			}
			at = int32(x)
		case m != nil:
			if at = c.Index(string(p.textOf(m))); at == c.Unseen() {
				p.unseen++
			}
		default:
			p.absent[nestedKey{what, c.Name}]++
		}
		cats = append(cats, at)
	}
	for _, c := range attr {
		m := p.scalar(row, c.Name)
		if m == nil && repeated != nil {
			if of, is := repeated(c.Name); is {
				if p.once = true; of == "" {
					attrs = append(attrs, 1)
					continue
				}
				m = p.scalar(row, of)
			}
		}
		if m == nil {
			p.absent[nestedKey{what, c.Name}]++
			attrs = append(attrs, float32(math.NaN()))
			continue
		}
		x, err := reading.Number(p.textOf(m))
		x -= c.Offset
		if err == nil && float32(x)-float32(x) != 0 {
			err = fmt.Errorf("%v does not fit a float32", x)
		}
		if err != nil || m.kind == '"' {
			return nil, nil, fmt.Errorf("%s: %w", c.Name, cmp.Or(err, fmt.Errorf("%s is a string, want a number", reading.Quote(p.textOf(m)))))
		}
		attrs = append(attrs, float32(x))
	}
	return cats, attrs, nil
}
