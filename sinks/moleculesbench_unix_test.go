//go:build unix

package sinks_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/nn/trees"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/count"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/molecules"
	"github.com/sanflow/sanflow/sources/tu"
)

// BenchmarkPredictorOfMolecules is one molecule, a graph or SMILES, to the answer of nn.Best, which
// has learned once from all molecules of the collection, and of its mean with 200 boosted trees of 5000 molecules, both of the words of
// count.Compact, in processor time.
//
//	SANFLOW_DATA=… go test ./sinks -run '^$' -bench PredictorOfMolecules -cpu 1
func BenchmarkPredictorOfMolecules(b *testing.B) {
	ctx := context.Background()
	data := os.Getenv("SANFLOW_DATA")
	table := sources.CSV{Path: filepath.Join(data, "mol", "HIV.csv.gz")}
	nci1 := filepath.Join(data, "tu", "NCI1.zip")
	for _, path := range []string{table.Path, nci1} {
		if _, err := os.Stat(path); data == "" || err != nil {
			b.Skip("SANFLOW_DATA has no mol/HIV.csv.gz or no tu/NCI1.zip")
		}
	}
	for _, of := range []struct {
		name string
		src  flow.Source
	}{{"NCI1", tu.Source{Path: nci1}}, {"HIV", molecules.Source{Table: table, Targets: sources.Targets("HIV_active")}}} {
		graphs, layout := collectedGraphs(b, of.src)
		ask := func(name string, net nn.Saver, recipe operators.Recipe) {
			p, err := sinks.NewPredictor(net, recipe)
			if err != nil {
				b.Fatal(err)
			}
			defer p.Close()
			b.Run(of.name+"/"+name, func(b *testing.B) {
				start, i := cpuSeconds(b), 0
				for b.Loop() {
					if _, err := p.Predict(ctx, graphs[i*997%len(graphs)]); err != nil {
						b.Fatal(err)
					}
					i++
				}
				b.ReportMetric((cpuSeconds(b)-start)*1e6/float64(b.N), "cpu-µs/op")
			})
		}
		for name, counters := range map[string][]count.Counter{"words": count.Standard(), "words+trees": count.Compact()} {
			recipe := operators.Recipe{operators.Expect{Layout: layout}, operators.Count{Of: counters, DropGraph: true}}
			words := newWords()
			if err := recipe.Onto(flow.From(of.src)).Via(operators.Batch{Size: 32}).To(sinks.Train{Net: words}).Run(ctx); err != nil {
				b.Fatal(err)
			}
			if name == "words" {
				ask(name, words, recipe)
				continue
			}
			var items []sources.Item
			for i := 0; i < len(graphs); i += 1 + len(graphs)/5000 {
				items = append(items, sources.Item{Graph: graphs[i], Class: int32(graphs[i].M() % 2)})
			}
			boosted := &trees.Model{Trees: 200, Rate: 0.05, Columns: 0.3}
			l := layout
			l.Classes = []string{"even", "odd"}
			if _, err := sinks.FitTrees(ctx, boosted, recipe[1:].Onto(flow.From(sources.Graphs{Items: items, Layout: l})), nil); err != nil {
				b.Fatal(err)
			}
			ask(name, &nn.Ensemble{Nets: []nn.Predictor{boosted, words}}, recipe)
		}
	}
}
