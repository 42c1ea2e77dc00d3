package sources

import (
	"bytes"
	"encoding/csv"
	"io"
	"regexp"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/sanflow/sanflow/sources/internal/reading"
)

// rowsOf reads a CSV with columns 0, 1, … by its own splitter.
func rowsOf(text []byte, columns int, small bool) (rows [][]string, err error) {
	names := make([]string, columns)
	var in io.Reader = bytes.NewReader(text)
	if small {
		in = iotest.OneByteReader(in)
	}
	if rows, err = cells(CSV{Reader: in, Header: names}); len(rows) > 0 {
		rows = rows[1:] // the names
	}
	return rows, err
}

var returned = regexp.MustCompile("\r[^\n]")

// FuzzCSV: package encoding/csv reads the same rows, and refuses the same, except for a \r that
// it takes for a part of a value without quotes.
func FuzzCSV(f *testing.F) {
	for _, s := range []string{"a,b\n", "a,\"b\"\"c\"\r\n\n\"x\ny\r\nz\",\r\n", "\"a\"b,c\n", "a\"b,c\n", "\"a,b\n", "a\r", "\"a\"\r", "a\rb,c", "\"\"", ",\n,", "\r\n\r\n1,2\r", "\"a\r\"\n", "1\n\"a\"\rb\n", "a\n\rb\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if bytes.HasPrefix(text, []byte("\ufeff")) {
			return
		}
		r := csv.NewReader(bytes.NewReader(text))
		var want [][]string
		var wantErr error
		for {
			row, err := r.Read()
			if err == io.EOF {
				break
			}
			if wantErr = err; err != nil {
				break
			}
			want = append(want, row)
		}
		columns := 1
		if len(want) > 0 {
			columns = len(want[0])
		}
		for _, small := range []bool{false, true} {
			got, err := rowsOf(text, columns, small)
			if err != nil && strings.Contains(err.Error(), "UTF-8") {
				return
			}
			cause := err != nil && strings.Contains(err.Error(), reading.ErrReturns.Error())
			if is := returned.Match(text); cause && !is || err == nil && is && !bytes.ContainsRune(text, '"') {
				t.Fatalf("%q: error %v", text, err)
			}
			if cause {
				want, wantErr = want[:min(len(got), len(want))], err
			}
			if (err == nil) != (wantErr == nil) {
				t.Fatalf("%q: error %v, want %v", text, err, wantErr)
			}
			if err != nil && len(got) != 0 && len(got) < len(want) || len(got) > len(want) || err == nil && len(got) < len(want) {
				t.Fatalf("%q: %q, want %q", text, got, want)
			}
			for i, row := range got {
				if strings.Join(row, "\x00") != strings.Join(want[i], "\x00") {
					t.Fatalf("%q: row %d is %q, want %q", text, i, row, want[i])
				}
			}
		}
	})
}
