package smiles_test

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/sources/internal/smiles"
)

// print writes atoms as symbol, charge and hydrogens, and bonds.
func print(m *smiles.Molecule) string {
	var b strings.Builder
	for _, a := range m.Atoms {
		fmt.Fprintf(&b, "%v%+d/%d ", a.Element, a.Charge, a.Hydrogens)
	}
	for _, e := range m.Bonds {
		fmt.Fprintf(&b, "%d-%d:%v ", e.A, e.B, e.Type)
	}
	return strings.TrimSpace(b.String())
}

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"C":                 "C+0/4",
		"CCO":               "C+0/3 C+0/2 O+0/1 0-1:single 1-2:single",
		"[NH4+].[Cl-]":      "N+1/4 Cl-1/0",
		"C%12CC%12":         "C+0/2 C+0/2 C+0/2 0-1:single 1-2:single 0-2:single",
		"C%(123)CC%(123)":   "C+0/2 C+0/2 C+0/2 0-1:single 1-2:single 0-2:single",
		"C=1CC1":            "C+0/1 C+0/2 C+0/1 0-1:single 1-2:single 0-2:double",
		"c1cc[nH]c1":        "C+0/1 C+0/1 C+0/1 N+0/1 C+0/1 0-1:aromatic 1-2:aromatic 2-3:aromatic 3-4:aromatic 0-4:aromatic",
		"cc":                "C+0/2 C+0/2 0-1:single", // on no cycle
		"CN(=O)=O":          "C+0/3 N+0/0 O+0/0 O+0/0 0-1:single 1-2:double 1-3:double",
		"CS(C)(=O)=O":       "C+0/3 S+0/0 C+0/3 O+0/0 O+0/0 0-1:single 1-2:single 1-3:double 1-4:double",
		"F/C=C\\F":          "F+0/0 C+0/1 C+0/1 F+0/0 0-1:single 1-2:double 2-3:single",
		"N[C@@H](C)O":       "N+0/2 C+0/1 C+0/3 O+0/1 0-1:single 1-2:single 1-3:single",
		"[13CH3:7][Cu-3]":   "C+0/3 Cu-3/0 0-1:single",
		"[Fe++]":            "Fe+2/0",
		"[H][H]":            "H+0/0 H+0/0 0-1:single",
		"*C#N":              "*+0/0 C+0/0 N+0/0 0-1:single 1-2:triple",
		"[Co@OH12H2](Cl)Br": "Co+0/2 Cl+0/0 Br+0/0 0-1:single 0-2:single",
		"C1.C1":             "C+0/3 C+0/3 0-1:single",
		"BP":                "B+0/2 P+0/2 0-1:single",
	} {
		m, err := smiles.Parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		} else if got := print(m); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	m, _ := smiles.Parse("[13CH3:7]C")
	if m.Atoms[0].Isotope != 13 || m.Atoms[0].Class != 7 {
		t.Errorf("%+v", m.Atoms[0])
	}
}

func TestErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":        "character 1, the end: there is no atom",
		"C(":      `character 2, "(": the branch is never closed`,
		"C)":      `character 2, ")": no branch is open`,
		"(C)":     `character 1, "(": a branch with no atom before it`,
		"C()C":    `character 3, ")": the branch ends where an atom is due`,
		"C=":      `character 2, "=": no atom follows the bond`,
		"C==C":    `character 3, "=": a second bond, want an atom`,
		"C.":      "character 3, the end: no atom follows the dot",
		"C..C":    `character 3, ".": a dot with no atom before it`,
		"C1CC":    `character 2, "1": the ring 1 is never closed`,
		"C11":     `character 3, "1": the ring 1 joins an atom to itself`,
		"C1C1":    `character 4, "1": the ring 1 joins two atoms that a bond joins`,
		"C12CC12": `character 7, "2": the ring 2 joins two atoms that a bond joins`,
		"C=1CC#1": `character 7, "1": the ring 1 closes by a triple bond and opens by a double one`,
		"C%1":     "character 4, the end: want two digits behind %",
		"C%(1":    "character 5, the end: want one to five digits in the parentheses of a ring",
		"CX":      `character 2, "X": no atom, bond, branch or ring begins so; other elements stand in brackets`,
		"Cé":      `character 2, "é": no atom, bond, branch or ring begins so; other elements stand in brackets`,
		"[C":      `character 1, "[": the bracket is never closed`,
		"[Xx]":    `character 2, "X": want the symbol of an element`,
		"[C+16]":  `character 3, "+": a charge of more than 15`,
		"[C@TH9]": `character 6, "9": want a number from 1 to 2 for the chirality`,
		"[C:]":    `character 4, "]": want one to nine digits behind the colon of a class`,
		"[C?]":    `character 3, "?": want ], or what may follow in a bracket: chirality, hydrogens, charge, class`,
		"[HH]":    `character 3, "H": a hydrogen has no hydrogens`,
		"1CC1":    `character 1, "1": a ring with no atom before it`,
		"C CC":    `character 2, " ": no atom, bond, branch or ring begins so; other elements stand in brackets`,
	} {
		if _, err := smiles.Parse(text); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// Blanks around SMILES, and a name or an extension behind it, are not read.
func TestParseBlanks(t *testing.T) {
	want, err := smiles.Parse("OCC")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"OCC ", " OCC", "OCC\t", "\tOCC \r\n", "OCC ethanol", "OCC 64-17-5", "OCC\tCHEMBL545 or ethanol", "OCC |$;;$|", "OCC |c:0| CC"} {
		if got, err := smiles.Parse(text); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for text, want := range map[string]string{" ": `character 2, the end: there is no atom`, " CX": `character 3, "X": no atom`, "OCC OCC x": `character 4, " ": no atom`} {
		if _, err := smiles.Parse(text); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// reading is what RDKit says of a molecule: of an atom symbol, isotope, charge,
// hydrogens, aromatic, ring, class; of a bond two atoms, type, ring.
type reading struct {
	Atoms [][7]any
	Bonds [][4]int
}

type molecule struct {
	SMILES         string
	Raw, Sanitized *reading
}

// differences names what differs from RDKit: text, atoms, hydrogens, …
func differences(text string, want *reading) (all []string) {
	m, err := smiles.Parse(text)
	if (err == nil) != (want != nil) {
		return []string{"read"}
	}
	if err != nil {
		return nil
	}
	if len(m.Atoms) != len(want.Atoms) {
		return []string{"atoms"}
	}
	names := []string{"element", "isotope", "charge", "hydrogens", "aromatic", "atom in ring", "class"}
	one := map[bool]int{true: 1}
	differ := func(what string) {
		if !slices.Contains(all, what) {
			all = append(all, what)
		}
	}
	for v, a := range m.Atoms {
		got := []any{a.Element.String(), a.Isotope, a.Charge, a.Hydrogens, one[a.Aromatic], one[a.Ring], a.Class}
		for i := range got {
			if fmt.Sprint(got[i]) != fmt.Sprint(want.Atoms[v][i]) {
				differ(names[i])
			}
		}
	}
	got := [][4]int{}
	for _, b := range m.Bonds {
		got = append(got, [4]int{int(min(b.A, b.B)), int(max(b.A, b.B)), int(b.Type), one[b.Ring]})
	}
	slices.SortFunc(got, func(x, y [4]int) int { return cmp.Or(x[0]-y[0], x[1]-y[1]) })
	if len(got) != len(want.Bonds) {
		return append(all, "bonds")
	}
	for i, w := range want.Bonds {
		switch {
		case got[i][0] != w[0] || got[i][1] != w[1]:
			differ("bonds")
		case got[i][2] != w[2]:
			differ("type")
		case got[i][3] != w[3]:
			differ("bond in ring")
		}
	}
	return all
}

// TestRDKit compares with what testdata/rdkit.py has written, of a sample or, where
// SANFLOW_RDKIT names its output, of all molecules of a table.
func TestRDKit(t *testing.T) {
	path := cmp.Or(os.Getenv("SANFLOW_RDKIT"), "testdata/rdkit.jsonl")
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s := bufio.NewScanner(f)
	s.Buffer(nil, 1<<24)
	n, raw, sanitized := 0, map[string]int{}, map[string]int{}
	for s.Scan() {
		var m molecule
		if err := json.Unmarshal(s.Bytes(), &m); err != nil {
			t.Fatal(err)
		}
		n++
		for _, what := range differences(m.SMILES, m.Raw) {
			raw[what]++
			if what != "hydrogens" || !bridgedIodine[m.SMILES] {
				t.Errorf("%s differ: %s", what, m.SMILES)
			}
		}
		if m.Sanitized != nil {
			for _, what := range differences(m.SMILES, m.Sanitized) {
				sanitized[what]++
			}
		}
	}
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d molecules; differ from RDKit: as written %v, sanitized %v", n, raw, sanitized)
}

// bridgedIodine are those of the molecules of ogbg-molhiv that RDKit reads otherwise as they
// are written: iodine with two bonds, to which RDKit adds a hydrogen, since it has the
// valence 3 too. That of OpenSMILES is 1.
var bridgedIodine = map[string]bool{
	"O=[N+]([O-])c1ccc(Ic2ccccc2)cc1": true,
	"c1cc2c3c(c1)Ic1cccc(c1-3)I2":     true,
}

// FuzzParse: any string is an error of one line at a place in it, or a molecule whose bonds join
// different atoms, once; and rings are what removing the bond says.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"OC(=O)c1ccccc1", "[13C@@H2-:7]%12/C=C\\%(12)", "C1CC2C1C2.[Na+]", "C(C(C", "[nH]1cccc1", "[Co@OH12H2++](Cl)$Br*"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		m, err := smiles.Parse(text)
		if err != nil {
			if e, ok := err.(*smiles.Error); !ok || e.At < 0 || e.At > len(text) || strings.Contains(e.Error(), "\n") {
				t.Fatalf("%#v", err)
			}
			return
		}
		if len(m.Atoms) > len(text) || len(m.Bonds) > len(text) {
			t.Fatal("more atoms or bonds than characters")
		}
		seen := map[[2]int32]bool{}
		ring := make([]bool, len(m.Atoms))
		for i, b := range m.Bonds {
			pair := [2]int32{min(b.A, b.B), max(b.A, b.B)}
			if seen[pair] || b.A == b.B || pair[0] < 0 || int(pair[1]) >= len(m.Atoms) || b.Type < smiles.Single || b.Type > smiles.Aromatic {
				t.Fatalf("%q: bond %d: %+v", text, i, b)
			}
			seen[pair] = true
			if len(m.Bonds) < 200 && b.Ring != joined(m, i) {
				t.Fatalf("%q: bond %d: ring is %t", text, i, b.Ring)
			}
			ring[b.A], ring[b.B] = ring[b.A] || b.Ring, ring[b.B] || b.Ring
		}
		for v, a := range m.Atoms {
			if a.Ring != ring[v] || a.Hydrogens < 0 || a.Hydrogens > 9 || a.Charge < -15 || a.Charge > 15 || a.Element >= smiles.Elements {
				t.Fatalf("%q: atom %d: %+v", text, v, a)
			}
		}
	})
}

// joined reports whether other bonds join the atoms of bond i.
func joined(m *smiles.Molecule, i int) bool {
	of := make([]int32, len(m.Atoms))
	for v := range of {
		of[v] = int32(v)
	}
	for again := true; again; {
		again = false
		for j, b := range m.Bonds {
			if least := min(of[b.A], of[b.B]); j != i && of[b.A] != of[b.B] {
				of[b.A], of[b.B], again = least, least, true
			}
		}
	}
	return of[m.Bonds[i].A] == of[m.Bonds[i].B]
}

func BenchmarkParse(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := smiles.Parse("CC(=O)N1c2ccccc2Sc2c1ccc1ccccc21"); err != nil {
			b.Fatal(err)
		}
	}
}
