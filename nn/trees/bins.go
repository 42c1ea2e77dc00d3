package trees

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"sort"

	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/nn/validation"
)

const (
	mostValues = 255     // maximum number of bins of the values of a column
	sampled    = 200_000 // approximate number of rows whose values set the bins of a dense column
	rare       = 160     // bagged trees split by the counts of an id only if at least one training row in 160 has the id
)

// column is a dense column or the counts of an id. Bin b has the values above cuts[b-1], up to cuts[b]. A
// dense column has one more bin, for missing values.
type column struct {
	cuts []float64
	id   uint64
	rest int // the bin that rows do not list: of count 0, or of missing values
}

func (c *column) dense() bool { return c.rest > len(c.cuts) }

func (c *column) bin(x float64) int {
	if x != x {
		return len(c.cuts) + 1
	}
	return sort.SearchFloat64s(c.cuts, x)
}

// table has rows as bins: the training rows, then the validation rows.
type table struct {
	columns []column // the dense ones first, then by ascending id
	base    []uint32 // (columns+1): the number of the first bin of each column
	start   []int    // (rows+1): the bins of row i are at[start[i]:start[i+1]]
	at      []uint32 // numbers of bins, ascending in each row
}

// listed returns the bins of a row in the columns from from on.
func (t *table) listed(row int32, from int) []uint32 {
	at := t.at[t.start[row]:t.start[row+1]]
	i, _ := slices.BinarySearch(at, t.base[from])
	return at[i:]
}

// drawn reports whether the random share of the columns that seed determines includes a column.
func drawn(share float64, seed uint64, column int) bool {
	return share == 1 || float64(validation.Seed(seed, uint64(column))>>11)*0x1p-53 < share
}

// draw sets t to all with a random share of the columns. Rows list the bins of these columns alone.
func (t *table) draw(all *table, share float64, seed uint64) {
	t.columns, t.base = all.columns, all.base
	if share == 1 {
		t.start, t.at = all.start, all.at
		return
	}
	in := make([]uint8, all.base[len(all.columns)])
	for c := range all.columns {
		if drawn(share, seed, c) {
			for at := all.base[c]; at < all.base[c+1]; at++ {
				in[at] = 1
			}
		}
	}
	t.start, t.at = append(t.start[:0], 0), slices.Grow(t.at[:0], len(all.at))[:len(all.at)]
	n := 0
	for i := range len(all.start) - 1 {
		for _, at := range all.at[all.start[i]:all.start[i+1]] {
			t.at[n] = at // without a branch, which half of the bins would mispredict
			n += int(in[at])
		}
		t.start = append(t.start, n)
	}
	t.at = t.at[:n]
}

// read converts rows to bins. The training rows set the bins.
func (g *grower) read(train, valid Rows) (err error) {
	d, often := len(g.shape.Columns), map[uint64]int{}
	g.unknown, err = g.each(train, func(b nn.Batch, i int, y float64) {
		g.targets = append(g.targets, y)
		ids, _ := b.Counts.Row(i)
		for _, id := range ids {
			often[id]++
		}
	})
	if g.train = len(g.targets); err == nil && g.train == 0 {
		err = fmt.Errorf("trees: there are no rows to learn from, and %d whose target is not known", g.unknown)
	}
	if err != nil {
		return err
	}
	if g.MinRows == 0 {
		g.MinRows = max(1, min(20, g.train/20))
	}
	least := g.MinRows
	if g.Bag {
		least = max(least, g.train/rare)
	}
	values, step, row := make([][]float64, d), max(1, g.train/sampled), 0
	words := map[uint64]*levels{}
	for id, n := range often {
		if n >= least {
			words[id] = &levels{values: make([]float64, 0, n)}
		}
	}
	_, err = g.each(train, func(b nn.Batch, i int, _ float64) {
		if row++; row%step == 0 {
			for c, x := range b.Columns[i*d : (i+1)*d] {
				if x == x {
					values[c] = append(values[c], x)
				}
			}
		}
		ids, values := b.Counts.Row(i)
		for j, id := range ids {
			if w := words[id]; w != nil {
				w.values = append(w.values, values[j])
				w.sum += validation.Seed(uint64(row), math.Float64bits(values[j]))
			}
		}
	})
	if err != nil {
		return err
	}
	t, place := &g.all, g.columns(values, words)
	t.start = []int{0}
	add := func(c int, x float64) {
		if bin := t.columns[c].bin(x); bin != t.columns[c].rest {
			t.at = append(t.at, t.base[c]+uint32(bin))
		}
	}
	put := func(b nn.Batch, i int, _ float64) {
		for c, x := range b.Columns[i*d : (i+1)*d] {
			add(c, x)
		}
		ids, values := b.Counts.Row(i)
		for j, id := range ids {
			if c, ok := place[id]; ok {
				add(c, values[j])
			}
		}
		t.start = append(t.start, len(t.at))
	}
	if _, err = g.each(train, put); err != nil || valid == nil {
		return err
	}
	unknown, err := g.each(valid, func(b nn.Batch, i int, y float64) {
		g.targets = append(g.targets, y)
		put(b, i, y)
	})
	g.unknown += unknown
	return err
}

// levels are the counts of an id, and a hash of its rows and counts.
type levels struct {
	values []float64
	sum    uint64
}

// columns sets the columns: those of dense values, then the ids with a split that has MinRows on each side.
// Of ids with equal counts in all training rows the smallest one stays. place is the column of each id.
func (g *grower) columns(values [][]float64, words map[uint64]*levels) (place map[uint64]int) {
	t := &g.all
	for _, values := range values {
		var k column
		k.cut(values, 0, 0)
		k.rest = len(k.cuts) + 1
		t.columns = append(t.columns, k)
	}
	place, known := map[uint64]int{}, map[uint64]bool{}
	for _, id := range slices.Sorted(maps.Keys(words)) {
		k, w := column{id: id}, words[id]
		if known[w.sum] {
			continue
		}
		known[w.sum] = true
		if k.cut(w.values, g.train-len(w.values), g.MinRows); len(k.cuts) > 0 {
			k.rest = k.bin(0)
			place[id] = len(t.columns)
			t.columns = append(t.columns, k)
		}
	}
	t.base = []uint32{0}
	for c, k := range t.columns {
		t.base = append(t.base, t.base[c]+uint32(max(len(k.cuts), k.rest)+1))
	}
	return place
}

// cut sets the cuts between the distinct numbers of a list: values, and zeros times the number 0. A cut has at least least rows on each side. Many
// values are divided into bins of about equally many rows.
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
		if x >= all[i+1].x { // no number lies between the two
			x = all[i].x
		}
		k.cuts = append(k.cuts, x)
	}
}
