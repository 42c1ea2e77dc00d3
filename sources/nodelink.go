package sources

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
)

// NodeLink reads graphs in node-link JSON, as NetworkX and D3 write it, one graph a line,
// plain or packed by gzip or zstd:
//
//	{"directed":false,"graph":{"class":"ring"},"nodes":[{"id":"a","type":"C"}],"links":[{"source":"a","target":"b","weight":2}]}
//
// Links may be called edges. Ids are strings or int64 integers; nodes without any are
// numbered from 0. A node that only a link names is added where no graph lists nodes that
// have attributes. Nodes stay in their order. Self-loops are dropped, and of links that join the
// same nodes the smallest holds, as of all sources: see [EdgeCounts].
//
// Other keys of nodes and links are attributes, in the order of their names: those with
// a string or a truth value in some graph are words, those with numbers alone are numbers,
// which every node or link needs. The keys key, of NetworkX's multigraphs, and index, of D3, are none.
// Without a Layout the file is read twice: first for the attributes and their words.
type NodeLink struct {
	// Path is the file.
	Path string
	// FS, if set, is the file system of Path.
	FS fs.FS
	// Reader, if set, is read in place of Path, which is then only its name in messages. It
	// can be read once, and Layout must be set.
	Reader io.Reader
	// Layout describes the graphs, such as the Layout of a model. Words that it does not have are
	// the reserved ones of their channels; other keys are not read.
	Layout *record.Layout
	// Class is a key of the object graph, and NodeClass one of nodes: words, which become
	// the classes of graphs, and of nodes. A layout has its own classes, which a key is not
	// needed for.
	Class, NodeClass string
	// Skip, if set, is called for each graph whose Class is missing, "", or none of those of
	// Layout, which is then left out. Without it such a graph is an error. The reader calls it.
	Skip func(class string)
	// Ignore are keys that are no attributes.
	Ignore []string
	// MaxBytes bounds the unpacked size. The default is 1 GiB, or 64 times the size of the
	// file if that is more.
	MaxBytes int64
	// Rows is the number of graphs per record. The default is 64.
	Rows int
}

// maxGraphLine bounds the bytes of a graph.
const maxGraphLine = 256 << 20

func (s NodeLink) input() input {
	return input{"NodeLink", s.Path, s.FS, s.Reader, s.MaxBytes, 0, 64}
}

// String names the file, for the plan of a pipeline.
func (s NodeLink) String() string { return s.input().String() }

// Open finds the layout and returns a reader of the graphs.
func (s NodeLink) Open(ctx context.Context, mem memory.Allocator) (flow.Reader, error) {
	r := &nodeLinkReader{rows: cmp.Or(s.Rows, 64), skip: s.Skip, parse: nodeLinkText{class: s.Class, nodeClass: s.NodeClass}}
	switch {
	case s.Rows < 0:
		return nil, fmt.Errorf("sources: NodeLink: Rows is %d, want at least 0", s.Rows)
	case s.Layout != nil:
		r.layout = *s.Layout
	case s.Reader != nil:
		return nil, errors.New("sources: NodeLink: a Reader is read once, so Layout must be set")
	default:
		layout, err := s.survey(ctx)
		if err != nil {
			return nil, err
		}
		r.layout = layout
	}
	if err := r.layout.Check(); err != nil {
		return nil, inFile(s.Path, err)
	}
	l, err := s.input().lines(ending(ctx))
	if err != nil {
		return nil, err
	}
	l.widest = maxGraphLine
	r.l, r.build = l, record.NewBuilder(mem, r.layout)
	return r, nil
}

// ParseNodeLink makes one graph of JSON as [NodeLink] reads it, such as the body of a
// request, with the attributes of a layout, and counts the words that this does not have.
// The ids of the nodes are integers if all are, else strings, or of the kind
// that the layout has. Targets are left out. The graph does not borrow from text, whose
// strings lose their escapes.
func ParseNodeLink(text []byte, l record.Layout) (it Item, unseen int, err error) {
	l.Classes, l.Real, l.NodeClasses = nil, false, nil
	p := &nodeLinkText{}
	if err = p.read(text); err == nil {
		it, unseen, err = p.item(&l)
	}
	if err != nil {
		err = fmt.Errorf("sources: node-link JSON: %w", err)
	}
	return it, unseen, err
}

