package manifest_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow/file"
	"github.com/sanflow/sanflow/flow/manifest"
)

// A fingerprint depends on names, types, metadata and the order of columns, and
// not on that of metadata.
func TestFingerprint(t *testing.T) {
	field := func(name string, typ arrow.DataType, keys, values []string) arrow.Field {
		return arrow.Field{Name: name, Type: typ, Metadata: arrow.NewMetadata(keys, values)}
	}
	i32, i64 := arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64
	a := field("a", i32, []string{"x", "y"}, []string{"1", "2"})
	b := field("b", i32, nil, nil)
	print := func(fields ...arrow.Field) string { return manifest.Fingerprint(arrow.NewSchema(fields, nil)) }
	if print(a, b) != print(field("a", i32, []string{"y", "x"}, []string{"2", "1"}), b) {
		t.Error("the order of metadata makes a difference")
	}
	seen := map[string]bool{print(a, b): true}
	for _, other := range [][]arrow.Field{
		{b, a}, {a}, {a, field("c", i32, nil, nil)}, {a, field("b", i64, nil, nil)},
		{field("a", i32, []string{"x", "y"}, []string{"1", "3"}), b}, {field("a", i32, []string{"x"}, []string{"1"}), b},
	} {
		if seen[print(other...)] {
			t.Errorf("%v is taken for another", other)
		}
		seen[print(other...)] = true
	}
}

func TestVerify(t *testing.T) {
	dir := t.TempDir()
	text := strings.Repeat("content", 1000)
	if err := os.WriteFile(filepath.Join(dir, "a"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte(text))
	good := manifest.File{Name: "a", Bytes: int64(len(text)), SHA256: hex.EncodeToString(sum[:])}
	ctx := context.Background()
	if err := good.Verify(ctx, file.Dir{Path: dir}); err != nil {
		t.Error(err)
	}
	if got, err := manifest.Sum(filepath.Join(dir, "a")); err != nil || got != good.SHA256 {
		t.Errorf("the sum is %s, want %s: %v", got, good.SHA256, err)
	}
	if _, err := manifest.Sum(filepath.Join(dir, "b")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the sum of no file: %v", err)
	}
	for want, f := range map[string]manifest.File{
		"has 7000 bytes, want 6999": {Name: "a", Bytes: 6999, SHA256: good.SHA256},
		"it was changed or damaged": {Name: "a", Bytes: 7000, SHA256: strings.Repeat("0", 64)},
		"no such file":              {Name: "b"},
	} {
		if err := f.Verify(ctx, file.Dir{Path: dir}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want one with %q", err, want)
		}
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if err := good.Verify(ended, file.Dir{Path: dir}); err != context.Canceled {
		t.Errorf("%v, want %v", err, context.Canceled)
	}
}
