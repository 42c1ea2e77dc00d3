package choose

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sanflow/sanflow/flow/event"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/graph/dynamic"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/internal/decimal"
	lines "github.com/sanflow/sanflow/internal/rows"
	"github.com/sanflow/sanflow/sources"
)

// Kinds of Event of an OpenNodes, beside AddRow and SetClass: those of package event.
const (
	AddEdge    = "add_edge"
	RemoveEdge = "remove_edge"
	SetEdge    = "set_edge"
	SetNode    = "set_node"
	RemoveNode = "remove_node"

	DropRow = "drop_row" // of a store: a node of the tables has no row
)

// Stored is what a store need not have any more: the event at a position, since what it did has gone, or the class of an id, of which there is no node.
type Stored struct {
	Position int64
	ID       string
}

// nodeChange has the parts of an event of a graph that its kind needs.
type nodeChange struct {
	source, target string
	words          []string // words of the edge, by channel
	cat            []int32  // attributes of the node, as indices in the channels of the model
	attr           []float32
	class          bool // the row of the node has a class
}

// Begin implements Changing.
func (o *OpenNodes) Begin() *Batch {
	o.mu.RLock()
	defer o.mu.RUnlock()
	b := newBatch(&o.mu, o.prepare)
	b.now, b.added = o.g.Clock()
	b.Clock = o.clock(b)
	return b
}

// clock returns the clock of the window: the number of added edges for Last, the latest time for Within, else 0.
func (o *OpenNodes) clock(b *Batch) int64 {
	switch {
	case o.columns.Last > 0:
		return b.added
	case o.columns.Within > 0:
		return b.now
	}
	return 0
}

func (o *OpenNodes) prepare(b *Batch, c *Change) (err error) {
	now, added, clock := b.now, b.added, b.Clock
	b.undo = append(b.undo, func() { b.now, b.added, b.Clock = now, added, clock })
	c.node, c.Event.Clock = &nodeChange{}, cmp.Or(c.Event.Clock, clock)
	e := &c.Event
	switch e.Kind {
	case AddEdge, RemoveEdge, SetEdge:
		if err := o.readEdge(c); err != nil {
			return err
		}
		if within := o.columns.Within; within > 0 && e.Clock > math.MinInt64 { // MinInt64: no edge had a time yet
			c.Late = e.Kind == AddEdge && c.node.source != c.node.target && c.Time <= e.Clock-within
			if c.Time > e.Clock+within {
				c.Jump = c.Time - e.Clock
			}
		}
		if b.now = max(b.now, c.Time); e.Kind == AddEdge {
			set(b, b.exists, c.node.source, true)
			set(b, b.exists, c.node.target, true)
			if c.node.source != c.node.target {
				b.added++
			}
		}
		b.Clock = o.clock(b)
	case AddRow, SetNode:
		if err := o.readNode(c); err != nil {
			return err
		}
		if has, ok := b.hasRow[e.ID]; e.Kind == AddRow && (has || !ok && o.rowOf(e.ID)) {
			return fmt.Errorf("the node %.80q has a row already: set_node changes it", e.ID)
		}
		e.Kind = SetNode
		set(b, b.hasRow, e.ID, true)
		set(b, b.exists, e.ID, true)
	case RemoveNode, DropRow:
		if e.ID == "" {
			return errors.New(`there is no "id", the node`)
		}
		v, ok := o.index.Name(e.ID)
		e.InTables = ok && o.inTable != nil && o.inTable[v]
		set(b, b.hasRow, e.ID, false)
		set(b, b.exists, e.ID, false)
	case SetClass:
		exists, ok := b.exists[e.ID]
		if _, before := o.nodeOf(e.ID); !exists && (ok || !before) && e.Position != ByID {
			return fmt.Errorf("there is no node %.80q", e.ID)
		}
		c.class, err = classNamed(o.p.Classes(), e.Class)
	default:
		err = fmt.Errorf("the kind is %.80q, want one of %s, %s; "+inRow, e.Kind, AddRow, strings.Join(event.Kinds(), ", "))
	}
	return err
}

// idOf returns the id of the node in a column, or "" for a missing value.
func (r *reading) idOf(column, space string) (string, error) {
	text, err := r.key(column, sources.Untyped)
	if text == "" {
		return "", err
	}
	return string(sources.IDIn(space, []byte(text), nil)), nil
}

