package choose

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/sanflow/sanflow/operators/earlier"
	"github.com/sanflow/sanflow/operators/past"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

// Changing is what a model answers about while events change it. An OpenHistory is one. Any number of goroutines may call its methods, one at
// a time those of a Batch and Apply.
type Changing interface {
	// Form returns the form of the events that a Batch accepts.
	Form() Form
	// Grows returns why no event can be accepted, or nil.
	Grows() error
	// Digest returns a hash of the tables, without the changes by events. It distinguishes sets of tables.
	Digest() string
	// Begin returns an empty batch.
	Begin() *Batch
	// Apply makes changes of a batch, in its order. Position is that of the last of them.
	Apply(position int64, changes ...*Change)
	// Swept returns the entries of a store that have become unneeded since its last call.
	Swept() []Stored
	// Advance sets the clock of the window to that of a Batch. A store calls it, since it no longer has all events that moved the clock.
	Advance(clock int64)
	// Ask returns questions about the ids and then about rows that are in no table, and the position of the events that all of them know.
	Ask(ids []string, rows []Row) ([]*Question, int64, error)
	// Predict returns the answer to a question.
	Predict(ctx context.Context, q *Question) (sinks.Answer, error)
	// Explain returns the reasons of the answer. The default of class is the predicted one.
	Explain(ctx context.Context, q *Question, class string) (*Reasons, error)
	// Learner returns a copy of the model that learns, which the caller closes; see sinks.OpenRows.Learner.
	Learner(rate float64) (*sinks.RowLearner, error)
	// Learn lets a learner learn from a lesson; see sinks.RowLearner.Learn.
	Learn(ctx context.Context, l *sinks.RowLearner, lesson *Lesson) (said, loaded []float32, err error)
	// Positive is the class that AUC and AP are about, -1 if there are other than two.
	Positive() int
	// Close frees everything except the model.
	Close() error
}

// Form is the form of the events of a Changing.
type Form struct {
	// Kind is the kind of an event that has none.
	Kind string
	// ID is the column of ids in a Row, "" if there is none, or if another one has the name "id". Of an event "id" names the same.
	ID string
	// Keys are the columns of ids in a Row, each with the space of its ids behind it.
	Keys []string
	// Window names the window of edges, such as "last 20" or "within 3600", "" if there is none. A store goes on with the same.
	Window string
}

// An Event has one of these kinds.
const (
	AddRow   = "add_row"
	SetClass = "set_class"
)

// Event is a change of the rows of an OpenHistory: AddRow adds Row, and SetClass sets the class of the row ID.
type Event struct {
	Kind string `json:"kind"`
	Row  Row    `json:"row,omitempty"`
	// ID is that of the row. A row that is added has by default that of its column, or the next number of its table.
	ID string `json:"id,omitempty"`
	// Class is the class of SetClass, "" if it is not known.
	Class string `json:"class,omitempty"`
	// Clock is, of an event of a store, Batch.Clock before the event.
	Clock int64 `json:"clock,omitempty"`
	// InTables says, of a RemoveNode of a store, that the tables have a row of the node.
	InTables bool `json:"in_tables,omitempty"`
	// Position is that of an event of a store, or ByID; of others 0.
	Position int64 `json:"-"`
}

// ByID is the position of an event that a store has by its id alone.
const ByID = -1

// Change is an event that a Batch has accepted.
type Change struct {
	Event  Event // with the id
	row    *newRow
	node   *nodeChange // event of an OpenNodes; nil for an OpenHistory
	class  int32
	before int32 // class of the row before Apply, or -1; a change to this class teaches nothing
	// Absent says, after Apply, that the event changed nothing: what it removes or sets was not there.
	Absent bool
	// Late says that an edge was behind the window of time when it came: it is accepted, and no answer knows it.
	Late bool
	// Time is that of an edge, by which a window of time goes.
	Time int64
	// Jump is by how much the event moves the clock of a window of time at once, where that is more than the window, else 0: all edges before it leave.
	Jump int64
	// Unknown is the number of words of the event that the model does not have.
	Unknown int
}

