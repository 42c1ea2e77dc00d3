package settings

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Language reads and writes values of an interface type T as texts: a name, and settings in
// parentheses. Packages labeling and count use it.
type Language[T any] struct {
	Package string // prefix of errors
	What    string // noun for a T in errors
	Registry[T]

	// Other returns the value of a name that is not registered; nil for none.
	Other func(name string) (T, bool)
	// Unlisted are names that Names leaves out. Also is the text that Usage adds.
	Unlisted []string
	Also     string
}

// Start registers the first names when a program starts.
func (l *Language[T]) Start(names map[string]T) {
	for name, base := range names {
		if err := l.Register(name, base); err != nil {
			panic(err.Error())
		}
	}
}

// Register adds a name.
func (l *Language[T]) Register(name string, base T) error {
	if err := l.Add(name, base); err != nil {
		return fmt.Errorf("%s: register: %w", l.Package, err)
	}
	return nil
}

// Names returns the names in order.
func (l *Language[T]) Names() []string {
	var names []string
	for _, e := range l.Entries() {
		if !slices.Contains(l.Unlisted, e.Name) {
			names = append(names, e.Name)
		}
	}
	slices.Sort(names)
	return names
}

// Usage returns one line about all that Parse accepts.
func (l *Language[T]) Usage() string { return strings.Join(l.Names(), ", ") + l.Also }

// Parse returns the value of a text.
func (l *Language[T]) Parse(text string) (T, error) {
	v, err := l.parse(text)
	return v, l.wrap(err)
}

// ParseList parses a list of values separated by commas.
func (l *Language[T]) ParseList(text string) ([]T, error) {
	parts, err := Split(text)
	if err != nil {
		return nil, l.wrap(fmt.Errorf("%q: %w", text, err))
	}
	var list []T
	for _, part := range parts {
		v, err := l.Parse(part)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, nil
}

// Format returns a text that Parse reads back to an equal value.
func (l *Language[T]) Format(v T) (string, error) {
	text, err := l.format(v)
	return text, l.wrap(err)
}

// Describe returns name and the settings in which v differs from base, for String methods, which
// return no error. It returns name alone if a setting cannot be written.
func (l *Language[T]) Describe(name string, base, v T) string {
	text, err := Write(name, base, v, l.kinds())
	if err != nil {
		return name
	}
	return text
}

func (l *Language[T]) wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", l.Package, err)
}

func (l *Language[T]) parse(text string) (v T, err error) {
	v, err = Parse(text, func(name string) (T, error) {
		if e, ok := l.Named(name); ok {
			return e.Base, nil
		}
		if l.Other != nil {
			if v, ok := l.Other(name); ok {
				return v, nil
			}
		}
		var none T
		return none, fmt.Errorf("unknown %s %q, want one of %s", l.What, name, l.Usage())
	}, l.kinds())
	if err != nil {
		var none T
		return none, err
	}
	return v, nil
}

func (l *Language[T]) format(v T) (string, error) {
	if any(v) == nil {
		return "", fmt.Errorf("the %s is nil", l.What)
	}
	e, ok := l.Typed(v)
	if !ok {
		return "", fmt.Errorf("%T is not known by a name: %s.Register gives it one", v, l.Package)
	}
	text, err := Write(e.Name, e.Base, v, l.kinds())
	if err != nil {
		return "", fmt.Errorf("%s: %w", e.Name, err)
	}
	if back, err := l.parse(text); err != nil || !reflect.DeepEqual(back, v) {
		return "", fmt.Errorf("%#v is more than %s says", v, text)
	}
	return text, nil
}

// kinds returns how settings of type T are read and written.
func (l *Language[T]) kinds() Kinds {
	return Kinds{reflect.TypeFor[T](): {
		Parse:  func(text string) (any, error) { return l.parse(text) },
		Format: func(v any) (string, error) { return l.format(v.(T)) },
	}}
}
