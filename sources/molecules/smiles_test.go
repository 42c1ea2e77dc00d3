package molecules_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
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

const moleculeTable = `smiles,active,p
CCO,yes,1.5
"c1ccccc1",no,2
C.[Na+],,
N#N,yes,-1
`

// moleculesOf returns number, size and target of each graph of a source.
func moleculesOf(t *testing.T, s molecules.Source) (all []string, l record.Layout, err error) {
	defer leak.VerifyNone(t)
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer mem.AssertSize(t, 0)
	r, err := s.Open(context.Background(), mem)
	if err != nil {
		return nil, l, err
	}
	defer r.Close()
	err = each(r, func(gs *record.Graphs, i int) {
		if err := gs.Check(i); err != nil {
			t.Fatal(err)
		}
		l = gs.Layout
		var g graph.Graph
		gs.At(i, &g)
		row := gs.Row(i)
		all = append(all, fmt.Sprint(row.ID, row.Pos, g.N(), len(g.Neighbors)/2, row.Class, row.Value))
	})
	return all, l, err
}

// each calls do for each graph of a reader.
func each(r flow.Reader, do func(gs *record.Graphs, i int)) error {
	for {
		rec, err := r.Next(context.Background())
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		gs, err := record.GraphsOf(rec)
		if err != nil {
			return err
		}
		for i := range gs.Len() {
			do(gs, i)
		}
		rec.Release()
	}
}

