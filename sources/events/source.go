package events

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/sanflow/sanflow/flow/event"
	"github.com/sanflow/sanflow/internal/decimal"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/internal/reading"
	"github.com/sanflow/sanflow/sources/internal/walk"
)

// Source is the events in the rows of a table. Zero fields are the defaults.
type Source struct {
	Table   sources.Table
	Columns Columns
	// Order is the treatment of rows that are not in order of time.
	Order Order
	// Missing is as in sources.Tables.
	Missing []string
}

// Order is how a stream is brought into the order of time.
type Order uint8

// The orders: what happens to a row that is earlier than a row before it.
const (
	Refuse Order = iota // a row that is late is an error
	Sort                // all rows are read and sorted first; equal times stay in order
)

// MaxSorted is the number of events that Sort takes; more are an error. All of them are in memory: at 88 bytes each,
// without attributes, MaxSorted events are 6 GiB.
const MaxSorted = 1 << 26

// Columns maps columns to their meaning, by name, or by number from 1 if no column has that name.
// The default of the first three is the first column, in upper or lower case, of the names below,
// and without names the columns 1, 2 and 3.
type Columns struct {
	Source string // source src from u i id1 user user_id sender
	Target string // target dst to v j id2 item page item_id receiver recipient
	Time   string // time timestamp ts t unixtime seconds date datetime
	// Scale is the units of time of the stream in a unit of the column, or in a second of a
	// date: 1000 keeps milliseconds of seconds. 0 = 1.
	Scale float64

	// Kind has the names of event.Kinds, or one of + 1 +1 add insert for add_edge and of
	// - -1 remove delete for remove_edge; an empty value, and no column, is add_edge.
	Kind string
	// Class has the class of a set_class.
	Class string
	// Attributes have numbers, the continuous attributes of the node or the edge that an event adds or sets. A
	// missing one is NaN. Other events leave them out.
	Attributes []string
	// Spaces says whether equal ids of Source and Target are one node: see sources.SpacesOf.
	Spaces sources.IDSpaces
}

var usual = [3][]string{
	{"source", "src", "from", "u", "i", "id1", "user", "user_id", "sender"},
	{"target", "dst", "to", "v", "j", "id2", "item", "page", "item_id", "receiver", "recipient"},
	{"time", "timestamp", "ts", "t", "unixtime", "seconds", "date", "datetime"},
}

// ParseColumns reads Columns as a flag has them: source=from,target=to,time=3,scale=1000,
// attr=rating,class=…,kind=…, in any order. attr may come repeatedly. spaces=one, two or auto is Spaces.
func ParseColumns(text string) (c Columns, err error) {
	if text == "" {
		return c, nil
	}
	uses := map[string]*string{
		"source": &c.Source, "target": &c.Target, "time": &c.Time, "kind": &c.Kind, "class": &c.Class,
	}
	for _, part := range strings.Split(text, ",") {
		use, name, ok := strings.Cut(strings.TrimSpace(part), "=")
		to := uses[use]
		switch {
		case !ok || name == "":
			return c, fmt.Errorf("%q: want USE=COLUMN", part)
		case use == "attr":
			c.Attributes = append(c.Attributes, name)
		case use == "spaces":
			if c.Spaces, err = sources.ParseIDSpaces(name); err != nil {
				return c, fmt.Errorf("spaces is %w", err)
			}
		case use == "scale":
			if c.Scale, err = decimal.Finite(name, 64); err != nil || !(c.Scale > 0) {
				return c, fmt.Errorf("scale is %q, want a number above 0", name)
			}
		case to == nil:
			return c, fmt.Errorf("%q: want source, target, time, scale, kind, class, spaces or attr", use)
		case *to != "":
			return c, fmt.Errorf("%s is given twice", use)
		default:
			*to = name
		}
	}
	return c, nil
}

// Stats counts the rows and events of a stream.
type Stats struct {
	Events  int64 // returned so far
	Cut     int64 // times with a fraction, which are rounded down
	Values  int64 // attributes of events
	Missing int64 // values that are NaN
}

