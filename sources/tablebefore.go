package sources

import (
	"fmt"
	"slices"

	"github.com/sanflow/sanflow/sources/internal/reading"
)

// before selects rows before a time.
type before struct {
	text       string // the time as text; "" = no selection
	time       float64
	read, left int // numbers of rows read, and left out
}

// beforeTime returns the rows of a batch before the time.
func (t *tableScan) beforeTime(b *TableBatch) *TableBatch {
	at := slices.IndexFunc(t.fields, func(f *tableField) bool { return f.channel == "time" })
	var kept []int
	var scratch []byte
	for row := range b.Rows {
		t.before.read++
		text, ok := b.Values[at].At(row, &scratch)
		if !ok {
			continue
		}
		if when, err := reading.Number(text); err != nil || when < t.before.time { // readNumbers reports the error
			kept = append(kept, row)
		}
	}
	t.before.left += b.Rows - len(kept)
	c := &TableBatch{Rows: len(kept), Lines: some(b.Lines, kept)}
	for _, v := range b.Values {
		c.Values = append(c.Values, TableValues{some(v.Integers, kept), some(v.Floats, kept), v.Text, some(v.Spans, kept), some(v.Missing, kept)})
	}
	return c
}

// some returns the elements x[at]. A nil slice stays nil.
func some[T any](x []T, at []int) (y []T) {
	if x == nil {
		return nil
	}
	y = make([]T, len(at))
	for i, j := range at {
		y[i] = x[j]
	}
	return y
}

// beforeNote returns the note about the dropped rows.
func (t *tableScan) beforeNote() (notes []string) {
	if t.before.text != "" {
		notes = append(notes, fmt.Sprintf("left out: %d of %d rows of %s, whose time is not before %s, or not known", t.before.left, t.before.read, t.r.Name(), reading.Quote([]byte(t.before.text))))
	}
	return notes
}
