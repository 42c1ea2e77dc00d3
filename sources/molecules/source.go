package molecules

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/internal/reading"
	"github.com/sanflow/sanflow/sources/internal/smiles"
	"github.com/sanflow/sanflow/sources/internal/walk"
)

// Source reads molecules from a table, one a row: SMILES in a column, in OpenSMILES, or the molecules of [SDF]:
//
//	molecules.Source{Table: sources.CSV{Path: "HIV.csv.gz"}, Targets: sources.Targets("HIV_active")}
//	molecules.Source{Table: molecules.SDF{Path: "tox21.sdf.gz"}, Targets: sources.Targets("SR-ARE")}
//
// An atom is a node and a bond an edge, with the attributes of [Layout]. Atoms and
// bonds stay as written: SMILES neither aromatises nor kekulises, and bonds of most SD files are in Kekulé form.
// Hydrogens are counts of their atoms, and nodes only if written as [H]. Parts separated by a dot are components of
// one graph. Isotopes, atom classes and stereochemistry are checked and dropped.
//
// graph_id and pos are the number of the row, from 0. A molecule has the targets of the columns Targets: of one it is the
// column target, of several targets; other columns are not read. A row without a value in these columns is left out; the others keep their numbers. An empty value is none; NA or nan are classes, and no numbers, unless Missing has them.
type Source struct {
	// Table has the molecules. It is opened twice if classes are to be found.
	Table sources.Table
	// Column has the SMILES. The default is smiles. Of SDF there is no other than molfile.
	Column string
	// Targets are the columns of what is learned: of numbers if Numbers is set, else of classes. The default is no target.
	// Classes may be those of a model; where they are nil they are all values of the column, sorted as numbers if all are
	// numbers, else as text. A row may lack some of several targets.
	Targets []record.TargetChannel
	Numbers bool
	// Missing is as in sources.Tables.
	Missing []string
	// Parts, if set, has the subset of each row, as [ReadParts] returns it. Another number of rows is an error.
	Parts []sources.Subset
	// ID, if set, is a column that no row may lack. [Source.Names] reads it, by default the column
	// id if the table has one, or the title of SDF.
	ID string
	// Refused, if set, is called with each row that is no molecule, from 0, also a row that sources.CSV.Ragged accepts.
	// The stream continues without it, and the numbers of the other rows stay. The default is to end the run
	// with a [sources.FileError]. It is called on the goroutine that reads.
	Refused func(row int64, err error)
	// Skip, if set, is called with each row left out, from 0, because all its targets are missing
	// ("") or its class is not known, which is an error without Skip, and of one of several Targets. A row of such a class that is
	// no molecule is one for Refused. It is called as Refused.
	Skip func(row int64, class string)
	// Rows is the number of graphs per record. The default is 64.
	Rows int
}

// String names the table, for the plan of a pipeline.
func (s Source) String() string {
	if t, ok := s.Table.(SDF); ok {
		return t.String()
	}
	return fmt.Sprintf("SMILES(%v)", s.Table)
}

