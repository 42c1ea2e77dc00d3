package labeling

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// known lists the labelings that Parse finds by a name without a number.
var known []Labeling

func init() {
	known = []Labeling{
		Degree, NormalizedDegree, WL, Betweenness, Closeness, Harmonic,
		Core, Clustering, PageRank, Eigenvector, Canonical,
	}
}

// numbered are the labelings whose name ends in a number.
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

// Names returns the names without a number that Parse knows, in order.
func Names() []string {
	names := make([]string, len(known))
	for i, l := range known {
		names[i] = l.String()
	}
	slices.Sort(names)
	return names
}

// Usage lists all that Parse understands in one line, for the help of a command.
func Usage() string {
	return strings.Join(Names(), ", ") +
		", wl-H (H rounds), betweenness-S (S sampled sources), attribute-I, category-I (node attribute I, from 0)"
}

// Parse returns the labeling of that name, as command lines spell it, in any
// case: see Usage. "auto" is Auto.
func Parse(name string) (Labeling, error) {
	for _, l := range append(known[:len(known):len(known)], Auto) {
		if strings.EqualFold(name, l.String()) {
			return l, nil
		}
	}
	for _, f := range numbered {
		if len(name) < len(f.prefix) || !strings.EqualFold(name[:len(f.prefix)], f.prefix) {
			continue
		}
		if i, err := strconv.ParseUint(name[len(f.prefix):], 10, 31); err == nil && int(i) >= f.least {
			return f.make(int(i)), nil
		}
	}
	return nil, fmt.Errorf("labeling: unknown labeling %q, want one of %s", name, Usage())
}
