package flowtest

import (
	"context"
	"fmt"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow"
)

// audit is a sink that checks a flow.DurableWriter after each call. The count must not fall nor exceed the
// number of written records, and all records are durable after a successful Close.
type audit struct {
	flow.Sink
	wrong error
}

func (a *audit) Name() string { return flow.Name(a.Sink) }

func (a *audit) Open(in *arrow.Schema) (flow.Writer, error) {
	w, err := a.Sink.Open(in)
	if _, ok := w.(flow.DurableWriter); err != nil || !ok {
		return w, err
	}
	audited := &auditWriter{Writer: w, audit: a}
	if t, ok := w.(flow.TimedWriter); ok {
		return timedAudit{audited, t}, nil
	}
	return audited, nil
}

type auditWriter struct {
	flow.Writer
	*audit
	written, said int64
}

func (w *auditWriter) Write(ctx context.Context, rec arrow.Record) error {
	w.written++
	defer w.ask()
	return w.Writer.Write(ctx, rec)
}

func (w *auditWriter) Close(failed error) error {
	err := w.Writer.Close(failed)
	w.ask()
	if err == nil && failed == nil && w.said != w.written {
		w.note("after Close %d of %d records are durable", w.said, w.written)
	}
	return err
}

func (w *auditWriter) Durable() int64 { return w.Writer.(flow.DurableWriter).Durable() }

func (w *auditWriter) ask() {
	n := w.Durable()
	if n < w.said || n > w.written {
		w.note("%d records are durable, after %d, of %d that were written", n, w.said, w.written)
	}
	w.said = n
}

func (w *auditWriter) note(format string, args ...any) {
	if w.wrong == nil {
		w.wrong = fmt.Errorf("Durable: "+format, args...)
	}
}

// timedAudit is an auditWriter of a flow.TimedWriter.
type timedAudit struct {
	*auditWriter
	flow.TimedWriter
}

var _ interface {
	flow.DurableWriter
	flow.TimedWriter
} = timedAudit{}

func (w timedAudit) Expire(ctx context.Context) error {
	defer w.ask()
	return w.TimedWriter.Expire(ctx)
}
