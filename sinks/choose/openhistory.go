package choose

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/earlier"
	"github.com/sanflow/sanflow/operators/past"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

// OpenHistory answers about single rows of a History, about rows that are in no table, which it does not add, and about rows that Apply
// adds. Any number of goroutines may call its methods, one at a time those of a Batch and Apply. An answer is about the rows as they are at one position: a
// Question has all data about a row, and the model predicts without a lock.
type OpenHistory struct {
	opened
	h       *History
	ofPast  bool
	tables  []int32 // node types of rows, one for each table
	columns RowColumns

	own    []ownColumn
	states []*earlier.State // states after all rows
	past   *past.Rows
	tail   tail
}

// RowColumns are the columns of a Row that are no attributes.
type RowColumns struct {
	Time string // "" if rows have no times
	// ID is the id that a row has when it is added. "" is its number in its table.
	ID string
	// Class is not read but from a row that is added.
	Class string
	// Ignore are columns that are not read.
	Ignore []string
	// Missing are texts that stand for no value.
	Missing []string
}

// EarlierRows are the latest rows before a row that have one of its keys.
type EarlierRows struct {
	Key   string       `json:"key"`   // the column
	Space string       `json:"space"` // of its ids
	Value string       `json:"value"` // of the row
	Count int          `json:"count"` // of all such rows; those with the value in another column of the space count too
	Rows  []EarlierRow `json:"rows"`  // the latest first
}

// EarlierRow is a row before another one.
type EarlierRow struct {
	ID    string  `json:"id"`
	Time  float64 `json:"time"`
	Class string  `json:"class,omitempty"` // if it is known to later rows
}

// latest is how many rows EarlierRows lists at most.
const latest = 8

// OpenRows opens a model for questions about single rows.
func (h *History) OpenRows(p *sinks.Predictor, columns RowColumns) (o *OpenHistory, err error) {
	if err := h.prepare(); err != nil {
		return nil, err
	}
	recipe := p.Recipe()
	o = &OpenHistory{h: h, ofPast: readsPast(recipe), own: slices.Clone(h.own), columns: columns}
	behind, numbers := recipe[:0], []string(nil)
	for _, op := range recipe {
		switch op.(type) {
		case operators.Expect, operators.Roots:
		case operators.ExpectColumns:
			numbers = h.names
			behind = append(behind, op)
		default:
			behind = append(behind, op)
		}
	}
	if o.states, err = h.states(true); err != nil {
		return nil, err
	}
	for r := range h.Set.Rows {
		if kind := h.Set.Graph.NodeCat[r*h.Set.Graph.NodeCats]; !slices.Contains(o.tables, kind) {
			o.tables = append(o.tables, kind)
		}
	}
	_, o.past = h.past(recipe)
	o.past.Class = slices.Clone(h.rows.Class) // Apply changes the copy
	o.begin()
	o.form = formOf(h.Set, columns.ID)
	l := h.layout(o.ofPast)
	l.Classes, l.Real, l.NodeClasses, l.NodeIDs = nil, false, nil, graph.NoIDs
	return o, o.open(p, h.Set.IDs, l, numbers, behind)
}

// earlierOf has the number of earlier rows of a key, and the latest of them with their known classes, else -1.
type earlierOf struct {
	count         int
	rows, classes []int32
}

// Ask returns questions about rows with the given ids, and then about rows that are in no table. All are about one position, that of
// the last event of Apply.
func (o *OpenHistory) Ask(ids []string, rows []Row) (asked []*Question, position int64, err error) {
	news := make([]*newRow, len(rows))
	for i, row := range rows {
		if news[i], err = o.read(row); err != nil {
			return nil, 0, fmt.Errorf("rows[%d]: %w", i, err)
		}
	}
	o.mu.RLock()
	defer o.mu.RUnlock()
	for _, id := range ids {
		v, ok := o.rowOf(id)
		if !ok {
			return nil, 0, fmt.Errorf("there is no row %.80q", id)
		}
		q, err := o.stored(v)
		if err != nil {
			return nil, 0, err
		}
		asked = append(asked, q)
	}
	for i, row := range news {
		q, err := o.unstored(row)
		if err != nil {
			return nil, 0, fmt.Errorf("rows[%d]: %w", i, err)
		}
		asked = append(asked, q)
	}
	return asked, o.position, nil
}

