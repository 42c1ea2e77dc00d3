// Command api prints every exported name of the module, a line each, sorted:
// packages, constants, variables, types with their fields and methods, and
// functions with their signatures. CI compares the list with .ci/api.txt, so
// that no name changes unseen. `go run .ci/api.go >.ci/api.txt` accepts the
// names as they are; CHANGELOG.md says what a changed name became.
package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/build"
	"go/doc"
	"go/parser"
	"go/printer"
	"go/token"
	"io/fs"
	"log"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

func main() {
	var lines []string
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() || path == "." {
			return err
		}
		switch name := d.Name(); {
		case name == "internal", name == "testdata", name == "examples", name[0] == '.', name[0] == '_':
			return fs.SkipDir
		}
		if module, _ := filepath.Glob(filepath.Join(path, "go.mod")); module != nil {
			return fs.SkipDir // a module of its own
		}
		names, err := exported(path)
		lines = append(lines, names...)
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	slices.Sort(lines)
	for _, line := range slices.Compact(lines) {
		fmt.Println(line)
	}
}

// exported lists the exported names of the package in a folder, built for linux/amd64.
func exported(path string) ([]string, error) {
	context := build.Default
	context.GOOS, context.GOARCH, context.CgoEnabled = "linux", "amd64", false
	found, err := context.ImportDir(path, 0)
	if _, none := err.(*build.NoGoError); none {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range found.GoFiles {
		file, err := parser.ParseFile(fset, filepath.Join(path, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	pkg, err := doc.NewFromFiles(fset, files, filepath.ToSlash(path))
	if err != nil {
		return nil, err
	}
	l := list{fset: fset, pkg: pkg.ImportPath, lines: []string{pkg.ImportPath + ": package " + pkg.Name}}
	l.values("const", pkg.Consts)
	l.values("var", pkg.Vars)
	l.functions(pkg.Funcs)
	for _, t := range pkg.Types {
		l.values("const", t.Consts)
		l.values("var", t.Vars)
		l.functions(t.Funcs)
		l.functions(t.Methods)
		l.spec(t.Decl.Specs[0].(*ast.TypeSpec))
	}
	return l.lines, nil
}

type list struct {
	fset  *token.FileSet
	pkg   string
	lines []string
}

func (l *list) add(form string, args ...any) {
	l.lines = append(l.lines, l.pkg+": "+fmt.Sprintf(form, args...))
}

func (l *list) values(kind string, values []*doc.Value) {
	for _, v := range values {
		for _, name := range v.Names {
			if ast.IsExported(name) {
				l.add("%s %s", kind, name)
			}
		}
	}
}

func (l *list) functions(functions []*doc.Func) {
	for _, f := range functions {
		f.Decl.Doc, f.Decl.Body = nil, nil
		l.add("%s", l.text(f.Decl))
	}
}

// spec adds a type, with each exported field of a struct and each method of an interface.
func (l *list) spec(t *ast.TypeSpec) {
	assign := ""
	if t.Assign.IsValid() {
		assign = "= "
	}
	switch under := t.Type.(type) {
	case *ast.StructType:
		l.add("type %s struct", t.Name)
		l.fields(t.Name.Name, under.Fields)
	case *ast.InterfaceType:
		l.add("type %s interface", t.Name)
		l.fields(t.Name.Name, under.Methods)
	default:
		l.add("type %s %s%s", t.Name, assign, l.text(under))
	}
}

func (l *list) fields(of string, fields *ast.FieldList) {
	for _, field := range fields.List {
		what := l.text(field.Type)
		for _, name := range field.Names {
			if name.IsExported() {
				l.add("type %s: %s %s", of, name, what)
			}
		}
		if len(field.Names) == 0 {
			l.add("type %s: %s", of, what)
		}
	}
}

var spaces = regexp.MustCompile(`\s+`)

// text prints syntax on one line.
func (l *list) text(node any) string {
	var b bytes.Buffer
	if err := printer.Fprint(&b, l.fset, node); err != nil {
		log.Fatal(err)
	}
	return strings.TrimSpace(spaces.ReplaceAllString(b.String(), " "))
}
