// Package earlier makes columns of what is known of the rows of a table before a row, by key: how many there were, their
// numbers, their classes. A row sees neither later rows nor its own class.
package earlier

import (
	"fmt"
	"math"
	"slices"

	"github.com/sanflow/sanflow/internal/scratch"
)

// Settings describes the histories and the columns of a State.
//
// Each key column has a history of the earlier rows with the same value. Each of Pairs has one of
// the rows with the same two values. A key column also reads the history of every other key column
// of its space: "source as target: rows before".
type Settings struct {
	Keys    []string // names of the key columns
	Spaces  []string // of the key columns: the values of those of one space share their numbers; nil = each its own
	Pairs   [][2]int // ascending indices of Keys: see ChoosePairs
	Numbers []string // names of the numbers of a row
	Class   string   // name of the column of the class
	Classes []string // names of the classes; none = rows without classes
	Windows []Window
	Delay   float64 // from a row until its class is known, in the unit of time
	Later   bool    // rows come in descending order of time, and the names of columns say so; see Rows.Reversed
}

// Window is a length of time. A row at time t sees the rows from t − Length.
type Window struct {
	Name   string // in the names of columns: "1h"
	Length float64
}

// Row is a row of the table.
type Row struct {
	Time    float64   // NaN = unknown: the row sees nothing, and no row sees it
	Keys    []int32   // the number of the value of each key column, from 0; -1 = missing
	Numbers []float32 // NaN = missing
	Class   int32     // an index of Classes; -1 = unknown to all rows
}

const (
	recentNumbers = 3 // last numbers of a key with a column each
	recentClasses = 5 // last known classes of a key that one column counts
	smoothing     = 5 // weight, in rows, of the share of a class among all rows in the share of a key

	maxKeys, maxNumbers, maxClasses, maxWindows = 16, 64, 64, 8
)

// State is what is known of the rows that were added. Ask makes the columns of a row and changes nothing; Add stores a row. A service
// asks before it adds: the answer is that of a table that ends before the row. Rows have the order of their times, and rows of one time that of
// Add: what a State knows does not depend on when a row was added.
//
// The class of a row is seen by rows that are more than Delay later; with a Delay of 0, by all that are behind it.
//
// A row that is added in the order of time costs O(histories·(numbers + classes + windows)): with four key columns, four pairs, a number
// and two classes a few microseconds. One that comes late, and SetClass, make the records of its keys anew from the nearest mark before it: they cost
// as much for each row behind it at its keys, and for up to markEvery before it. A history needs 8·(5 + classes + keys + 6·numbers + windows·(1 + 2·numbers)) + 28 bytes
// for each value that it has seen, and two key columns about 24 for each combination. A row has 12 + 4·(keys + numbers) bytes, 4 if its class is known,
// and 4 in each history, which growth can double. Windows are exact.
type State struct {
	set    Settings
	names  []string
	tables []*table
	views  []view
	seen   []*pairs // combinations of key columns a < b, at a·keys + b
	at     parts
	rows   Rows      // rows in the order of Add
	known  [][]int32 // rows of each class, in the order of time
	shares []int     // classes whose shares have columns
	cut    *cut      // if not nil, decides which classes are known

	newest  int32  // last added row of known time
	isFirst []bool // by combination of key columns, as in seen: newest is the first row with its combination
}

// cut decides which classes are known until the next cut of a Replay: those of rows before row
// whose Delay has passed at time at.
type cut struct {
	row   int32
	at    float64
	known []float64 // number of known rows of each class
}

// place is a position in the order of rows: after those of earlier times, and after those of the
// same time with smaller numbers.
type place struct {
	time float64
	row  int32
}

// view is a block of columns: the history of one value, or of two values, of the row.
type view struct {
	name  string
	table int
	keys  [2]int // key columns of the row; the second is -1 for one key
	width int
}

// table is a history. Records of stride numbers have the order in which their values were first
// added. A record describes all rows of its value as of the time of the last one.
type table struct {
	slot  []int32 // by value: number of its record plus one
	pairs *pairs  // replaces slot in a history of two keys
	data  []float64
	rows  [][]int32           // by record: its rows in the order of time
	heads []int32             // by record and window: first row in the window; then the first row whose class is not yet known
	marks map[int32][]float64 // by record: its contents and heads after each markEvery rows
}

