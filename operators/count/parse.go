package count

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/sanflow/sanflow/operators/internal/settings"
	"github.com/sanflow/sanflow/operators/labeling"
)

// registry is what Register adds to. It is filled once, by what is linked.
var registry = settings.New[Counter]()

func init() {
	for name, c := range map[string]Counter{
		"wl": WL{}, "labels": Labels{}, "size": Size{}, "paths": Paths{}, "fields": Fields{}, "graphlets": Graphlets{},
		"profiles": Profiles{}, "statistics": Statistics{}, "attributes": Attributes{},
		"around": Around{}, "pair": Pair{},
	} {
		if err := Register(name, c); err != nil {
			panic("count: " + err.Error())
		}
	}
}

// Register makes a counter of the user's own known by that name to Parse and
// Format, and so to recipes in files. base is a struct, or a pointer to one; its
// exported fields are the settings, with the values in base where a text does not
// say otherwise. A name or a type that is registered already is refused. It is
// called before the first Parse, as a program starts.
func Register(name string, base Counter) error {
	if err := registry.Add(name, base); err != nil {
		return fmt.Errorf("count: register: %w", err)
	}
	return nil
}

// Names returns the names that Parse knows, in order.
func Names() []string {
	var names []string
	for _, e := range registry.Entries() {
		names = append(names, e.Name)
	}
	slices.Sort(names)
	return names
}

// Parse returns the counter that a text names: a name in any case, and settings in
// parentheses, by comma. A setting is the name of a field of the counter, in any
// case, and its value as JSON; true may be left out, and a labeling is written as
// labeling.Parse reads it:
//
//	size
//	wl(height=2, plain)
//
// Format is the inverse.
func Parse(text string) (Counter, error) {
	c, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("count: %w", err)
	}
	return c, nil
}

func parse(text string) (Counter, error) {
	return settings.Parse(text, func(name string) (Counter, error) {
		if e, ok := registry.Named(name); ok {
			return e.Base, nil
		}
		return nil, fmt.Errorf("unknown counter %q, want one of %s", name, strings.Join(Names(), ", "))
	}, interfaces)
}

// ParseList parses counters that stand in one text, by comma.
func ParseList(text string) ([]Counter, error) {
	parts, err := settings.Split(text)
	if err != nil {
		return nil, fmt.Errorf("count: %q: %w", text, err)
	}
	var list []Counter
	for _, part := range parts {
		c, err := Parse(part)
		if err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	return list, nil
}

// interfaces says how labelings are written.
var interfaces = settings.Kinds{reflect.TypeFor[labeling.Labeling](): {
	Parse:  func(text string) (any, error) { return labeling.Parse(text) },
	Format: func(v any) (string, error) { return labeling.Format(v.(labeling.Labeling)) },
}}

// Format writes a counter with all its settings, such as "wl(height=2)", so that
// Parse returns one that is equal to it. A counter whose type is not registered is
// an error, and so is one with a setting that no text holds.
func Format(c Counter) (string, error) {
	text, err := format(c)
	if err != nil {
		return "", fmt.Errorf("count: %w", err)
	}
	return text, nil
}

func format(c Counter) (string, error) {
	if c == nil {
		return "", errors.New("the counter is nil")
	}
	e, ok := registry.Typed(c)
	if !ok {
		return "", fmt.Errorf("%T is not known by a name: count.Register gives it one", c)
	}
	text, err := settings.Write(e.Name, e.Base, c, interfaces)
	if err != nil {
		return "", fmt.Errorf("%s: %w", e.Name, err)
	}
	if back, err := parse(text); err != nil || !reflect.DeepEqual(back, c) {
		return "", fmt.Errorf("%#v is more than %s says", c, text)
	}
	return text, nil
}

// describe is Format for String, which has no error to return.
func describe(c Counter) string {
	e, _ := registry.Typed(c)
	text, err := settings.Write(e.Name, e.Base, c, interfaces)
	if err != nil {
		return e.Name
	}
	return text
}
