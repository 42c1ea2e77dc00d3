package manifest_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/flow/file"
	"github.com/sanflow/sanflow/flow/manifest"
)

// The directory was written by the first version that had manifests.
func Example() {
	const dir = "testdata/v1"
	m, err := manifest.Read(dir)
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range m.Files {
		fmt.Println(f.Name, f.Rows, "rows,", f.Bytes, "bytes", f.Verify(context.Background(), file.Dir{Path: dir}))
	}
	fmt.Println(m.Rows, "rows")
	// Output:
	// part-00000.arrow 5 rows, 5898 bytes <nil>
	// part-00001.arrow 1 rows, 4514 bytes <nil>
	// part-00002.arrow 6 rows, 6722 bytes <nil>
	// 12 rows
}

// What to read of a directory is what its manifest names, or all files of a kind
// if there is none, unless a run has begun to put files there.
func TestList(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	check := func(want ...string) {
		t.Helper()
		m, err := manifest.List(t.Context(), file.Dir{Path: dir}, ".a", ".b")
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, f := range m.Files {
			names = append(names, f.Name)
		}
		if !slices.Equal(names, want) {
			t.Errorf("%q, want %q", names, want)
		}
	}
	check()
	for _, name := range []string{"2.b", "1.a", "3.c", ".4.a"} {
		put(name, "")
	}
	check("1.a", "2.b")
	put(".unfinished-1.a", "")
	if _, err := manifest.List(t.Context(), file.Dir{Path: dir}, ".a"); err == nil || !strings.Contains(err.Error(), "has not finished") {
		t.Errorf("%v, want that a run has not finished", err)
	}
	put(manifest.Name, `{"version":1,"files":[{"name":"3.c"}]}`)
	check("3.c")
	put(manifest.Name, `{`)
	if _, err := manifest.List(t.Context(), file.Dir{Path: dir}, ".a"); err == nil {
		t.Error("a manifest that is damaged is taken for none")
	}
	if _, err := manifest.List(t.Context(), file.Dir{Path: filepath.Join(dir, "no")}); err == nil {
		t.Error("there is no directory, and no error")
	}
}
