package scores

import (
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/sinks"
)

// Writer is what a Sink writes answers by.
type Writer = answers

// Open begins a file.
func (c Columns) Open(to flow.Sink, mem memory.Allocator) (*Writer, error) { return c.open(to, mem) }

// Write writes a prediction.
func (w *answers) Write(p sinks.Prediction, ids ...string) error { return w.write(p, ids...) }

// Close ends the file.
func (w *answers) Close(failed error) error { return w.close(failed) }
