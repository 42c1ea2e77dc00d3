//go:build unix

package sinks_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/count"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/molecules"
	"github.com/sanflow/sanflow/sources/tu"
)

// BenchmarkPredictorOfMolecules is one molecule, a graph or SMILES, to the answer of nn.Best, which
// has learned once from all molecules of the collection, in processor time.
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
	}{{"NCI1", tu.Source{Path: nci1}}, {"HIV", molecules.Source{Table: table, Class: "HIV_active"}}} {
		graphs, layout := collectedGraphs(b, of.src)
		recipe := operators.Recipe{operators.Expect{Layout: layout}, operators.Count{Of: count.Standard(), DropGraph: true}}
		net := newWords()
		if err := recipe.Onto(flow.From(of.src)).Via(operators.Batch{Size: 32}).To(sinks.Train{Net: net}).Run(ctx); err != nil {
			b.Fatal(err)
		}
		p, err := sinks.NewPredictor(net, recipe)
		if err != nil {
			b.Fatal(err)
		}
		defer p.Close()
		b.Run(of.name, func(b *testing.B) {
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
}
