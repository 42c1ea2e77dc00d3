package sources

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/sources/internal/reading"
)

var errTooManyNames = errors.New("more names than there are numbers of nodes")

// keys is a dictionary of node ids or graph names.
type keys struct {
	kind     keyKind
	typ      ColumnType // Integer or String
	fixed    bool       // the types of all columns are declared: see tableField.fixed
	spaces   []string   // id spaces; ids have the form SPACE:ID
	fields   []*tableField
	integers integers64
	texts    texts

	// plain means that ids are not numbered: the dictionary is empty, and an id from 0 to 2 147 483 647 is
	// its own number. It applies to integer ids of a single graph without a table of nodes.
	plain bool
	ends  *reading.Chunks[graph.Edge] // edges read so far
}

// errNotPlain is the error of an id that plain ids cannot have. tableScan.next ends the plain mode.
var errNotPlain = errors.New("an id that is not plain")

// number ends the plain mode. It numbers the ids of the edges so far.
func (k *keys) number() (err error) {
	k.plain = false
	for _, part := range k.ends.Parts {
		for i, x := range part {
			if part[i].U, err = k.integers.add(int64(x.U)); err != nil {
				return err
			}
			if part[i].V, err = k.integers.add(int64(x.V)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (k *keys) len() int { return k.integers.len() + k.texts.len() }

func (k *keys) order() []int32 {
	if k.typ == Integer {
		return k.integers.order()
	}
	return k.texts.order()
}

// print formats a key for errors.
func (k *keys) print(number int32) string {
	if k.typ == Integer {
		return strconv.FormatInt(k.integers.values[number], 10)
	}
	return reading.Quote(k.texts.at(number))
}

// tableField is a selected column with the values read from it.
type tableField struct {
	TableColumn
	table string // name of the table
	from  TableReader
	typed bool   // the table declares types
	fixed bool   // the user declared the type, or the table declares strings
	blind bool   // the first rows have no value to infer the type from
	use   string // what the column is used for, in the report
	kind  fieldKind
	keys  *keys // dictionary of a key column

	channel string   // name of the channel that the column is read into
	words   texts    // dictionary of words or classes
	most    int      // maximum number of distinct words
	part    bool     // words name subsets
	subsets []Subset // subset of each word of a part column
	mayMiss bool     // missing keys are allowed, and are -1
	passing bool     // only batch is kept, not cats
	missed  int64    // rows without a value
	other   bool     // no setting names the column
	ignored bool     // dropped, since its values name parts
	space   string   // id space, or ""
	offset  float64
	span    *span // range of the numbers before subtraction of the offset

	prefix  string  // prefix of the channel name
	base    int32   // global number of the first row, over all tables of the reading
	below   int32   // keys from this number on are unknown, which is an error
	where   string  // name of the table that lists the known keys
	batch   []int32 // key numbers of the current batch
	numbers []float32
	cats    reading.Chunks[int32] // words or keys of all rows; -1 = missing
	attrs   reading.Chunks[float32]
	times   reading.Chunks[float64]
	timed   bool // a time was read, which has set dates
	dates   bool // times are dates, not numbers
	moments []float64
	scratch []byte
	spaced  []byte
}

// span is the range of the numbers of a channel.
type span struct {
	some, inexact bool // there are numbers; one is not exactly a float32
	low, high     float64
}

func (s *span) add(x float64) {
	if !s.some {
		s.some, s.low, s.high = true, x, x
	}
	s.low, s.high = min(s.low, x), max(s.high, x)
	s.inexact = s.inexact || float64(float32(x)) != x
}

// offset returns the smallest number if float32 resolves the range badly, else 0.
func (s *span) offset() float64 {
	_, e := math.Frexp(max(-s.low, s.high))
	if step := math.Ldexp(1, e-24); s.inexact && s.low < s.high && s.high-s.low < 1<<16*step {
		return s.low
	}
	return 0
}

type fieldKind int8

const (
	keyField fieldKind = iota // looked up in keys
	wordField
	numberField
	attributeField // word or number, by type
	timeField      // float64; NaN = missing
)

// tableScan reads the selected columns of a table.
type tableScan struct {
	r      TableReader
	fields []*tableField
	first  *TableBatch
	failed error // error of the column selection
	batch  *TableBatch
	rows   int64 // rows before batch
	budget *reading.Budget
	texts  []string // texts for a missing value
	before before
	notes  []string // for TableSet.Notes

	offsets map[string]float64 // offsets by column; nil = chosen by the data
}

// read returns the next batch after applying missing texts and before.
func (t *tableScan) read() (*TableBatch, error) {
	for {
		b, err := t.r.Next()
		if err != nil {
			return nil, err
		}
		if b = b.WithMissing(t.texts); t.before.text != "" {
			b = t.beforeTime(b)
		}
		if b.Rows > 0 || t.before.text == "" {
			return b, nil
		}
	}
}

// use selects a column unless its name is empty or an earlier selection failed.
func (t *tableScan) use(to **tableField, column string, f tableField) {
	if column != "" && t.failed == nil {
		*to, t.failed = t.add(column, f)
	}
}

// add selects a column for f. A column that is absent or has no usable type is an error.
func (t *tableScan) add(column string, f tableField) (*tableField, error) {
	at, err := findColumn(t.r.Name(), t.r.Columns(), column)
	if err != nil {
		return nil, err
	}
	f.TableColumn = t.r.Columns()[at]
	if f.Type == Unusable {
		err := errors.New("want integers, floats or strings")
		if f.Has != "" {
			err = fmt.Errorf("it has values of type %s, %w: cast the column where the table is written", f.Has, err)
		}
		return nil, blame(t.r, column, err)
	}
	f.table, f.from, f.typed = t.r.Name(), t.r, f.Type != Untyped
	f.words.take, f.cats.Budget, f.attrs.Budget, f.times.Budget = t.budget.Take, t.budget, t.budget, t.budget
	f.below, f.span = cmp.Or(f.below, math.MaxInt32), new(span)
	t.fields = append(t.fields, &f)
	return &f, nil
}

// named returns the name of an id column. A default name that is absent gives way to the only Neo4j column of
// that kind.
func (t *tableScan) named(column, usual, neo4j string) string {
	column = cmp.Or(column, usual)
	found := ""
	for _, c := range t.r.Columns() {
		m := neo4jID.FindStringSubmatch(c.Name)
		switch {
		case c.Name == column, m != nil && m[1] == neo4j && found != "":
			return column
		case m != nil && m[1] == neo4j:
			found = c.Name
		}
	}
	if column != usual || found == "" {
		return column
	}
	return found
}

// others returns the columns that become attributes, sorted: attributes or, if it is nil, all that are not selected, ignored or unnamed.
func (t *tableScan) others(attributes, ignore []string) ([]string, error) {
	for _, name := range ignore {
		if _, err := findColumn(t.r.Name(), t.r.Columns(), name); err != nil {
			return nil, err
		}
	}
	if attributes == nil {
		for at, c := range t.r.Columns() {
			switch used := slices.ContainsFunc(t.fields, func(f *tableField) bool { return f.Name == c.Name }); {
			case used || slices.Contains(ignore, c.Name):
			case unnamed(c.Name):
				t.notes = append(t.notes, fmt.Sprintf("ignored column %s of %s, number %d: it has no name of its own", reading.Quote([]byte(c.Name)), t.r.Name(), at+1))
			default:
				attributes = append(attributes, c.Name)
			}
		}
	}
	slices.Sort(attributes)
	return slices.Compact(attributes), nil
}

// unnamed reports whether a column has no name, or the placeholder name of pandas. Such a column usually
// holds row numbers.
func unnamed(column string) bool {
	column = strings.TrimSpace(column)
	for _, prefix := range []string{"Unnamed: ", "__index_level_"} {
		if rest, ok := strings.CutPrefix(column, prefix); ok {
			column = strings.Trim(rest, "0123456789._")
		}
	}
	return column == ""
}

// begin reads the first rows and infers types.
func (t *tableScan) begin(declared map[string]ColumnType) error {
	for _, name := range slices.Concat(slices.Sorted(maps.Keys(declared)), slices.Sorted(maps.Keys(t.offsets))) {
		if _, err := findColumn(t.r.Name(), t.r.Columns(), name); err != nil {
			return err
		}
	}
	var places []int
	for _, f := range t.fields {
		at, err := findColumn(t.r.Name(), t.r.Columns(), f.Name)
		if err != nil {
			return err
		}
		places = append(places, at)
	}
	t.r.Choose(places)
	var err error
	if t.first, err = t.read(); err == io.EOF {
		t.first = &TableBatch{Values: make([]TableValues, len(places))}
	} else if err != nil {
		return err
	}
	for i, f := range t.fields {
		if f.offset = t.offsets[f.Name]; f.offset-f.offset != 0 {
			return blame(t.r, f.Name, fmt.Errorf("the offset is %v, want a finite number", f.offset))
		}
		if want := declared[f.Name]; want != Untyped {
			f.Type, f.fixed = want, true
		} else if f.Type == Untyped {
			f.Type, f.blind = infer(&t.first.Values[i], t.first.Rows, f.kind)
		} else {
			f.fixed = f.Type == String
		}
	}
	return nil
}

// infer returns the type of a column of text by its first rows. blind reports that no value determines the type.
func infer(v *TableValues, rows int, kind fieldKind) (t ColumnType, blind bool) {
	typ, values, numbers, none := Untyped, 0, 0, 0
	for i := range rows {
		if v.missing(i) {
			continue
		}
		values++
		text := v.Text[v.Spans[i].From:v.Spans[i].To]
		if _, ok := reading.Canonical(text); ok {
			typ = max(typ, Integer)
			numbers++
			continue
		}
		_, err := reading.Number(text)
		switch {
		case err != nil && kind != attributeField || kind == keyField:
			return String, false
		case err == nil || reading.LikeNumber.Match(text):
			numbers++
		case reading.NoNumber.Match(text):
			none++
		}
		typ = Float
	}
	if numbers == 0 || reading.LeastOf*numbers < reading.MostNumbers*(values-none) {
		return String, none == values
	}
	return typ, false
}

// next reads the next batch into the fields. It returns the number of rows, and io.EOF after the last.
func (t *tableScan) next() (int, error) {
	if t.batch != nil {
		t.rows += int64(t.batch.Rows)
	}
	if t.batch, t.first = t.first, nil; t.batch == nil {
		var err error
		if t.batch, err = t.read(); err != nil {
			return 0, err
		}
	}
	if t.rows+int64(t.batch.Rows) > math.MaxInt32/2 {
		return 0, &FileError{File: t.r.Name(), Line: 0, Err: fmt.Errorf("more than %d rows", math.MaxInt32/2)}
	}
	for i := 0; i < len(t.fields); i++ {
		f := t.fields[i]
		row, err := f.read(&t.batch.Values[i], t.batch.Rows)
		if err == errNotPlain {
			err = f.keys.number()
			i = -1 // plain ids are in the first fields, which have kept nothing of the batch
		}
		if err != nil {
			return 0, t.fail(row, f, err)
		}
	}
	return t.batch.Rows, nil
}

// all reads the whole table, and calls do after each batch. base is the global number of the first row.
func (t *tableScan) all(base int64, do func(rows int) error) error {
	for _, f := range t.fields {
		f.base = int32(base)
	}
	for {
		rows, err := t.next()
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
		if err := do(rows); err != nil {
			return t.inFile(err)
		}
	}
}

// newIDs rejects ids of the batch that occurred before. base is the number of ids before the table.
func (t *tableScan) newIDs(id *tableField, base int64) error {
	for i, number := range id.batch {
		if int64(number) != base+t.rows+int64(i) {
			return t.fail(i, id, fmt.Errorf("%s is the id of row %d too", id.keys.print(number), int64(number)-base+1))
		}
	}
	return nil
}

// fail adds the position of a batch row to an error.
func (t *tableScan) fail(row int, f *tableField, err error) error {
	line := 0
	if row < len(t.batch.Lines) {
		line = t.batch.Lines[row]
	}
	return &FileError{File: t.r.Name(), Line: line, Err: fmt.Errorf("row %d: column %s: %w", t.rows+int64(row)+1, reading.Quote([]byte(f.Name)), err)}
}

// failAt adds the position of a row, from 0, to an error.
func (f *tableField) failAt(row int, err error) error {
	return &FileError{File: f.table, Line: 0, Err: fmt.Errorf("row %d: column %s: %w", row+1, reading.Quote([]byte(f.Name)), err)}
}

// inFile adds the table name to an error.
func (t *tableScan) inFile(err error) error {
	if f := new(FileError); err == nil || errors.As(err, &f) {
		return err
	}
	return &FileError{File: t.r.Name(), Line: 0, Err: err}
}

// read converts the values of a batch. With an error it returns the row that has the value.
func (f *tableField) read(v *TableValues, rows int) (row int, err error) {
	if f.kind == numberField {
		f.numbers = slices.Grow(f.numbers[:0], rows)[:rows]
		if row, err = f.readNumbers(v, f.numbers); err != nil {
			return row, err
		}
		return rows, f.attrs.Append(f.numbers)
	}
	if f.kind == timeField {
		return f.readTimes(v, rows)
	}
	f.batch = slices.Grow(f.batch[:0], rows)[:rows]
	if f.kind == wordField {
		if row, err = f.readWords(v, f.batch); err != nil {
			return row, err
		}
		return rows, f.cats.Append(f.batch)
	}
	read := f.readIntegers
	if f.keys.typ == String {
		read = f.readTexts
	}
	if row, err = read(v, f.batch); err != nil || f.passing {
		return row, err
	}
	return rows, f.cats.Append(f.batch)
}

// missingNumber is the NaN of missing numbers; one bit pattern keeps output deterministic.
var missingNumber = float32(math.NaN())

func (f *tableField) readNumbers(v *TableValues, dst []float32) (row int, err error) {
	for i := range dst {
		var x float64
		switch {
		case v.missing(i):
			dst[i] = missingNumber
			f.missed++
			continue
		case v.Integers != nil:
			x = float64(v.Integers[i])
		case v.Floats != nil:
			x = v.Floats[i]
		default:
			text := v.Text[v.Spans[i].From:v.Spans[i].To]
			if x, err = reading.Number(text); err != nil {
				return i, f.refuse(err, text)
			}
			if _, whole := reading.Canonical(text); f.Type == Integer && !whole {
				return i, f.refuse(fmt.Errorf("%s, want an integer, as 7 or -7", reading.Quote(text)), nil)
			}
		}
		f.span.add(x)
		if dst[i] = float32(x - f.offset); dst[i]-dst[i] != 0 {
			return i, fmt.Errorf("%v, want a finite number that fits a float32", x)
		}
	}
	return 0, nil
}

// readTimes converts numbers or dates to float64. The first value decides which of the two.
func (f *tableField) readTimes(v *TableValues, rows int) (row int, err error) {
	f.moments = slices.Grow(f.moments[:0], rows)[:rows]
	for i := range rows {
		if f.moments[i] = math.NaN(); v.missing(i) {
			f.missed++
			continue
		}
		x, dates := 0., f.Dates
		switch {
		case v.Integers != nil:
			x = float64(v.Integers[i])
		case v.Floats != nil:
			if x = v.Floats[i]; math.IsInf(x, 0) {
				return i, fmt.Errorf("%v, want a finite number", x)
			}
		default:
			switch text := v.Text[v.Spans[i].From:v.Spans[i].To]; {
			case !f.timed:
				x, dates, err = ParseTime(string(text))
			case f.dates:
				x, err = pointOfTime(text)
				dates = true
			default:
				x, err = reading.Number(text)
			}
			if err != nil {
				return i, err
			}
		}
		f.moments[i], f.timed, f.dates = x, true, dates
	}
	return rows, f.times.Append(f.moments)
}

// ParseTime returns the time that a text has as a value of RowTable.Time: a number, or a point of time, dates, as the seconds since 1970.
func ParseTime(text string) (x float64, dates bool, err error) {
	if x, err := reading.Number([]byte(text)); err == nil {
		return x, false, nil
	}
	x, err = pointOfTime([]byte(text))
	return x, true, err
}

// KindOfTime is what times are called in messages.
func KindOfTime(dates bool) string {
	if dates {
		return "points of time, such as 2006-01-02"
	}
	return "numbers"
}

func pointOfTime(text []byte) (float64, error) {
	if t, ok := reading.Date(string(text)); ok {
		return float64(t.Unix()) + float64(t.Nanosecond())/1e9, nil
	}
	return 0, fmt.Errorf("%s, want a time: a number, or as 2006-01-02T15:04:05Z", reading.Quote(text))
}

// word returns the word index of a global row; -1 if it is missing or of another table.
func (f *tableField) word(row int32) int32 {
	if row -= f.base; row < 0 || int(row) >= f.cats.Len() {
		return -1
	}
	return f.cats.At(int(row))
}

// number returns the number of a global row; NaN if it is missing or of another table.
func (f *tableField) number(row int32) float32 {
	if row -= f.base; row < 0 || int(row) >= f.attrs.Len() {
		return missingNumber
	}
	return f.attrs.At(int(row))
}

// refuse adds advice to an error about a value. odd is a value that is not a number, or nil.
func (f *tableField) refuse(err error, odd []byte) error {
	if !f.fixed && !f.typed {
		switch {
		case odd == nil:
			return fmt.Errorf("%w, as the first rows have; -types %s=float reads other numbers", err, f.Name)
		case f.channel == f.Name:
			err = fmt.Errorf("%w, as other rows have; -types %s=string reads words, -ignore %[2]s leaves the column out", err, f.Name)
		}
	}
	return fmt.Errorf("%w%s", err, reading.MissingHint(odd))
}

func (f *tableField) readWords(v *TableValues, dst []int32) (row int, err error) {
	for i := range dst {
		if v.missing(i) {
			dst[i] = -1
			f.missed++
			continue
		}
		text := v.text(i, &f.scratch)
		if f.Type != String {
			text, _ = reading.WholeNumber(text)
		}
		if dst[i], err = f.words.add(text); err != nil {
			return i, err
		}
		if int(dst[i]) < f.most {
			continue
		}
		if !f.part {
			return i, fmt.Errorf("more than %d different words up to here; ignore the column", f.most)
		}
		subset, ok := ParseSubset(string(text))
		if !ok {
			return i, fmt.Errorf("%s, want train, valid, val, test, or none", reading.Quote(text))
		}
		f.subsets = append(f.subsets, subset)
		f.most = len(f.subsets)
	}
	return 0, nil
}

var errNoKey = errors.New("there is no value, want an id")

func (f *tableField) readTexts(v *TableValues, dst []int32) (row int, err error) {
	for i := range dst {
		if v.missing(i) {
			if f.missed++; !f.mayMiss {
				return i, errNoKey
			}
			dst[i] = -1
			continue
		}
		text := v.text(i, &f.scratch)
		if f.space != "" {
			f.spaced = IDIn(f.space, text, f.spaced)
			text = f.spaced
		}
		if dst[i], err = f.keys.texts.add(text); err != nil {
			return i, err
		}
		if dst[i] >= f.below {
			return i, f.unknown(dst[i])
		}
	}
	return 0, nil
}

func (f *tableField) readIntegers(v *TableValues, dst []int32) (row int, err error) {
	k := &f.keys.integers
	for i := range dst {
		if v.missing(i) {
			if f.missed++; !f.mayMiss {
				return i, errNoKey
			}
			dst[i] = -1
			continue
		}
		var x int64
		if v.Integers != nil {
			x = v.Integers[i]
		} else {
			var ok bool
			if text := v.text(i, &f.scratch); v.Spans != nil {
				if x, ok = reading.Canonical(text); !ok && f.fixed {
					text, _ = usualKey(text)
					x, ok = reading.Canonical(text)
				}
				if !ok {
					if f.fixed {
						return i, fmt.Errorf("%s, want an integer, as is declared", reading.Quote(text))
					}
					return i, f.keys.notInteger(text)
				}
			} else if x = int64(v.Floats[i]); float64(x) != v.Floats[i] {
				return i, fmt.Errorf("%s, want an integer", text)
			}
		}
		if f.keys.plain && x == int64(int32(x)) && x >= 0 {
			dst[i] = int32(x)
			continue
		}
		if f.keys.plain {
			return i, errNotPlain
		}
		if dst[i], err = k.add(x); err != nil {
			return i, err
		}
		if dst[i] >= f.below {
			return i, f.unknown(dst[i])
		}
	}
	return 0, nil
}

func (f *tableField) unknown(key int32) error {
	return fmt.Errorf("%s is not in %s: add a row for it there, or remove this row", f.keys.print(key), f.where)
}
