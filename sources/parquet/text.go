package parquet

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/sanflow/sanflow/internal/tabular"
)

// readText decodes the pages of a column of strings.
func readText(p *pages, rows int) (out tabular.Data, err error) {
	if err := p.budget.Take(p.left+1, 4+4*int64(p.column.depth)); err != nil {
		return out, err
	}
	t := &texts{budget: p.budget}
	t.Ends = append(make([]int32, 0, p.left+1), 0)
	var dictionary texts
	a := &assembler{column: p.column}
	for {
		h, b, ok, err := p.next()
		if err != nil {
			return out, err
		}
		if !ok {
			break
		}
		if h.kind == pageDictionary {
			dictionary = texts{budget: p.budget}
			if err := p.budget.Take(int64(h.values)+1, 4); err != nil {
				return out, err
			}
			dictionary.Ends = append(make([]int32, 0, h.values+1), 0)
			if err := dictionary.plain(b, h.values); err != nil {
				return out, fmt.Errorf("the dictionary: %w", err)
			}
			continue
		}
		if p.encodings>>uint(h.encoding)&1 == 0 {
			return out, fmt.Errorf("values in the encoding %d, which their column does not name", h.encoding)
		}
		n, err := a.add(h.values, p.rep, p.def)
		if err != nil {
			return out, err
		}
		switch h.encoding {
		case encodingPlain:
			err = t.plain(b, n)
		case encodingDictionary, encodingPlainDictionary:
			err = t.entries(b, n, &dictionary, &p.mem.places)
		default:
			err = fmt.Errorf("strings in the encoding %d, which is not read", h.encoding)
		}
		if err != nil {
			return out, err
		}
	}
	out.Ends, out.Nulls, out.Values = a.finish(), a.nulls, t.Text
	if len(p.b) > 0 {
		return out, fmt.Errorf("%d bytes are left after the last of its values", len(p.b))
	}
	if got := a.rows(); got != rows {
		return out, fmt.Errorf("there are %d rows, want %d", got, rows)
	}
	return out, nil
}

// texts grows within a budget.
type texts struct {
	tabular.Text
	budget *tabular.Budget
}

// room makes room for the bytes of more strings.
func (t *texts) room(n int) error {
	size := len(t.Bytes) + n
	if size > math.MaxInt32 {
		return fmt.Errorf("strings of %d bytes in a row group, want at most %d", size, math.MaxInt32)
	}
	if size <= cap(t.Bytes) {
		return nil
	}
	size = max(size, min(2*cap(t.Bytes), math.MaxInt32))
	if err := t.budget.Take(int64(size), 1); err != nil {
		return err
	}
	t.Bytes = append(make([]byte, 0, size), t.Bytes...)
	return nil
}

func (t *texts) add(s []byte) {
	t.Bytes = append(t.Bytes, s...)
	t.Ends = append(t.Ends, int32(len(t.Bytes)))
}

// plain decodes n strings, each behind its length.
func (t *texts) plain(b []byte, n int) error {
	if len(b)/4 < n {
		return errShort
	}
	if err := t.room(len(b) - 4*n); err != nil {
		return err
	}
	for range n {
		if len(b) < 4 {
			return errShort
		}
		size := binary.LittleEndian.Uint32(b)
		if b = b[4:]; uint64(size) > uint64(len(b)) {
			return errShort
		}
		t.add(b[:size])
		b = b[size:]
	}
	return nil
}

// entries decodes n strings of a dictionary.
func (t *texts) entries(b []byte, n int, dictionary *texts, places *[]int32) error {
	if len(b) < 1 || b[0] > 32 {
		return errShort
	}
	at := room(places, n)
	if err := hybrid(at, b[1:], int(b[0])); err != nil {
		return err
	}
	size := 0
	for _, j := range at {
		if uint64(uint32(j))+1 >= uint64(len(dictionary.Ends)) {
			return fmt.Errorf("entry %d of a dictionary of %d", uint32(j), max(len(dictionary.Ends)-1, 0))
		}
		if size += int(dictionary.Ends[j+1] - dictionary.Ends[j]); size > math.MaxInt32 {
			break // which room refuses
		}
	}
	if err := t.room(min(size, math.MaxInt32)); err != nil {
		return err
	}
	if size > math.MaxInt32 {
		return fmt.Errorf("strings of more than %d bytes in a page", math.MaxInt32)
	}
	for _, j := range at {
		t.add(dictionary.Bytes[dictionary.Ends[j]:dictionary.Ends[j+1]])
	}
	return nil
}
