package choose

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/internal/decimal"
	"github.com/sanflow/sanflow/sources"
)

// Row is a row by the names of its columns: the keys, the time, numbers, words, and, of several tables, "table". A column that is
// missing, nil, or "" has no value; the time must be there, if rows have times, and of their kind. Values are strings, numbers, or
// json.Number, and are read as those of tables.
type Row map[string]any

// reading reads the columns of a Row, and notes which of them are read.
type reading struct {
	row     Row
	missing []string        // texts that stand for no value
	known   map[string]bool // columns that are read, or are left out
	ignored []string        // columns that have values and are left out, ascending
	unknown int             // number of words that the model does not have
}

// readingOf returns a reading of a row, whose values must not be objects or arrays.
func readingOf(row Row, missing, ignore []string) (*reading, error) {
	r := &reading{row: row, missing: missing, known: map[string]bool{}}
	for _, name := range ignore {
		if r.known[name] = true; row[name] != nil {
			r.ignored = append(r.ignored, name)
		}
	}
	slices.Sort(r.ignored)
	for _, name := range slices.Sorted(maps.Keys(row)) {
		switch row[name].(type) {
		case map[string]any, []any:
			return nil, fmt.Errorf("%.80q is an object or an array, want a number or a string", name)
		}
	}
	return r, nil
}

// text returns the text of a column, "" if it is missing. The column "" has none.
func (r *reading) text(column string) string {
	if column == "" {
		return ""
	}
	r.known[column] = true
	text := []byte(TextOf(r.row[column]))
	b := sources.TableBatch{Rows: 1, Values: []sources.TableValues{{Text: text, Spans: []sources.Span{{To: int32(len(text))}}}}}
	if _, ok := b.WithMissing(r.missing).Values[0].At(0, nil); !ok {
		return ""
	}
	return string(text)
}

// id returns the text of a column of ids, "" if it is missing. A boolean is an error.
func (r *reading) id(column string) (string, error) {
	text := r.text(column)
	if _, is := r.row[column].(bool); is {
		return "", fmt.Errorf("%q is %s, want a string or a number", column, text)
	}
	if len(text) > mostName {
		return "", fmt.Errorf("%q is %d bytes, want at most %d", column, len(text), mostName)
	}
	return text, nil
}

// key returns the id of a column, in the spelling that tables have for the type.
func (r *reading) key(column string, is sources.ColumnType) (string, error) {
	text, err := r.id(column)
	if text == "" {
		return "", err
	}
	if text, err = sources.KeyText(text, is); err != nil {
		err = fmt.Errorf("%q is %w", column, err)
	}
	return text, err
}

// number returns the number of a column minus offset, NaN if it is missing.
func (r *reading) number(column string, offset float64) (float32, error) {
	text := r.text(column)
	if text == "" {
		return float32(math.NaN()), nil
	}
	x, err := decimal.Finite(text, 64)
	y := float32(x - offset)
	if err != nil || math.IsInf(float64(y), 0) {
		return 0, fmt.Errorf("%q is %.80q, want a finite decimal number", column, text)
	}
	return y, nil
}

// word returns the index of a word in a channel, that of unseen words for "", and counts an unknown word.
func (r *reading) word(c record.Channel, word string) int32 {
	at := c.Unseen()
	if word != "" {
		if at = c.Index(word); at == c.Unseen() {
			r.unknown++
		}
	}
	return at
}

// attributes returns the words and the numbers of channels, whose columns the function column names, "" for none.
func (r *reading) attributes(cat, attr []record.Channel, column func(channel string) string) (words []string, numbers []float32, err error) {
	for _, c := range cat {
		words = append(words, r.text(column(c.Name)))
	}
	for _, c := range attr {
		x, err := r.number(column(c.Name), c.Offset)
		if err != nil {
			return nil, nil, err
		}
		numbers = append(numbers, x)
	}
	return words, numbers, nil
}

// end returns an error for a column that is not known.
func (r *reading) end() error {
	for _, name := range slices.Sorted(maps.Keys(r.row)) {
		if !r.known[name] {
			return fmt.Errorf("the model reads no column %.80q", name)
		}
	}
	return nil
}

// blank returns the attributes of a node without values: unseen words, and NaN for numbers.
func blank(l *record.Layout) (cat []int32, attr []float32) {
	for _, c := range l.NodeCat {
		cat = append(cat, c.Unseen())
	}
	return cat, slices.Repeat([]float32{float32(math.NaN())}, len(l.NodeAttr))
}

// TextOf is the text of a value of a Row, as a table has it; "" of nil.
func TextOf(value any) string {
	switch x := value.(type) {
	case nil:
		return ""
	case string:
		return x
	case json.Number:
		if y, err := x.Float64(); err == nil {
			if i, err := x.Int64(); err == nil {
				return strconv.FormatInt(i, 10)
			}
			return strconv.FormatFloat(y, 'g', -1, 64)
		}
		return x.String()
	case float64:
		return strconv.FormatFloat(x, 'g', -1, 64)
	}
	return fmt.Sprint(value)
}