// Open finds the classes and returns a reader of the molecules.
func (s Source) Open(ctx context.Context, mem memory.Allocator) (flow.Reader, error) {
	fail := func(format string, args ...any) (flow.Reader, error) {
		return nil, fmt.Errorf("sources: molecules: %w", fmt.Errorf(format, args...))
	}
	sdf, isSDF := s.Table.(SDF)
	switch {
	case s.Table == nil:
		return fail("there is no Table")
	case s.Rows < 0:
		return fail("Rows is %d, want at least 0", s.Rows)
	case s.Skip != nil && len(s.Targets) == 0:
		return fail("Skip without Targets")
	}
	targets := slices.Clone(s.Targets)
	unknown := func(t record.TargetChannel) bool { return t.Classes == nil && !s.Numbers }
	if slices.ContainsFunc(targets, unknown) {
		if isSDF && sdf.Reader != nil {
			return fail("a class of a Reader needs Classes")
		}
		found, err := s.find(ctx, targets)
		if err != nil {
			return nil, err
		}
		for i, t := range targets {
			if unknown(t) {
				targets[i].Classes = found[i]
			}
		}
	}
	layout := Layout()
	if layout.Targets = targets; len(targets) == 1 {
		layout.Classes, layout.Real, layout.Targets = targets[0].Classes, s.Numbers, nil
	}
	if err := layout.Check(); err != nil {
		return fail("%w", err)
	}
	r := &reader{s: s}
	for _, t := range targets {
		g := goal{t, s.Numbers, map[string]int32{}}
		for i, name := range t.Classes {
			g.known[name] = int32(i)
		}
		r.goals = append(r.goals, g)
	}
	var err error
	if r.scan, err = s.scan(ctx); err != nil {
		return nil, err
	}
	return &reading.ItemsReader{Item: r.item, Fail: r.scan.blame, Closer: r.scan.Table.Close, Rows: cmp.Or(s.Rows, 64), Most: reading.RecordBytes, Placed: true, Build: record.NewBuilder(mem, layout)}, nil
}

// scan opens the columns that a stream needs: molecules, targets and, for SMILES, the id.
func (s Source) scan(ctx context.Context) (*scan, error) {
	id := s.ID
	columns := []string{cmp.Or(s.Column, "smiles")}
	if _, ok := s.Table.(SDF); ok {
		columns, id = []string{molfile}, ""
	}
	goal, of := 0, 0
	for _, t := range s.Targets {
		goal = 1
		columns = append(columns, t.Name)
	}
	if id != "" {
		of = len(columns)
		columns = append(columns, id)
	}
	scan, err := open(ctx, s.Table, s.Missing, columns)
	if err == nil {
		scan.goal, scan.id = goal, of
	}
	return scan, err
}

// find returns the sorted classes of each target in a first pass over the table.
func (s Source) find(ctx context.Context, targets []record.TargetChannel) (classes [][]string, err error) {
	var columns []string
	known := make([]map[string]bool, len(targets))
	classes = make([][]string, len(targets))
	for i, t := range targets {
		columns, known[i], classes[i] = append(columns, t.Name), map[string]bool{}, []string{}
	}
	var items map[string]bool
	err = each(ctx, s.Table, s.Missing, columns, func(c *scan) error {
		if r, ok := c.Table.(*sdfReader); ok {
			items = r.names
		}
		for t := range targets {
			text, ok := c.Value(t)
			if !ok || known[t][string(text)] {
				continue
			}
			if len(classes[t]) == record.MaxWords {
				return c.fail(t, fmt.Errorf("more than %d different classes up to here", record.MaxWords))
			}
			known[t][string(text)] = true
			if i := sources.ClassIndex(classes[t], string(text)); i >= 0 { // another spelling of a known number
				classes[t][i] = min(classes[t][i], string(text))
			} else {
				classes[t] = append(classes[t], string(text))
			}
		}
		return nil
	})
	for t, names := range classes {
		if err == nil && len(names) == 0 && len(items) > 0 {
			return nil, fmt.Errorf("sources: molecules: %v: no molecule has the data item %s, want a class; there are the data items %q", s.Table, reading.Quote([]byte(columns[t])), slices.Sorted(maps.Keys(items)))
		}
		reading.SortClasses(names)
	}
	return classes, err
}

