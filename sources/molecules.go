package sources

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/sources/internal/reading"
	"github.com/sanflow/sanflow/sources/internal/smiles"
)

// MoleculeLayout returns the layout of all molecules, without targets. It does not depend on
// the file, so a model reads molecules of any file. All attributes are words:
//
//	node_cat  element    the symbol, or * for any
//	          charge     -15 … 15
//	          hydrogens  0 … 9, without explicit hydrogen atoms
//	          aromatic   no, yes: as written
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

// ParseSMILES returns the graph of one SMILES string, with the attributes of MoleculeLayout,
// for instance for a request.
func ParseSMILES(text string) (*graph.Graph, error) {
	var b Builder
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

func moleculeGraph(b *Builder, m *smiles.Molecule) (*graph.Graph, error) {
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
	broken() error                          // why there is no molecule, where that is known by now
	graph(b *Builder) (*graph.Graph, error) // its errors name the place
	blame(err error) error                  // names the place of the target
	file() string
	Close() error
}

// molecules are the settings that SMILES and SDF share.
type molecules struct {
	kind         string
	class, value string
	classes      []string
	parts        []Subset
	part         Subset
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
	case s.part < None || s.part > Test:
		return fail("Part is %d, want None to Test", s.part)
	case s.part != None && s.parts == nil:
		return fail("Part without Parts")
	case s.skip != nil && s.class == "" && s.value == "":
		return fail("Skip without Class or Value")
	}
	s.rows = cmp.Or(s.rows, 64)
	layout := MoleculeLayout()
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
	return &reading.ItemsReader{Item: func() (*graph.Graph, record.Row, error) { return rowOf(r.item()) }, Fail: r.scan.blame, Closer: r.scan.Close, Rows: s.rows, Most: reading.RecordBytes, Placed: true, Build: record.NewBuilder(mem, layout)}, nil
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
			if i := ClassIndex(classes, string(text)); i >= 0 { // the same number
				classes[i] = min(classes[i], string(text))
			} else {
				classes = append(classes, string(text))
			}
		}
		return nil
	})
	sortClasses(classes)
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

// graphNames are the ids of graphs in a file: integers if all are decimal ones, else strings. An
// empty one stands for none.
type graphNames struct {
	ends    []int32
	text    []byte
	strings bool
}

func (l *graphNames) add(id []byte) error {
	if !utf8.Valid(id) {
		return fmt.Errorf("the id %s is no UTF-8", reading.Quote(id))
	}
	if len(l.text)+len(id) > math.MaxInt32 {
		return fmt.Errorf("the ids have more than %d bytes up to here", math.MaxInt32)
	}
	if _, ok := canonical(id); !ok && len(id) > 0 {
		l.strings = true
	}
	l.text = append(l.text, id...)
	l.ends = append(l.ends, int32(len(l.text)))
	return nil
}

func (l *graphNames) ids() graph.IDs {
	if ends := append([]int32{0}, l.ends...); l.strings {
		return graph.IDsOfText(ends, l.text)
	}
	ints, from := make([]int64, len(l.ends)), int32(0)
	for i, end := range l.ends {
		ints[i], _ = canonical(l.text[from:end]) // as add has found
		from = end
	}
	return graph.IDsOf(ints)
}

// subsetOf is what a molecule is for.
func subsetOf(text []byte, ok bool) (Subset, error) {
	if !ok {
		return None, nil
	}
	p, ok := partNames[string(text)]
	if !ok {
		return None, fmt.Errorf("%s, want train, valid, val, test, or none", reading.Quote(text))
	}
	return p, nil
}

// moleculeReader reads the molecules.
type moleculeReader struct {
	s       molecules
	scan    moleculeScan
	classes map[string]int32
	names   []string
	parse   Builder
}

// item reads up to the next molecule that is not left out.
func (r *moleculeReader) item() (*Item, error) {
	for {
		if err := r.scan.next(); err != nil {
			if n := r.scan.number() + 1; err == io.EOF && r.s.parts != nil && int64(len(r.s.parts)) != n {
				err = &FileError{File: r.scan.file(), Line: 0, Err: fmt.Errorf("%d rows, and Parts has %d", n, len(r.s.parts))}
			}
			return nil, err
		}
		n := r.scan.number()
		if r.s.parts != nil {
			if n >= int64(len(r.s.parts)) {
				return nil, r.scan.blame(fmt.Errorf("Parts has only %d rows", len(r.s.parts)))
			}
			if r.s.part != None && r.s.parts[n] != r.s.part {
				continue
			}
		}
		it, err := r.molecule()
		switch {
		case err == nil && it == nil:
			continue
		case err == nil:
			return it, nil
		case r.s.refused == nil:
			return nil, err
		}
		r.s.refused(n, err)
	}
}

// molecule makes the graph of the row, nil where its target is missing.
func (r *moleculeReader) molecule() (*Item, error) {
	it := &Item{ID: r.scan.number()}
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
				if it.Class = ClassIndex(r.names, string(text)); it.Class < 0 {
					foreign = append([]byte{}, text...) // graph may use its memory
				} else {
					r.classes[string(text)] = it.Class
				}
			}
		} else {
			x, err := number(text)
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
