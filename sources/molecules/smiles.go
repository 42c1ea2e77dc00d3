package molecules

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/internal/reading"
	"github.com/sanflow/sanflow/sources/internal/smiles"
)

// SMILES reads molecules from a table, one a row, in OpenSMILES as package smiles reads it:
//
//	molecules.SMILES{Table: sources.CSV{Path: "HIV.csv.gz"}, Class: "HIV_active"}
//
// An atom is a node and a bond an edge, with the attributes of [Layout]. Atoms and
// bonds stay as written: SMILES neither aromatises nor kekulises. Hydrogens are counts of their
// atoms, and nodes only if written as [H]. Parts separated by a dot are components of one
// graph. Isotopes, atom classes and stereochemistry are checked and dropped.
//
// graph_id and pos are the number of the row, from 0. A molecule has one target, from the
// column Class or Value; other columns are not read. A row without a value in that column is
// left out, so each of several targets has the molecules for which it is known; the others keep
// their numbers. An empty value is none; NA or nan are classes, and no numbers.
type SMILES struct {
	// Table has the molecules. It is opened twice if Class is set and Classes is not.
	Table sources.Table
	// Column has the SMILES. The default is smiles.
	Column string
	// Class is the column of the class, or Value that of the number to be learned.
	// The default is no target.
	Class, Value string
	// Classes are the names of the classes, for instance of a model. The default is all values of
	// the column, sorted as numbers if all are numbers, else as text.
	Classes []string
	// Parts has the subset of each row, as [ReadParts] returns it, and Part selects the rows to
	// read. The default, None, is all.
	Parts []sources.Subset
	Part  sources.Subset
	// ID, if set, is a column that no row may lack. [SMILES.Names] reads it, by default the column
	// id if the table has one.
	ID string
	// Refused, if set, is called with each row that is no molecule, from 0, also a row that sources.CSV.Ragged accepts.
	// The stream continues without it, and the numbers of the other rows stay. The default is to end the run
	// with a [sources.FileError]. It is called on the goroutine that reads.
	Refused func(row int64, err error)
	// Skip, if set, is called with each row left out, from 0, because its class or value is missing
	// ("") or its class is not in Classes, which is an error without Skip. A row of such a class that is
	// no molecule is one for Refused. It is called as Refused.
	Skip func(row int64, class string)
	// Rows is the number of graphs per record. The default is 64.
	Rows int
}

// String names the table, for the plan of a pipeline.
func (s SMILES) String() string { return fmt.Sprintf("SMILES(%v)", s.Table) }

// Open finds the classes and returns a reader of the molecules.
func (s SMILES) Open(ctx context.Context, mem memory.Allocator) (flow.Reader, error) {
	if s.Table == nil {
		return nil, errors.New("sources: SMILES: there is no Table")
	}
	column := cmp.Or(s.Column, "smiles")
	return molecules{"SMILES", s.Class, s.Value, s.Classes, s.Parts, s.Part, s.Refused, s.Skip, s.Rows, func(target string) (moleculeScan, error) {
		columns := []string{column}
		scan := smilesScan{}
		for _, c := range []struct {
			name string
			at   *int
		}{{target, &scan.goal}, {s.ID, &scan.id}} {
			if c.name != "" {
				*c.at = len(columns)
				columns = append(columns, c.name)
			}
		}
		var err error
		scan.columnScan, err = openColumns(ctx, s.Table, columns)
		return scan, err
	}}.open(mem)
}

// Names returns the ids in the column ID by the numbers of the rows, which are those of the
// graphs: integers if all are decimal integers, as 7 and not 007, else strings. A row without
// one has 0 or "", and Open refuses it. Ids may be repeated. Without ID, and without a column id, there
// are none.
func (s SMILES) Names(ctx context.Context) (graph.IDs, error) {
	var ids reading.GraphNames
	if s.Table == nil {
		return graph.IDs{}, errors.New("sources: SMILES: there is no Table")
	}
	if s.ID == "" {
		t, err := s.Table.OpenTable(ctx)
		if err != nil {
			return graph.IDs{}, err
		}
		has := slices.ContainsFunc(t.Columns(), func(c sources.TableColumn) bool { return c.Name == "id" })
		if err := t.Close(); err != nil || !has {
			return graph.IDs{}, err
		}
		s.ID = "id"
	}
	err := scanColumns(ctx, s.Table, []string{s.ID}, func(c *columnScan) error {
		var id []byte
		if text, ok := c.value(0); ok {
			id = text
		}
		if err := ids.Add(id); err != nil {
			return c.fail(0, err)
		}
		return nil
	})
	return ids.Ids(), err
}

