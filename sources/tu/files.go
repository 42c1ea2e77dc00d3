package tu

import (
	"path"
	"strings"

	"github.com/sanflow/sanflow/sources/internal/reading"
)

const (
	edgesFile       = "A"
	indicatorFile   = "graph_indicator"
	graphLabels     = "graph_labels"
	graphAttributes = "graph_attributes"
	nodeLabels      = "node_labels"
	nodeAttributes  = "node_attributes"
	edgeLabels      = "edge_labels"
	edgeAttributes  = "edge_attributes"
)

func openFiles(t Source, memory *reading.Budget) (*reading.Folder, error) {
	f, err := reading.OpenPlace(t.Path, t.FS, t.MaxBytes, memory)
	if err != nil {
		return nil, err
	}
	if err := findEdges(f, t.Name); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// findEdges sets the prefix to that of the only edge file.
func findEdges(f *reading.Folder, name string) error {
	missing := "NAME_A.txt, so no TU collection"
	if name != "" {
		missing = name + "_A.txt"
	}
	return f.FindOnly("*_", edgesFile+".txt", "collections", missing, func(prefix string) bool {
		// macOS adds a "._NAME_A.txt" to archives.
		base := path.Base(prefix)
		return !strings.HasPrefix(base, ".") && (name == "" || base == name+"_")
	})
}
