package modelfile

import (
	"fmt"
	"io"
	"maps"
	"slices"
)

// kinds has, by the Kind of a file, the function that makes a model of the file.
var kinds = map[string]func(*File) (any, error){}

// Register adds a kind of model for New. restore sets a model to the content of a file. Packages call
// Register when they are initialised.
func Register[M any](kind string, restore func(*M, *File) error) {
	kinds[kind] = func(f *File) (any, error) {
		m := new(M)
		return m, restore(m, f)
	}
}

// New reads a model of any registered kind that is a T. what describes T in errors.
func New[T any](r io.Reader, what string) (t T, err error) {
	f, err := Read(r)
	if err == nil {
		t, err = Restore[T](f, what)
	}
	if err != nil {
		return t, fmt.Errorf("nn: load: %w", err)
	}
	return t, nil
}

// Restore is New for a File.
func Restore[T any](f *File, what string) (t T, err error) {
	restore, ok := kinds[f.Kind]
	if !ok {
		return t, fmt.Errorf("the file holds a model %q, want one of %q: train it anew, or import the package that has such models", f.Kind, slices.Sorted(maps.Keys(kinds)))
	}
	m, err := restore(f)
	if err != nil {
		return t, err
	}
	t, ok = m.(T)
	if !ok {
		return t, fmt.Errorf("the file holds a model %q, which is no %s", f.Kind, what)
	}
	return t, nil
}

// Metadata returns the Info of a model, and creates it if it is nil.
func Metadata(info *map[string]string) map[string]string {
	if *info == nil {
		*info = map[string]string{}
	}
	return *info
}
