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
	"github.com/sanflow/sanflow/sinks"
)

// chemistry reads the attributes of molecules, in the columns of molecules.Layout. A column that is missing is -1.
type chemistry struct {
	l                                           *record.Layout
	element, charge, hydrogens, aromatic, cycle int
	bond                                        int
}

// chemistryOf returns nil unless nodes are atoms: nodes have the columns element and hydrogens, and edges the column type.
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

// of returns the word of an attribute of an atom, "" if there is none.
func (c *chemistry) of(g *graph.Graph, channel int, v int32) string {
	if channel < 0 || channel >= g.NodeCats {
		return ""
	}
	word, _ := c.l.NodeCat[channel].Word(g.NodeCat[int(v)*g.NodeCats+channel])
	return word
}

// order returns the type of the bond between two atoms, "" if there is none or c is nil.
func (c *chemistry) order(g *graph.Graph, u, v int32) string {
	at := g.Entry(u, v)
	if c == nil || at < 0 || c.bond >= g.EdgeCats {
		return ""
	}
	word, _ := c.l.EdgeCat[c.bond].Word(g.EdgeCat[at*g.EdgeCats+c.bond])
	return word
}

// bonds are the signs of the types of bonds.
var bonds = map[string]string{"single": "–", "double": "=", "triple": "≡", "quadruple": "≣", "aromatic": ":"}

// atom returns the text of an atom with its hydrogens and its charge, such as NH3+.
func (c *chemistry) atom(g *graph.Graph, v int32) string {
	text := cmp.Or(c.of(g, c.element, v), "?")
	switch h := c.of(g, c.hydrogens, v); h {
	case "", "0":
	case "1":
		text += "H"
	default:
		text += "H" + h
	}
	charge := c.of(g, c.charge, v)
	sign := "+"
	if rest, ok := strings.CutPrefix(charge, "-"); ok {
		charge, sign = rest, "−"
	}
	switch charge {
	case "", "0":
		return text
	case "1":
		return text + sign
	}
	return text + charge + sign
}

// pattern returns the name of the pattern of a word. If the word depends on all attributes, the name is that of the first example; for several atoms it begins
// with "such as", since the word may also stand for other subgraphs. Else an atom has the attributes that the word depends on, and several atoms have the word.
func (c *chemistry) pattern(g *graph.Graph, word string) string {
	whole := !slices.Contains(g.NodeCat, sinks.Unread) && !slices.Contains(g.EdgeCat, sinks.Unread)
	switch {
	case whole && g.N() == 1:
		return c.name(g)
	case whole:
		return "such as " + c.name(g)
	case g.N() > 1:
		return word
	}
	var all []string
	for i, channel := range c.l.NodeCat {
		if x := g.NodeCat[i]; x != sinks.Unread {
			text, _ := channel.Word(x)
			all = append(all, channel.Name+" = "+cmp.Or(text, strconv.Itoa(int(x))))
		}
	}
	return cmp.Or(strings.Join(all, ", "), word)
}

// name returns the name of a part of a molecule: that of an atom, or the functional groups with a line of the bonds or, with rings or more than mostLine
// atoms, the formula. A line has the atoms of aromatic rings in lower case, as in SMILES.
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

// line returns the text of a tree of atoms from atom v, without the branch to from. Branches are in parentheses, as in SMILES.
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

// formula returns the elements with their numbers, in the order of Hill: C and H first if there is C.
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

// groups are functional groups, in the order of search. Without bonds, of is the text of an atom; else it is an element, and each bond begins the sign
// and the text of another neighbour. Atoms of a found group, except its carbon neighbours, begin no later group.
var groups = []struct {
	name, of string
	bonds    []string
}{
	{"carboxyl", "C", []string{"=O", "–OH"}}, {"carboxylate", "C", []string{"=O", "–O−"}}, {"amide", "C", []string{"=O", "–N"}},
	{"ester", "C", []string{"=O", "–O"}}, {"carbonyl", "C", []string{"=O"}}, {"nitrile", "C", []string{"≡N"}},
	{"nitro", "N", []string{"=O", "–O−"}}, {"nitro", "N", []string{"=O", "=O"}}, {"nitroso", "N", []string{"=O"}}, {"azo", "N", []string{"=N"}},
	{"sulfonyl", "S", []string{"=O", "=O"}}, {"phosphoryl", "P", []string{"=O"}}, {"ether", "O", []string{"–C", "–C"}},
	{"hydroxyl", "OH", nil}, {"amino", "NH2", nil}, {"halogen", "F", nil}, {"halogen", "Cl", nil}, {"halogen", "Br", nil}, {"halogen", "I", nil},
}

// groups lists the functional groups in a part of a molecule.
func (c *chemistry) groups(g *graph.Graph) (all []string) {
	found, taken := map[string]int{}, make([]bool, g.N())
	ring := 0 // aromatic bonds minus aromatic atoms; 0 or more = a closed ring
	for v := range int32(g.N()) {
		if c.of(g, c.aromatic, v) == "yes" {
			ring--
			taken[v] = true
		}
		for _, u := range g.Adj(v) {
			if v < u && c.order(g, v, u) == "aromatic" {
				ring++
			}
		}
	}
	if ring >= 0 && slices.Contains(taken, true) {
		found["aromatic ring"] = 1
	}
	for _, group := range groups {
		for v := range int32(g.N()) {
			has := c.of(g, c.element, v) == group.of
			if group.bonds == nil {
				has = c.atom(g, v) == group.of
			}
			atoms := []int32{v}
			for _, bond := range group.bonds {
				at := slices.IndexFunc(g.Adj(v), func(u int32) bool {
					return !slices.Contains(atoms, u) && strings.HasPrefix(bonds[c.order(g, v, u)]+c.atom(g, u), bond)
				})
				if has = has && at >= 0; has {
					atoms = append(atoms, g.Adj(v)[at])
				}
			}
			if !has || taken[v] {
				continue
			}
			found[group.name]++
			for _, u := range atoms {
				taken[u] = taken[u] || c.of(g, c.element, u) != "C" || u == v
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if n := found[name]; n > 1 {
			name = fmt.Sprintf("%d × %s", n, name)
		}
		all = append(all, name)
	}
	return all
}
