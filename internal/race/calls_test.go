package race

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// Tests alone call this package, and by its name: .ci/run finds by that what to run without the race detector.
func TestCalls(t *testing.T) {
	calls := 0
	if err := filepath.WalkDir("../..", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || filepath.Base(filepath.Dir(path)) == "race" {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		imported := false
		for _, i := range file.Imports {
			if i.Path.Value == `"github.com/sanflow/sanflow/internal/race"` {
				imported = true
				if i.Name != nil {
					t.Errorf("%s names the import %s", path, i.Name)
				}
			}
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			test := ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") && strings.HasSuffix(path, "_test.go")
			ast.Inspect(d, func(n ast.Node) bool {
				s, ok := n.(*ast.SelectorExpr)
				if !ok || !imported {
					return true
				}
				if x, ok := s.X.(*ast.Ident); ok && x.Name == "race" {
					if calls++; !test {
						t.Errorf("%s: race.%s is called outside of a test", path, s.Sel.Name)
					}
				}
				return true
			})
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if calls < 50 {
		t.Errorf("%d calls", calls)
	}
}
