package flow_test

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestGuaranteesHaveTests looks for every test that the package documentation
// names, and for a name with every guarantee.
func TestGuaranteesHaveTests(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "doc.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	text := file.Doc.Text()
	_, text, found := strings.Cut(text, "# Guarantees")
	if !found {
		t.Fatal("there are no guarantees")
	}
	named := regexp.MustCompile(`(?:([\w/]+)\.)?\b(Test\w+)`)
	guarantees, _, _ := strings.Cut(text, "# Positions")
	for _, item := range strings.Split(guarantees, "\n  - ")[1:] {
		item, _, _ = strings.Cut(item, "\n\n")
		if !named.MatchString(item) {
			t.Errorf("no test holds this:\n%s", item)
		}
	}
	names := named.FindAllStringSubmatch(text, -1)
	for _, m := range names {
		dir := "."
		if m[1] != "" {
			dir = filepath.Join("..", m[1])
		}
		if !hasTest(t, dir, m[2]) {
			t.Errorf("there is no %s in %s", m[2], dir)
		}
	}
	if len(names) < 20 {
		t.Errorf("%d tests are named, want more", len(names))
	}
}

// hasTest reports whether a test of that name is in the files of a folder.
func hasTest(t *testing.T, dir, name string) bool {
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "\nfunc "+name+"(t *testing.T)") {
			return true
		}
	}
	return false
}