// nodeLinkText is a graph as JSON has it.
type nodeLinkText struct {
	class, nodeClass string // keys

	nodes, links [][]jsonMember
	graph        []jsonMember
	listed       bool  // there is a key nodes
	directed     *bool // nil if there is no such key
	id, name     *jsonMember
	keys         map[string]string
}

// jsonMember is a value of an object that is neither an object nor an array.
type jsonMember struct {
	key  string
	kind jsonKind
	text []byte // a string without escapes
}

func member(of []jsonMember, key string) *jsonMember {
	for i := range of {
		if of[i].key == key {
			return &of[i]
		}
	}
	return nil
}

// next reads the next graph of in, and is io.EOF behind the last.
func (p *nodeLinkText) next(in *lines) error {
	line, err := in.data(func(text []byte) error { return in.errorf("%s, want a graph", quote(text)) })
	if err != nil {
		return err
	}
	if err := p.read(line); err != nil {
		return in.errorf("%w", err)
	}
	return nil
}

// read splits the text.
func (p *nodeLinkText) read(text []byte) error {
	p.nodes, p.links, p.graph, p.directed, p.listed = p.nodes[:0], p.links[:0], nil, nil, false
	p.id, p.name = nil, nil
	if p.keys == nil {
		p.keys = map[string]string{}
	}
	s := &jsonScan{b: text}
	err := s.object(func(key []byte) error {
		switch string(key) {
		case "nodes":
			p.listed = true
			return s.array(func() (err error) { p.nodes, err = p.row(s, p.nodes); return err })
		case "links", "edges":
			return s.array(func() (err error) { p.links, err = p.row(s, p.links); return err })
		case "graph":
			if s.space(); s.p < len(s.b) && s.b[s.p] == '{' {
				rows, err := p.row(s, nil)
				if len(rows) > 0 {
					p.graph = rows[0]
				}
				return err
			}
		case "id", "name":
			kind, text, escaped, err := s.value(0)
			if escaped {
				text = text[:unescape(text)]
			}
			if m := (&jsonMember{string(key), kind, text}); string(key) == "id" {
				p.id = m
			} else {
				p.name = m
			}
			return err
		case "directed":
			kind, text, _, err := s.value(0)
			if kind == jsonBool {
				directed := string(text) == "true"
				p.directed = &directed
			}
			return err
		}
		_, _, _, err := s.value(0)
		return err
	})
	if s.space(); err == nil && s.p < len(text) {
		err = s.fail("nothing behind the graph")
	}
	return err
}

// classOf is the class of the graph, or "".
func (p *nodeLinkText) classOf() string {
	if m := member(p.graph, p.class); m != nil {
		return string(m.text)
	}
	return ""
}

// nameOf is the first string or integer of the keys id, name and name of the object graph, or nil.
func (p *nodeLinkText) nameOf() *jsonMember {
	for _, m := range []*jsonMember{p.id, p.name, member(p.graph, "name")} {
		if m == nil || m.kind != jsonString && m.kind != jsonNumber {
			continue
		}
		if _, whole := canonical(m.text); whole || m.kind == jsonString {
			return m
		}
	}
	return nil
}

// Names reads the file for the names of its graphs, in their order: the key id or name, or
// the key name of the object graph, the first that is a string or an integer. They are
// integers if all are. They need not differ. Without a name of every graph there are none.
// Skip does not matter.
func (s NodeLink) Names(ctx context.Context) (names graph.IDs, err error) {
	in, err := s.input().lines(ending(ctx))
	if err != nil {
		return names, err
	}
	defer in.close()
	in.widest = maxGraphLine
	p, ids, numbers := &nodeLinkText{}, nodeLinkIDs{texts: texts{take: in.take}}, []int32{}
	for {
		if err := p.next(in); err == io.EOF {
			break
		} else if err != nil {
			return names, err
		}
		m := p.nameOf()
		if m == nil {
			return names, nil
		}
		n, err := ids.add(m)
		if err != nil {
			return names, in.errorf("%w", err)
		}
		numbers = append(numbers, n)
	}
	if ids.strings {
		return ids.texts.ids(numbers)
	}
	ints := make([]int64, len(numbers))
	for i, n := range numbers {
		ints[i], _ = canonical(ids.texts.at(n)) // as add has found
	}
	return graph.IDsOf(ints), nil
}

