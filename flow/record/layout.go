package record

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow/graph"
)

// Names of the columns; the package comment documents their content.
const (
	GraphID    = "graph_id"
	Pos        = "pos"
	Offsets    = "offsets"
	Neighbors  = "neighbors"
	NodeCat    = "node_cat"
	NodeAttr   = "node_attr"
	EdgeCat    = "edge_cat"
	EdgeAttr   = "edge_attr"
	Target     = "target"
	Targets    = "targets"
	NodeTarget = "node_target"
	Degrees    = "degrees"
	NodeSparse = "node_sparse"
	Roots      = "roots"
	Hood       = "hood"
	Dist       = "dist"
	Members    = "members"
	Mask       = "mask"
	NodesCat   = "nodes_cat"
	Nodes      = "nodes"
	EdgesCat   = "edges_cat"
	Edges      = "edges"

	NodesSparse = "nodes_sparse"
	RootTarget  = "root_target"
	NodeIDs     = "node_ids"
	RootIDs     = "root_ids"
	MemberIDs   = "member_ids"
	RowColumns  = "columns"
)

// Keys of the field metadata. Values other than "true" and "false" are JSON.
const (
	metaDirected = "directed" // of neighbors: "true" or "false"
	metaColumns  = "columns"  // of neighbors: the columns of tables that the graphs were read from, an object {role: column}
	MetaChannels = "channels" // of attribute columns: [{"name":…,"card":…}, …]
	MetaClasses  = "classes"  // of target and node_target: the names of classes 0, 1, …
	metaTargets  = "targets"  // of targets: [{"name":…,"classes":…}, …]
	MetaShape    = "shape"    // of tensor columns: the shape of one row, as [w,k,d]
)

// Channel is one attribute of nodes or edges.
type Channel struct {
	Name string `json:"name"`
	// Card is the number of values of a discrete attribute, which are the
	// indices 0 … Card-1; 0 marks a continuous attribute.
	Card int `json:"card,omitempty"`
	// Words are the names of the values 0 … Card-2, strictly ascending, where values
	// have names. The last value is for words that are not among them: see Unseen.
	Words []string `json:"words,omitzero"`
	// Offset was subtracted, in float64, from the numbers of a continuous attribute before their
	// conversion to float32.
	Offset float64 `json:"offset,omitempty"`
}

// TargetChannel is one of several targets of a row.
type TargetChannel struct {
	Name string `json:"name"`
	// Classes are the names of the classes of the target; none if it is a number.
	Classes []string `json:"classes,omitzero"`
	// Offset was subtracted from the numbers, as Channel.Offset is.
	Offset float64 `json:"offset,omitempty"`
}

// Layout describes the columns of a record of graphs.
type Layout struct {
	Directed          bool
	NodeCat, NodeAttr []Channel
	EdgeCat, EdgeAttr []Channel
	Classes           []string        // names of the classes of target, which is then int32
	Real              bool            // target is float32; not both
	Targets           []TargetChannel `json:",omitempty"` // of column targets, in place of Classes and Real
	NodeClasses       []string        // names of the classes of node_target
	NodeSparse        Channel         // of node_sparse; Card 0: there is none
	NodeIDs           graph.IDKind    `json:",omitempty"` // type of node_ids; "" = there is none
	Part              bool            `json:",omitempty"` // graphs are parts of larger ones, with the column degrees
	Columns           Columns         `json:",omitzero"`  // of the tables that the graphs were read from
}

// Columns names the columns of tables behind the parts of a graph that do not have the name of their
// column: its key, the ends of edges, the ids of nodes, and the channels type, weight and time. "" is
// no column, or one that is not known.
type Columns struct {
	Graph  string `json:"graph,omitempty"`
	Source string `json:"source,omitempty"`
	Target string `json:"target,omitempty"`
	ID     string `json:"id,omitempty"`
	Type   string `json:"type,omitempty"`
	Weight string `json:"weight,omitempty"`
	Time   string `json:"time,omitempty"`
	// Repeated is what repeated rows of a table of edges have become, as sources.ParseRepeated reads it: "count,sum". ""
	// is that of each the smallest was kept.
	Repeated string `json:"repeated,omitempty"`
}

// CountOfRows is the edge channel that has the number of the rows of a table with the same ends.
const CountOfRows = "count of rows"

// OfRepeated reports whether an edge channel is a statistic of repeated rows, as "count of rows" and "sum of amount" are, and
// no column of a table. It returns the channel whose numbers it is of, "" of the count.
func (l *Layout) OfRepeated(channel string) (of string, is bool) {
	statistic, of, _ := strings.Cut(channel, " of ")
	switch {
	case !slices.Contains(strings.Split(l.Columns.Repeated, ","), statistic):
		return "", false
	case channel == CountOfRows:
		return "", true
	}
	return of, slices.ContainsFunc(l.EdgeAttr, func(c Channel) bool { return c.Name == of })
}

