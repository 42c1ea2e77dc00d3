// Package molecules reads molecules as graphs: SMILES in tables and .smi files, and SD files.
package molecules

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/apache/arrow/go/v15/arrow/memory"

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
			return SDF{Path: path, Reader: o.Reader, ID: o.ID, Class: o.Class, Value: o.Value, Classes: o.Classes, Parts: o.Parts, Refused: o.Refused, Skip: o.Skip}, nil
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
			return SMILES{Table: t, Column: o.SMILES, ID: o.ID, Class: o.Class, Value: o.Value, Classes: o.Classes, Parts: o.Parts, Refused: o.Refused, Skip: o.Skip}, nil
		},
	})
	sources.Register(sources.Format{
		Name: "smi", Endings: []string{".smi", ".smiles", ".cxsmiles"},
		Table: func(path string, o sources.Options) (sources.Table, error) {
			return SMI{Path: path, Reader: o.Reader}, nil
		},
	})
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

// moleculeScan reads molecules, one after the other, from a table or a file.
type moleculeScan interface {
	next() error   // goes to the next molecule, and returns io.EOF after the last
	number() int64 // of the molecule, from 0
	// target is the text of the class or value, and false if there is none.
	target() ([]byte, bool)
	broken() error                                  // why there is no molecule, where that is known by now
	graph(b *sources.Builder) (*graph.Graph, error) // its errors name the place
	blame(err error) error                          // names the place of the target
	file() string
	Close() error
}

// molecules are the settings that SMILES and SDF share.
type molecules struct {
	kind         string
	class, value string
	classes      []string
	parts        []sources.Subset
	part         sources.Subset
	refused      func(row int64, err error)
	skip         func(row int64, class string)
	rows         int
	scan         func(target string) (moleculeScan, error)
}

func (s molecules) open(mem memory.Allocator) (flow.Reader, error) {
	fail := func(format string, args ...any) (flow.Reader, error) {
		return nil, fmt.Errorf("sources: %s: %w", s.kind, fmt.Errorf(format, args...))
	}
	switch {
	case s.rows < 0:
		return fail("Rows is %d, want at least 0", s.rows)
	case s.class != "" && s.value != "":
		return fail("want Class or Value, not both")
	case s.classes != nil && s.class == "":
		return fail("Classes without Class")
	case s.part < sources.None || s.part > sources.Test:
		return fail("Part is %d, want None to Test", s.part)
	case s.part != sources.None && s.parts == nil:
		return fail("Part without Parts")
	case s.skip != nil && s.class == "" && s.value == "":
		return fail("Skip without Class or Value")
	}
	s.rows = cmp.Or(s.rows, 64)
	layout := Layout()
	layout.Real = s.value != ""
	if s.class != "" {
		if layout.Classes = s.classes; layout.Classes == nil {
			var err error
			if layout.Classes, err = s.find(); err != nil {
				return nil, err
			}
		}
	}
	if err := layout.Check(); err != nil {
		return fail("%w", err)
	}
	r := &moleculeReader{s: s, classes: map[string]int32{}, names: layout.Classes}
	for i, name := range layout.Classes {
		r.classes[name] = int32(i)
	}
	var err error
	if r.scan, err = s.scan(cmp.Or(s.class, s.value)); err != nil {
		return nil, err
	}
	return &reading.ItemsReader{Item: r.item, Fail: r.scan.blame, Closer: r.scan.Close, Rows: s.rows, Most: reading.RecordBytes, Placed: true, Build: record.NewBuilder(mem, layout)}, nil
}

// find returns the classes that occur, sorted.
func (s molecules) find() (classes []string, err error) {
	scan, err := s.scan(s.class)
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	err = eachMolecule(scan, func() error {
		if text, ok := scan.target(); ok && !known[string(text)] {
			if len(classes) == record.MaxWords {
				return scan.blame(fmt.Errorf("more than %d different classes up to here", record.MaxWords))
			}
			known[string(text)] = true
			if i := sources.ClassIndex(classes, string(text)); i >= 0 { // the same number
				classes[i] = min(classes[i], string(text))
			} else {
				classes = append(classes, string(text))
			}
		}
		return nil
	})
	reading.SortClasses(classes)
	return classes, err
}

