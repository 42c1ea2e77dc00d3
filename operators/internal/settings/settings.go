// Package settings writes settings, the exported fields of a struct, and reads
// them back, for the registries of packages operators and labeling.
package settings

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Registry has values of type T by name. Each is a struct, or a pointer to one, whose exported
// fields are settings. The zero value is empty. It is safe for concurrent use.
type Registry[T any] struct {
	mu      sync.RWMutex
	entries []Entry[T]
}

// Entry is a name and its value with default settings.
type Entry[T any] struct {
	Name string
	Base T
}

// Add registers base under a name. Errors are a name, in any case, or a type that is registered
// already, a base that is no struct, and a setting that cannot be written.
func (r *Registry[T]) Add(name string, base T) error {
	if name == "" || strings.ContainsAny(name, "(),= \t\n\"") {
		return fmt.Errorf("the name %q is empty or has a blank, a quote or one of (),=", name)
	}
	if _, err := Copy(base); err != nil {
		return err
	}
	if err := Unwritable(base); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.entries {
		if strings.EqualFold(e.Name, name) || reflect.TypeOf(e.Base) == reflect.TypeOf(base) {
			return fmt.Errorf("%s is the name of %T already", e.Name, e.Base)
		}
	}
	r.entries = append(r.entries, Entry[T]{name, base})
	return nil
}

// Entries returns all entries in the order of registration.
func (r *Registry[T]) Entries() []Entry[T] {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.entries[:len(r.entries):len(r.entries)]
}

// Named returns the entry of that name, in any case.
func (r *Registry[T]) Named(name string) (Entry[T], bool) {
	for _, e := range r.Entries() {
		if strings.EqualFold(e.Name, name) {
			return e, true
		}
	}
	return Entry[T]{}, false
}

// Typed returns the entry of the type of v.
func (r *Registry[T]) Typed(v T) (Entry[T], bool) {
	for _, e := range r.Entries() {
		if reflect.TypeOf(e.Base) == reflect.TypeOf(v) {
			return e, true
		}
	}
	return Entry[T]{}, false
}

// Field is a setting: an exported field of a struct.
type Field struct {
	Name  string
	Value reflect.Value
}

// Fields returns the exported fields of v, a struct or a pointer to one, in
// their order.
func Fields(v any) []Field {
	x := reflect.Indirect(reflect.ValueOf(v))
	if x.Kind() != reflect.Struct {
		return nil
	}
	var fields []Field
	for i := range x.NumField() {
		if f := x.Type().Field(i); f.IsExported() {
			fields = append(fields, Field{f.Name, x.Field(i)})
		}
	}
	return fields
}

// Unwritable returns an error if v has a setting that no text can represent: a function or a
// channel.
func Unwritable(v any) error {
	for _, f := range Fields(v) {
		if k := f.Value.Kind(); k == reflect.Func || k == reflect.Chan {
			return fmt.Errorf("%T cannot be written: its setting %s is a %v", v, f.Name, k)
		}
	}
	return nil
}

// Changed returns the fields of v that differ from those of base, which is of
// the same type.
func Changed(base, v any) []Field {
	var changed []Field
	before := Fields(base)
	for i, f := range Fields(v) {
		if !reflect.DeepEqual(before[i].Value.Interface(), f.Value.Interface()) {
			changed = append(changed, f)
		}
	}
	return changed
}

// Copied is a copy of a base whose fields can be set.
type Copied[T any] struct{ at reflect.Value } // pointer to the copied struct

// Copy returns a shallow copy of base. Setting a field replaces what base refers to and does not
// change it.
func Copy[T any](base T) (Copied[T], error) {
	v := reflect.ValueOf(base)
	if v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct {
		return Copied[T]{}, fmt.Errorf("%T is neither a struct nor a pointer to one", base)
	}
	at := reflect.New(v.Type())
	at.Elem().Set(v)
	return Copied[T]{at}, nil
}

// Field returns the exported field of that name, in any case.
func (c Copied[T]) Field(name string) (Field, error) {
	fields := Fields(c.at.Interface())
	names := make([]string, len(fields))
	for i, f := range fields {
		if strings.EqualFold(f.Name, name) {
			return f, nil
		}
		names[i] = f.Name
	}
	if len(fields) == 0 {
		return Field{}, fmt.Errorf("there is no setting %q, nor any other", name)
	}
	return Field{}, fmt.Errorf("there is no setting %q, want one of %s", name, strings.Join(names, ", "))
}

// Value returns the copy as a struct or a pointer, as base is.
func (c Copied[T]) Value(base T) T {
	if reflect.TypeOf(base).Kind() == reflect.Pointer {
		return c.at.Interface().(T)
	}
	return c.at.Elem().Interface().(T)
}

// FromJSON sets the variable that into points to from one JSON value. An unknown field of an object
// is an error. Elements of slices and maps are replaced, not written to. null leaves a variable
// unchanged that cannot be nil.
func FromJSON(text []byte, into any) error {
	to := reflect.ValueOf(into).Elem()
	next := reflect.New(to.Type())
	if string(bytes.TrimSpace(text)) == "null" {
		next.Elem().Set(to)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(next.Interface()); err != nil {
		return Plain(err)
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("there is more behind it")
	}
	to.Set(next.Elem())
	return nil
}

// Shown returns text for a line of an error: quoted if it has control characters or is not UTF-8.
func Shown(text string) string {
	if utf8.ValidString(text) && !strings.ContainsFunc(text, unicode.IsControl) {
		return text
	}
	return strconv.Quote(text)
}

// Plain returns an error of package json without its prefix, for use behind the name of a setting.
func Plain(err error) error {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		return fmt.Errorf("it is of the kind %s, want %s", wrong.Value, wrong.Type)
	}
	return errors.New(strings.TrimPrefix(err.Error(), "json: "))
}
