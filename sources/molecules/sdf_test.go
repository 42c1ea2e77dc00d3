package molecules_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/internal/leak"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/molecules"
)

// readSDF returns the graphs of a source, and their targets.
func readSDF(t *testing.T, s flow.Source) (all []*graph.Graph, rows []record.Row, err error) {
	t.Helper()
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	r, err := s.Open(context.Background(), mem)
	if err != nil {
		return nil, nil, err
	}
	defer r.Close()
	err = each(r, func(gs *record.Graphs, i int) {
		var g graph.Graph
		gs.At(i, &g)
		all, rows = append(all, clone(&g)), append(rows, gs.Row(i))
	})
	return all, rows, err
}

func clone(g *graph.Graph) *graph.Graph {
	return &graph.Graph{
		Offsets: slices.Clone(g.Offsets), Neighbors: slices.Clone(g.Neighbors),
		NodeCat: slices.Clone(g.NodeCat), NodeCats: g.NodeCats, EdgeCat: slices.Clone(g.EdgeCat), EdgeCats: g.EdgeCats,
	}
}

// sameAsSMILES compares an SD file of testdata/sdf.py with the SMILES in it: atoms, charges,
// hydrogens, bonds, rings.
func sameAsSMILES(t *testing.T, sdf []byte) (n int) {
	t.Helper()
	var want []string
	for part := range strings.SplitSeq(string(sdf), "$$$$") {
		if _, item, ok := strings.Cut(part, "<smiles>"); ok {
			want = append(want, strings.Split(item, "\n")[1])
		}
	}
	all, _, err := readSDF(t, molecules.Source{Table: molecules.SDF{Path: "rdkit.sdf", Reader: bytes.NewReader(sdf)}, Targets: []record.TargetChannel{{Name: "smiles", Classes: slices.Compact(slices.Sorted(slices.Values(want)))}}})
	if err != nil || len(all) != len(want) {
		t.Fatalf("%d molecules, want %d: %v", len(all), len(want), err)
	}
	for i, got := range all {
		g, err := molecules.Parse(want[i])
		if err == nil && len(g.Neighbors) == 0 {
			g.EdgeCats = got.EdgeCats // of a record
		}
		if err != nil {
			t.Errorf("%s: %v", want[i], err)
		} else if strings.Contains(want[i], "[IH]") {
			continue // RDKit has a hydrogen on iodine with two bonds, which its valence does not leave
		} else if fmt.Sprint(got) != fmt.Sprint(clone(g)) {
			t.Errorf("%s: %+v, of SMILES %+v", want[i], got, clone(g))
		}
	}
	return len(all)
}

func TestSDFRDKit(t *testing.T) {
	sdf, err := os.ReadFile("testdata/rdkit.sdf")
	if err != nil {
		t.Fatal(err)
	}
	if n := sameAsSMILES(t, sdf); n != 26 {
		t.Errorf("%d molecules", n)
	}
}

// Molecules of ogbg-molhiv that RDKit writes now are those of their SMILES.
func TestSDFRDKitData(t *testing.T) {
	every := 80
	if os.Getenv("SANFLOW_LONG") != "" {
		every = 1
	}
	path := filepath.Join(os.Getenv("SANFLOW_DATA"), "mol", "HIV.csv.gz")
	if _, err := os.Stat(path); err != nil {
		t.Skip("SANFLOW_DATA has no mol/HIV.csv.gz")
	}
	if exec.Command("/usr/bin/python3", "-c", "import rdkit").Run() != nil {
		t.Skip("there is no RDKit")
	}
	out, err := exec.Command("sh", "-c", fmt.Sprintf("zcat %q | sed 1d | cut -d, -f1 | awk 'NR %% %d == 0' | /usr/bin/python3 testdata/sdf.py", path, every)).Output()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d molecules", sameAsSMILES(t, out))
}

const ethanol = `ethanol
  by hand

  3  2  0  0  0  0  0  0  0  0999 V2000
    0.0000    0.0000    0.0000 C   0  0
    1.0000    0.0000    0.0000 C   0  0
    2.0000    0.0000    0.0000 O   0  5
  1  2  1  0
  2  3  1  0
M  END
> <active>
yes

>  <p>  (1)
 1.5

$$$$
`