// markEvery is the number of rows of a record between two marks.
const markEvery = 256

// parts has the offsets of the parts of a record:
//
//	rows, time of the last, known classes, the last of them (packed), time of the last of them
//	rows of each class
//	distinct values of each key column, 0 for pairs
//	of each number: values, mean, sum of squared deviations, last values
//	of each window: rows, of each number: values and sum
type parts struct{ classes, partners, numbers, windows, stride int }

const (
	atRows = iota
	atTime
	atKnown
	atRecent
	atKnownTime
	atClasses

	atMean    = 1 // offsets in the part of a number
	atSquares = 2
	atLast    = 3
	ofNumber  = 3 + recentNumbers
)

// New returns an empty state.
func New(set Settings) (*State, error) {
	k, n, c, w := len(set.Keys), len(set.Numbers), len(set.Classes), len(set.Windows)
	switch {
	case k == 0 || k > maxKeys:
		return nil, fmt.Errorf("earlier: %d key columns, want 1 to %d", k, maxKeys)
	case n > maxNumbers || c > maxClasses || w > maxWindows:
		return nil, fmt.Errorf("earlier: %d numbers, %d classes and %d windows, want at most %d, %d and %d", n, c, w, maxNumbers, maxClasses, maxWindows)
	case set.Spaces != nil && len(set.Spaces) != k:
		return nil, fmt.Errorf("earlier: %d spaces for %d key columns", len(set.Spaces), k)
	case !(set.Delay >= 0):
		return nil, fmt.Errorf("earlier: the delay is %v, want a number from 0", set.Delay)
	}
	for _, w := range set.Windows {
		if !(w.Length > 0) {
			return nil, fmt.Errorf("earlier: the window %q is %v long, want a number above 0", w.Name, w.Length)
		}
	}
	s := &State{set: set, known: make([][]int32, c), seen: make([]*pairs, k*k), newest: -1, isFirst: make([]bool, k*k)}
	s.at = parts{classes: atClasses, partners: atClasses + c, numbers: atClasses + c + k}
	s.at.windows = s.at.numbers + ofNumber*n
	s.at.stride = s.at.windows + w*(1+2*n)
	for i, name := range set.Keys {
		s.tables = append(s.tables, &table{marks: map[int32][]float64{}})
		s.views = append(s.views, view{name: name, table: i, keys: [2]int{i, -1}})
		for b := i + 1; b < k; b++ {
			s.seen[i*k+b] = &pairs{}
		}
	}
	for _, p := range set.Pairs {
		if p[0] < 0 || p[0] >= p[1] || p[1] >= k {
			return nil, fmt.Errorf("earlier: the pair %v, want ascending indices of %d key columns", p, k)
		}
		s.views = append(s.views, view{name: set.Keys[p[0]] + ", " + set.Keys[p[1]], table: len(s.tables), keys: p})
		s.tables = append(s.tables, &table{pairs: s.seen[p[0]*k+p[1]], marks: map[int32][]float64{}})
	}
	for a := range set.Spaces {
		for b := range set.Spaces {
			if a != b && set.Spaces[a] == set.Spaces[b] {
				s.views = append(s.views, view{name: set.Keys[a] + " as " + set.Keys[b], table: b, keys: [2]int{a, -1}})
			}
		}
	}
	switch c {
	case 0, 1:
	case 2:
		s.shares = []int{1} // the share of the other class is 1 minus this one
	default:
		for i := range c {
			s.shares = append(s.shares, i)
		}
	}
	for i := range s.views {
		names := s.namesOf(s.views[i])
		s.views[i].width = len(names)
		s.names = append(s.names, names...)
	}
	return s, nil
}

// Columns returns the names of the columns, in the user's words.
func (s *State) Columns() []string { return s.names }

