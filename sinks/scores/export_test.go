package scores

import (
	"context"

	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/sinks"
)

// Write writes the answers that say writes to a file, as one record.
func (c Columns) Write(to flow.Sink, mem memory.Allocator, say func(write func(p sinks.Prediction, ids ...string) error) error) error {
	schema, err := c.schema(false)
	if err != nil {
		return err
	}
	from := &answers{columns: c, schema: schema, build: array.NewRecordBuilder(mem, schema)}
	defer from.build.Release()
	w, err := to.Open(from.schema)
	if err != nil {
		return err
	}
	if err = say(from.write); err == nil {
		rec := from.build.NewRecord()
		err = w.Write(context.Background(), rec)
		rec.Release()
	}
	if failed := w.Close(err); err == nil {
		err = failed
	}
	return err
}
