package tabular

import (
	"context"
	"fmt"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow/record"
)

// Record makes a record of a batch in mem, and checks every value that a stage uses as an index or an offset,
// so that no file leads out of the record. first is the number of the first row in its source. O(values), and
// for graphs O(n + m log m).
func (p *Plan) Record(ctx context.Context, mem memory.Allocator, b Batch, first int64) (arrow.Record, error) {
	var cols []arrow.Array
	release := func() {
		record.Release(cols)
	}
	for i, f := range p.Schema.Fields() {
		var d Data
		if at := p.from[i]; at >= 0 {
			d = b.Data[at]
		} else {
			numbers := make([]int64, b.Rows)
			for row := range numbers {
				numbers[row] = first + int64(row)
			}
			d.Values = numbers
		}
		var col arrow.Array
		err := context.Cause(ctx)
		if err == nil {
			col, err = d.array(mem, f.Type, b.Rows)
		}
		if err != nil {
			release()
			return nil, fmt.Errorf("column %q: %w", f.Name, err)
		}
		cols = append(cols, col)
	}
	rec := array.NewRecord(p.Schema, cols, int64(b.Rows))
	release()
	if err := p.check(ctx, rec); err != nil {
		rec.Release()
		return nil, err
	}
	return rec, nil
}

func (p *Plan) check(ctx context.Context, rec arrow.Record) error {
	if p.Schema.HasField(record.Pos) {
		pos, err := record.Values[int64](rec, record.Pos)
		if err != nil {
			return err
		}
		for row, at := range pos {
			if at < 0 {
				return fmt.Errorf("row %d: pos is %d, want at least 0", row, at)
			}
		}
	}
	for i, want := range p.shapes {
		if want < 0 {
			continue
		}
		l, ok := rec.Column(i).(*array.List)
		for row := 0; ok && row < l.Len(); row++ {
			if from, to := l.ValueOffsets(row); int(to-from) != want {
				return fmt.Errorf("column %q: row %d has %d values, want %d", rec.ColumnName(i), row, to-from, want)
			}
		}
	}
	for _, t := range p.tops {
		if err := t.check(rec); err != nil {
			return err
		}
	}
	if p.graphs {
		return p.checkGraphs(ctx, rec)
	}
	return nil
}
