package scores

import (
	"context"

	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/sinks"
)

// Write writes the answers that say writes to a file, as one record.
func (c Columns) Write(to flow.Sink, mem memory.Allocator, say func(write func(p sinks.Prediction, ids ...string) error) error) error {
	from, err := c.open(false)
	if err != nil {
		return err
	}
	w, err := to.Open(from.schema)
	if err != nil {
		return err
	}
	rec, err := from.record(mem, func() error { return say(from.write) })
	if err == nil {
		err = w.Write(context.Background(), rec)
		rec.Release()
	}
	if failed := w.Close(err); err == nil {
		err = failed
	}
	return err
}
