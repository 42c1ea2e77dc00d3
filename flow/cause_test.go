package flow_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// An error of a context tells why the context ended: the library returns context.Cause and
// uses Err only to see whether the context has ended. The test reads the whole module.
func TestCauseEverywhere(t *testing.T) {
	if os.Getenv("SANFLOW_LONG") == "" {
		t.Skip("SANFLOW_LONG is not set")
	}
	files := token.NewFileSet()
	contexts := regexp.MustCompile(`(?i)^(.*ctx|.*context|parent|open)$`)
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && len(d.Name()) > 2) {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(files, path, text, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		looked := map[ast.Node]bool{} // where Err is compared and no more
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BinaryExpr:
				if call, ok := n.X.(*ast.CallExpr); ok {
					looked[call.Fun] = true
				}
			case *ast.CallExpr:
				if s, ok := n.Fun.(*ast.SelectorExpr); ok && s.Sel.Name == "Is" {
					for _, arg := range n.Args {
						if call, ok := arg.(*ast.CallExpr); ok {
							looked[call.Fun] = true
						}
					}
				}
			case *ast.SelectorExpr:
				of := ""
				switch x := n.X.(type) {
				case *ast.Ident:
					of = x.Name
				case *ast.SelectorExpr:
					of = x.Sel.Name
				}
				if n.Sel.Name == "Err" && contexts.MatchString(of) && !looked[n] {
					t.Errorf("%s: this hands on %s.Err, want context.Cause(%s)", files.Position(n.Pos()), of, of)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
