package sources

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/internal/rows"
	"github.com/sanflow/sanflow/sources/internal/reading"
)

// tableBuild is the state of one reading of Tables.
type tableBuild struct {
	Tables
	tableReading
	set *TableSet

	edges, graphs *tableScan // nil if absent
	nodes         []*nodeScan
	ids, names    keys // dictionaries of node ids and graph names

	// Selected columns; nil if not set.
	source, target, edgeGraph *tableField
	nodeGraph, part           *tableField
	graphKey, graphPart       *tableField
	nodeTargets, graphTargets []*tableField
	edgeAttrs, nodeAttrs      tableChannels
	repeats                   repeats

	ends  reading.Chunks[graph.Edge] // edges as id numbers
	marks []*rows.Marks              // ids that occur in ends; optional
	rowOf []int32                    // row of each graph in the table of graphs, or -1
}

// nodeScan is the reading of a node table.
type nodeScan struct {
	*tableScan
	NodeTable
	id *tableField
}

func (s Tables) nodeTables() []NodeTable {
	if s.Nodes.Table == nil {
		return s.MoreNodes
	}
	return append([]NodeTable{s.Nodes}, s.MoreNodes...)
}

// checkNodes validates the settings of the node tables.
func (s Tables) checkNodes() error {
	if s.Nodes.Table == nil && len(s.MoreNodes) > 0 {
		return errors.New("sources: Tables: there are MoreNodes, and Nodes has no Table")
	}
	known, targets := map[string]bool{}, 0
	for _, t := range s.nodeTables() {
		switch {
		case t.Space == "" && len(s.MoreNodes) > 0, t.Space != "" && known[t.Space]:
			return fmt.Errorf("sources: Tables: a table of nodes has the Space %q, want one of its own", t.Space)
		case t.Space != "" && s.Edges.Graph != "":
			return errors.New("sources: Tables: tables of nodes with a Space are for a single graph")
		case t.Part != "" || len(t.Targets) > 0:
			targets++
		}
		known[t.Space] = true
	}
	if targets > 1 {
		return errors.New("sources: Tables: two tables of nodes have Targets or Part, want one")
	}
	return nil
}

// Read reads the tables without making a record.
func (s Tables) Read(ctx context.Context) (*TableSet, error) {
	switch {
	case s.Edges.Table == nil:
		return nil, errors.New("sources: Tables: Edges has no Table")
	case s.Memory < 0 || s.Workers < 0 || s.Rows < 0:
		return nil, fmt.Errorf("sources: Tables: Memory %d, Workers %d, Rows %d, want at least 0", s.Memory, s.Workers, s.Rows)
	case s.Edges.Graph == "" && (s.Nodes.Graph != "" || s.Graphs.Table != nil):
		return nil, errors.New("sources: Tables: the edges have no column Graph, and the nodes or a table of graphs do")
	case s.Edges.Graph != "" && s.Nodes.Table != nil && s.Nodes.Graph == "":
		return nil, errors.New("sources: Tables: the edges have a column Graph, and the nodes have none")
	case s.Graphs.Table != nil && len(s.Graphs.Targets) == 0:
		return nil, errors.New("sources: Tables: Graphs has no Targets")
	case s.Edges.Graph != "" && (s.Nodes.Part != "" || s.Nodes.Numbers || len(s.Nodes.Targets) > 1):
		return nil, errors.New("sources: Tables: Part, Numbers and several Targets of nodes are for a single graph")
	}
	if err := s.checkNodes(); err != nil {
		return nil, err
	}
	all := []Table{s.Edges.Table, s.Graphs.Table}
	for _, t := range s.nodeTables() {
		all = append(all, t.Table)
	}
	return reread(ctx, all, &s.earlier, func() (*TableSet, error) { return s.read(ctx) })
}

// keyKind identifies a dictionary in all readings of the same tables.
type keyKind int8

const (
	nodeKeys keyKind = iota
	graphKeys
)

// opensAgain reports whether a table can be read twice.
func opensAgain(t Table) bool {
	switch t := t.(type) {
	case CSV:
		return t.Reader == nil
	case JSONLines:
		return t.Reader == nil
	case Text:
		return t.Reader == nil
	case edgeTable:
		return t.Reader == nil
	case RecordTable:
		return false
	}
	return true
}

