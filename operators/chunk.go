package operators

import (
	"fmt"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
)

// Chunk cuts the roots of each graph into rows of Size, so that one large graph becomes a
// stream:
//
//	in:  {[graph 0: 2500 roots]}
//	out: {[graph 0: roots 0 to 1023]} {[1024 to 2047]} {[2048 to 2499, and 572 zero fields]}
//
//	flow.From(sources.EdgeList{Path: "email-Enron.edges.gz"}).
//		Via(operators.Select{}).                // all nodes
//		Via(operators.Chunk{Size: 1024}).       // rows of 1024 roots
//		Via(operators.Normalize{K: 10}).        // (1024, 10, a_v) each
//
// It belongs between Select, or Roots, and Assemble or Normalize. The rows share the columns of the
// graph. A graph with several rows has a record for each; Assemble and Normalize recognise the
// graph and index it once. The rows are emitted one at a time, so memory does not grow with the
// number of roots. Graphs with one row stay together, up to 2048 roots in a record. No field
// depends on Size.
//
// All rows of a graph have its graph_id and its pos; the position is complete when the last row
// has left the pipeline. A stage that cannot make one of the fields refuses the whole row. Zero
// fields at the end of the roots are left out, except those that fill the last row. A graph
// without roots gives no row.
//
// Put operators on the graph itself, such as Channel, before Chunk, where they run once. Put
// stages that copy rows, such as Shuffle, Batch and Replay, after Normalize, which drops the
// graph: otherwise each chunk gets a copy of it. A record costs some microseconds in each
// stage, so a Size below 100 is slow for large graphs.
type Chunk struct {
	// Size is w, the number of roots of a row. The default is 1024.
	Size int
}

var _ flow.Operator = Chunk{}

// Open checks the settings.
func (c Chunk) Open(in *arrow.Schema) (flow.Stage, error) {
	if c.Size == 0 {
		c.Size = 1024
	}
	if c.Size < 1 || c.Size > maxWidth {
		return nil, fmt.Errorf("Size is %d, want the number of roots of a row, 1 to %d", c.Size, maxWidth)
	}
	if _, ok, err := record.Field(in, record.Roots); err != nil || !ok {
		return nil, fmt.Errorf("there is no column %q to cut: put Select before Chunk", record.Roots)
	}
	for _, made := range []string{record.Hood, record.Members} {
		if in.HasField(made) {
			return nil, fmt.Errorf("column %q belongs to the roots as they are: put Chunk before Assemble", made)
		}
	}
	schema, err := record.Replace(in, []string{record.Roots}, record.ListField[int32](record.Roots, []int{c.Size}))
	if err != nil {
		return nil, err
	}
	return &chunker{Chunk: c, schema: schema}, nil
}

// chunker is a running Chunk. It holds no rows. It is a Flusher because the output of a Flusher is
// sent at once, and not collected until Process returns.
type chunker struct {
	Chunk
	schema *arrow.Schema
	roots  *record.Lists[int32] // roots of the rows under construction; nil before the first record
}

var _ flow.Flusher = (*chunker)(nil)

func (c *chunker) Schema() *arrow.Schema { return c.schema }

func (c *chunker) Process(rec arrow.Record, out *flow.Out) error {
	roots, err := record.ListsOf[int32](rec, record.Roots)
	if err != nil {
		return err
	}
	if c.roots == nil {
		c.roots = record.NewLists[int32](out.Allocator())
	}
	for row := 0; row < roots.Len(); {
		end := c.run(&roots, row)
		graphs := rec.NewSlice(int64(row), int64(end))
		if n := len(used(roots.Row(row))); n > 0 && n <= c.Size {
			err = c.emit(graphs, roots, row, end, out)
		} else {
			err = c.cut(graphs, used(roots.Row(row)), out)
		}
		graphs.Release()
		if err != nil {
			return err
		}
		row = end
	}
	return nil
}

// together bounds the roots in a record of several graphs.
const together = 2048

// run returns the end of the rows from row on that one record can hold: graphs of one row each, or
// a single graph.
func (c *chunker) run(roots *record.ListView[int32], row int) int {
	end, most := row, min(roots.Len(), row+max(1, together/c.Size))
	for end < most {
		if n := len(used(roots.Row(end))); n == 0 || n > c.Size {
			break
		}
		end++
	}
	return max(end, row+1)
}

// used returns the roots without the -1 at the end, which stand for zero fields.
func used(roots []int32) []int32 {
	for len(roots) > 0 && roots[len(roots)-1] < 0 {
		roots = roots[:len(roots)-1]
	}
	return roots
}

// emit emits the graphs of the rows row … end-1, whose roots fit one row each.
func (c *chunker) emit(graphs arrow.Record, roots record.ListView[int32], row, end int, out *flow.Out) error {
	for ; row < end; row++ {
		fill(c.roots.Grow(c.Size), used(roots.Row(row)), -1)
	}
	rec, err := record.Project(c.schema, graphs, c.made())
	if err != nil {
		return err
	}
	return out.Emit(rec)
}

// made returns the column roots of the rows since its last call.
func (c *chunker) made() map[string]arrow.Array {
	return map[string]arrow.Array{record.Roots: c.roots.Finish()}
}

// fill copies from to the front of row and sets the rest to none.
func fill[T record.Value](row, from []T, none T) {
	row = row[copy(row, from):]
	if len(row) == 0 {
		return
	}
	row[0] = none
	for done := 1; done < len(row); done *= 2 {
		copy(row[done:], row[:done])
	}
}

// cut emits one graph as rows of Size roots. A graph without roots is dropped.
func (c *chunker) cut(graph arrow.Record, roots []int32, out *flow.Out) error {
	if len(roots) == 0 {
		out.Drop(graph)
		return nil
	}
	for len(roots) > 0 {
		n := min(len(roots), c.Size)
		fill(c.roots.Grow(c.Size), roots[:n], -1)
		roots = roots[n:]
		rec, err := record.Project(c.schema, graph, c.made())
		if err != nil {
			return err
		}
		emit := out.Repeat // only the last row of a graph completes the position
		if len(roots) == 0 {
			emit = out.Emit
		}
		if err := emit(rec); err != nil {
			return err
		}
	}
	return nil
}

func (c *chunker) Flush(*flow.Out) error { return nil }
