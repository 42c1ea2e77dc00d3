package flowtest_test

import (
	"context"
	"fmt"
	"log"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/flowtest"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

// Size is an operator that adds the number of nodes of each graph.
type Size struct{}

func (Size) Open(in *arrow.Schema) (flow.Stage, error) {
	schema, err := record.Extend(in, arrow.Field{Name: "size", Type: arrow.PrimitiveTypes.Int32})
	return sizer{schema}, err
}

type sizer struct{ schema *arrow.Schema }

func (s sizer) Schema() *arrow.Schema { return s.schema }

func (s sizer) Fork() flow.Stage { return s }

func (s sizer) Process(rec arrow.Record, out *flow.Out) error {
	offsets, err := record.ListsOf[int32](rec, record.Offsets)
	if err != nil {
		return err
	}
	sizes := record.NewColumn[int32](out.Allocator())
	for row := range offsets.Len() {
		sizes.Append(int32(len(offsets.Row(row)) - 1))
	}
	made, err := record.Project(s.schema, rec, map[string]arrow.Array{"size": sizes.Finish()})
	if err != nil {
		return err
	}
	return out.Emit(made)
}

// TestSize is all that is needed to check it.
func TestSize(t *testing.T) {
	flowtest.Run(t, flowtest.Case{Op: Size{}})
}

func ExampleRows() {
	var out sinks.Collect
	defer out.Release()
	trees := sources.Graphs{Items: []sources.Item{{Graph: &graph.Graph{Offsets: []int32{0, 0}}}}}
	if err := flow.From(trees).Via(Size{}).To(&out).Run(context.Background()); err != nil {
		log.Fatal(err)
	}
	for _, row := range flowtest.Rows(out.Records()...) {
		fmt.Println(row)
	}
	// Output: graph_id=0 pos=0 offsets=[0,0] neighbors=[] size=1
}