func (p *nodeLinkText) row(s *jsonScan, rows [][]jsonMember) ([][]jsonMember, error) {
	var row []jsonMember
	if len(rows) < cap(rows) {
		row = rows[:len(rows)+1][len(rows)][:0] // its memory
	}
	err := s.object(func(key []byte) error {
		name, ok := p.keys[string(key)]
		if !ok {
			name = string(key)
			p.keys[name] = name
		}
		kind, text, escaped, err := s.value(0)
		if err != nil || kind == jsonObject || kind == jsonArray || kind == jsonNull {
			return err
		}
		if member(row, name) != nil {
			return fmt.Errorf("the key %s is there twice", quote(key))
		}
		if escaped {
			text = text[:unescape(text)]
		}
		row = append(row, jsonMember{name, kind, text})
		return nil
	})
	return append(rows, row), err
}

// ids numbers the nodes.
type nodeLinkIDs struct {
	strings bool
	texts   texts
}

// add returns the number of an id.
func (n *nodeLinkIDs) add(m *jsonMember) (int32, error) {
	switch {
	case m == nil:
		return 0, errors.New("there is none")
	case m.kind == jsonString || m.kind == jsonBool:
		n.strings = true
	default:
		if _, ok := canonical(m.text); !ok {
			return 0, fmt.Errorf("%s, want a string or an integer", quote(m.text))
		}
	}
	return n.texts.add(m.text)
}

// item makes the graph.
func (p *nodeLinkText) item(l *record.Layout) (it Item, unseen int, err error) {
	b := Builder{Directed: l.Directed, MaxNodes: math.MaxInt32 - 1}
	if p.directed != nil && *p.directed != l.Directed {
		return it, 0, fmt.Errorf("directed is %t, want %t", *p.directed, l.Directed)
	}
	ids := nodeLinkIDs{texts: texts{take: func(int64) error { return nil }}}
	numbered := !slices.ContainsFunc(p.nodes, func(row []jsonMember) bool { return member(row, "id") != nil })
	for i, row := range p.nodes {
		id := member(row, "id")
		if numbered {
			id = &jsonMember{kind: jsonNumber, text: fmt.Append(nil, i)}
		}
		v, err := ids.add(id)
		if err == nil && int(v) != i {
			err = fmt.Errorf("%s is that of node %d too", quote(id.text), v)
		}
		if err != nil {
			return it, 0, fmt.Errorf("node %d: id: %w", i, err)
		}
		cats, attrs, n, err := attributes(row, l.NodeCat, l.NodeAttr)
		if err != nil {
			return it, 0, fmt.Errorf("node %d: %w", i, err)
		}
		unseen += n
		if b.Node(cats...); len(attrs) > 0 {
			b.NodeAttr(attrs...)
		}
		if len(l.NodeClasses) > 0 {
			class := int32(-1)
			if m := member(row, p.nodeClass); m != nil {
				class = ClassIndex(l.NodeClasses, string(m.text))
			}
			it.NodeClass = append(it.NodeClass, class)
		}
	}
	closed := p.listed || len(l.NodeCat)+len(l.NodeAttr) > 0
	for i, row := range p.links {
		var ends [2]int32
		for side, key := range [2]string{"source", "target"} {
			m := member(row, key)
			v, err := ids.add(m)
			if err == nil && closed && int(v) >= len(p.nodes) {
				err = fmt.Errorf("there is no node %s", quote(m.text))
			}
			if err != nil {
				return it, 0, fmt.Errorf("link %d: %s: %w", i, key, err)
			}
			ends[side] = v
		}
		cats, attrs, n, err := attributes(row, l.EdgeCat, l.EdgeAttr)
		if err != nil {
			return it, 0, fmt.Errorf("link %d: %w", i, err)
		}
		unseen += n
		if b.Edge(ends[0], ends[1], cats...); len(attrs) > 0 {
			b.EdgeAttr(attrs...)
		}
	}
	for ; !closed && len(it.NodeClass) < ids.texts.len() && len(l.NodeClasses) > 0; it.NodeClass = append(it.NodeClass, -1) {
	}
	if it.Graph, err = b.Graph(); err != nil {
		return it, 0, err
	}
	if len(l.Classes) > 0 {
		m := member(p.graph, p.class)
		if m == nil {
			return it, 0, fmt.Errorf("graph: there is no key %s, want a class", quote([]byte(p.class)))
		}
		if it.Class = ClassIndex(l.Classes, string(m.text)); it.Class < 0 {
			return it, 0, fmt.Errorf("graph: the class %s is none of %d known ones", quote(m.text), len(l.Classes))
		}
	}
	it.NodeID, err = ids.of(l.NodeIDs)
	return it, unseen, err
}

