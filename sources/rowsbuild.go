package sources

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/sources/internal/reading"
)

// maxRowKeys is the most keys of all tables of Rows.
const maxRowKeys = 64

// rowBuild is one reading of Rows.
type rowBuild struct {
	Rows
	ctx context.Context
	set *RowSet
	reading.Budget

	tables []*rowScan
	nodes  []*rowScan // tables of keys
	names  []string   // of spaces, ascending
	spaces []keys     // in that order
	first  []int32    // the first node of each space, and the number of nodes
	rank   [][]int32  // by space: the place of each id

	words, numbers, classes, values []*rowChannel
}

// rowScan is the reading of one table, of rows or of keys.
type rowScan struct {
	*tableScan
	prefix string // of channels
	space  int    // of a table of keys
	id     *tableField
	time   *tableField
	class  *tableField
	value  *tableField
	part   *tableField
	keys   []*tableField // of the keys of the set, nil where the table does not have it; of a table of keys the id
	attrs  []*tableField
	node   []int32 // of each row
}

// rowChannel is the columns that are one channel.
type rowChannel struct {
	name   string
	fields []*tableField
	of     []*rowScan
}

// read reads the tables once.
func (s Rows) read(ctx context.Context) (*RowSet, error) {
	most := cmp.Or(s.Memory, 4<<30)
	b := &rowBuild{Rows: s, ctx: ctx, set: &RowSet{}, Budget: reading.Budget{Left: most, Most: most}}
	defer b.close()
	for _, step := range []func() error{b.open, b.readTables, b.spellings, b.offsets, b.build} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	b.report()
	return b.set, nil
}

func (b *rowBuild) close() {
	for _, t := range b.scans() {
		t.r.Close()
	}
}

// scans are the readings of all tables, those of keys first.
func (b *rowBuild) scans() []*rowScan { return slices.Concat(b.nodes, b.tables) }

// open opens the tables, finds the columns, and the types.
func (b *rowBuild) open() error {
	for _, t := range b.Tables {
		for _, k := range t.Keys {
			if !slices.Contains(b.set.Keys, k) {
				b.set.Keys = append(b.set.Keys, k)
			}
			if !slices.Contains(b.names, k.Space) {
				b.names = append(b.names, k.Space)
			}
		}
	}
	slices.SortFunc(b.set.Keys, func(a, b Key) int { return cmp.Or(cmp.Compare(a.Column, b.Column), cmp.Compare(a.Space, b.Space)) })
	if len(b.set.Keys) > maxRowKeys {
		return fmt.Errorf("sources: Rows: there are %d keys, want at most %d", len(b.set.Keys), maxRowKeys)
	}
	slices.Sort(b.names)
	b.spaces = make([]keys, len(b.names))
	fields := make([][]*tableField, len(b.names))
	for _, s := range b.Nodes {
		scan, err := scanTable(b.ctx, s.Table, b.Missing, &b.Budget)
		if err != nil {
			return err
		}
		t := &rowScan{tableScan: scan, prefix: s.Space + ": ", space: slices.Index(b.names, s.Space)}
		b.nodes = append(b.nodes, t)
		t.use(&t.id, t.named(s.ID, "id", "ID"), tableField{use: "id of " + s.Space})
		if err := b.columns(t, s.Attributes, s.Ignore, s.Types); err != nil {
			return err
		}
		t.keys = []*tableField{t.id}
		fields[t.space] = append(fields[t.space], t.id)
	}
	for _, s := range b.Tables {
		scan, err := scanTable(b.ctx, s.Table, b.Missing, &b.Budget)
		if err != nil {
			return err
		}
		t := &rowScan{tableScan: scan, space: -1, keys: make([]*tableField, len(b.set.Keys))}
		b.tables = append(b.tables, t)
		for _, k := range s.Keys {
			t.use(&t.keys[slices.Index(b.set.Keys, k)], k.Column, tableField{use: "key of a row, " + k.Space, mayMiss: true})
		}
		t.use(&t.id, s.ID, tableField{use: "id of a row", kind: wordField, most: math.MaxInt32})
		t.use(&t.time, s.Time, tableField{use: "time of a row", kind: timeField})
		t.use(&t.class, s.Class, tableField{use: "class of a row", kind: wordField})
		t.use(&t.value, s.Value, tableField{use: "value of a row", kind: numberField})
		t.use(&t.part, s.Part, tableField{use: "part of a row", kind: wordField, most: partWords})
		if err := b.columns(t, s.Attributes, s.Ignore, s.Types); err != nil {
			return err
		}
		for j, f := range t.keys {
			if f != nil {
				space := slices.Index(b.names, b.set.Keys[j].Space)
				fields[space] = append(fields[space], f)
			}
		}
		b.classes, b.values = join(b.classes, "", t, t.class), join(b.values, "", t, t.value)
	}
	for i := range b.spaces {
		b.spaces[i].kind = keyKind(i)
		if err := b.spaces[i].take(b.texts, b.Budget.Take, fields[i]...); err != nil {
			return err
		}
	}
	return b.channels()
}

