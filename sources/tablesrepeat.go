package sources

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/internal/rows"
	"github.com/sanflow/sanflow/sources/internal/reading"
)

// statistics has the names of the statistics of repeated rows, in the order of their channels.
var statistics = []string{"count", "sum", "mean", "min", "max"}

// ParseRepeated reads what rows with the same ends become, as flags and record.Columns.Repeated have it: statistics with
// commas, error, or none for an empty list; "" is nil, the default.
func ParseRepeated(text string) ([]string, error) {
	switch text {
	case "":
		return nil, nil
	case "none":
		return []string{}, nil
	}
	list := strings.Split(text, ",")
	return list, checkRepeated(list)
}

func checkRepeated(list []string) error {
	for i, name := range list {
		switch {
		case !slices.Contains(statistics, name) && !slices.Contains([]string{"first", "last", "error"}, name):
			return fmt.Errorf("%q, want count, sum, mean, min, max, first and last with commas, error, or none", name)
		case slices.Contains(list[:i], name):
			return fmt.Errorf("%s is there twice", name)
		case name == "error" && len(list) > 1:
			return errors.New("error is not used together with others")
		case slices.Contains(list, "first") && slices.Contains(list, "last"):
			return errors.New("first and last are both set, want one")
		}
	}
	return nil
}

// repeats is the treatment of edge rows with the same ends.
type repeats struct {
	list   []string
	usual  bool // the default list, which applies only if rows repeat
	keep   string
	time   *tableChannel // channel of the times if keep is set
	stats  []repeatStat
	made   [][]float32 // values by graph: (entries, stats)
	again  int32       // first row that repeats an edge, or -1
	before int32       // the row that it repeats
}

// repeatStat is a channel of repeated rows.
type repeatStat struct {
	of    string      // element of statistics
	field *tableField // column of the numbers; nil for count
}

func (s repeatStat) name() string {
	if s.field == nil {
		return record.CountOfRows
	}
	return s.of + " of " + s.field.channel
}

// chooseRepeated checks Edges.Repeated, or sets the default, count and sum. It sets which row is kept, and a
// channel for each statistic and number.
func (b *tableBuild) chooseRepeated() error {
	r := &b.repeats
	r.list, r.again = b.Edges.Repeated, -1
	if b.Edges.Repeated == nil && b.Edges.Attributes == nil {
		r.list, r.usual = []string{"count", "sum"}, true
	}
	if err := checkRepeated(r.list); err != nil {
		return fmt.Errorf("sources: Tables: Repeated: %w", err)
	}
	for _, keep := range []string{"first", "last"} {
		if slices.Contains(r.list, keep) {
			if r.keep = keep; b.Edges.Time == "" {
				return fmt.Errorf("sources: Tables: Repeated has %s, and the edges have no column Time", keep)
			}
			r.time = b.edgeAttrs.numbers[slices.IndexFunc(b.edgeAttrs.numbers, func(c *tableChannel) bool { return b.isTime(c.fields[0]) })]
		}
	}
	for _, of := range statistics {
		if !slices.Contains(r.list, of) {
			continue
		}
		if of == "count" {
			r.stats = append(r.stats, repeatStat{of: of})
			continue
		}
		for _, c := range b.edgeAttrs.numbers {
			if f := c.fields[0]; of != "sum" || !b.isTime(f) {
				r.stats = append(r.stats, repeatStat{of, f})
			}
		}
	}
	return nil
}

// isTime reports whether a column is EdgeTable.Time.
func (b *tableBuild) isTime(f *tableField) bool { return f.channel == "time" && f.Name == b.Edges.Time }