// Batch is events that are accepted and not yet applied. A Changing has one at a time.
type Batch struct {
	Changes []*Change // of the accepted events
	Clock   int64     // by what the window of an OpenNodes goes behind them

	lock *sync.RWMutex
	// prepare reads and checks the event of a change. It changes the state that later events of the batch read by set, or adds an entry to undo.
	prepare func(b *Batch, c *Change) error
	undo    []func() // reverts the events of the current Add

	// The state after the events, which are not applied yet.
	hasRow, exists map[string]bool // by id of a row or a node of the events: whether it has a row, and whether the node exists
	rows           map[int32]int   // number of added rows, by table
	now, added     int64           // latest time, and number of added edges; see dynamic.Graph.Clock
}

// newBatch returns an empty batch. Its method Add holds lock, and calls prepare for each event.
func newBatch(lock *sync.RWMutex, prepare func(*Batch, *Change) error) *Batch {
	return &Batch{lock: lock, prepare: prepare, hasRow: map[string]bool{}, exists: map[string]bool{}, rows: map[int32]int{}}
}

// Add accepts all events or none, behind those that the batch has. The first that cannot be accepted is a *Refused. Nothing is changed.
func (b *Batch) Add(events ...Event) error {
	b.lock.RLock()
	defer b.lock.RUnlock()
	first := len(b.Changes)
	b.undo = b.undo[:0]
	for i, e := range events {
		c := &Change{Event: e, class: -1, Time: math.MinInt64}
		err := error(nil)
		if len(e.ID) > mostName {
			err = fmt.Errorf("the id has %d bytes, want at most %d", len(e.ID), mostName)
		} else {
			err = b.prepare(b, c)
		}
		if err != nil {
			for _, undo := range slices.Backward(b.undo) {
				undo()
			}
			b.Changes = b.Changes[:first]
			return &Refused{i, err}
		}
		b.Changes = append(b.Changes, c)
	}
	return nil
}

// set sets a key of a map of a batch. If Add fails, undo restores the map.
func set[K comparable, V any](b *Batch, m map[K]V, key K, value V) {
	before, had := m[key]
	m[key] = value
	b.undo = append(b.undo, func() {
		if m[key] = before; !had {
			delete(m, key)
		}
	})
}

// Refused is the error of Batch.Add about an event.
type Refused struct {
	Index int // of the event
	Err   error
}

// Error returns the reason and the number of the event, from 1.
func (r *Refused) Error() string { return fmt.Sprintf("event %d: %v", r.Index+1, r.Err) }

// Unwrap returns the reason.
func (r *Refused) Unwrap() error { return r.Err }

// tail has the rows and keys added after the set, in the order of addition. Their node numbers follow those of the set.
type tail struct {
	past.Tail
	number []int32          // by node: the number of a row among all rows, or of a key among the keys of its space
	keys   []int32          // nodes of the keys, (rows, key columns); -1 = missing
	rows   int              // number of added rows
	tables map[int32]int    // number of rows of each table, with the rows of the set
	spaces map[string]int32 // number of keys of each space

	keyNode map[string]int32 // nodes of added keys by name; opened.named has those of rows
}

// begin creates an empty tail, with the numbers of rows and keys in the set.
func (o *OpenHistory) begin() {
	set, g := o.h.Set, o.h.Set.Graph
	t := tail{Tail: past.NewTail(g), keyNode: map[string]int32{}, tables: map[int32]int{}, spaces: map[string]int32{}}
	for r := range set.Rows {
		t.tables[g.NodeCat[r*g.NodeCats]]++
	}
	keys := map[int32]int32{} // number of keys by space
	for v := set.Rows; v < g.N(); v++ {
		keys[g.NodeCat[v*g.NodeCats]]++
	}
	for _, k := range set.Keys {
		t.spaces[k.Space] = keys[set.Channels.NodeCat[0].Index(k.Space)]
	}
	if o.tail = t; o.Grows() == nil {
		o.past.Tail = &o.tail.Tail
	}
}

// formOf returns the form of events about the rows of a set.
func formOf(set *sources.RowSet, id string) Form {
	f := Form{Kind: AddRow, ID: id}
	names := channelNames(slices.Concat(set.Channels.NodeCat[1:1+set.Words], set.Channels.NodeAttr[:set.Numbers]))
	for _, k := range set.Keys {
		names, f.Keys = append(names, k.Column), append(f.Keys, k.Column, k.Space)
	}
	if slices.Contains(names, "id") {
		f.ID = ""
	}
	return f
}