// Ask writes the columns of a row that is not stored, len(Columns()) of them, NaN where nothing is known. The row is behind all
// rows of its time; with Later, before them. Ask changes nothing, and any number of goroutines may ask at once while none changes the State. The class of the row
// is not read.
func (s *State) Ask(row *Row, dst []float32) {
	at := place{row.Time, math.MaxInt32}
	if s.set.Later {
		at.row = -1
	}
	s.ask(row, at, dst)
}

// AskOf writes the columns of the added row i, as Ask would at its position.
func (s *State) AskOf(i int, dst []float32) {
	row := s.rows.Row(i)
	s.ask(&row, place{row.Time, int32(i)}, dst)
}

func (s *State) ask(row *Row, at place, dst []float32) {
	nan := float32(math.NaN())
	for i := range dst[:len(s.names)] {
		dst[i] = nan
	}
	if math.IsNaN(row.Time) {
		return
	}
	var counts [maxClasses]float64
	known := counts[:len(s.known)]
	for c, rows := range s.known {
		switch last := len(rows) - 1; {
		case s.cut != nil:
			known[c] = s.cut.known[c]
		case last >= 0 && s.isBefore(rows[last], at) && s.isDue(rows[last], len(s.set.Windows), at.time):
			known[c] = float64(last + 1)
		default:
			known[c] = float64(scratch.Before(rows, func(r int32) bool { return s.isBefore(r, at) && s.isDue(r, len(s.set.Windows), at.time) }))
		}
	}
	var copied []float64
	var copiedHeads []int32
	for _, v := range s.views {
		out := dst[:v.width]
		dst = dst[v.width:]
		if row.Keys[v.keys[0]] < 0 || v.keys[1] >= 0 && row.Keys[v.keys[1]] < 0 {
			continue
		}
		t := s.tables[v.table]
		slot := t.find(row.Keys, v.keys)
		n := 0
		var rows []int32
		if slot >= 0 {
			rows = t.rows[slot]
			if n = len(rows); n > 0 && !s.isBefore(rows[n-1], at) {
				n = scratch.Before(rows, func(r int32) bool { return s.isBefore(r, at) })
			}
		}
		if n == 0 {
			out[0] = 0
			continue
		}
		if n == len(rows) {
			rec, heads := s.record(t, slot), s.headsOf(t, slot)
			if s.isCurrent(heads, rows, at.time) {
				s.write(v, rec, known, row, out)
				continue
			}
			copied, copiedHeads = append(copied[:0], rec...), append(copiedHeads[:0], heads...)
		} else {
			var from int
			for from, copied, copiedHeads = s.marked(t, slot, n, copied, copiedHeads); from < n; from++ {
				s.store(copied, copiedHeads, rows[:from+1], v.table)
			}
		}
		s.advance(copied, copiedHeads, rows[:n], at.time)
		s.write(v, copied, known, row, out)
	}
}

// isCurrent reports whether advance would change nothing.
func (s *State) isCurrent(heads, rows []int32, now float64) bool {
	for what, head := range heads {
		if int(head) < len(rows) && s.isDue(rows[head], what, now) {
			return false
		}
	}
	return true
}

// isBefore reports whether row r precedes a place.
func (s *State) isBefore(r int32, at place) bool {
	t := s.rows.Time[r]
	return t < at.time || t == at.time && r < at.row
}

// isDue reports whether row r has left window what at time now or, if what is the number of
// windows, whether its class is known.
func (s *State) isDue(r int32, what int, now float64) bool {
	switch t := s.rows.Time[r]; {
	case what < len(s.set.Windows):
		return t < now-s.set.Windows[what].Length
	case s.cut != nil:
		return r < s.cut.row && (s.set.Delay == 0 || t+s.set.Delay < s.cut.at)
	default:
		return s.set.Delay == 0 || t+s.set.Delay < now
	}
}

