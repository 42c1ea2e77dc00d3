package choose_test

import (
	"bytes"
	"math"
	"testing"

	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/internal/leak"
	"github.com/sanflow/sanflow/internal/race"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sinks/choose"
	"github.com/sanflow/sanflow/sources"
)

// The systems words+trees and words+forest answer with the mean of what words and the trees answer. They take their models where
// they were tried, and learn the same ones, byte for byte, where they were not; of classes, balanced or not, and of numbers.
func TestMeanOfSystems(t *testing.T) {
	race.Skip(t)
	defer leak.VerifyNone(t, leak.IgnoreCurrent())
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer mem.AssertSize(t, 0)
	var items []sources.Item
	var layout record.Layout
	for i := range 42 {
		set := hubs(12+i, true)
		layout = set.Layout()
		items = append(items, sources.Item{ID: int64(i), Class: int32(i / 3 % 2), Value: float32(i), Graph: set.Graph})
	}
	layout.NodeClasses = nil
	for _, c := range []struct {
		of               string
		numbers, balance bool
	}{{"trees", false, false}, {"trees", false, true}, {"trees", true, false}, {"forest", false, false}} {
		layout.Classes, layout.Real = []string{"a", "b"}, c.numbers
		if c.numbers {
			layout.Classes = nil
		}
		rows := func(items []sources.Item) choose.Rows {
			return choose.GraphRows(sources.Graphs{Items: items, Layout: layout})
		}
		learn := func(names ...string) *choose.Chosen {
			systems := must(choose.Pick(choose.Graphs(layout, 30), names))
			for i := range systems {
				systems[i].Epochs = 4
			}
			return must(choose.Choice{Systems: systems, Classes: layout.Classes, Balance: c.balance, Train: rows(items[:28]), Valid: rows(items[28:]), Seed: 1}.Run(t.Context()))
		}
		file := func(net nn.Predictor) []byte {
			var b bytes.Buffer
			if err := net.(nn.Saver).Save(&b); err != nil {
				t.Fatal(err)
			}
			return b.Bytes()
		}
		words, trees, mean := learn("words"), learn(c.of), learn("words+"+c.of)
		both, ok := mean.Net.(*nn.Ensemble)
		if !ok || len(both.Nets) != 2 {
			t.Fatalf("%+v: a %T is chosen", c, mean.Net)
		}
		all := learn("words", c.of, "words+"+c.of)
		if len(all.Tried) != 3 || all.Tried[2].Score != mean.Tried[0].Score || all.Tried[0].Score != words.Tried[0].Score {
			t.Errorf("%+v: %+v with the others, %+v alone", c, all.Tried, mean.Tried)
		}
		if all.System == "words+"+c.of && !bytes.Equal(file(all.Net), file(mean.Net)) {
			t.Errorf("%+v: other models than those that were tried", c)
		}
		var said [3][][]float32
		for i, net := range []nn.Predictor{trees.Net, words.Net, both} {
			bare := nn.Ensemble{Nets: []nn.Predictor{net}} // without temperature and prior
			p := must(sinks.NewPredictor(&bare, mean.Recipe))
			to := sinks.Predict{Net: &bare, Each: func(p sinks.Prediction) error {
				said[i] = append(said[i], append([]float32{p.Value}, p.Probs...))
				return nil
			}}
			if err := rows(items)(mean.Recipe).To(to).Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			_ = p.Close()
		}
		for i, row := range said[2] {
			sum := 0.0 // of the geometric means of the probabilities: the mean of logits
			for k := 1; k < len(row); k++ {
				sum += math.Sqrt(float64(said[0][i][k]) * float64(said[1][i][k]))
			}
			for k, x := range row {
				want := (float64(said[0][i][k]) + float64(said[1][i][k])) / 2
				if k > 0 {
					want = math.Sqrt(float64(said[0][i][k])*float64(said[1][i][k])) / sum
				}
				if math.Abs(float64(x)-want) > 1e-6*(1+math.Abs(want)) {
					t.Fatalf("%+v: graph %d: %v, want the mean %v", c, i, x, want)
				}
			}
		}
	}
}
