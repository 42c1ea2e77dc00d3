package choose

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sanflow/sanflow/flow/event"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/graph/dynamic"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

// OpenNodes answers about the nodes of a graph that events change. An answer is that for a graph of tables which end with the rows that events have
// added and not removed, in their order. A Question has all of the graph that the answer depends on, in the order of ids, and the model is asked
// without a lock.
//
// It is for models that CheckLive passes. An edge of the tables takes the memory of the graph: 8 bytes and 8 for each attribute, or half for an arc, and a
// third more at most. An edge that an event adds, that rows repeat, or, with a window, any edge takes about 65 bytes and 4 for each attribute more.
type OpenNodes struct {
	opened
	reach   reach
	columns GraphColumns
	layout  record.Layout // layout of the graphs that the model reads
	inTable []bool        // by node of the tables: whether it has a row
	spaces  [2]string
	digest  string
	unseen  int

	g       *dynamic.Graph
	words   []dictionary // words of edges, by channel
	free    []int32      // numbers of nodes without a name, for new ids
	hasRow  []bool
	sets    map[graph.Edge]int64 // position of the last SetEdge of an edge
	stats   []statistic
	time    int     // index of the attribute of edges that is the time, or -1
	sign    float32 // which of the rows an edge keeps: 1 = the first in time, -1 = the last, 0 = the first by words and numbers
	swept   []Stored
	loose   []int32 // nodes that may have neither an edge nor a row after this event
	ofTable bool    // the store keeps this event, since it removed a row of the tables or set an edge
}

// GraphColumns are the columns of the tables and of the events of an OpenNodes, and its window.
type GraphColumns struct {
	record.Columns
	// Class is not read but from a row that is added.
	Class string
	// Ignore are columns that are not read.
	Ignore []string
	// Missing are texts that stand for no value.
	Missing []string
	// Last and Within are those of dynamic.Settings, in rows of the table of edges and events, and in the unit of Time. Times are then whole numbers.
	Last   int
	Within int64
}

// dictionary is the words of a channel of edges, those of the tables sorted and then those that events have brought. Number 0 is a missing word.
type dictionary struct {
	model   record.Channel
	numbers map[string]int32 // number of each word, by its text
	texts   []string
	as      []int32 // index of each word in the model
	sorted  int32   // numbers below it are those of sorted words
}

func newDictionary(model record.Channel, words []string) dictionary {
	d := dictionary{model: model, numbers: map[string]int32{}, texts: []string{""}, as: []int32{model.Unseen()}}
	for _, word := range words {
		d.number(word)
	}
	d.sorted = int32(len(d.texts))
	return d
}

// number returns the number of a word. A new word gets the next number.
func (d *dictionary) number(word string) int32 {
	n, ok := d.numbers[word]
	if !ok && word != "" {
		n = int32(len(d.texts))
		d.numbers[word], d.texts, d.as = n, append(d.texts, word), append(d.as, d.model.Index(word))
	}
	return n
}

// compare orders two words as tables do: a missing word is the last.
func (d *dictionary) compare(x, y int32) int {
	switch {
	case x == y:
		return 0
	case x == 0 || y == 0:
		return cmp.Compare(y, x)
	case max(x, y) < d.sorted:
		return cmp.Compare(x, y)
	}
	return cmp.Compare(d.texts[x], d.texts[y])
}

// OpenNodesOf opens a model for questions about the nodes of a graph of tables, which events change. The set was read with Tables.KeepRows, by the
// columns of the model, and is let go.
func OpenNodesOf(p *sinks.Predictor, set *sources.NodeSet, columns GraphColumns) (o *OpenNodes, err error) {
	if set.TableRows == nil {
		return nil, errors.New("choose: the nodes are of no tables that keep their rows")
	}
	if err := CheckLive(p); err != nil {
		return nil, err
	}
	of, behind, err := reachOf(p.Recipe())
	if err != nil {
		return nil, err
	}
	o = &OpenNodes{
		reach: of, columns: columns, layout: p.Layout(), inTable: set.TableRows.Node, spaces: set.TableRows.Spaces,
		digest: digestOfSet(set), sets: map[graph.Edge]int64{},
	}
	o.form = Form{Kind: AddEdge, ID: cmp.Or(columns.ID, "id"), Keys: []string{columns.Source, o.spaces[0], columns.Target, o.spaces[1]}}
	if slices.Contains(channelNames(slices.Concat(o.layout.NodeCat, o.layout.NodeAttr)), "id") {
		o.form.ID = ""
	}
	switch {
	case columns.Last > 0:
		o.form.Window = fmt.Sprint("last ", columns.Last)
	case columns.Within > 0:
		o.form.Window = fmt.Sprint("within ", columns.Within)
	}
	part := o.layout
	part.Part = true
	if n := len(of.beliefs.Names); n > 0 {
		for _, name := range of.beliefs.Names[n-of.beliefs.Channels():] {
			part.NodeAttr = append(slices.Clip(part.NodeAttr), record.Channel{Name: "class=" + name})
		}
	}
	if err := o.load(set); err != nil {
		return nil, fmt.Errorf("choose: %w", err)
	}
	return o, o.open(p, set.IDs, part, nil, behind)
}

