// Package store keeps the results of a long run in a directory, so that the run can
// be stopped at any moment, also by a loss of power, and resumed:
//
//	s, err := store.Open(nil, "run")
//	if err != nil {
//		return err // no place to write to, or another process has the directory
//	}
//	defer s.Close()
//	err = s.Begin([]store.Setting{{"-seed", "1"}}, true)
//	if err != nil {
//		return err // a run with other settings
//	}
//	for fold := range folds {
//		name, score := fmt.Sprint("fold-", fold), 0.0
//		ok, err := s.Get(name, &score)
//		if err != nil {
//			return err
//		}
//		if !ok {
//			score = learn(fold)
//			err = s.Put(name, score)
//		}
//		…
//	}
//
// An entry is the file NAME.json of the directory: a JSON object with the SHA-256 of
// its content, its name, the checksum of the settings of its run, and the value. It
// appears whole or not at all: see package flow/file.
//
// # What is refused
//
// [Store.Get] returns the value that [Store.Put] was given, or an error that names the file. The
// error is [ErrDamaged] where one bit or more of the file differs, where the file is truncated,
// where it was renamed, and where it is of a run with other settings. Remove the file, and the
// program computes the result again. The store never does that by itself, because a damaged file
// indicates a damaged disk.
//
// One process at a time has a directory: the others get [file.ErrHeld].
package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/sanflow/sanflow/flow/file"
)

var (
	// ErrDamaged is the error of an entry that differs from the output of Put.
	ErrDamaged = errors.New("damaged")
	// ErrBegun is the error of a directory that holds a run which is not to be resumed.
	ErrBegun = errors.New("holds a run")
)

// Setting is one of the values that decide the results of a run.
type Setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Store is an open directory. Its methods may be called by several goroutines. A nil
// Store holds nothing, and Put keeps nothing there.
type Store struct {
	fs   file.FS
	dir  string
	run  string // the checksum of the settings
	lock io.Closer
}

// runName is the name of the entry with the settings.
const runName = "run"

// Open opens a directory and creates a missing one. No other process can open it until Close, or
// until this process ends, however it ends: the error is then [file.ErrHeld]. A nil fsys is the
// file system of this machine.
func Open(fsys file.FS, dir string) (*Store, error) {
	s := &Store{fs: file.Or(fsys), dir: dir}
	_, err := file.MkdirAll(s.fs, dir)
	if err != nil {
		return nil, err
	}
	s.lock, err = file.Lock(s.fs, dir)
	return s, err
}

// Close unlocks the directory.
func (s *Store) Close() error {
	if s == nil || s.lock == nil {
		return nil
	}
	return s.lock.Close()
}

// Begin makes this the run of the directory, or resumes the run that is there. It is
// called before Get and Put. A run with other settings is an error that names the first
// of these. If resume is false, a directory that holds more than settings is
// [ErrBegun]. A run that ended before its first result is replaced.
func (s *Store) Begin(settings []Setting, resume bool) error {
	text, err := json.Marshal(settings)
	if err != nil {
		return err
	}
	var there []Setting
	ok, err := s.Get(runName, &there)
	if err != nil {
		return err
	}
	empty, err := s.empty()
	if err != nil {
		return err
	}
	if !ok || empty {
		err = s.Put(runName, settings)
	} else {
		err = s.resume(there, settings, resume)
	}
	s.run = checksum(text)
	return err
}

// resume returns an error if resume is not set, or if a setting of the stored run, there, differs from that of this run.
func (s *Store) resume(there, settings []Setting, resume bool) error {
	switch {
	case !resume:
		return fmt.Errorf("%s %w", s.dir, ErrBegun)
	case len(there) != len(settings):
		return fmt.Errorf("%s was written by another version of this program", s.dir)
	}
	for i, was := range there {
		if is := settings[i]; was != is {
			return fmt.Errorf("%s is of a run with %s %s, this one has %s %s", s.dir, was.Name, was.Value, is.Name, is.Value)
		}
	}
	return nil
}

// empty reports whether the directory has no entry but that of the settings. Unfinished files do not count.
func (s *Store) empty() (bool, error) {
	entries, err := s.fs.List(s.dir)
	for _, e := range entries {
		if e.Name() != runName+".json" && !strings.HasPrefix(e.Name(), file.Unfinished("")) {
			return false, err
		}
	}
	return true, err
}

// Path returns the file name of an entry.
func (s *Store) Path(name string) string { return filepath.Join(s.dir, name+".json") }

// Get decodes the value of an entry into v, as json.Unmarshal does. ok is false where
// there is no such entry.
func (s *Store) Get(name string, v any) (ok bool, err error) {
	if s == nil {
		return false, nil
	}
	f, err := s.fs.Open(s.Path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	b, err := io.ReadAll(f)
	if err := errors.Join(err, f.Close()); err != nil {
		return false, fmt.Errorf("%s: %w", s.Path(name), err)
	}
	e, err := decode(b)
	switch {
	case err != nil:
	case e.Name != name:
		err = fmt.Errorf("it is the entry %q", e.Name)
	case name != runName && e.Run != s.run:
		err = errors.New("it is of a run with other settings")
	default:
		err = json.Unmarshal(e.Value, v)
	}
	if err != nil {
		return false, fmt.Errorf("%s is %w: %w; remove the file, and the program computes its content again", s.Path(name), ErrDamaged, err)
	}
	return true, nil
}

// Put replaces the value of the entry by a value that json.Marshal can encode. The name is a file
// name without a directory. When Put returns nil, the value is durable. After an error the entry
// has the old or the new value.
func (s *Store) Put(name string, v any) error {
	if s == nil {
		return nil
	}
	if name == "" || strings.HasPrefix(name, ".") || name != filepath.Base(name) {
		return fmt.Errorf("store: %q is no name of a file", name)
	}
	value, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("store: %s: %w", name, err)
	}
	e := entry{Version: version, Name: name, Value: value}
	if name != runName {
		e.Run = s.run
	}
	b, err := e.encode()
	if err != nil {
		return fmt.Errorf("store: %s: %w", name, err)
	}
	return file.Write(s.fs, s.Path(name), func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	})
}