// Add stores a row. Its number is the number of rows added before it.
func (s *State) Add(row *Row) {
	r, k := int32(len(s.rows.Time)), len(s.set.Keys)
	class := int32(-1)
	if int(row.Class) < len(s.known) {
		class = row.Class
	}
	s.rows.Time, s.rows.Class = append(s.rows.Time, row.Time), append(s.rows.Class, class)
	s.rows.Keys, s.rows.Numbers = append(s.rows.Keys, row.Keys...), append(s.rows.Numbers, row.Numbers...)
	if math.IsNaN(row.Time) {
		return
	}
	s.newest = r
	for a := range k {
		for b := a + 1; b < k; b++ {
			if x, y := row.Keys[a], row.Keys[b]; x >= 0 && y >= 0 {
				of := &s.seen[a*k+b].add(x, y, r).first
				if row.Time < s.rows.Time[*of] {
					*of = r
				}
				s.isFirst[a*k+b] = *of == r
			}
		}
	}
	if class >= 0 {
		s.known[class] = s.insert(s.known[class], r)
	}
	for i, t := range s.tables {
		slot := int32(-1)
		if keys := s.views[i].keys; t.pairs != nil { // the first views are those of the tables
			slot = t.pairs.find(row.Keys[keys[0]], row.Keys[keys[1]])
		} else if row.Keys[i] >= 0 {
			slot = t.add(row.Keys[i])
		}
		if slot < 0 {
			continue
		}
		t.grow(slot, s.at.stride, len(s.set.Windows)+1)
		t.rows[slot] = s.insert(t.rows[slot], r)
		if rows := t.rows[slot]; rows[len(rows)-1] == r {
			s.extend(i, slot, len(rows)-1)
		} else {
			s.renew(i, slot, r)
		}
	}
}

// SetClass sets the class of row i, -1 = unknown.
func (s *State) SetClass(i int, class int32) {
	r, was := int32(i), s.rows.Class[i]
	s.rows.Class[i] = class
	if math.IsNaN(s.rows.Time[i]) || was == class {
		return
	}
	if was >= 0 {
		at := scratch.Before(s.known[was], func(x int32) bool { return s.isBefore(x, place{s.rows.Time[r], r}) })
		s.known[was] = slices.Delete(s.known[was], at, at+1)
	}
	if class >= 0 {
		s.known[class] = s.insert(s.known[class], r)
	}
	row := s.rows.Row(i)
	for j, t := range s.tables {
		keys := s.views[j].keys
		if row.Keys[keys[0]] >= 0 && (keys[1] < 0 || row.Keys[keys[1]] >= 0) {
			s.renew(j, t.find(row.Keys, keys), r)
		}
	}
}

// insert inserts a row into a list in the order of time.
func (s *State) insert(rows []int32, r int32) []int32 {
	if n := len(rows); n == 0 || s.isBefore(rows[n-1], place{s.rows.Time[r], r}) {
		return append(rows, r)
	}
	return slices.Insert(rows, scratch.Before(rows, func(x int32) bool { return s.isBefore(x, place{s.rows.Time[r], r}) }), r)
}

func (s *State) record(t *table, slot int32) []float64 {
	return t.data[int(slot)*s.at.stride:][:s.at.stride]
}

func (s *State) headsOf(t *table, slot int32) []int32 {
	n := len(s.set.Windows) + 1
	return t.heads[int(slot)*n:][:n]
}

// marked returns a copy of the last mark of a record with at most n rows, and its number of rows.
// It reuses rec and heads.
func (s *State) marked(t *table, slot int32, n int, rec []float64, heads []int32) (from int, _ []float64, _ []int32) {
	wide := s.at.stride + len(s.set.Windows) + 1
	marks := t.marks[slot]
	at := min(n/markEvery, len(marks)/wide)
	if at == 0 {
		rec, heads = append(rec[:0], make([]float64, s.at.stride)...), append(heads[:0], make([]int32, len(s.set.Windows)+1)...)
		return 0, rec, heads
	}
	mark := marks[(at-1)*wide:][:wide]
	rec, heads = append(rec[:0], mark[:s.at.stride]...), heads[:0]
	for _, x := range mark[s.at.stride:] {
		heads = append(heads, int32(x))
	}
	return at * markEvery, rec, heads
}

