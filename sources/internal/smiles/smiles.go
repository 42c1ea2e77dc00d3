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

// valences returns the normal valences of an element of the organic subset.
func valences(e Element) []int {
	switch e.String() {
	case "B":
		return []int{3}
	case "C":
		return []int{4}
	case "N", "P":
		return []int{3, 5}
	case "O":
		return []int{2}
	case "S":
		return []int{2, 4, 6}
	case "F", "Cl", "Br", "I":
		return []int{1}
	}
	return nil
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
