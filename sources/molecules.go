package sources

import (
	"fmt"
	"strconv"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/sources/smiles"
)

// MoleculeLayout is the layout of all molecules, without targets. It does not depend on
// the file, so that a model reads molecules of any other. All attributes are words:
//
//	node_cat  element    the symbol, or * for any
//	          charge     -15 … 15
//	          hydrogens  0 … 9, those that are no atoms of their own
//	          aromatic   no, yes: as it is written
//	          ring       no, yes: on a cycle
//	edge_cat  type       aromatic, double, quadruple, single, triple
//	          ring       no, yes: on a cycle
func MoleculeLayout() record.Layout {
	return record.Layout{
		NodeCat: []record.Channel{
			record.WordsChannel("element", moleculeWords.elements),
			record.WordsChannel("charge", moleculeWords.charges),
			record.WordsChannel("hydrogens", numbers(10)),
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

// moleculeWords are sorted words, and the place of each element, charge and type in them.
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

// ParseSMILES makes one graph of a string as [SMILES] reads it, with the attributes of
// [MoleculeLayout], such as for a request.
func ParseSMILES(text string) (*graph.Graph, error) {
	var b Builder
	g, err := moleculeGraph(&b, text)
	if err != nil {
		return nil, fmt.Errorf("sources: SMILES: %w", err)
	}
	return g, nil
}

func moleculeGraph(b *Builder, text string) (*graph.Graph, error) {
	m, err := smiles.Parse(text)
	if err != nil {
		return nil, err
	}
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