// columns finds the attributes of a table.
func (b *rowBuild) columns(t *rowScan, attributes, ignore []string, types map[string]ColumnType) (err error) {
	if t.failed != nil {
		return t.failed
	}
	offsets := map[string]float64{}
	for _, c := range t.r.Columns() {
		if x, ok := b.Offsets[t.prefix+c.Name]; ok {
			offsets[c.Name] = x
		}
	}
	of := "row"
	if t.space >= 0 {
		of = b.names[t.space]
	}
	t.attrs, err = t.attributes(nil, of, attributes, ignore, types, offsets)
	return err
}

// join adds a column to the channel of a name.
func join(channels []*rowChannel, name string, t *rowScan, f *tableField) []*rowChannel {
	if f == nil {
		return channels
	}
	at := slices.IndexFunc(channels, func(c *rowChannel) bool { return c.name == name })
	if at < 0 {
		at, channels = len(channels), append(channels, &rowChannel{name: name})
	}
	channels[at].fields, channels[at].of = append(channels[at].fields, f), append(channels[at].of, t)
	return channels
}

// channels finds the channels of the columns: those of rows first, in the order of their names.
func (b *rowBuild) channels() error {
	for _, tables := range [][]*rowScan{b.tables, b.nodes} {
		var words, numbers []*rowChannel
		for _, t := range tables {
			for _, f := range t.attrs {
				to, other := &numbers, words
				if f.kind == wordField {
					to, other = &words, numbers
				}
				name := t.prefix + f.Name
				for _, c := range other {
					if c.name == name {
						return blame(t.r, f.Name, fmt.Errorf("a column of type %s, and %s has one of type %s; -types declares the type", f.Type, c.fields[0].table, c.fields[0].Type))
					}
				}
				if name == RowNodeType {
					return blame(t.r, f.Name, errors.New("the name of another channel; ignore the column"))
				}
				*to = join(*to, name, t, f)
			}
		}
		for _, list := range [][]*rowChannel{words, numbers} {
			slices.SortFunc(list, func(x, y *rowChannel) int { return strings.Compare(x.name, y.name) })
		}
		b.words, b.numbers = append(b.words, words...), append(b.numbers, numbers...)
		if b.set.Words == 0 && b.set.Numbers == 0 {
			b.set.Words, b.set.Numbers = len(words), len(numbers)
		}
	}
	return nil
}

func (b *rowBuild) readTables() error {
	for _, t := range b.scans() {
		err := t.all(func(int) error {
			if t.space >= 0 {
				if err := t.newIDs(t.id, 0); err != nil {
					return err
				}
			}
			for _, f := range t.keys {
				if f == nil {
					continue
				}
				if err := f.cats.Append(f.batch); err != nil {
					return err
				}
			}
			return nil
		})
		if err == nil {
			err = t.unforeseen()
		}
		if err == nil && t.space < 0 {
			b.set.Rows += int(t.rows)
			err = t.unique()
		}
		if err != nil {
			return err
		}
	}
	b.leaveParts()
	return nil
}

