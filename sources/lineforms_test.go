package sources_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/sanflow/sanflow/internal/leak"
	"github.com/sanflow/sanflow/sources"
)

// firstOf returns the names of the columns and the first value of a table.
func firstOf(table sources.Table) (columns, value string, err error) {
	r, err := table.OpenTable(context.Background())
	if err != nil {
		return "", "", err
	}
	defer r.Close()
	for _, c := range r.Columns() {
		columns += c.Name + " "
	}
	r.Choose([]int{0})
	b, err := r.Next()
	if err != nil {
		return columns, "", err
	}
	v := b.Values[0]
	return columns, string(v.Text[v.Spans[0].From:v.Spans[0].To]), nil
}

// Lines tells objects from values by the first line: behind a byte order mark and empty
// lines, and in packed text.
func TestLines(t *testing.T) {
	for _, c := range []struct{ text, columns, value string }{
		{`{"from":"a","to":"b"}`, "from to ", "a"},
		{"a b 1\n", "1 2 3 ", "a"},
		{`{"from":"a","to":"b"} {"from":"c"}`, "from to ", "a"},
		{`[{"from":"a","to":"b"},{"to":"c"}]`, "from to ", "a"},
		{"[\r\n  {\r\n    \"from\": \"a\",\r\n    \"to\": \"b\"\r\n  }\r\n]\r\n", "from to ", "a"},
		{"from;to\na;b", "from to ", "a"},
		{"{a} {b} 1", "1 2 3 ", "{a}"},
		{"[a] [b] 1", "1 2 3 ", "[a]"},
	} {
		for _, begin := range []string{"", "\ufeff", "\n \r\n", "\ufeff\n", strings.Repeat(" \n", 50_000)} {
			var zipped, zstandard bytes.Buffer
			z := gzip.NewWriter(&zipped)
			s, err := zstd.NewWriter(&zstandard)
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range []io.WriteCloser{z, s} {
				if _, err := io.WriteString(w, begin+c.text); err != nil {
					t.Fatal(err)
				}
				if err := w.Close(); err != nil {
					t.Fatal(err)
				}
			}
			for name, text := range map[string]string{"plain": begin + c.text, "gzip": zipped.String(), "zstd": zstandard.String()} {
				columns, value, err := firstOf(sources.Text{Path: "x", Reader: strings.NewReader(text)})
				if err != nil || columns != c.columns || value != c.value {
					t.Errorf("%s, %q behind %.10q: columns %q, value %q, %v", name, c.text, begin, columns, value, err)
				}
			}
		}
	}
	for text, want := range map[string]string{
		"":                       "x: it is empty",
		"\n\n":                   "x: it is empty",
		`[{"from":1}`:            "x:1: row 2: it is no JSON: it ends early",
		`[{"from":1}] {}`:        "x:1: row 2: it is no JSON: there is more behind the array",
		`[{"from":1},2]`:         "x:1: row 2: it is a JSON number, want an object",
		"[{\"from\":1},\n\n[2]]": "x:3: row 2: it is a JSON array, want an object",
		"{\"a\":1}\n{\"a\":":     "x:2: row 2: it is no JSON: it ends early at byte 6",
		"{\"a\":1}\n\n{\"b\":1":  "x:3: row 2: ",
	} {
		if _, _, err := firstOf(sources.Text{Path: "x", Reader: strings.NewReader(text)}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// Lines finds the form behind many blanks in small reads. If each read scanned the bytes before
// it again, this test would take half a minute.
func TestLinesSmallReads(t *testing.T) {
	r := iotest.OneByteReader(strings.NewReader("\ufeff" + strings.Repeat("\n", 300_000) + `{"from":"a","to":"b"}`))
	columns, value, err := firstOf(sources.Text{Path: "x", Reader: r})
	if err != nil || columns != "from to " || value != "a" {
		t.Fatalf("columns %q, value %q, %v", columns, value, err)
	}
}

// A row of a Reader is handed out before the Reader has the next one: events of a queue
// are not held back. Of objects and of CSV this is so behind what tells of the columns.
func TestTablesLive(t *testing.T) {
	defer leak.VerifyNone(t)
	for name, c := range map[string]struct {
		table func(io.Reader) sources.Table
		begin string
		row   string
	}{
		"Text":      {func(r io.Reader) sources.Table { return sources.Text{Path: "x", Reader: r} }, "", "a b 1\n"},
		"Lines":     {func(r io.Reader) sources.Table { return sources.Text{Path: "x", Reader: r} }, "", "a b 1\n"},
		"objects":   {func(r io.Reader) sources.Table { return sources.Text{Path: "x", Reader: r} }, "", `{"s":"a","t":"b"}` + "\n"},
		"blank":     {func(r io.Reader) sources.Table { return sources.Text{Path: "x", Reader: r} }, "", "a b 1\n \r\n\n"},
		"comment":   {func(r io.Reader) sources.Table { return sources.Text{Path: "x", Reader: r} }, "", "a b 1\n# alive\n"},
		"CSV":       {func(r io.Reader) sources.Table { return sources.CSV{Path: "x", Reader: r} }, "s,t\n", "a,b\n"},
		"JSONLines": {func(r io.Reader) sources.Table { return sources.JSONLines{Path: "x", Reader: r} }, "", `{"s":"a","t":"b"}` + "\n"},
	} {
		from, to := io.Pipe()
		step := make(chan struct{})
		go func() {
			_, _ = io.WriteString(to, c.begin+strings.Repeat(c.row, 256<<10/len(c.row)+1))
			for range step {
				_, _ = io.WriteString(to, c.row)
			}
			to.Close()
		}()
		r, err := c.table(from).OpenTable(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		r.Choose([]int{0, 1})
		rows := 0
		next := func() {
			late := time.AfterFunc(10*time.Second, func() { from.CloseWithError(io.ErrNoProgress) })
			defer late.Stop()
			b, err := r.Next()
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			rows += b.Rows
		}
		for rows < 256<<10/len(c.row)+1 {
			next()
		}
		for range 10 {
			was := rows
			step <- struct{}{}
			next()
			if rows != was+1 {
				t.Fatalf("%s: %d rows, want %d", name, rows, was+1)
			}
		}
		close(step)
		if _, err := r.Next(); err != io.EOF {
			t.Errorf("%s: %v at the end", name, err)
		}
		r.Close()
	}
}

// A table of a Reader is read once. Where that is not enough, the error says so: reading
// on would lose the rows before.
func TestTablesReaderOnce(t *testing.T) {
	text := strings.Repeat("1,2\n", 100_000) + "2,x\n" + strings.Repeat("3,4\n", 100_000)
	objects := strings.Repeat(`{"1":1,"2":2}`+"\n", 100_000) + `{"1":1,"2":"x"}` + "\n" + strings.Repeat(`{"1":1,"2":2}`+"\n", 100_000)
	for name, table := range map[string]sources.Table{
		"CSV":       sources.CSV{Path: "x", Reader: strings.NewReader("1,2\n" + text)},
		"Text":      sources.Text{Path: "x", Reader: strings.NewReader(text)},
		"Lines":     sources.Text{Path: "x", Reader: strings.NewReader(text)},
		"JSONLines": sources.JSONLines{Path: "x", Reader: strings.NewReader(objects)},
		"objects":   sources.Text{Path: "x", Reader: strings.NewReader(objects)},
	} {
		set, err := sources.Tables{Edges: sources.EdgeTable{Table: table, Source: "1", Target: "2"}}.Read(context.Background())
		if err == nil || !strings.Contains(err.Error(), `row 100001: column "2": "x", want an integer`) {
			t.Errorf("%s: %+v, %v", name, set, err)
		}
	}
}
