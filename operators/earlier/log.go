package earlier

// log has the rows that a window still reaches, or whose class is not yet known, in the order of their times.
type log struct {
	tables  int
	windows []Window
	delay   float64
	holding bool // no class becomes known

	time    []float64
	class   []int32
	slots   []int32 // (rows, tables): the record of each table, -1 = none
	numbers []float32
	head    []int // of each window: the first row in it; then the first row whose class is not yet known
}

// classes is what each says of a row whose class becomes known. Numbers below are those of windows.
func (l *log) classes() int { return len(l.windows) }

func (l *log) isDue(i, what int, now float64) bool {
	if what == len(l.windows) {
		return !l.holding && (l.time[i]+l.delay < now || l.delay == 0)
	}
	return l.time[i] < now-l.windows[what].Length
}

// due reports whether each has a row.
func (l *log) due(now float64) bool {
	for what, i := range l.head {
		if i < len(l.time) && l.isDue(i, what, now) {
			return true
		}
	}
	return false
}

// each calls f for each row that leaves a window, or whose class becomes known, up to a time.
func (l *log) each(now float64, f func(i, what int)) {
	for what, i := range l.head {
		for ; i < len(l.time) && l.isDue(i, what, now); i++ {
			f(i, what)
		}
	}
}

// drop forgets what each has a row for.
func (l *log) drop(now float64) {
	first := len(l.time)
	for what := range l.head {
		for i := l.head[what]; i < len(l.time) && l.isDue(i, what, now); i++ {
			l.head[what]++
		}
		first = min(first, l.head[what])
	}
	if n := len(l.time); first > 0 && first >= n/2 {
		wide := len(l.numbers) / n
		l.time = append(l.time[:0], l.time[first:]...)
		l.class = append(l.class[:0], l.class[first:]...)
		l.slots = append(l.slots[:0], l.slots[first*l.tables:]...)
		l.numbers = append(l.numbers[:0], l.numbers[first*wide:]...)
		for what := range l.head {
			l.head[what] -= first
		}
	}
}

// add returns the place of a row, whose slots are to be set.
func (l *log) add(now float64, class int32, numbers []float32) int {
	i := len(l.time)
	l.time = append(l.time, now)
	l.class = append(l.class, class)
	l.numbers = append(l.numbers, numbers...)
	for range l.tables {
		l.slots = append(l.slots, -1)
	}
	return i
}
