package operators

import (
	"context"
	"errors"
	"fmt"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
)

// Roots makes given nodes the roots of every graph, in the order given; a node
// may be named more than once. It stands where Select does, and is meant for one
// large graph: for the labelled nodes of a split, say. A graph without such a
// node is refused.
type Roots struct {
	// Nodes are the roots, -1 for a zero field. It must be set, and is borrowed.
	Nodes []int32
}

var _ flow.Operator = Roots{}

// String says how many roots there are, for the plan of a pipeline.
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
	return RowStage(schema, &rooter{r, ListColumn[int32]{Name: record.Roots, Bound: bound}}), nil
}

type rooter struct {
	Roots
	ListColumn[int32]
}

func (r *rooter) Fork() RowBuilder { return &rooter{r.Roots, r.Again()} }

func (r *rooter) Row(_ context.Context, row int) error {
	if err := checkRoots(r.Nodes, r.Graphs.Nodes(row)); err != nil {
		return err
	}
	r.Lists.Append(r.Nodes)
	return nil
}