// stored returns the question about the row that is node v.
func (o *OpenHistory) stored(v int32) (*Question, error) {
	h := o.h
	k, n := len(h.Set.Keys), len(o.own)
	keys, time := o.keysOf(v), o.past.TimeOf(v)
	q := &Question{row: make([]float32, len(h.names)), id: o.nameOf(v)}
	g, at := o.past.At(v)
	ownValues(o.own, h.Set.Graph, o.tail.Graph, g, at, keys, q.row)
	number := o.rowNumber(v)
	o.states[0].AskOf(number, q.row[n:])
	if h.Future {
		o.states[1].AskOf(h.Set.Rows-1-number, q.row[n+len(o.states[0].Columns()):])
	}
	q.values = make([]string, k)
	for j, key := range keys {
		if key >= 0 {
			q.values[j] = o.nameOf(key)[len(h.Set.Keys[j].Space)+1:]
		}
	}
	q.earlier = o.earlier(keys, time, v)
	return q, o.cut(q, g, at, func(c *past.Cutter) (*graph.Graph, []int32, error) { return c.Cut(o.past, v) })
}

// cut sets the graph of a question: the row alone, which is node at of g, or its past.
func (o *OpenHistory) cut(q *Question, g *graph.Graph, at int, of func(*past.Cutter) (*graph.Graph, []int32, error)) (err error) {
	if !o.ofPast {
		q.graph = alone(g, int32(at))
		return nil
	}
	c, _ := o.h.past(o.p.Recipe())
	var nodes []int32
	if q.graph, nodes, err = of(c); err != nil {
		return err
	}
	q.nodes = slices.Clone(nodes[1:])
	return nil
}

// Explain is the reasons of Predict. class is that to explain, by default the predicted one.
func (o *OpenHistory) Explain(ctx context.Context, q *Question, class string) (*Reasons, error) {
	names := []string{q.id}
	o.mu.RLock() // a name never changes, so it fits the earlier position of q
	for i, v := range q.nodes {
		name := fmt.Sprintf("a new key, %d", i)
		if v >= 0 {
			name = o.nameOf(v)
		}
		names = append(names, name)
	}
	r := &Reasons{Earlier: o.list(q), Graph: q.graph}
	o.mu.RUnlock()
	var err error
	if r.IDs, err = graph.IDsOfStrings(names); err == nil {
		r.Explanation, err = o.explain(ctx, q, class, r.IDs)
	}
	return r, err
}

// newRow is a row that is in no table, encoded by the channels of the model.
type newRow struct {
	id, class string
	time      float64 // NaN = unknown
	cat       []int32 // discrete attributes of its node
	attr      []float32
	values    []string // ids of the keys, by key column; "" = missing
	*reading
}

// read encodes a row by the channels of the model. An invalid value and an unknown column are errors.
func (o *OpenHistory) read(row Row) (*newRow, error) {
	h, g := o.h, o.h.Set.Graph
	l, c := h.Set.Channels, o.columns
	read, err := readingOf(row, c.Missing, append(slices.Clone(c.Ignore), c.Class))
	if err != nil {
		return nil, err
	}
	id, err := read.id(cmp.Or(c.ID, "id"))
	if err != nil {
		return nil, err
	}
	read.known["table"] = true
	r := &newRow{id: id, class: read.text(c.Class), time: math.NaN(), reading: read}
	if _, ok := row[c.Time]; c.Time != "" && !ok {
		return nil, fmt.Errorf("the row has no %q, the time: null is an unknown one", c.Time)
	}
	if time := read.text(c.Time); time != "" {
		var dates bool
		if r.time, dates, err = sources.ParseTime(time); err == nil && h.Set.Known() > 0 && dates != h.Set.Dates {
			err = fmt.Errorf("%.80q is %s, and the rows of the table have %s", time, sources.KindOfTime(dates), sources.KindOfTime(h.Set.Dates))
		}
		if err != nil {
			return nil, fmt.Errorf("%q: %w", c.Time, err)
		}
		if math.Abs(r.time) > math.MaxFloat32 {
			return nil, fmt.Errorf("%q is %.80q, want a time up to %g", c.Time, time, math.MaxFloat32)
		}
	}
	r.cat, r.attr = blank(&o.h.Set.Channels)
	r.cat[0] = g.NodeCat[0] // rows of one table have one type
	if name, ok := row["table"]; ok {
		r.cat[0] = l.NodeCat[0].Index(TextOf(name))
	}
	if !slices.Contains(o.tables, r.cat[0]) || len(o.tables) > 1 && row["table"] == nil {
		var names []string
		for _, kind := range o.tables {
			names = append(names, l.NodeCat[0].Words[kind])
		}
		return nil, fmt.Errorf("the row has no \"table\", want one of %s", strings.Join(names, ", "))
	}
	channels := l.NodeCat[1:][:h.Set.Words]
	words, numbers, err := read.attributes(channels, l.NodeAttr[:h.Set.Numbers], func(channel string) string { return channel })
	if err != nil {
		return nil, err
	}
	copy(r.attr, numbers)
	for i, word := range words {
		r.cat[1+i] = read.word(channels[i], word)
	}
	for j, k := range h.Set.Keys {
		value, err := read.key(k.Column, h.Set.KeyTypes[j])
		if err != nil {
			return nil, err
		}
		r.values = append(r.values, value)
	}
	return r, read.end()
}

