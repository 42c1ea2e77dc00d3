package sources

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Rows makes one graph of tables of things that happened, such as payments and logins. Each row is a
// node. Each different value of a key column is a node of the space of the key. An edge joins a row with
// each of its keys:
//
//	sources.Rows{Tables: []sources.RowTable{{
//		Table: sources.CSV{Path: "payments.csv"}, Time: "time", Class: "fraud",
//		Keys:  []sources.Key{{Column: "source", Space: "account"}, {Column: "target", Space: "account"}, {Column: "shop"}},
//	}}}
//
// Formats, types and words are those of [Tables]. Two rows with the same values are two nodes: no row is
// dropped and none is merged.
//
// # Nodes
//
// Nodes 0 … Rows-1 are the rows, ordered by time, then by the place of their table in Tables, then by their
// position in the table. Rows without a time come last. The nodes of keys follow, ordered by the name of
// the space, then by the id: integers as numbers, strings bytewise. So the neighbours of a key ascend in
// time, and the rows before row r at a key are the neighbours of the key below r.
//
// NodeCat has the channel [RowNodeType], whose words are the names of tables and spaces, and then a channel
// for each column of words. NodeAttr has a channel for each column of numbers. The columns of tables of rows come
// first, in the order of their names. Columns of one name of several tables of rows are one channel. The channels of a table
// of keys have names such as "account: balance". A node has the reserved word and NaN in the channels of
// other tables and where its table has no value.
//
// EdgeCat has the channel "key", whose words are the key columns. An edge that stands for two keys of one
// space with the same value, as of a payment to oneself, has the word "source,target". An empty key has no edge, and a
// note counts it.
//
// The id of a row is the value of its ID column, or else its number in its table, from 1. If there are several
// tables, the id begins with the name of the table, as payments:7. The id of a key is SPACE:ID, as account:ann.
//
// # Cost
//
// O(rows log rows), or O(rows) if rows are in the order of time. A set has, in bytes, for each row 32, the length of its
// id, 20 for each key and 4 for each channel of words and numbers, and for each key 20, the length of its id, and 4
// for each channel: 136 a row for 1 M rows with four keys, two numbers and a word between 104 000 keys. The peak is 1.7
// times that. One processor reads 1 M such rows a second from CSV.
type Rows struct {
	// Tables must have at least one table.
	Tables []RowTable
	// Nodes are tables of attributes by key, at most one of a space.
	Nodes []KeyTable
	// Offsets are subtracted from the numbers of channels, 0 from those of others. The default is chosen
	// as documented at Tables; an empty map that is not nil is none.
	Offsets map[string]float64
	// Missing is as in Tables.
	Missing []string
	// Memory bounds the bytes allocated for the data. The default is 4 GiB.
	Memory int64

	earlier shown
}

// RowNodeType is the channel of NodeCat that has the table of a row, or the space of a key.
const RowNodeType = "node type"

// RowTable is a table of things that happened, one a row. Fields name columns.
type RowTable struct {
	Table Table
	// Name is the name of the table among the types of nodes. The default is row. Several tables have
	// different names.
	Name string
	// Keys are at least one column of keys.
	Keys []Key
	// ID is the column of the id of a row. The default is the number of the row, from 1.
	ID string
	// Time has numbers of any unit, or points of time such as 2006-01-02T15:04:05Z, in the forms that package events
	// names, which become seconds since 1970. All times of the tables are of one kind. A row without a value has an
	// unknown time, and so has each row if Time is "".
	Time string
	// Class has the class of a row, or Value the number to be learned. They may be missing. Tables have
	// classes or values, not both.
	Class, Value string
	// Part is the column of the subset of a row: train, valid, val, test, none or empty.
	Part string
	// Attributes, Ignore and Types are as in EdgeTable. A column of keys is no attribute unless Attributes
	// names it.
	Attributes []string
	Ignore     []string
	Types      map[string]ColumnType
}

