package sources

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/sources/internal/reading"
)

// Tables makes graphs of a table of edges and, if there is one, a table of nodes:
//
//	sources.Tables{
//		Edges: sources.EdgeTable{Table: sources.CSV{Path: "payments.csv"}, Source: "from", Target: "to", Weight: "amount"},
//		Nodes: sources.NodeTable{Table: sources.CSV{Path: "people.csv"}, ID: "name", Targets: sources.Targets("role")},
//	}
//
// The tables may come from different files and formats: [CSV], [Text], [JSONLines], [RecordTable] for
// any reader of Arrow records, parquet.Table. Equal rows give equal graphs from any format.
//
// # Types
//
// Types of text tables are inferred from the first 16 384 rows. A column of decimal integers
// that fit an int64 is an integer column, if they are written as 7 and -7, not as 007 or +7. A
// column of other finite decimal numbers is a float column. If three of four values are numbers,
// also written as 5% or 1,234, or all are but NA, NULL, inf and the like, the column is a float
// column too, and the first other value is an error. Any other column is a string column. A later
// value that does not fit is an error that names the row. Types overrides the inference, and
// [TableSet.Columns] lists the result. A column without a name is no attribute.
//
// Ids are integers or strings. If any of the two ends of an edge and the id of a node is a
// string, all three are strings. If an id that is no integer follows integer ids, the tables
// are read again with strings as ids; a table that can be read only once is then an error. Two
// ids that are the same whole number, as 1 and 1.0 or 1000 and 1e3, are an error; a column that
// is declared as integers has them as one id.
//
// The values of string columns, Type, Types and Targets of classes are words. The metadata of a channel have
// its words, sorted bytewise. A number is the word that it prints as: 1.0 is the word 1, except
// in a column of strings. A missing word is the
// reserved word of the channel. Classes are sorted as numbers if all are numbers, else as text;
// a missing class is -1. Other attributes are numbers: a float64 rounded to float32. Channels are in
// the order of their names, after type, weight, and time.
//
// A column that no setting names and all whose values are train, valid, val, test, none or empty is ignored, and a
// note says so: it divides the rows.
//
// # Missing values
//
// An empty value, a null, an absent key, NaN in a column of binary numbers, and a text of Missing are no
// value. A missing number is NaN, a missing id is an error. Other values
// of a column of numbers, such as NA, are errors unless Missing has them. [TableSet.Notes] counts the missing
// values of each column.
//
// Large numbers such as times get an offset, since a float32 resolves only 128 s of a time in
// seconds since 1970. It applies to a column with numbers that no float32 equals, if all lie
// within 65 536 float32 steps of the largest: the smallest number is subtracted in float64. The
// tables are then read again; a table that can be read only once is an error. Offsets sets the
// offsets instead, for instance to those of the training: record.Channel.Offset and
// [TableSet.Offset].
//
// # Graphs
//
// Without a column Graph all rows are one graph. With it, each of its values is a graph, in
// ascending order: integers as numbers, strings bytewise. The graph_id is the integer, or the
// place of the string in [TableSet.Names].
//
// Nodes are in ascending order of their ids, which are in the column node_ids. With a table of
// nodes, an edge that names another node is an error. Self-loops are
// dropped and counted. Of rows with the same ends, in either direction unless Directed is set,
// the smallest is kept: by its words in the order of the channels, then by its numbers, missing ones last. How many
// they are, and the sums of their numbers, become channels of edge_attr, see EdgeTable.Repeated. So
// graphs do not depend on the order of rows or columns, except through the inference of types.
//
// # Weight and time
//
// The weight and the time of an edge are the continuous channels weight and time of edge_attr.
// A time is a number of any unit. A CNN reads them if operators.Normalize has Edges set. Words
// and kernels ignore them and read the discrete attributes, such as the type.
//
// # Cost
//
// O(rows + m log m). All rows are read when Open returns. At the peak a single graph takes,
// beside its own memory and the names, 8 bytes for each row and 4 more for each attribute, plus
// the sorting cost documented at [EdgeList]: 10 M rows between 100 000 nodes with string ids
// peak at 2.3 times the CSR (172 MB). One processor parses about 300 MB of CSV a second, and
// makes the finished graph from 160 MB a second, or 120 MB for 1 M nodes in random order.
type Tables struct {
	// Edges must have a table.
	Edges EdgeTable
	// Nodes is optional.
	Nodes NodeTable
	// MoreNodes are further tables of nodes. Nodes and each of them have a Space then.
	MoreNodes []NodeTable
	// Graphs is optional: it has classes or targets of graphs.
	Graphs GraphTable
	// Directed keeps each row as an arc from Source to Target.
	Directed bool
	// Missing are texts that stand for no value in all columns, such as NA. Blanks around a value and
	// the spelling of a whole number make no difference. The default is the empty text alone.
	Missing []string
	// Memory bounds the bytes allocated for the data. The default is 4 GiB.
	Memory int64
	// Workers is the number of goroutines that sort edges. The default is one per
	// processor; the result does not depend on it.
	Workers int
	// Rows is the number of graphs per record. The default is 64.
	Rows int
	// KeepRows keeps the rows of the edges of a single graph and its nodes in [TableSet.TableRows], for a graph that changes.
	KeepRows bool

	earlier shown
}