// ray is a key of a row, with the columns that have it, and its node, -1 for a new key.
type ray struct {
	name, space, columns string
	node                 int32
}

// raysOf returns the different keys of a row, in the order of their columns, and the node of each key column.
func (o *OpenHistory) raysOf(values []string) (rays []ray, nodes []int32) {
	for j, k := range o.h.Set.Keys {
		node := int32(-1)
		if values[j] != "" {
			name := k.Space + ":" + values[j]
			if v, ok := o.keyOf(name); ok {
				node = v
			}
			if at := slices.IndexFunc(rays, func(r ray) bool { return r.name == name }); at >= 0 {
				rays[at].columns += "," + k.Column
			} else {
				rays = append(rays, ray{name, k.Space, k.Column, node})
			}
		}
		nodes = append(nodes, node)
	}
	return rays, nodes
}

// unstored returns the question about a row that is in no table.
func (o *OpenHistory) unstored(r *newRow) (*Question, error) {
	h := o.h
	l, n := h.Set.Channels, len(o.own)
	q := &Question{row: make([]float32, len(h.names)), id: "the row", values: r.values, unknown: r.unknown, ignored: r.ignored}
	rays, nodes := o.raysOf(r.values)
	of := []int32{-1}
	cat, attr := slices.Clone(r.cat), slices.Clone(r.attr)
	var edges []graph.Edge
	var words []int32
	for i, x := range rays {
		blank, none := blank(&o.h.Set.Channels)
		blank[0] = l.NodeCat[0].Index(x.space)
		cat, attr, of = append(cat, blank...), append(attr, none...), append(of, x.node)
		edges, words = append(edges, graph.Edge{V: int32(i) + 1}), append(words, l.EdgeCat[0].Index(x.columns))
	}
	star, err := graph.New(len(of), false, edges)
	if err != nil {
		return nil, err
	}
	star.NodeCats, star.NodeAttrs, star.NodeCat, star.NodeAttr = len(r.cat), len(r.attr), cat, attr
	star.EdgeCats, star.EdgeCat = 1, append(words, words...) // arcs of the row, then of its keys
	ownValues(o.own, h.Set.Graph, o.tail.Graph, star, 0, nodes, q.row)
	row := earlier.Row{Time: r.time, Keys: o.keyNumbers(r.values, nodes), Numbers: r.attr[:h.Set.Numbers], Class: -1}
	o.states[0].Ask(&row, q.row[n:])
	if h.Future {
		row.Time = -row.Time
		o.states[1].Ask(&row, q.row[n+len(o.states[0].Columns()):])
	}
	q.earlier = o.earlier(nodes, r.time, math.MaxInt32)
	return q, o.cut(q, star, 0, func(c *past.Cutter) (*graph.Graph, []int32, error) {
		return c.CutNew(o.past, past.New{Graph: star, Nodes: of, Time: r.time})
	})
}

// earlier returns the latest rows before a time by key. Of rows with that time, rows with lower numbers are before.
func (o *OpenHistory) earlier(keys []int32, time float64, row int32) []earlierOf {
	all := make([]earlierOf, len(keys))
	for j, key := range keys {
		if key < 0 {
			continue
		}
		rows := o.past.BehindUpTo(key, time, row)
		e := earlierOf{count: len(rows), rows: slices.Clone(rows[max(0, len(rows)-latest):])}
		for _, r := range e.rows {
			class := *o.past.ClassOf(r)
			if o.h.Delay > 0 && !(o.past.TimeOf(r)+o.h.Delay < time) {
				class = -1
			}
			e.classes = append(e.classes, class)
		}
		all[j] = e
	}
	return all
}

// list returns the earlier rows of a question with their ids.
func (o *OpenHistory) list(q *Question) (all []EarlierRows) {
	for j, k := range o.h.Set.Keys {
		if q.values[j] == "" {
			continue
		}
		e := EarlierRows{Key: k.Column, Space: k.Space, Value: q.values[j], Count: q.earlier[j].count, Rows: []EarlierRow{}}
		for i, r := range slices.Backward(q.earlier[j].rows) {
			one := EarlierRow{ID: o.nameOf(r), Time: o.past.TimeOf(r)}
			if c := q.earlier[j].classes[i]; c >= 0 {
				one.Class = o.h.Set.Classes[c]
			}
			e.Rows = append(e.Rows, one)
		}
		all = append(all, e)
	}
	return all
}
