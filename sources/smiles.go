package sources

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
)

// SMILES reads molecules, one a row of a table, in OpenSMILES as package smiles reads it:
//
//	sources.SMILES{Table: sources.CSV{Path: "HIV.csv.gz"}, Class: "HIV_active"}
//
// An atom is a node and a bond an edge, with the attributes of [MoleculeLayout]. Atoms and
// bonds are as they are written: nothing is made aromatic or Kekulé, hydrogens are counted
// on the atoms and are nodes only where they stand as [H], and parts that a dot
// separates are components of one graph. Isotopes, classes of atoms and stereochemistry
// are checked, and are no attributes.
//
// graph_id and pos are the number of the row, from 0. A molecule has one target, that of
// the column Class or Value. Of a table with several targets a source reads one, and other
// columns are not read. A row without a value of it is left out, so that each
// target has the molecules for which it is known; the others keep their numbers.
type SMILES struct {
	// Table has the molecules. It is opened twice where Class is set and Classes is not.
	Table Table
	// Column has the SMILES. The default is smiles.
	Column string
	// Class is the column of the class, or Value that of the number to be learned.
	// The default is no target.
	Class, Value string
	// Classes are the names of the classes, as those of a model. The default is those that
	// occur in any row, sorted as numbers if all are numbers, else as text.
	Classes []string
	// Parts is what each row is for, as [ReadParts] returns it, and Part which rows are
	// read. The default, None, is all.
	Parts []Subset
	Part  Subset
	// Refused, if set, is told of each row that is no molecule, from 0, and the stream
	// goes on without it. The default is to end the run with a [FileError]. It is called on
	// the goroutine that reads.
	Refused func(row int64, err error)
	// Rows is the number of graphs per record. The default is 64.
	Rows int
}

// String names the table, for the plan of a pipeline.
func (s SMILES) String() string { return fmt.Sprintf("SMILES(%v)", s.Table) }

// Open finds the classes and returns a reader of the molecules.
func (s SMILES) Open(ctx context.Context, mem memory.Allocator) (flow.Reader, error) {
	switch {
	case s.Table == nil:
		return nil, errors.New("sources: SMILES: there is no Table")
	case s.Rows < 0:
		return nil, fmt.Errorf("sources: SMILES: Rows is %d, want at least 0", s.Rows)
	case s.Class != "" && s.Value != "":
		return nil, errors.New("sources: SMILES: want Class or Value, not both")
	case s.Classes != nil && s.Class == "":
		return nil, errors.New("sources: SMILES: Classes without Class")
	case s.Part < None || s.Part > Test:
		return nil, fmt.Errorf("sources: SMILES: Part is %d, want None to Test", s.Part)
	case s.Part != None && s.Parts == nil:
		return nil, errors.New("sources: SMILES: Part without Parts")
	}
	s.Column, s.Rows = cmp.Or(s.Column, "smiles"), cmp.Or(s.Rows, 64)
	layout := MoleculeLayout()
	layout.Real = s.Value != ""
	if s.Class != "" {
		if layout.Classes = s.Classes; layout.Classes == nil {
			err := scanColumns(ctx, s.Table, []string{s.Class}, func(c *columnScan) error {
				if !c.missing(0) && !slices.Contains(layout.Classes, string(c.text(0))) {
					layout.Classes = append(layout.Classes, string(c.text(0)))
				}
				if len(layout.Classes) > record.MaxWords {
					return c.fail(0, fmt.Errorf("more than %d different classes up to here", record.MaxWords))
				}
				return nil
			})
			if err != nil {
				return nil, err
			}
			sortLabels(layout.Classes)
		}
	}
	if err := layout.Check(); err != nil {
		return nil, fmt.Errorf("sources: SMILES: %w", err)
	}
	r := &smilesReader{s: s, classes: map[string]int32{}}
	for i, name := range layout.Classes {
		r.classes[name] = int32(i)
	}
	columns := []string{s.Column}
	if target := cmp.Or(s.Class, s.Value); target != "" {
		columns = append(columns, target)
	}
	var err error
	if r.scan, err = openColumns(ctx, s.Table, columns); err != nil {
		return nil, err
	}
	r.build = record.NewBuilder(mem, layout)
	return r, nil
}

// ReadParts reads from a column of a table what each row is for: train, val or valid,
// test, none or nothing. A file with one word a line is a CSV with a Header.
func ReadParts(ctx context.Context, table Table, column string) (parts []Subset, err error) {
	err = scanColumns(ctx, table, []string{column}, func(c *columnScan) error {
		p := None
		if !c.missing(0) {
			var ok bool
			if p, ok = partNames[string(c.text(0))]; !ok {
				return c.fail(0, fmt.Errorf("%s, want train, valid, val, test, or none", quote(c.text(0))))
			}
		}
		parts = append(parts, p)
		return nil
	})
	return parts, err
}

// columnScan reads some columns of a table, row by row.
type columnScan struct {
	r       TableReader
	names   []string
	batch   *TableBatch
	at      int   // row of the batch
	row     int64 // of the table, from 0
	scratch []byte
}

