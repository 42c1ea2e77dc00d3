package filetest_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/sanflow/sanflow/flow/file"
	"github.com/sanflow/sanflow/internal/filetest"
)

// Writers that leave something out. Each is caught by a crash that shows neither
// what was there before nor what was to be there.
func TestBadWriters(t *testing.T) {
	for name, c := range map[string]struct {
		good  bool
		write func(fsys file.FS, path string) error
	}{
		"good":         {true, careful(true, true, true)},
		"in place":     {false, careful(false, true, true)},
		"no sync":      {false, careful(true, false, true)},
		"no directory": {false, careful(true, true, false)},
		"package file": {true, func(fsys file.FS, path string) error { return file.Write(fsys, path, text("new content")) }},
		"removes what was": {false, func(fsys file.FS, path string) error {
			return errors.Join(fsys.Remove(path), careful(true, true, true)(fsys, path))
		}},
	} {
		wrong := ""
		filetest.Torture(t, func(dir string) { put(t, filepath.Join(dir, "a"), "old content") },
			func(d *filetest.Disk, dir string) error { return c.write(d, filepath.Join(dir, "a")) },
			func(t *testing.T, o filetest.Outcome) {
				b, _ := os.ReadFile(filepath.Join(o.Dir, "a"))
				if s := string(b); s != "new content" && (o.Done || s != "old content") {
					wrong = o.What + ": " + s
				}
			})
		if c.good != (wrong == "") {
			t.Errorf("%s: %q", name, wrong)
		}
	}
}

// careful is a writer that can be made to leave out something.
func careful(beside, sync, syncDir bool) func(fsys file.FS, path string) error {
	return func(fsys file.FS, path string) (err error) {
		name := path
		if beside {
			name += ".tmp"
		}
		f, err := fsys.Create(name)
		if err != nil {
			return err
		}
		_, err = f.Write([]byte("new content"))
		if sync && err == nil {
			err = f.Sync()
		}
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
		if beside {
			if err := fsys.Rename(name, path); err != nil {
				return err
			}
		}
		if syncDir {
			return fsys.SyncDir(filepath.Dir(path))
		}
		return nil
	}
}

// An error is that of the operation asked for, once; half of a write is there.
func TestFail(t *testing.T) {
	dir := t.TempDir()
	d := filetest.New(t, dir)
	d.Fail = func(n int, _ filetest.Op) error {
		if n == 1 {
			return syscall.ENOSPC
		}
		return nil
	}
	f, err := d.Create(filepath.Join(dir, "a"))
	if err != nil {
		t.Fatal(err)
	}
	if n, err := f.Write([]byte("12345678")); n != 4 || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("%d bytes, %v, want 4 and %v", n, err, syscall.ENOSPC)
	}
	if _, err := f.Write([]byte("90")); err != nil {
		t.Error(err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "a")); string(b) != "123490" {
		t.Errorf("%q, %v", b, err)
	}
	for loss, want := range map[filetest.Loss]string{filetest.None: "123490", filetest.All: ""} {
		b, err := os.ReadFile(filepath.Join(d.Crash(t, d.Len(), loss, 0), "a"))
		if string(b) != want || (err == nil) != (loss == filetest.None) {
			t.Errorf("%q, %v after a crash, want %q", b, err, want)
		}
	}
	if d.Count() != 4 || d.Len() != 3 {
		t.Errorf("%d operations, %d changes, want 4 and 3", d.Count(), d.Len())
	}
}
