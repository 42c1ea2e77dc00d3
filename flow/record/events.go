package record

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow/event"
	"github.com/sanflow/sanflow/flow/graph"
)

// Names of the columns of records of events. A row is one event; graph_id and pos have the same
// meaning as in records of graphs.
const (
	eventKind   = "event"        // uint8, an event.Kind
	eventTime   = "time"         // int64, in the unit of the source
	eventSource = "event_source" // int32, a node
	eventTarget = "event_target" // int32, a node; -1 for events of nodes
	eventClass  = "event_class"  // int32; -1 if there is none
	eventCat    = "event_cat"    // list<int32>, discrete attributes
	eventAttr   = "event_attr"   // list<float32>, continuous attributes
	// eventIDs is list<int64> or list<utf8>, where nodes have ids: the id of the source and,
	// of an edge, that of the target; or empty. Other nodes have no id yet.
	eventIDs = "event_ids"
)

// metaEvents is the key, in the metadata of the schema, of the layout of the graph.
const metaEvents = "sanflow.events"

// eventSchema returns the schema of records of events of a graph of layout l: its
// direction, its attributes, the classes of its nodes, and the kind of their ids.
func eventSchema(l Layout) *arrow.Schema {
	text, err := json.Marshal(l)
	if err != nil {
		panic(err) // a layout is strings and numbers
	}
	m := arrow.NewMetadata([]string{metaEvents}, []string{string(text)})
	field := func(name string, t arrow.DataType) arrow.Field { return arrow.Field{Name: name, Type: t} }
	fields := []arrow.Field{
		field(GraphID, arrow.PrimitiveTypes.Int64), field(Pos, arrow.PrimitiveTypes.Int64),
		field(eventKind, arrow.PrimitiveTypes.Uint8), field(eventTime, arrow.PrimitiveTypes.Int64),
		field(eventSource, arrow.PrimitiveTypes.Int32), field(eventTarget, arrow.PrimitiveTypes.Int32),
		field(eventClass, arrow.PrimitiveTypes.Int32),
		field(eventCat, ListType[int32]()), field(eventAttr, ListType[float32]()),
	}
	if t := IDsType(l.NodeIDs); t != nil {
		fields = append(fields, field(eventIDs, t))
	}
	return arrow.NewSchema(fields, &m)
}

// EventLayout returns the layout of the graph whose events have that schema.
func EventLayout(s *arrow.Schema) (l Layout, err error) {
	meta := s.Metadata()
	text, ok := meta.GetValue(metaEvents)
	if !ok {
		return l, fmt.Errorf("record: the columns are no events: %s is not in the metadata of the schema", metaEvents)
	}
	if err := json.Unmarshal([]byte(text), &l); err != nil {
		return l, fmt.Errorf("record: %s in the metadata of the schema: %w", metaEvents, err)
	}
	return l, nil
}

// EventBuilder makes records of events. It serves one goroutine.
type EventBuilder struct {
	schema         *arrow.Schema
	id, pos, time  *Column[int64]
	kind           *Column[uint8]
	source, target *Column[int32]
	class          *Column[int32]
	cat            *Lists[int32]
	attr           *Lists[float32]
	ids            *IDs // nil where nodes have none
	rows           int
}

// NewEventBuilder returns a builder of records of the schema eventSchema(l).
func NewEventBuilder(mem memory.Allocator, l Layout) *EventBuilder {
	b := &EventBuilder{
		schema: eventSchema(l),
		id:     NewColumn[int64](mem), pos: NewColumn[int64](mem), time: NewColumn[int64](mem), kind: NewColumn[uint8](mem),
		source: NewColumn[int32](mem), target: NewColumn[int32](mem), class: NewColumn[int32](mem),
		cat: NewLists[int32](mem), attr: NewLists[float32](mem),
	}
	if l.NodeIDs != graph.NoIDs {
		b.ids = NewIDs(mem, l.NodeIDs)
	}
	return b
}

// Schema returns the schema of the records.
func (b *EventBuilder) Schema() *arrow.Schema { return b.schema }

// Rows returns the number of events since the last record.
func (b *EventBuilder) Rows() int { return b.rows }