// leaveParts takes columns whose values name parts from the attributes. A channel of several tables is one if
// the columns of all are.
func (b *rowBuild) leaveParts() {
	words, of := b.words[:0], b.set.Words
	for i, c := range b.words {
		parts := 0
		for _, f := range c.fields {
			if f.isPart() {
				parts++
			}
		}
		if parts < len(c.fields) {
			for _, f := range c.fields {
				f.ignored = false
			}
			words = append(words, c)
		} else if i < of {
			b.set.Words--
		}
	}
	b.words = words
}

// unique refuses a row without an id, and an id of two rows.
func (t *rowScan) unique() error {
	if t.id == nil {
		return nil
	}
	of := slices.Repeat([]int32{-1}, t.id.words.len())
	for row := range t.id.cats.Len() {
		id := t.id.cats.At(row)
		if id < 0 {
			return t.id.failAt(row, errNoKey)
		}
		if of[id] >= 0 {
			return t.id.failAt(row, fmt.Errorf("%s is the id of row %d too", reading.Quote(t.id.words.at(id)), of[id]+1))
		}
		of[id] = int32(row)
	}
	return nil
}

func (b *rowBuild) spellings() error {
	for i := range b.spaces {
		var fields []*tableField
		var columns []string
		for _, t := range b.scans() {
			for _, f := range t.keys {
				if f != nil && f.keys == &b.spaces[i] {
					fields, columns = append(fields, f), append(columns, f.Name)
				}
			}
		}
		notes, err := b.spaces[i].spellings(func(number int32) (*tableField, int) {
			for _, f := range fields {
				for row := range f.cats.Len() {
					if f.cats.At(row) == number {
						return f, row
					}
				}
			}
			return nil, 0
		}, columns...)
		if err != nil {
			return b.tables[0].inFile(err)
		}
		b.set.Notes = append(b.set.Notes, notes...)
	}
	return nil
}

// offsets finds the offsets of channels, if they are not set and one is not 0.
func (b *rowBuild) offsets() error {
	if b.Offsets != nil {
		return nil
	}
	late := &lateOffsets{rows: map[string]float64{}}
	for _, c := range slices.Concat(b.numbers, b.values) {
		var all span
		for _, f := range c.fields {
			if f.span.some {
				all.add(f.span.low)
				all.add(f.span.high)
				all.inexact = all.inexact || f.span.inexact
			}
		}
		if x := all.offset(); x != 0 {
			for i, f := range c.fields {
				late.rows[c.of[i].prefix+f.Name] = x
			}
			late.first = cmp.Or(late.first, c.fields[0])
		}
	}
	if late.first == nil {
		return nil
	}
	return &FileError{File: late.first.table, Line: 0, Err: fmt.Errorf("column %s: %w", reading.Quote([]byte(late.first.Name)), late)}
}

// build makes the graph of what was read.
func (b *rowBuild) build() error {
	if b.set.Rows == 0 {
		return b.tables[0].inFile(errors.New("there is no row"))
	}
	for _, step := range []func() error{b.order, b.number, b.edges, b.ids, b.attributes, b.targets} {
		if err := step(); err != nil {
			return b.tables[0].inFile(err)
		}
		if err := context.Cause(b.ctx); err != nil {
			return err
		}
	}
	return nil
}

