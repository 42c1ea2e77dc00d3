package operators

import (
	"fmt"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
)

// Chunk cuts the roots of each graph into rows of Size, so that one large graph
// becomes a stream:
//
//	in:  {[graph 0: 2500 roots]}
//	out: {[graph 0: roots 0 to 1023]} {[1024 to 2047]} {[2048 to 2499, and 572 zero fields]}
//
//	flow.From(sources.EdgeList{Path: "email-Enron.edges.gz"}).
//		Via(operators.Select{}).                // all nodes
//		Via(operators.Chunk{Size: 1024}).       // rows of 1024 roots
//		Via(operators.Normalize{K: 10}).        // (1024, 10, a_v) each
//
// It stands between Select, or Roots, and Assemble or Normalize. A row that goes out has the
// columns of the graph that came in, shared and not copied, and stands in a
// record of its own; Assemble and Normalize see that it is the same graph and
// index it once. Rows go out one at a time as the stages behind take them, so
// memory does not grow with the number of roots, and no field depends on Size.
//
// All rows of a graph have its graph_id and its pos; the position is done when
// the last of them has left the pipeline. A stage that cannot make one of the
// fields refuses the row it stands in. Zero fields at the end of the roots are
// left out, but for those that fill the last row, and a graph without roots
// gives no row.
//
// What works on the graph itself, such as Channel, belongs before Chunk, where it
// works once. Stages that copy rows, such as Shuffle, Batch and Replay, belong
// behind Normalize, which drops the graph: of several chunks each would get a copy
// of it. A row costs some microseconds in each stage, so a Size below 100 is slow.
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
	schema, err := record.Extend(record.Without(in, record.Roots), record.ListField[int32](record.Roots, []int{c.Size}))
	if err != nil {
		return nil, err
	}
	return &chunker{c, schema}, nil
}

// chunker is a running Chunk. It holds nothing back; it is a Flusher since what
// such a stage emits goes out at once, and is not collected until Process
// returns.
type chunker struct {
	Chunk
	schema *arrow.Schema
}

var _ flow.Flusher = (*chunker)(nil)

func (c *chunker) Schema() *arrow.Schema { return c.schema }

func (c *chunker) Process(rec arrow.Record, out *flow.Out) error {
	roots, err := record.ListsOf[int32](rec, record.Roots)
	if err != nil {
		return err
	}
	for row := range roots.Len() {
		graph := rec.NewSlice(int64(row), int64(row)+1)
		err := c.cut(graph, roots.Row(row), out)
		graph.Release()
		if err != nil {
			return err
		}
	}
	return nil
}

// cut emits the rows of one graph.
func (c *chunker) cut(graph arrow.Record, roots []int32, out *flow.Out) error {
	for len(roots) > 0 && roots[len(roots)-1] < 0 {
		roots = roots[:len(roots)-1]
	}
	if len(roots) == 0 {
		out.Drop(graph)
		return nil
	}
	for len(roots) > 0 {
		n := min(len(roots), c.Size)
		col := record.NewLists[int32](out.Mem())
		dst := col.Grow(c.Size)
		copy(dst, roots[:n])
		for i := n; i < c.Size; i++ {
			dst[i] = -1
		}
		roots = roots[n:]
		rec, err := record.Project(c.schema, graph, map[string]arrow.Array{record.Roots: col.Finish()})
		if err != nil {
			return err
		}
		emit := out.Repeat // the position is not done before the last row
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