// Role returns the column behind an edge channel type, weight or time, and "" where the channel has the name
// of its column.
func (c Columns) Role(channel string) string {
	return map[string]string{"type": c.Type, "weight": c.Weight, "time": c.Time}[channel]
}

// SameColumns returns an error that names the first part of a graph for which l and want have different
// columns of tables. Parts that one of them does not have, or that come from no known column, are not
// compared, nor are layouts without Columns.
func (l *Layout) SameColumns(want *Layout) error {
	c, w := l.Columns, want.Columns
	parts := [][3]string{{"graph", c.Graph, w.Graph}, {"source", c.Source, w.Source}, {"target", c.Target, w.Target}, {"id", c.ID, w.ID}}
	for _, ch := range slices.Concat(want.EdgeCat, want.EdgeAttr) {
		if c != (Columns{}) && w != (Columns{}) {
			parts = append(parts, [3]string{ch.Name, cmp.Or(c.Role(ch.Name), ch.Name), cmp.Or(w.Role(ch.Name), ch.Name)})
		}
	}
	for _, part := range parts {
		if got, want := part[1], part[2]; got != "" && want != "" && got != want {
			return fmt.Errorf("the %s of the graphs is the column %.80q, want %.80q", part[0], got, want)
		}
	}
	return nil
}

// Schema returns the schema of records of that layout.
func (l Layout) Schema() *arrow.Schema {
	fields := slices.Clone(basics)
	about := []any{metaDirected, fmt.Sprint(l.Directed)}
	if l.Columns != (Columns{}) {
		about = append(about, metaColumns, l.Columns)
	}
	fields[len(fields)-1].Metadata = meta(about...)
	for _, k := range l.kinds() {
		fields = append(fields, fieldOf(k, &l))
	}
	return arrow.NewSchema(fields, nil)
}

// kinds returns the kinds of the optional columns of layout l.
func (l *Layout) kinds() []kind {
	if l.Real { // Real takes the place of Classes, although both may be set
		only := *l
		only.Classes = nil
		l = &only
	}
	var has []kind
	for _, k := range kinds {
		if width(k, l) > 0 {
			has = append(has, k)
		}
	}
	return has
}

// IsZero reports whether l describes undirected graphs without attributes, targets and columns of tables.
func (l *Layout) IsZero() bool {
	return !l.Directed && l.Columns == (Columns{}) && len(l.kinds()) == 0
}

// Attributes returns the columns of attributes that a layout may have, in their order,
// with the channels that l has in them.
func (l *Layout) Attributes() (columns []attribute) {
	for _, k := range kinds {
		name, _ := k.column()
		switch p := k.in(l).(type) {
		case *[]Channel:
			columns = append(columns, attribute{name, *p})
		case *Channel:
			a := attribute{Column: name}
			if p.Card > 0 {
				a.Channels = []Channel{*p}
			}
			columns = append(columns, a)
		}
	}
	return columns
}

// attribute is a column of attributes and its channels.
type attribute struct {
	Column   string
	Channels []Channel // empty if records lack the column
}

// basics are the columns of every record of graphs, neighbors last.
var basics = []arrow.Field{
	{Name: GraphID, Type: arrow.PrimitiveTypes.Int64},
	{Name: Pos, Type: arrow.PrimitiveTypes.Int64},
	{Name: Offsets, Type: ListType[int32]()},
	{Name: Neighbors, Type: ListType[int32]()},
}

// Holds returns the first difference between a graph and layout l: a number of attributes or
// values, or an index or class outside l. Call graph.Graph.Check first for the structure.
// O(attributes).
func (l *Layout) Holds(g *graph.Graph, r *Row) error {
	if err := l.fits(g, r); err != nil {
		return err
	}
	for _, k := range l.kinds() {
		if err := k.inRange(l, g, r); err != nil {
			return err
		}
	}
	return nil
}

// fits compares the sizes of a graph with those of l. O(1).
func (l *Layout) fits(g *graph.Graph, r *Row) error {
	if err := l.checkTarget(); err != nil {
		return err
	}
	if g.Directed != l.Directed {
		return fmt.Errorf("directed is %t, want %t", g.Directed, l.Directed)
	}
	for _, k := range kinds {
		if err := k.fits(l, g, r); err != nil {
			return err
		}
	}
	return nil
}

// Check returns an error for a layout with both kinds of targets, words that are not ascending,
// more words than MaxWords or maxWordBytes, or an unknown kind of ids.
func (l *Layout) Check() error {
	if err := l.check(); err != nil {
		return fmt.Errorf("record: %w", err)
	}
	return nil
}

