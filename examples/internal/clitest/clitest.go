// Package clitest runs the example commands in their tests.
package clitest

import (
	"context"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"
)

// Silence discards the standard output of a command in a test.
func Silence(t testing.TB) {
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

// JSON runs a command silently and returns the object of its -json.
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

// Main runs the tests of a command. With SANFLOW_LONG or SANFLOW_TEST_POISON released memory is poisoned,
// also in processes that a test starts, so that a stage that reads a released record fails. This takes two
// fifths of the processor time. Benchmarks run without.
func Main(m *testing.M) {
	flag.Parse()
	if os.Getenv("SANFLOW_LONG")+os.Getenv("SANFLOW_TEST_POISON") != "" && flag.Lookup("test.bench").Value.String() == "" {
		if err := os.Setenv("SANFLOW_MEM", "poison"); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}
