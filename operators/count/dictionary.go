package count

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Dictionary has the names of values that graphs carry as numbers. If a function is nil, or
// returns "", the number stays.
type Dictionary struct {
	// Node and Edge name a value of a discrete attribute.
	Node, Edge func(channel int, value int32) string
	// NodeChannels and EdgeChannels name the discrete attributes. If there are several, a text that
	// is about one node or edge has them, as in element=C hydrogens=2. A text of more than one has
	// the values alone, in the order of the attributes, as in [C,2](=[O,0]).
	NodeChannels, EdgeChannels []string
	// NodeNumber and EdgeNumber return the name of a continuous attribute and the offset that was
	// subtracted from its numbers.
	NodeNumber, EdgeNumber func(channel int) (name string, offset float64)
	// Sparse names an index of the sparse attribute.
	Sparse func(index int32) string
	// ID is the id of a node, by its number.
	ID func(v int32) string
}

// longest bounds the bytes of a text. A longer one is cut and ends with its id.
const longest = 400

func value(name func(int, int32) string, channel int, x int32) string {
	if name != nil {
		if s := name(channel, x); s != "" {
			return s
		}
	}
	return strconv.Itoa(int(x))
}

// named returns the name and the offset of a continuous attribute. The name of an attribute without
// one is kind and number.
func named(of func(int) (string, float64), kind string, channel int) (name string, offset float64) {
	if of != nil {
		if name, offset = of(channel); name != "" {
			return name, offset
		}
	}
	return fmt.Sprint(kind, " ", channel), 0
}

func index(name func(int32) string, x int32) string {
	if name != nil {
		if s := name(x); s != "" {
			return s
		}
	}
	return strconv.Itoa(int(x))
}

// node returns the value of a node's attribute, with the attribute's name if there are several.
func (n *Dictionary) node(channel int, x int32) string {
	return assigned(n.NodeChannels, channel, value(n.Node, channel, x))
}

// edge returns the value of an edge's attribute, with the attribute's name if there are several.
func (n *Dictionary) edge(channel int, x int32) string {
	return assigned(n.EdgeChannels, channel, value(n.Edge, channel, x))
}

func assigned(channels []string, channel int, value string) string {
	if len(channels) > 1 && channel < len(channels) && channels[channel] != "" {
		return channels[channel] + "=" + value
	}
	return value
}

// spelled returns the label of a node with the names of its attributes.
func (n *Dictionary) spelled(l *labeler, v int32) string {
	if len(n.NodeChannels) < 2 {
		return n.label(l, v)
	}
	return strings.Join(n.values(l, v, n.node), " ")
}

// label returns the label of a node: its values, or its degree.
func (n *Dictionary) label(l *labeler, v int32) string {
	g := l.g
	if !l.nodes {
		if g.Directed {
			return fmt.Sprintf("%d>%d", l.ins[v], g.Degree(v))
		}
		return strconv.Itoa(g.Degree(v))
	}
	return strings.Join(n.values(l, v, func(c int, x int32) string { return value(n.Node, c, x) }), ",")
}

// values returns the texts of the attributes of a node.
func (n *Dictionary) values(l *labeler, v int32, of func(channel int, x int32) string) (parts []string) {
	g := l.g
	for c := range g.NodeCats {
		parts = append(parts, of(c, g.NodeCat[int(v)*g.NodeCats+c]))
	}
	if g.SparseCard > 0 {
		var set []string
		for _, x := range g.Sparse(v) {
			set = append(set, index(n.Sparse, x))
		}
		parts = append(parts, "{"+strings.Join(set, " ")+"}")
	}
	return parts
}

// atom returns the label of a node as part of a longer text, in brackets if it is not a word.
func (n *Dictionary) atom(l *labeler, v int32) string {
	s := n.label(l, v)
	for _, r := range s {
		if r < '0' || r > '9' && r < 'A' || r > 'Z' && r < 'a' || r > 'z' && r < 0x80 {
			return "[" + s + "]"
		}
	}
	return s
}

