package smiles

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

const blanks = " \t\r\n"

// Parse parses a string, which may have blanks around it. As in OpenSMILES, the SMILES ends at the first
// blank; a name or a CXSMILES extension may follow and is ignored. A second word that is valid SMILES is an
// error. Each error is an [*Error]. O(len(text)).
func Parse(text string) (*Molecule, error) {
	at := len(text) - len(strings.TrimLeft(text, blanks))
	if end := strings.IndexAny(text[at:], blanks); end >= 0 {
		words, more := strings.Fields(text[at+end:]), false
		if len(words) > 0 {
			_, err := Parse(words[0])
			more = err == nil
		}
		if !more {
			text = text[:at+end]
		}
	}
	p := &parser{text: text, at: at, last: -1, m: &Molecule{}}
	if err := p.parse(); err != nil {
		return nil, err
	}
	p.m.rings()
	p.finish()
	return p.m, nil
}

type parser struct {
	text string
	at   int
	m    *Molecule

	last     int32             // atom that the next bond starts at; -1 = none
	bond     BondType          // bond symbol before the next atom; 0 = none
	bondAt   int               // offset of the bond symbol
	dot      bool              // the last token was a dot
	branches []branch          // open branches
	open     []ring            // open ring closures
	organic  []bool            // whether the hydrogens of an atom are implied
	implied  []int             // indices of bonds without a symbol between aromatic atoms
	seen     map[[2]int32]bool // pairs of bonded atoms, filled on demand
	counted  int               // number of bonds in seen
}

type branch struct {
	from  int32
	at    int
	atoms int // number of atoms before the branch
}

type ring struct {
	number, at int
	atom       int32
	bond       BondType
}

func (p *parser) fail(at int, format string, args ...any) error {
	e := &Error{At: at, Problem: fmt.Sprintf(format, args...)}
	if at < len(p.text) {
		_, size := utf8.DecodeRuneInString(p.text[at:])
		e.Character = p.text[at : at+size]
	}
	return e
}

// peek returns the next byte, or 0 at the end.
func (p *parser) peek() byte {
	if p.at < len(p.text) {
		return p.text[p.at]
	}
	return 0
}

func digit(c byte) bool { return '0' <= c && c <= '9' }

func (p *parser) parse() error {
	for p.at < len(p.text) {
		if err := p.token(); err != nil {
			return err
		}
	}
	switch {
	case len(p.m.Atoms) == 0:
		return p.fail(p.at, "there is no atom")
	case p.bond != 0:
		return p.fail(p.bondAt, "no atom follows the bond")
	case p.dot:
		return p.fail(p.at, "no atom follows the dot")
	case len(p.branches) > 0:
		return p.fail(p.branches[len(p.branches)-1].at, "the branch is never closed")
	case len(p.open) > 0:
		return p.fail(p.open[0].at, "the ring %d is never closed", p.open[0].number)
	}
	return nil
}

var bonds = [128]BondType{'-': Single, '/': Single, '\\': Single, '=': Double, '#': Triple, '$': Quadruple, ':': Aromatic}

func (p *parser) token() error {
	at, c := p.at, p.text[p.at]
	switch c {
	case '(':
		switch {
		case p.last < 0 || p.dot:
			return p.fail(at, "a branch with no atom before it")
		case p.bond != 0:
			return p.fail(at, "a branch behind a bond, want an atom")
		}
		p.branches = append(p.branches, branch{p.last, at, len(p.m.Atoms)})
	case ')':
		top := len(p.branches) - 1
		switch {
		case top < 0:
			return p.fail(at, "no branch is open")
		case p.bond != 0 || p.dot || p.branches[top].atoms == len(p.m.Atoms):
			return p.fail(at, "the branch ends where an atom is due")
		}
		p.last, p.branches = p.branches[top].from, p.branches[:top]
	case '.':
		if p.last < 0 || p.bond != 0 || p.dot {
			return p.fail(at, "a dot with no atom before it")
		}
		p.dot = true
	case '-', '/', '\\', '=', '#', '$', ':':
		switch {
		case p.last < 0 || p.dot:
			return p.fail(at, "a bond with no atom before it")
		case p.bond != 0:
			return p.fail(at, "a second bond, want an atom")
		}
		p.bondAt, p.bond = at, bonds[c]
	case '%':
		return p.closure()
	case '[':
		return p.bracket()
	default:
		if digit(c) {
			return p.closure()
		}
		return p.organicAtom()
	}
	p.at++
	return nil
}