// smilesScan is the molecules of a table: the first column is SMILES.
type smilesScan struct {
	*columnScan
	goal, id int // columns of the target and of the id; 0 = none
}

func (c smilesScan) number() int64 { return c.row }

func (c smilesScan) target() ([]byte, bool) {
	if c.goal == 0 {
		return nil, false
	}
	return c.value(c.goal)
}

func (c smilesScan) broken() error { return c.batch.Errors[c.at] }

func (c smilesScan) graph(b *sources.Builder) (*graph.Graph, error) {
	if err := c.broken(); err != nil {
		return nil, err
	}
	text, ok := c.value(0)
	if !ok {
		return nil, c.fail(0, errors.New("there is no value, want SMILES"))
	}
	written := string(text)
	if c.id > 0 {
		if _, ok := c.value(c.id); !ok {
			return nil, c.fail(c.id, errors.New("there is no value, want an id"))
		}
	}
	m, err := smiles.Parse(written)
	if err != nil {
		return nil, c.fail(0, err)
	}
	g, err := moleculeGraph(b, m)
	if err != nil {
		return nil, c.fail(0, err)
	}
	return g, nil
}

func (c smilesScan) blame(err error) error { return c.fail(c.goal, err) }
func (c smilesScan) file() string          { return c.r.Name() }
func (c smilesScan) Close() error          { return c.r.Close() }

// ReadParts reads from a column of the table what each molecule is for, as [ReadParts] does.
func (s SMILES) ReadParts(ctx context.Context, column string) ([]sources.Subset, error) {
	return ReadParts(ctx, s.Table, column)
}

// ReadParts reads from a column of a table what each row is for: train, val or valid,
// test, none or nothing. A file with one word a line is a CSV with a Header, of which an empty
// line is no row.
func ReadParts(ctx context.Context, table sources.Table, column string) (parts []sources.Subset, err error) {
	err = scanColumns(ctx, table, []string{column}, func(c *columnScan) error {
		p, err := subsetOf(c.value(0))
		if err != nil {
			return c.fail(0, err)
		}
		parts = append(parts, p)
		return nil
	})
	return parts, err
}

// columnScan reads some columns of a table, row by row.
type columnScan struct {
	r       sources.TableReader
	names   []string
	batch   *sources.TableBatch
	at      int   // row of the batch
	row     int64 // of the table, from 0
	scratch []byte
}

func openColumns(ctx context.Context, table sources.Table, names []string) (*columnScan, error) {
	r, err := table.OpenTable(ctx)
	if err != nil {
		return nil, err
	}
	var places []int
	var all []string
	for _, c := range r.Columns() {
		all = append(all, c.Name)
	}
	for _, name := range names {
		at, err := reading.ColumnIn(r.Name(), all, name)
		if err == nil && r.Columns()[at].Type == sources.Unusable {
			err = &reading.FileError{File: r.Name(), Line: 0, Err: fmt.Errorf("column %s: its values are neither integers nor floats nor strings", reading.Quote([]byte(name)))}
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

// value is the text of a column, and whether the row has one.
func (c *columnScan) value(column int) ([]byte, bool) {
	return c.batch.Values[column].At(c.at, &c.scratch)
}

// fail blames a value of the row.
func (c *columnScan) fail(column int, err error) error {
	line := 0
	if c.at < len(c.batch.Lines) {
		line = c.batch.Lines[c.at]
	}
	return &reading.FileError{File: c.r.Name(), Line: line, Err: fmt.Errorf("row %d: column %s: %w", c.row+1, reading.Quote([]byte(c.names[column])), err)}
}

// scanColumns calls each for every row.
func scanColumns(ctx context.Context, table sources.Table, names []string, each func(c *columnScan) error) error {
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
