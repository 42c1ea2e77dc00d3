package sinks_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/flowtest"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/labeling"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
)

// The rows of Predictions say what Predict tells of the same fields, of graphs and of single roots.
func TestPredictions(t *testing.T) {
	for _, per := range []bool{false, true} {
		mem := flowtest.Mem(t)
		fields := flow.From(sources.Families{Graphs: 60}).
			Via(operators.Channel{By: labeling.NormalizedDegree}).
			Via(operators.Select{W: 4}).
			Via(operators.Assemble{K: 4}).
			Via(operators.Normalize{})
		if per {
			fields = fields.Via(operators.PerRoot{})
		}
		fields = fields.Via(operators.Batch{Size: 7}).With(flow.Options{Allocator: mem})
		net := &nn.CNN{}
		if err := fields.To(sinks.Train{Net: net}).Run(context.Background()); err != nil {
			t.Fatal(err)
		}
		var want []string
		err := fields.To(sinks.Predict{Net: net, Each: func(p sinks.Prediction) error {
			want = append(want, fmt.Sprint(p.Graph, p.Pos, p.Root, p.Class, p.Probs))
			return nil
		}}).Run(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		var got sinks.Collect
		if err := fields.Via(sinks.Predictions{Net: net}).To(&got).Run(context.Background()); err != nil {
			t.Fatal(err)
		}
		defer got.Release()
		row := 0
		for _, rec := range got.Records() {
			ids, _ := record.Values[int64](rec, record.GraphID)
			pos, _ := record.Values[int64](rec, record.Pos)
			roots, _ := record.Values[int32](rec, "root")
			classes, _ := record.Values[int32](rec, "class")
			probs, c, err := record.FixedValues[float32](rec, "probs")
			if err != nil {
				t.Fatal(err)
			}
			for i := range ids {
				if have := fmt.Sprint(ids[i], pos[i], roots[i], classes[i], probs[i*c:(i+1)*c]); have != want[row] {
					t.Fatalf("row %d: %s, want %s", row, have, want[row])
				}
				row++
			}
			var names []string
			if err := record.Meta(rec.Schema(), "class", record.MetaClasses, &names); err != nil || len(names) != c {
				t.Errorf("the classes are %v, %v", names, err)
			}
		}
		if row != len(want) || row < 60 {
			t.Errorf("%d rows, want %d", row, len(want))
		}
	}
}
