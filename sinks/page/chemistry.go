package page

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
)

// chemistry reads the attributes of molecules, in the columns of molecules.Layout. A column that is missing is -1.
type chemistry struct {
	l                                           *record.Layout
	element, charge, hydrogens, aromatic, cycle int
	bond                                        int
}

// chemistry returns nil where nodes are no atoms: the columns element, hydrogens and type, of edges, make them such.
func (p Explanation) chemistry() *chemistry { return chemistryOf(&p.Layout) }

func chemistryOf(l *record.Layout) *chemistry {
	of := func(channels []record.Channel, name string) int {
		return slices.IndexFunc(channels, func(c record.Channel) bool { return c.Name == name && c.Words != nil })
	}
	c := &chemistry{l, of(l.NodeCat, "element"), of(l.NodeCat, "charge"), of(l.NodeCat, "hydrogens"), of(l.NodeCat, "aromatic"), of(l.NodeCat, "ring"), of(l.EdgeCat, "type")}
	if c.element < 0 || c.hydrogens < 0 || c.bond < 0 {
		return nil
	}
	return c
}

// of is the word of an attribute of an atom, "" if there is none.
func (c *chemistry) of(g *graph.Graph, channel int, v int32) string {
	if channel < 0 || channel >= g.NodeCats {
		return ""
	}
	word, _ := c.l.NodeCat[channel].Word(g.NodeCat[int(v)*g.NodeCats+channel])
	return word
}

// order is the type of the bond between two atoms, "" if there is none.
func (c *chemistry) order(g *graph.Graph, u, v int32) string {
	at := g.Entry(u, v)
	if at < 0 || c.bond >= g.EdgeCats {
		return ""
	}
	word, _ := c.l.EdgeCat[c.bond].Word(g.EdgeCat[at*g.EdgeCats+c.bond])
	return word
}

// bonds are the signs of the types of bonds.
var bonds = map[string]string{"single": "–", "double": "=", "triple": "≡", "quadruple": "≣", "aromatic": ":"}

// atom is an atom with its hydrogens and its charge, as in NH3+.
func (c *chemistry) atom(g *graph.Graph, v int32) string {
	text := cmp.Or(c.of(g, c.element, v), "?")
	switch h := c.of(g, c.hydrogens, v); h {
	case "", "0":
	case "1":
		text += "H"
	default:
		text += "H" + h
	}
	charge, err := strconv.Atoi(c.of(g, c.charge, v))
	switch {
	case err != nil || charge == 0:
	case charge == 1:
		text += "+"
	case charge == -1:
		text += "−"
	case charge > 0:
		text += strconv.Itoa(charge) + "+"
	default:
		text += strconv.Itoa(-charge) + "−"
	}
	return text
}

