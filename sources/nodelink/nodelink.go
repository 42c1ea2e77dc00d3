// Package nodelink reads graphs in the node-link JSON of NetworkX and D3.
package nodelink

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"

	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/internal/reading"
)

func init() {
	sources.Register(sources.Format{
		Name: "nodelink", Endings: []string{".json", ".jsonl", ".ndjson"},
		Graphs: func(_ context.Context, path string, o sources.Options) (flow.Source, error) {
			s := Source{Path: path, Reader: o.Reader, Class: o.Class, Ignore: o.Ignore, Missing: o.Missing, Note: o.Note, Layout: o.Layout}
			if o.Skip != nil {
				s.Skip = func(class string) { o.Skip(-1, class) }
			}
			return s, nil
		},
		Nodes: func(ctx context.Context, path string, o sources.Options) (*sources.NodeSet, error) {
			return Source{Path: path, Reader: o.Reader, NodeClass: o.Class, Ignore: o.Ignore, Missing: o.Missing, Note: o.Note}.Read(ctx)
		},
	})
}

// Source reads graphs in node-link JSON, as NetworkX and D3 write it, one graph a line,
// plain or packed by gzip or zstd:
//
//	{"directed":false,"graph":{"class":"ring"},"nodes":[{"id":"a","type":"C"}],"links":[{"source":"a","target":"b","weight":2}]}
//
// Links may be called edges. Ids are strings or int64 integers; nodes without any are
// numbered from 0. A node that only a link names is added where no graph lists nodes that
// have attributes. Nodes stay in their order. Self-loops are dropped, and of links that join the
// same nodes the smallest holds, as of all sources: see [sources.EdgeCounts].
//
// Other keys of nodes and links are attributes, in the order of their names: those with
// a string or a truth value in some graph are words, those with numbers alone are numbers. A null, and a
// node or link without a key, has a missing value: the reserved word, or NaN. The keys key, of NetworkX's multigraphs, and index, of D3, are none.
// Without a Layout the file is read twice: first for the attributes and their words.
type Source struct {
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
	// Missing are strings and numbers that are read as null, as in sources.Tables.
	Missing []string
	// MaxBytes bounds the unpacked size. The default is 1 GiB, or 64 times the size of the
	// file if that is more.
	MaxBytes int64
	// Rows is the number of graphs per record. The default is 64.
	Rows int
	// Note, if set, is called at the end of the file with lines about what the file has and the
	// graphs do not. They begin with fixed words: "repeated rows: N of M" or "left out: N".
	Note func(line string)
}

// maxGraph bounds the size in bytes of the values of a graph.
const maxGraph = 256 << 20

func (s Source) input() reading.Input {
	return reading.Input{Kind: "NodeLink", Path: s.Path, Fsys: s.FS, Reader: s.Reader, MaxBytes: s.MaxBytes, PerByte: 64}
}

// String names the file, for the plan of a pipeline.
func (s Source) String() string { return s.input().String() }

// Open finds the layout and returns a reader of the graphs.
func (s Source) Open(ctx context.Context, mem memory.Allocator) (flow.Reader, error) {
	r, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	return &reading.ItemsReader{Item: r.row, Fail: r.fail, Closer: r.in.L.Close, Rows: cmp.Or(s.Rows, 64), Most: reading.RecordBytes, Build: record.NewBuilder(mem, r.layout)}, nil
}

// Read reads the nodes of the only graph of the file as a set to learn from, whose classes are those
// of NodeClass.
func (s Source) Read(ctx context.Context) (*sources.NodeSet, error) {
	r, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	defer r.in.L.Close()
	set := &sources.TableSet{Layout: r.layout}
	for {
		it, err := r.item()
		if err == io.EOF {
			return set.NodeSet()
		} else if err != nil {
			return nil, err
		}
		if set.Items = append(set.Items, *it); len(set.Items) > 1 {
			return nil, &reading.FileError{File: r.in.L.File, Line: r.parse.line, Err: errors.New("a second graph, want one whose nodes are a set")}
		}
	}
}

func (s Source) open(ctx context.Context) (*reader, error) {
	r := &reader{skip: s.Skip, note: s.Note}
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
		return nil, reading.InFile(s.Path, err)
	}
	var err error
	r.parse, r.in, err = s.text(ctx)
	return r, err
}

// text opens the file and returns the parser state.
func (s Source) text(ctx context.Context) (*Text, *reading.JsonText, error) {
	l, err := s.input().Lines(reading.Ending(ctx))
	if err != nil {
		return nil, nil, err
	}
	return &Text{class: s.Class, nodeClass: s.NodeClass, ignore: s.Ignore, missing: reading.MissingOf(s.Missing), alive: l.Alive}, reading.NewJSON(l, maxGraph), nil
}

