package sources

import (
	"context"
	"encoding/csv"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
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

// Lines that end in \r alone are refused, and not read as one line. A \r in a quoted value of a CSV
// stands for itself, and JSON objects may have any blanks between them.
func TestCarriageReturns(t *testing.T) {
	plain := func(r io.Reader) Table { return Text{Path: "x", Reader: r} }
	lines := func(r io.Reader) Table { return Text{Path: "x", Reader: r} }
	commas := func(r io.Reader) Table { return CSV{Path: "x", Reader: r} }
	objects := func(r io.Reader) Table { return JSONLines{Path: "x", Reader: r} }
	const cause = `lines end in \r alone; want \n or \r\n`
	for _, c := range []struct {
		table func(io.Reader) Table
		text  string
		want  string
	}{
		{plain, "a,b\r1,2\r3,4\r", "sources: x:1: " + cause},
		{plain, "1 2\n3 4\r5 6\r7 8", "sources: x:2: " + cause},
		{plain, "# x\r1 2\r", "sources: x:1: " + cause},
		{plain, "\r\r1 2\r", "sources: x:1: " + cause},
		{plain, strings.Repeat("1 2\r", 300_000), "sources: x:1: " + cause},
		{plain, "1 2\r\n3 4\r", ""},
		{lines, "a,b\r1,2\r3,4\r", "sources: x:1: " + cause},
		{lines, "{\"a\":1}\r{\"a\":2}\r", ""},
		{objects, "{\"a\":1}\n\n{\"a\":2} \r{\"a\":3}", ""},
		{objects, strings.Repeat("{\"a\":1}\r", 150_000), ""},
		{objects, "{\"a\":\r1}\r\n", ""},
		{commas, "a,b\r1,2\r3,4\r", "sources: x:1: the names of columns: " + cause},
		{commas, "\"a\",\"b\"\r\"1\",\"2\"\r", "sources: x:1: the names of columns: " + cause},
		{commas, "a,b\n\n1,2\r3,4\r", "sources: x:3: row 1: column \"b\": " + cause},
		{commas, "a,b\n\"1\",\"2\"\r\"3\",\"4\"\r", "sources: x:2: row 1: column \"b\": " + cause},
		{commas, "a,b\r1,\"2\"\r", "sources: x:1: the names of columns: " + cause},
		{commas, "a,b\n1,x\r\"2\",3\r", "sources: x:2: row 1: column \"b\": " + cause},
		{commas, "a,b\n1\r2,x\"y\r", "sources: x:2: row 1: column \"a\": " + cause},
		{commas, strings.Repeat("1,2\r", 300_000), "sources: x:1: the names of columns: " + cause},
		{commas, "a,b\r\n\"1\r\",2\r", ""},
	} {
		for _, r := range []io.Reader{strings.NewReader(c.text), iotest.HalfReader(strings.NewReader(c.text))} {
			_, err := cells(c.table(r))
			if err == nil && c.want != "" || err != nil && err.Error() != c.want {
				t.Errorf("%.40q: %v, want %q", c.text, err, c.want)
			}
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