// of returns the ids of all nodes.
func (n *nodeLinkIDs) of(kind graph.IDKind) (graph.IDs, error) {
	if kind == graph.StringIDs || kind == graph.NoIDs && n.strings {
		numbers := make([]int32, n.texts.len())
		for v := range numbers {
			numbers[v] = int32(v)
		}
		return n.texts.ids(numbers)
	}
	ints := make([]int64, n.texts.len())
	for v := range ints {
		var ok bool
		if ints[v], ok = canonical(n.texts.at(int32(v))); !ok {
			return graph.IDs{}, fmt.Errorf("node %d: id: %s, want an integer", v, quote(n.texts.at(int32(v))))
		}
	}
	return graph.IDsOf(ints), nil
}

// attributes reads those of channels. The first discrete one may be called type.
func attributes(row []jsonMember, cat, attr []record.Channel) (cats []int32, attrs []float32, unseen int, err error) {
	for i, c := range cat {
		m := member(row, c.Name)
		if m == nil && i == 0 {
			m = member(row, "type")
		}
		at := c.Unseen()
		switch {
		case at < 0: // indices, and no words
			x := int64(-1)
			if m != nil {
				x, _ = canonical(m.text)
			}
			if m == nil || m.kind != jsonNumber || x < 0 || x >= int64(c.Card) {
				return nil, nil, 0, fmt.Errorf("%s: want an index from 0 to %d", c.Name, c.Card-1)
			}
			at = int32(x)
		case m != nil:
			if at = c.Index(string(m.text)); at == c.Unseen() {
				unseen++
			}
		}
		cats = append(cats, at)
	}
	for _, c := range attr {
		m := member(row, c.Name)
		if m == nil {
			return nil, nil, 0, fmt.Errorf("%s: there is no value, want a number", c.Name)
		}
		x, err := number(m.text)
		x -= c.Offset
		if err == nil && float32(x)-float32(x) != 0 {
			err = fmt.Errorf("%v does not fit a float32", x)
		}
		if err != nil || m.kind == jsonString {
			return nil, nil, 0, fmt.Errorf("%s: %w", c.Name, cmp.Or(err, fmt.Errorf("%s is a string, want a number", quote(m.text))))
		}
		attrs = append(attrs, float32(x))
	}
	return cats, attrs, unseen, nil
}

// survey finds the layout of all graphs.
func (s NodeLink) survey(ctx context.Context) (l record.Layout, err error) {
	in, err := s.input().lines(ending(ctx))
	if err != nil {
		return l, err
	}
	defer in.close()
	in.widest = maxGraphLine
	p := &nodeLinkText{}
	nodes, links := nodeLinkKeys{}, nodeLinkKeys{}
	classes, nodeClasses := nodeLinkKeys{}, nodeLinkKeys{}
	ignore := append([]string{"id", "source", "target", "key", "index", s.NodeClass}, s.Ignore...)
	l.NodeIDs = graph.Int64IDs
	first := true
	for {
		if err := p.next(in); err == io.EOF {
			break
		} else if err != nil {
			return l, err
		}
		if first && p.directed != nil {
			l.Directed = *p.directed
		}
		first = false
		for _, row := range p.nodes {
			if id := member(row, "id"); id != nil && id.kind != jsonNumber {
				l.NodeIDs = graph.StringIDs
			}
			if m := member(row, s.NodeClass); m != nil {
				err = cmp.Or(err, nodeClasses.add(in, *m, true))
			}
			for _, m := range row {
				if !slices.Contains(ignore, m.key) {
					err = cmp.Or(err, nodes.add(in, m, false))
				}
			}
		}
		for _, row := range p.links {
			for i := range row {
				m := row[i]
				if (m.key == "source" || m.key == "target") && m.kind != jsonNumber {
					l.NodeIDs = graph.StringIDs
				}
				if !slices.Contains(ignore, m.key) {
					err = cmp.Or(err, links.add(in, m, false))
				}
			}
		}
		if m := member(p.graph, s.Class); s.Class != "" && m != nil && (s.Skip == nil || len(m.text) > 0) {
			err = cmp.Or(err, classes.add(in, *m, true))
		}
		if err != nil {
			return l, err
		}
	}
	l.NodeCat, l.NodeAttr = nodes.channels()
	l.EdgeCat, l.EdgeAttr = links.channels()
	l.Classes, l.NodeClasses = classes.classes(), nodeClasses.classes()
	return l, nil
}