// organicAtom reads an atom of the organic subset, whose symbol needs no brackets. The hydrogens of the atom are implied.
func (p *parser) organicAtom() error {
	at, size := p.at, 1
	switch c := p.text[at]; c {
	case 'C', 'B':
		if next := p.text[at+1:]; next != "" && (c == 'C' && next[0] == 'l' || c == 'B' && next[0] == 'r') {
			size = 2
		}
	case '*', 'N', 'O', 'P', 'S', 'F', 'I', 'b', 'c', 'n', 'o', 'p', 's':
	default:
		return p.fail(at, "no atom, bond, branch or ring begins so; other elements stand in brackets")
	}
	symbol := p.text[at : at+size]
	e, aromatic := aromatics[symbol]
	if !aromatic {
		e = numbers[symbol]
	}
	p.at += size
	p.add(Atom{Element: e, Aromatic: aromatic}, true)
	return nil
}

// add appends an atom and its bond to the last atom.
func (p *parser) add(a Atom, organic bool) {
	v := int32(len(p.m.Atoms))
	p.m.Atoms, p.organic = append(p.m.Atoms, a), append(p.organic, organic)
	if p.last >= 0 && !p.dot {
		p.join(p.last, v, p.bond)
	}
	p.last, p.bond, p.dot = v, 0, false
}

// join adds a bond. Type 0 is a bond without a symbol.
func (p *parser) join(a, b int32, t BondType) {
	if t == 0 {
		t = Single
		if p.m.Atoms[a].Aromatic && p.m.Atoms[b].Aromatic {
			p.implied = append(p.implied, len(p.m.Bonds))
		}
	}
	p.m.Bonds = append(p.m.Bonds, Bond{A: a, B: b, Type: t})
}

// closure reads a ring number, and opens or closes the ring.
func (p *parser) closure() error {
	at := p.at
	if p.last < 0 || p.dot {
		return p.fail(at, "a ring with no atom before it")
	}
	number := 0
	switch {
	case p.text[at] != '%':
		number = int(p.text[at] - '0')
		p.at++
	case at+1 < len(p.text) && p.text[at+1] == '(':
		p.at += 2
		n, digits := p.number(5)
		if digits == 0 || p.peek() != ')' {
			return p.fail(p.at, "want one to five digits in the parentheses of a ring")
		}
		number = n
		p.at++
	default:
		p.at++
		n, digits := p.number(2)
		if digits != 2 {
			return p.fail(p.at, "want two digits behind %%")
		}
		number = n
	}
	t := p.bond
	p.bond = 0
	for i, r := range p.open {
		if r.number != number {
			continue
		}
		p.open = append(p.open[:i], p.open[i+1:]...)
		pair := [2]int32{min(r.atom, p.last), max(r.atom, p.last)}
		switch {
		case r.atom == p.last:
			return p.fail(at, "the ring %d joins an atom to itself", number)
		case t != 0 && r.bond != 0 && t != r.bond:
			return p.fail(at, "the ring %d closes by a %s bond and opens by a %s one", number, t, r.bond)
		case p.bonded(pair):
			return p.fail(at, "the ring %d joins two atoms that a bond joins", number)
		}
		p.join(r.atom, p.last, max(t, r.bond))
		return nil
	}
	if len(p.open) == 1000 {
		return p.fail(at, "more than 1000 rings are open")
	}
	p.open = append(p.open, ring{number, at, p.last, t})
	return nil
}

// bonded reports whether two atoms, the lower index first, have a bond. It adds the new bonds to seen first.
func (p *parser) bonded(pair [2]int32) bool {
	if p.seen == nil {
		p.seen = map[[2]int32]bool{}
	}
	for ; p.counted < len(p.m.Bonds); p.counted++ {
		b := p.m.Bonds[p.counted]
		p.seen[[2]int32{min(b.A, b.B), max(b.A, b.B)}] = true
	}
	return p.seen[pair]
}

// number reads a decimal number of at most most digits. digits is 0 if there is none.
func (p *parser) number(most int) (n, digits int) {
	for digits < most && digit(p.peek()) {
		n = 10*n + int(p.peek()-'0')
		p.at++
		digits++
	}
	return n, digits
}

