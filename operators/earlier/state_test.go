package earlier_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sanflow/sanflow/internal/race"
	"github.com/sanflow/sanflow/operators/earlier"
)

// settings has two key columns of one space, a third one, numbers that may be missing, and windows.
func settings(delay float64, classes ...string) earlier.Settings {
	return earlier.Settings{
		Keys:    []string{"source", "target", "place"},
		Spaces:  []string{"account", "account", "place"},
		Pairs:   [][2]int{{0, 1}, {1, 2}},
		Numbers: []string{"amount", "size"},
		Class:   "fraud", Classes: classes,
		Windows: []earlier.Window{{"3", 3}, {"20", 20}},
		Delay:   delay,
	}
}

// drawn returns rows with equal times, missing keys and numbers, unknown classes and, at the end, unknown times.
func drawn(n, classes int, seed uint64) earlier.Rows {
	r := rand.New(rand.NewPCG(seed, 1))
	var rows earlier.Rows
	now := 0.0
	for i := range n {
		now += float64(r.IntN(3))
		rows.Time = append(rows.Time, now)
		if i >= n-5 {
			rows.Time[i] = math.NaN()
		}
		for _, values := range []int{6, 4, 3} {
			rows.Keys = append(rows.Keys, int32(r.IntN(values+1)-1))
		}
		for range 2 {
			x := float32(r.IntN(50)) / 4
			if r.IntN(5) == 0 {
				x = float32(math.NaN())
			}
			rows.Numbers = append(rows.Numbers, x)
		}
		rows.Class = append(rows.Class, int32(r.IntN(classes+1)-1))
	}
	return rows
}

// history is the oracle of one block of columns: the rows of it, and what of them a row sees.
type history struct {
	set     earlier.Settings
	rows    earlier.Rows
	row     earlier.Row
	before  []int // rows of the history, ascending
	missing bool  // the row has no time, or no key
	name    string
	want    map[string]float64
}

// limit is the largest count over all time, and a sum of as many numbers is missing.
const limit = 20

func (h *history) put(what string, x float64) {
	if h.missing {
		x = math.NaN()
	}
	h.want[h.name+what] = x
}

func (h *history) known(i int) bool {
	return h.rows.Class[i] >= 0 && (h.set.Delay == 0 || h.rows.Time[i]+h.set.Delay < h.row.Time)
}

func sum(x []float64) (s float64) {
	for _, v := range x {
		s += v
	}
	return s
}

// mean is NaN of none.
func mean(x []float64) float64 { return sum(x) / float64(len(x)) }

func (h *history) classes(all []float64) {
	var classes []int
	since := math.NaN()
	for _, i := range h.before {
		if h.known(i) {
			classes = append(classes, int(h.rows.Class[i]))
			since = h.row.Time - h.rows.Time[i]
		}
	}
	n := float64(len(classes))
	h.put(": rows with known fraud", min(n, limit))
	if len(h.before) == 0 {
		h.put(": rows with known fraud", math.NaN())
	}
	h.put(": time since the last row with known fraud", since)
	for c, class := range h.set.Classes {
		if len(h.set.Classes) == 2 && c == 0 {
			continue
		}
		var is []float64
		for _, x := range classes {
			is = append(is, map[bool]float64{true: 1}[x == c])
		}
		share := math.NaN()
		if n > 0 {
			share = (sum(is) + 5*(all[c]+1)/(sum(all)+float64(len(all)))) / (n + 5)
		}
		h.put(": share of fraud="+class, share)
		h.put(": share of fraud="+class+" in the last 5 known", mean(is[max(0, len(is)-5):]))
		h.put(": last known is fraud="+class, mean(is[max(0, len(is)-1):]))
	}
}