// eachMolecule calls f at each molecule, and closes the scan.
func eachMolecule(scan moleculeScan, f func() error) (err error) {
	defer scan.Close()
	for err == nil {
		if err = scan.next(); err == nil {
			err = f()
		}
	}
	if err == io.EOF {
		return nil
	}
	return err
}

// subsetOf is what a molecule is for.
func subsetOf(text []byte, ok bool) (sources.Subset, error) {
	if !ok {
		return sources.None, nil
	}
	for p := sources.None; p <= sources.Test; p++ {
		if p.String() == string(text) || p == sources.Val && string(text) == "valid" {
			return p, nil
		}
	}
	return sources.None, fmt.Errorf("%s, want train, valid, val, test, or none", reading.Quote(text))
}

// moleculeReader reads the molecules.
type moleculeReader struct {
	s       molecules
	scan    moleculeScan
	classes map[string]int32
	names   []string
	parse   sources.Builder
}

// item reads up to the next molecule that is not left out.
func (r *moleculeReader) item() (*graph.Graph, record.Row, error) {
	for {
		if err := r.scan.next(); err != nil {
			if n := r.scan.number() + 1; err == io.EOF && r.s.parts != nil && int64(len(r.s.parts)) != n {
				err = &reading.FileError{File: r.scan.file(), Line: 0, Err: fmt.Errorf("%d rows, and Parts has %d", n, len(r.s.parts))}
			}
			return nil, record.Row{}, err
		}
		n := r.scan.number()
		if r.s.parts != nil {
			if n >= int64(len(r.s.parts)) {
				return nil, record.Row{}, r.scan.blame(fmt.Errorf("Parts has only %d rows", len(r.s.parts)))
			}
			if r.s.part != sources.None && r.s.parts[n] != r.s.part {
				continue
			}
		}
		it, err := r.molecule()
		switch {
		case err == nil && it == nil:
			continue
		case err == nil:
			return it.Graph, record.Row{ID: it.ID, Class: it.Class, Value: it.Value}, nil
		case r.s.refused == nil:
			return nil, record.Row{}, err
		}
		r.s.refused(n, err)
	}
}

// molecule makes the graph of the row, nil where its target is missing.
func (r *moleculeReader) molecule() (*sources.Item, error) {
	it := &sources.Item{ID: r.scan.number()}
	var foreign []byte // the class, where it is none of the known ones
	if r.s.class != "" || r.s.value != "" {
		text, ok := r.scan.target()
		if !ok {
			if err := r.scan.broken(); err != nil || r.s.skip == nil {
				return nil, err
			}
			r.s.skip(it.ID, "")
			return nil, nil
		}
		if r.s.class != "" {
			if it.Class, ok = r.classes[string(text)]; !ok {
				if it.Class = sources.ClassIndex(r.names, string(text)); it.Class < 0 {
					foreign = append([]byte{}, text...) // graph may use its memory
				} else {
					r.classes[string(text)] = it.Class
				}
			}
		} else {
			x, err := reading.Number(text)
			if it.Value = float32(x); err == nil && it.Value-it.Value != 0 {
				err = fmt.Errorf("%v does not fit a float32", x)
			}
			if err != nil {
				return nil, r.scan.blame(err)
			}
		}
	}
	var err error
	it.Graph, err = r.scan.graph(&r.parse)
	switch {
	case err != nil || foreign == nil:
		return it, err
	case r.s.skip == nil:
		return nil, r.scan.blame(fmt.Errorf("the class %s is none of %d known ones", reading.Quote(foreign), len(r.classes)))
	}
	r.s.skip(it.ID, string(foreign))
	return nil, nil
}
