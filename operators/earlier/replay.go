package earlier

import (
	"cmp"
	"math"
	"slices"

	"github.com/sanflow/sanflow/internal/scratch"
)

// Rows are the rows of a table, in the order of their times. Rows of unknown time may be anywhere.
type Rows struct {
	Time    []float64
	Keys    []int32   // (rows, key columns)
	Numbers []float32 // (rows, numbers)
	Class   []int32   // class that other rows may know, or -1; nil = none
}

// Row returns row i. Its slices are those of the rows.
func (r *Rows) Row(i int) Row {
	n := len(r.Time)
	k, c := len(r.Keys)/n, len(r.Numbers)/n
	row := Row{r.Time[i], r.Keys[i*k:][:k], r.Numbers[i*c:][:c], -1}
	if r.Class != nil {
		row.Class = r.Class[i]
	}
	return row
}

// Reversed returns the rows in the opposite order, at the negated times. A State with Later then
// makes columns of the rows after each row. The first row of these columns belongs to the last row.
func (r *Rows) Reversed() Rows {
	n := len(r.Time)
	back := Rows{Time: make([]float64, 0, n), Keys: make([]int32, 0, len(r.Keys)), Numbers: make([]float32, 0, len(r.Numbers))}
	for i := n - 1; i >= 0; i-- {
		row := r.Row(i)
		back.Time = append(back.Time, -row.Time)
		back.Keys = append(back.Keys, row.Keys...)
		back.Numbers = append(back.Numbers, row.Numbers...)
		back.Class = append(back.Class, row.Class)
	}
	return back
}

// Replay calls Ask and then Add for each row, so the columns of the rows to learn from equal those
// that a service computes. It returns them, (rows, columns).
//
// Cuts are indices of rows, ascending; see Cuts. Up to the last cut, a class becomes known at the
// first cut after its Delay. Without cuts it becomes known after its Delay.
func (s *State) Replay(rows Rows, cuts []int) []float32 {
	c := len(s.names)
	dst := make([]float32, len(rows.Time)*c)
	if len(cuts) > 0 {
		s.cut = &cut{known: make([]float64, len(s.known))}
	}
	for i := range rows.Time {
		row := rows.Row(i)
		if !math.IsNaN(row.Time) && len(cuts) > 0 && cuts[0] <= i {
			for len(cuts) > 0 && cuts[0] <= i {
				cuts = cuts[1:]
			}
			s.cut = &cut{int32(i), row.Time, make([]float64, len(s.known))}
			for c, rows := range s.known {
				s.cut.known[c] = float64(scratch.Before(rows, func(r int32) bool { return s.isDue(r, len(s.set.Windows), row.Time) }))
			}
		}
		if len(cuts) == 0 {
			s.cut = nil
		}
		s.ask(&row, place{row.Time, int32(i)}, dst[i*c:])
		s.Add(&row)
	}
	s.cut = nil
	return dst
}

// mostParts is the largest number of parts into which Cuts divides the rows to learn from; the
// smallest is 2.
const mostParts = 6

// Cuts returns cuts for Replay if the rows to answer lie after those to learn from, and no later
// classes are known to them. A row to learn from would otherwise know the class of the row just
// before it, which a row to answer never does, and a model would rely on it. Cuts divide the rows
// to learn from, train, which ascend, into parts, and a row sees the classes of earlier parts only.
// A part has twice as many rows of the table as lie on average between the end of train and a row
// of answer, so known classes have the same age on average. Cuts returns nil if a row of answer
// lies between rows of train, where classes are equally old for both.
func Cuts(train, answer []int32) []int {
	if len(train) < mostParts || len(answer) == 0 || slices.Min(answer) < train[len(train)-1] {
		return nil
	}
	first, last, behind := train[0], train[len(train)-1], 0.0
	for _, r := range answer {
		behind += float64(r-last) / float64(len(answer))
	}
	parts := int(min(mostParts, max(2, math.Round(float64(last-first+1)/(2*behind)))))
	var cuts []int
	for i := range parts {
		cuts = append(cuts, int(train[i*len(train)/parts]))
	}
	return append(cuts, int(last)+1)
}

// ChoosePairs returns the pairs of key columns whose combinations get a history, from rows to learn
// from. Such a pair has at least 1.1 times as many combinations as either column has values, so it
// is not redundant, and at least two rows for each combination, so that combinations recur.
// ChoosePairs returns at most mostPairs pairs, those with the most combinations for each value.
func ChoosePairs(rows Rows, keys int) [][2]int {
	values := make([]float64, keys)
	for a := range keys {
		seen := map[int32]bool{}
		for i := a; i < len(rows.Keys); i += keys {
			seen[rows.Keys[i]] = true
		}
		delete(seen, -1)
		values[a] = float64(len(seen))
	}
	type pair struct {
		keys [2]int
		more float64
	}
	var found []pair
	for a := range keys {
		for b := a + 1; b < keys; b++ {
			var seen pairs
			n := 0
			for i := 0; i < len(rows.Keys); i += keys {
				if x, y := rows.Keys[i+a], rows.Keys[i+b]; x >= 0 && y >= 0 {
					seen.add(x, y, 0)
					n++
				}
			}
			more := float64(seen.size) / max(values[a], values[b], 1)
			if more >= 1.1 && n >= 2*int(seen.size) {
				found = append(found, pair{[2]int{a, b}, more})
			}
		}
	}
	slices.SortStableFunc(found, func(x, y pair) int { return cmp.Compare(y.more, x.more) })
	var chosen [][2]int
	for _, p := range found[:min(len(found), mostPairs)] {
		chosen = append(chosen, p.keys)
	}
	return chosen
}

// mostPairs is the largest number of pairs that ChoosePairs returns.
const mostPairs = 4