// read reads all tables once.
func (s Tables) read(ctx context.Context) (*TableSet, error) {
	b := &tableBuild{Tables: s, set: &TableSet{rows: s.Rows}}
	b.start(ctx, s.Memory, s.Missing, s.earlier)
	defer b.close()
	check := func() error { return b.settle(&b.edgeAttrs, &b.nodeAttrs) }
	for _, step := range []func() error{b.open, b.readGraphs, b.readNodes, b.readEdges, check, b.build} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	b.report()
	return b.set, nil
}

// open opens the tables, and finds columns and types.
func (b *tableBuild) open() (err error) {
	if b.edges, err = b.scan(b.Edges.Table, b.Edges.Offsets); err != nil {
		return err
	}
	for _, s := range b.nodeTables() {
		t, err := b.scan(s.Table, s.Offsets)
		if err != nil {
			return err
		}
		b.nodes = append(b.nodes, &nodeScan{tableScan: t, NodeTable: s})
	}
	if b.Graphs.Table != nil {
		if b.graphs, err = b.scan(b.Graphs.Table, b.Graphs.Offsets); err != nil {
			return err
		}
	}
	if r, ok := b.edges.r.(interface{ Rows() int64 }); ok {
		switch n := r.Rows(); {
		case n > maxEdges:
			return b.tooMany(n)
		case n > b.Left/8:
			return b.edges.inFile(fmt.Errorf("%d edges take more than %d bytes of memory; raise Memory if that is right", n, b.Most))
		}
	}
	for _, choose := range []func() error{b.chooseEdges, b.chooseNodes, b.chooseGraphs} {
		if err := choose(); err != nil {
			return err
		}
	}
	ids := []*tableField{b.source, b.target}
	for _, t := range b.nodes {
		ids = append(ids, t.id)
	}
	b.ids.ends = &b.ends
	if err := b.share(&b.ids, nodeKeys, ids...); err != nil {
		return err
	}
	return b.share(&b.names, graphKeys, b.edgeGraph, b.nodeGraph, b.graphKey)
}

func (b *tableBuild) chooseEdges() (err error) {
	t, s := b.edges, b.Edges
	source, target := t.named(s.Source, "source", "START_ID"), t.named(s.Target, "target", "END_ID")
	of, note := SpacesOf(t.r, source, target, s.Spaces)
	if t.notes = nil; note != "" {
		t.notes = append(t.notes, note)
	}
	t.use(&b.source, source, tableField{use: "source of an edge", space: of[0], passing: true})
	t.use(&b.target, target, tableField{use: "target of an edge", space: of[1], passing: true})
	t.use(&b.edgeGraph, s.Graph, tableField{use: "graph of an edge"})
	var named []*tableField
	for _, c := range []struct {
		column, channel string
		kind            fieldKind
	}{{s.Type, "type", wordField}, {s.Weight, "weight", numberField}, {s.Time, "time", numberField}} {
		if c.column != "" {
			named = append(named, nil)
			t.use(&named[len(named)-1], c.column, tableField{kind: c.kind, channel: c.channel})
		}
	}
	if t.before.text = s.Before; s.Before != "" {
		if t.before.time, err = reading.Number([]byte(s.Before)); err != nil || s.Time == "" {
			return errors.Join(err, fmt.Errorf("sources: Tables: Edges: Before is %q, want a number, and Time, the column of the time of an edge", s.Before))
		}
	}
	if err = t.attributes(&b.edgeAttrs, named, "edge", "", s.Attributes, s.Ignore, s.Types); err != nil {
		return err
	}
	return b.chooseRepeated()
}

