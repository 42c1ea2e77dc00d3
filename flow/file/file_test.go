package file_test

import (
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/flow/file"
	"github.com/sanflow/sanflow/internal/filetest"
)

func ExampleWrite() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "answer")
	err = file.Write(nil, path, func(w io.Writer) error {
		_, err := fmt.Fprintln(w, "forty-two")
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	// What cannot be completed changes nothing.
	err = file.Write(nil, path, func(w io.Writer) error {
		fmt.Fprint(w, "forty-t")
		return errors.New("out of ink")
	})
	fmt.Println(err)
	b, err := os.ReadFile(path)
	fmt.Println(strings.TrimSpace(string(b)), err)
	// Output:
	// out of ink
	// forty-two <nil>
}

// list is what a directory holds.
func list(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func text(s string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, s)
		return err
	}
}

// Whatever fails and whenever it is killed, the file is the old or the new, and
// the next run writes it and leaves nothing else.
func TestWrite(t *testing.T) {
	for _, old := range []string{"", "old"} {
		filetest.Torture(t, func(dir string) {
			if old != "" {
				if err := os.WriteFile(filepath.Join(dir, "a"), []byte(old), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}, func(d *filetest.Disk, dir string) error {
			return file.Write(d, filepath.Join(dir, "a"), text(strings.Repeat("new ", 100)))
		}, func(t *testing.T, o filetest.Outcome) {
			b, err := os.ReadFile(filepath.Join(o.Dir, "a"))
			whole := string(b) == strings.Repeat("new ", 100)
			if !whole && (o.Done || string(b) != old || (old == "") != errors.Is(err, os.ErrNotExist)) {
				t.Errorf("%s: the file is %.20q, %v", o.What, b, err)
			}
			if err := file.Write(nil, filepath.Join(o.Dir, "a"), text("next")); err != nil {
				t.Errorf("%s: the next run: %v", o.What, err)
			}
			if names := list(t, o.Dir); len(names) != 1 {
				t.Errorf("%s: there is %v", o.What, names)
			}
		})
	}
}

// One run at a time writes a name, and one at a time has a directory.
func TestHeld(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	for _, c := range []struct {
		name string
		take func() (release func() error, err error)
	}{
		{path, func() (func() error, error) {
			p, err := file.Create(nil, path)
			return p.Discard, err
		}},
		{dir, func() (func() error, error) {
			l, err := file.Lock(nil, dir)
			if err != nil {
				return nil, err
			}
			return l.Close, nil
		}},
	} {
		release, err := c.take()
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.take()
		if !errors.Is(err, file.ErrHeld) || err.Error() != "cannot write "+c.name+": another run is writing it" {
			t.Errorf("%v, want %v", err, file.ErrHeld)
		}
		if out, err := other(c.name); err == nil || !strings.Contains(out, "another run is writing it") {
			t.Errorf("another process: %v, %s", err, out)
		}
		if err := release(); err != nil {
			t.Error(err)
		}
		if out, err := other(c.name); err != nil {
			t.Errorf("another process: %v, %s", err, out)
		}
		if left := list(t, dir); len(left) > 0 {
			t.Errorf("%v is left", left)
		}
	}
}

// other takes a name in another process.
func other(name string) (string, error) {
	cmd := exec.Command(os.Args[0], "-test.run=^TestOther$")
	cmd.Env = append(os.Environ(), "TAKE="+name)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func TestOther(t *testing.T) {
	name := os.Getenv("TAKE")
	if name == "" {
		t.Skip("is run by others")
	}
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		l, err := file.Lock(nil, name)
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
		return
	}
	p, err := file.Create(nil, name)
	if err != nil {
		t.Fatal(err)
	}
	p.Discard()
}

// Many write one name at once: each succeeds or is told, and the file is that of
// one of them, whole.
func TestRace(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	errs := make(chan error)
	for i := range 16 {
		go func() {
			var first error
			for range 20 {
				err := file.Write(nil, path, text(strings.Repeat(fmt.Sprintf("%02d", i), 5000)))
				if err != nil && !errors.Is(err, file.ErrHeld) {
					first = err
				}
			}
			errs <- first
		}()
	}
	for range 16 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	b, err := os.ReadFile(path)
	if err != nil || len(b) != 10000 || strings.Count(string(b), string(b[:2])) != 5000 {
		t.Errorf("%d bytes, %v", len(b), err)
	}
	if names := list(t, dir); len(names) != 1 {
		t.Errorf("there is %v", names)
	}
}

// A path that is no regular file is refused. A link is replaced, neither followed nor
// emptied, even if it appears during the write.
func TestIrregular(t *testing.T) {
	dir := t.TempDir()
	precious := filepath.Join(dir, "precious")
	link := filepath.Join(dir, "link")
	if err := os.WriteFile(precious, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(precious, link); err != nil {
		t.Skip(err)
	}
	if err := file.Write(nil, link, text("new")); err != nil {
		t.Error(err)
	}
	if err := os.Symlink(precious, file.Unfinished(filepath.Join(dir, "a"))); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, os.DevNull, filepath.Join(dir, "a")} {
		if err := file.Write(nil, path, text("new")); err == nil || !strings.HasSuffix(err.Error(), "it is no regular file") {
			t.Errorf("%s: %v, want that it is no regular file", path, err)
		}
	}
	if b, err := os.ReadFile(precious); string(b) != "precious" {
		t.Errorf("what was linked to is %q, %v", b, err)
	}
	if err := file.Write(nil, filepath.Join(dir, "no", "a"), text("")); !errors.Is(err, os.ErrNotExist) || strings.Contains(err.Error(), "unfinished") {
		t.Errorf("%v, want that there is no such directory", err)
	}
}

// The directories that are made last, down to the innermost.
func TestMkdirAll(t *testing.T) {
	filetest.Torture(t, func(string) {}, func(d *filetest.Disk, dir string) error {
		_, err := file.MkdirAll(d, filepath.Join(dir, "a", "b", "c"))
		return err
	}, func(t *testing.T, o filetest.Outcome) {
		if _, err := os.Stat(filepath.Join(o.Dir, "a", "b", "c")); o.Done && err != nil {
			t.Errorf("%s: %v", o.What, err)
		}
	})
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := file.MkdirAll(nil, filepath.Join(dir, "a", "b")); err == nil {
		t.Error("a directory was made in a file")
	}
	if made, err := file.MkdirAll(nil, dir); len(made) > 0 || err != nil {
		t.Errorf("%v, %v of a directory that is there", made, err)
	}
}

// A directory is a bucket.
func TestDir(t *testing.T) {
	filetest.Bucket(t, file.Dir{Path: filepath.Join(t.TempDir(), "new", "dir")})
	for _, name := range []string{"", ".hidden", "a/b", "..", "../a"} {
		d := file.Dir{Path: t.TempDir()}
		if _, err := d.Create(t.Context(), name); err == nil {
			t.Errorf("%q is created", name)
		}
		if _, err := d.Get(t.Context(), name); err == nil {
			t.Errorf("%q is opened", name)
		}
		if err := d.Remove(t.Context(), name); err == nil {
			t.Errorf("%q is removed", name)
		}
	}
}
