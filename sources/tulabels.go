package sources

import (
	"fmt"
	"slices"
)

// labelValues is the distinct values of a column of labels, ascending. The
// index of a value is its place among them.
type labelValues []int64

// index returns the index of a value that is there.
func (v labelValues) index(x int64) (int32, bool) {
	// Most labels are 0, 1, 2, …
	if d := x - v[0]; d >= 0 && d < int64(len(v)) && v[d] == x {
		return int32(d), true
	}
	i, ok := slices.BinarySearch(v, x)
	return int32(i), ok
}

// columnBytes is what a column of labels or attributes takes by itself: its name
// here and in the schema, and an empty map.
const columnBytes = 512

// scanLabels returns the distinct values of each column of labels, and none
// where the file does not exist. It must have the given number of rows, which
// of says what are.
func scanLabels(f *tuFiles, what string, rows int64, of string) ([][]int64, error) {
	var (
		row    []int64
		seen   []map[int64]struct{}
		recent []int64 // value of each column before: labels come in runs
		count  int64
	)
	file, err := f.scan(what, func(l *lines, line []byte) (err error) {
		if row, err = integers(l, line, row[:0]); err != nil {
			return err
		}
		if count++; count == 1 {
			if err := l.take(columnBytes * int64(len(row))); err != nil {
				return err
			}
			for _, x := range row {
				seen = append(seen, map[int64]struct{}{x: {}})
			}
			recent = slices.Clone(row)
		}
		if err := checkRow(l, len(row), len(seen), count, rows, of); err != nil {
			return err
		}
		for c, x := range row {
			if x == recent[c] {
				continue
			}
			recent[c] = x
			if _, ok := seen[c][x]; !ok {
				if err := l.take(64); err != nil { // in the map, and in the values
					return err
				}
				seen[c][x] = struct{}{}
			}
		}
		return nil
	})
	if err != nil || file == "" {
		return nil, err
	}
	if err := checkEnd(file, count, rows, of); err != nil {
		return nil, err
	}
	values := make([][]int64, len(seen))
	for c, set := range seen {
		for x := range set {
			values[c] = append(values[c], x)
		}
		slices.Sort(values[c])
	}
	return values, nil
}

// scanAttributes checks a file of attributes and returns its number of
// columns, 0 where it does not exist.
func scanAttributes(f *tuFiles, what string, rows int64, of string) (width int, err error) {
	var row []float32
	var count int64
	file, err := f.scan(what, func(l *lines, line []byte) (err error) {
		if row, err = finites(l, line, row[:0]); err != nil {
			return err
		}
		if count++; count == 1 {
			width = len(row)
			if err := l.take(columnBytes * int64(width)); err != nil {
				return err
			}
		}
		return checkRow(l, len(row), width, count, rows, of)
	})
	if err != nil || file == "" {
		return 0, err
	}
	return width, checkEnd(file, count, rows, of)
}

func checkRow(l *lines, got, width int, count, rows int64, of string) error {
	if count > rows {
		return l.errorf("a line more than the %d %s", rows, of)
	}
	if got != width {
		return l.errorf("%d values, want %d as on the first line", got, width)
	}
	return nil
}

func checkEnd(file string, count, rows int64, of string) error {
	if count < rows {
		return &FileError{file, int(count), fmt.Errorf("ends after %d of %d %s", count, rows, of)}
	}
	return nil
}

// table reads labels and attributes line by line, in step. Either file may be
// missing.
type table struct {
	labels, attrs *lines
	values        [][]int64 // of the labels
	width         int       // of the attributes
	row           []int64
}

func (f *tuFiles) table(labels string, values [][]int64, attrs string, width int) (t table, err error) {
	t.values, t.width = values, width
	if len(values) > 0 {
		if t.labels, err = f.must(labels); err != nil {
			return t, err
		}
	}
	if width > 0 {
		t.attrs, err = f.must(attrs)
	}
	return t, err
}

// next appends one row to each of cat and attr. The files were scanned before,
// so that the checks here fail only if they have changed since.
func (t *table) next(cat []int32, attr []float32) ([]int32, []float32, error) {
	if t.labels != nil {
		line, err := t.labels.next()
		if err == nil {
			t.row, err = integers(t.labels, line, t.row[:0])
		}
		if err != nil {
			return cat, attr, noEOF(t.labels, err)
		}
		if len(t.row) != len(t.values) {
			return cat, attr, t.labels.errorf("%d values, want %d", len(t.row), len(t.values))
		}
		for c, x := range t.row {
			i, ok := labelValues(t.values[c]).index(x)
			if !ok {
				return cat, attr, t.labels.errorf("label %d was not there before: the file has changed", x)
			}
			cat = append(cat, i)
		}
	}
	if t.attrs != nil {
		line, err := t.attrs.next()
		before := len(attr)
		if err == nil {
			attr, err = finites(t.attrs, line, attr)
		}
		if err != nil {
			return cat, attr, noEOF(t.attrs, err)
		}
		if len(attr)-before != t.width {
			return cat, attr, t.attrs.errorf("%d values, want %d", len(attr)-before, t.width)
		}
	}
	return cat, attr, nil
}

func (t *table) close() {
	for _, l := range []*lines{t.labels, t.attrs} {
		if l != nil {
			l.close()
		}
	}
}
