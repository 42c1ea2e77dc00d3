package operators

import (
	"fmt"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/flowtest"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/operators/labeling"
)

// spied is an operator whose stage the test sees.
type spied struct {
	flow.Operator
	stage flow.Stage
}

func (s *spied) Open(in *arrow.Schema) (_ flow.Stage, err error) {
	s.stage, err = s.Operator.Open(in)
	return s.stage, err
}

func (s *spied) builder() rowBuilder { return s.stage.(*rowStage).b }

// silent is an operator that passes records and shares nothing.
type silent struct{}

func (silent) Open(in *arrow.Schema) (flow.Stage, error) { return passing{in}, nil }

// TestOneLook runs Select, Assemble and two Normalize on one goroutine: they share the
// view of the graphs, Normalize believes the neighbourhoods, and a large graph in a
// record of its own has one index. Behind a stage that shares nothing each looks itself,
// to the same records.
func TestOneLook(t *testing.T) {
	mem := flowtest.Mem(t)
	large := record.NewBuilder(mem, flowtest.Layout)
	defer large.Release()
	var edges []graph.Edge
	for v := range int32(2*smallGraph - 1) {
		edges = append(edges, graph.Edge{U: v, V: v + 1}, graph.Edge{U: v / 2, V: v + 1})
	}
	g, err := graph.New(2*smallGraph, false, edges)
	if err != nil {
		t.Fatal(err)
	}
	flowtest.Decorate(g)
	var names []string
	for v := range g.N() {
		names = append(names, fmt.Sprint("node ", v))
	}
	ids, err := graph.IDsOfStrings(names)
	if err != nil {
		t.Fatal(err)
	}
	if err := large.Append(g, record.Row{NodeClass: make([]int32, g.N()), NodeID: ids}); err != nil {
		t.Fatal(err)
	}
	recs := append(flowtest.Sample(mem), large.Record())
	defer func() {
		for _, rec := range recs {
			rec.Release()
		}
	}()
	for i, rec := range recs {
		var rows []string
		for _, apart := range []bool{false, true} {
			sel := &spied{Operator: Select{W: 4, By: labeling.Degree}}
			hood := &spied{Operator: Assemble{K: 4}}
			three := &spied{Operator: Normalize{K: 3, Suffix: "_3", KeepGraph: true}}
			four := &spied{Operator: Normalize{K: 4}}
			ops := []flow.Operator{sel, hood, three, four}
			if apart {
				ops = []flow.Operator{sel, silent{}, hood, silent{}, three, four}
			}
			d, err := flow.OpenDirect(rec.Schema(), flow.Options{Allocator: memory.NewGoAllocator()}, ops...)
			if err != nil {
				t.Fatal(err)
			}
			out, err := d.Process(t.Context(), rec)
			if err != nil {
				t.Fatal(err)
			}
			rows = append(rows, flowtest.Rows(out...)...)
			for _, o := range out {
				o.Release()
			}
			a, n := hood.builder().(*assembler), three.builder().(*normalizer)
			if shared := a.now.graphs == sel.builder().(*selector).now.graphs && n.now.graphs == a.now.graphs; shared == apart {
				t.Errorf("record %d, apart %v: one view: %v", i, apart, shared)
			}
			if n.hoods.trusted == apart {
				t.Errorf("record %d, apart %v: the neighbourhoods are believed: %v", i, apart, n.hoods.trusted)
			}
			if one := n.index.held == nil; i == len(recs)-1 && one == apart {
				t.Errorf("record %d, apart %v: one index: %v", i, apart, one)
			}
			if err := d.Close(); err != nil {
				t.Fatal(err)
			}
		}
		half := len(rows) / 2
		for j := range half {
			if rows[j] != rows[half+j] {
				t.Errorf("record %d, row %d:\n%s\nwant\n%s", i, j, rows[j], rows[half+j])
			}
		}
	}
}