// bond returns the label of a CSR entry: a symbol unchanged, a name in braces, and "" if edges have
// no labels.
func (n *Dictionary) bond(l *labeler, entry int) string {
	if !l.edges {
		return ""
	}
	g := l.g
	var parts []string
	for c := range g.EdgeCats {
		parts = append(parts, value(n.Edge, c, g.EdgeCat[entry*g.EdgeCats+c]))
	}
	s := strings.Join(parts, ",")
	if len(s) == 1 && strings.Contains("-=#:$~", s) {
		return s
	}
	return "{" + s + "}"
}

// molecule writes a small graph as SMILES does: along a tree from the first node, with branches in
// parentheses and a number at both ends of each edge that closes a ring. bond returns the label of
// the edge between two nodes, and whether there is one.
func molecule(n int, atom func(i int) string, bond func(i, j int) (string, bool)) string {
	parent, rings := make([]int, n), make([][]string, n)
	children := make([][]int, n)
	for i := range parent {
		parent[i] = -2
	}
	closed := map[[2]int]bool{}
	closures := 0
	var walk func(i int)
	walk = func(i int) {
		for j := range n {
			label, ok := bond(i, j)
			if !ok || j == i || parent[i] == j || closed[[2]int{min(i, j), max(i, j)}] {
				continue
			}
			if parent[j] == -2 {
				parent[j] = i
				children[i] = append(children[i], j)
				walk(j)
				continue
			}
			if slices.Contains(children[i], j) {
				continue
			}
			closed[[2]int{min(i, j), max(i, j)}] = true
			closures++
			mark := strconv.Itoa(closures)
			if closures > 9 {
				mark = "%" + mark
			}
			rings[i], rings[j] = append(rings[i], label+mark), append(rings[j], mark)
		}
	}
	var b strings.Builder
	var write func(i int)
	write = func(i int) {
		b.WriteString(atom(i))
		for _, r := range rings[i] {
			b.WriteString(r)
		}
		for at, j := range children[i] {
			label, _ := bond(i, j)
			last := at == len(children[i])-1
			if !last {
				b.WriteByte('(')
			}
			b.WriteString(label)
			write(j)
			if !last {
				b.WriteByte(')')
			}
		}
	}
	for i := range n {
		if parent[i] == -2 {
			parent[i] = -1
			walk(i)
			if i > 0 {
				b.WriteByte('.')
			}
			write(i)
		}
	}
	return b.String()
}

// among returns the text of the graph induced on some nodes, in their order.
func (n *Dictionary) among(l *labeler, nodes []int32) string {
	g := l.g
	return molecule(len(nodes), func(i int) string {
		if !l.nodes {
			return "*"
		}
		return n.atom(l, nodes[i])
	}, func(i, j int) (string, bool) {
		there := g.Entry(nodes[i], nodes[j])
		if !g.Directed {
			if there < 0 {
				return "", false
			}
			return n.bond(l, there), true
		}
		back := g.Entry(nodes[j], nodes[i])
		switch {
		case there >= 0 && back >= 0:
			return n.bond(l, back) + "<>" + n.bond(l, there), true
		case there >= 0:
			return n.bond(l, there) + ">", true
		case back >= 0:
			return n.bond(l, back) + "<", true
		}
		return "", false
	})
}

// short returns text, or its beginning and the id if it is long.
func short(text string, id uint64) string {
	if len(text) <= longest {
		return text
	}
	end := longest
	for end > 0 && text[end]&0xc0 == 0x80 {
		end--
	}
	return fmt.Sprintf("%s… %#016x", text[:end], id)
}

// colourTree names colours by the trees of walks from their nodes.
type colourTree struct {
	w      *wlCounter
	names  *Dictionary
	rounds [][]uint64          // colours of the nodes after each round
	texts  []map[uint64]string // by round: text of each colour
}

func (t *colourTree) add(colors []uint64) {
	t.rounds = append(t.rounds, slices.Clone(colors))
	t.texts = append(t.texts, map[uint64]string{})
}