// readEdge sets the ends, the attributes, the time and the unknown words of a change from the row of an edge.
func (o *OpenNodes) readEdge(c *Change) error {
	of, n := &o.columns, c.node
	r, err := readingOf(c.Event.Row, of.Missing, of.Ignore)
	if err != nil {
		return err
	}
	for i, end := range []*string{&n.source, &n.target} {
		column := []string{of.Source, of.Target}[i]
		if *end, err = r.idOf(column, o.spaces[i]); err != nil {
			return err
		} else if *end == "" {
			return fmt.Errorf("the event has no %q, an end of the edge", column)
		}
	}
	when := r.text(of.Time)
	if c.Event.Kind == RemoveEdge {
		if err := r.end(); err != nil {
			return fmt.Errorf("%w of remove_edge: it has the ends alone, and takes the oldest row of the edge", err)
		}
	}
	n.words, n.attr, err = r.attributes(o.layout.EdgeCat, o.layout.EdgeAttr, func(channel string) string {
		if _, is := o.layout.OfRepeated(channel); is {
			return ""
		}
		return cmp.Or(of.Role(channel), channel)
	})
	for i, word := range n.words {
		d := &o.words[i]
		if _, ok := d.numbers[word]; !ok && word != "" && len(d.texts) > record.MaxWords {
			return fmt.Errorf("%.80q is a new word of %q, which has %d, and no table has more", word, d.model.Name, record.MaxWords)
		}
		r.word(d.model, word)
	}
	if c.Unknown = r.unknown; err != nil {
		return err
	}
	o.setStatistics(n.attr, [][]float32{n.attr})
	if of.Time != "" {
		switch {
		case of.Within == 0:
		case when != "":
			x, err := decimal.Finite(when, 64)
			if c.Time = int64(x); err != nil || x != math.Trunc(x) || math.Abs(x) > 1<<53 {
				return fmt.Errorf("%q is %.80q, want a whole number, for a window of time", of.Time, when)
			}
		case c.Event.Kind == AddEdge:
			return fmt.Errorf("the event has no %q, which a window of time goes by", of.Time)
		}
	}
	return r.end()
}

// readNode sets the id, the attributes, the class and the unknown words of a change from the row of a node.
func (o *OpenNodes) readNode(c *Change) error {
	of, n, space := &o.columns, c.node, ""
	r, err := readingOf(c.Event.Row, of.Missing, of.Ignore)
	if err != nil {
		return err
	}
	if o.spaces != [2]string{} {
		r.known["table"] = true
		if space = TextOf(r.row["table"]); !slices.Contains(o.spaces[:], space) {
			return fmt.Errorf("the row has no \"table\", want %s or %s", o.spaces[0], o.spaces[1])
		}
	}
	column := cmp.Or(of.ID, "id")
	id, err := r.idOf(column, space)
	if err != nil {
		return err
	}
	c.Event.ID = cmp.Or(id, c.Event.ID)
	if c.Event.ID == "" {
		return fmt.Errorf("the row has no %q, the id, nor the name id", column)
	}
	words, numbers, err := r.attributes(o.layout.NodeCat, o.layout.NodeAttr, func(channel string) string {
		if space == "" {
			return channel
		}
		name, _ := strings.CutPrefix(channel, space+": ")
		return name
	})
	if err != nil {
		return err
	}
	for i, word := range words {
		n.cat = append(n.cat, r.word(o.layout.NodeCat[i], word))
	}
	c.Unknown = r.unknown
	n.attr = numbers
	if name := r.text(of.Class); name != "" {
		n.class = true
		if c.class, err = classNamed(o.p.Classes(), name); err != nil {
			return err
		}
	}
	return r.end()
}

// statistic is an attribute of an edge over all its rows.
type statistic struct {
	name string // kind of the statistic, such as "min"
	at   int    // index of the attribute
	base int    // index of the attribute that the statistic is of; -1 = the attribute is the number of rows
}

// setStatistics sets the statistics in the attributes of an edge. rows has the attributes of each row of the edge, in which NaN is no value.
func (o *OpenNodes) setStatistics(attr []float32, rows [][]float32) {
	for _, s := range o.stats {
		if s.base < 0 {
			attr[s.at] = float32(len(rows))
			continue
		}
		var present []float32
		for _, row := range rows {
			if x := row[s.base]; x == x {
				present = append(present, x)
			}
		}
		attr[s.at] = sources.Statistic(s.name, present, o.layout.EdgeAttr[s.base].Offset)
	}
}