func (h *history) number(j int) {
	number, c := h.set.Numbers[j], len(h.set.Numbers)
	of := func(least float64) (x []float64, n int) {
		for _, i := range h.before {
			if h.rows.Time[i] >= least {
				n++
				if v := float64(h.rows.Numbers[i*c+j]); !math.IsNaN(v) {
					x = append(x, v)
				}
			}
		}
		return x, n
	}
	x, _ := of(math.Inf(-1))
	m := mean(x)
	var squares []float64
	for _, v := range x {
		squares = append(squares, (v-m)*(v-m))
	}
	deviation, own := math.Sqrt(mean(squares)), float64(h.row.Numbers[j])
	h.put(": sum of "+number, m*float64(len(x)))
	if len(x) >= limit {
		h.put(": sum of "+number, math.NaN())
	}
	h.put(": mean "+number, m)
	h.put(": deviation of "+number, deviation)
	h.put(": "+number+" − mean", own-m)
	h.put(": "+number+" − mean, deviations", (own-m)/(deviation+1e-3*(1+math.Abs(m))))
	h.put(": "+number+" − last", math.NaN())
	if len(x) > 0 {
		h.put(": "+number+" − last", own-x[len(x)-1])
	}
	for q, which := range []string{"last", "second last", "third last"} {
		h.put(": "+which+" "+number, math.NaN())
		if len(x) > q {
			h.put(": "+which+" "+number, x[len(x)-1-q])
		}
	}
	for _, w := range h.set.Windows {
		x, n := of(h.row.Time - w.Length)
		h.put(", "+w.Name+": rows", float64(n))
		if len(h.before) == 0 {
			h.put(", "+w.Name+": rows", math.NaN())
		}
		h.put(", "+w.Name+": sum of "+number, mean(x)*float64(len(x)))
		h.put(", "+w.Name+": mean "+number, mean(x))
	}
}

func (h *history) distinct(self int) {
	for b, key := range h.set.Keys {
		if b == self {
			continue
		}
		values := map[int32]bool{}
		for _, i := range h.before {
			if v := h.rows.Keys[i*len(h.set.Keys)+b]; v >= 0 {
				values[v] = true
			}
		}
		h.put(": distinct "+key, min(float64(len(values)), limit))
		if len(h.before) == 0 {
			h.put(": distinct "+key, math.NaN())
		}
	}
}

// expected is the columns of row at by name, from the rows before it alone.
func expected(set earlier.Settings, rows earlier.Rows, at int) map[string]float64 {
	want := map[string]float64{}
	row := rows.Row(at)
	block := func(name string, asked, of []int, self int) {
		h := &history{set: set, rows: rows, row: row, name: name, want: want, missing: math.IsNaN(row.Time)}
		for _, c := range asked {
			h.missing = h.missing || row.Keys[c] < 0
		}
		all := make([]float64, len(set.Classes))
		for i := range at {
			is := !math.IsNaN(rows.Time[i])
			if is && h.known(i) {
				all[rows.Class[i]]++
			}
			for j, c := range of {
				is = is && rows.Row(i).Keys[c] == row.Keys[asked[j]]
			}
			if is {
				h.before = append(h.before, i)
			}
		}
		h.put(": rows before", min(float64(len(h.before)), limit))
		h.put(": time since the last", math.NaN())
		if n := len(h.before); n > 0 {
			h.put(": time since the last", row.Time-rows.Time[h.before[n-1]])
		}
		h.classes(all)
		if self >= 0 {
			h.distinct(self)
		}
		for j := range set.Numbers {
			h.number(j)
		}
	}
	for i, key := range set.Keys {
		block(key, []int{i}, []int{i}, i)
	}
	for _, p := range set.Pairs {
		block(set.Keys[p[0]]+", "+set.Keys[p[1]], p[:], p[:], -1)
	}
	for a, x := range set.Spaces {
		for b, y := range set.Spaces {
			if a != b && x == y {
				block(set.Keys[a]+" as "+set.Keys[b], []int{a}, []int{b}, b)
			}
		}
	}
	return want
}

