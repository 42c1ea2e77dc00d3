// Package clitest runs the example commands in their tests.
package clitest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/sinks/collect"
	"github.com/sanflow/sanflow/sinks/ipc"
	"github.com/sanflow/sanflow/sources"
)

// Silence keeps what a command prints for people out of the output of a test.
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

// EdgeLists writes edge lists to one Arrow file, a record of graph 0 each, and returns
// its path.
func EdgeLists(t *testing.T, texts ...string) string {
	t.Helper()
	var graphs collect.Sink
	for _, text := range texts {
		src := sources.EdgeList{Path: "list", Reader: strings.NewReader(text)}
		if err := flow.From(src).To(&graphs).Run(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	defer graphs.Release()
	path := filepath.Join(t.TempDir(), "lists.arrow")
	if err := flow.From(sources.Records{Records: graphs.Records()}).To(ipc.Sink{Path: path}).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	return path
}

// Sign gives an entry of a store (package flow/file/store) that a test has edited the
// checksum of its content.
func Sign(entry string) []byte {
	sum, rest, _ := strings.Cut(entry, "\",")
	return fmt.Appendf(nil, "%s%x\",%s", sum[:len(sum)-2*sha256.Size], sha256.Sum256([]byte(rest)), rest)
}

// FlipBits flips some bits of a file, one at a time, and calls each after each.
func FlipBits(t *testing.T, path string, each func(what string)) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < 8*len(content); i += 8*len(content)/64 | 1 {
		b := bytes.Clone(content)
		b[i/8] ^= 1 << (i % 8)
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		each(fmt.Sprintf("bit %d of byte %d (%q)", i%8, i/8, content[i/8]))
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
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

// Main runs the tests of a command, with SANFLOW_LONG or SANFLOW_TEST_POISON set with released
// memory poisoned: a stage that reads a record after its release fails, in the processes that a
// test starts too. That takes two fifths of the processor time. Benchmarks run without.
func Main(m *testing.M) {
	flag.Parse()
	if os.Getenv("SANFLOW_LONG")+os.Getenv("SANFLOW_TEST_POISON") != "" && flag.Lookup("test.bench").Value.String() == "" {
		if err := os.Setenv("SANFLOW_MEM", "poison"); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}