// Append adds an event of the graph with that id, as it is, and the ids of the source and, of an
// edge, of the target, or none. An error, of too many ids for a record or of ids of another kind,
// adds nothing.
func (b *EventBuilder) Append(id int64, e *event.Event, ids graph.IDs) error {
	switch {
	case b.ids == nil && ids.Len() > 0:
		return fmt.Errorf("record: event %d has ids of nodes, and the layout has none", e.Pos)
	case b.ids != nil && ids.Len() > 0 && ids.Kind() != b.ids.kind():
		return fmt.Errorf("record: event %d has ids of the kind %q, want %q", e.Pos, ids.Kind(), b.ids.kind())
	case b.ids != nil && !b.ids.Room(ids):
		return fmt.Errorf("record: the ids of %d events have more than %d bytes: want fewer events in a record", b.rows+1, math.MaxInt32)
	}
	target, class := int32(-1), int32(-1)
	if e.OfEdge() {
		target = e.Target
	}
	if e.Kind == event.SetClass {
		class = e.Class
	}
	b.id.Append(id)
	b.pos.Append(e.Pos)
	b.time.Append(e.Time)
	b.kind.Append(uint8(e.Kind))
	b.source.Append(e.Source)
	b.target.Append(target)
	b.class.Append(class)
	b.cat.Append(e.Cat)
	b.attr.Append(e.Attr)
	if b.ids != nil {
		b.ids.Append(ids)
	}
	b.rows++
	return nil
}

// Record returns the events since the last record. The caller owns it.
func (b *EventBuilder) Record() arrow.Record {
	cols := []arrow.Array{
		b.id.Finish(), b.pos.Finish(), b.kind.Finish(), b.time.Finish(), b.source.Finish(), b.target.Finish(), b.class.Finish(),
		b.cat.Finish(), b.attr.Finish(),
	}
	if b.ids != nil {
		cols = append(cols, b.ids.Finish())
	}
	rows := b.rows
	b.rows = 0
	rec := newRecord(b.schema, cols, rows)
	return rec
}

// Release drops the events since the last record.
func (b *EventBuilder) Release() {
	for _, c := range []interface{ Release() }{b.id, b.pos, b.kind, b.time, b.source, b.target, b.class, b.cat, b.attr} {
		c.Release()
	}
	if b.ids != nil {
		b.ids.Release()
	}
}

// Events is a view of a record of events. It is valid as long as the record is.
type Events struct {
	pos, time             []int64
	kind                  []uint8
	source, target, class []int32
	cat                   ListView[int32]
	attr                  ListView[float32]
	ids                   *IDsView // nil where nodes have none
}

// EventsOf views a record of events. It checks the columns, not the events: see
// event.Event.Check.
func EventsOf(rec arrow.Record) (v *Events, err error) {
	v = &Events{}
	column(rec, Pos, &v.pos, &err)
	column(rec, eventTime, &v.time, &err)
	column(rec, eventKind, &v.kind, &err)
	column(rec, eventSource, &v.source, &err)
	column(rec, eventTarget, &v.target, &err)
	column(rec, eventClass, &v.class, &err)
	if err == nil {
		v.cat, err = ListsOf[int32](rec, eventCat)
	}
	if err == nil {
		v.attr, err = ListsOf[float32](rec, eventAttr)
	}
	if err == nil && rec.Schema().HasField(eventIDs) {
		v.ids = new(IDsView)
		*v.ids, err = IDsOfColumn(rec, eventIDs)
	}
	return v, err
}

// column reads a column, unless there was an error before.
func column[T Value](rec arrow.Record, name string, to *[]T, err *error) {
	if *err == nil {
		*to, *err = Values[T](rec, name)
	}
}

// IDs returns the ids in a row, borrowed: of the source and, of an edge, of the target, or none.
// graph.IDs.CheckText checks them.
func (v *Events) IDs(row int) graph.IDs {
	if v.ids == nil {
		return graph.IDs{}
	}
	return v.ids.Row(row)
}

// Len returns the number of events.
func (v *Events) Len() int { return len(v.pos) }

// At makes e the event of a row. Its attributes are borrowed from the record.
func (v *Events) At(row int, e *event.Event) {
	*e = event.Event{
		Kind: event.Kind(v.kind[row]), Pos: v.pos[row], Time: v.time[row], Source: v.source[row], Target: v.target[row],
		Class: v.class[row], Cat: v.cat.Row(row), Attr: v.attr.Row(row),
	}
}