// extend adds the rows of a record from index from on, and sets marks.
func (s *State) extend(table int, slot int32, from int) {
	t := s.tables[table]
	rec, heads := s.record(t, slot), s.headsOf(t, slot)
	for rows := t.rows[slot]; from < len(rows); {
		s.store(rec, heads, rows[:from+1], table)
		if from++; s.set.Delay == 0 {
			s.advance(rec, heads, rows[:from], s.rows.Time[rows[from-1]]) // Ask can then mostly read the record without a copy
		}
		if from%markEvery == 0 {
			mark := append(t.marks[slot], rec...)
			for _, x := range heads {
				mark = append(mark, float64(x))
			}
			t.marks[slot] = mark
		}
	}
}

// renew computes a record again from row r on.
func (s *State) renew(table int, slot, r int32) {
	t := s.tables[table]
	at := scratch.Before(t.rows[slot], func(x int32) bool { return s.isBefore(x, place{s.rows.Time[r], r}) })
	from, rec, heads := s.marked(t, slot, at, nil, nil)
	copy(s.record(t, slot), rec)
	copy(s.headsOf(t, slot), heads)
	if marks := t.marks[slot]; marks != nil {
		t.marks[slot] = marks[:from/markEvery*(s.at.stride+len(s.set.Windows)+1)]
	}
	s.extend(table, slot, from)
}

// advance applies to a record the rows that are due at time now.
func (s *State) advance(rec []float64, heads, rows []int32, now float64) {
	for what, head := range heads {
		for ; int(head) < len(rows) && s.isDue(rows[head], what, now); head++ {
			s.apply(rec, rows[head], what)
		}
		heads[what] = head
	}
}

// store adds the last of rows to the record of the others.
func (s *State) store(rec []float64, heads, rows []int32, table int) {
	r := rows[len(rows)-1]
	k, n, now := len(s.set.Keys), len(s.set.Numbers), s.rows.Time[r]
	s.advance(rec, heads, rows[:len(rows)-1], now)
	rec[atRows]++
	rec[atTime] = now
	if table < k {
		keys := s.rows.Keys[int(r)*k:][:k]
		for b, y := range keys {
			switch first, second := min(table, b), max(table, b); {
			case b == table || y < 0:
			case r == s.newest && s.isFirst[first*k+second]:
				rec[s.at.partners+b]++
			case r != s.newest && s.seen[first*k+second].of(keys[first], keys[second]).first == r:
				rec[s.at.partners+b]++
			}
		}
	}
	for i, x32 := range s.rows.Numbers[int(r)*n:][:n] {
		x := float64(x32)
		if math.IsNaN(x) {
			continue
		}
		part := rec[s.at.numbers+i*ofNumber:][:ofNumber]
		part[0]++
		d := x - part[atMean]
		part[atMean] += d / part[0]
		part[atSquares] += d * (x - part[atMean])
		copy(part[atLast+1:], part[atLast:])
		part[atLast] = x
		for w := range s.set.Windows {
			part := rec[s.at.windows+w*(1+2*n)+1+2*i:]
			part[0]++
			part[1] += x
		}
	}
	for w := range s.set.Windows {
		rec[s.at.windows+w*(1+2*n)]++
	}
}

// apply updates a record for row r, which leaves window what or whose class becomes known.
func (s *State) apply(rec []float64, r int32, what int) {
	n := len(s.set.Numbers)
	if what == len(s.set.Windows) {
		if c := s.rows.Class[r]; c >= 0 {
			rec[atKnown]++
			rec[s.at.classes+int(c)]++
			rec[atRecent] = float64((int64(rec[atRecent])*packed + int64(c) + 1) % mostPacked)
			rec[atKnownTime] = s.rows.Time[r]
		}
		return
	}
	part := rec[s.at.windows+what*(1+2*n):][:1+2*n]
	part[0]--
	for i, x := range s.rows.Numbers[int(r)*n:][:n] {
		if x == x {
			if part[1+2*i]--; part[1+2*i] == 0 {
				part[2+2*i] = 0
			} else {
				part[2+2*i] -= float64(x)
			}
		}
	}
}

// packed is the base of the number that holds the last known classes plus one, the latest in the
// lowest digit. mostPacked, its power of recentClasses, drops older classes.
const packed, mostPacked = maxClasses + 1, (maxClasses + 1) * (maxClasses + 1) * (maxClasses + 1) * (maxClasses + 1) * (maxClasses + 1)
