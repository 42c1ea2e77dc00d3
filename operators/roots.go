package operators

import (
	"context"
	"errors"
	"fmt"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
)

// Roots makes the given nodes the roots of every graph, in the given order. A node may occur
// more than once. It replaces Select for one large graph, for instance with the labelled nodes
// of a split. A graph without such a node is refused.
type Roots struct {
	// Nodes are the roots, -1 for a zero field. It must be set, and is borrowed.
	Nodes []int32
}

var _ flow.Operator = Roots{}

// String gives the number of roots, for the plan of a pipeline.
func (r Roots) String() string { return fmt.Sprintf("Roots(%d)", len(r.Nodes)) }

// Open checks the settings.
func (r Roots) Open(in *arrow.Schema) (flow.Stage, error) {
	if len(r.Nodes) == 0 {
		return nil, errors.New("Nodes is empty, want the roots")
	}
	bound, err := record.Bind(in)
	if err != nil {
		return nil, err
	}
	schema, err := record.Extend(in, record.ListField[int32](record.Roots, []int{len(r.Nodes)}))
	if err != nil {
		return nil, err
	}
	return stageOfRows(schema, &rooter{r, newRootColumn(bound)}), nil
}

type rooter struct {
	Roots
	rootColumn
}

// rootColumn builds the column roots and shares the view of the graphs.
type rootColumn struct {
	listColumn[int32]
	now recordView
}

func newRootColumn(bound *record.Binding) rootColumn {
	return rootColumn{listColumn: listColumn[int32]{Name: record.Roots, Bound: bound}}
}

func (c *rootColumn) receive(*recordView) {}

func (c *rootColumn) pass() *recordView {
	c.now.graphs = c.Graphs
	return &c.now
}

func (r *rooter) Fork() rowBuilder { return &rooter{r.Roots, newRootColumn(r.Bound)} }

func (r *rooter) Row(_ context.Context, row int) error {
	if err := checkRoots(r.Nodes, r.Graphs.Nodes(row)); err != nil {
		return err
	}
	r.Lists.Append(r.Nodes)
	return nil
}
