package choose

import (
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/nn/trees"
	"github.com/sanflow/sanflow/nn/validation"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/count"
	"github.com/sanflow/sanflow/sources"
)

// Systems returns the systems for the rows, the quickest first: boosted trees on the numbers of a row, a linear
// model of words in the past of a row, and trees on both, which are recommended.
func (h *History) Systems() ([]System, error) {
	names, err := h.Columns()
	if err != nil {
		return nil, err
	}
	row := operators.Roots{Nodes: []int32{0}} // node 0 of the graph of the row
	numbers := operators.Recipe{operators.Expect{Layout: h.layout(false)}, row, operators.ExpectColumns{Names: names}}
	before := operators.Recipe{operators.Expect{Layout: h.layout(true)}, row}
	var learn []int32 // nodes outside of the validation and test parts
	for v := range int32(h.Set.Graph.N()) {
		if s := h.Set.Split; s == nil || s[v] != sources.Val && s[v] != sources.Test {
			learn = append(learn, v)
		}
	}
	bins := count.BinsOf(h.Set.Graph, learn)
	var quarters count.Cuts // bounds, a quarter apart, for the logarithm of the time before the row
	for i := range 160 {
		quarters = append(quarters, float32(i+1)/4)
	}
	bins.Nodes = append(bins.Nodes, quarters)
	around := counts(count.Around{Hops: pastHops, Ways: true, Bins: bins})
	return []System{
		// Boosted trees on the numbers of a row: its own, and those of earlier rows.
		{Name: "trees", Recipe: numbers, New: rowTrees},
		// The most accurate linear model of what is up to 2 edges around a row: its keys, and the latest earlier rows with these keys.
		{Name: "words", Recipe: then(before, around), New: best, Epochs: 50, Patience: 10},
		// Boosted trees on the numbers and on the words. They have the best mean over several periods, though another system is often better in one of them.
		{
			Name: "trees-words", Recommended: true, rows: true, Recipe: then(before, operators.ExpectColumns{Names: names}, around),
			New: func(seed uint64, workers int) nn.Saver { // a mean of logits has exact explanations
				several := new(nn.Ensemble)
				for i := range uint64(sumsOfTrees) {
					several.Nets = append(several.Nets, rowTrees(validation.Seed(seed, i), workers))
				}
				return several
			},
		},
	}, nil
}

// sumsOfTrees is the number of boosted models of different seeds in trees-words.
const sumsOfTrees = 3

// rowTrees returns boosted trees for the numbers of rows: more and smaller trees than boosted, and smaller steps.
func rowTrees(seed uint64, workers int) nn.Saver {
	return &trees.Model{Trees: 1000, Rate: 0.03, Leaves: 15, MinRows: 20, Columns: 0.3, Rows: 0.7, Seed: seed, Workers: workers}
}
