package parquet

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/internal/tabular"
	"github.com/sanflow/sanflow/sources"
)

// given is a table that is open.
type given struct{ *tableReader }

func (g given) OpenTable(context.Context) (sources.TableReader, error) { return g.tableReader, nil }

// A table whose footers claim more rows than graphs have edges is refused before any
// of them is read; of several files their sum counts.
func TestTooManyRows(t *testing.T) {
	for _, c := range []struct {
		rows []int64
		want string
	}{
		{[]int64{1 << 30}, "1073741824 edges, want at most 1073741823: rows have 32-bit offsets"},
		{[]int64{1 << 29, 1 << 29}, "1073741824 edges, want at most"},
		{[]int64{1 << 40}, "1099511627776 edges, want at most"},
		{[]int64{1 << 29, 1<<29 - 1}, "raise Memory"},
	} {
		var inputs []tabular.Input
		for _, n := range c.rows {
			inputs = append(inputs, tabular.Input{Name: "x", Open: func() (tabular.Decoder, io.Closer, error) {
				return &reader{footer: &footer{rows: n}}, io.NopCloser(nil), nil
			}})
		}
		first, err := open(inputs[0])
		if err != nil {
			t.Fatal(err)
		}
		r := &tableReader{path: "x", file: first, inputs: inputs[1:], columns: make([]sources.TableColumn, 2)}
		if _, err := (sources.Tables{Edges: sources.EdgeTable{Table: given{r}}}).Read(t.Context()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%d rows: %v, want %s", c.rows, err, c.want)
		}
	}
}