// order numbers the rows by time, table and position.
func (b *rowBuild) order() error {
	n := b.set.Rows
	if err := b.Take(int64(n) * (8 + 8 + 4 + 16)); err != nil { // Time, Place, node, and the entries below
		return err
	}
	type entry struct {
		time float64
		at   RowPlace
	}
	all := make([]entry, 0, n)
	for i, t := range b.tables {
		for row := range int(t.rows) {
			x := math.Inf(1) // of an unknown time
			if t.time != nil {
				if time := t.time.times.At(row); time == time {
					x = time
				}
			}
			all = append(all, entry{x, RowPlace{int32(i), int32(row)}})
		}
		t.node = make([]int32, t.rows)
	}
	compare := func(x, y entry) int { return cmp.Compare(x.time, y.time) }
	if !slices.IsSortedFunc(all, compare) {
		slices.SortFunc(all, func(x, y entry) int {
			return cmp.Or(compare(x, y), cmp.Compare(x.at.Table, y.at.Table), cmp.Compare(x.at.Row, y.at.Row))
		})
	}
	b.set.Time, b.set.Place = make([]float64, n), make([]RowPlace, n)
	for r, x := range all {
		if math.IsInf(x.time, 1) {
			x.time = math.NaN()
		}
		b.set.Time[r], b.set.Place[r] = x.time, x.at
		b.tables[x.at.Table].node[x.at.Row] = int32(r)
	}
	b.Give(16 * int64(n))
	return nil
}

// number numbers the keys behind the rows.
func (b *rowBuild) number() error {
	next := int64(b.set.Rows)
	for i := range b.spaces {
		k := &b.spaces[i]
		if err := b.Take(12 * int64(k.len())); err != nil {
			return err
		}
		b.first = append(b.first, int32(next))
		b.rank = append(b.rank, rankOf(k.order()))
		if next += int64(k.len()); next > math.MaxInt32 {
			return fmt.Errorf("%d rows and keys, want at most %d", next, math.MaxInt32)
		}
	}
	b.first = append(b.first, int32(next))
	for _, t := range b.nodes {
		for row := range int(t.rows) {
			t.node = append(t.node, b.first[t.space]+b.rank[t.space][row])
		}
	}
	return nil
}

// edges makes the rows of the graph.
func (b *rowBuild) edges() error {
	s, width := b.set, len(b.set.Keys)
	n, nodes := s.Rows, int(b.first[len(b.spaces)])
	if err := b.Take(4*int64(n)*int64(width) + 8*int64(nodes)); err != nil {
		return err
	}
	s.RowKeys = slices.Repeat([]int32{-1}, n*width)
	for _, t := range b.tables {
		for j, f := range t.keys {
			if f == nil {
				continue
			}
			first, rank := b.first[f.keys.kind], b.rank[f.keys.kind]
			for row := range int(t.rows) {
				if number := f.cats.At(row); number >= 0 {
					s.RowKeys[int(t.node[row])*width+j] = first + rank[number]
				}
			}
			f.cats = reading.Chunks[int32]{}
		}
	}
	g := &graph.Graph{Offsets: make([]int32, nodes+1), EdgeCats: 1}
	ends := make([]rowEnd, 0, width)
	words := map[uint64]int32{}
	for j := range s.Keys {
		words[1<<j] = 0
	}
	total := int64(0)
	for r := range n {
		ends = rowEnds(s.RowKeys[r*width:(r+1)*width], ends)
		g.Offsets[r+1] = int32(len(ends))
		total += 2 * int64(len(ends))
		for _, x := range ends {
			g.Offsets[x.node+1]++
			if x.keys&(x.keys-1) != 0 {
				words[x.keys] = 0
			}
		}
	}
	if total > math.MaxInt32 {
		return fmt.Errorf("%d keys of rows, want at most %d: rows have 32-bit offsets", total/2, math.MaxInt32/2)
	}
	if err := b.Take(8*total + 4*int64(nodes)); err != nil {
		return err
	}
	list := map[string]bool{}
	name := func(keys uint64) string {
		var columns []string
		for j, k := range s.Keys {
			if keys>>j&1 != 0 {
				columns = append(columns, k.Column)
			}
		}
		return strings.Join(columns, ",")
	}
	for keys := range words {
		list[name(keys)] = true
	}
	channel := record.WordsChannel("key", slices.Sorted(maps.Keys(list)))
	for keys := range words {
		words[keys] = channel.Index(name(keys))
	}
	for v := range nodes {
		g.Offsets[v+1] += g.Offsets[v]
	}
	g.Neighbors, g.EdgeCat = make([]int32, total), make([]int32, total)
	next := slices.Clone(g.Offsets[n:nodes])
	for r := range int32(n) {
		at := g.Offsets[r]
		ends = rowEnds(s.RowKeys[int(r)*width:(int(r)+1)*width], ends)
		for _, x := range ends {
			word := words[x.keys]
			g.Neighbors[at], g.EdgeCat[at] = x.node, word
			at++
			back := &next[int(x.node)-n]
			g.Neighbors[*back], g.EdgeCat[*back] = r, word
			*back++
		}
	}
	s.Graph, s.Channels.EdgeCat = g, []record.Channel{channel}
	s.Stats.Edges = total / 2
	return nil
}

