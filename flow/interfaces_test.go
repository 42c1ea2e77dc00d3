package flow

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// declared is the types of a package, as their source has them.
type declared struct {
	methods map[string][]string // by type: "Name(int) error"
	embeds  map[string][]string // by type: types and interfaces within it
}

// signature is a method without the names of its parameters.
func signature(name string, f *ast.FuncType) string {
	types := func(list *ast.FieldList) string {
		var all []string
		if list == nil {
			return ""
		}
		for _, field := range list.List {
			var b bytes.Buffer
			_ = printer.Fprint(&b, token.NewFileSet(), field.Type)
			for range max(1, len(field.Names)) {
				all = append(all, strings.ReplaceAll(b.String(), "flow.", ""))
			}
		}
		return strings.Join(all, ", ")
	}
	return name + "(" + types(f.Params) + ") " + types(f.Results)
}

// nameOf is the name of a type that is embedded, or has a method.
func nameOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return nameOf(e.X)
	case *ast.IndexExpr:
		return nameOf(e.X)
	case *ast.SelectorExpr:
		return e.Sel.Name
	case *ast.Ident:
		return e.Name
	}
	return ""
}

func (d *declared) add(file *ast.File) {
	for _, decl := range file.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			if decl.Recv != nil {
				of := nameOf(decl.Recv.List[0].Type)
				d.methods[of] = append(d.methods[of], signature(decl.Name.Name, decl.Type))
			}
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				if t, ok := spec.(*ast.TypeSpec); ok {
					d.typed(t)
				}
			}
		}
	}
}

func (d *declared) typed(t *ast.TypeSpec) {
	of := t.Name.Name
	d.methods[of] = append(d.methods[of], []string{}...)
	var fields []*ast.Field
	switch u := t.Type.(type) {
	case *ast.StructType:
		fields = u.Fields.List
	case *ast.InterfaceType:
		fields = u.Methods.List
	}
	for _, f := range fields {
		if m, ok := f.Type.(*ast.FuncType); ok && len(f.Names) == 1 {
			d.methods[of] = append(d.methods[of], signature(f.Names[0].Name, m))
		} else if len(f.Names) == 0 {
			d.embeds[of] = append(d.embeds[of], nameOf(f.Type))
		}
	}
}

// all is the methods of a type, those of what it embeds included.
func (d *declared) all(of string, depth int) []string {
	all := slices.Clone(d.methods[of])
	for _, e := range d.embeds[of] {
		if depth < 5 {
			all = append(all, d.all(e, depth+1)...)
		}
	}
	return all
}

// TestInterfaceTable compares the table of interfaces in the documentation with the
// types of the module.
func TestInterfaceTable(t *testing.T) {
	packages := map[string]*declared{}
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() && (entry.Name() == "testdata" || entry.Name() == "examples" || entry.Name() == "flowtest") {
			if err == nil {
				err = filepath.SkipDir
			}
			return err
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		folder := filepath.ToSlash(filepath.Dir(path))[3:]
		if packages[folder] == nil {
			packages[folder] = &declared{map[string][]string{}, map[string][]string{}}
		}
		packages[folder].add(file)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	ours := packages["flow"]
	text, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile(`(?m)^//\t([A-Z]\w+)  +(Reader|Stage|Writer)  +(.*)$`)
	table := map[string][]string{}
	for _, m := range row.FindAllStringSubmatch(string(text), -1) {
		table[m[1]] = strings.Fields(m[3])
	}
	plain := []string{"Source", "Reader", "Operator", "Stage", "Sink", "Writer"}
	for _, name := range slices.Sorted(maps.Keys(ours.methods)) {
		if len(ours.methods[name]) == 0 || slices.Contains(plain, name) || !isInterface(t, name) {
			continue
		}
		var have []string
		for folder, d := range packages {
			for of := range d.methods {
				all := d.all(of, 0)
				if folder != "flow" && len(ours.methods[name]) > 0 && !slices.ContainsFunc(ours.methods[name], func(m string) bool { return !slices.Contains(all, m) }) {
					have = append(have, folder)
				}
			}
		}
		slices.Sort(have)
		if have = slices.Compact(have); !slices.Equal(have, table[name]) && !(len(have) == 0 && len(table[name]) > 0 && table[name][0] == "none") {
			t.Errorf("the table has %s of %v, want %v", name, table[name], have)
		}
		delete(table, name)
	}
	if len(table) > 0 {
		t.Errorf("the table has %v, which are no interfaces", slices.Sorted(maps.Keys(table)))
	}
}

// isInterface reports whether a type of this package is one.
func isInterface(t *testing.T, name string) bool {
	t.Helper()
	for _, path := range []string{"stage.go", "place.go"} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "\ntype "+name+" interface {") {
			return true
		}
	}
	return false
}
