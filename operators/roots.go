package operators

import (
	"context"
	"errors"
	"fmt"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

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
	return stageOfRows(schema, func(mem memory.Allocator) rowBuilder {
		return &rooter{r, newListColumn[int32](mem, record.Roots, bound)}
	}), nil
}

type rooter struct {
	Roots
	listColumn[int32]
}

func (r *rooter) Row(_ context.Context, row int) error {
	if err := checkRoots(r.Nodes, r.now.graphs.Nodes(row)); err != nil {
		return err
	}
	r.Lists.Append(r.Nodes)
	return nil
}
