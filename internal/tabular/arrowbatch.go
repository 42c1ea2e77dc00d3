package tabular

import (
	"fmt"

	"github.com/sanflow/sanflow/internal/arrowipc"
	"github.com/sanflow/sanflow/internal/unpack"
)

var codecs = map[arrowipc.Codec]unpack.Codec{arrowipc.LZ4: unpack.LZ4, arrowipc.Zstd: unpack.Zstd}

// FromArrow reads the columns that are wanted of a record batch of Arrow IPC, which
// they borrow.
func FromArrow(s *arrowipc.Schema, meta, body []byte, use []bool, budget *Budget) (b Batch, err error) {
	cols, rows, err := s.Batch(meta, body, arrowipc.Options{Use: use, Take: budget.Take,
		Unpack: func(dst, src []byte, c arrowipc.Codec) error {
			codec, ok := codecs[c]
			if !ok {
				return fmt.Errorf("the compression %d is not read", c)
			}
			return unpack.Into(dst, src, codec)
		}})
	if err != nil {
		return b, err
	}
	b = Batch{Rows: rows, Data: make([]Data, len(cols))}
	if err := budget.Take(int64(rows), int64(8*len(cols))); err != nil {
		return b, err
	}
	for i, c := range cols {
		if c == nil {
			continue
		}
		// Buffers are not counted, and live as long as the body.
		if b.Data[i], err = DataOf(c, budget); err != nil {
			return b, fmt.Errorf("column %q: %w", s.Columns[i].Name, err)
		}
	}
	return b, nil
}
