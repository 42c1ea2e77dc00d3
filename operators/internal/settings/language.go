package settings

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Language is how values of type T, an interface, are written in texts: a name, and
// settings in parentheses. It is what packages labeling and count offer.
type Language[T any] struct {
	Package string // stands in front of errors
	What    string // a T is
	Registry[T]

	// Other returns what a name stands for that is not registered; nil = nothing.
	Other func(name string) (T, bool)
	// Unlisted are the names that Names leaves out, and Also says in Usage what else
	// there is.
	Unlisted []string
	Also     string
}

// Start registers the first names, as a program starts.
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

// Usage lists all that Parse understands in one line.
func (l *Language[T]) Usage() string { return strings.Join(l.Names(), ", ") + l.Also }

// Parse returns what a text names.
func (l *Language[T]) Parse(text string) (T, error) {
	v, err := l.parse(text)
	return v, l.wrap(err)
}

// ParseList parses values that stand in one text, by comma.
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

// Format writes a value so that Parse returns one that is equal to it.
func (l *Language[T]) Format(v T) (string, error) {
	text, err := l.format(v)
	return text, l.wrap(err)
}

// Describe writes the settings in which v differs from base behind name, for a String
// that has no error to return: of a setting that cannot be written the name is left.
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

// kinds is how a T within a T is written.
func (l *Language[T]) kinds() Kinds {
	return Kinds{reflect.TypeFor[T](): {
		Parse:  func(text string) (any, error) { return l.parse(text) },
		Format: func(v any) (string, error) { return l.format(v.(T)) },
	}}
}
