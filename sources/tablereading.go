package sources

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/sources/internal/reading"
)

// tableReading is the state that readings of Tables and Rows share.
type tableReading struct {
	reading.Budget
	ctx     context.Context
	missing []string
	before  shown
	scans   []*tableScan
	keys    []*keys // all dictionaries of the reading
	notes   []string
	used    []string // description of each column
}

// shown is what earlier readings of the same tables revealed.
type shown struct {
	texts   []keyKind            // dictionaries with ids that are not integers
	offsets []map[string]float64 // offsets by column, for each table in the order of scans
	odd     bool                 // an edge list has lines that edgeScan does not parse
}

// start sets the context, the settings and the limit of memory in bytes, where 0 is 4 GiB.
func (b *tableReading) start(ctx context.Context, memory int64, missing []string, before shown) {
	most := cmp.Or(memory, 4<<30)
	b.ctx, b.missing, b.before = ctx, missing, before
	b.Left, b.Most = most, most
}

// again is an error that tells of a fact about the tables. Another reading that knows the fact may succeed.
type again struct {
	error
	learn func(known *shown)
}

// reread repeats read while it returns errors of type again. Tables that can be read only once return the error.
func reread[S any](ctx context.Context, tables []Table, known *shown, read func() (*S, error)) (*S, error) {
	once := slices.ContainsFunc(tables, func(t Table) bool { return !opensAgain(t) })
	for {
		set, err := read()
		more := (*again)(nil)
		switch {
		case err == nil:
			return set, nil
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case once || !errors.As(err, &more):
			return nil, err
		}
		more.learn(known)
	}
}

// notInteger returns the error of an id that follows integer ids. The next reading has strings as ids.
func (k *keys) notInteger(text []byte) error {
	err := fmt.Errorf("%s, want an integer, as the rows before have, or declare the type of the column to be String", reading.Quote(text))
	return &again{err, func(known *shown) { known.texts = append(slices.Clip(known.texts), k.kind) }}
}

// scan opens a table. If offsets is nil, the data decide the offsets.
func (b *tableReading) scan(table Table, offsets map[string]float64) (*tableScan, error) {
	r, err := table.OpenTable(b.ctx)
	if err != nil {
		return nil, err
	}
	if at := len(b.scans); offsets == nil && at < len(b.before.offsets) {
		offsets = b.before.offsets[at]
	}
	t := &tableScan{r: r, texts: b.missing, budget: &b.Budget, offsets: offsets}
	b.scans = append(b.scans, t)
	return t, nil
}

func (b *tableReading) close() {
	for _, t := range b.scans {
		t.r.Close()
	}
}

// share assigns one dictionary to key columns.
func (b *tableReading) share(k *keys, kind keyKind, fields ...*tableField) error {
	k.kind, k.typ, k.fixed = kind, Integer, true
	if slices.Contains(b.before.texts, kind) {
		k.typ = String
	}
	k.integers.take, k.texts.take = b.Take, b.Take
	for _, f := range fields {
		switch {
		case f == nil:
			continue
		case f.Type == Float && f.typed:
			return blame(f.from, f.Name, errors.New("a column of floats, want ids: integers or strings"))
		case f.Type != Integer || f.space != "":
			k.typ = String
		}
		if f.space != "" && !slices.Contains(k.spaces, f.space) {
			k.spaces = append(k.spaces, f.space)
		}
		k.fixed = k.fixed && f.fixed
		f.keys, k.fields = k, append(k.fields, f)
	}
	b.keys = append(b.keys, k)
	return nil
}

// settle runs the checks that need all rows: part columns, spellings of keys, columns without values in the
// first rows, and offsets.
func (b *tableReading) settle(sets ...*tableChannels) error {
	for _, set := range sets {
		set.leaveParts()
	}
	for _, k := range b.keys {
		notes, err := k.spellings()
		if err != nil {
			return b.scans[0].inFile(err)
		}
		b.notes = append(b.notes, notes...)
	}
	for _, t := range b.scans {
		if err := t.unforeseen(); err != nil {
			return err
		}
	}
	return b.offsets()
}

// offsets returns an error if a column needs an offset that is not set. The next reading has the offsets.
func (b *tableReading) offsets() error {
	var first *tableField
	var all []map[string]float64
	for _, t := range b.scans {
		offsets := t.offsets
		if offsets == nil {
			offsets = map[string]float64{}
			for _, f := range t.fields {
				if x := f.span.offset(); x != 0 {
					offsets[f.Name] = x
					first = cmp.Or(first, f)
				}
			}
		}
		all = append(all, offsets)
	}
	if first == nil {
		return nil
	}
	err := fmt.Errorf("column %s: numbers from %v to %v, which float32 does not tell apart, in a table that cannot be read twice; set Offsets", reading.Quote([]byte(first.Name)), first.span.low, first.span.high)
	return &FileError{File: first.table, Line: 0, Err: &again{err, func(known *shown) { known.offsets = all }}}
}

