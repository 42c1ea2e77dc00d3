package molecules_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/molecules"
)

// A .smi file is a table of molecules and their names.
func TestSMI(t *testing.T) {
	for text, want := range map[string]string{
		"CCO ethanol\nC1CC1\tcyclo propane\n":            "[ethanol cyclo propane] 3 3",
		"\ufeffsmiles name\r\n\r\nCCO |$;;$| 1 \r\nCC 2": "[1 2] 3 2",
		"CCO\nCC":                "[] 3 2",
		"CCO 64175\nCC |c:0|\t7": "[64175 7] 3 2",
		"CCO a\nCC\n":            `sources: x.smi:2: row 2: column "id": there is no value, want an id`,
		"CCO |a\n":               `sources: x.smi:1: the CXSMILES extension "|a" has no end`,
		"CC CC\nCX b":            `sources: x.smi:2: row 2: column "smiles": character 2, "X": no atom, bond, branch or ring begins so; other elements stand in brackets`,
	} {
		table := func() sources.Table { return molecules.SMI{Path: "x.smi", Reader: strings.NewReader(text)} }
		r, err := table().OpenTable(t.Context())
		s := molecules.Source{}
		if err == nil && len(r.Columns()) > 1 {
			s.ID = "id"
		}
		got := []string{}
		if err == nil && s.ID != "" {
			s.Table = table()
			names, failed := s.Names(t.Context())
			for i := range int32(names.Len()) {
				got = append(got, names.Name(i))
			}
			err = failed
		}
		said := fmt.Sprint(got)
		if err == nil {
			s.Table = table()
			graphs, _, failed := readSDF(t, s)
			for _, g := range graphs {
				said += fmt.Sprint(" ", g.N())
			}
			err = failed
		}
		if err != nil {
			said = err.Error()
		}
		if said != want {
			t.Errorf("%q: %s, want %s", text, said, want)
		}
	}
}