// Key is a column of keys.
type Key struct {
	Column string
	// Space is the space of the ids of the column. Equal ids of one space are one node. The default is the name of
	// the column.
	Space string
}

// KeyTable is a table of attributes of keys, a row for each id of a space.
type KeyTable struct {
	Space string
	Table Table
	// ID has the id. The default is id.
	ID string
	// Attributes, Ignore and Types are as in EdgeTable.
	Attributes []string
	Ignore     []string
	Types      map[string]ColumnType
}

// RowSet is the graph of [Rows]. Its nodes are the rows and the keys.
type RowSet struct {
	// NodeSet has the graph. Class, Targets and Split are of all nodes: a key has the class -1, the value
	// NaN, and the subset None.
	NodeSet
	// Rows is the number of rows, which are the first nodes.
	Rows int
	// Time is the time of each row, NaN if it is unknown.
	Time []float64
	// Dates says that the times are points of time, in seconds since 1970, and not numbers.
	Dates bool
	// Place is the place of each row in the files.
	Place []RowPlace
	// Keys are the different keys of the tables, by the names of their columns. Space is set.
	Keys []Key
	// KeyTypes says how the ids of each of Keys are read, see KeyText: Integer and String if that was declared or is in the format, else Untyped.
	KeyTypes []ColumnType
	// RowKeys has the node of each key of each row: (Rows, len(Keys)), row-major. -1: the row has none.
	RowKeys []int32
	// Words is the number of channels of NodeCat with words of rows, which are the channels 1 … Words.
	// Numbers is the number of channels of NodeAttr with numbers of rows, which are the first.
	Words, Numbers int
	// Offset was subtracted from the numbers to be learned.
	Offset float64
	// Columns are lines about how each column is used.
	Columns []string
}

// RowPlace is the place of a row: the index of its table in Rows.Tables, and its position in the table, from 0.
type RowPlace struct{ Table, Row int32 }

// String names the tables, for the plan of a pipeline.
func (s Rows) String() string {
	var names []string
	for _, t := range s.tables() {
		names = append(names, fmt.Sprint(t))
	}
	return "Rows(" + strings.Join(names, ", ") + ")"
}

// tables lists the tables of rows, then those of keys.
func (s Rows) tables() (all []Table) {
	for _, t := range s.Tables {
		all = append(all, t.Table)
	}
	for _, t := range s.Nodes {
		all = append(all, t.Table)
	}
	return all
}

// String returns the size of the set, for the plan of a pipeline.
func (s *RowSet) String() string {
	return fmt.Sprintf("RowSet(%d rows, %d keys)", s.Rows, s.Graph.N()-s.Rows)
}

// Known returns the number of rows whose time is known. They come before the others.
func (s *RowSet) Known() int {
	n := s.Rows
	for n > 0 && math.IsNaN(s.Time[n-1]) {
		n--
	}
	return n
}

// SplitTime sets Split by the order of rows: the first part of the rows is Train, the next Val, the others
// Test. A part ends behind the last row of a time. Until has the last times of Train and of Val. The two parts are at least 0, and
// their sum is below 1. Rows that are too few for them, and times that are too few to end them, are an error.
func (s *RowSet) SplitTime(train, val float64) (until [2]float64, err error) {
	known := s.Known()
	first, second := int(math.Round(train*float64(known))), int(math.Round((train+val)*float64(known)))
	if !(train > 0 && val >= 0 && train+val < 1) || first == 0 || second == known || second == first && val > 0 {
		return until, fmt.Errorf("sources: RowSet: parts %v and %v of %d rows with times, want rows to learn from, to choose by and to test on", train, val, known)
	}
	until = [2]float64{s.Time[first-1], s.Time[second-1]}
	if last := s.Time[known-1]; until[1] == last || until[0] == until[1] && val > 0 {
		return until, fmt.Errorf("sources: RowSet: parts %v and %v of %d rows end behind the last row of the times %v and %v of up to %v: equal times leave no rows to choose by, or to test on; a column of parts divides rows otherwise",
			train, val, known, until[0], until[1], last)
	}
	s.SplitUntil(until)
	return until, nil
}