// Names reads the file for the names of its graphs, in their order: the key id or name, or
// the key name of the object graph, the first that is a string or an integer. They are
// integers if all are. They need not differ. Without a name of every graph there are none.
// Skip does not matter.
func (s Source) Names(ctx context.Context) (names graph.IDs, err error) {
	p, in, err := s.text(ctx)
	if err != nil {
		return names, err
	}
	defer in.L.Close()
	var ids reading.GraphNames
	for {
		if err := p.next(in); err == io.EOF {
			return ids.IDs(), nil
		} else if err != nil {
			return names, err
		}
		all := p.namesOf()
		at := slices.IndexFunc(all, func(v jsontext.Value) bool {
			_, whole := reading.Canonical(v)
			return v.Kind() == '"' || whole
		})
		if at < 0 {
			return names, nil
		}
		if err := ids.Add(reading.AppendText(nil, all[at])); err != nil {
			return names, p.errorf(in, err)
		}
		ids.Strings = ids.Strings || all[at].Kind() == '"'
	}
}

// survey derives the layout in a first pass over the file.
func (s Source) survey(ctx context.Context) (l record.Layout, err error) {
	p, in, err := s.text(ctx)
	if err != nil {
		return l, err
	}
	defer in.L.Close()
	nodes, links := keys{}, keys{}
	classes, nodeClasses := map[string]bool{}, map[string]bool{}
	ofGraphs, ofNodes := map[string]bool{}, map[string]bool{} // keys that occur
	class := func(to map[string]bool, m *jsonMember) {
		text := p.textOf(m)
		if m.kind == '0' {
			text, _ = reading.WholeNumber(text)
		}
		if !to[string(text)] {
			to[string(text)], err = true, cmp.Or(err, in.L.Take(int64(len(text))+64))
		}
	}
	ignore := slices.Concat(roles, []string{s.NodeClass}, s.Ignore)
	l.NodeIDs = graph.Int64IDs
	for first := true; ; first = false {
		if err := p.next(in); err == io.EOF {
			break
		} else if err != nil {
			return l, err
		}
		if first && p.directed != nil {
			l.Directed = *p.directed
		}
		for _, of := range []struct {
			rows *objects
			keys keys
		}{{&p.nodes, nodes}, {&p.links, links}} {
			for i := range of.rows.len() {
				for _, m := range of.rows.row(i) {
					key := p.names[m.key]
					switch {
					case m.kind == '{' || m.kind == '[':
						continue
					case m.kind != '0' && slices.Contains(roles[:3], key):
						l.NodeIDs = graph.StringIDs
					case key == s.NodeClass && of.rows == &p.nodes:
						class(nodeClasses, &m)
					}
					if !slices.Contains(ignore, key) {
						err = cmp.Or(err, of.keys.add(in, int(of.rows.lines[i]), key, m.kind, p.textOf(&m)))
					}
				}
			}
		}
		for _, m := range p.graph {
			ofGraphs[p.names[m.key]] = true
		}
		for _, m := range p.nodes.members {
			ofNodes[p.names[m.key]] = true
		}
		if m := p.scalar(p.graph, s.Class); s.Class != "" && m != nil && (s.Skip == nil || m.to > m.from) {
			class(classes, m)
		}
		if err != nil {
			return l, err
		}
	}
	if err := cmp.Or(nodes.refused(), links.refused()); err != nil {
		return l, err
	}
	for _, of := range []struct {
		what, key     string
		found, others map[string]bool
	}{{"graph", s.Class, classes, ofGraphs}, {"node", s.NodeClass, nodeClasses, ofNodes}} {
		if of.key != "" && len(of.found) == 0 {
			return l, reading.InFile(s.Path, fmt.Errorf("no %s has the key %s, want a class; there are the keys %q", of.what, reading.Quote([]byte(of.key)), slices.Sorted(maps.Keys(of.others))))
		}
	}
	note := s.Note
	if note == nil {
		note = func(string) {}
	}
	l.NodeCat, l.NodeAttr = nodes.channels(note)
	l.EdgeCat, l.EdgeAttr = links.channels(note)
	l.Classes, l.NodeClasses = slices.Collect(maps.Keys(classes)), slices.Collect(maps.Keys(nodeClasses))
	reading.SortClasses(l.Classes)
	reading.SortClasses(l.NodeClasses)
	return l, nil
}

// keys collects the values of each key of nodes or of links.
type keys map[string]*words

type words struct {
	words   map[string]bool
	strings bool // at least one value is not a number
	values  int  // values that are not spellings of a missing number
	numbers int
	odd     error // error of the first value that is not a number
}

