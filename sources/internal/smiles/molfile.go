package smiles

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ReadMolfile reads an MDL molfile in version V2000 up to M  END (Dalby et al., "Description of several
// chemical structure file formats", 1992). The first three lines are a header. line returns the next line
// without its end, and its errors are returned unchanged. Other errors concern the last line read.
// Charges come from the atom block or M  CHG, isotopes from M  ISO. Hydrogens fill the valence of an atom:
// its valence field, or else the usual valence of B C N O F Si P S Cl As Se Br Te I and their ions. M  RAD
// subtracts one or two. Other elements have no implied hydrogens. D and T are hydrogen; *, A, Q, R and R# are
// any element. Bonds are single, double, triple or aromatic. An atom with an aromatic bond is Aromatic; most
// files use Kekulé form. Coordinates, stereochemistry and other properties are ignored.
func ReadMolfile(line func() (string, error)) (*Molecule, error) {
	r := &molfile{line: line, m: &Molecule{}}
	for _, step := range []func() error{r.counts, r.atoms, r.bonds, r.properties} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	r.hydrogens()
	r.m.rings()
	return r.m, nil
}

type molfile struct {
	line    func() (string, error)
	m       *Molecule
	n, e    int    // numbers of atoms and bonds
	valence []int8 // valence field of each atom; 0 = not set, 15 = zero
	radical []int8 // unpaired electrons of each atom
	charged bool   // M  CHG or M  RAD occurred; both replace the charges and radicals of the atom block
}

// cut returns the columns from … to-1 without blanks. The line may be shorter.
func cut(text string, from, to int) string {
	return strings.TrimSpace(text[min(from, len(text)):min(to, len(text))])
}

// number parses the columns from … to-1 as a number from least to most. An empty field is 0 if least permits it.
func number(text string, from, to, least, most int, what string) (int, error) {
	field := cut(text, from, to)
	if field == "" && least <= 0 {
		return 0, nil
	}
	n, err := strconv.Atoi(field)
	if err != nil || n < least || n > most {
		return 0, fmt.Errorf("columns %d to %d: %s is %q, want a number from %d to %d", from+1, to, what, field, least, most)
	}
	return n, nil
}

func (r *molfile) counts() (err error) {
	var text string
	for range 4 {
		if text, err = r.line(); err != nil {
			return err
		}
	}
	if version := cut(text, 33, 39); version != "V2000" {
		return fmt.Errorf("columns 34 to 39: the version is %q, want V2000", version)
	}
	if r.n, err = number(text, 0, 3, 1, 999, "the number of atoms"); err != nil {
		return err
	}
	r.e, err = number(text, 3, 6, 0, 999, "the number of bonds")
	return err
}

// charges maps the charge codes of the atom block. Code 4 is a radical.
var charges = [...]int8{0, 3, 2, 1, 0, -1, -2, -3}

func (r *molfile) atoms() error {
	r.valence, r.radical = make([]int8, r.n), make([]int8, r.n)
	for v := range r.n {
		text, err := r.line()
		if err != nil {
			return err
		}
		a, symbol := Atom{}, cut(text, 31, 34)
		switch symbol {
		case "D", "T":
			a.Element, a.Isotope = 1, map[string]int16{"D": 2, "T": 3}[symbol]
		case "*", "A", "Q", "R", "R#":
		default:
			e, ok := numbers[symbol]
			if !ok {
				return fmt.Errorf("columns 32 to 34: %q, want the symbol of an element", symbol)
			}
			a.Element = e
		}
		code, err := number(text, 36, 39, 0, len(charges)-1, "the charge")
		if err != nil {
			return err
		}
		valence, err := number(text, 48, 51, 0, 15, "the valence")
		if err != nil {
			return err
		}
		if code == 4 {
			r.radical[v] = 1
		}
		a.Charge, r.valence[v] = charges[code], int8(valence)
		r.m.Atoms = append(r.m.Atoms, a)
	}
	return nil
}

func (r *molfile) bonds() error {
	seen := map[[2]int32]bool{}
	for range r.e {
		text, err := r.line()
		if err != nil {
			return err
		}
		var field [3]int
		for i, what := range []string{"an atom", "an atom", "the type"} {
			if field[i], err = number(text, 3*i, 3*i+3, 1, []int{r.n, r.n, 4}[i], what); err != nil {
				return err
			}
		}
		b := Bond{A: int32(field[0] - 1), B: int32(field[1] - 1), Type: []BondType{Single, Double, Triple, Aromatic}[field[2]-1]}
		pair := [2]int32{min(b.A, b.B), max(b.A, b.B)}
		switch {
		case b.A == b.B:
			return fmt.Errorf("the bond joins the atom %d to itself", field[0])
		case seen[pair]:
			return fmt.Errorf("a second bond joins the atoms %d and %d", field[0], field[1])
		}
		seen[pair] = true
		r.m.Bonds = append(r.m.Bonds, b)
	}
	return nil
}

func (r *molfile) properties() error {
	for {
		text, err := r.line()
		if err != nil {
			return err
		}
		switch strings.TrimRight(text[:min(6, len(text))], " ") {
		case "M  END":
			return nil
		case "M  CHG":
			err = r.property(text, -15, 15, func(a *Atom, _ int, x int) { a.Charge = int8(x) })
		case "M  RAD":
			err = r.property(text, 0, 3, func(_ *Atom, v int, x int) { r.radical[v] = [...]int8{0, 2, 1, 2}[x] })
		case "M  ISO":
			err = r.property(text, 1, 999, func(a *Atom, _ int, x int) { a.Isotope = int16(x) })
		case "M  V30", "$$$$":
			err = errors.New("want M  END")
		}
		if err != nil {
			return err
		}
	}
}

// property reads the atom and value pairs of a property line. The first M  CHG or M  RAD clears the charges
// and radicals of the atom block.
func (r *molfile) property(text string, least, most int, set func(a *Atom, v, x int)) error {
	if text[:6] != "M  ISO" && !r.charged {
		r.charged = true
		clear(r.radical)
		for v := range r.m.Atoms {
			r.m.Atoms[v].Charge = 0
		}
	}
	pairs, err := number(text, 6, 9, 1, 8, "the number of pairs")
	if err != nil {
		return err
	}
	for i := range pairs {
		v, err := number(text, 10+8*i, 13+8*i, 1, r.n, "an atom")
		if err != nil {
			return err
		}
		x, err := number(text, 14+8*i, 17+8*i, least, most, "the value")
		if err != nil {
			return err
		}
		set(&r.m.Atoms[v-1], v-1, x)
	}
	return nil
}

// hydrogens sets the implied hydrogens. An ion has the valences of its isoelectronic element: N+ those of C.
func (r *molfile) hydrogens() {
	for _, b := range r.m.Bonds {
		if b.Type == Aromatic {
			r.m.Atoms[b.A].Aromatic, r.m.Atoms[b.B].Aromatic = true, true
		}
	}
	for v, order := range r.m.orders() {
		a, radical := &r.m.Atoms[v], int(r.radical[v])
		want := valences[a.Element]
		if as := int(a.Element) - int(a.Charge); want != nil && a.Charge != 0 {
			if want = nil; as > 0 && as < len(symbols) {
				want = valences[as]
			}
		}
		switch valence := int(r.valence[v]); {
		case valence == 15:
			want = nil
		case valence > 0:
			want = []int{valence + radical}
		}
		a.fill(order+radical, want)
	}
}
