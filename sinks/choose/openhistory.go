package choose

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"

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

// OpenHistory answers about single rows of a History, and about rows that are in no table, which it does not add. Any number of
// goroutines may call its methods.
type OpenHistory struct {
	h       *History
	p       *sinks.Predictor
	rows    *sinks.OpenRows
	state   *earlier.State // with all rows
	ofPast  bool
	numbers bool // the model reads them
	layout  record.Layout
	schema  *arrow.Schema
	index   *graph.IDIndex
	tables  []int32 // the node types of rows
	now     float64 // the time of the last row
	time    string  // its column
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

// OpenRows opens a model for questions about single rows. time is the name of the column of the time of a row in Row, "" if rows have no times.
func (h *History) OpenRows(p *sinks.Predictor, time string) (o *OpenHistory, err error) {
	if err := h.prepare(); err != nil {
		return nil, err
	}
	recipe := p.Recipe()
	o = &OpenHistory{h: h, p: p, ofPast: readsPast(recipe), now: math.Inf(-1), time: time}
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
	if o.state, err = o.stateOf(0, h.Set.Rows, false); err != nil {
		return nil, err
	}
	for r := range h.Set.Rows {
		if kind := h.Set.Graph.NodeCat[r*h.Set.Graph.NodeCats]; !slices.Contains(o.tables, kind) {
			o.tables = append(o.tables, kind)
		}
	}
	if n := h.Set.Known(); n > 0 {
		o.now = h.Set.Time[n-1]
	}
	o.rows, err = p.OpenRows(o.schema, behind)
	return o, err
}

// Close frees what OpenRows has opened, but for the model.
func (o *OpenHistory) Close() error { return o.rows.Close() }

// Question is a row that is asked about: of the set, by Find, or of no table, by Read.
type Question struct {
	stored int32   // its number, or -1
	time   float64 // NaN = unknown
	nodes  []int32 // of its keys in the set, -1 = missing or new
	values []string
	graph  *graph.Graph // that has the row: of the set, or of the row and its keys
	node   int32        // of the row in it
	of     []int32      // of a new row: the nodes of graph in the set, or -1
	row    []float32    // its numbers

	unknown int // words
}

// Unknown returns the number of words of a row of no table that the model does not have.
func (q *Question) Unknown() int { return q.unknown }

// Find returns the row of an id of the set.
func (o *OpenHistory) Find(id string) (q *Question, ok bool) {
	h := o.h
	row, ok := o.index.Name(id)
	if !ok || int(row) >= h.Set.Rows {
		return nil, false
	}
	k := len(h.Set.Keys)
	q = &Question{stored: row, time: h.Set.Time[row], nodes: h.Set.RowKeys[int(row)*k:][:k], graph: h.Set.Graph, node: row, row: make([]float32, len(h.names))}
	h.values(row, q.row)
	for j, v := range q.nodes {
		value := ""
		if v >= 0 {
			value = h.Set.IDs.Name(v)[len(h.Set.Keys[j].Space)+1:]
		}
		q.values = append(q.values, value)
	}
	return q, true
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
	rec, _, err := o.record(q)
	if err != nil {
		return sinks.Answer{}, err
	}
	defer rec.Release()
	return o.rows.Predict(ctx, rec)
}

// Explain is the reasons of Predict. class is that to explain, by default the predicted one.
func (o *OpenHistory) Explain(ctx context.Context, q *Question, class string) (*Reasons, error) {
	rec, names, err := o.record(q)
	if err != nil {
		return nil, err
	}
	defer rec.Release()
	r := &Reasons{Earlier: o.earlier(q)}
	if r.IDs, err = graph.IDsOfStrings(names); err != nil {
		return nil, err
	}
	if r.Explanation, err = o.rows.Explain(ctx, rec, sinks.ExplainOptions{Class: class, IDs: r.IDs}); err != nil {
		return nil, err
	}
	all, err := record.GraphsOf(rec)
	if err != nil {
		return nil, err
	}
	var g graph.Graph
	all.At(0, &g)
	if r.Graph, err = g.Without(nil, nil); err != nil { // a copy
		return nil, err
	}
	if r.Method == "" && !o.numbers { // a network on the past, which occlusion explains
		r.Explanation, err = o.p.ExplainRoots(ctx, r.Graph, sinks.ExplainOptions{Class: class, IDs: r.IDs}, 0)
	}
	return r, err
}

// Read makes a question of a row that is in no table.
func (o *OpenHistory) Read(row Row) (*Question, error) {
	h, g := o.h, o.h.Set.Graph
	l := h.Set.Channels
	q := &Question{stored: -1, time: math.NaN()}
	known := map[string]bool{"table": true, o.time: true}
	for _, name := range slices.Sorted(maps.Keys(row)) {
		switch row[name].(type) {
		case map[string]any, []any:
			return nil, fmt.Errorf("%.80q is an object or an array, want a number or a string", name)
		}
	}
	if value, ok := row[o.time]; o.time != "" && !ok {
		return nil, fmt.Errorf("the row has no %q, the time: null is an unknown one", o.time)
	} else if ok && value != nil && textOf(value) != "" {
		var dates bool
		var err error
		if q.time, dates, err = sources.ParseTime(textOf(value)); err == nil && h.Set.Known() > 0 && dates != h.Set.Dates {
			err = fmt.Errorf("%.80q is %s, and the rows of the table have %s", textOf(value), sources.KindOfTime(dates), sources.KindOfTime(h.Set.Dates))
		}
		if err != nil {
			return nil, fmt.Errorf("%q: %w", o.time, err)
		}
		if math.Abs(q.time) > math.MaxFloat32 {
			return nil, fmt.Errorf("%q is %.80q, want a time up to %g", o.time, textOf(value), math.MaxFloat32)
		}
	}
	cat, attr := make([]int32, g.NodeCats), make([]float32, g.NodeAttrs)
	for i, c := range l.NodeCat {
		cat[i] = c.Unseen()
	}
	for i := range attr {
		attr[i] = float32(math.NaN())
	}
	cat[0] = g.NodeCat[0] // of one table all rows
	if name, ok := row["table"]; ok {
		cat[0] = l.NodeCat[0].Index(textOf(name))
	}
	if !slices.Contains(o.tables, cat[0]) || len(o.tables) > 1 && row["table"] == nil {
		var names []string
		for _, kind := range o.tables {
			names = append(names, l.NodeCat[0].Words[kind])
		}
		return nil, fmt.Errorf("the row has no \"table\", want one of %s", strings.Join(names, ", "))
	}
	for i := 1; i <= h.Set.Words; i++ {
		known[l.NodeCat[i].Name] = true
		if value := row[l.NodeCat[i].Name]; value != nil {
			if cat[i] = l.NodeCat[i].Index(textOf(value)); cat[i] == l.NodeCat[i].Unseen() && textOf(value) != "" {
				q.unknown++
			}
		}
	}
	for i, c := range l.NodeAttr[:h.Set.Numbers] {
		known[c.Name] = true
		if value := row[c.Name]; value != nil && textOf(value) != "" {
			x, err := decimal.Finite(textOf(value), 64)
			if attr[i] = float32(x - c.Offset); err != nil || math.IsInf(float64(attr[i]), 0) {
				return nil, fmt.Errorf("%q is %.80q, want a finite decimal number", c.Name, textOf(value))
			}
		}
	}
	q.of = []int32{-1}
	ids := []string{"the row"}
	columns := []string{""} // of the nodes of star
	for j, k := range h.Set.Keys {
		known[k.Column] = true
		value := ""
		if row[k.Column] != nil {
			value = textOf(row[k.Column])
		}
		q.values, q.nodes = append(q.values, value), append(q.nodes, -1)
		if value == "" {
			continue
		}
		name := k.Space + ":" + value
		if v, ok := o.index.Name(name); ok && int(v) >= h.Set.Rows {
			q.nodes[j] = v
		}
		if at := slices.Index(ids, name); at > 0 {
			columns[at] += "," + k.Column
			continue
		}
		q.of, ids, columns = append(q.of, q.nodes[j]), append(ids, name), append(columns, k.Column)
		cat = append(cat, l.NodeCat[0].Index(k.Space))
		for _, c := range l.NodeCat[1:] {
			cat = append(cat, c.Unseen())
		}
		for range g.NodeAttrs {
			attr = append(attr, float32(math.NaN()))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(row)) {
		if !known[name] {
			return nil, fmt.Errorf("the model reads no column %.80q", name)
		}
	}
	edges := l.EdgeCat[0]
	var rays []graph.Edge
	var words []int32
	for v := 1; v < len(ids); v++ {
		rays, words = append(rays, graph.Edge{V: int32(v)}), append(words, edges.Index(columns[v]))
	}
	star, err := graph.New(len(ids), false, rays)
	if err != nil {
		return nil, err
	}
	star.NodeCats, star.NodeAttrs, star.NodeCat, star.NodeAttr = g.NodeCats, g.NodeAttrs, cat, attr
	star.EdgeCats, star.EdgeCat = 1, append(words, words...) // of the row, then of its keys
	q.graph = star
	q.row = make([]float32, len(h.names))
	h.ownValues(star, 0, g, q.nodes, q.row)
	keys := slices.Repeat([]int32{-1}, len(q.nodes))
	for j, v := range q.nodes {
		if v >= 0 {
			keys[j] = v - h.first[j]
		} else if q.values[j] != "" { // a value that no row has
			keys[j] = h.last[j] - h.first[j]
		}
	}
	return q, o.ask(earlier.Row{Time: q.time, Keys: keys, Numbers: attr[:h.Set.Numbers], Class: -1}, q.row[len(h.own):])
}

// ask makes the numbers of a new row that tell of others. A row before the last one costs a replay of the rows before it.
func (o *OpenHistory) ask(row earlier.Row, dst []float32) error {
	h, state, known, before := o.h, o.state, o.h.Set.Known(), o.before(row.Time)
	if row.Time < o.now {
		var err error
		if state, err = o.stateOf(0, before, false); err != nil {
			return err
		}
	}
	state.Ask(&row, dst)
	if !h.Future {
		return nil
	}
	later, err := o.stateOf(before, known, true)
	if err == nil {
		row.Time = -row.Time
		later.Ask(&row, dst[len(state.Columns()):])
	}
	return err
}

// before is how many rows of the set are before a new row.
func (o *OpenHistory) before(time float64) int {
	return sort.Search(o.h.Set.Known(), func(r int) bool { return !(o.h.Set.Time[r] <= time) })
}

// stateOf is what is known of some rows.
func (o *OpenHistory) stateOf(from, to int, later bool) (*earlier.State, error) {
	s, err := earlier.New(o.h.settings(later))
	if err != nil {
		return nil, err
	}
	for r := from; r < to; r++ {
		row := o.h.rows.Row(r)
		if later {
			row = o.h.rows.Row(to - 1 - (r - from))
			row.Time = -row.Time
		}
		s.Add(&row)
	}
	return s, nil
}

// textOf is the text of a value, as a table has it.
func textOf(value any) string {
	switch x := value.(type) {
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

// record returns a row as the recipe reads it, and the names of the nodes of its graph. The caller releases it.
func (o *OpenHistory) record(q *Question) (arrow.Record, []string, error) {
	h := o.h
	var g *graph.Graph
	names := []string{"the row"}
	if q.stored >= 0 {
		names[0] = h.Set.IDs.Name(q.stored)
	}
	switch {
	case !o.ofPast:
		g = alone(q.graph, q.node)
	default:
		cut, rows := h.past(o.p.Recipe())
		var nodes []int32
		var err error
		if q.stored >= 0 {
			g, nodes, err = cut.Cut(h.Set.Graph, rows, q.stored)
		} else {
			g, nodes, err = cut.CutNew(h.Set.Graph, rows, past.New{Graph: q.graph, Nodes: q.of, Time: q.time})
		}
		if err != nil {
			return nil, nil, err
		}
		for i, v := range nodes[1:] {
			name := fmt.Sprintf("a new key, %d", i)
			if v >= 0 {
				name = h.Set.IDs.Name(v)
			}
			names = append(names, name)
		}
	}
	b := record.NewBuilder(memory.DefaultAllocator, o.layout)
	defer b.Release()
	if err := b.Append(g, record.Row{}); err != nil {
		return nil, nil, err
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
	made, err := record.Project(o.schema, rec, columns)
	return made, names, err
}

// earlier lists the latest rows before a row, by key.
func (o *OpenHistory) earlier(q *Question) (all []EarlierRows) {
	h := o.h
	before := q.stored
	if q.stored < 0 {
		before = int32(o.before(q.time))
	} else if int(q.stored) >= h.Set.Known() {
		before = 0
	}
	for j, k := range h.Set.Keys {
		if q.values[j] == "" {
			continue
		}
		e := EarlierRows{Key: k.Column, Space: k.Space, Value: q.values[j], Rows: []EarlierRow{}}
		if v := q.nodes[j]; v >= 0 {
			rows := h.Set.Graph.Adj(v)
			n, _ := slices.BinarySearch(rows, before)
			e.Count = n
			for i := n - 1; i >= max(0, n-latest); i-- {
				r := rows[i]
				one := EarlierRow{ID: h.Set.IDs.Name(r), Time: h.Set.Time[r]}
				if c := h.rows.Class[r]; c >= 0 && (h.Delay == 0 || one.Time+h.Delay < q.time) {
					one.Class = h.Set.Classes[c]
				}
				e.Rows = append(e.Rows, one)
			}
		}
		all = append(all, e)
	}
	return all
}