// Grows returns why rows cannot be added, or nil.
func (o *OpenHistory) Grows() error {
	switch {
	case o.h.Future:
		return errors.New("rows that are added are not for a model of rows that sees the rows after them")
	case o.h.Train != nil:
		return errors.New("rows that are added are for a History whose Train is nil: the rows behind know the classes that come")
	case o.columns.Time == "":
		return errors.New("rows that are added need a column of times")
	}
	return nil
}

// Swept implements Changing: no row goes.
func (o *OpenHistory) Swept() []Stored { return nil }

// Advance implements Changing: there is no window.
func (o *OpenHistory) Advance(int64) {}

// Digest tells the rows of one set of tables, without those that were added, from those of others. It reads ids, times, keys and classes.
func (o *OpenHistory) Digest() string {
	set, sum := o.h.Set, sha256.New()
	var b []byte
	for r := range set.Rows {
		b = binary.LittleEndian.AppendUint64(b[:0], math.Float64bits(set.Time[r]))
		b = append(append(b, set.IDs.Name(int32(r))...), 0)
		for _, v := range set.RowKeys[r*len(set.Keys):][:len(set.Keys)] {
			b = binary.LittleEndian.AppendUint32(b, uint32(v))
		}
		b = binary.LittleEndian.AppendUint32(b, uint32(set.Class[r]))
		sum.Write(b)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// Begin returns an empty batch.
func (o *OpenHistory) Begin() *Batch { return newBatch(&o.mu, o.prepare) }

func (o *OpenHistory) prepare(b *Batch, c *Change) (err error) {
	e := &c.Event
	switch err := o.Grows(); {
	case err != nil:
		return err
	case e.Kind == SetClass:
		if _, ok := o.rowOf(e.ID); !ok && !b.hasRow[e.ID] {
			return fmt.Errorf("there is no row %.80q", e.ID)
		}
		c.class, err = classNamed(o.h.Set.Classes, e.Class)
		return err
	case e.Kind != AddRow:
		return fmt.Errorf("the kind is %.80q, want %s or %s; "+inRow, e.Kind, AddRow, SetClass)
	}
	if c.row, err = o.read(e.Row); err != nil {
		return err
	}
	if c.class, err = classNamed(o.h.Set.Classes, c.row.class); err != nil {
		return err
	}
	c.Unknown = c.row.unknown
	for j, k := range o.h.Set.Keys { // the store keeps keys in the spelling of tables
		if value := c.row.values[j]; value != "" && value != TextOf(e.Row[k.Column]) {
			e.Row = maps.Clone(e.Row)
			e.Row[k.Column] = value
		}
	}
	table := c.row.cat[0]
	if e.ID == "" {
		id := c.row.id
		if o.columns.ID == "" {
			id = strconv.Itoa(o.tail.tables[table] + b.rows[table] + 1)
		} else if id == "" {
			return fmt.Errorf("the row has no %q, the id, nor the name id", o.columns.ID)
		}
		if len(o.tables) > 1 {
			id = o.h.Set.Channels.NodeCat[0].Words[table] + ":" + id
		}
		e.ID = id
	}
	if _, ok := o.rowOf(e.ID); ok || b.hasRow[e.ID] {
		return fmt.Errorf("there is a row %.80q already", e.ID)
	}
	if n := o.h.Set.Graph.N() + o.tail.Graph.N(); n > mostNodes {
		return fmt.Errorf("there are %d rows and keys, which is the most", n)
	}
	set(b, b.hasRow, e.ID, true)
	set(b, b.rows, table, b.rows[table]+1)
	return nil
}

// inRow tells how to write a row that has a column named kind.
const inRow = `a row with a column "kind" is written {"row": {"kind": …}}`

// mostName bounds the bytes of the id of an added row or key. A key of bbolt has at most 32 768 bytes.
const mostName = 32_000

// mostNodes bounds the number of rows and keys before a batch, so that the nodes of the batch have int32 numbers too.
const mostNodes = math.MaxInt32 - 1<<24

// Apply makes changes of a batch, in its order. Position is that of the last of them.
func (o *OpenHistory) Apply(position int64, changes ...*Change) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, c := range changes {
		if c.row != nil {
			c.before = -1
			o.add(c)
			continue
		}
		v, _ := o.rowOf(c.Event.ID)
		c.before, *o.past.ClassOf(v) = *o.past.ClassOf(v), c.class
		o.states[0].SetClass(o.rowNumber(v), c.class)
	}
	o.position = position
}

// add adds a row and its new keys to the tail, and the row to the state of earlier rows.
func (o *OpenHistory) add(c *Change) {
	h, t, r := o.h, &o.tail, c.row
	l := h.Set.Channels
	rays, _ := o.raysOf(r.values)
	for _, x := range rays {
		if x.node >= 0 {
			continue
		}
		cat, attr := blank(&o.h.Set.Channels)
		cat[0] = l.NodeCat[0].Index(x.space)
		v := o.addNode(t.keyNode, x.name, t.spaces[x.space])
		o.past.Add(math.NaN(), -1, cat, attr, nil, nil)
		t.spaces[x.space]++
		for i := range o.own {
			if o.own[i].ID == x.name {
				o.own[i].word = v
			}
		}
	}
	rays, nodes := o.raysOf(r.values) // now each key has a node
	row := earlier.Row{Time: r.time, Keys: o.keyNumbers(r.values, nodes), Numbers: r.attr[:h.Set.Numbers], Class: c.class}
	slices.SortFunc(rays, func(a, b ray) int { return int(a.node - b.node) })
	var keys, words []int32
	for _, x := range rays {
		keys, words = append(keys, x.node), append(words, l.EdgeCat[0].Index(x.columns))
	}
	o.addNode(o.named, c.Event.ID, int32(h.Set.Rows+t.rows))
	o.past.Add(r.time, c.class, r.cat, r.attr, keys, words)
	t.keys = append(t.keys, nodes...)
	t.tables[r.cat[0]]++
	if n, err := strconv.Atoi(c.Event.ID[strings.LastIndexByte(c.Event.ID, ':')+1:]); err == nil && o.columns.ID == "" {
		t.tables[r.cat[0]] = n // the count may be too low, since a store can have forgotten rows
	}
	t.rows++
	o.states[0].Add(&row)
}

// addNode returns the number of a new node, and stores its name.
func (o *OpenHistory) addNode(named map[string]int32, name string, number int32) int32 {
	v := int32(o.ids.Len() + len(o.names))
	o.names, o.tail.number = append(o.names, name), append(o.tail.number, number)
	named[name] = v
	return v
}

func (o *OpenHistory) inTail(v int32) (int, bool) {
	i := int(v) - o.h.Set.Graph.N()
	return i, i >= 0
}

// rowOf returns the node of the row with an id.
func (o *OpenHistory) rowOf(id string) (int32, bool) { return o.find(id, true, o.named) }

// keyOf returns the node of the key with a name, which is SPACE:ID.
func (o *OpenHistory) keyOf(name string) (int32, bool) { return o.find(name, false, o.tail.keyNode) }

// find returns the node of a row or a key by its name. named has the added nodes.
func (o *OpenHistory) find(name string, isRow bool, named map[string]int32) (int32, bool) {
	if v, ok := o.index.Name(name); ok && (int(v) < o.h.Set.Rows) == isRow {
		return v, true
	}
	v, ok := named[name]
	return v, ok
}

// rowNumber returns the number of a row in the order of addition.
func (o *OpenHistory) rowNumber(row int32) int {
	if i, ok := o.inTail(row); ok {
		return int(o.tail.number[i])
	}
	return int(row)
}

// keysOf returns the nodes of the keys of a row.
func (o *OpenHistory) keysOf(row int32) []int32 {
	k, number := len(o.h.Set.Keys), o.rowNumber(row)
	if i := number - o.h.Set.Rows; i >= 0 {
		return o.tail.keys[i*k:][:k]
	}
	return o.h.Set.RowKeys[number*k:][:k]
}

// keyNumbers returns the numbers of the keys of a row in their spaces, in the form of package earlier.
func (o *OpenHistory) keyNumbers(values []string, nodes []int32) []int32 {
	numbers := make([]int32, len(nodes))
	for j, v := range nodes {
		switch i, ok := o.inTail(v); {
		case values[j] == "":
			numbers[j] = -1
		case v < 0: // a new key, which equals no key of a row
			numbers[j] = math.MaxInt32
		case ok:
			numbers[j] = o.tail.number[i]
		default:
			numbers[j] = v - o.h.first[j]
		}
	}
	return numbers
}
