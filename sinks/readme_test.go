package sinks_test

import (
	"os"
	"strings"
	"testing"
)

// The README shows what compiles here, line by line.
func TestREADME(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	_, body, _ := strings.Cut(string(source), "func Example() {\n")
	body, _, _ = strings.Cut(body, "\n}\n")
	var want []string
	for _, line := range strings.Split(body, "\n") {
		want = append(want, strings.TrimPrefix(line, "\t"))
	}
	_, block, _ := strings.Cut(string(readme), "```go\n")
	block, _, _ = strings.Cut(block, "\n```")
	if got := strings.Split(block, "\n"); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("the README's program differs from Example:\n%s\nwant\n%s", block, strings.Join(want, "\n"))
	}
}
