package parquet

import (
	"encoding/binary"
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/sanflow/sanflow/flow/record"
)

// textPage is the largest number of bytes of strings in a page, unless one row has more.
const textPage = 1 << 20

// texts is a column of strings or of lists of strings.
type texts struct{ pager }

func (c *texts) write(a arrow.Array) error {
	if s, ok := a.(*array.String); ok {
		return c.flat(s)
	}
	rec := alone(a)
	defer rec.Release()
	v, err := record.IDsOfColumn(rec, "c")
	if err != nil {
		return err
	}
	for row := range v.Len() {
		ids := v.Row(row)
		if err := ids.CheckText(); err != nil {
			return fmt.Errorf("row %d: %w", row, err)
		}
		n, size := ids.Len(), int(ids.Bytes())
		if size > math.MaxInt32 {
			return fmt.Errorf("a row has %d strings of %d bytes, and a page of Parquet at most %d bytes", n, size, math.MaxInt32)
		}
		if c.page.levels+max(1, n) > batch || len(c.page.values)+size > textPage {
			if err := c.flush(); err != nil {
				return err
			}
		}
		c.page.rows++
		c.page.list(n, 0, 1)
		c.page.present += n
		ends, text := ids.Text()
		for i, end := range ends[1:] {
			c.page.values = binary.LittleEndian.AppendUint32(c.page.values, uint32(end-ends[i]))
			c.page.values = append(c.page.values, text[ends[i]:end]...)
		}
	}
	return nil
}

// flat writes one string for each row.
func (c *texts) flat(a *array.String) error {
	for row := range a.Len() {
		text := a.Value(row)
		switch {
		case a.IsNull(row):
			return fmt.Errorf("row %d is null", row)
		case !utf8.ValidString(text):
			return fmt.Errorf("row %d: %.80q is not UTF-8", row, text)
		}
		if c.page.levels == batch || len(c.page.values)+len(text) > textPage {
			if err := c.flush(); err != nil {
				return err
			}
		}
		c.page.levels++
		c.page.rows++
		c.page.present++
		c.page.values = append(binary.LittleEndian.AppendUint32(c.page.values, uint32(len(text))), text...)
	}
	return nil
}
