package parquet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/internal/tabular"
)

type reader struct {
	r       io.ReaderAt
	size    int64
	budget  *tabular.Budget
	footer  *footer
	columns []tabular.Column
	where   []column
	meta    arrow.Metadata
	use     []bool
	group   int
	again   []scratch // reused buffers by column; Next then invalidates the previous batch; nil = no reuse
}

func newReader(r io.ReaderAt, size int64, budget *tabular.Budget) (*reader, error) {
	f, err := readFooter(r, size, budget)
	if err != nil {
		return nil, err
	}
	rows := int64(0)
	for i, g := range f.groups {
		if g.rows < 0 || g.rows > math.MaxInt32 {
			return nil, fmt.Errorf("row group %d has %d rows, want 0 to %d", i, g.rows, math.MaxInt32)
		}
		rows += g.rows
	}
	if rows != f.rows {
		return nil, fmt.Errorf("its row groups have %d rows, want %d, as its footer says", rows, f.rows)
	}
	d := &reader{r: r, size: size, budget: budget, footer: f}
	d.columns, d.where, d.meta, err = f.columns()
	return d, err
}

func (d *reader) Columns() ([]tabular.Column, arrow.Metadata) { return d.columns, d.meta }

func (d *reader) Choose(use []bool) { d.use = use }

// Next reads the next row group.
func (d *reader) Next(ctx context.Context) (b tabular.Batch, err error) {
	for d.group < len(d.footer.groups) && d.footer.groups[d.group].rows == 0 {
		d.group++ // some writers omit the pages of an empty row group
	}
	if d.group == len(d.footer.groups) {
		return b, io.EOF
	}
	g := d.footer.groups[d.group]
	defer func() {
		if err != nil {
			err = fmt.Errorf("row group %d: %w", d.group, err)
		}
		d.group++
	}()
	d.budget.Reset(ctx)
	if err := d.budget.Take(g.rows, 8); err != nil {
		return b, err
	}
	b = tabular.Batch{Rows: int(g.rows), Data: make([]tabular.Data, len(d.columns))}
	for i, c := range d.columns {
		if !d.use[i] {
			continue
		}
		mem := &scratch{}
		if d.again != nil {
			mem = &d.again[i]
		}
		if b.Data[i], err = d.column(g.chunks[d.where[i].leaf], d.where[i], int(g.rows), mem); err != nil {
			return b, fmt.Errorf("column %q: %w", c.Name, err)
		}
	}
	return b, nil
}

// column checks a column chunk against the file, reads it, and decodes it by its physical type.
func (d *reader) column(k chunk, c column, rows int, mem *scratch) (out tabular.Data, err error) {
	codec, known := codecs[k.codec]
	start := k.data
	if k.dictionary > 0 && k.dictionary < start {
		start = k.dictionary
	}
	switch {
	case !k.meta || k.elsewhere:
		return out, errors.New("its values are in another file")
	case k.kind != c.kind:
		return out, fmt.Errorf("values of the physical type %d, want %d", k.kind, c.kind)
	case !known:
		return out, fmt.Errorf("the compression %s is not read; write the file with ZSTD or SNAPPY", cmp.Or(codecNames[k.codec], fmt.Sprint(k.codec)))
	case start < 4 || k.bytes < 0 || start > d.size || k.bytes > d.size-start:
		return out, fmt.Errorf("%d bytes at %d in a file of %d", k.bytes, start, d.size)
	case k.values < 0 || k.values > math.MaxInt32:
		return out, fmt.Errorf("%d values, want 0 to %d", k.values, math.MaxInt32)
	}
	if err := d.budget.Take(k.bytes, 1); err != nil {
		return out, err
	}
	if both := uint64(1<<encodingDictionary | 1<<encodingPlainDictionary); k.encodings&both != 0 {
		k.encodings |= both // PLAIN_DICTIONARY is the former name of RLE_DICTIONARY
	}
	p := &pages{column: c, codec: codec, encodings: k.encodings, budget: d.budget, mem: mem, b: room(&mem.packed, int(k.bytes)), left: k.values}
	if err := readAt(d.r, p.b, start); err != nil {
		return out, err
	}
	switch c.kind {
	case kindInt32:
		return read[int32](p, rows)
	case kindInt64:
		return read[int64](p, rows)
	case kindFloat:
		return read[float32](p, rows)
	case kindBytes, kindFixed:
		return readText(p, rows)
	case kindBool:
		return readTruth(p, rows)
	default:
		return read[float64](p, rows)
	}
}

// read decodes a column chunk of physical type T.
func read[T physical](p *pages, rows int) (out tabular.Data, err error) {
	if err := p.budget.Take(p.left, 8+4*int64(p.column.depth)); err != nil {
		return out, err
	}
	var dictionary []T
	values := roomOf[T](&p.mem.values, int(p.left))[:0]
	err = p.each(&out, rows, func(b []byte, n int) error {
		if err := p.budget.Take(int64(n), 8); err != nil {
			return err
		}
		dictionary = roomOf[T](&p.mem.dictionary, n)
		if err := decode(dictionary, b, encodingPlain, nil, nil); err != nil {
			return fmt.Errorf("the dictionary: %w", err)
		}
		return nil
	}, func(h page, b []byte, n int) error {
		at := len(values)
		values = values[:at+n]
		return decode(values[at:], b, h.encoding, dictionary, &p.mem.places)
	})
	if err != nil {
		return out, err
	}
	out.Values = values
	if p.column.wide {
		out.Values = unsigned(values)
	}
	return out, nil
}

// each iterates over the pages. dictionary receives a dictionary page of n entries, values a data page of n
// values. List offsets and nulls go to out.
func (p *pages) each(out *tabular.Data, rows int, dictionary func(b []byte, n int) error, values func(h page, b []byte, n int) error) error {
	a := &assembler{column: p.column}
	if p.column.nulls {
		a.nulls = room(&p.mem.nulls, rows)[:0]
	}
	for {
		h, b, ok, err := p.next()
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		if h.kind == pageDictionary {
			if err := dictionary(b, h.values); err != nil {
				return err
			}
			continue
		}
		if p.encodings>>uint(h.encoding)&1 == 0 {
			return fmt.Errorf("values in the encoding %d, which their column does not name", h.encoding)
		}
		n, err := a.add(h.values, p.rep, p.def)
		if err != nil {
			return err
		}
		if err := values(h, b, n); err != nil {
			return err
		}
	}
	out.Ends, out.Nulls = a.finish(), a.nulls
	if len(p.b) > 0 {
		return fmt.Errorf("%d bytes are left after the last of its values", len(p.b))
	}
	if got := a.rows(); got != rows {
		return fmt.Errorf("there are %d rows, want %d", got, rows)
	}
	return nil
}