func (l *Layout) check() error {
	if err := l.checkTarget(); err != nil {
		return err
	}
	if l.NodeSparse.Words != nil {
		return fmt.Errorf("%s has words, which sets of indices do not have", NodeSparse)
	}
	if l.NodeIDs != graph.NoIDs && IDsType(l.NodeIDs) == nil {
		return fmt.Errorf("ids of the kind %q, want %q or %q", l.NodeIDs, graph.Int64IDs, graph.StringIDs)
	}
	for _, a := range l.Attributes() {
		if err := checkWords(a.Column, a.Channels); err != nil {
			return err
		}
	}
	return nil
}

func (l *Layout) checkTarget() error {
	if l.Real && len(l.Classes) > 0 {
		return fmt.Errorf("the layout has Real and Classes %q, want one kind of target", l.Classes)
	}
	if len(l.Targets) > 0 && (l.Real || len(l.Classes) > 0) {
		return fmt.Errorf("the layout has %d Targets, and one of Real and Classes too", len(l.Targets))
	}
	return nil
}

// LayoutOf reads the layout back from a schema with the columns of a source.
func LayoutOf(s *arrow.Schema) (Layout, error) {
	var l Layout
	for _, want := range basics {
		f, ok, err := Field(s, want.Name)
		switch {
		case err != nil:
			return l, err
		case !ok:
			return l, fmt.Errorf("record: no column %q; there are %v", want.Name, fieldNames(s))
		case !sameList(f.Type, want.Type):
			return l, wrongType(f, want.Type)
		}
	}
	if err := cmp.Or(Meta(s, Neighbors, metaDirected, &l.Directed), Meta(s, Neighbors, metaColumns, &l.Columns)); err != nil {
		return l, err
	}
	wrong := map[string]error{} // columns of known names but other types
	for _, k := range kinds {
		name, want := k.column()
		f, ok, err := Field(s, name)
		switch {
		case err != nil:
			return l, err
		case !ok:
		case sameList(f.Type, want):
			if err := readMeta(k, f.Name, s, &l); err != nil {
				return l, err
			}
			wrong[f.Name] = nil
		default:
			if _, known := wrong[f.Name]; !known {
				wrong[f.Name] = wrongType(f, want)
			}
		}
	}
	for _, f := range s.Fields() {
		if err := wrong[f.Name]; err != nil {
			return l, err
		}
	}
	return l, nil
}

func wrongType(f arrow.Field, want arrow.DataType) error {
	return fmt.Errorf("record: column %q is %s, want %s", f.Name, f.Type, want)
}

// SparseChannel returns the name and the cardinality of a sparse attribute,
// column node_sparse of a graph or nodes_sparse of fields.
func SparseChannel(s *arrow.Schema, name string) (Channel, error) {
	var c []Channel
	if err := Meta(s, name, MetaChannels, &c); err != nil {
		return Channel{}, err
	}
	if len(c) == 1 && c[0].Words != nil {
		return Channel{}, fmt.Errorf("record: column %q has words, which sets of indices do not have", name)
	}
	if len(c) != 1 || c[0].Card < 1 {
		return Channel{}, fmt.Errorf("record: column %q has the channels %v in its metadata, want one with a cardinality", name, c)
	}
	return c[0], nil
}

// sameList compares types of lists without the names and nullability of items, in which writers
// differ.
func sameList(a, b arrow.DataType) bool {
	la, ok := a.(*arrow.ListType)
	lb, ok2 := b.(*arrow.ListType)
	if ok && ok2 {
		return sameList(la.Elem(), lb.Elem())
	}
	return arrow.TypeEqual(a, b)
}

// Field returns the only field of that name, and whether there is one.
func Field(s *arrow.Schema, name string) (arrow.Field, bool, error) {
	switch at := s.FieldIndices(name); len(at) {
	case 0:
		return arrow.Field{}, false, nil
	case 1:
		return s.Field(at[0]), true, nil
	default:
		return arrow.Field{}, false, fmt.Errorf("record: %d columns %q, want one", len(at), name)
	}
}

// Meta reads one JSON value of a field's metadata into the value that into points to. It
// changes nothing if the field or the key is missing.
func Meta(s *arrow.Schema, name, key string, into any) error {
	f, ok, err := Field(s, name)
	if err != nil || !ok {
		return err
	}
	text, ok := f.Metadata.GetValue(key)
	if !ok {
		return nil
	}
	if key == MetaChannels && len(text) > maxChannels {
		return fmt.Errorf("record: metadata %q of column %q has %d bytes, want at most %d", key, name, len(text), maxChannels)
	}
	if err := json.Unmarshal([]byte(text), into); err != nil {
		return fmt.Errorf("record: metadata %q of column %q: %w", key, name, err)
	}
	if channels, ok := into.(*[]Channel); ok {
		if err := checkWords(name, *channels); err != nil {
			return fmt.Errorf("record: %w", err)
		}
	}
	return nil
}