// text returns the name of the colour of a node after a round.
func (t *colourTree) text(round int, v int32) string {
	kind := "wl"
	if t.w.Triangles {
		kind += " with triangles"
	}
	if t.w.Rounded {
		kind += " rounded"
	}
	kind += []string{"", " of first attributes", " of the first attribute"}[t.w.Coarse]
	tree := t.tree(round, v)
	if l := &t.w.labels; round == 0 && l.nodes && !t.w.Triangles && !t.w.Rounded && len(t.names.NodeChannels) > 1 {
		tree = t.names.spelled(l, v)
	}
	return fmt.Sprintf("%s, %d: %s", kind, round, tree)
}

func (t *colourTree) tree(round int, v int32) string {
	id := t.rounds[round][v]
	if s, ok := t.texts[round][id]; ok {
		return s
	}
	s := ""
	if round == 0 {
		s = t.first(v)
	} else {
		s = t.tree(round-1, v)
		if round > 1 {
			// A colour contains the colour of the round before, whose tree would repeat the
			// branches.
			s = t.tree(0, v)
		}
		s += t.branches(round, v)
	}
	s = short(s, id)
	t.texts[round][id] = s
	return s
}

// first returns the name of the colour of node v before the first round: its label and, with
// Triangles or Rounded, its degrees and triangles.
func (t *colourTree) first(v int32) string {
	w := t.w
	var parts []string
	if w.labels.nodes || !w.Rounded {
		parts = append(parts, t.names.label(&w.labels, v))
	}
	if w.Triangles || w.Rounded {
		parts = append(parts, "degree "+t.rounded(w.labels.g.Degree(v)))
		if w.labels.g.Directed {
			parts = append(parts, "arriving "+t.rounded(int(w.labels.ins[v])))
		}
	}
	if w.Triangles {
		parts = append(parts, "triangles "+t.rounded(int(w.triangles.of[v])))
	}
	if len(parts) == 1 && w.labels.nodes {
		return t.names.atom(&w.labels, v)
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// rounded returns the text of x, or, if Rounded is set, of the range of the numbers with as many
// binary digits.
func (t *colourTree) rounded(x int) string {
	if t.w.Rounded {
		return doublingText(t.w.round(x))
	}
	return strconv.Itoa(x)
}

// doublingText returns the range of the numbers with the given number of binary digits, such as 4-7
// for 3.
func doublingText(digits uint64) string {
	if digits <= 1 {
		return strconv.Itoa(int(digits))
	}
	return fmt.Sprintf("%d-%d", uint64(1)<<(digits-1), uint64(1)<<digits-1)
}

// branches returns the neighbours of a node by their colours of the round before, each in
// parentheses, ascending.
func (t *colourTree) branches(round int, v int32) string {
	g := t.w.labels.g
	var all []string
	for i := g.Offsets[v]; i < g.Offsets[v+1]; i++ {
		arrow := ""
		if g.Directed {
			arrow = ">"
		}
		all = append(all, t.names.bond(&t.w.labels, int(i))+arrow+t.tree(round-1, g.Neighbors[i]))
	}
	if g.Directed {
		for u := range int32(g.N()) {
			if i := g.Entry(u, v); i >= 0 {
				all = append(all, t.names.bond(&t.w.labels, i)+"<"+t.tree(round-1, u))
			}
		}
	}
	slices.Sort(all)
	var b strings.Builder
	for i := 0; i < len(all); {
		j := i + 1
		for j < len(all) && all[j] == all[i] {
			j++
		}
		if t.w.Rounded && j-i > 1 {
			fmt.Fprintf(&b, "(%s)×%s", all[i], doublingText(t.w.round(j-i)))
		} else if j-i > 3 {
			fmt.Fprintf(&b, "(%s)×%d", all[i], j-i)
		} else {
			for range j - i {
				b.WriteString("(" + all[i] + ")")
			}
		}
		i = j
	}
	return b.String()
}
