package flow

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestLayers holds the order of the folders: what a package imports outside its tests
// stands below it. flow/file and flow/file/store, which write files, are below all of them.
func TestLayers(t *testing.T) {
	const module = "github.com/sanflow/sanflow/"
	never := map[string][]string{
		"flow":      {"operators", "sources", "sinks", "nn"},
		"sources":   {"operators", "sinks", "nn"},
		"operators": {"sources", "sinks", "nn"},
		"nn":        {"flow", "sources", "sinks"},
		"sinks":     {"sources"},
	}
	allowed := map[string][]string{
		"flow/beam":     {"nn", "operators", "sinks", "sinks/parquet", "sources"}, // a module of its own, above all
		"nn/validation": {"flow/file/store"},                                      // the scores that are kept
		"sinks/choose":  {"sources", "sources/links"},                             // the set of nodes, and the folds of pairs, that are learned from
		"sinks/nodes":   {"sources"},                                              // the set of nodes that is learned from
	}
	for folder, above := range never {
		err := filepath.WalkDir("../"+folder, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
			if err != nil {
				return err
			}
			for _, i := range file.Imports {
				imported, _ := strconv.Unquote(i.Path.Value)
				for _, a := range above {
					if imported == module+"flow/file" || slices.Contains(allowed[filepath.ToSlash(filepath.Dir(path))[3:]], strings.TrimPrefix(imported, module)) {
						continue
					}
					if imported == module+a || strings.HasPrefix(imported, module+a+"/") {
						t.Errorf("%s imports %s", path, imported)
					}
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
