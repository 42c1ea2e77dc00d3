package trees

import (
	"maps"
	"slices"
	"sort"

	"github.com/sanflow/sanflow/nn"
)

const (
	mostValues = 255     // bins of the values of a column
	sampled    = 200_000 // rows whose values decide the bins of a dense column, about
)

// column is a dense column or the counts of an id. Bin b has the values above cuts[b-1], up to cuts[b]. A dense column has
// one more bin, of missing values.
type column struct {
	cuts []float64
	id   uint64
	rest int // the bin of 0 of counts, or of missing values: rows do not list it
}

func (c *column) bin(x float64) int {
	if x != x {
		return len(c.cuts) + 1
	}
	return sort.SearchFloat64s(c.cuts, x)
}

// table has rows in bins: the training rows, and behind them those to choose the rounds by.
type table struct {
	dense   int
	columns []column // the dense ones first, then by ascending id
	base    []int    // (columns+1): where the bins of a column begin among those of all
	start   []int    // (rows+1): bins of row i are at[start[i]:start[i+1]],
	at      []uint32 // ascending, among those of all columns
}

// newTable puts n rows into bins, which the first ones, to train on, decide.
func newTable(s nn.Shape, rows Rows, n, train, least int) *table {
	d := len(s.Columns)
	t := &table{dense: d, base: []int{0}, start: []int{0}}
	for c := range d {
		t.columns = append(t.columns, denseColumn(rows.Columns[c:train*d], d))
	}
	if len(s.Counts) > 0 {
		t.columns = append(t.columns, countColumns(rows.Counts, train, least)...)
	}
	index := map[uint64]int{}
	for c, k := range t.columns {
		width := len(k.cuts) + 1
		if c < d {
			width++
		} else {
			index[k.id] = c
		}
		t.base = append(t.base, t.base[c]+width)
	}
	add := func(c int, x float64) {
		if bin := t.columns[c].bin(x); bin != t.columns[c].rest {
			t.at = append(t.at, uint32(t.base[c]+bin))
		}
	}
	for i := range n {
		for c := range d {
			add(c, rows.Columns[i*d+c])
		}
		if len(s.Counts) > 0 {
			ids, values := rows.Counts.Row(i)
			for j, id := range ids {
				if c, ok := index[id]; ok {
					add(c, values[j])
				}
			}
		}
		t.start = append(t.start, len(t.at))
	}
	return t
}

// listed returns the bins of a row, from those of a column on.
func (t *table) listed(row int32, from int) []uint32 {
	at, base := t.at[t.start[row]:t.start[row+1]], uint32(t.base[from])
	i, j := 0, len(at)
	for i < j {
		if h := int(uint(i+j) >> 1); at[h] < base {
			i = h + 1
		} else {
			j = h
		}
	}
	return at[i:]
}

// denseColumn returns the column of every d-th value.
func denseColumn(all []float64, d int) (k column) {
	var values []float64
	for i := 0; i < len(all); i += d * max(1, len(all)/d/sampled) {
		if all[i] == all[i] {
			values = append(values, all[i])
		}
	}
	k.cut(values, 0, 0)
	k.rest = len(k.cuts) + 1
	return k
}

// cut sets the cuts between values and some zeros more that have least rows on each side, or of many values so that about
// equally many rows are in each bin.
func (k *column) cut(values []float64, zeros, least int) {
	type level struct {
		x    float64
		rows int
	}
	var all []level
	n := len(values) + zeros
	if zeros > 0 {
		values = append(values, 0)
	}
	slices.Sort(values)
	for i, x := range values {
		if i == 0 || x != values[i-1] {
			all = append(all, level{x: x})
		}
		l := &all[len(all)-1]
		if l.rows++; x == 0 {
			l.rows, zeros = l.rows+max(0, zeros-1), 0
		}
	}
	below, here, bins := 0, 0, mostValues
	for i := range max(0, len(all)-1) {
		below, here = below+all[i].rows, here+all[i].rows
		if len(all) > mostValues && (here*bins < n-below+here || bins == 1) {
			continue
		}
		if here, bins = 0, bins-1; min(below, n-below) < least {
			continue
		}
		x := max(all[i].x, all[i].x/2+all[i+1].x/2)
		if x >= all[i+1].x { // there is no number between
			x = all[i].x
		}
		k.cuts = append(k.cuts, x)
	}
}

// countColumns returns the columns of the ids in which splits of the training rows can have least rows on each side, by
// ascending id.
func countColumns(c *nn.Counts, train, least int) (all []column) {
	values := map[uint64][]float64{}
	for i := range train {
		ids, counts := c.Row(i)
		for j, id := range ids {
			values[id] = append(values[id], counts[j])
		}
	}
	for _, id := range slices.Sorted(maps.Keys(values)) {
		k := column{id: id}
		if k.cut(values[id], train-len(values[id]), least); len(k.cuts) > 0 {
			k.rest = k.bin(0)
			all = append(all, k)
		}
	}
	return all
}
