package flow

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/sanflow/sanflow/"

// eachFile calls do with each Go file outside of tests below a folder, and the folder of its package.
func eachFile(t *testing.T, below string, mode parser.Mode, do func(folder, path string, file *ast.File)) {
	t.Helper()
	if err := filepath.WalkDir("../"+below, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, mode)
		if err == nil {
			do(strings.TrimPrefix(filepath.ToSlash(filepath.Dir(path)), "../"), path, file)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

func imports(file *ast.File) (all []string) {
	for _, i := range file.Imports {
		imported, _ := strconv.Unquote(i.Path.Value)
		all = append(all, strings.TrimPrefix(imported, module))
	}
	return all
}

// TestLayers holds the order of the folders: what a package imports outside its tests
// stands below it. flow/file and flow/file/store, which write files, are below all of them.
func TestLayers(t *testing.T) {
	never := map[string][]string{
		"flow":      {"operators", "sources", "sinks", "nn"},
		"sources":   {"operators", "sinks", "nn"},
		"operators": {"sources", "sinks", "nn"},
		"nn":        {"flow", "sources", "sinks"},
		"sinks":     {"sources"},
		"internal":  {"flow", "operators", "sources", "sinks", "nn"},
	}
	allowed := map[string][]string{
		"internal/tabular":     {"flow", "flow/graph", "flow/manifest", "flow/record"},                   // records as tables, which sources read and sinks write
		"internal/propagation": {"flow/graph"},                                                           // walks, which operators and sinks take
		"internal/temporal":    {"flow/event"},                                                           // what sinks/prequential knows of the past
		"flow/beam":            {"nn", "operators", "sinks", "sinks/parquet", "sinks/scores", "sources"}, // a module of its own, above all
		"nn/validation":        {"flow/file/store"},                                                      // the scores that are kept
		"sinks/choose":         {"sources", "sources/links"},                                             // the set of nodes, and the folds of pairs, that are learned from
	}
	for folder, above := range never {
		eachFile(t, folder, parser.ImportsOnly, func(of, path string, file *ast.File) {
			for _, imported := range imports(file) {
				for _, a := range above {
					if imported == "flow/file" || slices.Contains(allowed[of], imported) {
						continue
					}
					if imported == a || strings.HasPrefix(imported, a+"/") {
						t.Errorf("%s imports %s", path, imported)
					}
				}
			}
		})
	}
}

// role is what one package does for all others.
type role struct {
	name string
	mark string   // what a second one would have to write, as marks has it
	by   string   // the package
	and  []string // others that write it and are no second one
	like string   // a second one
}

var roles = []role{
	// A graph gets its rows from somewhere. These copy, number anew or cut rows, or take them from the builder.
	{"builder of compressed sparse rows", "set Neighbors", "internal/rows", []string{"flow/graph", "flow/graph/dynamic", "flow/record", "sources",
		"sources/generate", "sources/graph6", "sources/internal/reading", "sources/internal/readtest", "operators", "operators/count", "operators/field", "operators/past", "sinks/choose"},
		"func f(edges [][2]int32) *graph.Graph { g := new(graph.Graph); g.Neighbors = sorted(edges); return g }"},
	// Events are rows too, walk reads rows for published links and molecules. Molecules are cells of a table; parquet counts rows; commands show columns.
	{"reader of tables", "call OpenTable", "sources", []string{"sources/events", "sources/internal/walk", "sources/molecules", "sources/parquet", "examples/sanflow/command"},
		"func f(t sources.Table) { r, err := t.OpenTable(ctx) }"},
	// The fields follow the changes of the graph; the source of events has the names of their kinds, and a served model gives events to the graph.
	{"changing adjacency", "event.RemoveEdge", "flow/graph/dynamic", []string{"operators/field", "sources/events", "sinks/choose"},
		"func (g *myGraph) f(e event.Event) { if e.Kind == event.RemoveEdge { delete(g.edges, e.Source) } }"},
	{"chooser", "type Choice", "sinks/choose", nil, "type Choice struct{ systems []string }"},
	{"prequential loop", "import internal/temporal", "sinks/prequential", nil,
		`import "github.com/sanflow/sanflow/internal/temporal"`},
	// The library has handlers alone. Other commands show a page of their run.
	{"HTTP service", "http.Server", "examples/sanflow/command", []string{"examples/internal/cli", "examples/stream"},
		`func f() { s := http.Server{Addr: ":8080"}; s.ListenAndServe() }`},
}

// marks returns what a file writes: "import P" of this module, "type T" of a declaration, "set F" of a field, "call M" of a method,
// and "p.N" of a name of a package, or of a value.
func marks(file *ast.File) map[string]bool {
	all := map[string]bool{}
	for _, imported := range imports(file) {
		all["import "+imported] = true
	}
	set := func(x ast.Expr) {
		switch x := x.(type) {
		case *ast.SelectorExpr:
			all["set "+x.Sel.Name] = true
		case *ast.Ident:
			all["set "+x.Name] = true
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.TypeSpec:
			all["type "+n.Name.Name] = true
		case *ast.AssignStmt:
			for _, x := range n.Lhs {
				set(x)
			}
		case *ast.KeyValueExpr:
			set(n.Key)
		case *ast.CallExpr:
			if s, ok := n.Fun.(*ast.SelectorExpr); ok && (len(n.Args) != 3 || s.Sel.Name != "OpenTable") { // sources.OpenTable has three
				all["call "+s.Sel.Name] = true
			}
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok {
				all[x.Name+"."+n.Sel.Name] = true
			}
		}
		return true
	})
	return all
}

// TestOneOfEach holds that one package does each of these, by what a second one would have to write.
func TestOneOfEach(t *testing.T) {
	of := map[string]map[string]bool{}
	for _, folder := range []string{"flow", "sources", "operators", "nn", "sinks", "internal", "examples"} {
		eachFile(t, folder, 0, func(folder, _ string, file *ast.File) {
			if of[folder] == nil {
				of[folder] = map[string]bool{}
			}
			maps.Copy(of[folder], marks(file))
		})
	}
	for _, r := range roles {
		if !of[r.by][r.mark] {
			t.Errorf("%s: %s does not write %q: name the package that does it now", r.name, r.by, r.mark)
		}
		for folder, written := range of {
			if written[r.mark] && folder != r.by && !slices.Contains(r.and, folder) {
				t.Errorf("%s writes %q, as a second %s would: %s does that", folder, r.mark, r.name, r.by)
			}
		}
		second, err := parser.ParseFile(token.NewFileSet(), "second.go", "package second\n"+r.like, 0)
		if err != nil || !marks(second)[r.mark] {
			t.Errorf("%s: a second one is not found: %v", r.name, err)
		}
	}
}
