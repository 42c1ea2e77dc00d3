package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"strings"
	"testing"
)

// sign gives an entry of a store (package flow/file/store) that a test has edited the
// checksum of its content.
func sign(entry string) []byte {
	sum, rest, _ := strings.Cut(entry, "\",")
	return fmt.Appendf(nil, "%s%x\",%s", sum[:len(sum)-2*sha256.Size], sha256.Sum256([]byte(rest)), rest)
}

// flipBits flips some bits of a file, one at a time, and calls each after each.
func flipBits(t *testing.T, path string, each func(what string)) {
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
