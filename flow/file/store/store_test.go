package store_test

import (
	"bytes"
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/flow/file"
	"github.com/sanflow/sanflow/flow/file/store"
	"github.com/sanflow/sanflow/internal/filetest"
)

func Example() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	work := func() error {
		s, err := store.Open(nil, dir)
		if err != nil {
			return err
		}
		defer s.Close()
		if err := s.Begin([]store.Setting{{Name: "-seed", Value: "1"}}, true); err != nil {
			return err
		}
		score := 0.0
		ok, err := s.Get("fold-0", &score)
		if err != nil {
			return err
		}
		if !ok {
			fmt.Println("computed")
			score = 86.691
			err = s.Put("fold-0", score)
		}
		fmt.Println(score)
		return err
	}
	for range 2 {
		if err := work(); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// computed
	// 86.691
	// 86.691
}

// cell is a value.
type cell struct {
	System string    `json:"system"`
	Mean   float64   `json:"mean"`
	Folds  []float64 `json:"folds"`
}

var (
	settings = []store.Setting{{Name: "-seed", Value: "1"}, {Name: "-folds", Value: "10"}}
	wl       = cell{"wl", 86.691, []float64{85, 88.382}}
)

// begun opens a directory with the settings.
func begun(t *testing.T, fsys file.FS, dir string, of []store.Setting, resume bool) *store.Store {
	t.Helper()
	s, err := store.Open(fsys, dir)
	if err == nil {
		err = s.Begin(of, resume)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// kept returns a directory with one entry, and the file of that.
func kept(t *testing.T) (dir, path string) {
	t.Helper()
	dir = t.TempDir()
	s := begun(t, nil, dir, settings, false)
	if err := errors.Join(s.Put("wl", wl), s.Close()); err != nil {
		t.Fatal(err)
	}
	return dir, s.Path("wl")
}

// A flip of any bit of an entry or of the settings, and every truncation, is refused
// with an error that names the file.
func TestBitFlips(t *testing.T) {
	dir, path := kept(t)
	for _, path := range []string{path, filepath.Join(dir, "run.json")} {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		s := begun(t, nil, dir, settings, true)
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		tried := 0
		refused := func(what string, b []byte) {
			t.Helper()
			_, err := f.WriteAt(b, 0) // which is quicker than a new file
			if err := errors.Join(err, f.Truncate(int64(len(b)))); err != nil {
				t.Fatal(err)
			}
			var got cell
			err = s.Begin(settings, true)
			if err == nil {
				_, err = s.Get("wl", &got)
			}
			if !errors.Is(err, store.ErrDamaged) || !strings.Contains(err.Error(), path) || !reflect.DeepEqual(got, cell{}) {
				t.Errorf("%s: %+v, %v", what, got, err)
			}
			tried++
		}
		for i := range content {
			for bit := range 8 {
				b := bytes.Clone(content)
				b[i] ^= 1 << bit
				refused(fmt.Sprintf("bit %d of byte %d (%q)", bit, i, content[i]), b)
			}
			refused(fmt.Sprintf("the first %d bytes", i), content[:i])
		}
		refused("a byte more", append(bytes.Clone(content), '\n'))
		t.Logf("%s: %d files were refused", filepath.Base(path), tried)
		if err := errors.Join(f.Close(), os.WriteFile(path, content, 0o600), s.Close()); err != nil {
			t.Fatal(err)
		}
	}
}

// An entry of another name, of another run or of another version is refused.
func TestForeign(t *testing.T) {
	dir, path := kept(t)
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s := begun(t, nil, dir, settings, true)
	if err := os.WriteFile(s.Path("sp"), content, 0o600); err != nil {
		t.Fatal(err)
	}
	var got cell
	if _, err := s.Get("sp", &got); !errors.Is(err, store.ErrDamaged) || !strings.Contains(err.Error(), `it is the entry "wl"`) {
		t.Errorf("another name: %v", err)
	}
	if ok, err := s.Get("wl", &got); !ok || err != nil || !reflect.DeepEqual(got, wl) {
		t.Errorf("%t, %v: %+v", ok, err, got)
	}
	if ok, err := s.Get("rw", &got); ok || err != nil {
		t.Errorf("%t, %v of no entry", ok, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	other := begun(t, nil, t.TempDir(), []store.Setting{{Name: "-seed", Value: "2"}}, false)
	defer other.Close()
	if err := os.WriteFile(other.Path("wl"), content, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Get("wl", &got); !errors.Is(err, store.ErrDamaged) || !strings.Contains(err.Error(), "other settings") {
		t.Errorf("another run: %v", err)
	}
	for _, name := range []string{"", ".", "..", ".a", "a/b", "../a"} {
		if err := other.Put(name, 1); err == nil {
			t.Errorf("%q is a name", name)
		}
	}
	if err := other.Put("function", func() {}); err == nil || !strings.Contains(err.Error(), "store: function") {
		t.Errorf("a function: %v", err)
	}
}

// A run is resumed with its settings alone, and where that is asked for.
func TestBegin(t *testing.T) {
	dir, _ := kept(t)
	for _, c := range []struct {
		settings []store.Setting
		resume   bool
		want     string
	}{
		{settings, false, dir + " holds a run"},
		{settings[:1], true, "another version"},
		{[]store.Setting{settings[0], {Name: "-folds", Value: "5"}}, true, "is of a run with -folds 10, this one has -folds 5"},
		{settings, true, ""},
	} {
		s, err := store.Open(nil, dir)
		if err != nil {
			t.Fatal(err)
		}
		err = s.Begin(c.settings, c.resume)
		if got := fmt.Sprint(err); c.want == "" && err != nil || !strings.Contains(got, c.want) && c.want != "" || errors.Is(err, store.ErrBegun) != !c.resume {
			t.Errorf("%v, %t: %v, want %q", c.settings, c.resume, err, c.want)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	// A run without a result is replaced.
	dir = t.TempDir()
	for _, of := range [][]store.Setting{settings, settings[:1], nil} {
		if err := begun(t, nil, dir, of, false).Close(); err != nil {
			t.Fatal(err)
		}
	}
	var none *store.Store
	if ok, err := none.Get("a", nil); ok || err != nil || none.Put("a", 1) != nil || none.Close() != nil {
		t.Errorf("%t, %v of no store", ok, err)
	}
}

// Whatever fails and whenever the run is killed, each entry has the old value or the
// new one, or there is an error, and the next run keeps both.
func TestCrash(t *testing.T) {
	first, second, third := wl, cell{"wl", 1, nil}, cell{"sp", 2, nil}
	held, failed := 0, 0
	filetest.Torture(t, func(dir string) {
		s := begun(t, nil, dir, settings, false)
		if err := errors.Join(s.Put("wl", first), s.Close()); err != nil {
			t.Fatal(err)
		}
	}, func(d *filetest.Disk, dir string) error {
		s, err := store.Open(d, dir)
		if err != nil {
			return err
		}
		err = s.Begin(settings, true)
		var got cell
		if err == nil {
			_, err = s.Get("wl", &got)
		}
		if err == nil && !reflect.DeepEqual(got, first) {
			t.Errorf("%+v is believed", got)
		}
		if err == nil {
			err = s.Put("wl", second)
		}
		if err == nil {
			err = s.Put("sp", third)
		}
		return errors.Join(err, s.Close())
	}, func(t *testing.T, o filetest.Outcome) {
		if held++; !o.Done {
			failed++
		}
		s := begun(t, nil, o.Dir, settings, true)
		var a, b cell
		_, err := s.Get("wl", &a)
		ok, err2 := s.Get("sp", &b)
		want := slices.IndexFunc([]cell{first, second}, func(c cell) bool { return reflect.DeepEqual(a, c) })
		if err := errors.Join(err, err2); err != nil || want < 0 || ok && want == 0 || ok && !reflect.DeepEqual(b, third) || o.Done && !ok {
			t.Errorf("%s: %+v, %+v, %v", o.What, a, b, err)
		}
		if err := errors.Join(s.Put("wl", second), s.Put("sp", third), s.Close()); err != nil {
			t.Errorf("%s: the next run: %v", o.What, err)
		}
		if left, _ := os.ReadDir(o.Dir); len(left) != 3 {
			t.Errorf("%s: %v is left", o.What, left)
		}
	})
	t.Logf("%d failures and crashes, after %d of which a result was missing", held, failed)
}

// One process at a time has a directory.
func TestTwoProcesses(t *testing.T) {
	if dir := os.Getenv("STORE_DIR"); dir != "" {
		s, err := store.Open(nil, dir)
		if err != nil {
			fmt.Print(err)
			os.Exit(1)
		}
		s.Close()
		os.Exit(0)
	}
	dir := t.TempDir()
	other := func() string {
		cmd := exec.Command(os.Args[0], "-test.run=^TestTwoProcesses$")
		cmd.Env = append(os.Environ(), "STORE_DIR="+dir)
		out, _ := cmd.Output()
		return string(out)
	}
	s := begun(t, nil, dir, settings, false)
	if _, err := store.Open(nil, dir); !errors.Is(err, file.ErrHeld) {
		t.Errorf("%v in this process, want %v", err, file.ErrHeld)
	}
	if got, want := other(), "cannot write "+dir+": another run is writing it"; got != want {
		t.Errorf("another process: %q, want %q", got, want)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if got := other(); got != "" {
		t.Errorf("after Close: %q", got)
	}
}