// rowEnd is an edge of a row: a node of keys, and the set of keys of the row that are this node.
type rowEnd struct {
	node int32
	keys uint64
}

// rowEnds returns the edges of a row, ascending, in the memory of ends.
func rowEnds(keys []int32, ends []rowEnd) []rowEnd {
	ends = ends[:0]
	for j, node := range keys {
		if node < 0 {
			continue
		}
		at := len(ends)
		for at > 0 && ends[at-1].node >= node {
			at--
		}
		if at < len(ends) && ends[at].node == node {
			ends[at].keys |= 1 << j
			continue
		}
		ends = slices.Insert(ends, at, rowEnd{node, 1 << j})
	}
	return ends
}

// ids sets the ids of rows and keys.
func (b *rowBuild) ids() error {
	s := b.set
	nodes := s.Graph.N()
	ends, text := make([]int32, 1, nodes+1), make([]byte, 0, 8*nodes)
	add := func() error {
		if len(text) > math.MaxInt32 {
			return fmt.Errorf("the ids of the nodes have more than %d bytes", math.MaxInt32)
		}
		ends = append(ends, int32(len(text)))
		return nil
	}
	check := false
	for _, at := range s.Place {
		t := b.tables[at.Table]
		name := b.Tables[at.Table].Name
		if len(b.tables) > 1 {
			text = append(append(text, name...), ':')
			check = check || strings.Contains(name, ":")
		}
		if t.id == nil {
			text = strconv.AppendInt(text, int64(at.Row)+1, 10)
		} else {
			check = true
			text = append(text, t.id.words.at(t.id.cats.At(int(at.Row)))...)
		}
		if err := add(); err != nil {
			return err
		}
	}
	for i := range b.spaces {
		k := &b.spaces[i]
		check = check || strings.Contains(b.names[i], ":")
		order := make([]int32, k.len())
		for number, place := range b.rank[i] {
			order[place] = int32(number)
		}
		for _, number := range order {
			text = append(append(text, b.names[i]...), ':')
			if k.typ == Integer {
				text = strconv.AppendInt(text, k.integers.values[number], 10)
			} else {
				text = append(text, k.texts.at(number)...)
			}
			if err := add(); err != nil {
				return err
			}
		}
	}
	s.IDs = graph.IDsOfText(ends, text)
	if err := b.Take(s.IDs.Bytes()); err != nil || !check {
		return err
	}
	return s.IDs.Check()
}

