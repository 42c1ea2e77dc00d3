package input

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/sources"
)

// IsSDF reports whether a name is that of molecules in an SD file or a molfile.
func IsSDF(path string) bool {
	return slices.Contains([]string{".sdf", ".sd", ".mol"}, extension(path))
}

// IsMolecules reports whether molecules may be in a file of that name: in an SD file, or in a
// table.
func IsMolecules(path string) bool {
	return IsSDF(path) || slices.Contains([]string{".csv", ".tsv"}, extension(path))
}

// Molecules says what is read of the molecules of a file: an SD file, whose class or value is
// a data item, or a table with SMILES in a column.
type Molecules struct {
	SMILES, Class, Value string           // columns, or data items
	Classes              []string         // nil = those that occur
	Parts                []sources.Subset // of the molecules, whose number is checked
}

// Source returns the source of the molecules.
func (m Molecules) Source(path string) flow.Source {
	if IsSDF(path) {
		return sources.SDF{Path: path, Class: m.Class, Value: m.Value, Classes: m.Classes, Parts: m.Parts}
	}
	return sources.SMILES{Table: sources.CSV{Path: path}, Column: m.SMILES, Class: m.Class, Value: m.Value, Classes: m.Classes, Parts: m.Parts}
}

// extension is that of a name, maybe packed.
func extension(path string) string {
	return filepath.Ext(strings.TrimSuffix(strings.TrimSuffix(path, ".gz"), ".zst"))
}