// TestNextAmount has rows whose class is decided by the next number of their key: no column tells it.
func TestNextAmount(t *testing.T) {
	const n, keys = 8000, 40
	r := rand.New(rand.NewPCG(3, 3))
	rows := earlier.Rows{Class: make([]int32, n)}
	last := make([]int, keys)
	for i := range n {
		key, x := r.IntN(keys), r.IntN(100)
		rows.Time, rows.Keys, rows.Numbers = append(rows.Time, float64(i)), append(rows.Keys, int32(key), int32(r.IntN(5))), append(rows.Numbers, float32(x))
		rows.Class[last[key]] = int32(x / 50)
		last[key] = i
	}
	s := newState(t, earlier.Settings{
		Keys: []string{"a", "b"}, Pairs: [][2]int{{0, 1}}, Numbers: []string{"x"}, Class: "class", Classes: []string{"no", "yes"},
		Windows: []earlier.Window{{"100", 100}},
	})
	columns := s.Replay(rows, nil)
	for j, name := range s.Columns() {
		order := make([]int, n)
		for i := range order {
			order[i] = i
		}
		at := func(i int) float64 {
			if x := float64(columns[i*len(s.Columns())+j]); !math.IsNaN(x) {
				return x
			}
			return math.Inf(-1)
		}
		r.Shuffle(n, func(i, j int) { order[i], order[j] = order[j], order[i] }) // equal values in any order
		slices.SortStableFunc(order, func(x, y int) int { return cmp.Compare(at(x), at(y)) })
		below, above, pairs := 0, 0, 0
		for _, i := range order {
			if rows.Class[i] == 0 {
				below++
			} else {
				above++
				pairs += below
			}
		}
		if auc := float64(pairs) / float64(below*above); auc < 0.45 || auc > 0.55 {
			t.Errorf("%s: AUC %.3f", name, auc)
		}
	}
}

