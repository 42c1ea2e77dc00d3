package choose

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/internal/decimal"
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
	h       *History
	p       *sinks.Predictor
	rows    *sinks.OpenRows
	ofPast  bool
	numbers bool // the model reads numbers
	layout  record.Layout
	schema  *arrow.Schema
	index   *graph.IDIndex // of the set
	tables  []int32        // the node types of rows
	columns RowColumns

	mu       sync.RWMutex
	position int64 // position of the last event
	own      []ownColumn
	states   []*earlier.State // states after all rows
	past     *past.Rows
	tail     tail
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

// Row is a row by the names of its columns: the keys, the time, numbers, words, and, of several tables, "table". A column that is
// missing, nil, or "" has no value; the time must be there, if rows have times, and of their kind. Values are strings, numbers, or
// json.Number, and are read as those of tables.
type Row map[string]any

// Reasons are the reasons of the answer about a row.
type Reasons struct {
	*sinks.Explanation
	// Earlier are the latest rows before the row, by key.
	Earlier []EarlierRows `json:"earlier"`

	Graph *graph.Graph `json:"-"` // of the row, with the node numbers of Explanation
	IDs   graph.IDs    `json:"-"` // of its nodes
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
	o = &OpenHistory{h: h, p: p, ofPast: readsPast(recipe), own: slices.Clone(h.own), columns: columns}
	behind := recipe[:0]
	for _, op := range recipe {
		switch op.(type) {
		case operators.Expect, operators.Roots:
		case operators.ExpectColumns:
			o.numbers = true
			behind = append(behind, op)
		default:
			behind = append(behind, op)
		}
	}
	o.layout = h.layout(o.ofPast)
	o.layout.Classes, o.layout.Real, o.layout.NodeClasses, o.layout.NodeIDs = nil, false, nil, graph.NoIDs
	fields := []arrow.Field{record.ListField[int32](record.Roots, []int{1})}
	if o.numbers {
		fields = append(fields, record.ColumnsField(h.names))
	}
	o.schema, err = record.Extend(o.layout.Schema(), fields...)
	if err != nil {
		return nil, err
	}
	if o.index, err = h.Set.IDs.Index(); err != nil {
		return nil, err
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
	o.rows, err = p.OpenRows(o.schema, behind)
	return o, err
}

// Close frees what OpenRows has opened, but for the model.
func (o *OpenHistory) Close() error { return o.rows.Close() }

// Question is a row or a node to predict, with all data that the model reads about it at one position.
type Question struct {
	row     []float32    // numbers of the row
	graph   *graph.Graph // graph of the row alone, of its past, or around a node
	ids     graph.IDs    // ids of the nodes of graph, for an OpenNodes
	root    int32        // node of graph to predict; 0 for a row
	id      string       // id of the row or the node
	nodes   []int32      // number of each node of graph behind the row; -1 = a new key
	values  []string     // by key column
	earlier []earlierOf  // by key column
	unknown int          // number of words of the row that the model does not have
	ignored []string     // columns with values that are not read
}

// earlierOf has the number of earlier rows of a key, and the latest of them with their known classes, else -1.
type earlierOf struct {
	count         int
	rows, classes []int32
}

// Ignored returns the columns of a row of no table that have values and are not read.
func (q *Question) Ignored() []string { return q.ignored }

// Unknown returns the number of words of a row of no table that the model does not have.
func (q *Question) Unknown() int { return q.unknown }

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

// Reads reports whether the model reads a column of rows.
func (o *OpenHistory) Reads(column string) bool {
	l := o.h.Set.Channels
	named := func(c record.Channel) bool { return c.Name == column }
	return slices.ContainsFunc(o.h.Set.Keys, func(k sources.Key) bool { return k.Column == column }) ||
		slices.ContainsFunc(l.NodeCat[1:1+o.h.Set.Words], named) || slices.ContainsFunc(l.NodeAttr[:o.h.Set.Numbers], named)
}

// Predict returns the answer about a row. About one that is in no table it is that of a table that ends before the row.
func (o *OpenHistory) Predict(ctx context.Context, q *Question) (sinks.Answer, error) {
	rec, err := o.record(q)
	if err != nil {
		return sinks.Answer{}, err
	}
	defer rec.Release()
	return o.rows.Predict(ctx, rec)
}

// Explain is the reasons of Predict. class is that to explain, by default the predicted one.
func (o *OpenHistory) Explain(ctx context.Context, q *Question, class string) (*Reasons, error) {
	rec, err := o.record(q)
	if err != nil {
		return nil, err
	}
	defer rec.Release()
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
	if r.IDs, err = graph.IDsOfStrings(names); err != nil {
		return nil, err
	}
	r.Explanation, err = o.rows.Explain(ctx, rec, sinks.ExplainOptions{Class: class, IDs: r.IDs})
	return r, err
}

// newRow is a row that is in no table, encoded by the channels of the model.
type newRow struct {
	id, class string
	time      float64 // NaN = unknown
	cat       []int32 // discrete attributes of its node
	attr      []float32
	values    []string // by key column, "" = missing
	unknown   int      // number of unknown words
	ignored   []string // columns with values that are not read
}

// read parses a row.
func (o *OpenHistory) read(row Row) (*newRow, error) {
	h, g := o.h, o.h.Set.Graph
	l, c := h.Set.Channels, o.columns
	if err := row.check(); err != nil {
		return nil, err
	}
	text := func(column string) string { return row.text(column, c.Missing) }
	id, err := row.id(cmp.Or(c.ID, "id"), c.Missing)
	if err != nil {
		return nil, err
	}
	r := &newRow{id: id, class: text(c.Class), time: math.NaN()}
	known := map[string]bool{"table": true, c.Time: true, c.ID: true, c.Class: true}
	if c.ID == "" && !o.Reads("id") {
		known["id"] = true
	}
	for _, name := range append(slices.Clone(c.Ignore), c.Class) {
		if known[name] = true; row[name] != nil {
			r.ignored = append(r.ignored, name)
		}
	}
	slices.Sort(r.ignored)
	if _, ok := row[c.Time]; c.Time != "" && !ok {
		return nil, fmt.Errorf("the row has no %q, the time: null is an unknown one", c.Time)
	}
	if time := text(c.Time); time != "" {
		var err error
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
	r.cat, r.attr = o.blank()
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
	for i := 1; i <= h.Set.Words; i++ {
		channel := l.NodeCat[i]
		known[channel.Name] = true
		if word := text(channel.Name); word != "" {
			if r.cat[i] = channel.Index(word); r.cat[i] == channel.Unseen() {
				r.unknown++
			}
		}
	}
	for i, channel := range l.NodeAttr[:h.Set.Numbers] {
		known[channel.Name] = true
		var err error
		if r.attr[i], err = row.number(channel.Name, c.Missing, channel.Offset); err != nil {
			return nil, err
		}
	}
	for j, k := range h.Set.Keys {
		known[k.Column] = true
		value, err := row.id(k.Column, c.Missing)
		if err != nil {
			return nil, err
		}
		if value != "" {
			if value, err = sources.KeyText(value, h.Set.KeyTypes[j]); err != nil {
				return nil, fmt.Errorf("%q is %w", k.Column, err)
			}
		}
		r.values = append(r.values, value)
	}
	return r, row.unread(known)
}

// check returns an error for values that are objects or arrays.
func (row Row) check() error {
	for _, name := range slices.Sorted(maps.Keys(row)) {
		switch row[name].(type) {
		case map[string]any, []any:
			return fmt.Errorf("%.80q is an object or an array, want a number or a string", name)
		}
	}
	return nil
}

// text returns the text of a column, "" if it is missing.
func (row Row) text(column string, missing []string) string {
	text := []byte(TextOf(row[column]))
	b := sources.TableBatch{Rows: 1, Values: []sources.TableValues{{Text: text, Spans: []sources.Span{{To: int32(len(text))}}}}}
	if _, ok := b.WithMissing(missing).Values[0].At(0, nil); !ok {
		return ""
	}
	return string(text)
}

// id is the text of a column of ids, "" if that is missing.
func (row Row) id(column string, missing []string) (string, error) {
	text := row.text(column, missing)
	if _, is := row[column].(bool); is {
		return "", fmt.Errorf("%q is %s, want a string or a number", column, text)
	}
	if len(text) > mostName {
		return "", fmt.Errorf("%q is %d bytes, want at most %d", column, len(text), mostName)
	}
	return text, nil
}

// number returns the number of a column minus offset, NaN if it is missing.
func (row Row) number(column string, missing []string, offset float64) (float32, error) {
	text := row.text(column, missing)
	if text == "" {
		return float32(math.NaN()), nil
	}
	x, err := decimal.Finite(text, 64)
	y := float32(x - offset)
	if err != nil || math.IsInf(float64(y), 0) {
		return 0, fmt.Errorf("%q is %.80q, want a finite decimal number", column, text)
	}
	return y, nil
}

// unread returns an error for a column that is not known.
func (row Row) unread(known map[string]bool) error {
	for _, name := range slices.Sorted(maps.Keys(row)) {
		if !known[name] {
			return fmt.Errorf("the model reads no column %.80q", name)
		}
	}
	return nil
}

// blank returns missing attributes for a node.
func (o *OpenHistory) blank() (cat []int32, attr []float32) {
	for _, c := range o.h.Set.Channels.NodeCat {
		cat = append(cat, c.Unseen())
	}
	return cat, slices.Repeat([]float32{float32(math.NaN())}, o.h.Set.Graph.NodeAttrs)
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
		blank, none := o.blank()
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

// TextOf is the text of a value of a Row, as a table has it; "" of nil.
func TextOf(value any) string {
	switch x := value.(type) {
	case nil:
		return ""
	case string:
		return x
	case json.Number:
		if y, err := x.Float64(); err == nil {
			if i, err := x.Int64(); err == nil {
				return strconv.FormatInt(i, 10)
			}
			return strconv.FormatFloat(y, 'g', -1, 64)
		}
		return x.String()
	case float64:
		return strconv.FormatFloat(x, 'g', -1, 64)
	}
	return fmt.Sprint(value)
}

// record returns the record of a question, the input of the recipe. The caller releases it.
func (o *OpenHistory) record(q *Question) (arrow.Record, error) {
	b := record.NewBuilder(memory.DefaultAllocator, o.layout)
	defer b.Release()
	if err := b.Append(q.graph, record.Row{}); err != nil {
		return nil, err
	}
	rec := b.Record()
	defer rec.Release()
	roots := record.NewLists[int32](memory.DefaultAllocator)
	roots.Append([]int32{0})
	columns := map[string]arrow.Array{record.Roots: roots.Finish()}
	if o.numbers {
		numbers := record.NewFixed[float32](memory.DefaultAllocator, len(q.row))
		copy(numbers.Extend(1), q.row)
		columns[record.RowColumns] = numbers.Finish(1)
	}
	return record.Project(o.schema, rec, columns)
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
