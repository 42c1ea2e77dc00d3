package parquet

import (
	"io"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/internal/tabular"
)

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
		e := &edgeTable{Edges: Edges{Path: "x"}, left: 4 << 30}
		if err := e.count(inputs); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%d rows: %v, want %s", c.rows, err, c.want)
		}
	}
}