// attributes sets the words and numbers of nodes.
func (b *rowBuild) attributes() error {
	s, g := b.set, b.set.Graph
	nodes := g.N()
	g.NodeCats, g.NodeAttrs = 1+len(b.words), len(b.numbers)
	if err := b.Take(4 * int64(nodes) * int64(g.NodeCats+g.NodeAttrs)); err != nil {
		return err
	}
	var types []string
	for _, t := range b.Tables {
		types = append(types, t.Name)
	}
	types = slices.Concat(types, b.names)
	slices.Sort(types)
	kind := record.WordsChannel(RowNodeType, types)
	s.Channels.NodeCat = []record.Channel{kind}
	g.NodeCat = make([]int32, nodes*g.NodeCats)
	for r, at := range s.Place {
		g.NodeCat[r*g.NodeCats] = kind.Index(b.Tables[at.Table].Name)
	}
	for i, name := range b.names {
		for v := b.first[i]; v < b.first[i+1]; v++ {
			g.NodeCat[int(v)*g.NodeCats] = kind.Index(name)
		}
	}
	for c, of := range b.words {
		channel := record.WordsChannel(of.name, sortWords(slices.Sort, of.fields...))
		s.Channels.NodeCat = append(s.Channels.NodeCat, channel)
		for v := range nodes {
			g.NodeCat[v*g.NodeCats+c+1] = channel.Unseen()
		}
		for i, f := range of.fields {
			for row, v := range of.of[i].node {
				if word := f.cats.At(row); word >= 0 {
					g.NodeCat[int(v)*g.NodeCats+c+1] = word
				}
			}
			f.cats = reading.Chunks[int32]{}
		}
	}
	g.NodeAttr = make([]float32, nodes*g.NodeAttrs)
	for i := range g.NodeAttr {
		g.NodeAttr[i] = float32(math.NaN())
	}
	for c, of := range b.numbers {
		s.Channels.NodeAttr = append(s.Channels.NodeAttr, record.Channel{Name: of.name, Offset: of.fields[0].offset})
		for i, f := range of.fields {
			for row, v := range of.of[i].node {
				g.NodeAttr[int(v)*g.NodeAttrs+c] = f.attrs.At(row)
			}
			f.attrs = reading.Chunks[float32]{}
		}
	}
	return nil
}

// targets sets classes, values and subsets of nodes.
func (b *rowBuild) targets() error {
	s := b.set
	nodes := s.Graph.N()
	if err := b.Take(9 * int64(nodes)); err != nil {
		return err
	}
	s.Class = slices.Repeat([]int32{-1}, nodes)
	for _, c := range b.classes {
		s.Classes = sortWords(reading.SortClasses, c.fields...)
		if len(s.Classes) == 0 {
			return blame(c.of[0].r, c.fields[0].Name, errors.New("no row has a class"))
		}
		for i, f := range c.fields {
			for row, v := range c.of[i].node {
				s.Class[v] = f.cats.At(row)
			}
		}
	}
	for _, c := range b.values {
		s.Value = slices.Repeat([]float32{float32(math.NaN())}, nodes)
		s.Offset = c.fields[0].offset
		for i, f := range c.fields {
			for row, v := range c.of[i].node {
				s.Value[v] = f.attrs.At(row)
			}
		}
	}
	for _, t := range b.tables {
		if t.part == nil {
			continue
		}
		subset, err := t.part.subsets()
		if err != nil {
			return err
		}
		if s.Split == nil {
			s.Split = make([]Subset, nodes)
		}
		for row, v := range t.node {
			s.Split[v] = subset(int32(row))
		}
	}
	return nil
}

// report says what became of the columns.
func (b *rowBuild) report() {
	for _, t := range slices.Concat(b.tables, b.nodes) {
		notes, columns := t.report()
		b.set.Notes, b.set.Columns = append(b.set.Notes, notes...), append(b.set.Columns, columns...)
	}
	for _, t := range b.nodes {
		if all := b.spaces[t.space].len(); int64(all) > t.rows {
			b.set.Notes = append(b.set.Notes, fmt.Sprintf("missing values: %d of %d keys of %s have no row in %s", int64(all)-t.rows, all, b.names[t.space], t.r.Name()))
		}
	}
}
