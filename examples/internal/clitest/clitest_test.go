package clitest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The tests of each example run with poisoned memory where that is asked for.
func TestAllPoison(t *testing.T) {
	tests, err := filepath.Glob("../../*/*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	poisoned := map[string]bool{}
	for _, name := range tests {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		dir := filepath.Dir(name)
		poisoned[dir] = poisoned[dir] || strings.Contains(string(text), "clitest.Main(m)")
	}
	for dir, ok := range poisoned {
		if !ok {
			t.Errorf("the tests of %s have no TestMain that calls clitest.Main", dir)
		}
	}
	if len(poisoned) < 9 {
		t.Errorf("there are tests of %d examples, want all", len(poisoned))
	}
}
