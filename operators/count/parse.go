package count

import (
	"reflect"

	"github.com/sanflow/sanflow/operators/internal/settings"
	"github.com/sanflow/sanflow/operators/labeling"
)

// language is how counters are written. Its registry is filled by what is linked.
var language = settings.Language[Counter]{
	Package: "count", What: "counter",
	Kinds: settings.Kinds{reflect.TypeFor[labeling.Labeling](): {
		Parse:  func(text string) (any, error) { return labeling.Parse(text) },
		Format: func(v any) (string, error) { return labeling.Format(v.(labeling.Labeling)) },
	}},
}

func init() {
	language.Start(map[string]Counter{
		"wl": WL{}, "labels": Labels{}, "size": Size{}, "paths": Paths{}, "fields": Fields{}, "graphlets": Graphlets{},
		"profiles": Profiles{}, "statistics": Statistics{}, "attributes": Attributes{},
		"around": Around{}, "pair": Pair{},
	})
}

// Register makes a counter of the user's own known by that name to Parse and
// Format, and so to recipes in files. base is a struct, or a pointer to one; its
// exported fields are the settings, with the values in base where a text does not
// say otherwise. A name or a type that is registered already is refused. It is
// called before the first Parse, as a program starts.
func Register(name string, base Counter) error { return language.Register(name, base) }

// Names returns the names that Parse knows, in order.
func Names() []string { return language.Names() }

// Parse returns the counter that a text names: a name in any case, and settings in
// parentheses, by comma. A setting is the name of a field of the counter, in any
// case, and its value as JSON; true may be left out, and a labeling is written as
// labeling.Parse reads it:
//
//	size
//	wl(height=2, plain)
//
// Format is the inverse.
func Parse(text string) (Counter, error) { return language.Parse(text) }

// ParseList parses counters that stand in one text, by comma.
func ParseList(text string) ([]Counter, error) { return language.ParseList(text) }

// Format writes a counter with all its settings, such as "wl(height=2)", so that
// Parse returns one that is equal to it. A counter whose type is not registered is
// an error, and so is one with a setting that no text holds.
func Format(c Counter) (string, error) { return language.Format(c) }

// describe is Format for String, which has no error to return.
func describe(c Counter) string {
	e, _ := language.Typed(c)
	return language.Describe(e.Name, e.Base, c)
}