// SplitUntil sets Split by the last times of Train and of Val. A row of unknown time has the subset None, and a note counts such rows.
func (s *RowSet) SplitUntil(until [2]float64) {
	known := s.Known()
	s.Split = make([]Subset, s.Graph.N())
	for r, t := range s.Time[:known] {
		switch {
		case t <= until[0]:
			s.Split[r] = Train
		case t <= until[1]:
			s.Split[r] = Val
		default:
			s.Split[r] = Test
		}
	}
	if known < s.Rows {
		s.Notes = append(s.Notes, fmt.Sprintf("left out: %d of %d rows have no time, and are in no part", s.Rows-known, s.Rows))
	}
}

// ParseTimeSplit reads the two parts of SplitTime, as time:0.6,0.15; ok is false for a text that does not begin with time:.
func ParseTimeSplit(text string) (train, val float64, ok bool, err error) {
	text, ok = strings.CutPrefix(text, "time:")
	if !ok {
		return 0, 0, false, nil
	}
	a, b, two := strings.Cut(text, ",")
	train, err = strconv.ParseFloat(a, 64)
	if err == nil && two {
		val, err = strconv.ParseFloat(b, 64)
	}
	if err != nil || !two || !(train > 0 && val >= 0 && train+val < 1) {
		return 0, 0, true, fmt.Errorf("time:%s, want two parts of the rows in the order of time, as time:0.6,0.15: the first to learn, the next to choose, the rest to test", text)
	}
	return train, val, true, nil
}

// check validates the settings and sets defaults.
func (s *Rows) check() error {
	fail := func(format string, args ...any) error { return fmt.Errorf("sources: Rows: "+format, args...) }
	if len(s.Tables) == 0 {
		return fail("there are no Tables")
	}
	if s.Memory < 0 {
		return fail("Memory is %d, want at least 0", s.Memory)
	}
	tables, spaces := map[string]bool{}, map[string]bool{}
	targets := [2]string{}
	s.Tables = append([]RowTable{}, s.Tables...)
	for i := range s.Tables {
		t := &s.Tables[i]
		t.Name = cmp.Or(t.Name, "row")
		switch {
		case t.Table == nil:
			return fail("table %s has no Table", t.Name)
		case len(t.Keys) == 0:
			return fail("table %s has no Keys", t.Name)
		case tables[t.Name]:
			return fail("two tables have the name %s", t.Name)
		}
		tables[t.Name] = true
		t.Keys = append([]Key{}, t.Keys...)
		columns := map[string]bool{}
		for j := range t.Keys {
			k := &t.Keys[j]
			k.Space = cmp.Or(k.Space, k.Column)
			if k.Column == "" || columns[k.Column] {
				return fail("table %s: key %d has the column %q, want a column of its own", t.Name, j+1, k.Column)
			}
			columns[k.Column], spaces[k.Space] = true, true
		}
		targets[0], targets[1] = cmp.Or(targets[0], t.Class), cmp.Or(targets[1], t.Value)
	}
	if targets[0] != "" && targets[1] != "" {
		return fail("there are Class %s and Value %s, want one", targets[0], targets[1])
	}
	of := map[string]bool{}
	for _, t := range s.Nodes {
		switch {
		case t.Table == nil:
			return fail("the table of space %q has no Table", t.Space)
		case !spaces[t.Space]:
			return fail("there is a table of space %q, and no key has that space", t.Space)
		case of[t.Space]:
			return fail("two tables have the space %q", t.Space)
		}
		of[t.Space] = true
	}
	for name := range tables {
		if spaces[name] {
			return fail("%q is the name of a table and of a space", name)
		}
	}
	return nil
}

// Read reads the tables.
func (s Rows) Read(ctx context.Context) (*RowSet, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	return reread(ctx, s.tables(), &s.earlier, func() (*RowSet, error) { return s.read(ctx) })
}