// load fills the graph from the tables, with the attributes in the order of the model.
func (o *OpenNodes) load(set *sources.NodeSet) error {
	from, l, rows := set.Channels, &o.layout, set.TableRows
	g, unseen, err := Adapt(set.Graph, from, *l)
	o.unseen = unseen
	if err != nil {
		return err
	}
	cats, _ := places(from.EdgeCat, l.EdgeCat)
	attrs, _ := places(from.EdgeAttr, l.EdgeAttr)
	numbers := len(rows.Attr) / max(1, len(rows.Ends)) // attributes of a row; the channels after them are statistics
	for i, at := range cats {
		if from.EdgeCat[at].Words == nil && from.EdgeCat[at].Card > 0 {
			return fmt.Errorf("the edge attribute %q has no words, want those of a table", from.EdgeCat[at].Name)
		}
		o.words = append(o.words, newDictionary(l.EdgeCat[i], from.EdgeCat[at].Words))
	}
	numbered := func(words []int32, width int) []int32 {
		own := make([]int32, 0, len(words)/max(1, width)*len(cats))
		for ; len(words) > 0 && width > 0; words = words[width:] {
			for _, at := range cats {
				own = append(own, (words[at]+1)%int32(from.EdgeCat[at].Card)) // a missing word, the last number of a channel, becomes 0
			}
		}
		return own
	}
	g.EdgeCat = numbered(set.Graph.EdgeCat, len(from.EdgeCat))
	s := dynamic.Settings{
		Directed: g.Directed, NodeCats: len(l.NodeCat), NodeAttrs: len(l.NodeAttr), EdgeCats: len(l.EdgeCat), EdgeAttrs: len(l.EdgeAttr),
		Last: o.columns.Last, Within: o.columns.Within, Union: o.union, Gone: o.gone,
	}
	if o.g, err = dynamic.New(s); err != nil {
		return err
	}
	o.time = slices.IndexFunc(l.EdgeAttr, func(c record.Channel) bool { return c.Name == "time" })
	switch keep := strings.Split(l.Columns.Repeated, ","); {
	case slices.Contains(keep, "last"):
		o.sign = -1
	case slices.Contains(keep, "first"):
		o.sign = 1
	}
	for at, c := range l.EdgeAttr {
		if of, is := l.OfRepeated(c.Name); is {
			name, _, _ := strings.Cut(c.Name, " of ")
			base := slices.IndexFunc(l.EdgeAttr, func(c record.Channel) bool { return of != "" && c.Name == of })
			o.stats = append(o.stats, statistic{name, at, base})
		}
	}
	o.hasRow = make([]bool, g.N())
	copy(o.hasRow, o.inTable)
	occurrence := func(row int, cat []int32, attr []float32) ([]int32, []float32) {
		cat = append(cat, numbered(rows.Cat[row*len(from.EdgeCat):][:len(from.EdgeCat)], len(from.EdgeCat))...)
		own := make([]float32, len(attrs))
		for i, at := range attrs {
			if at < numbers {
				own[i] = shifted(rows.Attr[row*numbers+at:][:1], from.EdgeAttr[at:][:1], l.EdgeAttr[i:][:1])[0]
			}
		}
		o.setStatistics(own, [][]float32{own})
		return cat, append(attr, own...)
	}
	if o.columns.Last > 0 || o.columns.Within > 0 {
		return o.loadWindow(g, rows, occurrence)
	}
	times := make([]uint8, len(g.Neighbors)) // number of rows by entry of g; 2 = two or more
	entryOf := func(e graph.Edge) int {
		if !g.Directed && e.U > e.V {
			e.U, e.V = e.V, e.U
		}
		return g.Entry(e.U, e.V)
	}
	repeat := len(rows.Ends) > g.M()
	var ends []graph.Edge
	var cat []int32
	var attr []float32
	for _, e := range rows.Ends {
		if repeat && e.U != e.V {
			at := entryOf(e)
			times[at] = min(2, times[at]+1)
		}
	}
	for row, e := range rows.Ends {
		if repeat && e.U != e.V && times[entryOf(e)] > 1 {
			ends = append(ends, e)
			cat, attr = occurrence(row, cat, attr)
		}
	}
	return o.g.Load(g, ends, cat, attr)
}

