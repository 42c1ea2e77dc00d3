package parquet

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/sanflow/sanflow/internal/tabular"
)

// readText decodes a column chunk of strings.
func readText(p *pages, rows int) (out tabular.Data, err error) {
	if err := p.budget.Take(p.left+1, 4+4*int64(p.column.depth)); err != nil {
		return out, err
	}
	t := &texts{budget: p.budget, length: p.column.length}
	t.Ends = append(make([]int32, 0, p.left+1), 0)
	var dictionary texts
	err = p.each(&out, rows, func(b []byte, n int) error {
		dictionary = texts{budget: p.budget, length: p.column.length}
		if err := p.budget.Take(int64(n)+1, 4); err != nil {
			return err
		}
		dictionary.Ends = append(make([]int32, 0, n+1), 0)
		if err := dictionary.plain(b, n); err != nil {
			return fmt.Errorf("the dictionary: %w", err)
		}
		return nil
	}, func(h page, b []byte, n int) error {
		switch h.encoding {
		case encodingPlain:
			return t.plain(b, n)
		case encodingDictionary, encodingPlainDictionary:
			return t.entries(b, n, &dictionary, &p.mem.places)
		case encodingDeltaLength, encodingDeltaText:
			return t.delta(b, n, h.encoding == encodingDeltaText, &p.mem.places)
		}
		return fmt.Errorf("strings in the encoding %d, which is not read", h.encoding)
	})
	out.Values = t.Text
	return out, err
}

// texts is a list of strings whose memory is charged to budget.
type texts struct {
	tabular.Text
	budget *tabular.Budget
	length int // size of fixed-length strings; 0 = each string has a length prefix
}

// room ensures capacity for n more bytes.
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

// plain decodes n strings in the encoding PLAIN.
func (t *texts) plain(b []byte, n int) error {
	if size := t.length; size > 0 {
		if len(b)/size < n {
			return errShort
		}
		if err := t.room(n * size); err != nil {
			return err
		}
		for ; n > 0; n-- {
			t.add(b[:size])
			b = b[size:]
		}
		return nil
	}
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

// delta decodes n strings in the encoding DELTA_LENGTH_BYTE_ARRAY: first all lengths, then all bytes. With
// prefixed the encoding is DELTA_BYTE_ARRAY: before that come the lengths of the prefixes shared with the
// preceding string.
func (t *texts) delta(b []byte, n int, prefixed bool, places *[]int32) (err error) {
	if err := t.budget.Take(int64(n), 4); err != nil {
		return err
	}
	prefix := make([]int32, n)
	if prefixed {
		if b, err = delta(prefix, b); err != nil {
			return err
		}
	}
	lengths := room(places, n)
	if b, err = delta(lengths, b); err != nil {
		return err
	}
	last := int32(0)
	for i, size := range lengths {
		if size < 0 || int(size) > len(b) || prefix[i] < 0 || prefix[i] > last || size > math.MaxInt32-prefix[i] {
			return errShort
		}
		if err := t.room(int(prefix[i] + size)); err != nil {
			return err
		}
		from := len(t.Bytes) - int(last)
		t.Bytes = append(t.Bytes, t.Bytes[from:from+int(prefix[i])]...)
		t.add(b[:size])
		b, last = b[size:], prefix[i]+size
	}
	return nil
}

// entries decodes n dictionary indices and appends their strings.
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
			break // room returns the error
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
