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

// maxRowKeys bounds the distinct key columns, which are bits of rowEnd.keys.
const maxRowKeys = 64

// rowBuild is the state of one reading of Rows.
type rowBuild struct {
	Rows
	tableReading
	set *RowSet

	tables []*rowScan
	nodes  []*rowScan // scans of the key tables
	names  []string   // names of the spaces, sorted
	spaces []keys     // dictionaries in the order of names
	first  []int32    // first node of each space, then the number of nodes
	rank   [][]int32  // rank of each id, by space

	attrs, ofKeys  tableChannels
	classes, value []*tableChannel // at most one channel each
}

// rowScan is the reading of a table of rows or keys.
type rowScan struct {
	*tableScan
	space int   // index of the space, for a key table
	base  int64 // global number of the first row, as in tableField
	id    *tableField
	time  *tableField
	part  *tableField
	keys  []*tableField // parallel to RowSet.Keys; nil for a key of another table
}

// read reads all tables once.
func (s Rows) read(ctx context.Context) (*RowSet, error) {
	b := &rowBuild{Rows: s, set: &RowSet{}}
	b.start(ctx, s.Memory, s.Missing, s.earlier)
	defer b.close()
	check := func() error { return b.settle(&b.attrs, &b.ofKeys) }
	for _, step := range []func() error{b.open, b.readTables, check, b.build} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	b.report()
	return b.set, nil
}

// open opens the tables, and finds columns and types.
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
		t := &rowScan{space: slices.Index(b.names, s.Space)}
		err := b.begin(t, s.Table, s.Space+": ")
		if err != nil {
			return err
		}
		b.nodes = append(b.nodes, t)
		t.use(&t.id, t.named(s.ID, "id", "ID"), tableField{use: "id of " + s.Space})
		if err := t.attributes(&b.ofKeys, nil, s.Space, s.Space+": ", s.Attributes, s.Ignore, s.Types); err != nil {
			return err
		}
		fields[t.space] = append(fields[t.space], t.id)
	}
	for _, s := range b.Tables {
		t := &rowScan{keys: make([]*tableField, len(b.set.Keys))}
		if err := b.begin(t, s.Table, ""); err != nil {
			return err
		}
		b.tables = append(b.tables, t)
		for _, k := range s.Keys {
			t.use(&t.keys[slices.Index(b.set.Keys, k)], k.Column, tableField{use: "key of a row, " + k.Space, mayMiss: true})
		}
		var class, value *tableField
		t.use(&t.id, s.ID, tableField{use: "id of a row", kind: wordField, most: math.MaxInt32})
		t.use(&t.time, s.Time, tableField{use: "time of a row", kind: timeField})
		t.use(&class, s.Class, tableField{use: "class of a row", kind: wordField})
		t.use(&value, s.Value, tableField{use: "value of a row", kind: numberField})
		t.use(&t.part, s.Part, tableField{use: "part of a row", kind: wordField, part: true})
		if err := t.attributes(&b.attrs, nil, "row", "", s.Attributes, s.Ignore, s.Types); err != nil {
			return err
		}
		for j, f := range t.keys {
			if f != nil {
				space := slices.Index(b.names, b.set.Keys[j].Space)
				fields[space] = append(fields[space], f)
			}
		}
		if class != nil {
			b.classes = joined(b.classes, "", class)
		}
		if value != nil {
			b.value = joined(b.value, "", value)
		}
	}
	for i := range b.spaces {
		if err := b.share(&b.spaces[i], keyKind(i), fields[i]...); err != nil {
			return err
		}
	}
	b.attrs.sort()
	b.ofKeys.sort()
	for _, c := range slices.Concat(b.attrs.words, b.attrs.numbers) {
		if c.Name == RowNodeType {
			return blame(c.fields[0].from, c.Name, errors.New("the name of another channel; ignore the column"))
		}
	}
	return nil
}

// begin opens a table. The keys of its columns in Offsets begin with prefix.
func (b *rowBuild) begin(t *rowScan, table Table, prefix string) (err error) {
	if t.tableScan, err = b.scan(table, nil); err != nil || b.Offsets == nil {
		return err
	}
	t.offsets = map[string]float64{}
	for _, c := range t.r.Columns() {
		if x, ok := b.Offsets[prefix+c.Name]; ok {
			t.offsets[c.Name] = x
		}
	}
	return nil
}

func (b *rowBuild) readTables() error {
	base := int64(0)
	for _, t := range slices.Concat(b.nodes, b.tables) {
		t.base = base
		err := t.all(base, func(int) error {
			if len(t.keys) > 0 {
				return nil
			}
			return t.newIDs(t.id, 0)
		})
		if err == nil && len(t.keys) > 0 {
			b.set.Rows += int(t.rows)
			err = t.unique()
		}
		if base += t.rows; err != nil {
			return err
		}
	}
	return nil
}

// unique rejects missing and duplicate row ids.
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

func (b *rowBuild) build() error {
	if b.set.Rows == 0 {
		return b.tables[0].inFile(errors.New("there is no row"))
	}
	first := (*tableField)(nil) // the first column with a time
	for _, t := range b.tables {
		if f := t.time; f != nil && f.timed {
			if first = cmp.Or(first, f); f.dates != first.dates {
				return blame(f.from, f.Name, fmt.Errorf("times are %s, and those of column %s of %s %s", KindOfTime(f.dates), reading.Quote([]byte(first.Name)), first.table, KindOfTime(first.dates)))
			}
			b.set.Dates = f.dates
		}
	}
	for _, step := range []func() error{b.order, b.number, b.edges, b.ids, b.values} {
		if err := step(); err != nil {
			return b.tables[0].inFile(err)
		}
		if err := context.Cause(b.ctx); err != nil {
			return err
		}
	}
	return nil
}

