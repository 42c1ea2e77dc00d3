package labeling

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/sanflow/sanflow/operators/internal/settings"
)

// language reads and writes labelings. Its registry is complete once the program has started.
var language = settings.Language[Labeling]{
	Package: "labeling", What: "labeling", Other: fromNumbered,
	// Unlisted labelings label nothing without a setting, or depend on more than structure.
	Unlisted: []string{"attribute", "auto", "sampled-betweenness"},
	Also: ", wl-H (H rounds), betweenness-S (S sampled sources), attribute-I, category-I (node attribute I, from 0)," +
		" and any with settings, as pagerank(damping=0.9) or sampled-betweenness(seed=7)",
}

func init() { // in init, since settings of labelings are parsed by language too
	language.Start(map[string]Labeling{
		"degree": Degree, "normalized-degree": NormalizedDegree, "wl": WL, "betweenness": Betweenness,
		"closeness": Closeness, "harmonic": Harmonic, "core": Core, "clustering": Clustering,
		"pagerank": PageRank, "eigenvector": Eigenvector, "canonical": Canonical,
		"auto": Auto, "sampled-betweenness": SampledBetweenness{}, "attribute": Attribute{},
	})
}

// numbered has the short names that end in a number.
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
	return language.Register(name, base)
}

// Names returns the names of the labelings that need no setting, in order.
func Names() []string { return language.Names() }

// Usage describes the syntax of Parse in one line, for the help of a command.
func Usage() string { return language.Usage() }

// Parse returns the labeling of a text, as in command lines and files: a name in any case, see
// Usage, and settings in parentheses, separated by commas. A setting is a field name of the
// labeling, in any case, and its value as JSON. Strings need no quotes, true may be omitted,
// and a labeling is written as here:
//
//	degree
//	pagerank(damping=0.9)
//	wl-3(attributes, uniform)
//	betweenness-256(seed=7)
//
// "auto" is Auto. Format is the inverse.
func Parse(text string) (Labeling, error) { return language.Parse(text) }

// ParseList parses a list of labelings, separated by commas.
func ParseList(text string) ([]Labeling, error) { return language.ParseList(text) }

// Format writes a labeling with all its settings, such as
// "sampled-betweenness(sources=50, seed=7)", so that Parse returns one that is
// equal to it. A labeling whose type is not registered is an error, and so is one
// with a setting that no text holds, such as a function or a NaN.
func Format(l Labeling) (string, error) { return language.Format(l) }

// fromNumbered returns the labeling of a name that ends in a number.
func fromNumbered(name string) (Labeling, bool) {
	for _, f := range numbered {
		digits, ok := cutPrefixFold(name, f.prefix)
		if i, err := strconv.ParseUint(digits, 10, 31); ok && err == nil && int(i) >= f.least {
			return f.make(int(i)), true
		}
	}
	return nil, false
}

func cutPrefixFold(s, prefix string) (string, bool) {
	if len(s) < len(prefix) || !strings.EqualFold(s[:len(prefix)], prefix) {
		return s, false
	}
	return s[len(prefix):], true
}

// Auto is a placeholder for the labeling with the smallest θ̂ over a collection (Niepert et al.
// 2016, Theorem 2). The choice needs a collection, so Auto labels nothing: a program that reads the
// name replaces it, as examples/benchmark does. Parse accepts it; Names does not list it.
var Auto Labeling = auto{}

type auto struct{}

func (auto) String() string { return "auto" }

func (auto) Label(Input, []float64) error {
	return errors.New("to be replaced by a labeling that is chosen for the collection")
}
