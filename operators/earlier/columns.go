package earlier

import (
	"fmt"
	"math"
	"strings"
)

// mostCounted caps the counts of rows, of known classes and of distinct values over all time. A sum
// of mostCounted or more numbers is missing. Without the cap, the counts of frequent values grow with
// the table beyond all counts that a model has learned. Means, shares and windows have no cap.
const mostCounted = 20

var ordinals = [recentNumbers]string{"last", "second last", "third last"}

// IsDuration reports whether a column is a difference of two times.
func IsDuration(name string) bool {
	return strings.Contains(name, ": time since the last") || strings.Contains(name, ": time until the next")
}

// namesOf returns the names of the columns of a view, in the order of write.
func (s *State) namesOf(v view) (names []string) {
	rows, since, last := "rows before", "time since the last", ordinals
	prefix := v.name
	if s.set.Later {
		rows, since, last = "rows after", "time until the next", [recentNumbers]string{"next", "second next", "third next"}
		prefix = "later, " + v.name
	}
	add := func(format string, args ...any) { names = append(names, prefix+": "+fmt.Sprintf(format, args...)) }
	add("%s", rows)
	add("%s", since)
	if len(s.shares) > 0 {
		add("rows with known %s", s.set.Class)
		add("%s row with known %s", since, s.set.Class)
		for _, c := range s.shares {
			is := s.set.Class + "=" + s.set.Classes[c]
			add("share of %s", is)
			add("share of %s in the %s %d known", is, last[0], recentClasses)
			add("%s known is %s", last[0], is)
		}
	}
	if v.keys[1] < 0 {
		for b, name := range s.set.Keys {
			if b != v.table {
				add("distinct %s", name)
			}
		}
	}
	for _, name := range s.set.Numbers {
		add("sum of %s", name)
		add("mean %s", name)
		add("deviation of %s", name)
		add("%s − mean", name)
		add("%s − mean, deviations", name)
		add("%s − %s", name, last[0])
		for _, which := range last {
			add("%s %s", which, name)
		}
	}
	for _, w := range s.set.Windows {
		prefix := prefix + ", " + w.Name
		names = append(names, prefix+": rows")
		for _, name := range s.set.Numbers {
			names = append(names, prefix+": sum of "+name, prefix+": mean "+name)
		}
	}
	return names
}

// write writes the columns of a view. rec is the record of the row's value, known the number of
// known rows of each class.
func (s *State) write(v view, rec, known []float64, row *Row, out []float32) {
	put := func(x float64, is bool) {
		if is {
			out[0] = float32(max(-math.MaxFloat32, min(x, math.MaxFloat32))) // sums and numbers of deviations may overflow float32
		}
		out = out[1:]
	}
	count := func(n float64) { put(min(n, mostCounted), true) }
	rows := rec[atRows]
	count(rows)
	put(row.Time-rec[atTime], rows > 0)
	if len(s.shares) > 0 {
		n := rec[atKnown]
		count(n)
		put(row.Time-rec[atKnownTime], n > 0)
		total := 0.0
		for _, x := range known {
			total += x
		}
		var recent [recentClasses]int64
		last := 0
		for p := int64(rec[atRecent]); p > 0; p /= packed {
			recent[last] = p%packed - 1
			last++
		}
		for _, c := range s.shares {
			share := (known[c] + 1) / (total + float64(len(known)))
			put((rec[s.at.classes+c]+smoothing*share)/(n+smoothing), n > 0)
			are := 0
			for _, r := range recent[:last] {
				if r == int64(c) {
					are++
				}
			}
			put(float64(are)/float64(last), n > 0)
			is := 0.0
			if recent[0] == int64(c) {
				is = 1
			}
			put(is, n > 0)
		}
	}
	if v.keys[1] < 0 {
		for b := range s.set.Keys {
			if b != v.table {
				count(rec[s.at.partners+b])
			}
		}
	}
	for i := range s.set.Numbers {
		part := rec[s.at.numbers+i*ofNumber:][:ofNumber]
		n, mean, x := part[0], part[atMean], float64(row.Numbers[i])
		deviation := math.Sqrt(max(part[atSquares], 0) / n)
		put(n*mean, 0 < n && n < mostCounted)
		put(mean, n > 0)
		put(deviation, n > 0)
		put(x-mean, n > 0)
		put((x-mean)/(deviation+1e-3*(1+math.Abs(mean))), n > 0)
		put(x-part[atLast], n > 0)
		for j := range recentNumbers {
			put(part[atLast+j], n > float64(j))
		}
	}
	for w := range s.set.Windows {
		part := rec[s.at.windows+w*(1+2*len(s.set.Numbers)):]
		put(part[0], true)
		for i := range s.set.Numbers {
			n, sum := part[1+2*i], part[2+2*i]
			put(sum, n > 0)
			put(sum/n, n > 0)
		}
	}
}
