package labeling

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/sanflow/sanflow/operators/internal/settings"
)

// registry is what Register adds to. It is filled once, by what is linked.
var registry = settings.New[Labeling]()

func init() { // in init, since labelings of labelings parse too
	for name, l := range map[string]Labeling{
		"degree": Degree, "normalized-degree": NormalizedDegree, "wl": WL, "betweenness": Betweenness,
		"closeness": Closeness, "harmonic": Harmonic, "core": Core, "clustering": Clustering,
		"pagerank": PageRank, "eigenvector": Eigenvector, "canonical": Canonical,
		"auto": Auto, "sampled-betweenness": SampledBetweenness{}, "attribute": Attribute{},
	} {
		if err := Register(name, l); err != nil {
			panic("labeling: " + err.Error())
		}
	}
}

// unlisted are the names that Names leaves out: they label nothing without a
// setting, or not by structure alone.
var unlisted = []string{"attribute", "auto", "sampled-betweenness"}

// numbered are the short names that end in a number.
var numbered = []struct {
	prefix string
	least  int
	make   func(i int) Labeling
}{
	{"wl-", 1, func(i int) Labeling { return WeisfeilerLehman{Rounds: i} }},
	{"betweenness-", 1, func(i int) Labeling { return SampledBetweenness{Sources: i} }},
	{"attribute-", 0, func(i int) Labeling { return Attribute{Column: i} }},
	{"category-", 0, func(i int) Labeling { return Attribute{Column: i, Discrete: true} }},
}

// Register makes a labeling of the user's own known by that name to Parse and
// Format, and so to command lines and to recipes in files. base is a struct, or a
// pointer to one; its exported fields are the settings, with the values in base
// where a text does not say otherwise. A name or a type that is registered
// already is refused. It is called before the first Parse, as a program starts.
//
//	err := labeling.Register("triangles", Triangles{})
//	…
//	l, err := labeling.Parse("triangles(least=2)") // Triangles{Least: 2}
func Register(name string, base Labeling) error {
	for _, n := range numbered {
		if _, ok := cutPrefixFold(name, n.prefix); ok {
			return fmt.Errorf("labeling: register: names that begin with %q stand for others", n.prefix)
		}
	}
	if err := registry.Add(name, base); err != nil {
		return fmt.Errorf("labeling: register: %w", err)
	}
	return nil
}

// Names returns the names of the labelings that need no setting, in order.
func Names() []string {
	var names []string
	for _, e := range registry.Entries() {
		if !slices.Contains(unlisted, e.Name) {
			names = append(names, e.Name)
		}
	}
	slices.Sort(names)
	return names
}

// Usage lists all that Parse understands in one line, for the help of a command.
func Usage() string {
	return strings.Join(Names(), ", ") +
		", wl-H (H rounds), betweenness-S (S sampled sources), attribute-I, category-I (node attribute I, from 0)," +
		" and any with settings, as pagerank(damping=0.9) or sampled-betweenness(epsilon=0.01)"
}

// Parse returns the labeling that a text names, as command lines and files spell
// it: a name in any case, see Usage, and settings in parentheses, by comma. A
// setting is the name of a field of the labeling, in any case, and its value as
// JSON; strings do without quotes, true may be left out, and a labeling is
// written as here:
//
//	degree
//	pagerank(damping=0.9)
//	wl-3(attributes, uniform)
//	betweenness-256(seed=7)
//
// "auto" is Auto. Format is the inverse.
func Parse(text string) (Labeling, error) {
	l, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("labeling: %w", err)
	}
	return l, nil
}

// ParseList parses labelings that stand in one text, by comma.
func ParseList(text string) ([]Labeling, error) {
	parts, err := settings.Split(text)
	if err != nil {
		return nil, fmt.Errorf("labeling: %q: %w", text, err)
	}
	var list []Labeling
	for _, part := range parts {
		l, err := Parse(part)
		if err != nil {
			return nil, err
		}
		list = append(list, l)
	}
	return list, nil
}

func parse(text string) (Labeling, error) { return settings.Parse(text, named, kinds()) }

// named returns what a name without settings stands for.
func named(name string) (Labeling, error) {
	if e, ok := registry.Named(name); ok {
		return e.Base, nil
	}
	for _, f := range numbered {
		digits, ok := cutPrefixFold(name, f.prefix)
		if i, err := strconv.ParseUint(digits, 10, 31); ok && err == nil && int(i) >= f.least {
			return f.make(int(i)), nil
		}
	}
	return nil, fmt.Errorf("unknown labeling %q, want one of %s", name, Usage())
}

func cutPrefixFold(s, prefix string) (string, bool) {
	if len(s) < len(prefix) || !strings.EqualFold(s[:len(prefix)], prefix) {
		return s, false
	}
	return s[len(prefix):], true
}

// kinds says how labelings of labelings are written.
func kinds() settings.Kinds {
	return settings.Kinds{reflect.TypeFor[Labeling](): {
		Parse:  func(text string) (any, error) { return parse(text) },
		Format: func(v any) (string, error) { return format(v.(Labeling)) },
	}}
}
