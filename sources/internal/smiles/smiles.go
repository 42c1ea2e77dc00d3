// Package smiles reads molecules in OpenSMILES (http://opensmiles.org), one string at a
// time:
//
//	m, err := smiles.Parse("OC(=O)c1ccccc1")
//
// It reads the organic subset with its implied hydrogens, bracket atoms with isotope, chirality,
// hydrogens, charge and class, aromatic atoms as they are written, branches, ring closures (5, %12,
// %(123)), and dots. Stereochemistry (@, /, \) is checked and ignored. Nothing is normalized: a
// Kekulé form stays one, and an explicit [H] is an atom.
//
// [ReadMolfile] reads a molecule from an MDL molfile.
package smiles

import "fmt"

type Molecule struct {
	Atoms []Atom // in the order of the string
	Bonds []Bond // in the order of the string; a ring bond has the position of its closing digit
}

// Atom is an atom with its hydrogens that are not atoms of their own.
type Atom struct {
	Element   Element
	Isotope   int16 // mass number; 0 = not set
	Charge    int8  // -15 to 15
	Hydrogens int8  // implied or bracket hydrogens, without explicit atoms
	Aromatic  bool  // lower case in the string
	Ring      bool  // on a cycle
	Class     int32 // atom class of a bracket; 0 = not set
}

// Bond joins two different atoms. No two bonds join the same atoms.
type Bond struct {
	A, B int32 // indices of the two atoms
	Type BondType
	Ring bool // on a cycle
}

// BondType is the type of a bond.
type BondType int8

// Types of bonds. A bond without a symbol between aromatic atoms is Aromatic where it is on
// a cycle, else Single, as / and \ are.
const (
	Single BondType = iota + 1
	Double
	Triple
	Quadruple
	Aromatic
)

// String returns single, double, triple, quadruple or aromatic.
func (t BondType) String() string {
	if t < Single || t > Aromatic {
		return fmt.Sprintf("BondType(%d)", int8(t))
	}
	return [...]string{"single", "double", "triple", "quadruple", "aromatic"}[t-Single]
}

// Element is an atomic number; 0 is the wildcard *.
type Element uint8

// Elements is the number of elements, with the wildcard.
const Elements = Element(len(symbols))

func (e Element) String() string {
	if e >= Elements {
		return fmt.Sprintf("Element(%d)", uint8(e))
	}
	return symbols[e]
}

var symbols = [...]string{"*",
	"H", "He", "Li", "Be", "B", "C", "N", "O", "F", "Ne", "Na", "Mg", "Al", "Si", "P", "S", "Cl", "Ar",
	"K", "Ca", "Sc", "Ti", "V", "Cr", "Mn", "Fe", "Co", "Ni", "Cu", "Zn", "Ga", "Ge", "As", "Se", "Br", "Kr",
	"Rb", "Sr", "Y", "Zr", "Nb", "Mo", "Tc", "Ru", "Rh", "Pd", "Ag", "Cd", "In", "Sn", "Sb", "Te", "I", "Xe",
	"Cs", "Ba", "La", "Ce", "Pr", "Nd", "Pm", "Sm", "Eu", "Gd", "Tb", "Dy", "Ho", "Er", "Tm", "Yb", "Lu",
	"Hf", "Ta", "W", "Re", "Os", "Ir", "Pt", "Au", "Hg", "Tl", "Pb", "Bi", "Po", "At", "Rn",
	"Fr", "Ra", "Ac", "Th", "Pa", "U", "Np", "Pu", "Am", "Cm", "Bk", "Cf", "Es", "Fm", "Md", "No", "Lr",
	"Rf", "Db", "Sg", "Bh", "Hs", "Mt", "Ds", "Rg", "Cn", "Nh", "Fl", "Mc", "Lv", "Ts", "Og",
}

// numbers maps symbols to elements; aromatics maps the aromatic symbols.
var numbers, aromatics = func() (map[string]Element, map[string]Element) {
	all, lower := map[string]Element{}, map[string]Element{}
	for i, s := range symbols {
		all[s] = Element(i)
	}
	for s, of := range map[string]string{"b": "B", "c": "C", "n": "N", "o": "O", "p": "P", "s": "S", "as": "As", "se": "Se", "si": "Si", "te": "Te"} {
		lower[s] = all[of]
	}
	return all, lower
}()

// valences has the usual valences of the elements that have implied hydrogens: those of the organic subset, and of
// molfiles some more.
var valences = func() (of [Elements][]int) {
	for symbol, usual := range map[string][]int{
		"B": {3}, "C": {4}, "Si": {4}, "N": {3, 5}, "P": {3, 5}, "As": {3, 5}, "O": {2}, "S": {2, 4, 6}, "Se": {2, 4, 6}, "Te": {2, 4, 6},
		"F": {1}, "Cl": {1}, "Br": {1}, "I": {1},
	} {
		of[numbers[symbol]] = usual
	}
	return of
}()

// orders returns the sum of the orders of the bonds of each atom. The aromatic bonds of an atom count 1 each, and 1 together.
func (m *Molecule) orders() []int {
	order := make([]int, len(m.Atoms))
	for _, b := range m.Bonds {
		o := int(b.Type)
		if b.Type == Aromatic {
			o = 1
		}
		order[b.A] += o
		order[b.B] += o
	}
	for v, a := range m.Atoms {
		if a.Aromatic {
			order[v]++
		}
	}
	return order
}

// fill sets the number of implied hydrogens of an atom: the smallest valence that is at least the order, minus the order. An
// aromatic atom has its first valence.
func (a *Atom) fill(order int, valences []int) {
	if a.Aromatic && len(valences) > 1 {
		valences = valences[:1]
	}
	for _, n := range valences {
		if n >= order {
			a.Hydrogens = int8(min(9, n-order))
			return
		}
	}
}

// Error is a syntax error.
type Error struct {
	At        int    // byte offset, from 0
	Character string // the character at At; empty at the end of the string
	Problem   string
}

// Error returns a line that counts characters from 1: character 4, "(": …
func (e *Error) Error() string {
	if e.Character == "" {
		return fmt.Sprintf("character %d, the end: %s", e.At+1, e.Problem)
	}
	return fmt.Sprintf("character %d, %q: %s", e.At+1, e.Character, e.Problem)
}
