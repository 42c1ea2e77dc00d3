package input

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/sources"
)

// IsSDF reports whether a name is that of molecules in an SD file or a molfile.
func IsSDF(path string) bool {
	return slices.Contains([]string{".sdf", ".sd", ".mol"}, extension(path))
}

// IsMolecules reports whether molecules may be in a file of that name: in an SD file, or in a
// table.
func IsMolecules(path string) bool {
	return IsSDF(path) || IsSMI(path) || slices.Contains([]string{".csv", ".tsv"}, extension(path))
}

// IsSMI reports whether path is a file of SMILES, a molecule a line, by its name.
func IsSMI(path string) bool {
	return slices.Contains([]string{".smi", ".smiles", ".cxsmiles"}, extension(path))
}

// Molecules says what is read of the molecules of a file: an SD file, whose class or value is
// a data item, or a table with SMILES in a column.
type Molecules struct {
	SMILES, ID, Class, Value string           // columns, or data items
	Comma                    byte             // of the table; 0: as its first row tells
	Classes                  []string         // nil = those that occur
	Parts                    []sources.Subset // of the molecules, whose number is checked
	Refused                  *Refused         // nil: the first that is no molecule ends the run
	Skip                     func(row int64, class string)
}

// named is a source whose graphs have ids.
type named interface {
	flow.Source
	Names(ctx context.Context) (graph.IDs, error)
}

// Source returns the source of the molecules.
func (m Molecules) Source(path string) flow.Source { return m.source(path) }

func (m Molecules) source(path string) named {
	var refused func(int64, error)
	if m.Refused != nil {
		refused = m.Refused.add
	}
	if IsSDF(path) {
		return sources.SDF{Path: path, ID: m.ID, Class: m.Class, Value: m.Value, Classes: m.Classes, Parts: m.Parts, Refused: refused, Skip: m.Skip}
	}
	return sources.SMILES{Table: m.Table(path), Column: m.SMILES, ID: m.ID, Class: m.Class, Value: m.Value, Classes: m.Classes, Parts: m.Parts, Refused: refused, Skip: m.Skip}
}

// Names returns the ids of the molecules: those of the column or data item ID, without one the
// titles of an SD file, none of a table.
func (m Molecules) Names(ctx context.Context, path string) (names graph.IDs, err error) {
	if m.ID == "" && !IsSDF(path) {
		return names, nil
	}
	return m.source(path).Names(ctx)
}

// ReadParts reads from a column or data item what each molecule is for.
func (m Molecules) ReadParts(ctx context.Context, path, column string) ([]sources.Subset, error) {
	if IsSDF(path) {
		return sources.SDF{Path: path}.ReadParts(ctx, column)
	}
	return sources.ReadParts(ctx, m.Table(path), column)
}

// Table is the table of molecules, which are in no SD file.
func (m Molecules) Table(path string) sources.Table {
	if IsSMI(path) {
		return sources.SMI{Path: path}
	}
	return sources.CSV{Path: path, Comma: m.Comma, Ragged: m.Refused != nil}
}

// Refused tells people of what is no molecule and is left out: the first ones, and how many
// there were. A file that is read again tells nothing new.
type Refused struct {
	To    io.Writer
	count int
	next  int64 // row that was not read so far
}

// toldRefused is how many are told one by one.
const toldRefused = 20

func (r *Refused) add(row int64, err error) {
	if row < r.next {
		return
	}
	r.next = row + 1
	if r.count++; r.count <= toldRefused {
		fmt.Fprintf(r.To, "left out: %s\n", strings.TrimPrefix(err.Error(), "sources: "))
	}
}

// Total tells how many there were, if any.
func (r *Refused) Total() {
	if r != nil && r.count > 0 {
		fmt.Fprintf(r.To, "molecules left out: %d\n", r.count)
	}
}

// extension is that of a name, maybe packed.
func extension(path string) string {
	return filepath.Ext(strings.TrimSuffix(strings.TrimSuffix(path, ".gz"), ".zst"))
}