func newState(t *testing.T, set earlier.Settings) *earlier.State {
	t.Helper()
	s, err := earlier.New(set)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func compare(t *testing.T, at int, names []string, got []float32, want map[string]float64) {
	t.Helper()
	if len(want) != len(names) {
		t.Fatalf("%d columns, want %d", len(names), len(want))
	}
	for j, name := range names {
		w, ok := want[name]
		if g := float64(got[j]); !ok || math.IsNaN(g) != math.IsNaN(w) || math.Abs(g-w) > 1e-5*(1+math.Abs(w)) {
			t.Fatalf("row %d, %s: %v, want %v (%v)", at, name, g, w, ok)
		}
	}
}

// TestByBruteForce cuts the table before each row and computes its columns from the rows that are left.
func TestByBruteForce(t *testing.T) {
	for _, classes := range [][]string{{"no", "yes"}, {"a", "b", "c"}} {
		for _, delay := range []float64{0, 1, 7} {
			t.Run(fmt.Sprint(len(classes), delay), func(t *testing.T) {
				set, rows := settings(delay, classes...), drawn(300, len(classes), 7)
				s := newState(t, set)
				names, got := s.Columns(), s.Replay(rows, nil)
				for at := range rows.Time {
					compare(t, at, names, got[at*len(names):][:len(names)], expected(set, rows, at))
				}
			})
		}
	}
}

// TestAskAhead asks about rows that are later than the last one that was added: the windows that rows left since, and the
// classes that became known, are seen, and Ask changes nothing.
func TestAskAhead(t *testing.T) {
	set, rows := settings(7, "no", "yes"), drawn(300, 2, 3)
	s := newState(t, set)
	got := make([]float32, len(s.Columns()))
	for at := range 295 {
		row := rows.Row(at)
		for _, ahead := range []float64{100, 2, 5, 0} {
			later, moved := row, rows
			later.Time += ahead
			moved.Time = slices.Clone(rows.Time)
			moved.Time[at] = later.Time
			s.Ask(&later, got)
			compare(t, at, s.Columns(), got, expected(set, moved, at))
		}
		s.Add(&row)
	}
}

func same(a, b []float32) bool {
	return slices.EqualFunc(a, b, func(x, y float32) bool { return math.Float32bits(x) == math.Float32bits(y) })
}

// TestInvariances: the columns of the first rows do not depend on the rows behind them. A shift of all times and other
// numbers of the values of keys change nothing.
func TestInvariances(t *testing.T) {
	set, rows := settings(2, "no", "yes"), drawn(300, 2, 5)
	all := newState(t, set).Replay(rows, nil)
	wide := len(all) / 300
	first := earlier.Rows{Time: rows.Time[:100], Keys: rows.Keys[:300], Numbers: rows.Numbers[:200], Class: rows.Class[:100]}
	if !same(newState(t, set).Replay(first, nil), all[:100*wide]) {
		t.Error("the columns of the first 100 rows depend on later rows")
	}
	other := rows
	other.Time, other.Keys = slices.Clone(rows.Time), slices.Clone(rows.Keys)
	for i := range other.Time {
		other.Time[i] -= 4096
	}
	for i, v := range other.Keys {
		if v >= 0 {
			other.Keys[i] = 1000 - v*37
		}
	}
	if !same(newState(t, set).Replay(other, nil), all) {
		t.Error("the columns depend on the numbers of the values, or on the origin of time")
	}
}

// TestEqualTimes: rows of one time that share no key may come in any order.
func TestEqualTimes(t *testing.T) {
	set := earlier.Settings{Keys: []string{"a", "b"}, Pairs: [][2]int{{0, 1}}, Numbers: []string{"x"}, Windows: []earlier.Window{{"2", 2}}}
	var rows, swapped earlier.Rows
	r := rand.New(rand.NewPCG(2, 2))
	for i := range 100 {
		for j := range 2 {
			rows.Time = append(rows.Time, float64(i))
			rows.Keys = append(rows.Keys, int32(2*r.IntN(3)+j), int32(2*r.IntN(2)+j))
			rows.Numbers = append(rows.Numbers, float32(r.IntN(9)))
		}
	}
	for i := range 200 {
		row := rows.Row(i ^ 1)
		swapped.Time, swapped.Keys, swapped.Numbers = append(swapped.Time, row.Time), append(swapped.Keys, row.Keys...), append(swapped.Numbers, row.Numbers...)
	}
	a, b := newState(t, set).Replay(rows, nil), newState(t, set).Replay(swapped, nil)
	wide := len(a) / 200
	for i := range 200 {
		if !same(a[i*wide:][:wide], b[(i^1)*wide:][:wide]) {
			t.Fatalf("row %d depends on the order of rows of other keys at its time", i)
		}
	}
}

// TestOwnClass replaces the class of a row: no column of a row changes, its own included, until the delay has passed.
func TestOwnClass(t *testing.T) {
	set, rows := settings(5, "no", "yes"), drawn(200, 2, 9)
	all := newState(t, set).Replay(rows, nil)
	wide := len(all) / 200
	for at := range 190 {
		other := rows
		other.Class = slices.Clone(rows.Class)
		other.Class[at] = 1 - max(other.Class[at], 0)
		seen := slices.IndexFunc(rows.Time, func(x float64) bool { return x > rows.Time[at]+5 })
		if seen < 0 {
			seen = 200
		}
		if !same(newState(t, set).Replay(other, nil)[:seen*wide], all[:seen*wide]) {
			t.Fatalf("the class of row %d is seen before row %d", at, seen)
		}
	}
}

// TestCuts: up to the last cut, a row sees the classes of the rows before the cut at or before it, and all else of the rows
// up to itself.
func TestCuts(t *testing.T) {
	set, rows := settings(0, "no", "yes"), drawn(200, 2, 11)
	cuts := []int{30, 80, 150}
	s := newState(t, set)
	got := s.Replay(rows, cuts)
	wide := len(s.Columns())
	for at := range rows.Time {
		known := at
		if at < 150 {
			known = 0
			for _, c := range cuts {
				if c <= at {
					known = c
				}
			}
		}
		hidden := rows
		hidden.Class = slices.Clone(rows.Class)
		for i := known; i < len(hidden.Class); i++ {
			hidden.Class[i] = -1
		}
		if !same(got[at*wide:][:wide], newState(t, set).Replay(hidden, nil)[at*wide:][:wide]) {
			t.Fatalf("row %d does not see the classes of the %d first rows alone", at, known)
		}
	}
}

// TestLater: what a row sees of later rows is what it sees of earlier ones in the reversed table, under other names.
func TestLater(t *testing.T) {
	set, rows := settings(0, "no", "yes"), drawn(100, 2, 13)
	back := rows.Reversed()
	if again := back.Reversed(); !same(newState(t, set).Replay(again, nil), newState(t, set).Replay(rows, nil)) {
		t.Error("rows that are reversed twice are others")
	}
	want := newState(t, set).Replay(back, nil)
	set.Later = true
	s := newState(t, set)
	for _, name := range s.Columns() {
		if name[:7] != "later, " {
			t.Errorf("column %q does not say that it sees later rows", name)
		}
	}
	if !same(s.Replay(back, nil), want) {
		t.Error("Later changes more than names")
	}
}

// TestAnyOrder adds rows in any order, and sets classes later, some twice: what is known of each row, and of a new one at its time, is that of
// a table in the order of time, to the last bit.
func TestAnyOrder(t *testing.T) {
	race.Skip(t)
	for _, delay := range []float64{0, 7} {
		set, drawn := settings(delay, "a", "b", "c"), drawn(2000, 3, 11)
		r := rand.New(rand.NewPCG(8, uint64(delay)))
		s := newState(t, set)
		wide := len(s.Columns())
		var added []earlier.Row
		for _, i := range r.Perm(len(drawn.Time)) {
			row := drawn.Row(i)
			added = append(added, row)
			if r.IntN(2) == 0 {
				row.Class = int32(r.IntN(4)) - 1
			}
			s.Add(&row)
			if len(added)%50 > 0 && len(added) < 1900 {
				continue
			}
			for i := range added {
				if r.IntN(3) == 0 || len(added) == len(drawn.Time) {
					s.SetClass(i, added[i].Class)
				}
			}
		}
		order := make([]int, len(added))
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(a, b int) int {
			return cmp.Compare(added[a].Time, added[b].Time) // NaN before all, which no row sees
		})
		var rows earlier.Rows
		for _, i := range order {
			rows.Time, rows.Class = append(rows.Time, added[i].Time), append(rows.Class, added[i].Class)
			rows.Keys, rows.Numbers = append(rows.Keys, added[i].Keys...), append(rows.Numbers, added[i].Numbers...)
		}
		want := newState(t, set).Replay(rows, nil)
		got := make([]float32, wide)
		for at, i := range order {
			if s.AskOf(i, got); !same(got, want[at*wide:][:wide]) {
				t.Fatalf("delay %v: row %d of time %v: %v, want %v", delay, i, added[i].Time, got, want[at*wide:][:wide])
			}
			isLast := at+1 == len(order) || added[order[at+1]].Time != added[i].Time // of its time
			if row := added[i]; at%40 == 0 && isLast && !math.IsNaN(row.Time) {
				cold := newState(t, set)
				for j := range at + 1 {
					before := rows.Row(j)
					cold.Add(&before)
				}
				cold.Ask(&row, want[:wide])
				if s.Ask(&row, got); !same(got, want[:wide]) {
					t.Fatalf("delay %v: a new row at %v: %v, want %v", delay, row.Time, got, want[:wide])
				}
			}
		}
	}
}

