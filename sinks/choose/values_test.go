package choose_test

import (
	"math"
	"testing"

	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sinks/choose"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/generate"
)

// Numbers of nodes are learned by linear models and networks, from the rows of
// NodeSet.Rooted.
func TestValuesOfNodes(t *testing.T) {
	g := must(generate.RingOfCliques(20, 6))
	set := &sources.NodeSet{Graph: g}
	var part []int32
	for v := range int32(g.N()) {
		set.Class, set.Value = append(set.Class, -1), append(set.Value, float32(100*g.Degree(v)))
		part = append(part, v)
	}
	set.Value[0] = float32(math.NaN())
	if err := set.Identify(); err != nil {
		t.Fatal(err)
	}
	systems := choose.Nodes(set, len(part))
	if len(systems) != 3 || systems[0].Name != "linear" || systems[1].Name != "cnn" || systems[2].Name != "words" {
		t.Fatal(systems)
	}
	for i := range systems {
		systems[i].Epochs = min(systems[i].Epochs, 10)
		learnsValues(t, set, part, systems[i:i+1])
	}
}

func learnsValues(t *testing.T, set *sources.NodeSet, part []int32, systems []choose.System) {
	ctx := t.Context()
	rows := choose.NodeRows(set, part[1:], operators.MaskWords{})
	chosen, err := choose.Choice{Systems: systems, Train: rows, Valid: rows, Seed: 1}.Run(ctx)
	if err != nil {
		t.Fatal(err)
	}
	m := choose.NewMeasures(nil)
	if err := choose.NodeRows(set, part, operators.MaskWords{})(chosen.Recipe).To(sinks.Predict{Net: chosen.Net, Each: m.Add}).Run(ctx); err != nil {
		t.Fatal(err)
	}
	if m.Rows != set.Graph.N()-1 || m.Unknown != 1 || m.RMSE() >= m.Spread() {
		t.Errorf("%s: %d rows, %d unknown, RMSE %v of %v", systems[0].Name, m.Rows, m.Unknown, m.RMSE(), m.Spread())
	}
}
