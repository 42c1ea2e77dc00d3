// Command types checks the types of packages for a platform, from the source of all
// that they import, and compiles nothing: 6 s of a processor where go build takes 140.
// The arguments are the platform and those of go list; with -test the tests are
// checked too: `go run .ci/types.go windows/amd64 -test ./...`.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// listed is a package of go list -json.
type listed struct {
	ImportPath, Dir string
	GoFiles         []string
	ImportMap       map[string]string
	Module          *struct {
		Main      bool
		GoVersion string
	}
}

func main() {
	log.SetFlags(0)
	if len(os.Args) < 3 {
		log.Fatal("want a platform, such as linux/386, and packages")
	}
	system, machine, _ := strings.Cut(os.Args[1], "/")
	sizes := types.SizesFor("gc", machine)
	if sizes == nil {
		log.Fatalf("the platform is %q, want one such as linux/386", os.Args[1])
	}
	// Dependencies come before what imports them.
	list := exec.Command("go", append([]string{"list", "-deps", "-json=ImportPath,Dir,GoFiles,ImportMap,Module"}, os.Args[2:]...)...)
	list.Env = append(os.Environ(), "GOOS="+system, "GOARCH="+machine, "CGO_ENABLED=0")
	list.Stderr = os.Stderr
	out, err := list.StdoutPipe()
	if err != nil {
		log.Fatal(err)
	}
	if err := list.Start(); err != nil {
		log.Fatal(err)
	}
	failed := false
	report := func(err error) { failed = true; log.Print(err) }
	files := token.NewFileSet()
	checked := map[string]*types.Package{"unsafe": types.Unsafe}
	for in := json.NewDecoder(out); ; {
		var p listed
		if err := in.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			log.Fatal(err)
		}
		if p.ImportPath == "unsafe" || strings.HasSuffix(p.ImportPath, ".test") {
			continue // the latter is the main function of a test
		}
		mine := p.Module != nil && p.Module.Main
		config := types.Config{
			IgnoreFuncBodies: !mine,
			Sizes:            sizes,
			Error:            report,
			Importer: importer(func(path string) (*types.Package, error) {
				if mapped, ok := p.ImportMap[path]; ok {
					path = mapped
				}
				if checked[path] == nil {
					return nil, fmt.Errorf("%s is not listed before %s", path, p.ImportPath)
				}
				return checked[path], nil
			}),
		}
		if p.Module != nil && p.Module.GoVersion != "" {
			config.GoVersion = "go" + p.Module.GoVersion
		}
		var parsed []*ast.File
		for _, name := range p.GoFiles {
			file, err := parser.ParseFile(files, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				log.Fatal(err)
			}
			parsed = append(parsed, file)
		}
		path, _, _ := strings.Cut(p.ImportPath, " ") // the package a in the test of b is "a [b.test]"
		checked[p.ImportPath], _ = config.Check(path, files, parsed, nil)
	}
	if err := list.Wait(); err != nil {
		log.Fatal(err)
	}
	if failed {
		os.Exit(1)
	}
}

type importer func(path string) (*types.Package, error)

func (i importer) Import(path string) (*types.Package, error) { return i(path) }