// EdgeTable is a table with an edge per row. Fields name columns.
type EdgeTable struct {
	Table Table
	// Source and Target have the ids of the ends. The defaults are source and target, or where
	// there are none :START_ID and :END_ID as Neo4j has them, maybe with spaces, and for ID :ID.
	Source, Target string
	// Spaces says whether equal ids of the columns Source and Target are one node. Ids of two spaces
	// are the strings SPACE:ID, where a space has the name that SpacesOf returns; so are the ids
	// of a table of nodes, except below a header of Neo4j such as :ID(Person), which has the name.
	Spaces IDSpaces
	// Graph is the column of the graph of an edge. The default is one graph.
	Graph string
	// Type has words, which become the channel type; Weight and Time have numbers, which
	// become the channels weight and time.
	Type, Weight, Time string
	// Before, if it is set, is a time, a number as Time has them. Rows at that time or later and rows of unknown time are left out, so that
	// graphs, fields, words and answers are those of a table that ends at the time. A note says how many rows are left out.
	Before string
	// Attributes are the columns that become attributes of edges: strings discrete ones,
	// numbers continuous ones. The default is all columns that have no other use; an
	// empty list that is not nil is none.
	Attributes []string
	// Ignore are columns that are no attributes.
	Ignore []string
	// Repeated is what rows with the same ends become. Count, sum, mean, min and max are channels of edge_attr
	// behind the others: the number of the rows is the channel "count of rows", the statistics of the numbers of a
	// column, weight and time among them, are channels such as "sum of amount". There is no sum of times. A sum is
	// computed in float64 in the order of the numbers. Missing numbers are left out. First and last, one of them,
	// keep the row with the first or last time in place of the smallest row, and of rows with one time the
	// smallest. The word error, alone, makes a repeated row an error. An empty list that is not nil keeps
	// the smallest row alone. The default is count and sum where rows repeat, and the smallest row alone
	// where no row does or Attributes is set. Each list but the default gives its channels also
	// where no row repeats. A table that lists each undirected edge once in each direction, with the same
	// attributes, has no repeated rows. record.Columns.Repeated is what was done.
	Repeated []string
	// Types declares the types of columns.
	Types map[string]ColumnType
	// Offsets are subtracted from the numbers of columns, 0 from those of others. The
	// default is chosen as documented at Tables; an empty map that is not nil is none.
	Offsets map[string]float64
}

// Targets returns targets by the names of their columns, with all classes that occur. An empty name is none.
func Targets(columns ...string) (targets []record.TargetChannel) {
	for _, name := range columns {
		if name != "" {
			targets = append(targets, record.TargetChannel{Name: name})
		}
	}
	return targets
}

// NodeTable is a table with a node per row. Fields name columns.
type NodeTable struct {
	Table Table
	// Space, if set, is the space of the ids of the table, one of those of the edges, see EdgeTable.Spaces. Its channels have names
	// such as "user_id: age". Nodes of other spaces, or of other tables, have no values there. A space without a table
	// has the nodes that edges name. One table has Targets and Part.
	Space string
	// ID has the id of the node. The default is id.
	ID string
	// Graph is the column of the graph of a node, if the edges have Graph.
	Graph string
	// Targets are the columns of what is learned of the node: of numbers if Numbers is set, else of classes. A class
	// alone is the column node_target; a number, or several targets, are in [TableSet.Values], and are of a single graph.
	// Values may be missing. Classes that are not nil are those of a model, and a value that is none of them is an error.
	Targets []record.TargetChannel
	Numbers bool
	// Part is the column of the subset of a node, for [TableSet.Parts]: train, valid, val, test,
	// none or empty.
	Part string
	// Attributes, Ignore, Types and Offsets are as in EdgeTable.
	Attributes []string
	Ignore     []string
	Types      map[string]ColumnType
	Offsets    map[string]float64
}

// GraphTable is a table with the targets of each graph. Several rows may name a graph, if
// they agree. Other columns are not read.
type GraphTable struct {
	Table Table
	// Graph names the graph, as the column of EdgeTable does. The default is graph.
	Graph string
	// Targets and Numbers are as in NodeTable: column target, or of several targets column targets. Every graph that
	// edges or nodes name needs a row; the class of an Item is -1, or its number NaN, if that is missing.
	Targets []record.TargetChannel
	Numbers bool
	// Part is the column of the subset of a graph, for [TableSet.Parts], as in NodeTable.
	Part string
	// Types and Offsets are as in EdgeTable.
	Types   map[string]ColumnType
	Offsets map[string]float64
}