// order sorts the rows by time, table and position.
func (b *rowBuild) order() error {
	n := b.set.Rows
	if err := b.Take(int64(n) * (8 + 8 + 16)); err != nil { // Time, Place, and the entries below
		return err
	}
	type entry struct {
		time float64
		at   RowPlace
	}
	all := make([]entry, 0, n)
	for i, t := range b.tables {
		for row := range int(t.rows) {
			x := math.Inf(1) // unknown times come last
			if t.time != nil {
				if time := t.time.times.At(row); time == time {
					x = time
				}
			}
			all = append(all, entry{x, RowPlace{int32(i), int32(row)}})
		}
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
	}
	b.Give(16 * int64(n))
	return nil
}

// number assigns node numbers to the keys, after the rows.
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
	return nil
}

// edges builds the CSR rows.
func (b *rowBuild) edges() error {
	s, width := b.set, len(b.set.Keys)
	n, nodes := s.Rows, int(b.first[len(b.spaces)])
	if err := b.Take(4*int64(n)*int64(width) + 8*int64(nodes)); err != nil {
		return err
	}
	for _, key := range s.Keys {
		k := &b.spaces[slices.Index(b.names, key.Space)]
		s.KeyTypes = append(s.KeyTypes, k.typ)
		if !k.fixed {
			s.KeyTypes[len(s.KeyTypes)-1] = Untyped
		}
	}
	s.RowKeys = slices.Repeat([]int32{-1}, n*width)
	for r, at := range s.Place {
		for j, f := range b.tables[at.Table].keys {
			if f == nil {
				continue
			}
			if number := f.cats.At(int(at.Row)); number >= 0 {
				s.RowKeys[r*width+j] = b.first[f.keys.kind] + b.rank[f.keys.kind][number]
			}
		}
	}
	for _, k := range b.spaces {
		for _, f := range k.fields {
			f.cats.Parts = nil
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

// rowEnd is an edge of a row. keys is the bit set of key columns that name the node.
type rowEnd struct {
	node int32
	keys uint64
}

// rowEnds returns the edges of a row, sorted by node, in the memory of ends.
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

// ids builds the ids of the nodes: rows first, then keys.
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

// values builds the attributes, classes, numbers and subsets of nodes.
func (b *rowBuild) values() error {
	s, g := b.set, b.set.Graph
	nodes := g.N()
	all := tableChannels{slices.Concat(b.attrs.words, b.ofKeys.words), slices.Concat(b.attrs.numbers, b.ofKeys.numbers)}
	s.Words, s.Numbers = len(b.attrs.words), len(b.attrs.numbers)
	g.NodeCats, g.NodeAttrs = 1+len(all.words), len(all.numbers)
	if err := b.Take(4*int64(nodes)*int64(g.NodeCats+g.NodeAttrs) + 13*int64(nodes)); err != nil {
		return err
	}
	of := slices.Repeat([]int32{-1}, nodes) // global row number of each node, as tableField.base counts
	var types []string
	for _, t := range b.Tables {
		types = append(types, t.Name)
	}
	types = slices.Concat(types, b.names)
	slices.Sort(types)
	kind := record.WordsChannel(RowNodeType, types)
	s.Channels.NodeCat, s.Channels.NodeAttr = all.name()
	s.Channels.NodeCat = slices.Insert(s.Channels.NodeCat, 0, kind)
	for r, at := range s.Place {
		of[r] = int32(b.tables[at.Table].base) + at.Row
	}
	for _, t := range b.nodes {
		for row := range int32(t.rows) { // ids of the key table were numbered first
			of[b.first[t.space]+b.rank[t.space][row]] = int32(t.base) + row
		}
	}
	g.NodeCat, g.NodeAttr = all.gather(of, 1, true)
	for r, at := range s.Place {
		g.NodeCat[r*g.NodeCats] = kind.Index(b.Tables[at.Table].Name)
	}
	for i, name := range b.names {
		for v := b.first[i]; v < b.first[i+1]; v++ {
			g.NodeCat[int(v)*g.NodeCats] = kind.Index(name)
		}
	}
	s.Class = slices.Repeat([]int32{-1}, nodes)
	for _, c := range b.classes {
		if s.Classes = sortWords(reading.SortClasses, c.fields...); len(s.Classes) == 0 {
			return blame(c.fields[0].from, c.fields[0].Name, errors.New("no row has a class"))
		}
		for v, row := range of {
			s.Class[v] = c.word(row, -1)
		}
	}
	for _, c := range b.value {
		s.Offset = c.fields[0].offset
		s.Channels.Targets = []record.TargetChannel{{Name: c.fields[0].Name, Offset: s.Offset}}
		for _, row := range of {
			s.Targets = append(s.Targets, c.number(row))
		}
	}
	var parts []*tableField
	for _, t := range b.tables {
		parts = append(parts, t.part)
	}
	s.Split = subsetsOf(of, parts...)
	return nil
}

// report collects the notes and column descriptions.
func (b *rowBuild) report() {
	n := len(b.nodes) // scans begin with those of key tables
	b.tableReading.report(slices.Concat(b.scans[n:], b.scans[:n])...)
	b.set.Notes, b.set.Columns = b.notes, b.used
	for _, t := range b.nodes {
		if all := b.spaces[t.space].len(); int64(all) > t.rows {
			b.set.Notes = append(b.set.Notes, fmt.Sprintf("missing values: %d of %d keys of %s have no row in %s", int64(all)-t.rows, all, b.names[t.space], t.r.Name()))
		}
	}
}
