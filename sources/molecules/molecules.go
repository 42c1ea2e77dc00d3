// Package molecules reads molecules as graphs: SMILES in tables and .smi files, and SD files.
package molecules

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/internal/reading"
	"github.com/sanflow/sanflow/sources/internal/smiles"
)

func init() {
	sources.Register(sources.Format{
		Name: "sdf", Endings: []string{".sdf", ".sd", ".mol"},
		Graphs: func(_ context.Context, path string, o sources.Options) (flow.Source, error) {
			return of(SDF{Path: path, Reader: o.Reader}, o), nil
		},
	})
	isCSV := func(path string) bool { return slices.Contains([]string{".csv", ".tsv"}, sources.Ending(path)) }
	sources.Register(sources.Format{
		Name: "smiles", Endings: []string{".smi", ".smiles", ".cxsmiles"},
		Is: func(path string, o sources.Options) bool { return o.SMILES != "" && isCSV(path) },
		Graphs: func(_ context.Context, path string, o sources.Options) (flow.Source, error) {
			t := sources.Table(SMI{Path: path, Reader: o.Reader})
			if isCSV(path) {
				t = sources.CSV{Path: path, Reader: o.Reader, Comma: o.Comma, Ragged: o.Refused != nil}
			}
			return of(t, o), nil
		},
	})
	sources.Register(sources.Format{
		Name: "smi", Endings: []string{".smi", ".smiles", ".cxsmiles"},
		Table: func(path string, o sources.Options) (sources.Table, error) {
			return SMI{Path: path, Reader: o.Reader}, nil
		},
	})
}

func of(t sources.Table, o sources.Options) Source {
	return Source{Table: t, Column: o.SMILES, ID: o.ID, Targets: o.Targets, Numbers: o.Numbers, Missing: o.Missing, Parts: o.Parts, Refused: o.Refused, Skip: o.Skip}
}

// Layout returns the layout of all molecules, without targets. It does not depend on
// the file, so a model reads molecules of any file. All attributes are words:
//
//	node_cat  element    the symbol, or * for any
//	          charge     -15 … 15
//	          hydrogens  0 … 9, without explicit hydrogen atoms
//	          aromatic   no, yes: as written
//	          ring       no, yes: on a cycle
//	edge_cat  type       aromatic, double, quadruple, single, triple
//	          ring       no, yes: on a cycle
func Layout() record.Layout {
	return record.Layout{
		NodeCat: []record.Channel{
			record.WordsChannel("element", moleculeWords.elements),
			record.WordsChannel("charge", moleculeWords.charges),
			record.WordsChannel("hydrogens", reading.Numbers(10)),
			record.WordsChannel("aromatic", []string{"no", "yes"}),
			record.WordsChannel("ring", []string{"no", "yes"}),
		},
		EdgeCat: []record.Channel{
			record.WordsChannel("type", moleculeWords.bonds),
			record.WordsChannel("ring", []string{"no", "yes"}),
		},
	}
}

const maxCharge = 15

// moleculeWords has the sorted words of the discrete channels, and the word index of each element, charge and
// bond type.
var moleculeWords = func() (w struct {
	elements, charges, bonds    []string
	ofElement, ofCharge, ofBond []int32
}) {
	var elements, charges, bonds []string
	for e := range smiles.Elements {
		elements = append(elements, e.String())
	}
	for c := -maxCharge; c <= maxCharge; c++ {
		charges = append(charges, strconv.Itoa(c))
	}
	for t := smiles.Single; t <= smiles.Aromatic; t++ {
		bonds = append(bonds, t.String())
	}
	w.elements, w.ofElement = record.SortWords(elements)
	w.charges, w.ofCharge = record.SortWords(charges)
	w.bonds, w.ofBond = record.SortWords(bonds)
	return w
}()

// Parse returns the graph of one SMILES string, with the attributes of Layout,
// for instance for a request.
func Parse(text string) (*graph.Graph, error) {
	var b sources.Builder
	m, err := smiles.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("sources: SMILES: %w", err)
	}
	g, err := moleculeGraph(&b, m)
	if err != nil {
		return nil, fmt.Errorf("sources: SMILES: %w", err)
	}
	return g, nil
}

func moleculeGraph(b *sources.Builder, m *smiles.Molecule) (*graph.Graph, error) {
	yes := map[bool]int32{true: 1}
	w := &moleculeWords
	for _, a := range m.Atoms {
		b.Node(w.ofElement[a.Element], w.ofCharge[int(a.Charge)+maxCharge], int32(a.Hydrogens), yes[a.Aromatic], yes[a.Ring])
	}
	for _, e := range m.Bonds {
		b.Edge(e.A, e.B, w.ofBond[e.Type-smiles.Single], yes[e.Ring])
	}
	return b.Graph()
}