// Stream is an open source. One goroutine uses it.
type Stream struct {
	set     Source
	ctx     context.Context
	table   sources.TableReader
	rows    *walk.Rows
	uses    []int // for each column of rows, its use: useSource to useAttribute
	last    int64 // time of the last row; an earlier one is an error with Refuse
	ids     names
	classes names
	attrs   []float32
	stats   Stats
	used    bool
	spaces  [2]string // id spaces of sources and targets
	note    string
	spaced  []byte
}

// Uses of columns: the field of an event that a column sets.
const (
	useSource = iota
	useTarget
	useTime
	useKind
	useClass
	useAttribute
)

// Open opens the table and finds the columns.
func (s Source) Open(ctx context.Context) (*Stream, error) {
	switch {
	case s.Table == nil:
		return nil, errors.New("events: there is no Table")
	case s.Order > Sort:
		return nil, fmt.Errorf("events: Order is %d, want one of the constants", s.Order)
	case !(s.Columns.Scale >= 0) || math.IsInf(s.Columns.Scale, 0):
		return nil, fmt.Errorf("events: Scale is %v, want a number of units, or 0 for 1", s.Columns.Scale)
	}
	r, err := s.Table.OpenTable(ctx)
	if err != nil {
		return nil, err
	}
	st := &Stream{set: s, ctx: ctx, table: r, last: math.MinInt64}
	if err := st.choose(); err != nil {
		r.Close()
		return nil, err
	}
	return st, nil
}

// choose finds the columns, by Source.Columns or by usual names, and sets uses and rows.
func (s *Stream) choose() (err error) {
	all, c := s.table.Columns(), s.set.Columns
	var columns []string
	find := func(use int, name string, needed bool) error {
		at := slices.IndexFunc(all, func(c sources.TableColumn) bool { return c.Name == name })
		if n, err := strconv.Atoi(name); at < 0 && err == nil && n >= 1 && n <= len(all) {
			name = all[n-1].Name
		}
		if name == "" {
			at = -1
			for _, u := range usual[use] {
				if at = slices.IndexFunc(all, func(c sources.TableColumn) bool { return strings.EqualFold(c.Name, u) }); at >= 0 {
					break
				}
			}
			if at < 0 && needed && len(all) > use && all[use].Name == strconv.Itoa(use+1) {
				at = use
			}
			switch {
			case at >= 0:
				name = all[at].Name
			case needed:
				return &sources.FileError{File: s.table.Name(), Err: fmt.Errorf("no column is called %s; name the column of the %s", strings.Join(usual[use], ", "), usual[use][0])}
			default:
				return nil
			}
		}
		columns, s.uses = append(columns, name), append(s.uses, use)
		return nil
	}
	// Events of nodes alone need no target.
	for use, name := range []string{c.Source, c.Target, c.Time} {
		if err := find(use, name, use != useTarget || c.Kind == ""); err != nil {
			return err
		}
	}
	for i, name := range []string{c.Kind, c.Class} {
		if name != "" {
			if err := find(useKind+i, name, true); err != nil {
				return err
			}
		}
	}
	for _, name := range c.Attributes {
		if err := find(useAttribute, name, true); err != nil {
			return err
		}
	}
	if slices.Contains(s.uses, useTarget) {
		s.spaces, s.note = sources.SpacesOf(s.table, columns[0], columns[1], c.Spaces)
	}
	s.rows, err = walk.Of(s.table, s.set.Missing, columns...)
	return err
}

// Notes returns lines about what was guessed or left out so far, as sources.TableSet.Notes.
func (s *Stream) Notes() (notes []string) {
	if s.note != "" {
		notes = append(notes, s.note)
	}
	if r, ok := s.table.(interface{ Notes() []string }); ok {
		notes = append(notes, r.Notes()...)
	}
	if n := s.stats.Missing; n > 0 {
		notes = append(notes, fmt.Sprintf("missing values: %d of %d numbers of the columns %s of %s", n, s.stats.Values, strings.Join(s.set.Columns.Attributes, ", "), s.table.Name()))
	}
	ids := s.rows.Columns[0]
	if slices.Contains(s.uses, useTarget) {
		ids += ", " + s.rows.Columns[1]
	}
	return append(notes, sources.DoubtfulWords(s.ids.list, ids, s.table.Name())...)
}

