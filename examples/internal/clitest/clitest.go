// Package clitest runs the example commands in their tests.
package clitest

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// Silence keeps what a command prints for people out of the output of a test.
func Silence(t *testing.T) {
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	old := os.Stdout
	os.Stdout = null
	t.Cleanup(func() {
		os.Stdout = old
		null.Close()
	})
}

// File writes a file of that name and returns its path.
func File(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// JSON runs a command with those arguments, silently, and returns what it
// writes for -json.
func JSON[T any](t *testing.T, run func(context.Context, []string) error, args ...string) (r T) {
	t.Helper()
	Silence(t)
	out := filepath.Join(t.TempDir(), "out.json")
	if err := run(context.Background(), append(args, "-json", out)); err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	b, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &r); err != nil {
		t.Fatal(err)
	}
	return r
}
