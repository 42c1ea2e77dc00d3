package clitest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Each command whose flags take numbers gives them all to Numbers.
func TestEveryCommand(t *testing.T) {
	commands, err := filepath.Glob("../../*/main.go")
	if err != nil || len(commands) < 13 {
		t.Fatalf("%d commands, %v", len(commands), err)
	}
	for _, name := range commands {
		source, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		test, err := os.ReadFile(filepath.Join(filepath.Dir(name), "numbers_test.go"))
		if strings.Contains(string(source), "cli.Flags(") && (err != nil || !strings.Contains(string(test), "clitest.Numbers(t")) {
			t.Errorf("%s has flags, and beside it is no numbers_test.go that calls Numbers", name)
		}
	}
}