// report collects notes and column descriptions.
func (b *tableReading) report(scans ...*tableScan) {
	for _, t := range scans {
		notes, columns := t.report()
		b.notes, b.used = append(b.notes, notes...), append(b.used, columns...)
	}
}

// tableChannel is a channel with its columns: one column, or one of each table of rows.
type tableChannel struct {
	record.Channel
	fields []*tableField
}

// joined adds column f to the channel name, which it makes if there is none.
func joined(channels []*tableChannel, name string, f *tableField) []*tableChannel {
	at := slices.IndexFunc(channels, func(c *tableChannel) bool { return c.Name == name })
	if at < 0 {
		return append(channels, &tableChannel{record.Channel{Name: name}, []*tableField{f}})
	}
	f.span = channels[at].fields[0].span
	channels[at].fields = append(channels[at].fields, f)
	return channels
}

// tableChannels are the discrete and continuous attributes of nodes or of edges.
type tableChannels struct{ words, numbers []*tableChannel }

func (s *tableChannels) add(f *tableField) error {
	name, to, other := f.prefix+f.channel, &s.numbers, s.words
	if f.kind == wordField {
		to, other = &s.words, s.numbers
	}
	for _, c := range other {
		if c.Name == name {
			return blame(f.from, f.Name, fmt.Errorf("a column of type %s, and %s has one of type %s; -types declares the type", f.Type, c.fields[0].table, c.fields[0].Type))
		}
	}
	*to = joined(*to, name, f)
	return nil
}

func (s *tableChannels) sort() {
	for _, list := range [][]*tableChannel{s.words, s.numbers} {
		slices.SortFunc(list, func(x, y *tableChannel) int { return strings.Compare(x.Name, y.Name) })
	}
}

// leaveParts removes channels whose columns all name parts.
func (s *tableChannels) leaveParts() {
	s.words = slices.DeleteFunc(s.words, func(c *tableChannel) bool {
		if slices.ContainsFunc(c.fields, func(f *tableField) bool { return !f.isPart() }) {
			return false
		}
		for _, f := range c.fields {
			f.ignored = true
		}
		return true
	})
}

// name sorts the words of the channels, and returns the channels.
func (s *tableChannels) name() (cats, attrs []record.Channel) {
	for _, c := range s.words {
		c.Channel = record.WordsChannel(c.Name, sortWords(slices.Sort, c.fields...))
		cats = append(cats, c.Channel)
	}
	for _, c := range s.numbers {
		c.Offset = c.fields[0].offset
		attrs = append(attrs, c.Channel)
	}
	return cats, attrs
}

// word returns the word index of a global row, or none.
func (c *tableChannel) word(row, none int32) int32 {
	for _, f := range c.fields {
		if word := f.word(row); word >= 0 {
			return word
		}
	}
	return none
}

// number returns the number of a global row, or NaN.
func (c *tableChannel) number(row int32) float32 {
	for _, f := range c.fields {
		if x := f.number(row); x == x {
			return x
		}
	}
	return missingNumber
}

// gather returns word indices and numbers of rows, row-major. Each row of words begins with skip zeros. rows
// are global row numbers, where -1 has no values. With last it frees the columns.
func (s *tableChannels) gather(rows []int32, skip int, last bool) (words []int32, numbers []float32) {
	if width := skip + len(s.words); width > 0 {
		words = make([]int32, len(rows)*width)
		for at, c := range s.words {
			unseen := c.Unseen()
			for i, row := range rows {
				words[i*width+skip+at] = c.word(row, unseen)
			}
			c.drop(last)
		}
	}
	if width := len(s.numbers); width > 0 {
		numbers = make([]float32, len(rows)*width)
		for at, c := range s.numbers {
			for i, row := range rows {
				numbers[i*width+at] = c.number(row)
			}
			c.drop(last)
		}
	}
	return words, numbers
}

// drop frees the values of the columns if all is set.
func (c *tableChannel) drop(all bool) {
	for _, f := range c.fields {
		if all {
			f.cats.Parts, f.attrs.Parts = nil, nil
		}
	}
}

// subsetsOf returns the subset of each global row by the part columns, or nil without such columns.
func subsetsOf(rows []int32, fields ...*tableField) (parts []Subset) {
	for _, f := range fields {
		if f == nil {
			continue
		}
		if parts == nil {
			parts = make([]Subset, len(rows))
		}
		for i, row := range rows {
			parts[i] = max(parts[i], f.subset(row))
		}
	}
	return parts
}
