package parquet

import (
	"fmt"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/internal/tabular"
)

// choose finds the columns of the ends and, if they are kept, of the weights.
func (t *edgeTable) choose(columns []tabular.Column) (cols []int, use []bool, err error) {
	use = make([]bool, len(columns))
	if len(columns) < 2 {
		return nil, use, fmt.Errorf("%d columns, want the two ends of an edge", len(columns))
	}
	for i, name := range [2]string{t.From, t.To} {
		at, err := find(columns, name, i)
		if err != nil {
			return nil, use, err
		}
		c := columns[at]
		if !isInteger(c) {
			return nil, use, fmt.Errorf("column %q is %s, want integers, which are the ids of nodes", c.Name, c.Type)
		}
		cols, use[at] = append(cols, at), true
	}
	if cols[0] == cols[1] {
		return nil, use, fmt.Errorf("both ends are column %q", t.From)
	}
	if !t.Weights {
		return cols, use, nil
	}
	at, err := find(columns, t.Weight, slices.Index(use, false))
	switch {
	case err != nil:
		return nil, use, err
	case at < 0:
		return nil, use, fmt.Errorf("%d columns, want the two ends of an edge and its weight", len(columns))
	case use[at]:
		return nil, use, fmt.Errorf("column %q is an end and the weight", columns[at].Name)
	case columns[at].Depth != 0 || columns[at].Elem == 0 || columns[at].Elem == arrow.STRING:
		return nil, use, fmt.Errorf("column %q is %s, want numbers, which are the weights of edges", columns[at].Name, columns[at].Type)
	}
	use[at] = true
	return append(cols, at), use, nil
}

// find returns the place of the column of that name, or usual without one.
func find(columns []tabular.Column, name string, usual int) (int, error) {
	if name == "" {
		return usual, nil
	}
	at := slices.IndexFunc(columns, func(c tabular.Column) bool { return c.Name == name })
	if at < 0 {
		return 0, fmt.Errorf("there is no column %q", name)
	}
	return at, nil
}