// nodeLinkKeys are the keys of nodes, or of links, with the words that each has.
type nodeLinkKeys map[string]*nodeLinkWords

type nodeLinkWords struct {
	words   map[string]bool
	strings bool // some value is no number
}

func (k nodeLinkKeys) add(in *lines, m jsonMember, class bool) error {
	w := k[m.key]
	if w == nil {
		w = &nodeLinkWords{words: map[string]bool{}}
		k[m.key] = w
	}
	w.strings = w.strings || m.kind != jsonNumber
	if w.words[string(m.text)] || !class && !w.strings && len(w.words) > record.MaxWords {
		return nil
	}
	w.words[string(m.text)] = true
	if w.strings && !class && len(w.words) > record.MaxWords {
		return in.errorf("key %s: more than %d different words up to here; ignore the key", quote([]byte(m.key)), record.MaxWords)
	}
	return in.take(int64(len(m.text)) + 64)
}

func (k nodeLinkKeys) names() []string {
	var names []string
	for name := range k {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (k nodeLinkKeys) channels() (cat, attr []record.Channel) {
	for _, name := range k.names() {
		if !k[name].strings {
			attr = append(attr, record.Channel{Name: name})
			continue
		}
		words := []string{}
		for w := range k[name].words {
			words = append(words, w)
		}
		slices.Sort(words)
		cat = append(cat, record.WordsChannel(name, words))
	}
	return cat, attr
}

func (k nodeLinkKeys) classes() (names []string) {
	for _, w := range k {
		for name := range w.words {
			names = append(names, name)
		}
	}
	sortLabels(names)
	return names
}

// nodeLinkReader reads the graphs.
type nodeLinkReader struct {
	l      *lines
	layout record.Layout
	parse  nodeLinkText
	skip   func(class string)
	build  *record.Builder
	rows   int
	at     int64
	next   *Item // that did not fit
	err    error
}

// Schema returns the schema of the records.
func (r *nodeLinkReader) Schema() *arrow.Schema { return r.build.Schema() }

// Next returns the next graphs, and io.EOF after the last.
func (r *nodeLinkReader) Next(ctx context.Context) (arrow.Record, error) {
	if r.err == nil {
		r.err = context.Cause(ctx)
	}
	for bytes := int64(0); r.err == nil && r.build.Rows() < r.rows && bytes < 64<<20; {
		it := r.next
		if r.next = nil; it == nil {
			if it, r.err = r.item(); r.err != nil {
				break
			}
			if it == nil { // left out
				r.err = context.Cause(ctx)
				continue
			}
		}
		row := it.row(r.at)
		if r.build.Rows() > 0 && !r.build.Fits(it.Graph, row) {
			r.next = it
			break
		}
		if err := r.build.Append(it.Graph, row); err != nil {
			r.err = r.l.errorf("%w", err)
			break
		}
		bytes += it.Graph.Bytes()
		r.at++
	}
	if r.err != nil && (r.err != io.EOF || r.build.Rows() == 0) {
		return nil, r.err
	}
	return r.build.Record(), nil
}

// item returns the next graph, or nil for one that is left out.
func (r *nodeLinkReader) item() (*Item, error) {
	line, err := r.l.data(func(text []byte) error { return r.l.errorf("%s, want a graph", quote(text)) })
	if err != nil {
		return nil, err
	}
	if err = r.parse.read(line); err == nil {
		if class := r.parse.classOf(); r.skip != nil && len(r.layout.Classes) > 0 && ClassIndex(r.layout.Classes, class) < 0 {
			r.skip(class)
			return nil, nil
		}
		var it Item
		if it, _, err = r.parse.item(&r.layout); err == nil {
			if r.layout.NodeIDs == graph.NoIDs {
				it.NodeID = graph.IDs{}
			}
			return &it, nil
		}
	}
	return nil, r.l.errorf("%w", err)
}

// Close ends the reading. Records that were handed out stay valid.
func (r *nodeLinkReader) Close() error {
	if r.err == errClosed {
		return nil
	}
	r.build.Release()
	r.err = errClosed
	return r.l.close()
}
