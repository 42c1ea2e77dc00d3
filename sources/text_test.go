package sources

import (
	"context"
	"encoding/csv"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// cells returns all values of a table, row by row, behind the names of the columns.
func cells(table Table) (rows [][]string, err error) {
	r, err := table.OpenTable(context.Background())
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var names []string
	var all []int
	for i, c := range r.Columns() {
		names, all = append(names, c.Name), append(all, i)
	}
	rows = append(rows, names)
	r.Choose(all)
	for {
		b, err := r.Next()
		if err == io.EOF {
			return rows, nil
		}
		if err != nil {
			return rows, err
		}
		for i := range b.Rows {
			var row []string
			for _, v := range b.Values {
				row = append(row, string(v.Text[v.Spans[i].From:v.Spans[i].To]))
			}
			rows = append(rows, row)
		}
	}
}

// Quoted values on one line are those that encoding/csv reads.
func TestTextQuotes(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 1))
	for range 500 {
		comma := []byte("\t,;|")[rng.IntN(4)]
		var text strings.Builder
		w := csv.NewWriter(&text)
		w.Comma = rune(comma)
		want := [][]string{{"first", "the second", "a\"b", "é"}}
		for range rng.IntN(5) {
			var row []string
			for range 4 {
				var v []byte
				for range rng.IntN(6) {
					v = append(v, "\",;|\tab1 "[rng.IntN(9)])
				}
				row = append(row, "x"+string(v)+"y")
			}
			want = append(want, row)
		}
		w.WriteAll(want)
		got, err := cells(Text{Path: "x", Reader: strings.NewReader(text.String())})
		if err != nil || !slices.EqualFunc(got, want, slices.Equal[[]string]) {
			t.Fatalf("%q: %q, %v, want %q", text.String(), got, err, want)
		}
	}
}

func TestTextForms(t *testing.T) {
	for text, want := range map[string]string{
		"a|b\n1|2":              "[[a b] [1 2]]",
		`"a,b" , "c"` + "\n1,2": "[[a,b c] [1 2]]",
		"\"1\",\"2\"\n3,\"\"":   "[[1 2] [1 2] [3 ]]",
		"\"a\t\"\t\"b\"\n\t1":   "[[a\t b] [ 1]]",
		`x "y" 1`:               `[[1 2 3] [x "y" 1]]`,
		"a,b\n5\",6":            `[[a b] [5" 6]]`,
		"a,b\n\"5,6":            `x:2: value 1: "\"5,6" begins with a quote that does not end it`,
		"a,b\n\"5\"x,6":         `x:2: value 1: "\"5\"x,6" begins with a quote that does not end it`,
		"a,b\n5,\"":             `x:2: value 2: "\"" begins with a quote that does not end it`,
	} {
		rows, err := cells(Text{Path: "x", Reader: strings.NewReader(text)})
		got := strings.NewReplacer("\n", "").Replace(sprint(rows))
		if err != nil {
			got = err.Error()
		}
		if !strings.HasSuffix(got, want) {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

func sprint(rows [][]string) string {
	var all []string
	for _, r := range rows {
		all = append(all, "["+strings.Join(r, " ")+"]")
	}
	return "[" + strings.Join(all, " ") + "]"
}