func (b *tableBuild) chooseNodes() error {
	for _, t := range b.nodes {
		id := t.named(t.ID, "id", "ID")
		f := tableField{use: "id of a node"}
		if t.Space != "" && t.Space != b.source.space && t.Space != b.target.space {
			return t.inFile(fmt.Errorf("the table has the space %q, and the ids of the edges the spaces %q and %q; -spaces two makes the ids of their columns two spaces", t.Space, b.source.space, b.target.space))
		}
		if f.space = t.Space; t.Space == "" && b.source.space != "" {
			f.space = neo4jSpace(id)
		}
		t.use(&t.id, id, f)
		t.use(&b.nodeGraph, t.Graph, tableField{use: "graph of a node"})
		b.nodeTargets = append(b.nodeTargets, t.targets(t.Targets, t.Numbers, "node")...)
		t.use(&b.part, t.Part, tableField{use: "part of a node", kind: wordField, part: true})
		prefix := ""
		if t.Space != "" {
			prefix = t.Space + ": "
		}
		if err := t.attributes(&b.nodeAttrs, nil, "node", prefix, t.Attributes, t.Ignore, t.Types); err != nil {
			return err
		}
	}
	return nil
}

func (b *tableBuild) chooseGraphs() (err error) {
	t, s := b.graphs, b.Graphs
	if t == nil {
		return nil
	}
	t.use(&b.graphKey, cmp.Or(s.Graph, "graph"), tableField{use: "a graph"})
	t.use(&b.graphPart, s.Part, tableField{use: "part of a graph", kind: wordField, part: true})
	b.graphTargets = t.targets(s.Targets, s.Numbers, "graph")
	if t.failed != nil {
		return t.failed
	}
	return t.begin(s.Types)
}

// targets selects a column for each target: of numbers if numbers is set, else of classes. of is what a target describes,
// for the report.
func (t *tableScan) targets(targets []record.TargetChannel, numbers bool, of string) []*tableField {
	fields := make([]*tableField, len(targets))
	for i, target := range targets {
		f := tableField{use: "class of a " + of, kind: wordField, most: record.MaxWords}
		if numbers {
			f = tableField{use: "value of a " + of, kind: numberField}
		}
		t.use(&fields[i], target.Name, f)
	}
	return fields
}

// attributes selects the attribute columns beside named, reads the first rows, and adds the columns to channels.
func (t *tableScan) attributes(to *tableChannels, named []*tableField, of, prefix string, attributes, ignore []string, types map[string]ColumnType) error {
	if t.failed != nil {
		return t.failed
	}
	others, err := t.others(attributes, ignore)
	if err != nil {
		return err
	}
	for _, name := range others {
		if name == "" {
			return blame(t.r, name, errors.New("it has no name, so it is no attribute"))
		}
	}
	for _, name := range others {
		if slices.ContainsFunc(named, func(f *tableField) bool { return f.channel == name }) {
			return &FileError{File: t.r.Name(), Line: 0, Err: fmt.Errorf("column %s has the name of another channel; ignore it", reading.Quote([]byte(name)))}
		}
		f, err := t.add(name, tableField{kind: attributeField, channel: name, other: attributes == nil})
		if err != nil {
			return err
		}
		named = append(named, f)
	}
	if err := t.begin(types); err != nil {
		return err
	}
	for _, f := range t.fields {
		if f.kind == attributeField { // begin has set the type
			f.kind = numberField
			if f.Type == String {
				f.kind = wordField
			}
		}
		if f.kind == wordField && f.most == 0 && !f.part {
			f.most = record.MaxWords
		}
		if f.channel != "" {
			f.use = of + " attribute " + f.channel
		}
	}
	for _, f := range named {
		f.prefix = prefix
		if err := to.add(f); err != nil {
			return err
		}
	}
	return nil
}

func (b *tableBuild) readNodes() error {
	for _, t := range b.nodes {
		base := b.set.nodeRows
		if err := t.all(base, func(rows int) error {
			if b.nodeGraph == nil {
				if err := t.newIDs(t.id, base); err != nil {
					return err
				}
			}
			if b.set.nodeRows += int64(rows); b.set.nodeRows > math.MaxInt32 {
				return errTooManyNames
			}
			return nil
		}); err != nil {
			return err
		}
	}
	for _, t := range b.nodes {
		for _, f := range []*tableField{b.source, b.target} {
			if b.nodeGraph == nil && (t.Space == "" || t.Space == f.space) {
				f.below, f.where = int32(b.ids.len()), "the table of nodes, "+t.r.Name()
			}
		}
	}
	return nil
}

