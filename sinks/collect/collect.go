// Package collect keeps a stream in memory.
//
// Package sinks has it as sinks.Collect. A program that imports package collect instead does
// not link package nn.
package collect

import (
	"context"
	"sync"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow"
)

// Sink keeps the stream in memory. The zero value is ready, and must not be copied. Several runs, also
// concurrent ones, may write to it. Records are in the order of their arrival.
type Sink struct {
	mu   sync.Mutex
	recs []arrow.Record
}

var _ flow.Sink = (*Sink)(nil)

// Name is the name of the sink in plans and errors.
func (*Sink) Name() string { return "collect" }

// Open accepts any schema.
func (c *Sink) Open(*arrow.Schema) (flow.Writer, error) { return collector{c}, nil }

// Records returns the collected records. The records belong to c until Release, even if the run has
// failed.
func (c *Sink) Records() []arrow.Record {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.recs[:len(c.recs):len(c.recs)]
}

// Rows returns the number of rows collected.
func (c *Sink) Rows() (n int64) {
	for _, r := range c.Records() {
		n += r.NumRows()
	}
	return n
}

// Release releases the records and empties c.
func (c *Sink) Release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.recs {
		r.Release()
	}
	c.recs = nil
}

type collector struct{ c *Sink }

func (w collector) Write(_ context.Context, rec arrow.Record) error {
	rec.Retain()
	w.c.mu.Lock()
	defer w.c.mu.Unlock()
	w.c.recs = append(w.c.recs, rec)
	return nil
}

func (collector) Close(error) error { return nil }
