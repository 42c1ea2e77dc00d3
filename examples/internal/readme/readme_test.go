package readme_test

import (
	"fmt"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/examples/internal/clitest"
	"github.com/sanflow/sanflow/internal/race"
)

func TestMain(m *testing.M) { clitest.Main(m) }

// lines is a text without indentation, alignment of comments, and empty lines.
func lines(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if fields := strings.Fields(line); len(fields) > 0 {
			b.WriteString(strings.Join(fields, " ") + "\n")
		}
	}
	return b.String()
}

// Whatever Go these package comments show is compiled in an example of the package.
func TestPackageComments(t *testing.T) {
	for _, name := range []string{"choose/choose.go", "scores/doc.go", "../flow/part/job.go"} {
		path := filepath.Join("../../../sinks", name)
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.PackageClauseOnly)
		if err != nil {
			t.Fatal(err)
		}
		example, err := os.ReadFile(filepath.Join(filepath.Dir(path), "example_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		blocks := 0
		for _, b := range new(comment.Parser).Parse(file.Doc.Text()).Content {
			if code, ok := b.(*comment.Code); ok && strings.Contains(code.Text, ":=") {
				blocks++
				if !strings.Contains(lines(string(example)), lines(code.Text)) {
					t.Errorf("%s: this is compiled nowhere:\n%s", name, code.Text)
				}
			}
		}
		if blocks == 0 {
			t.Errorf("%s shows no Go", name)
		}
	}
}

// Whatever Go the README shows is compiled, here or in an example.
func TestREADME(t *testing.T) {
	readme, err := os.ReadFile("../../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	var compiled string
	for _, name := range []string{"example_test.go", "firstscreen_test.go", "../../../sources/example_mapped_test.go", "../../../sinks/tasks_example_test.go", "../../../sinks/tables_example_test.go"} {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		compiled += lines(string(b))
	}
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(string(readme), -1)
	if len(blocks) < 3 {
		t.Errorf("%d blocks of Go", len(blocks))
	}
	for _, b := range blocks {
		if !strings.Contains(compiled, lines(b[1])) {
			t.Errorf("this is compiled nowhere:\n%s", b[1])
		}
	}
	for _, name := range regexp.MustCompile("`(Example\\w+)`").FindAllStringSubmatch(string(readme), -1) {
		if !strings.Contains(compiled, "func "+name[1]+"() {") {
			t.Errorf("the README names %s, which is not there", name[1])
		}
	}
	if words := len(strings.Fields(string(readme))); words > 1800 {
		t.Errorf("the README has %d words, want at most 1800", words)
	}
	online, err := os.ReadFile("../../stream/listen.go")
	if n := strings.Count(string(online), "\n"); err != nil || n > 60 {
		t.Errorf("examples/stream/listen.go has %d lines, %v, want at most the 60 that the README names", n, err)
	}
}

// Links lead to files that are there, and to headings in them.
func TestLinks(t *testing.T) {
	pages, err := filepath.Glob("../../*/README.md")
	if err != nil || len(pages) == 0 {
		t.Fatal("there are no pages beside the examples:", err)
	}
	link := regexp.MustCompile(`\]\(\s*([^)#:\s]*)(?:#([^)\s]*))?\)`)
	for _, page := range append(pages, "../../../README.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range link.FindAllStringSubmatch(string(text), -1) {
			to := page
			if l[1] != "" {
				to = filepath.Join(filepath.Dir(page), l[1])
			}
			if info, err := os.Stat(to); err == nil && info.IsDir() {
				continue
			}
			target, err := os.ReadFile(to)
			if err != nil {
				t.Errorf("%s: %v", page, err)
			} else if l[2] != "" && !headings(string(target))[l[2]] {
				t.Errorf("%s: %s has no heading %s", page, to, l[2])
			}
		}
	}
}

// headings are what those of a page are called in links.
func headings(page string) map[string]bool {
	names := map[string]bool{}
	for _, h := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(page, -1) {
		kept := regexp.MustCompile(`[^\p{L}\p{N} -]`).ReplaceAllString(strings.ToLower(h[1]), "")
		names[strings.ReplaceAll(kept, " ", "-")] = true
	}
	return names
}

// The program shows something: it is right about most graphs of six families.
func TestProgram(t *testing.T) {
	race.Skip(t)
	if testing.Short() {
		t.Skip("trains a network")
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	old := os.Stdout
	os.Stdout = w
	Example()
	os.Stdout = old
	w.Close()
	var right, of int
	if _, err := fmt.Fscanf(r, "%d of %d new graphs right", &right, &of); err != nil || of != 600 || right < 480 {
		t.Errorf("%d of %d graphs are right, %v, want four fifths of 600", right, of, err)
	}
}
