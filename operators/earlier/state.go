// Package earlier makes columns of what is known of the rows of a table before a row, by key: how many there were, their
// numbers, their classes. A row sees neither later rows nor its own class.
package earlier

import (
	"fmt"
	"math"
	"slices"
)

// Settings says what a State keeps and which columns it makes.
//
// Each key column has a history: what is known of the rows before with the same value. So has each pair of Pairs, of the
// rows with the same two values. A key column also asks in the history of another one of its space: "source as target: rows
// before".
type Settings struct {
	Keys    []string // names of the key columns
	Spaces  []string // of the key columns: the values of those of one space share their numbers; nil = each its own
	Pairs   [][2]int // ascending indices of Keys: see ChoosePairs
	Numbers []string // names of the numbers of a row
	Class   string   // name of the column of the class
	Classes []string // names of the classes; none = rows without classes
	Windows []Window
	Delay   float64 // from a row until its class is known, in the unit of time
	Later   bool    // the rows come in falling order of time, and columns are named so: see Rows.Reversed
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
	recentNumbers = 3 // last numbers of a key that have a column each
	recentClasses = 5 // last known classes of a key that share a column
	smoothing     = 5 // rows of the share of a class among all rows that a share of a key is mixed with

	maxKeys, maxNumbers, maxClasses, maxWindows = 16, 64, 64, 8
)

// State is what is known of the rows so far. Ask makes the columns of a row and changes nothing; Add stores a row. A service
// asks before it adds: the answer is that of a table that ends before the row. Rows are added in the order of their times;
// of equal times the order of Add decides.
//
// The class of a row is seen by rows that are more than Delay later; with a Delay of 0, by all that are added behind it.
//
// A row costs O(histories·(numbers + classes + windows)): with four key columns, four pairs, a number and two classes a few
// microseconds. A history needs 8·(5 + classes + keys + 6·numbers + windows·(1 + 2·numbers)) bytes for each value that it has
// seen, and two key columns about 24 for each combination. A log keeps the rows whose class is not yet known or that a window
// reaches, of 12 + 4·(histories + numbers) bytes. Windows are exact.
type State struct {
	set    Settings
	names  []string
	tables []*table
	views  []view
	seen   []*pairs // the combinations of key columns a < b at a·keys + b
	at     parts
	now    float64
	known  []float64 // rows of each class that are known
	shares []int     // classes that have columns
	log    log
}

// view is a block of columns: what a history knows of a value, or of two, of the row.
type view struct {
	name  string
	table int
	keys  [2]int // columns of the row; the second is -1 for a history of one key column
	width int
}

// table is a history. Records of stride numbers follow each other in the order in which their values were seen.
type table struct {
	slot  []int32 // of each value: its record, plus 1
	pairs *pairs  // in place of slot, of two key columns
	data  []float64
}

// parts are the places of the parts of a record:
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

	atMean    = 1 // of the parts of a number
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
	s := &State{set: set, now: math.Inf(-1), known: make([]float64, c), seen: make([]*pairs, k*k)}
	s.at = parts{classes: atClasses, partners: atClasses + c, numbers: atClasses + c + k}
	s.at.windows = s.at.numbers + ofNumber*n
	s.at.stride = s.at.windows + w*(1+2*n)
	for i, name := range set.Keys {
		s.tables = append(s.tables, &table{})
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
		s.tables = append(s.tables, &table{pairs: s.seen[p[0]*k+p[1]]})
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
		s.shares = []int{1} // the share of the other is 1 minus this one
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
	s.log = log{tables: len(s.tables), windows: set.Windows, delay: set.Delay, head: make([]int, w+1)}
	return s, nil
}

// Columns returns the names of the columns, in the user's words.
func (s *State) Columns() []string { return s.names }