func openColumns(ctx context.Context, table Table, names []string) (*columnScan, error) {
	r, err := table.OpenTable(ctx)
	if err != nil {
		return nil, err
	}
	var places []int
	for _, name := range names {
		at, err := findColumn(r.Name(), r.Columns(), name)
		if err == nil && r.Columns()[at].Type == Unusable {
			err = &FileError{r.Name(), 0, fmt.Errorf("column %s: its values are neither integers nor floats nor strings", quote([]byte(name)))}
		}
		if err != nil {
			r.Close()
			return nil, err
		}
		places = append(places, at)
	}
	r.Choose(places)
	return &columnScan{r: r, names: names, row: -1}, nil
}

// next goes to the next row, and returns io.EOF after the last.
func (c *columnScan) next() error {
	for c.at++; c.batch == nil || c.at >= c.batch.Rows; c.at = 0 {
		var err error
		if c.batch, err = c.r.Next(); err != nil {
			c.batch = nil
			return err
		}
	}
	c.row++
	return nil
}

func (c *columnScan) missing(column int) bool { return c.batch.Values[column].missing(c.at) }
func (c *columnScan) text(column int) []byte {
	return c.batch.Values[column].text(c.at, &c.scratch)
}

// fail blames a value of the row.
func (c *columnScan) fail(column int, err error) error {
	line := 0
	if c.at < len(c.batch.Lines) {
		line = c.batch.Lines[c.at]
	}
	return &FileError{c.r.Name(), line, fmt.Errorf("row %d: column %s: %w", c.row+1, quote([]byte(c.names[column])), err)}
}

// scanColumns calls each for every row.
func scanColumns(ctx context.Context, table Table, names []string, each func(c *columnScan) error) error {
	c, err := openColumns(ctx, table, names)
	if err != nil {
		return err
	}
	defer c.r.Close()
	for err == nil {
		if err = c.next(); err == nil {
			err = each(c)
		}
	}
	if err == io.EOF {
		return nil
	}
	return err
}

// smilesReader reads the molecules.
type smilesReader struct {
	s       SMILES
	scan    *columnScan
	classes map[string]int32
	parse   Builder
	build   *record.Builder
	next    *Item // that did not fit
	err     error
}

// Schema returns the schema of the records.
func (r *smilesReader) Schema() *arrow.Schema { return r.build.Schema() }

// Next returns the next molecules, and io.EOF after the last.
func (r *smilesReader) Next(ctx context.Context) (arrow.Record, error) {
	if r.err == nil {
		r.err = context.Cause(ctx)
	}
	for r.err == nil && r.build.Rows() < r.s.Rows {
		it := r.next
		if r.next = nil; it == nil {
			if it, r.err = r.item(); r.err != nil {
				break
			}
		}
		row := it.row(it.ID)
		if r.build.Rows() > 0 && !r.build.Fits(it.Graph, row) {
			r.next = it
			break
		}
		if err := r.build.Append(it.Graph, row); err != nil {
			r.err = r.scan.fail(0, err)
		}
	}
	if r.err != nil && (r.err != io.EOF || r.build.Rows() == 0) {
		return nil, r.err
	}
	return r.build.Record(), nil
}

// item reads up to the next molecule that is not left out.
func (r *smilesReader) item() (*Item, error) {
	c := r.scan
	for {
		if err := c.next(); err != nil {
			if err == io.EOF && r.s.Parts != nil && int64(len(r.s.Parts)) != c.row+1 {
				err = &FileError{c.r.Name(), 0, fmt.Errorf("%d rows, and Parts has %d", c.row+1, len(r.s.Parts))}
			}
			return nil, err
		}
		if r.s.Parts != nil {
			if c.row >= int64(len(r.s.Parts)) {
				return nil, c.fail(0, fmt.Errorf("Parts has only %d rows", len(r.s.Parts)))
			}
			if r.s.Part != None && r.s.Parts[c.row] != r.s.Part {
				continue
			}
		}
		if len(c.names) > 1 && c.missing(1) {
			continue
		}
		it, err := r.molecule()
		if err == nil {
			return it, nil
		}
		if r.s.Refused == nil {
			return nil, err
		}
		r.s.Refused(c.row, err)
	}
}

// molecule makes the graph of the row.
func (r *smilesReader) molecule() (*Item, error) {
	c := r.scan
	it := &Item{ID: c.row}
	switch {
	case c.missing(0):
		return nil, c.fail(0, errors.New("there is no value, want SMILES"))
	case r.s.Class != "":
		class, ok := r.classes[string(c.text(1))]
		if !ok {
			return nil, c.fail(1, fmt.Errorf("the class %s is none of %d known ones", quote(c.text(1)), len(r.classes)))
		}
		it.Class = class
	case r.s.Value != "":
		x, err := number(c.text(1))
		if it.Value = float32(x); err == nil && it.Value-it.Value != 0 {
			err = fmt.Errorf("%v does not fit a float32", x)
		}
		if err != nil {
			return nil, c.fail(1, err)
		}
	}
	g, err := moleculeGraph(&r.parse, string(c.text(0)))
	if err != nil {
		return nil, c.fail(0, err)
	}
	it.Graph = g
	return it, nil
}

// Close ends the reading. Records that were handed out stay valid.
func (r *smilesReader) Close() error {
	if r.err == errClosed {
		return nil
	}
	r.build.Release()
	r.err = errClosed
	return r.scan.r.Close()
}