// union returns the attributes of an edge: those of the row that it keeps, and the statistics of all its rows, as sources.Tables does.
func (o *OpenNodes) union(all []dynamic.Occurrence) ([]int32, []float32) {
	held := slices.MinFunc(all, func(a, b dynamic.Occurrence) int {
		if o.time >= 0 && o.sign != 0 {
			if c := lines.CompareNumbers(o.sign*a.Attr[o.time], o.sign*b.Attr[o.time]); c != 0 {
				return c
			}
		}
		for i := range o.words {
			if c := o.words[i].compare(a.Cat[i], b.Cat[i]); c != 0 {
				return c
			}
		}
		for i := range a.Attr {
			if c := lines.CompareNumbers(a.Attr[i], b.Attr[i]); c != 0 && !slices.ContainsFunc(o.stats, func(s statistic) bool { return s.at == i }) {
				return c
			}
		}
		return 0
	})
	attr := slices.Clone(held.Attr)
	var numbers [][]float32
	for _, x := range all {
		numbers = append(numbers, x.Attr)
	}
	o.setStatistics(attr, numbers)
	return held.Cat, attr
}

// gone is called for each row of an edge that the graph removes. A row of the tables has no position above 0.
func (o *OpenNodes) gone(position int64) {
	if position > 0 {
		o.swept = append(o.swept, Stored{Position: position})
	} else {
		o.ofTable = true
	}
}

// Swept implements Changing.
func (o *OpenNodes) Swept() (swept []Stored) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, s := range o.swept {
		if _, there := o.nodeOf(s.ID); s.Position > 0 || !there {
			swept = append(swept, s)
		}
	}
	o.swept = nil
	return swept
}

// Apply implements Changing.
func (o *OpenNodes) Apply(position int64, changes ...*Change) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for i, c := range changes {
		o.apply(cmp.Or(c.Event.Position, position-int64(len(changes)-1-i)), c)
	}
	o.position = position
}

// Advance implements Changing.
func (o *OpenNodes) Advance(clock int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.advance(clock, math.MinInt64)
}

// advance removes the edges that leave the window at a clock, or with Within at a time if that is later.
func (o *OpenNodes) advance(clock, time int64) {
	switch {
	case o.columns.Last > 0:
		o.g.Advance(math.MinInt64, clock)
	case o.columns.Within > 0:
		o.g.Advance(max(clock, time), 0)
	}
	o.settle()
}

// apply makes the change of the event at a position. The caller holds the lock.
func (o *OpenNodes) apply(position int64, c *Change) {
	n, id := c.node, c.Event.ID
	c.before = -1
	o.advance(c.Event.Clock, c.Time) // edges that leave the window before the event go first
	o.ofTable = false
	v, there := o.numberOf(id)
	do := func(kind event.Kind, source, target int32) {
		e := event.Event{Kind: kind, Pos: position, Time: c.Time, Source: source, Target: target, Class: c.class, Attr: n.attr}
		switch kind {
		case event.AddEdge, event.SetEdge:
			for i, word := range n.words {
				e.Cat = append(e.Cat, o.words[i].number(word))
			}
		case event.SetNode:
			e.Cat = n.cat
		default:
			e.Attr = nil
		}
		_ = o.g.Apply(&e, nil, o.after) // prepare has checked the event
	}
	switch c.Event.Kind {
	case AddEdge:
		source, target := o.numbered(n.source), o.numbered(n.target)
		do(event.AddEdge, source, target)
		o.loose = append(o.loose, source, target)
	case RemoveEdge, SetEdge:
		source, ok := o.numberOf(n.source)
		target, ok2 := o.numberOf(n.target)
		edge := o.edge(source, target)
		is := ok && ok2 && o.g.Has(source, target)
		c.Absent = !is
		switch {
		case c.Event.Kind == RemoveEdge:
			if is {
				do(event.RemoveEdge, source, target)
			}
			o.ofTable = o.ofTable && is
		case is:
			o.unset(edge)
			do(event.SetEdge, source, target)
			o.sets[edge], o.ofTable = position, true
		}
		if !o.ofTable {
			o.gone(position)
		}
	case SetNode:
		v = o.numbered(id)
		do(event.SetNode, v, 0)
		if o.hasRow[v] = true; n.class {
			do(event.SetClass, v, 0)
		}
	case RemoveNode:
		if c.Absent = !there || !o.exists(v); there {
			do(event.RemoveNode, v, 0)
			o.hasRow[v] = false
		}
		if !o.ofTable {
			o.gone(position)
		}
		if there {
			o.loose = append(o.loose, v)
		}
	case DropRow:
		if there {
			n.cat, n.attr = blank(&o.layout)
			do(event.SetNode, v, 0)
			o.hasRow[v] = false
			o.loose = append(o.loose, v)
		}
	case SetClass:
		if there && o.exists(v) {
			do(event.SetClass, v, 0)
		} else {
			c.before = c.class
			o.swept = append(o.swept, Stored{ID: id})
		}
	}
	o.settle()
}

