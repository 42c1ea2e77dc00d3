package checkpoint_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/flow/event"
	"github.com/sanflow/sanflow/flow/event/checkpoint"
	"github.com/sanflow/sanflow/flow/file"
	"github.com/sanflow/sanflow/flow/file/store"
)

func stream(n int) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		for i := range n {
			if !yield(event.Event{Pos: int64(i), Time: int64(i), Target: int32(i)}, nil) {
				return
			}
		}
	}
}

// sum is a part: the bytes of all events.
type sum struct{ all []byte }

func (s *sum) part() checkpoint.Part {
	return checkpoint.Part{
		Name: "sum", Save: func(w io.Writer) error { _, err := w.Write(s.all); return err },
		Load: func(r io.Reader) (err error) { s.all, err = io.ReadAll(r); return err },
	}
}

func file1(t testing.TB, every int) checkpoint.File {
	return checkpoint.File{Path: filepath.Join(t.TempDir(), "run"), Every: every, Resume: true}
}

// Runs over the beginnings of a stream, one after another, come to the state of one run;
// each has the events that the file does not know.
func TestResume(t *testing.T) {
	f := file1(t, 10)
	for _, n := range []int{0, 5, 10, 19, 20, 20, 21, 47, 100, 100, 300} {
		s := &sum{}
		run, err := f.Open(s.part())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Open(s.part()); !errors.Is(err, file.ErrHeld) {
			t.Errorf("two runs: %v", err)
		}
		from := run.Pos()
		begin := from
		for e, err := range run.Events(stream(n)) {
			if err != nil || e.Pos != from {
				t.Fatalf("event %d, want %d (%v)", e.Pos, from, err)
			}
			s.all = e.Append(s.all)
			from++
			if err := run.Save(); err != nil {
				t.Fatal(err)
			}
		}
		if from != int64(n) || begin%10 != 0 {
			t.Errorf("the run was from %d to %d, want to %d", begin, from, n)
		}
		if err := run.Close(); err != nil {
			t.Fatal(err)
		}
		var want []byte
		for e := range stream(n) {
			want = e.Append(want)
		}
		if !bytes.Equal(s.all, want) {
			t.Errorf("%d events: another state", n)
		}
	}
}

func TestRefuses(t *testing.T) {
	f := file1(t, 10)
	f.Settings = []store.Setting{{Name: "-seed", Value: "1"}}
	s := &sum{}
	run, err := f.Open(s.part())
	if err != nil {
		t.Fatal(err)
	}
	for range run.Events(stream(20)) {
		s.all = append(s.all, 1)
		if err := run.Save(); err != nil {
			t.Fatal(err)
		}
	}
	run.Close()
	saved, err := os.ReadFile(f.Path)
	if err != nil {
		t.Fatal(err)
	}
	refuse := func(f checkpoint.File, want string, parts ...checkpoint.Part) {
		t.Helper()
		if _, err := f.Open(parts...); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v, want %q", err, want)
		}
	}
	other := f
	other.Settings = []store.Setting{{Name: "-seed", Value: "2"}}
	refuse(other, "it is of a run with -seed 1, this one has -seed 2", s.part())
	other.Settings = nil
	refuse(other, "more settings", s.part())
	other.Settings = append(f.Settings, store.Setting{Name: "-x"})
	refuse(other, "without the setting -x", s.part())
	refuse(f, `want the part "model"`, checkpoint.Part{Name: "model", Save: s.part().Save, Load: s.part().Load})
	refuse(f, "a part is longer", checkpoint.Part{Name: "sum", Load: func(io.Reader) error { return nil }})
	refuse(f, "it has 1 parts, want 2", s.part(), s.part())
	refuse(checkpoint.File{Resume: true}, "no Path")
	refuse(checkpoint.File{Path: f.Path, Every: -1}, "Every is -1")
	f.Resume = false
	refuse(f, "holds a run", s.part())
	f.Resume = true
	for i := 0; i < len(saved); i += 3 {
		bad := bytes.Clone(saved)
		bad[i] ^= 1
		for _, b := range [][]byte{bad, saved[:i], append(bytes.Clone(saved), 0)} {
			if err := os.WriteFile(f.Path, b, 0o644); err != nil {
				t.Fatal(err)
			}
			refuse(f, "cannot be resumed", s.part())
		}
	}
}

// A checkpoint with changed bytes and the right checksum is refused, or is one of a run.
func FuzzFile(f *testing.F) {
	set := file1(f, 3)
	s := &sum{}
	run, err := set.Open(s.part())
	if err != nil {
		f.Fatal(err)
	}
	for e := range run.Events(stream(10)) {
		if s.all = e.Append(s.all); run.Save() != nil {
			f.Fatal("no checkpoint")
		}
	}
	run.Close()
	saved, err := os.ReadFile(set.Path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(saved[:len(saved)-sha256.Size])
	f.Fuzz(func(t *testing.T, b []byte) {
		sha := sha256.Sum256(b)
		set := file1(t, 3)
		if err := os.WriteFile(set.Path, append(bytes.Clone(b), sha[:]...), 0o644); err != nil {
			t.Fatal(err)
		}
		run, err := set.Open(new(sum).part())
		if err != nil {
			return
		}
		defer run.Close()
		for _, err := range run.Events(stream(20)) {
			if err != nil {
				return
			}
		}
	})
}
