package flowtest

import (
	"errors"
	"fmt"
	"hash/maphash"
	"strconv"
	"strings"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
)

// Rows returns each row of the records as a text, like
// "graph_id=7 pos=7 roots=[1,0,-1]", for tests to compare.
func Rows(recs ...arrow.Record) (rows []string) {
	for _, rec := range recs {
		for i := range int(rec.NumRows()) {
			var b strings.Builder
			for c, col := range rec.Columns() {
				if c > 0 {
					b.WriteByte(' ')
				}
				fmt.Fprintf(&b, "%s=%s", rec.ColumnName(c), valueText(col, i))
			}
			rows = append(rows, b.String())
		}
	}
	return rows
}

// valueText returns a value as JSON. NaN and Inf, which JSON lacks, are written in lists too.
func valueText(col arrow.Array, i int) string {
	list, ok := col.(array.ListLike)
	if !ok {
		return col.ValueStr(i)
	}
	var items []string
	for from, to := list.ValueOffsets(i); from < to; from++ {
		item := valueText(list.ListValues(), int(from))
		if text, ok := list.ListValues().(*array.String); ok {
			item = strconv.Quote(text.Value(int(from)))
		}
		items = append(items, item)
	}
	return "[" + strings.Join(items, ",") + "]"
}

// difference reports the first difference of two lists of rows.
func difference(got, want []string) error {
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			return &rowError{fmt.Errorf("row %d is\n\t%s\nwant\n\t%s", i, got[i], want[i]), want[i]}
		}
	}
	if len(got) != len(want) {
		return fmt.Errorf("there are %d rows, want %d", len(got), len(want))
	}
	return nil
}

// positions returns the column pos of the records, as far as they have it.
func positions(recs ...arrow.Record) (pos []int64) {
	for _, rec := range recs {
		p, _ := record.Values[int64](rec, record.Pos)
		pos = append(pos, p...)
	}
	return pos
}

// clone returns a deep copy of rec.
func clone(mem memory.Allocator, rec arrow.Record) arrow.Record {
	cols := make([]arrow.Array, rec.NumCols())
	for i, c := range rec.Columns() {
		data := cloneData(mem, c.Data())
		cols[i] = array.MakeFromData(data)
		data.Release()
		defer cols[i].Release()
	}
	return array.NewRecord(rec.Schema(), cols, rec.NumRows())
}

func cloneData(mem memory.Allocator, d arrow.ArrayData) arrow.ArrayData {
	bufs := make([]*memory.Buffer, len(d.Buffers()))
	for i, b := range d.Buffers() {
		if b != nil {
			bufs[i] = memory.NewResizableBuffer(mem)
			bufs[i].Resize(b.Len())
			copy(bufs[i].Bytes(), b.Bytes())
			defer bufs[i].Release()
		}
	}
	children := make([]arrow.ArrayData, len(d.Children()))
	for i, c := range d.Children() {
		children[i] = cloneData(mem, c)
		defer children[i].Release()
	}
	return array.NewData(d.DataType(), d.Len(), bufs, children, d.NullN(), d.Offset())
}

// fingerprint hashes all buffers of records. It differs if an operator has changed one of them.
func fingerprint(recs []arrow.Record) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	var add func(d arrow.ArrayData)
	add = func(d arrow.ArrayData) {
		for _, b := range d.Buffers() {
			if b != nil {
				h.Write(b.Bytes())
			}
		}
		for _, c := range d.Children() {
			add(c)
		}
	}
	for _, rec := range recs {
		for _, c := range rec.Columns() {
			add(c.Data())
		}
	}
	return h.Sum64()
}

var seed = maphash.MakeSeed()

// EdgeList returns a graph as text that can be pasted into a file for sources.EdgeList,
// or a test: a comment with its size, and a line "u v" for each edge, or arc, in
// ascending order. Attributes are left out.
func EdgeList(g *graph.Graph) string {
	kind, edges, b := "undirected", 0, strings.Builder{}
	if g.Directed {
		kind = "directed"
	}
	for v := range int32(g.N()) {
		for _, u := range g.Adj(v) {
			if g.Directed || v <= u {
				fmt.Fprintf(&b, "%d %d\n", v, u)
				edges++
			}
		}
	}
	return fmt.Sprintf("# %s, nodes: %d, edges: %d\n%s", kind, g.N(), edges, &b)
}

// rowError is an error in an output row. row is its text by Rows.
type rowError struct {
	error
	row string
}

func (e *rowError) Unwrap() error { return e.error }

// explain adds the graph of the row to a rowError.
func (s *subject) explain(err error) error {
	var e *rowError
	if !errors.As(err, &e) {
		return err
	}
	for _, rec := range s.trial.in {
		gs, bad := record.GraphsOf(rec)
		if bad != nil {
			return err // the records have no graphs
		}
		for row := range gs.Len() {
			if id := fmt.Sprintf("%s=%d ", record.GraphID, gs.ID(row)); strings.HasPrefix(e.row, id) || strings.Contains(e.row, " "+id) {
				var g graph.Graph
				gs.At(row, &g)
				return fmt.Errorf("%w\nthe graph is\n%s", err, EdgeList(&g))
			}
		}
	}
	return err
}