// Shapes returns the shape of a row of each column that has one in its metadata.
func Shapes(s *arrow.Schema) map[string][]int {
	shapes := map[string][]int{}
	for _, f := range s.Fields() {
		var shape []int
		if err := Meta(s, f.Name, MetaShape, &shape); err == nil && shape != nil {
			shapes[f.Name] = shape
		}
	}
	return shapes
}

// Channels returns the channels of each column that has some in its metadata.
func Channels(s *arrow.Schema) map[string][]Channel {
	all := map[string][]Channel{}
	for _, f := range s.Fields() {
		var channels []Channel
		if err := Meta(s, f.Name, MetaChannels, &channels); err == nil && channels != nil {
			all[f.Name] = channels
		}
	}
	return all
}

// TensorField returns the field of a tensor column, whose rows have the given
// shape, row-major.
func TensorField[T Value](name string, shape []int, channels []Channel) arrow.Field {
	width := 1
	for _, d := range shape {
		width *= d
	}
	about := []any{MetaShape, shape}
	if channels != nil {
		about = append(about, MetaChannels, channels)
	}
	return arrow.Field{Name: name, Type: fixedType[T](width), Metadata: meta(about...)}
}

// ColumnsField returns the field of RowColumns, the numbers of a row by these names.
func ColumnsField(names []string) arrow.Field {
	channels := make([]Channel, len(names))
	for i, name := range names {
		channels[i].Name = name
	}
	return TensorField[float32](RowColumns, []int{len(names)}, channels)
}

// ColumnNames returns the names of the numbers of a row, and none where records have no RowColumns.
func ColumnNames(s *arrow.Schema) (names []string, err error) {
	f, ok, err := Field(s, RowColumns)
	if err != nil || !ok {
		return nil, err
	}
	var channels []Channel
	if err := Meta(s, RowColumns, MetaChannels, &channels); err != nil {
		return nil, err
	}
	if want := fixedType[float32](len(channels)); !arrow.TypeEqual(f.Type, want) {
		return nil, wrongType(f, want)
	}
	for _, c := range channels {
		names = append(names, c.Name)
	}
	return names, nil
}

// TargetsOf returns the targets of the column Targets. A schema without the column is an error.
func TargetsOf(s *arrow.Schema) (targets []TargetChannel, err error) {
	f, ok, err := Field(s, Targets)
	switch {
	case err != nil:
		return nil, err
	case !ok:
		return nil, fmt.Errorf("record: no column %q; there are %v", Targets, fieldNames(s))
	case !sameList(f.Type, ListType[float32]()):
		return nil, wrongType(f, ListType[float32]())
	}
	return targets, Meta(s, Targets, metaTargets, &targets)
}

// meta returns metadata of alternating keys and values. Values must be plain data.
func meta(about ...any) arrow.Metadata {
	var keys, texts []string
	for i := 0; i < len(about); i += 2 {
		keys, texts = append(keys, about[i].(string)), append(texts, metaText(about[i+1]))
	}
	return arrow.NewMetadata(keys, texts)
}

// metaText returns a value of metadata: a text unchanged, and other values as JSON.
func metaText(value any) string {
	if text, ok := value.(string); ok {
		return text
	}
	b, err := json.Marshal(value)
	if err != nil {
		panic("record: " + err.Error())
	}
	return string(b)
}

// SparseField returns the field of a column of lists of indices. shape is the shape of the lists of
// a row, nil if rows differ.
func SparseField(name string, shape []int, c Channel) arrow.Field {
	about := []any{MetaChannels, []Channel{c}}
	if shape != nil {
		about = append(about, MetaShape, shape)
	}
	return arrow.Field{Name: name, Type: NestedType[int32](), Metadata: meta(about...)}
}

// ListField returns the field of a list column whose rows have the given
// shape, row-major.
func ListField[T Value](name string, shape []int) arrow.Field {
	return arrow.Field{Name: name, Type: ListType[T](), Metadata: meta(MetaShape, shape)}
}

// ClassesField returns the field of a list column of classes whose rows have the
// given shape, row-major.
func ClassesField(name string, shape []int, classes []string) arrow.Field {
	return arrow.Field{Name: name, Type: ListType[int32](), Metadata: meta(MetaShape, shape, MetaClasses, classes)}
}

// ChannelsField returns the field of a list column of attributes.
func ChannelsField[T Value](name string, channels []Channel) arrow.Field {
	return arrow.Field{Name: name, Type: ListType[T](), Metadata: meta(MetaChannels, channels)}
}