// loadWindow adds the rows of edges one by one, in the order of their times with Within, so that edges leave the window.
func (o *OpenNodes) loadWindow(g *graph.Graph, rows *sources.TableRows, occurrence func(int, []int32, []float32) ([]int32, []float32)) error {
	for v := range int32(g.N()) {
		e := event.Event{Kind: event.SetNode, Source: v, Cat: g.NodeCat[int(v)*g.NodeCats:][:g.NodeCats], Attr: g.NodeAttr[int(v)*g.NodeAttrs:][:g.NodeAttrs], Time: math.MinInt64}
		if err := o.g.Apply(&e, nil, nil); err != nil {
			return err
		}
	}
	if o.columns.Within > 0 && o.time < 0 {
		return errors.New("a window of time wants edges with a time")
	}
	order, at := make([]int32, len(rows.Ends)), make([]int64, len(rows.Ends))
	for row := range order {
		if order[row] = int32(row); o.columns.Within > 0 {
			_, attr := occurrence(row, nil, nil)
			at[row] = int64(math.Round(float64(attr[o.time]) + o.layout.EdgeAttr[o.time].Offset))
		}
	}
	slices.SortStableFunc(order, func(x, y int32) int { return cmp.Compare(at[x], at[y]) })
	for _, row := range order {
		e := event.Event{Kind: event.AddEdge, Pos: -1, Source: rows.Ends[row].U, Target: rows.Ends[row].V, Time: at[row]}
		e.Cat, e.Attr = occurrence(int(row), nil, nil)
		if err := o.g.Apply(&e, nil, nil); err != nil {
			return err
		}
	}
	return nil
}

// digestOfSet returns the SHA-256 of the ids, the classes and the ends of the rows of a set.
func digestOfSet(set *sources.NodeSet) string {
	sum := sha256.New()
	var b []byte
	for v := range int32(set.Graph.N()) {
		b = append(set.IDs.Append(b[:0], v), 0)
		if c := set.Class[v]; c >= 0 {
			b = append(b, set.Classes[c]...)
		}
		sum.Write(append(b, 0))
	}
	b = b[:0]
	for _, e := range set.TableRows.Ends {
		b = binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(b, uint32(e.U)), uint32(e.V))
		if len(b) > 1<<16 {
			sum.Write(b)
			b = b[:0]
		}
	}
	return hex.EncodeToString(sum.Sum(b))
}

// Unseen returns the number of words of the tables that the model does not have, as of Adapt.
func (o *OpenNodes) Unseen() int { return o.unseen }

// Grows implements Changing.
func (o *OpenNodes) Grows() error { return nil }

// Digest implements Changing.
func (o *OpenNodes) Digest() string { return o.digest }

// Ask makes questions of nodes by their ids, all about one position.
func (o *OpenNodes) Ask(ids []string, rows []Row) (asked []*Question, position int64, err error) {
	if len(rows) > 0 {
		return nil, 0, errors.New("the model answers about nodes, by their ids, and about graphs that are sent, not about rows")
	}
	pieces, position, err := o.cuts(ids)
	if err != nil {
		return nil, 0, err
	}
	for i, p := range pieces {
		q := &Question{id: ids[i]}
		if q.graph, q.ids, q.root, err = o.graph(p); err == nil {
			err = o.addKnown(q)
		}
		if err != nil {
			return nil, 0, err
		}
		asked = append(asked, q)
	}
	return asked, position, nil
}

// cuts copies the parts of the graph that answers depend on. If a part has an edge with rows that are not united yet, cuts takes the lock of a writer and
// unites them.
func (o *OpenNodes) cuts(ids []string) ([]*piece, int64, error) {
	o.mu.RLock()
	pieces, position, err := o.cutsOf(ids, false)
	o.mu.RUnlock()
	if err == errStale {
		o.mu.Lock()
		defer o.mu.Unlock()
		return o.cutsOf(ids, true)
	}
	return pieces, position, err
}

// cutsOf does the work of cuts. The caller holds the lock, as for cut.
func (o *OpenNodes) cutsOf(ids []string, unite bool) (pieces []*piece, position int64, err error) {
	for _, id := range ids {
		v, ok := o.nodeOf(id)
		if !ok {
			return nil, 0, fmt.Errorf("there is no node %.80q", id)
		}
		p, err := o.cut(v, unite)
		if err != nil {
			return nil, 0, err
		}
		pieces = append(pieces, p)
	}
	return pieces, o.position, nil
}

// addKnown adds what the model stores by id to the nodes of a question: the features of known ids, and the beliefs about classes.
func (o *OpenNodes) addKnown(q *Question) (err error) {
	known := o.p.Known()
	if o.layout.NodeSparse.Card > 0 {
		if q.graph, _, err = known.Identify(q.graph, q.ids); err != nil {
			return err
		}
	}
	g, classes, more := q.graph, len(o.reach.beliefs.Names), o.reach.beliefs.Channels()
	if classes == 0 {
		return nil
	}
	probs, _ := known.Believed(g.N(), q.ids)
	attr := make([]float32, 0, g.N()*(g.NodeAttrs+more))
	for v := range g.N() {
		attr = append(attr, g.NodeAttr[v*g.NodeAttrs:][:g.NodeAttrs]...)
		attr = append(attr, probs[(v+1)*classes-more:][:more]...)
	}
	g.NodeAttr, g.NodeAttrs = attr, g.NodeAttrs+more
	return nil
}

// Explain implements Changing. Nodes have the numbers of Reasons.Graph.
func (o *OpenNodes) Explain(ctx context.Context, q *Question, class string) (*Reasons, error) {
	e, err := o.explain(ctx, q, class, q.ids)
	return &Reasons{Explanation: e, Graph: q.graph, IDs: q.ids}, err
}