// bracket reads [isotope symbol chirality hydrogens charge class].
func (p *parser) bracket() error {
	begin := p.at
	p.at++
	var a Atom
	n, _ := p.number(3)
	a.Isotope = int16(n)
	symbol := ""
	for size := min(2, len(p.text)-p.at); size > 0 && symbol == ""; size-- {
		s := p.text[p.at : p.at+size]
		if e, ok := numbers[s]; ok {
			symbol, a.Element = s, e
		} else if e, ok := aromatics[s]; ok {
			symbol, a.Element, a.Aromatic = s, e, true
		}
	}
	if symbol == "" {
		return p.fail(p.at, "want the symbol of an element")
	}
	p.at += len(symbol)
	if err := p.chirality(); err != nil {
		return err
	}
	if at := p.at; p.peek() == 'H' {
		p.at++
		a.Hydrogens = 1
		if n, digits := p.number(1); digits > 0 {
			a.Hydrogens = int8(n)
		}
		if a.Element == 1 && a.Hydrogens > 0 {
			return p.fail(at, "a hydrogen has no hydrogens")
		}
	}
	if err := p.charge(&a); err != nil {
		return err
	}
	if p.peek() == ':' {
		p.at++
		n, digits := p.number(9)
		if digits == 0 {
			return p.fail(p.at, "want one to nine digits behind the colon of a class")
		}
		a.Class = int32(n)
	}
	switch {
	case p.at == len(p.text):
		return p.fail(begin, "the bracket is never closed")
	case p.peek() != ']':
		return p.fail(p.at, "want ], or what may follow in a bracket: chirality, hydrogens, charge, class")
	}
	p.at++
	p.add(a, false)
	return nil
}

var chiralities = map[string]int{"TH": 2, "AL": 2, "SP": 3, "TB": 20, "OH": 30}

// chirality skips @, @@, @TH1, @AL2, @SP3, @TB20 and @OH30.
func (p *parser) chirality() error {
	if p.peek() != '@' {
		return nil
	}
	p.at++
	if p.peek() == '@' {
		p.at++
		return nil
	}
	if len(p.text)-p.at < 2 {
		return nil
	}
	most, ok := chiralities[p.text[p.at:p.at+2]]
	if !ok {
		return nil
	}
	p.at += 2
	at := p.at
	if n, _ := p.number(2); n < 1 || n > most {
		return p.fail(at, "want a number from 1 to %d for the chirality", most)
	}
	return nil
}

func (p *parser) charge(a *Atom) error {
	at, sign := p.at, p.peek()
	if sign != '+' && sign != '-' {
		return nil
	}
	p.at++
	n := 1
	if digit(p.peek()) {
		n, _ = p.number(2)
	} else if p.peek() == sign {
		for ; p.peek() == sign && n <= 15; n++ {
			p.at++
		}
	}
	if n > 15 {
		return p.fail(at, "a charge of more than 15")
	}
	if a.Charge = int8(n); sign == '-' {
		a.Charge = -a.Charge
	}
	return nil
}

// finish sets the types of bonds without a symbol, and the implied hydrogens.
func (p *parser) finish() {
	for _, i := range p.implied {
		if p.m.Bonds[i].Ring {
			p.m.Bonds[i].Type = Aromatic
		}
	}
	for v, order := range p.m.orders() {
		if a := &p.m.Atoms[v]; p.organic[v] {
			a.fill(order, valences[a.Element])
		}
	}
}

// rings marks the bonds on a cycle, which are those that are not bridges.
func (m *Molecule) rings() {
	n := len(m.Atoms)
	ends := make([]int32, n+2)
	for _, b := range m.Bonds {
		ends[b.A+2]++
		ends[b.B+2]++
	}
	for v := range n {
		ends[v+2] += ends[v+1]
	}
	bonds := make([]int32, 2*len(m.Bonds))
	for i, b := range m.Bonds {
		for _, v := range [2]int32{b.A, b.B} {
			bonds[ends[v+1]] = int32(i)
			ends[v+1]++
		}
	}
	// Tarjan's bridge search: a tree edge is a bridge if its subtree has no edge to an ancestor.
	type step struct{ atom, by, next int32 }
	depth, low := make([]int32, n), make([]int32, n)
	var stack []step
	for root := range int32(n) {
		if depth[root] > 0 {
			continue
		}
		depth[root], low[root] = 1, 1
		stack = append(stack[:0], step{root, -1, ends[root]})
		for len(stack) > 0 {
			s := &stack[len(stack)-1]
			v := s.atom
			if s.next == ends[v+1] {
				by := s.by
				stack = stack[:len(stack)-1]
				if by >= 0 {
					up := m.Bonds[by].A + m.Bonds[by].B - v
					low[up] = min(low[up], low[v])
					m.Bonds[by].Ring = low[v] <= depth[up]
				}
				continue
			}
			i := bonds[s.next]
			s.next++
			if i == s.by {
				continue
			}
			w := m.Bonds[i].A + m.Bonds[i].B - v
			if depth[w] == 0 {
				depth[w], low[w] = depth[v]+1, depth[v]+1
				stack = append(stack, step{w, i, ends[w]})
				continue
			}
			m.Bonds[i].Ring = true
			low[v] = min(low[v], depth[w])
		}
	}
	for _, b := range m.Bonds {
		if b.Ring {
			m.Atoms[b.A].Ring, m.Atoms[b.B].Ring = true, true
		}
	}
}