func TestSource(t *testing.T) {
	path := filepath.Join(t.TempDir(), "molecules.csv")
	if err := os.WriteFile(path, []byte(moleculeTable), 0o600); err != nil {
		t.Fatal(err)
	}
	table := sources.CSV{Path: path}
	parts := []sources.Subset{sources.Train, sources.Test, sources.None, sources.Train}
	for _, c := range []struct {
		s    molecules.Source
		want string
	}{
		{molecules.Source{Rows: 1}, "[0 0 3 2 0 0 1 1 6 6 0 0 2 2 2 0 0 0 3 3 2 1 0 0]"},
		{molecules.Source{Targets: sources.Targets("active")}, "[0 0 3 2 1 0 1 1 6 6 0 0 3 3 2 1 1 0]"},
		{molecules.Source{Targets: []record.TargetChannel{{Name: "active", Classes: []string{"yes", "no"}}}}, "[0 0 3 2 0 0 1 1 6 6 1 0 3 3 2 1 0 0]"},
		{molecules.Source{Targets: sources.Targets("p"), Numbers: true}, "[0 0 3 2 0 1.5 1 1 6 6 0 2 3 3 2 1 0 -1]"},
		{molecules.Source{Parts: parts}, "[0 0 3 2 0 0 1 1 6 6 0 0 2 2 2 0 0 0 3 3 2 1 0 0]"},
	} {
		c.s.Table = table
		got, l, err := moleculesOf(t, c.s)
		if err != nil || fmt.Sprint(got) != c.want {
			t.Errorf("%v: %v, %v, want %s", c.s, got, err, c.want)
		}
		if len(c.s.Targets) > 0 && !c.s.Numbers && c.s.Targets[0].Classes == nil && fmt.Sprint(l.Classes) != "[no yes]" {
			t.Error(l.Classes)
		}
	}
	for _, c := range []struct {
		s    molecules.Source
		want string
	}{
		{molecules.Source{}, "molecules: there is no Table"},
		{molecules.Source{Table: table, Column: "x"}, `molecules.csv: there is no column "x"; there are "smiles", "active", "p"`},
		{molecules.Source{Table: table, Column: "active"}, `molecules.csv:2: row 1: column "active": character 1, "y": no atom, bond, branch or ring begins so; other elements stand in brackets`},
		{molecules.Source{Table: table, Targets: sources.Targets("active"), Numbers: true}, `molecules.csv:2: row 1: column "active": "yes", want a finite decimal number`},
		{molecules.Source{Table: table, Targets: []record.TargetChannel{{Name: "active", Classes: []string{"yes"}}}}, `molecules.csv:3: row 2: column "active": the class "no" is none of 1 known ones`},
		{molecules.Source{Table: table, Parts: parts[:2]}, `molecules.csv:4: row 3: column "smiles": Parts has only 2 rows`},
		{molecules.Source{Table: table, Parts: append(parts, sources.Val)}, `molecules.csv: 4 rows, and Parts has 5`},
	} {
		if _, _, err := moleculesOf(t, c.s); err == nil || !strings.HasSuffix(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
	bad := sources.CSV{Path: path, Header: []string{"smiles", "active", "p"}} // the first row has names
	var refused []string
	got, _, err := moleculesOf(t, molecules.Source{Table: bad, Refused: func(row int64, err error) { refused = append(refused, fmt.Sprint(row, " ", err)) }})
	if err != nil || len(got) != 4 || len(refused) != 1 || !strings.HasSuffix(refused[0], `molecules.csv:1: row 1: column "smiles": character 2, "m": no atom, bond, branch or ring begins so; other elements stand in brackets`) {
		t.Errorf("%v, %q, %v", got, refused, err)
	}
	read, err := molecules.ReadParts(context.Background(), sources.CSV{Path: "parts", Reader: strings.NewReader("train\nvalid\ntest\nnone\n"), Header: []string{"part"}}, "part")
	if err != nil || fmt.Sprint(read) != "[train val test none]" {
		t.Error(read, err)
	}
	_, err = molecules.ReadParts(context.Background(), sources.CSV{Path: "parts", Reader: strings.NewReader("train\nx\n"), Header: []string{"part"}}, "part")
	if err == nil || err.Error() != `sources: parts:2: row 2: column "part": "x", want train, valid, val, test, or none` {
		t.Error(err)
	}
}

// Ids are those of all rows; a row without one is refused. Rows without a class, or of another
// one, are told to Skip.
func TestMoleculeNames(t *testing.T) {
	ctx := context.Background()
	text := "id,no,smiles,active,part\na,7,CC,yes,train\nb,8,C(,no,test\n,9,CCC,,valid\nb,-10,CCCC,so,\n"
	table := func() sources.Table { return sources.CSV{Path: "t.csv", Reader: strings.NewReader(text)} }
	sdf := func(titles ...string) io.Reader {
		var b strings.Builder
		for i, title := range titles {
			fmt.Fprintf(&b, "%s\n\n\n  1  0  0  0  0  0            999 V2000\n    0.0000    0.0000    0.0000 C   0  0\nM  END\n> <code>\n0%d\n\n> <part>\n%s\n\n$$$$\n", title, i, []string{"val", "", "test"}[i%3])
		}
		return strings.NewReader(b.String())
	}
	for _, c := range []struct {
		source interface {
			Names(context.Context) (graph.IDs, error)
		}
		kind graph.IDKind
		want string
	}{
		{molecules.Source{Table: table(), ID: "id"}, graph.StringIDs, "[a b  b]"},
		{molecules.Source{Table: sources.CSV{Path: "t", Reader: strings.NewReader("smiles,x\nC,1\n")}}, graph.NoIDs, "[]"},
		{molecules.Source{Table: table(), ID: "no"}, graph.Int64IDs, "[7 8 9 -10]"},
		{molecules.Source{Table: molecules.SDF{Reader: sdf("x", "  y z ", "x")}}, graph.StringIDs, "[x y z x]"},
		{molecules.Source{Table: molecules.SDF{Reader: sdf("3", "2")}}, graph.Int64IDs, "[3 2]"},
		{molecules.Source{Table: molecules.SDF{Reader: sdf("3", "", "x")}}, graph.NoIDs, "[]"},
		{molecules.Source{Table: molecules.SDF{Reader: sdf("3", "")}, ID: "code"}, graph.StringIDs, "[00 01]"},
		{molecules.Source{Table: molecules.SDF{Reader: sdf()}}, graph.Int64IDs, "[]"},
	} {
		ids, err := c.source.Names(ctx)
		names := []string{}
		for i := range ids.Len() {
			names = append(names, ids.Name(int32(i)))
		}
		if err != nil || ids.Kind() != c.kind || fmt.Sprint(names) != c.want {
			t.Errorf("%v: %v %q, %v, want %v %s", c.source, ids.Kind(), names, err, c.kind, c.want)
		}
	}
	for _, c := range []struct {
		names func(context.Context) (graph.IDs, error)
		want  string
	}{
		{molecules.Source{}.Names, "there is no Table"},
		{molecules.Source{Table: table(), ID: "x"}.Names, `t.csv: there is no column "x"`},
		{molecules.Source{Table: molecules.SDF{Path: "m.sdf", Reader: sdf("3")}, ID: "x"}.Names, `m.sdf:6: molecule 1: "x": there is no such data item, want an id`},
		{molecules.Source{Table: molecules.SDF{Path: "m.sdf", Reader: sdf("\xe9")}}.Names, `m.sdf:6: molecule 1: the id "\xe9" is no UTF-8`},
	} {
		if _, err := c.names(ctx); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
	parts, err := molecules.ReadParts(ctx, molecules.SDF{Reader: sdf("a", "b", "c")}, "part")
	if err != nil || fmt.Sprint(parts) != "[val none test]" {
		t.Error(parts, err)
	}
	if _, err := molecules.ReadParts(ctx, molecules.SDF{Path: "m.sdf", Reader: sdf("a")}, "code"); err == nil || !strings.Contains(err.Error(), `m.sdf:8: molecule 1: "code": "00", want train`) {
		t.Error(err)
	}
	var told []string
	refused := func(row int64, err error) { told = append(told, fmt.Sprint(row, " ", err)) }
	got, _, err := moleculesOf(t, molecules.Source{Table: table(), ID: "id", Refused: refused})
	if err != nil || fmt.Sprint(got) != "[0 0 2 1 0 0 3 3 4 3 0 0]" || len(told) != 2 || !strings.HasSuffix(told[1], `t.csv:4: row 3: column "id": there is no value, want an id`) {
		t.Errorf("%q, %q, %v", got, told, err)
	}
	told = nil
	ragged := sources.CSV{Path: "r.csv", Reader: strings.NewReader("smiles,active\nCC,yes\nC\n\nCCC,no\nC,x,y\nCCCC,yes\n"), Ragged: true}
	got, _, err = moleculesOf(t, molecules.Source{Table: ragged, Targets: []record.TargetChannel{{Name: "active", Classes: []string{"no", "yes"}}}, Refused: refused})
	if err != nil || fmt.Sprint(got) != "[0 0 2 1 1 0 2 2 3 2 0 0 4 4 4 3 1 0]" || fmt.Sprint(told) != "[1 sources: r.csv:3: row 2: 1 values, want one for each of 2 columns 3 sources: r.csv:6: row 4: 3 values, want one for each of 2 columns]" {
		t.Errorf("%q, %q, %v", got, told, err)
	}
	ragged.Reader = strings.NewReader("smiles\nC\nC,C\n")
	if _, _, err := moleculesOf(t, molecules.Source{Table: ragged}); err == nil || !strings.HasSuffix(err.Error(), "r.csv:3: row 2: 2 values, want one for each of 1 columns") {
		t.Error(err)
	}
	told = nil
	skip := func(row int64, class string) { told = append(told, fmt.Sprint(row, " ", class)) }
	got, _, err = moleculesOf(t, molecules.Source{Table: table(), Targets: []record.TargetChannel{{Name: "active", Classes: []string{"no", "yes"}}}, Refused: refused, Skip: skip})
	if err != nil || fmt.Sprint(got) != "[0 0 2 1 1 0]" || len(told) != 3 || told[1] != "2 " || told[2] != "3 so" {
		t.Errorf("%q, %q, %v", got, told, err)
	}
	if _, _, err := moleculesOf(t, molecules.Source{Table: table(), Skip: skip}); err == nil || !strings.Contains(err.Error(), "Skip without Targets") {
		t.Error(err)
	}
}

// A row of a class that is none of Classes is told to Skip if it is a molecule. If it is none, it is one
// for Refused, or without that the error.
func TestMoleculesOfForeignClasses(t *testing.T) {
	block := func(atom, class string) string {
		return fmt.Sprintf("m\n\n\n  1  0  0  0  0  0            999 V2000\n    0.0000    0.0000    0.0000 %s   0  0\nM  END\n> <active>\n%s\n\n$$$$\n", atom, class)
	}
	classes := []string{"no", "yes"}
	for kind, open := range map[string]func(refused func(int64, error), skip func(int64, string)) flow.Source{
		"SMILES": func(refused func(int64, error), skip func(int64, string)) flow.Source {
			text := "smiles,active\nC,yes\nC(,so\nCC,so\nC(,no\n"
			return molecules.Source{Table: sources.CSV{Path: "t", Reader: strings.NewReader(text)}, Targets: []record.TargetChannel{{Name: "active", Classes: classes}}, Refused: refused, Skip: skip}
		},
		"SDF": func(refused func(int64, error), skip func(int64, string)) flow.Source {
			text := block("C ", "yes") + block("Qq", "so") + block("C ", "so") + block("Qq", "no")
			return molecules.Source{Table: molecules.SDF{Path: "t", Reader: strings.NewReader(text)}, Targets: []record.TargetChannel{{Name: "active", Classes: classes}}, Refused: refused, Skip: skip}
		},
	} {
		var told []string
		refused := func(row int64, _ error) { told = append(told, fmt.Sprint(row, " refused")) }
		skip := func(row int64, class string) { told = append(told, fmt.Sprint(row, " ", class)) }
		read := func(src flow.Source) (rows int, err error) {
			r, err := src.Open(t.Context(), memory.DefaultAllocator)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			err = each(r, func(*record.Graphs, int) { rows++ })
			return rows, err
		}
		if rows, err := read(open(refused, skip)); err != nil || rows != 1 || fmt.Sprint(told) != "[1 refused 2 so 3 refused]" {
			t.Errorf("%s: %d rows, %q, %v", kind, rows, told, err)
		}
		told = nil
		if _, err := read(open(nil, skip)); err == nil || strings.Contains(err.Error(), "known ones") || told != nil {
			t.Errorf("%s without Refused: %q, %v", kind, told, err)
		}
		if _, err := read(open(refused, nil)); err != nil || fmt.Sprint(told) != "[1 refused 2 refused 3 refused]" {
			t.Errorf("%s without Skip: %q, %v", kind, told, err)
		}
	}
}

func TestParseSMILES(t *testing.T) {
	g, err := molecules.Parse("[NH4+].c1ccccc1=O")
	if err != nil {
		t.Fatal(err)
	}
	l := molecules.Layout()
	if err := l.Holds(g, &record.Row{}); err != nil {
		t.Fatal(err)
	}
	words := func(c []record.Channel, cat []int32) (all []string) {
		for i, x := range cat {
			w, _ := c[i].Word(x)
			all = append(all, w)
		}
		return all
	}
	if got := fmt.Sprint(words(l.NodeCat, g.NodeCat[:5]), words(l.NodeCat, g.NodeCat[5:10]), words(l.EdgeCat, g.EdgeCat[:2]), words(l.EdgeCat, g.EdgeCat[len(g.EdgeCat)-2:])); got != "[N 1 4 no no] [C 0 1 yes yes] [aromatic yes] [double no]" {
		t.Error(got)
	}
	if _, err := molecules.Parse("C1"); err == nil || err.Error() != `sources: SMILES: character 2, "1": the ring 1 is never closed` {
		t.Error(err)
	}
}

// The molecules of ogbg-molhiv, with its counts.
func TestSMILESData(t *testing.T) {
	data := os.Getenv("SANFLOW_DATA")
	table := sources.CSV{Path: filepath.Join(data, "mol", "HIV.csv.gz")}
	if _, err := os.Stat(table.Path); data == "" || err != nil {
		t.Skip("SANFLOW_DATA has no mol/HIV.csv.gz")
	}
	parts, err := molecules.ReadParts(context.Background(), sources.CSV{Path: filepath.Join(data, "mol", "HIV-scaffold.txt.gz"), Header: []string{"part"}}, "part")
	if err != nil {
		t.Fatal(err)
	}
	want := map[sources.Subset][2]int{sources.Train: {32901, 1232}, sources.Val: {4113, 81}, sources.Test: {4113, 130}}
	r, err := molecules.Source{Table: table, Targets: []record.TargetChannel{{Name: "HIV_active", Classes: []string{"0", "1"}}}, Parts: parts}.Open(context.Background(), memory.DefaultAllocator)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	got := map[sources.Subset][2]int{}
	if err := each(r, func(gs *record.Graphs, i int) {
		n := got[parts[gs.ID(i)]]
		got[parts[gs.ID(i)]] = [2]int{n[0] + 1, n[1] + int(gs.Row(i).Class)}
	}); err != nil {
		t.Fatal(err)
	}
	if !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func BenchmarkSMILES(b *testing.B) {
	path := filepath.Join(os.Getenv("SANFLOW_DATA"), "mol", "HIV.csv.gz")
	if _, err := os.Stat(path); err != nil {
		b.Skip("SANFLOW_DATA has no mol/HIV.csv.gz")
	}
	n := 0
	for b.Loop() {
		r, err := molecules.Source{Table: sources.CSV{Path: path}, Targets: sources.Targets("HIV_active"), Numbers: true}.Open(context.Background(), memory.DefaultAllocator)
		if err != nil {
			b.Fatal(err)
		}
		if err := each(r, func(*record.Graphs, int) { n++ }); err != nil {
			b.Fatal(err)
		}
		r.Close()
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "molecules/s")
}