// TestLarge has numbers that fit float32, whose sums and deviations do not: no column is infinite.
func TestLarge(t *testing.T) {
	set := settings(0, "no", "yes")
	rows := drawn(600, 2, 5)
	for _, i := range []int{100, 101, 300} {
		rows.Numbers[2*i] = 3e38
		rows.Numbers[2*i+1] = -3e38
	}
	for i, x := range newState(t, set).Replay(rows, nil) {
		if math.IsInf(float64(x), 0) {
			t.Fatalf("number %d is %v", i, x)
		}
	}
}

func TestChoosePairs(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	var rows earlier.Rows
	for i := range 2000 {
		a := int32(r.IntN(20))
		// Column 1 follows from column 0, column 2 does not, column 3 is another number each time.
		rows.Keys = append(rows.Keys, a, a/2, int32(r.IntN(10)), int32(i))
	}
	if got, want := earlier.ChoosePairs(rows, 4), [][2]int{{0, 2}, {1, 2}}; !slices.Equal(got, want) {
		t.Errorf("pairs %v, want %v", got, want)
	}
}

// The classes that rows to learn from know by Cuts are as old on average as those that rows to answer about know, but for the bounds of 2 and 6
// parts.
func TestCutsOf(t *testing.T) {
	train := []int32{0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12}
	if got, want := earlier.Cuts(train, []int32{13}), []int{0, 2, 4, 6, 9, 11, 13}; !slices.Equal(got, want) {
		t.Errorf("cuts %v, want %v", got, want)
	}
	if got := earlier.Cuts(train, []int32{8, 13}); got != nil {
		t.Errorf("cuts %v between rows to answer about, want none", got)
	}
	train = nil
	for r := range int32(600) {
		train = append(train, 50+r)
	}
	for _, c := range []struct{ from, until, parts int }{{650, 655, 6}, {650, 760, 5}, {650, 830, 3}, {650, 850, 3}, {700, 800, 3}, {650, 950, 2}, {650, 5000, 2}} {
		var answer []int32
		mean := 0.0
		for r := c.from; r < c.until; r++ {
			answer = append(answer, int32(r))
			mean += float64(r-649) / float64(c.until-c.from)
		}
		cuts := earlier.Cuts(train, answer)
		if len(cuts) != c.parts+1 {
			t.Errorf("rows %d to %d: cuts %v, want %d parts", c.from, c.until, cuts, c.parts)
		}
		age := 0.0
		for _, r := range train {
			at, _ := slices.BinarySearch(cuts, int(r)+1)
			age += float64(int(r)-cuts[at-1]+1) / float64(len(train))
		}
		if inside := c.parts > 2 && c.parts < 6; inside && math.Abs(age-mean) > 0.25*mean {
			t.Errorf("rows %d to %d: known classes of rows to learn from are %v rows old on average, and %v of those to answer about", c.from, c.until, age, mean)
		}
	}
}