// after is called for each change of the graph. A removed edge loses its SetEdge event, and its ends may have lost their last edge.
func (o *OpenNodes) after(c dynamic.Change) {
	if c.Kind == event.RemoveEdge {
		o.unset(o.edge(c.U, c.V))
		o.loose = append(o.loose, c.U, c.V)
	}
}

// edge returns the key of an edge in sets. Both orders of the ends of an undirected edge have the same key.
func (o *OpenNodes) edge(u, v int32) graph.Edge {
	if !o.layout.Directed && u > v {
		u, v = v, u
	}
	return graph.Edge{U: u, V: v}
}

// unset notes that a store no longer needs the last SetEdge of an edge.
func (o *OpenNodes) unset(e graph.Edge) {
	if position, ok := o.sets[e]; ok {
		delete(o.sets, e)
		o.swept = append(o.swept, Stored{Position: position})
	}
}

// settle drops the class and the name of each node of loose that has neither an edge nor a row.
func (o *OpenNodes) settle() {
	for _, v := range o.loose {
		if int(v) >= o.g.N() || o.exists(v) {
			continue
		}
		name := o.nameOf(v)
		if o.g.Class(v) >= 0 {
			_ = o.g.Apply(&event.Event{Kind: event.SetClass, Source: v, Class: -1, Time: math.MinInt64}, nil, nil)
			o.swept = append(o.swept, Stored{ID: name})
		}
		if i := int(v) - o.ids.Len(); i >= 0 && name != "" {
			delete(o.named, name)
			o.names[i], o.free = "", append(o.free, v)
		}
	}
	o.loose = o.loose[:0]
}

// exists reports whether a node is there: it has a row or an edge.
func (o *OpenNodes) exists(v int32) bool { return o.hasRow[v] || len(o.g.Adj(v))+len(o.g.In(v)) > 0 }

// numberOf returns the number of an id. The node may have neither a row nor an edge.
func (o *OpenNodes) numberOf(id string) (int32, bool) {
	if v, ok := o.index.Name(id); ok {
		return v, true
	}
	v, ok := o.named[id]
	return v, ok
}

// nodeOf returns the number of an id if the node has a row or an edge.
func (o *OpenNodes) nodeOf(id string) (int32, bool) {
	v, ok := o.numberOf(id)
	return v, ok && o.exists(v)
}

// rowOf reports whether the node with an id has a row.
func (o *OpenNodes) rowOf(id string) bool {
	v, ok := o.numberOf(id)
	return ok && o.hasRow[v]
}

// numbered returns the number of an id, a new one if there is none. If the node has neither a row nor an edge, its attributes become missing.
func (o *OpenNodes) numbered(id string) int32 {
	v, ok := o.numberOf(id)
	switch n := len(o.free); {
	case ok && o.exists(v):
		return v
	case ok:
	case n > 0:
		v, o.free = o.free[n-1], o.free[:n-1]
		o.named[id], o.names[int(v)-o.ids.Len()] = v, id
	default:
		v = int32(len(o.hasRow))
		o.named[id], o.names, o.hasRow = v, append(o.names, id), append(o.hasRow, false)
	}
	cat, attr := blank(&o.layout)
	_ = o.g.Apply(&event.Event{Kind: event.SetNode, Source: v, Cat: cat, Attr: attr, Time: math.MinInt64}, nil, nil)
	return v
}