// Close ends the reading.
func (s *Stream) Close() error { return s.table.Close() }

// All returns the events, in order of time, whose positions are 0, 1, 2, …. It can be called
// once. Attributes are borrowed until the next event.
func (s *Stream) All() iter.Seq2[event.Event, error] {
	if s.used {
		return func(yield func(event.Event, error) bool) {
			yield(event.Event{}, errors.New("events: a Stream is read once"))
		}
	}
	s.used = true
	seq := s.raw()
	if s.set.Order == Sort {
		seq = sorted(s.ctx, seq, MaxSorted)
	}
	return func(yield func(event.Event, error) bool) {
		for e, err := range seq {
			if err != nil {
				yield(e, err)
				return
			}
			e.Pos = s.stats.Events
			s.stats.Events++
			if !yield(e, nil) {
				return
			}
		}
	}
}

// sorted returns the events of seq in stable order of time. More than most events are an error.
func sorted(ctx context.Context, seq iter.Seq2[event.Event, error], most int) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		var held []event.Event
		for e, err := range seq {
			switch {
			case err != nil:
			case len(held) == most:
				err = fmt.Errorf("events: more than %d events, which is what the order Sort holds; sort the table by time", most)
			case len(held)%4096 == 0:
				err = context.Cause(ctx)
			}
			if err != nil {
				yield(event.Event{}, err)
				return
			}
			e.Cat, e.Attr = slices.Clone(e.Cat), slices.Clone(e.Attr)
			held = append(held, e)
		}
		slices.SortStableFunc(held, func(a, b event.Event) int { return cmp.Compare(a.Time, b.Time) })
		for _, e := range held {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// Stats returns the counts so far.
func (s *Stream) Stats() Stats { return s.stats }

// Name returns the id of a node as text.
func (s *Stream) Name(v int32) string { return s.ids.list[v] }

// Classes returns the names of the classes so far, by their numbers.
func (s *Stream) Classes() []string { return s.classes.list }

// names numbers distinct texts in order of occurrence.
type names struct {
	index map[string]int32
	list  []string
}

func (n *names) number(text []byte) (int32, error) {
	if i, ok := n.index[string(text)]; ok {
		return i, nil
	}
	if len(n.list) == math.MaxInt32-1 {
		return 0, errors.New("more names than there are numbers")
	}
	if n.index == nil {
		n.index = map[string]int32{}
	}
	i := int32(len(n.list))
	n.list = append(n.list, string(text))
	n.index[n.list[i]] = i
	return i, nil
}

// node returns the number of the id of a source (end 0) or target (end 1).
func (s *Stream) node(end int, id []byte) (int32, error) {
	if space := s.spaces[end]; space != "" {
		s.spaced = sources.IDIn(space, id, s.spaced)
		return s.ids.number(s.spaced)
	}
	return s.ids.number(sources.IDIn("", id, nil))
}

// raw returns the events in row order.
func (s *Stream) raw() iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		for {
			var e event.Event
			err := s.rows.Next()
			if err == nil {
				e, err = s.parse()
			}
			if err == io.EOF || !yield(e, err) || err != nil {
				return
			}
		}
	}
}

func (s *Stream) parse() (e event.Event, err error) {
	e.Class = -1
	s.attrs = s.attrs[:0]
	target := false
	for i, use := range s.uses {
		text, ok := s.rows.Value(i)
		if err := s.value(&e, use, text, ok); err != nil {
			return e, s.rows.Fail(i, err)
		}
		target = target || use == useTarget && ok
	}
	if e.OfEdge() && !target {
		return e, s.rows.FailRow(fmt.Errorf("%v without a target", e.Kind))
	}
	if e.Time < s.last && s.set.Order == Refuse {
		return e, s.rows.FailRow(fmt.Errorf("time %d is before %d, the time of the row before it; sort the table, or ask for the order Sort", e.Time, s.last))
	}
	s.last = e.Time
	switch e.Kind {
	case event.AddEdge, event.SetEdge, event.SetNode: // other events have no attributes
		e.Attr = s.attrs
		for _, x := range e.Attr {
			s.stats.Values++
			if x != x {
				s.stats.Missing++
			}
		}
	}
	return e, nil
}

