package sinks

import (
	"errors"
	"fmt"
	"strings"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/operators"
)

// CountNames returns the names of the counts of operators.Count in a schema, in the order of
// columns.
func CountNames(s *arrow.Schema) (names []string) {
	for _, f := range s.Fields() {
		name, ok := strings.CutSuffix(f.Name, "_ids")
		if _, counts := operators.CountColumns(name); ok && name != "" && s.HasField(counts) {
			names = append(names, name)
		}
	}
	return names
}

// CountsOf returns the counts of the named columns, one row for each row of rec. Counts of
// several names are joined; counts with the same id are added.
func CountsOf(rec arrow.Record, names ...string) (*nn.Counts, error) {
	if len(names) == 0 {
		return nil, errors.New("sinks: no counts are named")
	}
	var all []countLists
	for _, name := range names {
		ids, counts := operators.CountColumns(name)
		i, err := record.ListsOf[uint64](rec, ids)
		if err != nil {
			return nil, err
		}
		n, err := record.ListsOf[float32](rec, counts)
		if err != nil {
			return nil, err
		}
		all = append(all, countLists{name, i, n})
	}
	rows, values := int(rec.NumRows()), 0
	for i := range rows {
		for _, l := range all {
			n := len(l.ids.Row(i))
			if other := len(l.counts.Row(i)); other != n {
				return nil, fmt.Errorf("row %d has %d ids and %d counts of %s", i, n, other, l.name)
			}
			values += n
		}
	}
	c := &nn.Counts{Offsets: make([]int, 1, rows+1), IDs: make([]uint64, 0, values), Values: make([]float64, 0, values)}
	var row, sum sparseRow
	for i := range rows {
		sum.clear()
		for _, l := range all[:len(all)-1] {
			row, sum = sum, row
			sum.clear()
			sum.merge(row, l.ids.Row(i), l.counts.Row(i))
		}
		last, to := all[len(all)-1], sparseRow{c.IDs, c.Values}
		to.merge(sum, last.ids.Row(i), last.counts.Row(i))
		c.IDs, c.Values = to.ids, to.counts
		c.Offsets = append(c.Offsets, len(c.IDs))
	}
	return c, nil
}

type countLists struct {
	name   string
	ids    record.ListView[uint64]
	counts record.ListView[float32]
}

// sparseRow is a row of counts, ids ascending.
type sparseRow struct {
	ids    []uint64
	counts []float64
}

func (s *sparseRow) clear() { s.ids, s.counts = s.ids[:0], s.counts[:0] }

func (s *sparseRow) add(id uint64, count float64) {
	s.ids, s.counts = append(s.ids, id), append(s.counts, count)
}

// merge appends the sum of a row and of ids with their counts.
func (s *sparseRow) merge(a sparseRow, ids []uint64, counts []float32) {
	i, j := 0, 0
	for i < len(a.ids) && j < len(ids) {
		switch {
		case a.ids[i] < ids[j]:
			s.add(a.ids[i], a.counts[i])
			i++
		case ids[j] < a.ids[i]:
			s.add(ids[j], float64(counts[j]))
			j++
		default:
			s.add(ids[j], a.counts[i]+float64(counts[j]))
			i, j = i+1, j+1
		}
	}
	s.ids, s.counts = append(append(s.ids, a.ids[i:]...), ids[j:]...), append(s.counts, a.counts[i:]...)
	for _, x := range counts[j:] {
		s.counts = append(s.counts, float64(x))
	}
}