func (b *tableBuild) readGraphs() error {
	t := b.graphs
	if t == nil {
		return nil
	}
	single := b.graphTargets // columns with one value for each graph
	if b.graphPart != nil {
		single = append(single[:len(single):len(single)], b.graphPart)
	}
	if err := t.all(0, func(int) error {
		for i, number := range b.graphKey.batch {
			for len(b.rowOf) <= int(number) {
				b.rowOf = append(b.rowOf, -1)
			}
			row := int32(t.rows) + int32(i)
			before := b.rowOf[number]
			if before < 0 {
				b.rowOf[number] = row
				continue
			}
			for _, f := range single {
				if rows.CompareNumbers(f.target(row), f.target(before)) != 0 {
					what, _, _ := strings.Cut(f.use, " of ")
					return t.fail(i, f, fmt.Errorf("graph %s had another %s in row %d", b.names.print(number), what, before+1))
				}
			}
		}
		return nil
	}); err != nil {
		return err
	}
	for _, f := range []*tableField{b.nodeGraph, b.edgeGraph} {
		if f != nil {
			f.below, f.where = int32(b.names.len()), "the table of graphs, "+b.graphs.r.Name()
		}
	}
	return nil
}

func (b *tableBuild) tooMany(n int64) error {
	return b.edges.inFile(fmt.Errorf("%d edges, want at most %d: rows have 32-bit offsets", n, maxEdges))
}

func (b *tableBuild) readEdges() error {
	t := b.edges
	b.ends.Budget = &b.Budget
	b.ids.plain = b.ids.typ == Integer && len(b.nodes) == 0 && b.edgeGraph == nil
	var list []graph.Edge
	for {
		n, err := t.next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		list = list[:0]
		for i, u := range b.source.batch {
			list = append(list, graph.Edge{U: u, V: b.target.batch[i]})
		}
		if err := b.ends.Append(list); err != nil {
			return t.inFile(err)
		}
		b.set.Stats.EdgeRows += int64(n)
		if r, ok := t.r.(*edgeListReader); ok && b.ids.plain && len(t.fields) == 2 && len(t.texts) == 0 && !r.l.Live && r.err == nil && !b.before.odd {
			return r.scan(b)
		}
	}
}

// spellings rejects keys that differ only in blanks or in the spelling of a whole number. It returns notes
// about doubtful keys.
func (k *keys) spellings() (notes []string, err error) {
	if k.typ != String || k.fixed {
		return nil, nil
	}
	known := map[string]int32{} // number+1 of keys in an unusual spelling, by their usual spelling
	for i := range int32(k.texts.len()) {
		if note := k.doubt(i); note != "" {
			notes = append(notes, note)
		}
		if usual, other := k.usual(k.texts.at(i)); other && known[string(usual)] == 0 {
			known[string(usual)] = i + 1
		}
	}
	for before := range int32(k.texts.len()) {
		if len(known) == 0 {
			break
		}
		usual, _ := k.usual(k.texts.at(before))
		i := known[string(usual)] - 1
		if i < 0 || i == before {
			continue
		}
		if _, other := k.usual(k.texts.at(before)); other { // the error names the later key
			i, before = before, i
		}
		err := fmt.Errorf("%s is the id %s, written in another way; -types with COLUMN=integer for the columns of ids reads both as one number, COLUMN=string as two ids", k.print(i), k.print(before))
		if f, row := k.first(i); f != nil {
			return nil, f.failAt(row, err)
		}
		return nil, err
	}
	return notes, nil
}

// doubt returns a note about a key that looks like a missing value, or that equals its column name, as in
// concatenated files. Otherwise it returns "".
func (k *keys) doubt(at int32) string {
	key := k.texts.at(at)
	none := !bytes.ContainsAny(key, "0123456789") && reading.NoNumber.Match(key)
	if _, err := reading.Number(key); err == nil || !none && !slices.ContainsFunc(k.fields, func(f *tableField) bool { return f.Name == string(key) }) {
		return "" // unnamed columns are called 1, 2, 3
	}
	switch f, row := k.first(at); {
	case f == nil:
	case none:
		return doubtful(string(key), f.Name, f.table)
	case string(key) == f.Name:
		return fmt.Sprintf("guessed: %s in row %d of %s is an id, and not the name of the column again", reading.Quote(key), row+1, f.table)
	}
	return ""
}