// TableSet is the data of [Tables].
type TableSet struct {
	Layout record.Layout
	Items  []Item
	// Names are the names of the graphs, if the column of graphs has strings.
	Names []string
	// Parts has the subset of each node of a single graph, if NodeTable.Part is set, or of each of
	// Items, if GraphTable.Part is.
	Parts []Subset
	// Targets are those of the nodes of a single graph, and Values their values, (nodes, targets), as in NodeSet. There are
	// none where the target is a class, which the Item has.
	Targets []record.TargetChannel
	Values  []float32
	// TableRows are the rows of the tables, if Tables.KeepRows is set.
	TableRows *TableRows
	// Offset was subtracted from the numbers to be learned, where there is one target.
	Offset float64
	// Columns are lines about how each column is used, as
	//
	//	payments.csv: column "amount": float, edge attribute weight
	Columns []string
	// Notes are lines about what was left out, merged or guessed. They begin with "ignored
	// column", "missing values: N of M", "repeated rows: N of M", "left out: N of M", or "guessed".
	Notes []string
	Stats TableStats

	rows     int   // graphs per record
	nodeRows int64 // rows of the node tables
}

// TableRows are the rows of a table of edges, in their order, self-loops among them: the nodes, the words and the numbers of each, without what
// repeated rows have become. Words and numbers are those of Layout.EdgeCat and of the first of Layout.EdgeAttr.
type TableRows struct {
	Ends []graph.Edge
	Cat  []int32   // (rows, words)
	Attr []float32 // (rows, numbers)
	// Node says which nodes have a row in a table of nodes; nil: none.
	Node []bool
	// Spaces are those of the ids of both ends, as of [SpacesOf].
	Spaces [2]string
}

// NodeSet returns the nodes of a single graph as a set to learn from, which shares the
// memory of the TableSet. A table of several graphs, or of none, is an error.
func (t *TableSet) NodeSet() (*NodeSet, error) {
	if len(t.Items) != 1 {
		return nil, fmt.Errorf("sources: Tables: there are %d graphs, want one whose nodes are a set", len(t.Items))
	}
	it, l := t.Items[0], t.Layout
	set := &NodeSet{
		Graph: it.Graph, IDs: it.NodeID, Class: it.NodeClass, Classes: l.NodeClasses, Targets: t.Values, Split: t.Parts, Channels: l,
		Stats: t.Stats.EdgeCounts, Notes: t.Notes, TableRows: t.TableRows,
	}
	if set.Class == nil {
		set.Class = slices.Repeat([]int32{-1}, it.Graph.N())
	}
	set.Channels.Targets = t.Targets
	return set, nil
}

// TableStats counts rows.
type TableStats struct {
	EdgeCounts
	EdgeRows int64
}

// String names the tables, for the plan of a pipeline.
func (s Tables) String() string {
	switch {
	case s.Edges.Table == nil:
		return "Tables()"
	case s.Nodes.Table == nil:
		return fmt.Sprintf("Tables(%v)", s.Edges.Table)
	}
	return fmt.Sprintf("Tables(%v, %v)", s.Edges.Table, s.Nodes.Table)
}

// Open reads the tables. The reader has the method Notes, as [TableSet] has the field.
func (s Tables) Open(ctx context.Context, mem memory.Allocator) (flow.Reader, error) {
	set, err := s.Read(ctx)
	if err != nil {
		return nil, err
	}
	return set.Reader(mem), nil
}

// Reader returns the reader of a stream of the graphs. The record of a single one shares its memory.
func (t *TableSet) Reader(mem memory.Allocator) flow.Reader {
	item := indexed(len(t.Items), func(i int) (Item, error) { return t.Items[i], nil })
	r := &reading.ItemsReader{Item: item, Rows: cmp.Or(t.rows, 64), Build: record.NewBuilder(mem, t.Layout), Report: t.Notes}
	if len(t.Items) == 1 {
		r.Lend = 1
	}
	return r
}

// DropPlainIDs drops the ids of the nodes of a single graph where node v has the id v, as in an
// [EdgeList].
func (t *TableSet) DropPlainIDs() {
	if len(t.Items) != 1 {
		return
	}
	ids := t.Items[0].NodeID.Ints()
	if n := int64(len(ids)); n > 0 && ids[0] == 0 && ids[n-1] == n-1 {
		t.Items[0].NodeID, t.Layout.NodeIDs = graph.IDs{}, graph.IDs{}.Kind()
	}
}