func (k keys) add(in *reading.JsonText, line int, key string, kind jsontext.Kind, text []byte) error {
	w := k[key]
	if w == nil {
		w = &words{words: map[string]bool{}}
		k[key] = w
	}
	w.strings = w.strings || kind != '0'
	if kind == '0' {
		w.numbers++
	}
	if kind == '0' || !reading.NoNumber.Match(text) {
		w.values++
	}
	if kind != '0' && w.odd == nil {
		w.odd = &reading.FileError{File: in.L.File, Line: line, Err: fmt.Errorf("key %s: %s, want a number, as other values are; -ignore %s leaves the key out, or make all its values strings%s", reading.Quote([]byte(key)), reading.Quote(text), key, reading.MissingHint(text))}
	}
	if w.words[string(text)] || !w.strings && len(w.words) > record.MaxWords {
		return nil
	}
	w.words[string(text)] = true
	if w.strings && len(w.words) > record.MaxWords {
		return &reading.FileError{File: in.L.File, Line: line, Err: fmt.Errorf("key %s: more than %d different words up to here; ignore the key", reading.Quote([]byte(key)), record.MaxWords)}
	}
	return in.L.Take(int64(len(text)) + 64)
}

// refused returns an error if a key has mostly numbers and other values. sources.Tables has the same rule.
func (k keys) refused() error {
	for _, name := range slices.Sorted(maps.Keys(k)) {
		if w := k[name]; w.odd != nil && w.numbers > 0 && reading.LeastOf*w.numbers >= reading.MostNumbers*w.values {
			return w.odd
		}
	}
	return nil
}

func (k keys) channels(note func(line string)) (cat, attr []record.Channel) {
	for _, name := range slices.Sorted(maps.Keys(k)) {
		if !k[name].strings {
			attr = append(attr, record.Channel{Name: name})
			continue
		}
		words := slices.Sorted(maps.Keys(k[name].words))
		if sources.NameParts(words) {
			note(fmt.Sprintf("ignored key %s: its values name parts, such as train and test", reading.Quote([]byte(name))))
			continue
		}
		cat = append(cat, record.WordsChannel(name, words))
	}
	return cat, attr
}

type reader struct {
	in     *reading.JsonText
	layout record.Layout
	parse  *Text
	skip   func(class string)
	note   func(line string)
	nodes  int64 // nodes read so far
	links  int64
}

// row returns the next graph with its row. The graph is nil if it is skipped.
func (r *reader) row() (*graph.Graph, record.Row, error) {
	it, err := r.item()
	if it == nil {
		return nil, record.Row{}, err
	}
	return it.Graph, record.Row{Class: it.Class, NodeClass: it.NodeClass, NodeID: it.NodeID}, err
}

func (r *reader) fail(err error) error { return r.parse.errorf(r.in, err) }

// item returns the next graph, or nil if it is skipped.
func (r *reader) item() (*sources.Item, error) {
	p := r.parse
	if err := p.next(r.in); err != nil {
		if err == io.EOF && r.note != nil {
			r.tell()
		}
		return nil, err
	}
	if class := p.classOf(); r.skip != nil && len(r.layout.Classes) > 0 && sources.ClassIndex(r.layout.Classes, class) < 0 {
		r.skip(class)
		return nil, nil
	}
	if n := p.nodes.len(); n > 1 && p.linked == "" {
		return nil, p.errorf(r.in, fmt.Errorf("%d nodes, and there is neither links nor edges, which may be empty", n))
	}
	it, err := p.item(&r.layout)
	if err != nil {
		return nil, p.errorf(r.in, err)
	}
	r.nodes += int64(p.nodes.len())
	r.links += int64(p.links.len())
	if r.layout.NodeIDs == graph.NoIDs {
		it.NodeID = graph.IDs{}
	}
	return &it, nil
}

// sorted returns the keys in order, those of nodes first.
func sorted(counts map[nestedKey]int64) []nestedKey {
	return slices.SortedFunc(maps.Keys(counts), func(a, b nestedKey) int { return cmp.Or(cmp.Compare(b.what, a.what), cmp.Compare(a.key, b.key)) })
}

// tell passes the notes about merged, dropped and missing data to note.
func (r *reader) tell() {
	if note := reading.RepeatedNote(r.parse.csr.Counts, r.links, ""); note != "" {
		r.note(note)
	}
	if n := r.parse.csr.Counts.SelfLoops; n > 0 {
		r.note(fmt.Sprintf("left out: %d of %d links join a node to itself", n, r.links))
	}
	if n := r.parse.unseen; n > 0 {
		r.note(fmt.Sprintf("unknown words: %d values of nodes and links are words that the layout does not have", n))
	}
	for _, of := range sorted(r.parse.absent) {
		all := r.nodes
		if of.what == "link" {
			all = r.links
		}
		r.note(fmt.Sprintf("missing values: %d of %d %ss have none of the key %s", r.parse.absent[of], all, of.what, reading.Quote([]byte(of.key))))
	}
	for _, of := range sorted(r.parse.nested) {
		if of.what == "link" || of.key != r.layout.NodeSparse.Name {
			r.note(fmt.Sprintf("left out: %d values of the key %s of %ss are lists or objects", r.parse.nested[of], reading.Quote([]byte(of.key)), of.what))
		}
	}
}