// usual returns the usual spelling of a key, with its space, and whether the key differs from it.
func (k *keys) usual(text []byte) (usual []byte, other bool) {
	for _, space := range k.spaces {
		if id, is := bytes.CutPrefix(text, []byte(space+":")); is {
			usual, other = usualKey(id)
			return append([]byte(space+":"), usual...), other
		}
	}
	return usualKey(text)
}

// KeyText is the id of a key in the spelling of RowSet: a String as it is, else without blanks around it, and a whole number such as 7.0 as
// 7. An Integer that is none is an error.
func KeyText(text string, is ColumnType) (string, error) {
	if is == String {
		return text, nil
	}
	usual, _ := usualKey([]byte(text))
	if _, ok := reading.Canonical(usual); !ok && is == Integer {
		return "", fmt.Errorf("%.80q, want an integer, as is declared", text)
	}
	return string(usual), nil
}

// usualKey trims blanks and normalizes whole numbers, such as 7.0 to 7. It reports whether that changes the text.
func usualKey(text []byte) (usual []byte, other bool) {
	usual, _ = reading.WholeNumber(bytes.TrimSpace(text))
	return usual, !bytes.Equal(usual, text)
}

// unforeseen rejects a word column that holds numbers, if its first rows had no value to infer the type from.
func (t *tableScan) unforeseen() error {
	for _, f := range t.fields {
		if !f.blind || f.channel != f.Name {
			continue
		}
		numbers, words := 0, 0
		for i := range int32(f.words.len()) {
			if word := f.words.at(i); !reading.NoNumber.Match(word) {
				words++
				if _, err := reading.Number(word); err == nil {
					numbers++
				}
			}
		}
		if numbers == 0 || reading.LeastOf*numbers < reading.MostNumbers*words {
			continue
		}
		for row := range f.cats.Len() {
			if word := f.cats.At(row); word >= 0 && !reading.NoNumber.Match(f.words.at(word)) {
				return f.failAt(row, fmt.Errorf("%s, and no row before has a value; -types %s=float reads numbers, %[2]s=string words", reading.Quote(f.words.at(word)), f.Name))
			}
		}
	}
	return nil
}

// first returns the field and the row of the first occurrence of a key, or nil.
func (k *keys) first(number int32) (*tableField, int) {
	for row := 0; k.ends != nil && row < k.ends.Len(); row++ {
		switch x := k.ends.At(row); number {
		case x.U:
			return k.fields[0], row
		case x.V:
			return k.fields[1], row
		}
	}
	for _, f := range k.fields {
		for row := range f.cats.Len() {
			if f.cats.At(row) == number {
				return f, row
			}
		}
	}
	return nil, 0
}

// sortWords returns the distinct words of the fields, sorted, and renumbers the rows accordingly.
func sortWords(sort func([]string), fields ...*tableField) []string {
	words, number := []string{}, map[string]int32{}
	for _, f := range fields {
		for _, word := range f.came() {
			if _, known := number[word]; !known {
				number[word] = 0
				words = append(words, word)
			}
		}
	}
	sort(words)
	for i, word := range words {
		number[word] = int32(i)
	}
	for _, f := range fields {
		place := make([]int32, f.words.len())
		for i, word := range f.came() {
			place[i] = number[word]
		}
		f.renumber(place)
	}
	return words
}

// renumber maps the word numbers of all rows through place.
func (f *tableField) renumber(place []int32) {
	for _, part := range f.cats.Parts {
		for i, c := range part {
			if c >= 0 {
				part[i] = place[c]
			}
		}
	}
}

// came returns the words in order of occurrence.
func (f *tableField) came() []string {
	words := []string{}
	for i := range int32(f.words.len()) {
		words = append(words, string(f.words.at(i)))
	}
	return words
}