// Names returns the ids in the column ID by the numbers of the rows, which are those of the
// graphs: integers if all are decimal integers, as 7 and not 007, else strings. A row without
// one has 0 or "", and Open refuses it; a molecule of SDF without the data item ID is an error. Ids may be repeated.
// Without ID, and without a column id, there are none, nor where a title of SDF is empty.
func (s Source) Names(ctx context.Context) (graph.IDs, error) {
	if s.Table == nil {
		return graph.IDs{}, errors.New("sources: molecules: there is no Table")
	}
	_, isSDF := s.Table.(SDF)
	id := s.ID
	switch {
	case id == "" && isSDF:
		id = title
	case id == "":
		t, err := s.Table.OpenTable(ctx)
		if err != nil {
			return graph.IDs{}, err
		}
		has := slices.ContainsFunc(t.Columns(), func(c sources.TableColumn) bool { return c.Name == "id" })
		if err := t.Close(); err != nil || !has {
			return graph.IDs{}, err
		}
		id = "id"
	}
	var ids reading.GraphNames
	untitled := false
	err := each(ctx, s.Table, s.Missing, []string{id}, func(c *scan) error {
		text, ok := c.Value(0)
		if missing := isSDF && !ok && c.Broken() == nil; missing && s.ID != "" {
			return c.fail(0, errors.New("there is no such data item, want an id"))
		} else if missing {
			untitled = true
		}
		if !ok {
			text = nil
		}
		if err := ids.Add(text); err != nil {
			return c.fail(0, err)
		}
		return nil
	})
	if err != nil || untitled {
		return graph.IDs{}, err
	}
	return ids.IDs(), nil
}

// ReadParts reads from a column of a table what each row is for: train, val or valid,
// test, none or nothing. A file with one word a line is a CSV with a Header, of which an empty
// line is no row. missing are texts that are nothing, as Source.Missing.
func ReadParts(ctx context.Context, table sources.Table, column string, missing ...string) (parts []sources.Subset, err error) {
	err = each(ctx, table, missing, []string{column}, func(c *scan) error {
		p := sources.None
		if text, ok := c.Value(0); ok {
			if p, ok = sources.ParseSubset(string(text)); !ok {
				return c.fail(0, fmt.Errorf("%s, want train, valid, val, test, or none", reading.Quote(text)))
			}
		}
		parts = append(parts, p)
		return nil
	})
	return parts, err
}

// reader converts rows to graphs.
type reader struct {
	s     Source
	scan  *scan
	goals []goal
	parse sources.Builder
}

// goal parses the values of one target.
type goal struct {
	record.TargetChannel
	number bool
	known  map[string]int32 // class indices by spelling
}

// of returns the class index or number of a value; -1 for an unknown class.
func (g *goal) of(text []byte) (float32, error) {
	if g.number {
		x, err := reading.Number(text)
		y := float32(x)
		if err == nil && y-y != 0 {
			err = fmt.Errorf("%v does not fit a float32", x)
		}
		return y, err
	}
	class, ok := g.known[string(text)]
	if !ok {
		if class = sources.ClassIndex(g.Classes, string(text)); class >= 0 {
			g.known[string(text)] = class
		}
	}
	return float32(class), nil
}

// item returns the next graph. It skips refused rows and rows without targets.
func (r *reader) item() (*graph.Graph, record.Row, error) {
	for {
		if err := r.scan.Next(); err != nil {
			if n := r.scan.Row + 1; err == io.EOF && r.s.Parts != nil && int64(len(r.s.Parts)) != n {
				err = &reading.FileError{File: r.scan.Table.Name(), Line: 0, Err: fmt.Errorf("%d rows, and Parts has %d", n, len(r.s.Parts))}
			}
			return nil, record.Row{}, err
		}
		n := r.scan.Row
		if r.s.Parts != nil && n >= int64(len(r.s.Parts)) {
			return nil, record.Row{}, r.scan.blame(fmt.Errorf("Parts has only %d rows", len(r.s.Parts)))
		}
		it, err := r.molecule()
		switch {
		case err == nil && it == nil:
			continue
		case err == nil:
			return it.Graph, record.Row{ID: it.ID, Class: it.Class, Value: it.Value, Targets: it.Targets}, nil
		case r.s.Refused == nil:
			return nil, record.Row{}, err
		}
		r.s.Refused(n, err)
	}
}

