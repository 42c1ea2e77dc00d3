package sources

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/sanflow/sanflow/flow/file"
)

// versions is a bucket of one file, of which each Get has other content of the same size.
type versions struct {
	file.Bucket
	mu  sync.Mutex
	got int
}

const versionSize = 1 << 16

func version(n int) []byte { return bytes.Repeat([]byte{byte('a' + n%26)}, versionSize) }

func (v *versions) Get(_ context.Context, name string) (file.Object, error) {
	if name != "g.edges" {
		return nil, &fs.PathError{Op: "get", Path: name, Err: fs.ErrNotExist}
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.got++
	return versionObject{bytes.NewReader(version(v.got))}, nil
}

func (*versions) List(context.Context, string) ([]string, error) { return nil, nil }

type versionObject struct{ *bytes.Reader }

func (versionObject) Close() error { return nil }

// Processes that copy the file of one URL have copies of their own: each reads the content that it has copied, also
// while others copy and remove, and a process that has removed its copies leaves nothing.
func TestCopiesAreOfOneProcess(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir()) // of os.TempDir
	bucket := &versions{}
	Register(Format{Name: "versions", Schemes: []string{"versions"}, Bucket: func(context.Context, string) (file.Bucket, error) { return bucket, nil }})
	const place = "versions://one/g.edges"
	var first copies
	at, err := first.fetch(t.Context(), place)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(at)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	half := make([]byte, versionSize/2)
	if _, err := io.ReadFull(f, half); err != nil {
		t.Fatal(err)
	}
	var others sync.WaitGroup
	errs := make(chan error, 8)
	for range cap(errs) {
		others.Go(func() {
			errs <- func() error {
				var c copies
				for range 4 {
					one, err := c.fetch(t.Context(), place)
					if err != nil {
						return err
					}
					again, err := c.fetch(t.Context(), place)
					if err != nil || one != again {
						return fmt.Errorf("a second copy %s of %s, %v", again, one, err)
					}
					b, err := os.ReadFile(one)
					if err != nil || len(b) != versionSize || bytes.Count(b, b[:1]) != versionSize {
						return fmt.Errorf("%d bytes, not of one version, %v", len(b), err)
					}
					if err := c.remove(); err != nil {
						return err
					}
				}
				return nil
			}()
		})
	}
	others.Wait()
	for range cap(errs) {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	rest, err := io.ReadAll(f)
	if whole, again := append(half, rest...), version(1); err != nil || !bytes.Equal(whole, again) {
		t.Errorf("%d bytes, not of the version that was copied, %v", len(whole), err)
	}
	if b, err := os.ReadFile(at); err != nil || !bytes.Equal(b, version(1)) {
		t.Errorf("the copy of the first is no longer its own: %v", err)
	}
	if _, err := first.fetch(t.Context(), "versions://one/none.edges"); err == nil || !strings.Contains(err.Error(), "none.edges") {
		t.Errorf("an absent file: %v", err)
	}
	if err := first.remove(); err != nil {
		t.Fatal(err)
	}
	if left, err := filepath.Glob(filepath.Join(os.TempDir(), "*")); err != nil || len(left) > 0 {
		t.Errorf("left over: %q, %v", left, err)
	}
}

// A folder of a bucket whose name has a dot is a folder: with a slash behind it in any case, else where the bucket has
// no file of that name.
func TestFolderWithDot(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	root := t.TempDir()
	Register(Format{Name: "dotted", Schemes: []string{"dotted"}, Bucket: func(_ context.Context, url string) (file.Bucket, error) {
		return file.Dir{Path: filepath.Join(root, filepath.FromSlash(strings.TrimPrefix(url, "dotted://root")))}, nil
	}})
	for _, name := range []string{"v1.2/a.edges", "v1.2/b.edges", "top.edges"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name), []byte("0 1\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for place, want := range map[string]string{
		"dotted://root/v1.2/": "a.edges b.edges", "dotted://root/v1.2": "a.edges b.edges", "dotted://root/v1.2/a.edges": "", "dotted://root/top.edges": "", "dotted://root/v1.2/c.edges": "error",
	} {
		var c copies
		at, err := c.fetch(t.Context(), place)
		if (err != nil) != (want == "error") {
			t.Errorf("%s: %v", place, err)
		}
		entries, _ := os.ReadDir(at)
		var names []string
		for _, e := range entries {
			names = append(names, e.Name())
		}
		if got := strings.Join(names, " "); err == nil && got != want {
			t.Errorf("%s: the files %q, want %q", place, got, want)
		}
		if err := c.remove(); err != nil {
			t.Error(err)
		}
	}
}