// report collects notes and column descriptions.
func (b *tableBuild) report() {
	if targets := slices.Concat(b.nodeTargets, b.graphTargets); len(targets) == 1 {
		b.set.Offset = targets[0].offset
	}
	kept := ""
	if r := &b.repeats; r.keep != "" || len(r.stats) > 0 {
		kept = "the one with " + map[string]string{"": "the smallest attributes", "first": "the first time", "last": "the last time"}[r.keep] + " is kept"
		for i, s := range r.stats {
			kept += map[bool]string{true: ", and new attributes are ", false: ", "}[i == 0] + s.name()
		}
	}
	b.notes = append(b.notes, reading.EdgeNotes(b.set.Stats.EdgeCounts, b.set.Stats.EdgeRows, b.edges.r.Name(), kept)...)
	b.tableReading.report(b.scans...)
	b.set.Notes, b.set.Columns = b.notes, b.used
}

// isPart reports whether an attribute that no setting names has only names of parts. Such a column divides
// the rows, and is ignored.
func (f *tableField) isPart() bool {
	return f.other && f.kind == wordField && f.words.len() <= len(partNames) && NameParts(f.came())
}

// NameParts reports whether all of some different words are names of parts or empty, and one is not none.
func NameParts(words []string) bool {
	part := false
	for _, word := range words {
		p, ok := partNames[word]
		if !ok && word != "" {
			return false
		}
		part = part || p != None
	}
	return part
}

// fewNumbers is the number of distinct fractions up to which classes need no note.
const fewNumbers = 20

// report returns notes and column descriptions.
func (t *tableScan) report() (notes, columns []string) {
	notes = append(t.notes, t.beforeNote()...)
	if r, ok := t.r.(interface{ Notes() []string }); ok {
		notes = append(notes, r.Notes()...)
	}
	for _, f := range t.fields {
		if f.ignored {
			notes = append(notes, fmt.Sprintf("ignored column %s of %s: its values name parts, such as train and test; -part %s divides by them", reading.Quote([]byte(f.Name)), f.table, f.Name))
			continue
		}
		if f.kind == wordField && f.most == record.MaxWords {
			notes = append(notes, DoubtfulWords(f.came(), f.Name, f.table)...)
		}
		if n := f.words.len(); f.Type == Float && n > fewNumbers && strings.HasPrefix(f.use, "class of ") {
			notes = append(notes, fmt.Sprintf("guessed: the %d numbers of column %s of %s are classes; -value %s learns them as numbers", n, reading.Quote([]byte(f.Name)), f.table, f.Name))
		}
		if f.missed > 0 {
			notes = append(notes, fmt.Sprintf("missing values: %d of %d rows of %s have none in column %s, %s", f.missed, t.rows, f.table, reading.Quote([]byte(f.Name)), f.use))
		}
		columns = append(columns, f.String())
	}
	return notes, columns
}

// String says how the column is used.
func (f *tableField) String() string {
	s := fmt.Sprintf("%s: column %s: %s, %s", f.table, reading.Quote([]byte(f.Name)), f.Type, f.use)
	if f.words.len() > 0 {
		s += fmt.Sprintf(", %d words", f.words.len())
	}
	if f.offset != 0 {
		s += ", offset " + strconv.FormatFloat(f.offset, 'f', -1, 64)
	}
	return s
}

// doubtful returns the note about a word that often means a missing value.
func doubtful(word, column, table string) string {
	return fmt.Sprintf("guessed: %s is a value of column %s of %s, and not that there is none", reading.Quote([]byte(word)), reading.Quote([]byte(column)), table)
}

// DoubtfulWords returns a line for each word of a column that other programs write where there is no
// value, and one for words that are other words with blanks around them. All are read as they are.
func DoubtfulWords(words []string, column, table string) (notes []string) {
	blank := map[string]string{} // words with surrounding blanks, by their trimmed text
	for _, word := range words {
		if reading.NoNumber.MatchString(word) && len(words) > 1 {
			notes = append(notes, doubtful(word, column, table))
		} else if bare := strings.TrimSpace(word); bare != word {
			blank[bare] = word
		}
	}
	first, pairs := "", 0
	for _, word := range words {
		if _, ok := blank[word]; ok {
			first = cmp.Or(first, word)
			pairs++
		}
	}
	if pairs > 0 {
		notes = append(notes, fmt.Sprintf("guessed: %d values of column %s of %s differ from others by blanks alone, as %s from %s", pairs, reading.Quote([]byte(column)), table, reading.Quote([]byte(blank[first])), reading.Quote([]byte(first))))
	}
	return notes
}