// molecule returns the graph and targets of the current row, or nil if the row has no target.
func (r *reader) molecule() (*sources.Item, error) {
	it := &sources.Item{ID: r.scan.Row}
	var foreign []byte // a class that is not known
	known := len(r.goals) == 0
	for i := range r.goals {
		x, g := float32(math.NaN()), &r.goals[i]
		text, ok := r.scan.Value(r.scan.goal + i)
		if ok {
			var err error
			if x, err = g.of(text); err != nil {
				return nil, r.scan.fail(r.scan.goal+i, err)
			}
			if known = true; x < 0 && !g.number {
				foreign = append([]byte{}, text...) // graph may overwrite the memory of text
			}
		}
		switch {
		case len(r.goals) > 1:
			if it.Targets = append(it.Targets, x); foreign != nil {
				return nil, r.scan.fail(r.scan.goal+i, g.unknown(foreign))
			}
		case ok && g.number:
			it.Value = x
		case ok:
			it.Class = int32(x)
		}
	}
	if !known {
		if err := r.scan.Broken(); err != nil || r.s.Skip == nil {
			return nil, err
		}
		r.s.Skip(it.ID, "")
		return nil, nil
	}
	var err error
	it.Graph, err = r.scan.graph(&r.parse)
	switch {
	case err != nil || foreign == nil:
		return it, err
	case r.s.Skip == nil:
		return nil, r.scan.blame(r.goals[0].unknown(foreign))
	}
	r.s.Skip(it.ID, string(foreign))
	return nil, nil
}

// unknown returns the error of a class that is not known.
func (g *goal) unknown(class []byte) error {
	return fmt.Errorf("the class %s is none of %d known ones", reading.Quote(class), len(g.known))
}

// scan iterates over a table whose first column has the molecules.
type scan struct {
	*walk.Rows
	goal, id int // column indices of the first target and of the id; 0 = none
}

func open(ctx context.Context, table sources.Table, missing, names []string) (*scan, error) {
	if t, ok := table.(SDF); ok {
		t.Items = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == molfile || name == title })
		table = t
	}
	r, err := walk.Open(ctx, table, missing, names...)
	return &scan{Rows: r}, err
}

// each calls do for every row.
func each(ctx context.Context, table sources.Table, missing, names []string, do func(c *scan) error) error {
	c, err := open(ctx, table, missing, names)
	if err != nil {
		return err
	}
	defer c.Table.Close()
	for err == nil {
		if err = c.Next(); err == nil {
			err = do(c)
		}
	}
	if err == io.EOF {
		return nil
	}
	return err
}

// blame adds the position of the target to an error.
func (c *scan) blame(err error) error { return c.fail(c.goal, err) }

// fail adds the position of a value to an error.
func (c *scan) fail(column int, err error) error {
	if r, ok := c.Table.(*sdfReader); ok {
		return r.fail(c.Columns[column], err)
	}
	return c.Fail(column, err)
}

// graph returns the graph of the molecule of the row.
func (c *scan) graph(b *sources.Builder) (*graph.Graph, error) {
	if err := c.Broken(); err != nil {
		return nil, err
	}
	m, err := (*smiles.Molecule)(nil), error(nil)
	if r, ok := c.Table.(*sdfReader); ok {
		m = r.m
	} else {
		text, ok := c.Value(0)
		if !ok {
			return nil, c.fail(0, errors.New("there is no value, want SMILES"))
		}
		written := string(text)
		if c.id > 0 {
			if _, ok := c.Value(c.id); !ok {
				return nil, c.fail(c.id, errors.New("there is no value, want an id"))
			}
		}
		m, err = smiles.Parse(written)
	}
	var g *graph.Graph
	if err == nil {
		g, err = moleculeGraph(b, m)
	}
	if err != nil {
		return nil, c.fail(0, err)
	}
	return g, nil
}
