package count

import (
	"github.com/sanflow/sanflow/operators/internal/settings"
)

// language is how counters are written. Its registry is filled by what is linked.
var language = settings.Language[Counter]{
	Package: "count", What: "counter",
}

func init() {
	language.Start(map[string]Counter{
		"wl": WL{}, "labels": Labels{}, "size": Size{}, "paths": Paths{}, "fields": Fields{},
		"profiles": Profiles{}, "statistics": Statistics{}, "attributes": Attributes{},
		"around": Around{}, "pair": Pair{},
	})
}

// Register makes your counter known under a name to Parse and Format, and so to recipes in
// files. base is a struct, or a pointer to one. Its exported fields are the settings and their
// values the defaults. A registered name or type is an error. Call it at the start of the
// program, before the first Parse.
func Register(name string, base Counter) error { return language.Register(name, base) }

// Parse returns the counter of a text: a name in any case, and settings in parentheses,
// separated by commas. A setting is a field name of the counter, in any case, and its value as
// JSON. true may be omitted:
//
//	size
//	wl(height=2, rounded)
//
// Format is the inverse.
func Parse(text string) (Counter, error) { return language.Parse(text) }

// Format writes a counter with all its settings, such as "wl(height=2)"; Parse reads an equal
// counter back. A counter whose type is not registered, or with a setting that cannot be
// written, is an error.
func Format(c Counter) (string, error) { return language.Format(c) }

// describe is Format for String, which has no error to return.
func describe(c Counter) string {
	e, _ := language.Typed(c)
	return language.Describe(e.Name, e.Base, c)
}