func TestSettings(t *testing.T) {
	for _, set := range []earlier.Settings{
		{},
		{Keys: []string{"a"}, Spaces: []string{"a", "b"}},
		{Keys: []string{"a", "b"}, Pairs: [][2]int{{1, 0}}},
		{Keys: []string{"a"}, Delay: -1},
		{Keys: []string{"a"}, Delay: math.NaN()},
		{Keys: []string{"a"}, Windows: []earlier.Window{{"0", 0}}},
		{Keys: []string{"a"}, Numbers: make([]string, 65)},
	} {
		if _, err := earlier.New(set); err == nil {
			t.Errorf("no error of %+v", set)
		}
	}
}

// BenchmarkReplay has rows with four key columns, of which the first has as many values as there are rows for four, and the
// pairs that ChoosePairs returns.
func BenchmarkReplay(b *testing.B) {
	const n = 1 << 18
	r := rand.New(rand.NewPCG(1, 1))
	var rows earlier.Rows
	for i := range n {
		rows.Time = append(rows.Time, float64(i))
		source := r.IntN(n / 4)
		for k, values := range []int{n / 4, 8000, 300, 150} {
			v := int(r.ExpFloat64() * float64(values) / 8)
			if k == 0 {
				v = source
			}
			rows.Keys = append(rows.Keys, int32(min(v, values-1)))
		}
		rows.Numbers = append(rows.Numbers, float32(r.ExpFloat64()))
		rows.Class = append(rows.Class, int32(r.IntN(3)-1))
	}
	for _, windows := range [][]earlier.Window{nil, {{"1h", 3600}, {"1d", 86400}}} {
		set := earlier.Settings{
			Keys: []string{"source", "target", "location", "type"}, Numbers: []string{"amount"}, Class: "fraud", Classes: []string{"no", "yes"},
			Pairs: earlier.ChoosePairs(rows, 4), Windows: windows,
		}
		b.Run(fmt.Sprintf("pairs=%d/windows=%d", len(set.Pairs), len(windows)), func(b *testing.B) {
			for b.Loop() {
				s, err := earlier.New(set)
				if err != nil {
					b.Fatal(err)
				}
				s.Replay(rows, nil)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/row")
		})
	}
}