// name names a part of a molecule: an atom, or its groups and a line of its bonds or, with rings or many atoms, its formula. Atoms of
// aromatic rings are small in lines, as in SMILES.
func (c *chemistry) name(g *graph.Graph) string {
	if g.N() == 1 {
		text := c.atom(g, 0)
		switch {
		case c.of(g, c.aromatic, 0) == "yes":
			return "aromatic " + text
		case c.of(g, c.cycle, 0) == "yes":
			return "ring " + text
		}
		return text
	}
	const mostLine = 8
	text := c.formula(g)
	if g.N() <= mostLine && g.M() == g.N()-1 {
		lines := make([]string, g.N())
		for v := range lines {
			lines[v] = c.line(g, int32(v), -1)
		}
		text = slices.MinFunc(lines, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
	}
	if groups := c.groups(g); len(groups) > 0 {
		return strings.Join(groups, ", ") + " " + text
	}
	return text
}

// line writes a tree from an atom.
func (c *chemistry) line(g *graph.Graph, v, from int32) string {
	text := c.atom(g, v)
	if element := c.of(g, c.element, v); c.of(g, c.aromatic, v) == "yes" {
		text = strings.ToLower(element) + strings.TrimPrefix(text, element)
	}
	var branches []string
	for _, u := range g.Adj(v) {
		if u != from {
			branches = append(branches, bonds[c.order(g, v, u)]+c.line(g, u, v))
		}
	}
	slices.SortFunc(branches, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
	for i, b := range branches {
		if i == len(branches)-1 {
			text += b
		} else {
			text += "(" + b + ")"
		}
	}
	return text
}

// formula counts elements, first C and H, in the order of Hill.
func (c *chemistry) formula(g *graph.Graph) (text string) {
	elements := map[string]int{}
	for v := range int32(g.N()) {
		elements[cmp.Or(c.of(g, c.element, v), "?")]++
		h, _ := strconv.Atoi(c.of(g, c.hydrogens, v))
		elements["H"] += h
	}
	rank := func(e string) int {
		if elements["C"] == 0 {
			return 0
		}
		return map[string]int{"C": -2, "H": -1}[e]
	}
	for _, e := range slices.SortedFunc(maps.Keys(elements), func(a, b string) int { return cmp.Or(rank(a)-rank(b), cmp.Compare(a, b)) }) {
		switch n := elements[e]; n {
		case 0:
		case 1:
			text += e
		default:
			text += e + strconv.Itoa(n)
		}
	}
	return text
}

// groups lists the functional groups of which all atoms but carbons around them are in a part of a molecule.
func (c *chemistry) groups(g *graph.Graph) []string {
	found := map[string]int{}
	taken := make([]bool, g.N()) // by a group
	// count is the number of neighbours of an atom with some text and bond.
	count := func(v int32, order string, atoms ...string) (n int) {
		for _, u := range g.Adj(v) {
			if c.order(g, v, u) == order && (len(atoms) == 0 || slices.Contains(atoms, c.atom(g, u))) {
				n++
			}
		}
		return n
	}
	aromatic, rings := 0, 0 // bonds less atoms of aromatic rings, so that a ring is above 0
	for v := range int32(g.N()) {
		name := ""
		switch element := c.of(g, c.element, v); {
		case c.of(g, c.aromatic, v) == "yes":
			rings--
		case element == "C" && count(v, "double", "O") > 0:
			switch {
			case count(v, "single", "OH") > 0:
				name = "carboxyl"
			case count(v, "single", "O−") > 0:
				name = "carboxylate"
			case count(v, "single", "N", "NH", "NH2") > 0:
				name = "amide"
			case count(v, "single", "O") > 0:
				name = "ester"
			default:
				name = "carbonyl"
			}
		case element == "C" && count(v, "triple", "N") > 0:
			name = "nitrile"
		case element == "N" && count(v, "double", "O")+count(v, "single", "O−") >= 2:
			name = "nitro"
		case element == "N" && count(v, "double", "O") > 0:
			name = "nitroso"
		case element == "N" && count(v, "double", "N") > 0:
			name = "azo"
		case element == "S" && count(v, "double", "O") >= 2:
			name = "sulfonyl"
		case element == "P" && count(v, "double", "O") > 0:
			name = "phosphoryl"
		}
		for _, u := range g.Adj(v) {
			if c.order(g, v, u) == "aromatic" && v < u {
				aromatic++
			}
			taken[u] = taken[u] || name != "" && c.of(g, c.element, u) != "C"
		}
		if name != "" {
			found[name]++
		}
	}
	for v := range int32(g.N()) {
		switch text := c.atom(g, v); {
		case taken[v]:
		case text == "OH":
			found["hydroxyl"]++
		case text == "NH2":
			found["amino"]++
		case text == "O" && count(v, "single") == 2:
			found["ether"]++
		case slices.Contains([]string{"F", "Cl", "Br", "I"}, text):
			found["halogen"]++
		}
	}
	if n := found["azo"]; n > 1 { // counted from both ends
		found["azo"] = n / 2
	}
	if aromatic+rings >= 0 && aromatic > 0 {
		found["aromatic ring"] = 1
	}
	var all []string
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if n := found[name]; n > 1 {
			name = fmt.Sprintf("%d × %s", n, name)
		}
		all = append(all, name)
	}
	return all
}