// Ask writes the columns of a row, len(Columns()) of them, NaN where nothing is known. Ask changes nothing, and any number of
// goroutines may ask at once while none adds. The class of the row is not read. A row whose time is behind the last added one
// also costs a look at each row that left a window, or whose class became known, between the two.
func (s *State) Ask(row *Row, dst []float32) {
	nan := float32(math.NaN())
	for i := range dst[:len(s.names)] {
		dst[i] = nan
	}
	if math.IsNaN(row.Time) {
		return
	}
	known, due := s.known, s.log.due(row.Time)
	if due {
		known = slices.Clone(known)
		s.log.each(row.Time, func(i, what int) {
			if c := s.log.class[i]; what == s.log.classes() && c >= 0 {
				known[c]++
			}
		})
	}
	var scratch []float64
	for _, v := range s.views {
		out := dst[:v.width]
		dst = dst[v.width:]
		if row.Keys[v.keys[0]] < 0 || v.keys[1] >= 0 && row.Keys[v.keys[1]] < 0 {
			continue
		}
		t := s.tables[v.table]
		slot := t.find(row.Keys, v.keys)
		if slot < 0 {
			out[0] = 0
			continue
		}
		rec := s.record(t, slot)
		if due {
			scratch = append(scratch[:0], rec...)
			rec = scratch
			s.log.each(row.Time, func(i, what int) {
				if s.log.slots[i*len(s.tables)+v.table] == slot {
					s.apply(rec, i, what)
				}
			})
		}
		s.write(v, rec, known, row, out)
	}
}

// Add stores a row. One with a time before that of a row that is already there is stored as if its time were that one.
func (s *State) Add(row *Row) {
	if math.IsNaN(row.Time) {
		return
	}
	now := max(row.Time, s.now)
	s.now = now
	s.advance()
	k := len(s.set.Keys)
	var with [maxKeys * maxKeys]int32 // the combinations of the row
	for a := range k {
		for b := a + 1; b < k; b++ {
			with[a*k+b] = -1
			x, y := row.Keys[a], row.Keys[b]
			if x < 0 || y < 0 {
				continue
			}
			id, isNew := s.seen[a*k+b].add(x, y)
			if with[a*k+b] = id; isNew {
				s.record(s.tables[a], s.tables[a].add(x, s.at.stride))[s.at.partners+b]++
				s.record(s.tables[b], s.tables[b].add(y, s.at.stride))[s.at.partners+a]++
			}
		}
	}
	class := int32(-1)
	if int(row.Class) < len(s.known) {
		class = row.Class
	}
	entry := s.log.add(now, class, row.Numbers)
	for i, t := range s.tables {
		slot := int32(-1)
		if t.pairs != nil {
			keys := s.views[i].keys // the first views are those of the tables
			if slot = with[keys[0]*k+keys[1]]; slot >= 0 {
				t.grow(int(slot), s.at.stride)
			}
		} else if row.Keys[i] >= 0 {
			slot = t.add(row.Keys[i], s.at.stride)
		}
		s.log.slots[entry*len(s.tables)+i] = slot
		if slot >= 0 {
			s.store(s.record(t, slot), now, row)
		}
	}
	s.advance()
}

// advance brings the records to the time now.
func (s *State) advance() {
	if !s.log.due(s.now) {
		return
	}
	s.log.each(s.now, func(i, what int) {
		if c := s.log.class[i]; what == s.log.classes() && c >= 0 {
			s.known[c]++
		}
		for j, t := range s.tables {
			if slot := s.log.slots[i*len(s.tables)+j]; slot >= 0 {
				s.apply(s.record(t, slot), i, what)
			}
		}
	})
	s.log.drop(s.now)
}

func (s *State) record(t *table, slot int32) []float64 {
	return t.data[int(slot)*s.at.stride:][:s.at.stride]
}

// store adds a row to a record.
func (s *State) store(rec []float64, now float64, row *Row) {
	rec[atRows]++
	rec[atTime] = now
	n := len(row.Numbers)
	for i, x32 := range row.Numbers {
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

// apply changes a record by a row of the log that leaves a window, or whose class becomes known.
func (s *State) apply(rec []float64, entry, what int) {
	n := len(s.set.Numbers)
	if what == s.log.classes() {
		if c := s.log.class[entry]; c >= 0 {
			rec[atKnown]++
			rec[s.at.classes+int(c)]++
			rec[atRecent] = float64((int64(rec[atRecent])*packed + int64(c) + 1) % mostPacked)
			rec[atKnownTime] = s.log.time[entry]
		}
		return
	}
	part := rec[s.at.windows+what*(1+2*n):][:1+2*n]
	part[0]--
	for i, x := range s.log.numbers[entry*n:][:n] {
		if x == x {
			if part[1+2*i]--; part[1+2*i] == 0 {
				part[2+2*i] = 0
			} else {
				part[2+2*i] -= float64(x)
			}
		}
	}
}

// packed is the base of a number that holds the last known classes, plus 1, the last in the lowest place.
const packed, mostPacked = maxClasses + 1, (maxClasses + 1) * (maxClasses + 1) * (maxClasses + 1) * (maxClasses + 1) * (maxClasses + 1)