func TestSDF(t *testing.T) {
	defer leak.VerifyNone(t)
	words := func(g *graph.Graph, v int) string {
		l, text := molecules.Layout(), ""
		for i, x := range g.NodeCat[v*g.NodeCats:][:g.NodeCats] {
			w, _ := l.NodeCat[i].Word(x)
			text += w + " "
		}
		return text
	}
	for _, c := range []struct{ old, with, want string }{ // of the oxygen
		{"", "", "O -1 0 no no "},
		{"0  5", "0  0", "O 0 1 no no "},
		{"0  5", "0", "O 0 1 no no "},
		{"O   0  5", "N", "N 0 2 no no "},
		{"O   0  5", "R#", "* 0 0 no no "},
		{"O   0  5", "D", "H 0 0 no no "},
		{"O   0  5", "Na", "Na 0 0 no no "},
		{"O   0  5", "O   0  4", "O 0 0 no no "}, // a radical
		{"M  END", "M  CHG  1   1  -1\nM  END", "O 0 1 no no "},
		{"M  END", "M  CHG  2   1  -1   3   1\nM  END", "O 1 2 no no "},
		{"M  END", "M  RAD  1   3   2\nM  END", "O 0 0 no no "},
		{"M  END", "M  ISO  1   3  18\nM  END", "O -1 0 no no "},
		{"O   0  5", "O   0  0  0  0  0  3", "O 0 2 no no "},
		{"O   0  5", "O   0  0  0  0  0 15", "O 0 0 no no "},
		{"  2  3  1", "  2  3  4", "O -1 0 yes no "},
		{"  2  3  1", "  2  3  2", "O -1 0 no no "},
		{"  3  2", "  3  3", ""},
	} {
		text := strings.Replace(ethanol, c.old, c.with, 1)
		if c.want == "" {
			text, c.want = strings.Replace(text, "M  END", "  3  1  1  0\nM  END", 1), "O -1 0 no yes "
		}
		all, _, err := readSDF(t, molecules.Source{Table: molecules.SDF{Path: "e.sdf", Reader: strings.NewReader(text)}})
		if err != nil || len(all) != 1 || words(all[0], 2) != c.want {
			t.Errorf("%q for %q: %v, %v, want %s", c.with, c.old, all, err, c.want)
		}
	}

	// Three molecules, of which the second has no item, and the last no end.
	path := filepath.Join(t.TempDir(), "m.sdf")
	other := strings.Replace(ethanol, "yes", "no", 1)
	if err := os.WriteFile(path, []byte(ethanol+strings.ReplaceAll(ethanol, "<active>", "<other>")+strings.ReplaceAll(strings.TrimSuffix(other, "\n$$$$\n"), "\n", "\r\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		s    molecules.Source
		want string
	}{
		{molecules.Source{Table: molecules.SDF{}}, "0 0 0; 1 0 0; 2 0 0; "},
		{molecules.Source{Table: molecules.SDF{}, Targets: sources.Targets("active")}, "0 1 0; 2 0 0; "},
		{molecules.Source{Table: molecules.SDF{}, Targets: sources.Targets("p"), Numbers: true, Rows: 1}, "0 0 1.5; 1 0 1.5; 2 0 1.5; "},
	} {
		c.s.Table = molecules.SDF{Path: path}
		_, rows, err := readSDF(t, c.s)
		got := ""
		for _, r := range rows {
			got += fmt.Sprint(r.ID, r.Class, r.Value) + "; "
		}
		if err != nil || got != c.want {
			t.Errorf("%+v: %s, %v, want %s", c.s, got, err, c.want)
		}
	}
}

// A line of a value may look like the beginning of an item, or like the end of a molecule.
func TestSDFValues(t *testing.T) {
	mol := ethanol[:strings.Index(ethanol, "M  END")+7]
	item := func(name, value string) string { return ">  <" + name + ">\n" + value + "\n\n" }
	for text, want := range map[string]string{
		mol + item("Comment", "the text says\n>  <Class> is to be\nread below") + item("Class", "active") + "$$$$\n":             "[active]",
		mol + item("Note", "was\n>  <Class>\nold") + item("Class", "active") + "$$$$\n":                                          "[active]",
		mol + item("Class", "active\n> <Class>\n> 25 <Other>") + item("Class", "late") + "$$$$\n":                                "[active > <Class> > 25 <Other>]",
		mol + item("Note", "$$$$") + item("Class", "active") + "$$$$\n":                                                          "[active]",
		mol + item("Note", "costs\n$$$$\n$$$$ or more") + item("Class", "active") + "$$$$\n" + mol + item("Class", "b") + "$$$$": "[active b]",
		mol + item("Class", "a\n$$$$") + "$$$$\n" + mol + item("Class", "b"):                                                     "[a $$$$ b]",
		mol + item("Class", "$$$$5") + "$$$$\n":                                                                                  "[$$$$5]",
		// Without an empty line before it, $$$$ ends the molecule.
		mol + ">  <Class>\na\n$$$$\n" + mol + ">  <Class>\nb\n$$$$\n":                                "[a b]",
		mol + ">  <Class>\na\n$$$$\n\n\n\n" + mol[strings.Index(mol, "  3  2"):] + ">  <Class>\nb\n": "[a b]",
		strings.ReplaceAll(mol+">  <Class>\na\n$$$$\n"+mol+">  <Class>\nb\n$$$$\n", "\n", "\r\n"):    "[a b]",
	} {
		path := filepath.Join(t.TempDir(), "v.sdf")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		names, err := molecules.Source{Table: molecules.SDF{Path: path}, ID: "Class"}.Names(t.Context())
		var got []string
		for i := range int32(names.Len()) {
			got = append(got, names.Name(i))
		}
		if err != nil || fmt.Sprint(got) != want {
			t.Errorf("%q: %v, %v, want %s", text[len(mol):], got, err, want)
		}
		if items, _, err := readSDF(t, molecules.Source{Table: molecules.SDF{Path: path}}); err != nil || len(items) != len(got) {
			t.Errorf("%q: %d molecules, %v, want %d", text[len(mol):], len(items), err, len(got))
		}
	}
}

func TestSDFErrors(t *testing.T) {
	for _, c := range []struct{ old, with, want string }{
		{"V2000", "V3000", `e.sdf:4: molecule 1: columns 34 to 39: the version is "V3000", want V2000`},
		{"  3  2  0", "  0  2  0", `e.sdf:4: molecule 1: columns 1 to 3: the number of atoms is "0", want a number from 1 to 999`},
		{"  3  2  0", "  3  x  0", `e.sdf:4: molecule 1: columns 4 to 6: the number of bonds is "x", want a number from 0 to 999`},
		{"0.0000 O", "0.0000 Xx", `e.sdf:7: molecule 1: columns 32 to 34: "Xx", want the symbol of an element`},
		{"0  5", "0  8", `e.sdf:7: molecule 1: columns 37 to 39: the charge is "8", want a number from 0 to 7`},
		{"  2  3  1", "  2  4  1", `e.sdf:9: molecule 1: columns 4 to 6: an atom is "4", want a number from 1 to 3`},
		{"  2  3  1", "  2  3  8", `e.sdf:9: molecule 1: columns 7 to 9: the type is "8", want a number from 1 to 4`},
		{"  2  3  1", "  2  2  1", `e.sdf:9: molecule 1: the bond joins the atom 2 to itself`},
		{"  2  3  1", "  2  1  1", `e.sdf:9: molecule 1: a second bond joins the atoms 2 and 1`},
		{"M  END", "M  CHG  1   4   1\nM  END", `e.sdf:10: molecule 1: columns 11 to 13: an atom is "4", want a number from 1 to 3`},
		{"M  END", "M  CHG  1   1  16\nM  END", `e.sdf:10: molecule 1: columns 15 to 17: the value is "16", want a number from -15 to 15`},
		{"M  END\n", "", `e.sdf:16: molecule 1: want M  END`},
		{"  2  3  1  0\nM", "M", `e.sdf:9: molecule 1: columns 1 to 3: an atom is "M", want a number from 1 to 3`},
		{"  by hand\n", "$$$$\n", `e.sdf:2: molecule 1: the molecule ends before M  END`},
		{"M  END" + ethanol[strings.Index(ethanol, "M  END")+6:], "", `e.sdf:9: the file ends before M  END`},
		{" 1.5", "x", `e.sdf:15: molecule 1: "p": "x", want a finite decimal number`},
	} {
		_, _, err := readSDF(t, molecules.Source{Table: molecules.SDF{Path: "e.sdf", Reader: strings.NewReader(strings.Replace(ethanol, c.old, c.with, 1))}, Targets: sources.Targets("p"), Numbers: true})
		if err == nil || err.Error() != "sources: "+c.want {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
	// What is refused is skipped, up to the next molecule.
	bad := strings.Replace(ethanol, "V2000", "V3000", 1)
	short := strings.Replace(ethanol, "  by hand\n", "$$$$\n", 1)
	var refused []int64
	_, rows, err := readSDF(t, molecules.Source{Table: molecules.SDF{Reader: strings.NewReader(bad + ethanol + bad + ethanol + short[:strings.Index(short, "$$$$\n")+5] + ethanol + "\n \n")}, Refused: func(row int64, err error) { refused = append(refused, row) }})
	if err != nil || len(rows) != 3 || rows[2].ID != 5 || fmt.Sprint(refused) != "[0 2 4]" {
		t.Errorf("%v, %v, %v", rows, refused, err)
	}
	for want, s := range map[string]molecules.Source{
		"sources: molecules: a class of a Reader needs Classes": {Table: molecules.SDF{Reader: strings.NewReader("")}, Targets: sources.Targets("x")},
		"sources: SDF: no Path and no Reader":                   {Table: molecules.SDF{}},
	} {
		if _, _, err := readSDF(t, s); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// Any text is an error that names the file, or molecules that keep to the layout.
func FuzzSDF(f *testing.F) {
	f.Add([]byte(ethanol))
	f.Add([]byte(strings.Replace(ethanol, "M  END", "M  CHG  2   1  -1   3   1\nM  RAD  1   3   2\nM  END", 1)))
	f.Fuzz(func(t *testing.T, text []byte) {
		count := 0
		s := molecules.Source{Table: molecules.SDF{Path: "f", Reader: bytes.NewReader(text)}, Targets: sources.Targets("p"), Numbers: true}
		all, _, err := readSDF(t, s)
		if e := new(sources.FileError); err != nil && (!errors.As(err, &e) || strings.Contains(err.Error(), "\n")) {
			t.Fatalf("%v", err)
		}
		s.Table, s.Targets, s.Refused = molecules.SDF{Path: "f", Reader: bytes.NewReader(text)}, nil, func(int64, error) { count++ }
		some, _, err := readSDF(t, s)
		if n := bytes.Count(text, []byte("$$$$")); err == nil && len(some)+count > n+1 || len(some) < len(all) {
			t.Fatalf("%d molecules and %d refused, with %d ends; %d with values", len(some), count, n, len(all))
		}
		l := molecules.Layout()
		for _, g := range some {
			if err := errors.Join(g.Check(), l.Holds(g, &record.Row{})); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// A data item of the class that no molecule has is an error that names those that there are.
func TestSDFNoClass(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.sdf")
	text := "m\n\n\n  1  0  0  0  0  0  0  0  0  0999 V2000\n    0.0000    0.0000    0.0000 C   0  0\nM  END\n> <toxic>\n1\n\n> <dose>\n2\n\n$$$$\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	_, _, err := readSDF(t, molecules.Source{Table: molecules.SDF{Path: path}, Targets: sources.Targets("shape"), Skip: func(int64, string) {}})
	if err == nil || !strings.HasSuffix(err.Error(), `no molecule has the data item "shape", want a class; there are the data items ["dose" "toxic"]`) {
		t.Error(err)
	}
	if all, _, err := readSDF(t, molecules.Source{Table: molecules.SDF{Path: path}, Targets: sources.Targets("toxic")}); err != nil || len(all) != 1 {
		t.Errorf("%d molecules, %v", len(all), err)
	}
}