// holds compares two rows with the same ends: by time if first or last is kept, then by words and numbers. Missing values
// are the largest. The smaller row is kept.
func (b *tableBuild) holds(x, y int32) int {
	if time := b.repeats.time; time != nil {
		t, u := time.number(x), time.number(y)
		if b.repeats.keep == "last" {
			t, u = -t, -u
		}
		if c := rows.CompareNumbers(t, u); c != 0 {
			return c
		}
	}
	for _, c := range b.edgeAttrs.words {
		if c := cmp.Compare(c.word(x, math.MaxInt32), c.word(y, math.MaxInt32)); c != 0 {
			return c
		}
	}
	for _, c := range b.edgeAttrs.numbers {
		if c := rows.CompareNumbers(c.number(x), c.number(y)); c != 0 {
			return c
		}
	}
	return 0
}

// value computes a statistic of rows. It sums sorted numbers, so the result does not depend on row order.
// Missing numbers are skipped; without numbers the result is NaN.
func (s repeatStat) value(rows []int32, values *[]float32) (float32, error) {
	if s.field == nil {
		return float32(len(rows)), nil
	}
	all := (*values)[:0]
	for _, row := range rows {
		if x := s.field.attrs.At(int(row)); x == x {
			all = append(all, x)
		}
	}
	*values = all
	x := Statistic(s.of, all, s.field.offset)
	if math.IsInf(float64(x), 0) {
		return 0, fmt.Errorf("the sum of the %d rows with these ends is %v, want a finite number that fits a float32; -repeated leaves sums out", len(all), x)
	}
	return x, nil
}

// Statistic is the sum, mean, min or max of the numbers that rows with the same ends have, of which an offset was subtracted: NaN of none, and an
// infinity if the sum does not fit. The numbers are sorted, so that the sum does not depend on the order of the rows. The offset counts in the sum alone.
func Statistic(of string, numbers []float32, offset float64) float32 {
	n := len(numbers)
	if n == 0 {
		return missingNumber
	}
	slices.Sort(numbers)
	sum := 0.
	for _, x := range numbers {
		sum += float64(x)
	}
	switch of {
	case "min":
		return numbers[0]
	case "max":
		return numbers[n-1]
	case "mean":
		return float32(sum / float64(n))
	}
	return float32(sum + offset*float64(n))
}

// repeated adds the channels of repeated rows to the graphs.
func (b *tableBuild) repeated() error {
	r, l, counts := &b.repeats, &b.set.Layout, b.set.Stats.EdgeCounts
	n := reading.Repeated(counts, b.set.Stats.EdgeRows)
	if slices.Contains(r.list, "error") && n > 0 {
		return b.target.failAt(int(r.again), fmt.Errorf("the row names the edge of row %d again, and so do %d of %d rows; -repeated count,sum makes attributes of repeated rows", r.before+1, n, b.set.Stats.EdgeRows))
	}
	if r.usual && n == 0 {
		r.stats = nil
	}
	if len(r.stats) == 0 {
		if r.keep != "" {
			l.Columns.Repeated = r.keep
		}
		return nil
	}
	for _, s := range r.stats {
		if slices.ContainsFunc(slices.Concat(l.EdgeCat, l.EdgeAttr), func(c record.Channel) bool { return c.Name == s.name() }) {
			return blame(b.edges.r, s.name(), errors.New("the name of a channel of repeated rows; ignore the column, or -repeated none"))
		}
		c := record.Channel{Name: s.name()}
		if s.field != nil && s.of != "sum" {
			c.Offset = s.field.offset
		}
		l.EdgeAttr = append(l.EdgeAttr, c)
	}
	l.Columns.Repeated = strings.Join(r.list, ",")
	for i, it := range b.set.Items {
		g, old, width := it.Graph, it.Graph.EdgeAttrs, len(r.stats)
		if err := b.Take(4 * int64(len(g.Neighbors)) * int64(old+width)); err != nil {
			return b.edges.inFile(err)
		}
		all := make([]float32, 0, len(g.Neighbors)*(old+width))
		for e := range g.Neighbors {
			all = append(append(all, g.EdgeAttr[e*old:(e+1)*old]...), r.made[i][e*width:(e+1)*width]...)
		}
		g.EdgeAttr, g.EdgeAttrs, r.made[i] = all, old+width, nil
	}
	return nil
}