// value sets what a column of some use has in a row. ok is false without a value.
func (s *Stream) value(e *event.Event, use int, text []byte, ok bool) (err error) {
	switch use {
	case useSource:
		if !ok {
			return errors.New("there is no id")
		}
		e.Source, err = s.node(0, text)
	case useTarget:
		if ok {
			e.Target, err = s.node(1, text)
		}
	case useTime:
		var whole bool
		if e.Time, whole, ok = parseTime(text, s.set.Columns.Scale); !ok {
			return fmt.Errorf("%q, want a time: an integer, a number, or a date such as 2006-01-02 or 2006-01-02T15:04:05Z", short(text))
		}
		if !whole {
			s.stats.Cut++
		}
	case useKind:
		var known bool
		if e.Kind, known = kinds[string(text)]; ok && !known {
			return fmt.Errorf("%q, want one of %s, +, -", short(text), strings.Join(event.Kinds(), ", "))
		}
	case useClass:
		if ok && e.Kind == event.SetClass {
			e.Class, err = s.classes.number(sources.IDIn("", text, nil))
		}
	case useAttribute:
		x := math.NaN()
		if ok {
			if x, err = decimal.Finite(string(text), 32); err != nil {
				return fmt.Errorf("%q, want a finite number", short(text))
			}
		}
		s.attrs = append(s.attrs, float32(x))
	}
	return err
}

func short(text []byte) string { return string(text[:min(len(text), 40)]) }

// kinds maps each text that the column Kind may have to a kind of event.
var kinds = func() map[string]event.Kind {
	m := map[string]event.Kind{
		"+": event.AddEdge, "1": event.AddEdge, "+1": event.AddEdge, "add": event.AddEdge, "insert": event.AddEdge,
		"-": event.RemoveEdge, "-1": event.RemoveEdge, "remove": event.RemoveEdge, "delete": event.RemoveEdge,
	}
	for k, name := range event.Kinds() {
		m[name] = event.Kind(k)
	}
	return m
}()

// parseTime parses a time in units of 1/scale. whole reports that nothing was rounded.
func parseTime(text []byte, scale float64) (v int64, whole, ok bool) {
	if scale == 0 || scale == 1 {
		if v, err := strconv.ParseInt(string(text), 10, 64); err == nil {
			return v, true, true
		}
		scale = 1
	}
	whole64 := int64(scale) // integer scales multiply exactly
	exact := float64(whole64) == scale && whole64 <= 1e9
	if n, err := strconv.ParseInt(string(text), 10, 64); err == nil && exact && within(n, whole64) {
		return n * whole64, true, true
	}
	if v, err := decimal.Finite(string(text), 64); err == nil {
		return scaled(v * scale)
	}
	t, is := reading.Date(string(text))
	if !is {
		return 0, false, false
	}
	if n := t.Unix(); exact && within(n, whole64) {
		rest := int64(t.Nanosecond()) * whole64
		return n*whole64 + rest/1e9, rest%1e9 == 0, true
	}
	return scaled(float64(t.Unix())*scale + float64(t.Nanosecond())/1e9*scale)
}

// within reports whether n times scale is less than 2⁶².
func within(n, scale int64) bool { return max(n, -n) < 1<<62/scale && n > math.MinInt64 }

// scaled rounds down to an integer. A value within rounding error of an integer becomes that integer: 1.001 s
// are 1001 ms.
func scaled(v float64) (floor int64, whole, ok bool) {
	if near := math.Round(v); math.Abs(v-near) <= 0x1p-51*math.Abs(v) {
		v = near
	}
	f := math.Floor(v)
	return int64(f), f == v, f > -1<<62 && f < 1<<62
}
